//! Method 1: the workshop's four buckets.
//!
//! Fixed memory is 16·N bytes over all GPUs (ZeRO-3), activations are L·(34·S·H + 5·n·S²)·b·β.
//! β multiplies a coefficient that is in bytes already at 16 bits, so this method counts
//! activations twice there; the page teaches that, and the paper's method stands beside it.

use super::choice::Recomputation;
use super::formula::Expr;
use super::formula::terms::{B, BETA, GPUS, H, HEADS, L, N, S};
use super::ledger::{Bucket, Instants, Ledger, Line, WHOLE_STEP, common_values};
use super::meaning::{Keeps, Part, Stack};
use super::scenario::Scenario;
use super::source::WORKSHOP;

/// 4 bytes a parameter: fp32 weights.
const WEIGHTS: Expr = Expr::Quotient(&Expr::Product(&[Expr::Number(4.0), N]), &GPUS);
/// 4 bytes a parameter: fp32 gradients.
const GRADIENTS: Expr = Expr::Quotient(&Expr::Product(&[Expr::Number(4.0), N]), &GPUS);
/// 8 bytes a parameter: Adam's two fp32 moments.
const OPTIMIZER: Expr = Expr::Quotient(&Expr::Product(&[Expr::Number(8.0), N]), &GPUS);
/// Everything in a layer that grows with S·H.
const LINEAR: Expr = Expr::Product(&[L, Expr::Number(34.0), S, H, B, BETA]);
/// Attention scores, softmax and their dropout mask, which grow with S².
const SCORES: Expr = Expr::Product(&[L, Expr::Number(5.0), HEADS, Expr::Square(&S), B, BETA]);
/// Full recomputation keeps one S × H boundary a layer.
const BOUNDARIES: Expr = Expr::Product(&[L, S, H, B, BETA]);

/// The workshop's ledger. It reads D as all GPUs and knows neither ZeRO stages nor tensor
/// parallelism nor dropout.
pub(crate) fn ledger(scenario: &Scenario) -> Ledger {
    let line = |name, bucket, formula| Line::new(name, bucket, formula, &WORKSHOP, Instants::ALWAYS);
    let kept = |keeps, line| Line { part: Part::Layers(keeps, Stack::Model), ..line };
    let mut lines = vec![
        line("Weights, fp32", Bucket::Parameters, &WEIGHTS),
        line("Gradients, fp32", Bucket::Gradients, &GRADIENTS),
        line("Adam moments m and v, fp32", Bucket::Optimizer, &OPTIMIZER),
    ];
    match scenario.recipe.recomputation {
        Recomputation::None | Recomputation::KthLayer | Recomputation::Block => lines.extend([
            kept(Keeps::Whole, line("Layer activations", Bucket::Activations, &LINEAR)),
            kept(Keeps::Whole, line("Attention scores and softmax", Bucket::Activations, &SCORES)),
        ]),
        Recomputation::Selective | Recomputation::Operators => {
            lines.push(kept(Keeps::Whole, line("Layer activations", Bucket::Activations, &LINEAR)))
        }
        Recomputation::Full | Recomputation::EveryK => {
            lines.push(kept(Keeps::Inputs, line("Layer inputs", Bucket::Activations, &BOUNDARIES)))
        }
    }
    Ledger {
        lines,
        instants: WHOLE_STEP.iter().collect(),
        ranks: Vec::new(),

        host: Vec::new(),
        values: common_values(scenario),
        fragmentation: 0.0,
    }
}
