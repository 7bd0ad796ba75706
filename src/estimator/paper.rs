//! Method 2: the papers' own counts.
//!
//! Activations are those of Korthikanti et al. 2022 (arXiv 2205.05198): a GPT block of width H with
//! a feed-forward width of 4H keeps s·b·h·(34 + 5·a·s/h) bytes at 16 bits, which is
//!
//! | part | elements at 16 bits | dropout masks |
//! | --- | --- | --- |
//! | two LayerNorm inputs | 4 | |
//! | inputs of attention and of the MLP | 4 | |
//! | queries, keys, values; input of the projection | 8 | |
//! | MLP: input of GELU and of the second matrix, 4H each | 16 | |
//! | masks of the two dropouts on the residual path | | 2 |
//! | per head and S²: softmax, its dropout output | 4 | 1 |
//!
//! Of the 34 bytes, tensor parallelism divides 24 and leaves 10 (LayerNorm inputs, the two block
//! inputs, the masks) on every GPU; sequence parallelism divides those too. Elements double at
//! fp32, masks stay at one byte: 66 and 9. Without dropout the masks go, and softmax and its
//! dropout output are one tensor: 32 and 2.
//!
//! Model states are those of Rajbhandari et al. 2020 (arXiv 1910.02054): 2 + 2 + 12 bytes a
//! parameter in mixed precision, 4 + 4 + 8 in fp32, divided by the ZeRO stage.

use super::choice::{Precision, Recomputation, ZeroStage};
use super::formula::terms::{
    B, DP, GRADIENT_BYTES, H, HEADS, L, LINEAR, N, OPTIMIZER_BYTES, REPLICATED, S, SCORES, SPLIT, T, WEIGHT_BYTES,
};
use super::formula::{Expr, Symbol, Values};
use super::ledger::{Bucket, Instants, Ledger, Line, WHOLE_STEP, common_values};
use super::meaning::{Keeps, Part, Stack};
use super::scenario::Scenario;
use super::source::{KORTHIKANTI, RAJBHANDARI, Source};

/// The four ways in which one model state can be divided.
struct Division {
    whole: Expr,
    over_tensor: Expr,
    over_data: Expr,
    over_both: Expr,
}

macro_rules! division {
    ($name:ident, $bytes:ident) => {
        static $name: Division = Division {
            whole: Expr::Product(&[$bytes, N]),
            over_tensor: Expr::Quotient(&Expr::Product(&[$bytes, N]), &T),
            over_data: Expr::Quotient(&Expr::Product(&[$bytes, N]), &DP),
            over_both: Expr::Quotient(&Expr::Product(&[$bytes, N]), &Expr::Product(&[T, DP])),
        };
    };
}

division!(WEIGHTS, WEIGHT_BYTES);
division!(GRADIENTS, GRADIENT_BYTES);
division!(OPTIMIZER, OPTIMIZER_BYTES);

impl Division {
    fn formula(&'static self, tensor: bool, data: bool) -> &'static Expr {
        match (tensor, data) {
            (false, false) => &self.whole,
            (true, false) => &self.over_tensor,
            (false, true) => &self.over_data,
            (true, true) => &self.over_both,
        }
    }
}

/// How tensor parallelism divides a layer's activations.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// One GPU holds the layer.
    Whole,
    /// T divides attention and MLP; LayerNorm inputs, block inputs and masks stay whole.
    Tensor,
    /// T divides everything.
    TensorAndSequence,
}

static LINEAR_WHOLE: Expr = Expr::Product(&[L, S, B, H, LINEAR]);
static LINEAR_TENSOR: Expr = Expr::Product(&[L, S, B, H, Expr::Sum(&[REPLICATED, Expr::Quotient(&SPLIT, &T)])]);
static LINEAR_SEQUENCE: Expr = Expr::Quotient(&LINEAR_WHOLE, &T);
static SCORES_WHOLE: Expr = Expr::Product(&[L, SCORES, HEADS, Expr::Square(&S), B]);
static SCORES_TENSOR: Expr = Expr::Quotient(&SCORES_WHOLE, &T);

impl Layout {
    fn of(scenario: &Scenario) -> Self {
        match (scenario.cluster.tensor_parallel > 1, scenario.cluster.sequence_parallel.is_on()) {
            (false, _) => Self::Whole,
            (true, false) => Self::Tensor,
            (true, true) => Self::TensorAndSequence,
        }
    }

