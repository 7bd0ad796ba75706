//! Which layers keep what, which are computed again, and what lives while a layer runs backward.

use super::Assembly;
use super::encoder;
use super::forms;
use super::head;
use super::instants::StageInstants;
use super::layer::{self, Scope, Tensor};
use super::operators;
use super::stage::Stage;
use super::types::Types;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::{Keeps, Part, Stack};
use crate::source::{CHECKPOINTS, DEEPSPEED, KORTHIKANTI, PYTORCH, TRANSFORMERS};
use crate::{Engine, Recomputation, Scenario, formula::Expr, source::Source};

/// The activations of one stage, and those of an encoder before it.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    stack(to, scenario, &Stage { at: stage.at.of_decoder(), ..*stage });
    encoder::activations(to, scenario, stage);
}

/// The activations of one stack of layers.
pub(super) fn stack(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let recomputation = scenario.recipe.recomputation;
    let at = &stage.at;
    let whole = layer::kept(scenario);
    let again = stage.recomputed_part(scenario);
    let in_attention = attention_is_wider(scenario, stage, &whole);
    let last_is_kept = match recomputation {
        // The last layer is among those that are computed again only where K divides their number. In whole
        // numbers, because the remainder of doubles takes three kilobytes of the page.
        Recomputation::KthLayer => !(stage.layers() as u32).is_multiple_of(scenario.recipe.every.max(1)),
        // The first layers are.
        Recomputation::Block => again < 1.0,
        _ => again == 0.0,
    };
    if again < 1.0 {
        let selective = recomputation == Recomputation::Selective;
        for tensor in &whole {
            if tensor.again {
                // Where layers are computed again beside it, those have it among their own.
                let alive = match (again > 0.0, last_is_kept) {
                    (false, _) => at.in_backward(),
                    (true, true) => StageInstants::only(at.last),
                    (true, false) => Instants::at(&[]),
                };
                to.tensor(tensor, stage, Keeps::Again, (1.0, 0.0), alive);
            } else if selective && tensor.scores {
                to.tensor(tensor, stage, Keeps::Again, (1.0, 0.0), at.in_backward());
            } else if tensor.is_inner() && in_attention {
                // The layer that runs backward is through with its MLP when it is at its highest.
                let kept = stage.in_flight * (1.0 - again);
                let through = if last_is_kept { -1.0 } else { 0.0 };
                to.tensor(tensor, stage, Keeps::Whole, (0.0, kept), at.around_loss());
                to.tensor(tensor, stage, Keeps::Whole, (through, kept), StageInstants::only(at.last));
                let waiting = stage.waiting * (1.0 - again);
                to.tensor(tensor, stage, Keeps::Whole, (0.0, waiting), StageInstants::only(at.first));
            } else {
                let kept = stage.in_flight * (1.0 - again);
                to.tensor(tensor, stage, Keeps::Whole, (0.0, kept), at.all_layers_kept());
                // The first layer runs backward while other micro-batches wait.
                let own = if again > 0.0 { 0.0 } else { 1.0 };
                let waiting = stage.waiting * (1.0 - again);
                to.tensor(tensor, stage, Keeps::Whole, (own, waiting), StageInstants::only(at.first));
            }
        }
    }
    if again > 0.0 {
        layer_inputs(to, scenario, stage, again);
        let together = stage.layers_per_segment(scenario);
        // What layers that are computed again keep beside their inputs. Those that run backward have it among their own.
        let mut beside = |tensors: &[Tensor], keeps, again: f64, running: f64| {
            for tensor in tensors {
                to.tensor(tensor, stage, keeps, (0.0, stage.in_flight * again), at.around_loss());
                to.tensor(tensor, stage, keeps, (-running, stage.in_flight * again), StageInstants::only(at.last));
                to.tensor(tensor, stage, keeps, (0.0, stage.waiting * again), StageInstants::only(at.first));
            }
        };
        if recomputation == Recomputation::Operators {
            beside(&operators::kept(scenario), Keeps::Operators, 1.0, 1.0);
        }
        beside(&layer::held(scenario), Keeps::Frozen, again, if last_is_kept { 0.0 } else { together });
        let running = if last_is_kept { StageInstants::only(at.first) } else { at.in_backward() };
        for tensor in &whole {
            let through = if tensor.is_inner() && in_attention { 1.0 } else { 0.0 };
            to.tensor(tensor, stage, Keeps::Again, (together - through, 0.0), running);
        }
    }
    gradients_inside(to, scenario, stage, in_attention);
    gathered_sequence(to, scenario, stage);
    pipeline_outputs(to, scenario, stage);
    received(to, scenario, stage);
}

