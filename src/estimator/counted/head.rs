//! From the last hidden state to the loss, and back: the tensors with one number per token and
//! vocabulary entry.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::task;
use super::types::{Types, base_bytes};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{
    FLASH_CROSS_ENTROPY, KORTHIKANTI, LIGER, LOSS_PARALLEL, MEGATRON_LOSS, PYTORCH, Source, TORCHTITAN_LOSS, TORCHTUNE,
    TRANSFORMERS, TRL_HEAD,
};
use crate::{Adapter, Bias, Engine, Kernels, Logits, LossHead, Norm, Position, Scenario, TaskKind, formula::Expr};

/// What the head of one stage is assembled with.
pub(super) struct Head<'a> {
    pub(super) to: &'a mut Assembly,
    pub(super) forward: Instants,
    pub(super) backward: Instants,
    pub(super) both: Instants,
}

impl Head<'_> {
    pub(super) fn push(
        &mut self,
        name: &'static str,
        bucket: Bucket,
        shape: &'static Expr,
        bytes: f64,
        alive: Instants,
        source: &'static Source,
    ) {
        if bytes > 0.0 {
            self.to.lines.push(Line { coefficient: bytes, ..Line::new(name, bucket, shape, source, alive) });
        }
    }

    /// So many bytes for each token and word of the vocabulary.
    fn logits(&mut self, name: &'static str, bytes: f64, alive: Instants, source: &'static Source) {
        self.push(name, Bucket::Logits, &forms::LOGITS, bytes, alive, source);
    }
}

/// The loss of a stage that has one.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    if !stage.has_head {
        return;
    }
    let at = &stage.at;
    final_norm(to, scenario, stage);
    if scenario.task.kind != TaskKind::Train {
        return task::loss(to, scenario, stage);
    }
    let e = Types::of(scenario).element;
    let mut head = Head {
        to,
        forward: StageInstants::only(at.forward),
        backward: Instants::among(&[at.loss]),
        both: at.around_loss(),
    };
    let whole = scenario.recipe.loss.makes_all_logits();
    if scenario.model.soft_cap.is_on() && whole {
        head.logits("Tanh of the soft-capped logits", e, head.both, &TRANSFORMERS);
    }
    // PyTorch's pipelines hold what a stage puts out until its backward pass (`fwd_cache` in
    // torch/distributed/pipelining/stage.py), the last stage's logits as well.
    let held_by_schedule = head.to.stages > 1 && scenario.cluster.engine.is_torch();
    let held = match scenario.recipe.logits {
        Logits::KeptFull => 4.0,
        Logits::Kept => e,
        Logits::Dropped if held_by_schedule => e,
        Logits::Dropped => 0.0,
    };
    if whole {
        // The forward instant counts them among what the loss reads, and so does the backward one of losses
        // that keep them.
        let kept = matches!(scenario.recipe.loss, LossHead::Kernel | LossHead::KernelInPlace)
            || (scenario.recipe.loss == LossHead::Chunked && scenario.recipe.kernels == Kernels::Fused);
        let late = if kept { at.in_backward() } else { head.backward.or(at.in_backward()) };
        head.logits("Logits that are still held", held, late, &TRANSFORMERS);
    }
    match scenario.recipe.loss {
        LossHead::Plain if scenario.model.encoder.is_there() => stacks(&mut head, scenario, e),
        LossHead::Plain if scenario.cluster.tensor_parallel > 1 => loss_parallel(&mut head, scenario, e),
        LossHead::Plain => plain(&mut head, e),
        LossHead::MaskedLm => masked_words(&mut head, scenario, e),
        LossHead::VocabularyParallel => vocabulary_parallel(&mut head, e),
        LossHead::VocabularyParallelFused => vocabulary_parallel_fused(&mut head, e),
        LossHead::Chunked if scenario.recipe.kernels == Kernels::Fused => compiled_chunks(&mut head, e),
        LossHead::Chunked => chunked(&mut head, e),
        LossHead::ChunkedHead => chunked_head(&mut head, scenario, e),
        LossHead::Tiled => tiled(&mut head, scenario, &forms::RESIDUAL),
        LossHead::Kernel => kernel(&mut head, e, false),
        LossHead::KernelInPlace => kernel(&mut head, e, true),
        LossHead::Fused => fused(&mut head, scenario, e),
        LossHead::Classifier => {}
    }
}

/// The block of the 16-bit logits is free once they are cast to fp32, and too small for any tensor of the
/// loss after them: it stays reserved while these are alive.
pub(super) fn held_by_blocks(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let e = Types::of(scenario).element;
    if scenario.task.kind != TaskKind::Train {
        return;
    }
    let cast = scenario.recipe.loss == LossHead::Plain && e < 4.0;
    if cast && scenario.recipe.logits != Logits::Kept {
        to.lines.push(Line {
            coefficient: e,
            ..Line::new(
                "Reserved for logits, before they are cast",
                Bucket::Runtime,
                &forms::LOGITS,
                &PYTORCH,
                Instants::among(&[stage.at.loss]),
            )
        });
    }
}

