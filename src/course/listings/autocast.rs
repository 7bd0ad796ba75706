//! One step in the precision of the scenario.
//!
//! The order is that of PyTorch's own examples: a scaled loss, a backward pass outside autocast, gradients without the
//! scale before they are clipped (<https://docs.pytorch.org/docs/stable/notes/amp_examples.html>, "Working with
//! Unscaled Gradients").

use super::{Code, Computing, device, forward};
use crate::{Adapter, Precision, Scenario};

pub(super) fn write(code: &mut Code, scenario: &Scenario) {
    let computing = Computing::of(scenario);
    code.lines(&["import torch", "import torch.nn.functional as F"]);
    if computing == Computing::Gathered {
        code.line(0, "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard");
    }
    code.line(0, "");
    before_the_loop(code, scenario, computing);
    code.line(0, "for inputs, targets in loader:");
    forward(code, 1, scenario, true);
    let clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)";
    let step: &[&str] = if computing.scales() {
        &[
            "scaler.scale(loss).backward()",
            "scaler.unscale_(optimizer)  # clipping needs the gradients without the scale",
            clip,
            "scaler.step(optimizer)  # skips the step if a gradient overflowed",
            "scaler.update()  # halves the scale after an overflow",
        ]
    } else {
        &["loss.backward()", clip, "optimizer.step()"]
    };
    for line in step {
        code.line(1, line);
    }
    code.line(1, "optimizer.zero_grad()");
}

/// What the precision needs once, and why it needs no more.
fn before_the_loop(code: &mut Code, scenario: &Scenario, computing: Computing) {
    let master = match scenario.recipe.precision {
        // These keep 16-bit weights beside the copy, which PyTorch by itself does not.
        Precision::Bf16 | Precision::Fp16 => {
            "# PyTorch has no 16-bit weights beside an fp32 copy: autocast casts the fp32 weights."
        }
        _ => "# What is trained stays in fp32; autocast casts it to 16 bits for each product.",
    };
    match computing {
        Computing::Full => code.line(0, "# fp32 needs neither autocast nor a GradScaler."),
        Computing::Autocast(_) if computing.scales() => {
            code.line(0, master);
            code.line(0, &format!("scaler = torch.amp.GradScaler(\"{}\")", device(scenario)));
        }
        Computing::Autocast(_) => {
            code.line(0, master);
            code.line(0, "# bf16 has the range of fp32: it needs no GradScaler.");
        }
        Computing::Gathered => code.lines(&[
            "# FSDP casts the fp32 weights of a block to bf16 when it gathers them: no autocast.",
            "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)",
            "for block in model.blocks:",
            "    fully_shard(block, mp_policy=policy)",
            "fully_shard(model, mp_policy=policy)",
            "optimizer = torch.optim.AdamW(model.parameters())  # or your own, made after fully_shard",
            "",
        ]),
        Computing::Half if scenario.recipe.adapter == Adapter::None => code.lines(&[
            "# Pure bf16 has no fp32 copy of the weights, no autocast and no GradScaler.",
            "model.to(torch.bfloat16)",
        ]),
        Computing::Half => code.line(0, "# The frozen weights are in 16 bits: no autocast and no GradScaler."),
    }
}