impl Assembly {
    /// The layers of what was added since belong to this stack.
    pub(super) fn are_layers_of(&mut self, stack: Stack, since: usize) {
        for line in self.lines.iter_mut().skip(since) {
            if let Part::Layers(keeps, _) = line.part {
                line.part = Part::Layers(keeps, stack);
            }
        }
    }

    /// What was added since is this.
    pub(super) fn are(&mut self, part: Part, since: usize) {
        for line in self.lines.iter_mut().skip(since) {
            line.part = part;
        }
    }

    /// Adds the lines of one tensor: `single` layers of it, and the whole stage `times` over.
    fn tensor(&mut self, tensor: &Tensor, stage: &Stage, keeps: Keeps, (single, times): (f64, f64), alive: Instants) {
        // Layers that run backward count as layers of the wider kind as far as there are any.
        let with_experts = if stage.experts_are_wider {
            single.clamp(-stage.expert_layers, stage.expert_layers)
        } else {
            single - single.clamp(-stage.dense_layers, stage.dense_layers)
        };
        let layers = match tensor.scope {
            Scope::Every => single + times * stage.layers(),
            Scope::Dense => times * stage.dense_layers + single - with_experts,
            Scope::Expert => times * stage.expert_layers + with_experts,
        };
        if layers > 0.0 {
            self.lines.push(Line {
                coefficient: tensor.bytes,
                layers,
                weights: tensor.width,
                part: Part::Layers(keeps, Stack::Model),
                ..Line::new(tensor.name, Bucket::Activations, tensor.shape, tensor.source, alive)
            });
        }
    }
}

/// The inputs from which the part `again` of the layers is computed again.
fn layer_inputs(to: &mut Assembly, scenario: &Scenario, stage: &Stage, again: f64) {
    let recipe = &scenario.recipe;
    let at = &stage.at;
    let layers = stage.layers() * again;
    let segments = (layers / stage.layers_per_segment(scenario)).ceil();
    // Swapped to the host, one is on its way out or in while another is in use.
    let swapped = recipe.offload.takes_activations();
    let kept = if swapped { segments.min(2.0) } else { segments };
    let bytes = Types::of(scenario).residual;
    let mut push = |layers: f64, alive| {
        if layers > 0.0 {
            to.lines.push(Line {
                coefficient: bytes,
                layers,
                part: Part::Layers(Keeps::Inputs, Stack::Model),
                ..Line::new("Layer inputs", Bucket::Activations, &forms::RESIDUAL, &CHECKPOINTS, alive)
            });
        }
    };
    // The input of the layer that is computed again is among the inputs of its norms, but for blocks with
    // norms behind them, whose products read 16-bit copies of it under autocast.
    let among_norms = if head::is_encoder(scenario) && Types::of(scenario).autocast { 0.0 } else { 1.0 };
    let all = kept * if swapped { 1.0 } else { stage.in_flight };
    let others = if swapped { 0.0 } else { kept * stage.waiting };
    push(all, at.around_loss());
    push(all - among_norms, StageInstants::only(at.last));
    push(others, StageInstants::only(at.first));
}

/// Gradients of activations while a layer runs backward.
fn gradients_inside(to: &mut Assembly, scenario: &Scenario, stage: &Stage, in_attention: bool) {
    let types = Types::of(scenario);
    let (r, e) = (types.residual, types.inner);
    let alive = stage.at.in_backward();
    let mut push = |name, shape: &'static Expr, bytes: f64| {
        to.lines.push(Line { coefficient: bytes, ..Line::new(name, Bucket::Temporary, shape, &TRANSFORMERS, alive) });
    };
    push("Gradient of the residual stream", &forms::RESIDUAL, r);
    let inner = layer::inner_gradients(scenario) * types.inside(stage);
    if in_attention {
        let learned = encoder::learns_a_mask(scenario);
        let name =
            if learned { "Gradient of the mask, for each sequence" } else { "Gradients of the attention scores" };
        push(name, &forms::SCORES, score_gradients(scenario));
        if learned {
            // The same kernel puts them out.
            push("Gradients of queries, keys and values", &forms::QUERIES, 3.0 * e);
        }
    } else if stage.experts_are_wider {
        push("Gradients inside the experts", &forms::EXPERT_INNER, inner);
    } else {
        push("Gradients inside the feed-forward block", &forms::INNER, inner);
    }
    if !in_attention {
        let cast = super::fp8::gradient_copies(scenario);
        let shape: &'static Expr = if stage.experts_are_wider { &forms::EXPERT_INNER } else { &forms::INNER };
        if cast > 0.0 {
            push("Gradient of one product, cast to fp8", shape, cast);
        }
    }
}