/// 8 bytes in fp32 and 10 at 16 bits where the forward pass ends, 12 in the backward pass.
fn plain(head: &mut Head, e: f64) {
    head.logits("Logits", e, head.forward, &TRANSFORMERS);
    if e < 4.0 {
        head.logits("Logits in fp32", 4.0, head.forward, &TRANSFORMERS);
    }
    head.logits("Log-softmax of the logits", 4.0, head.both, &TRANSFORMERS);
    head.logits("Gradient of the log-softmax", 4.0, head.backward, &TRANSFORMERS);
    head.logits("Gradient of the logits", 4.0, head.backward, &TRANSFORMERS);
}

/// The loss of encoder–decoders, whose logits are not cast: only autocast runs it in fp32. BART and its kin add a bias
/// to every logit, which autocast has in fp32 (`final_logits_bias` in transformers/models/bart/modeling_bart.py).
fn stacks(head: &mut Head, scenario: &Scenario, e: f64) {
    let source = &TRANSFORMERS;
    let autocast = Types::of(scenario).autocast;
    let loss = if autocast { 4.0 } else { e };
    // Beside frozen 16-bit weights the bias has 16 bits as well.
    let full = base_bytes(scenario) > 2.0 || !autocast;
    let biased = full && scenario.model.bias == Bias::All && !scenario.model.encoder.hears();
    // Without a bias the cast of autocast reads a copy of its own.
    let (logits, before) = match (biased, autocast) {
        (true, _) => (loss, 0.0),
        (false, true) => (e, e),
        (false, false) => (e, 0.0),
    };
    head.logits("Logits", logits, head.forward, source);
    head.logits("Logits, before they are cast", before, head.forward, source);
    head.logits("Log-softmax of the logits", loss, head.both, source);
    head.logits("Gradient of the log-softmax", loss, head.backward, source);
    head.logits("Gradient of the logits", logits, head.backward, source);
}

/// PyTorch's loss on a sharded vocabulary: the backward pass holds log-softmax, a tensor of zeros, its
/// exponentials and their sum, 16 bytes a logit of the shard; compiled, two of them are one.
fn loss_parallel(head: &mut Head, scenario: &Scenario, e: f64) {
    let source = &LOSS_PARALLEL;
    head.logits("Logits", e, head.forward, source);
    head.logits("Logits in fp32, less their maximum", 4.0, head.forward, source);
    head.logits("Log-softmax of the logits", 4.0, head.both, source);
    head.logits("Gradient of the log-softmax", 4.0, head.backward, source);
    let rest = if scenario.recipe.kernels == Kernels::Fused { 4.0 } else { 8.0 };
    head.logits("Softmax, and the gradient of the logits", rest, head.backward, source);
}

/// BERT's head: a dense layer, an activation and a norm of width H, then logits that are not cast. Only
/// autocast runs their loss in fp32.
fn masked_words(head: &mut Head, scenario: &Scenario, e: f64) {
    let types = Types::of(scenario);
    let source = &TRANSFORMERS;
    // Autocast's log-softmax reads 16 bits and writes fp32 in one kernel, and so does its backward pass.
    let loss = if types.autocast { 4.0 } else { e };
    let transform = if types.autocast { e + e + 4.0 } else { 3.0 * e };
    head.push(
        "Dense layer of the head, its activation and norm",
        Bucket::Activations,
        &forms::RESIDUAL,
        transform,
        head.both,
        source,
    );
    head.logits("Logits", e, head.forward, source);
    head.logits("Log-softmax of the logits", loss, head.both, source);
    head.logits("Gradient of the log-softmax", loss, head.backward, source);
    head.logits("Gradient of the logits", e, head.backward, source);
}

/// Megatron-LM subtracts, exponentiates and normalizes in the place of one fp32 copy, and differentiates
/// there as well: 6 bytes a logit of the shard, forward and backward.
fn vocabulary_parallel(head: &mut Head, e: f64) {
    let source = &MEGATRON_LOSS;
    if e < 4.0 {
        head.logits("Logits", e, head.forward, source);
    }
    head.logits("Logits in fp32, then their softmax, then its gradient", 4.0, head.both, source);
    head.logits("Gradient of the logits", e, head.backward, source);
}

