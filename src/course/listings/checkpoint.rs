//! A forward pass with the scenario's recomputation.
//!
//! What each policy keeps is what the ledger counts ([`Recomputation`]); how it is said is PyTorch's
//! (<https://docs.pytorch.org/docs/stable/checkpoint.html>).

use super::Code;
use crate::{AttentionKernel, LossHead, Method, Recomputation, Scenario};

const IMPORT: &str = "from torch.utils.checkpoint import checkpoint";

pub(super) fn write(code: &mut Code, scenario: &Scenario) {
    let recipe = &scenario.recipe;
    let every = recipe.every.max(1);
    match recipe.recomputation {
        Recomputation::None => pass(code, scenario, |code| {
            code.line(1, "for block in self.blocks:");
            code.line(2, "# x = checkpoint(block, x, use_reentrant=False) would keep only x.");
            code.line(2, "x = block(x)  # keeps everything inside, recomputes nothing");
        }),
        Recomputation::Selective => selective(code, scenario),
        Recomputation::Operators => operators(code, scenario),
        Recomputation::EveryK if every > 1 => segments(code, scenario, every),
        Recomputation::KthLayer if every > 1 => some(code, scenario, &format!("number % {every} == 0")),
        Recomputation::Block => some(code, scenario, &format!("number <= {}", recipe.recomputed_layers)),
        // Segments of one layer, and every layer by itself, are the same as all layers.
        Recomputation::EveryK | Recomputation::KthLayer | Recomputation::Full => {
            code.lines(&[IMPORT, "", ""]);
            pass(code, scenario, |code| {
                code.line(1, "for block in self.blocks:");
                code.line(2, "# Keeps only x, and runs the block again in the backward pass.");
                code.line(2, "x = checkpoint(block, x, use_reentrant=False)");
            });
        }
    }
}

/// The forward pass of a model around its blocks.
fn pass(code: &mut Code, scenario: &Scenario, blocks: impl FnOnce(&mut Code)) {
    let staged = scenario.method != Method::Workshop && scenario.cluster.pipeline_parallel > 1;
    if staged {
        code.line(0, "# In a pipeline self.blocks are the layers of one stage, and x comes from the stage before.");
        code.line(0, "def forward(self, x):");
        blocks(code);
        code.line(1, "return x");
    } else {
        code.line(0, "def forward(self, inputs):");
        code.line(1, "x = self.embedding(inputs)");
        blocks(code);
        code.line(1, "return self.head(self.norm(x))");
    }
}

/// Blocks of which some are computed again.
fn some(code: &mut Code, scenario: &Scenario, which: &str) {
    code.lines(&[IMPORT, "", ""]);
    pass(code, scenario, |code| {
        code.line(1, "for number, block in enumerate(self.blocks, start=1):");
        code.line(2, &format!("if {which}:"));
        code.line(3, "x = checkpoint(block, x, use_reentrant=False)  # keeps only x");
        code.line(2, "else:");
        code.line(3, "x = block(x)  # keeps everything inside");
    });
}

/// Segments, of which the input alone is kept. PyTorch's checkpoint_sequential would keep all of the last one.
fn segments(code: &mut Code, scenario: &Scenario, every: u32) {
    code.lines(&[IMPORT, "", "", "def run(blocks, x):", "    for block in blocks:", "        x = block(x)"]);
    code.lines(&["    return x", "", ""]);
    pass(code, scenario, |code| {
        code.line(1, &format!("for first in range(0, len(self.blocks), {every}):"));
        code.line(2, &format!("segment = self.blocks[first : first + {every}]"));
        code.line(2, "# Keeps only the segment's input, and runs it again in the backward pass.");
        code.line(2, "x = checkpoint(run, segment, x, use_reentrant=False)");
    });
}

/// The scores of attention alone.
fn selective(code: &mut Code, scenario: &Scenario) {
    let causal = !matches!(scenario.recipe.loss, LossHead::Classifier | LossHead::MaskedLm);
    if scenario.recipe.attention == AttentionKernel::Flash {
        let argument = if causal { ", is_causal=True" } else { "" };
        code.lines(&[
            "import torch.nn.functional as F",
            "",
            "",
            "def attention(q, k, v):",
            "    # A flash kernel recomputes the scores by itself: this is selective recomputation.",
        ]);
        code.line(1, &format!("return F.scaled_dot_product_attention(q, k, v{argument})"));
        code.lines(&["", ""]);
        pass(code, scenario, |code| {
            code.line(1, "for block in self.blocks:");
            code.line(2, "# Full recomputation would be x = checkpoint(block, x, use_reentrant=False).");
            code.line(2, "x = block(x)");
        });
        return;
    }
    if causal {
        code.line(0, "import torch");
    }
    code.lines(&[IMPORT, "", "", "def weighted(q, k, v):"]);
    code.line(1, "scores = q @ k.mT / q.shape[-1] ** 0.5");
    if causal {
        code.line(1, "future = torch.ones_like(scores, dtype=torch.bool).triu(1)");
        code.line(1, "scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)");
    }
    code.line(1, "return scores.softmax(dim=-1) @ v");
    code.lines(&[
        "",
        "",
        "def attention(q, k, v):",
        "    # Keeps q, k and v, and computes scores and softmax again in the backward pass.",
        "    return checkpoint(weighted, q, k, v, use_reentrant=False)",
    ]);
}

/// Every second product is kept, as torchtitan's operator-level selection does
/// (`torchtitan/distributed/activation_checkpoint.py`).
fn operators(code: &mut Code, scenario: &Scenario) {
    code.lines(&[
        "import torch",
        "from torch.utils.checkpoint import CheckpointPolicy, checkpoint",
        "from torch.utils.checkpoint import create_selective_checkpoint_contexts",
        "",
        "aten = torch.ops.aten",
        "products = {aten.mm.default, aten.addmm.default}",
        "attention = {",
        "    aten._scaled_dot_product_flash_attention.default,",
        "    aten._scaled_dot_product_efficient_attention.default,",
        "}",
        "",
        "",
        "def keep_some():",
        "    seen = {False: 0, True: 0}  # products, forward and when they run again",
        "",
        "    def policy(context, op, *args, **kwargs):",
        "        seen[context.is_recompute] += op in products",
        "        second = op in products and seen[context.is_recompute] % 2 == 1",
        "        keep = second or op in attention",
        "        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE",
        "",
        "    return create_selective_checkpoint_contexts(policy)",
        "",
        "",
    ]);
    pass(code, scenario, |code| {
        code.line(1, "for block in self.blocks:");
        code.line(2, "x = checkpoint(block, x, use_reentrant=False, context_fn=keep_some)");
    });
}
