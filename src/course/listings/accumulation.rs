//! One step of several micro-batches.
//!
//! The sum of all losses of a step, divided by the tokens of that step on all GPUs, is the mean that one large batch
//! would have; a mean of means is another number as soon as micro-batches differ in their tokens (Hugging Face 2024,
//! "Fixing Gradient Accumulation", <https://huggingface.co/blog/gradient_accumulation>). DDP and FSDP take the mean of
//! the gradients over their ranks, so that the loss is multiplied by their number
//! (<https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>).

use super::{Code, Computing, device, forward};
use crate::course::updates::steps_to_goal;
use crate::{Cluster, LossHead, Method, Scenario, number};

/// How many sequences the micro-batches of a step have, where each has one target.
const OF_SEQUENCES: &str = "sum(len(targets) for _, targets in step)";

/// K: what the scenario accumulates, or what its micro-batch takes to reach the global batch where it says nothing of
/// that.
pub(super) fn micro_batches(scenario: &Scenario) -> u32 {
    match scenario.recipe.micro_batches {
        0 | 1 => steps_to_goal(scenario),
        several => several,
    }
}

/// Ranks that see different tokens, over which gradients are averaged.
fn ranks(scenario: &Scenario) -> u32 {
    let context = if scenario.method == Method::Workshop { 1 } else { scenario.cluster.context_parallel.max(1) };
    scenario.data_parallel().saturating_mul(context)
}

/// Whether ranks that see the same tokens, or the other layers, are among those of the job.
fn has_other_ranks(scenario: &Scenario) -> bool {
    let Cluster { tensor_parallel, pipeline_parallel, .. } = scenario.cluster;
    scenario.method != Method::Workshop && tensor_parallel.max(1).saturating_mul(pipeline_parallel.max(1)) > 1
}

pub(super) fn write(code: &mut Code, scenario: &Scenario) {
    let (ranks, scales) = (ranks(scenario), Computing::of(scenario).scales());
    let of_classes = scenario.recipe.loss == LossHead::Classifier;
    code.lines(&["from itertools import islice", "", "import torch", "import torch.nn.functional as F", ""]);
    if scenario.method != Method::Workshop && scenario.cluster.pipeline_parallel > 1 {
        code.lines(&[
            "# With a pipeline schedule.step() is this loop over K micro-batches, and",
            "# scale_grads=False leaves the division to the loss, as here.",
        ]);
    }
    if scales {
        code.line(0, &format!("scaler = torch.amp.GradScaler(\"{}\")", device(scenario)));
    }
    code.line(0, &format!("K = {}  # {}", micro_batches(scenario), product(scenario)));
    code.lines(&["batches = iter(loader)", "while step := list(islice(batches, K)):"]);
    let what = if of_classes { "sequences" } else { "tokens" };
    code.line(1, &format!("# mean loss / K is right only if every micro-batch has the same number of {what}."));
    code.line(1, &format!("# Always right: sum the losses and divide by the {what} of the whole step."));
    let count = match (of_classes, ranks) {
        (false, _) => "sum((targets != -100).sum() for _, targets in step)  # -100: no target".to_owned(),
        (true, 1) => OF_SEQUENCES.to_owned(),
        (true, _) => format!("torch.tensor({OF_SEQUENCES}, device=\"{}\")", device(scenario)),
    };
    code.line(1, &format!("{what} = {count}"));
    if ranks > 1 {
        let (group, those) = if has_other_ranks(scenario) {
            (", group=data_group", "of the ranks with other tokens")
        } else {
            ("", "of all GPUs")
        };
        code.line(1, &format!("torch.distributed.all_reduce({what}{group})  # {those}"));
    }
    code.line(1, "for inputs, targets in step:");
    forward(code, 2, scenario, false);
    let loss = if ranks > 1 { format!("loss * {ranks} / {what}") } else { format!("loss / {what}") };
    let why = if ranks > 1 { format!("  # DDP and FSDP divide by {ranks}") } else { String::new() };
    let backward = if scales { format!("scaler.scale({loss}).backward()") } else { format!("({loss}).backward()") };
    code.line(2, &format!("{backward}{why}"));
    let update: &[&str] = if scales { &["scaler.step(optimizer)", "scaler.update()"] } else { &["optimizer.step()"] };
    for line in update {
        code.line(1, line);
    }
    code.line(1, "optimizer.zero_grad()");
}

/// What K makes of a micro-batch.
fn product(scenario: &Scenario) -> String {
    let steps = micro_batches(scenario);
    let (batch, copies) = (scenario.recipe.batch, scenario.data_parallel());
    if steps == 1 {
        return "one micro-batch is the whole step: nothing is added up".to_owned();
    }
    let sequences = f64::from(batch) * f64::from(copies) * f64::from(steps);
    let [each, steps, all] = [f64::from(batch), steps.into(), sequences].map(number::grouped);
    let many = if batch == 1 { "sequence" } else { "sequences" };
    let group = scenario.method != Method::Workshop && scenario.cluster.group() > 1;
    let times = match (copies, group) {
        (1, _) => String::new(),
        (copies, false) => format!(" x {} GPUs", number::grouped(copies.into())),
        (copies, true) => format!(" x {} groups of GPUs", number::grouped(copies.into())),
    };
    format!("{each} {many}{times} x {steps} = {all} sequences in a step")
}