/// Megatron-LM's own fusion compiles the same steps, and a compiler makes `logits -= max` and `exp(out=…)`
/// tensors of their own: 10 bytes a logit of the shard
/// (megatron/core/fusions/fused_cross_entropy.py, d98e8a64ddf3).
fn vocabulary_parallel_fused(head: &mut Head, e: f64) {
    vocabulary_parallel(head, e);
    head.logits("Logits in fp32, before the compiled loss", 4.0, head.both, &MEGATRON_LOSS);
}

/// torchtune's loss: logits in chunks, each cast to fp32 for its own loss. Autograd keeps the log-softmax of
/// every chunk for the backward pass (torchtune/modules/loss/ce_chunked_output_loss.py).
fn chunked(head: &mut Head, e: f64) {
    let source = &TORCHTUNE;
    head.logits("Logits", e, head.forward, source);
    head.logits("Log-softmax of every chunk", 4.0, head.both, source);
    let (forward, backward) = (head.forward, head.backward);
    if e < 4.0 {
        head.push("One chunk in fp32, forward", Bucket::Logits, &forms::LOGITS_CHUNK, 4.0, forward, source);
    }
    head.push("One chunk’s gradients in fp32", Bucket::Logits, &forms::LOGITS_CHUNK, 8.0, backward, source);
}

/// The same, compiled: the backward pass makes the softmax of a chunk anew from its logits.
fn compiled_chunks(head: &mut Head, e: f64) {
    let source = &TORCHTUNE;
    head.logits("Logits", e, head.both, source);
    head.logits("Gradient of the logits", e, head.backward, source);
    let (forward, backward) = (head.forward, head.backward);
    head.push("One chunk in fp32, forward", Bucket::Logits, &forms::LOGITS_CHUNK, 8.0, forward, source);
    head.push("One chunk in fp32, backward", Bucket::Logits, &forms::LOGITS_CHUNK, 12.0, backward, source);
}

/// torchtitan's chunked loss: head, loss and their backward pass, chunk by chunk. One chunk of logits in
/// the computing type and in fp32 with its gradients, and the gradient of the hidden states added up in
/// fp32.
fn chunked_head(head: &mut Head, scenario: &Scenario, e: f64) {
    let source = &TORCHTITAN_LOSS;
    let both = head.both;
    head.push(
        "One chunk of logits, its loss and gradients",
        Bucket::Logits,
        &forms::LOGITS_CHUNK,
        e + 12.0,
        both,
        source,
    );
    head.push(
        "Gradient of the last hidden state, added up in fp32",
        Bucket::Logits,
        &forms::RESIDUAL,
        4.0,
        both,
        source,
    );
    if scenario.recipe.adapter == Adapter::None {
        head_gradient(head, scenario, e, source);
    }
}

/// trl's `ChunkedLogProbFunction` keeps the rows of the hidden states that have a label. Its forward pass projects them a
/// tile at a time; its backward pass makes every tile again, writes the gradient over it, and adds up the gradients of the
/// hidden states and, where it is trained, of the head in fp32, which it casts before they are let go. A slice of weights
/// that have fp32 is cast for each tile. A micro-batch of fewer tokens has a tile of so many, which is at most 256 MiB less
/// in 16 bits and is not counted as less. `labelled` is the shape of these rows.
pub(super) fn tiled(head: &mut Head, scenario: &Scenario, labelled: &'static Expr) {
    let source = &TRL_HEAD;
    let (both, backward) = (head.both, head.backward);
    let Types { element: e, residual, .. } = Types::of(scenario);
    head.push("One tile of the logits, then of their gradient", Bucket::Logits, &forms::TILE, e, both, source);
    head.push("Hidden states that have a label", Bucket::Logits, labelled, residual, both, source);
    // A sum in fp32 and its cast, or the sum alone where that is the type.
    let summed = |bytes: f64| if bytes < 4.0 { 4.0 + bytes } else { 4.0 };
    let name = "Gradient of the last hidden state, added up in fp32, and its cast";
    head.push(name, Bucket::Logits, labelled, summed(residual), backward, source);
    let base = base_bytes(scenario);
    let (hidden, vocabulary) = (f64::from(scenario.model.hidden), f64::from(scenario.model.vocabulary));
    if base > e {
        let name = "One slice of the head in 16 bits";
        head.to.own(name, Bucket::Logits, e, forms::TILE_WORDS.min(vocabulary) * hidden, both, source);
    }
    if scenario.recipe.adapter == Adapter::None {
        let weights = vocabulary * hidden / head.to.tensor_parallel;
        let name = "Head’s gradient, added up in fp32, and its cast";
        head.to.own(name, Bucket::Gradients, summed(base), weights, backward, source);
    }
}