    fn linear(self) -> &'static Expr {
        match self {
            Self::Whole => &LINEAR_WHOLE,
            Self::Tensor => &LINEAR_TENSOR,
            Self::TensorAndSequence => &LINEAR_SEQUENCE,
        }
    }

    fn scores(self) -> &'static Expr {
        if self == Self::Whole { &SCORES_WHOLE } else { &SCORES_TENSOR }
    }

    /// The layer input that full recomputation keeps; only sequence parallelism divides it.
    fn boundary(self) -> &'static Expr {
        if self == Self::TensorAndSequence { &LINEAR_SEQUENCE } else { &LINEAR_WHOLE }
    }
}

/// The paper's ledger.
pub(crate) fn ledger(scenario: &Scenario) -> Ledger {
    let mut lines = state_lines(scenario);
    let layout = Layout::of(scenario);
    let mut activation = |name, formula, part| {
        lines.push(Line { part, ..line(name, Bucket::Activations, formula, &KORTHIKANTI) });
    };
    let of_layers = |keeps| Part::Layers(keeps, Stack::Model);
    match scenario.recipe.recomputation {
        Recomputation::None | Recomputation::KthLayer | Recomputation::Block => {
            activation("Layer activations", layout.linear(), of_layers(Keeps::Whole));
            activation("Attention scores and softmax", layout.scores(), of_layers(Keeps::Whole));
        }
        // The paper knows three ways; the finer ones count as the nearest of them that keeps more.
        Recomputation::Selective | Recomputation::Operators => {
            activation("Layer activations", layout.linear(), of_layers(Keeps::Whole));
        }
        Recomputation::Full | Recomputation::EveryK => {
            activation("Layer inputs", layout.boundary(), of_layers(Keeps::Inputs));
        }
    }
    Ledger {
        lines,
        instants: WHOLE_STEP.iter().collect(),
        ranks: Vec::new(),

        host: Vec::new(),
        values: values(scenario),
        fragmentation: 0.0,
    }
}

fn line(name: &'static str, bucket: Bucket, formula: &'static Expr, source: &'static Source) -> Line {
    Line::new(name, bucket, formula, source, Instants::ALWAYS)
}

/// ZeRO divides optimizer state first, then gradients, then weights; tensor parallelism divides all
/// three at every stage.
fn state_lines(scenario: &Scenario) -> Vec<Line> {
    let tensor = scenario.cluster.tensor_parallel > 1;
    let stage = scenario.cluster.zero;
    let (weights, gradients, optimizer) = match scenario.recipe.precision {
        Precision::Fp32 => ("Weights, fp32", "Gradients, fp32", "Adam moments m and v, fp32"),
        Precision::Bf16 | Precision::Mixed | Precision::Autocast | Precision::PureBf16 => {
            ("Weights, bf16", "Gradients, bf16", "Master weights and Adam moments, fp32")
        }
        Precision::Fp16 => ("Weights, fp16", "Gradients, fp16", "Master weights and Adam moments, fp32"),
    };
    let state = |name, bucket, division: &'static Division, from: ZeroStage| {
        line(name, bucket, division.formula(tensor, stage >= from), &RAJBHANDARI)
    };
    vec![
        state(weights, Bucket::Parameters, &WEIGHTS, ZeroStage::Stage3),
        state(gradients, Bucket::Gradients, &GRADIENTS, ZeroStage::Stage2),
        state(optimizer, Bucket::Optimizer, &OPTIMIZER, ZeroStage::Stage1),
    ]
}

/// The coefficients as counted in the table at the head of this file.
fn values(scenario: &Scenario) -> Values {
    let element = f64::from(scenario.recipe.precision.element_bytes());
    // One mask of one byte for each of the two residual dropouts, and one per score.
    let mask = if scenario.recipe.dropout.is_on() { 1.0 } else { 0.0 };
    let replicated = 4.0 * element + 2.0 * mask;
    let split = 12.0 * element;
    // Softmax; with dropout its mask and its output as well.
    let scores = element + mask * (1.0 + element);
    let linear = match scenario.recipe.recomputation {
        Recomputation::Full | Recomputation::EveryK => element,
        _ => replicated + split,
    };
    let (weights, gradients, optimizer) = match scenario.recipe.precision {
        Precision::Fp32 => (4.0, 4.0, 8.0),
        _ => (2.0, 2.0, 12.0),
    };
    common_values(scenario)
        .with(Symbol::Linear, linear)
        .with(Symbol::Replicated, replicated)
        .with(Symbol::Split, split)
        .with(Symbol::Scores, scores)
        .with(Symbol::WeightBytes, weights)
        .with(Symbol::GradientBytes, gradients)
        .with(Symbol::OptimizerBytes, optimizer)
}