/// Sequence parallelism keeps a part of each activation and gathers the whole for every product,
/// forward and backward; the product's own output, or its gradient, is whole as well until it is
/// scattered (Korthikanti et al. 2022, section 4.2.2).
fn gathered_sequence(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let cluster = &scenario.cluster;
    if cluster.tensor_parallel > 1 && cluster.sequence_parallel.is_on() {
        to.lines.push(Line {
            coefficient: 2.0 * Types::of(scenario).element,
            ..Line::new(
                "Gathered over the tensor-parallel group",
                Bucket::Temporary,
                &forms::WHOLE_RESIDUAL,
                &KORTHIKANTI,
                stage.at.in_backward(),
            )
        });
    }
}

/// Hidden states and gradients that are received while others are computed: PyTorch's schedules post the
/// next receive of both kinds early (`_get_recv_ops` in torch/distributed/pipelining/stage.py).
fn received(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    if to.stages > 1 {
        let from_before = if stage.has_embedding { 0.0 } else { 2.0 };
        let from_behind = if stage.has_head { 0.0 } else { 1.0 };
        to.lines.push(Line {
            coefficient: Types::of(scenario).residual,
            layers: from_before + from_behind,
            ..Line::new(
                "Received from the neighbouring stages",
                Bucket::Temporary,
                &forms::RESIDUAL,
                &PYTORCH,
                stage.at.in_passes(),
            )
        });
    }
}

/// What a stage puts out waits for its backward pass: in DeepSpeed's pipeline micro-batch by micro-batch
/// (`pipe_buffers["outputs"]` in runtime/pipe/engine.py), under PyTorch's interleaved schedule chunk by chunk,
/// because sends that nobody has waited for hold it (`pending_sends` in
/// torch/distributed/pipelining/schedules.py, 2.15). Megatron-LM and PyTorch's 1F1B let go of it once it is
/// sent.
fn pipeline_outputs(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let source: &'static Source = match scenario.cluster.engine {
        Engine::Megatron => return,
        Engine::DeepSpeed => &DEEPSPEED,
        Engine::Torch | Engine::Torchtitan if stage.chunk < 1.0 => &PYTORCH,
        Engine::Torch | Engine::Torchtitan => return,
    };
    // The chunk with the head puts out logits.
    let hidden = if stage.has_head { 1.0 - stage.chunk } else { 1.0 };
    let chunks = stage.in_flight / stage.chunk * hidden;
    if to.stages > 1 && chunks > 0.0 {
        to.lines.push(Line {
            coefficient: Types::of(scenario).residual,
            layers: chunks,
            ..Line::new(
                "Outputs of the stage, micro-batch by micro-batch",
                Bucket::Activations,
                &forms::RESIDUAL,
                source,
                stage.at.all_layers_kept(),
            )
        });
    }
}

/// The two ways in which a layer's backward pass can be at its highest: inside the MLP, with the
/// gradients of its products, or inside eager attention, with those of its scores, when it has let go of
/// its MLP. `kept` is what the layer keeps of either.
fn attention_is_wider(scenario: &Scenario, stage: &Stage, kept: &[Tensor]) -> bool {
    let model = &scenario.model;
    let scores = score_gradients(scenario) * f64::from(model.heads) * f64::from(scenario.recipe.sequence);
    let gradients =
        layer::inner_gradients(scenario) * Types::of(scenario).inside(stage) + super::fp8::gradient_copies(scenario);
    let (shape, width) = if stage.experts_are_wider {
        let active = f64::from(model.experts.active.min(model.experts.count)) * super::imbalance(scenario);
        (&forms::EXPERT_INNER, f64::from(model.expert_width()) * active)
    } else {
        (&forms::INNER, f64::from(model.feed_forward))
    };
    let inside: f64 = kept.iter().filter(|tensor| std::ptr::eq(tensor.shape, shape)).map(|tensor| tensor.bytes).sum();
    scores > (gradients + inside) * width
}

/// Bytes that the backward pass of the softmax adds to the scores that are kept: on CUDA four tensors in
/// the softmax's own type are alive where one was (its output, the gradient that arrives, their product and
/// the gradient that leaves: aten/src/ATen/native/cuda/SoftMax.cu, `softmax_backward_cuda_out`), and its
/// copy for the product is gone.
///
/// SDPA has no scores in memory. Where its mask is learned, its backward pass puts out a gradient of the mask for every
/// sequence (`_efficient_attention_backward` in aten/src/ATen/native/transformers/cuda/attention_backward.cu, 2.15).
fn score_gradients(scenario: &Scenario) -> f64 {
    if encoder::learns_a_mask(scenario) {
        return Types::of(scenario).element;
    }
    let (kept, softmax) = layer::score_bytes(scenario);
    (4.0 * softmax - kept).max(softmax)
}