/// One kernel from logits to loss and gradient: flash-attn's writes the gradient beside the logits
/// (`inplace_backward=False`), Liger's over them.
fn kernel(head: &mut Head, e: f64, in_place: bool) {
    let source: &'static Source = if in_place { &LIGER } else { &FLASH_CROSS_ENTROPY };
    head.logits(if in_place { "Logits, then their gradient" } else { "Logits" }, e, head.both, source);
    if !in_place {
        head.logits("Gradient of the logits", e, head.backward, source);
    }
}

/// The kernel takes as many tokens at a time as make a chunk no larger than the hidden states, and makes
/// the gradient of the head at once, unless the head is frozen.
fn fused(head: &mut Head, scenario: &Scenario, e: f64) {
    let both = head.both;
    head.push("Gradient of the last hidden state", Bucket::Logits, &forms::RESIDUAL, e, both, &LIGER);
    head.push("One chunk of logits", Bucket::Logits, &forms::RESIDUAL, e + 4.0, both, &LIGER);
    if scenario.recipe.adapter == Adapter::None {
        head_gradient(head, scenario, e, &LIGER);
    }
}

/// It has the type of the weights, which autocast leaves in fp32.
fn head_gradient(head: &mut Head, scenario: &Scenario, bytes: f64, source: &'static Source) {
    let bytes = if Types::of(scenario).autocast { base_bytes(scenario) } else { bytes };
    let weights = f64::from(scenario.model.vocabulary) * f64::from(scenario.model.hidden) / head.to.tensor_parallel;
    let name = "Head’s gradient, made in the forward pass";
    head.to.own(name, Bucket::Gradients, bytes, weights, head.both, source);
}

/// Whether the model is an encoder of BERT's kind, whose norms stand behind its blocks and its embedding.
pub(super) fn is_encoder(scenario: &Scenario) -> bool {
    matches!(scenario.recipe.loss, LossHead::Classifier | LossHead::MaskedLm)
}

/// Bytes an element of the hidden state that a norm outside the blocks keeps of its input.
pub(super) fn norm_bytes(scenario: &Scenario) -> f64 {
    let (input, normalized) = norm_parts(scenario);
    input + if scenario.recipe.adapter == Adapter::None { normalized } else { 0.0 }
}

/// The same: of its input, and of what has no weight yet.
pub(super) fn norm_parts(scenario: &Scenario) -> (f64, f64) {
    let Types { residual: r, autocast, .. } = Types::of(scenario);
    let kernels = if scenario.cluster.engine == Engine::Torchtitan { Kernels::Fused } else { scenario.recipe.kernels };
    let input = match (kernels, scenario.model.norm) {
        (Kernels::Fused, _) => r,
        (Kernels::Eager, Norm::LayerNorm) => {
            if autocast {
                4.0
            } else {
                r
            }
        }
        (Kernels::Eager, Norm::Plain | Norm::RmsNorm | Norm::RmsNormFull) => 4.0,
        // Its centred input, twice in fp32 (`CohereLayerNorm` in models/cohere/modeling_cohere.py, transformers 5.23.0).
        (Kernels::Eager, Norm::LayerNormFull) => 2.0 * 4.0,
    };
    let normalized = match (kernels, scenario.model.norm) {
        (Kernels::Eager, Norm::RmsNorm) => r,
        (Kernels::Eager, Norm::RmsNormFull | Norm::LayerNormFull) => 4.0,
        _ => 0.0,
    };
    // T5 divides its input in the type in which it comes.
    let undivided = if scenario.model.position == Position::Relative && r < 4.0 { r } else { 0.0 };
    (input + undivided, normalized)
}

/// What the norm before the head and the head's product keep; frozen, they keep what the gradient of the
/// hidden state needs. An encoder has that norm behind its embedding, where it waits for the end of the
/// backward pass.
pub(super) fn final_norm(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let Types { element: e, .. } = Types::of(scenario);
    let trained = scenario.recipe.adapter == Adapter::None;
    let (input, normalized) = norm_parts(scenario);
    let encoder = is_encoder(scenario);
    let bytes = if trained && !encoder { input + normalized + e } else { input };
    let alive = if encoder { stage.at.in_passes() } else { stage.at.around_loss() };
    let mut push = |name, bucket, shape: &'static Expr, bytes| {
        to.lines.push(Line {
            coefficient: bytes,
            ..Line::new(
                name,
                bucket,
                shape,
                if bucket == Bucket::Temporary { &KORTHIKANTI } else { &TRANSFORMERS },
                alive,
            )
        });
    };
    push("Last norm and input of the head", Bucket::Activations, &forms::RESIDUAL, bytes);
    // Sequence parallelism gathers the tokens before the head.
    let cluster = &scenario.cluster;
    if cluster.tensor_parallel > 1 && cluster.sequence_parallel.is_on() {
        push("Input of the head, gathered", Bucket::Temporary, &forms::WHOLE_RESIDUAL, e);
    }
}
