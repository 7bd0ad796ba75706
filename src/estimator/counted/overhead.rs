//! What a process takes beside the tensors of its model.

use super::Assembly;
use super::forms;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{BEKMAN, DRIVER};
use crate::{Scenario, formula::Expr, source::Source};

/// Driver, context and communication buffers.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario) {
    let device = &scenario.device;
    let mut push = |name, amount: f64, shape: &'static Expr, source: &'static Source| {
        if amount > 0.0 {
            to.lines.push(Line {
                coefficient: amount,
                ..Line::new(name, Bucket::Runtime, shape, source, Instants::ALWAYS)
            });
        }
    };
    push("Driver’s reserve", device.driver.mib(), &forms::MEBIBYTES, &DRIVER);
    push("CUDA context", device.cuda_context.gib(), &forms::GIBIBYTES, &BEKMAN);
    if scenario.cluster.gpus > 1 {
        push("Communication buffers", device.communication.gib(), &forms::GIBIBYTES, &BEKMAN);
    }
}
