//! An encoder before the decoder, and what each layer of the decoder keeps to attend to it.
//!
//! The encoder is counted as a stack of its own: the layers of the same scenario over S_e tokens, with the instants of
//! its own backward pass, which comes after the decoder's. Until then all that it keeps stays. What attention to
//! another stack keeps was counted in transformers 5.23.0 with saved-tensor hooks on T5, BART and Whisper
//! (tests/vectors/README.md).

use super::Assembly;
use super::activations;
use super::forms;
use super::head;
use super::instants::StageInstants;
use super::layer::{self, Layer};
use super::stage::Stage;
use super::states::{Kind, StateBytes, frozen_bytes};
use super::types::Types;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::Stack;
use crate::source::{FLASH, MODEL, TRANSFORMERS};
use crate::{
    Adapter, AdapterWeights, AttentionKernel, Encoder, Engine, LossHead, Mlp, Position, Scenario, Switch, Weights,
    formula::Expr,
};

/// The scenario as it is run with an encoder: by transformers, on data-parallel and tensor-parallel devices.
/// [`Scenario::conflicts`] names what it leaves out.
pub(super) fn as_run(scenario: &Scenario) -> Scenario {
    let mut run = *scenario;
    if !run.model.encoder.is_there() {
        // Nothing else of an encoder is read.
        run.model.encoder = Encoder::NONE;
        run.recipe.source = 0;
        return run;
    }
    let cluster = &mut run.cluster;
    (cluster.pipeline_parallel, cluster.context_parallel) = (1, 1);
    cluster.sequence_parallel = Switch::Off;
    if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
        cluster.engine = Engine::Torch;
    }
    if matches!(run.recipe.loss, LossHead::MaskedLm | LossHead::Classifier) {
        run.recipe.loss = LossHead::Plain;
    }
    run
}

/// The encoder as a scenario of its own: the only one with a source and without an encoder.
fn view(scenario: &Scenario) -> Scenario {
    let mut own = *scenario;
    own.recipe.sequence = scenario.source();
    own.recipe.source = own.recipe.sequence.max(1);
    own.model.layers = scenario.model.encoder.layers;
    // What hears is built a little differently.
    own.model.encoder = Encoder { mels: own.model.encoder.mels, ..Encoder::NONE };
    own.model.experts = crate::Experts::NONE;
    own
}

/// Does with the encoder what is done with the decoder: `what` gets it as a stage of its own.
pub(super) fn beside(scenario: &Scenario, stage: &Stage, mut what: impl FnMut(&Scenario, &Weights, &Stage)) {
    if let Some(at) = stage.at.of_encoder() {
        let own = view(scenario);
        let encoder = Stage {
            at,
            has_embedding: false,
            has_head: false,
            dense_layers: own.model.layers.into(),
            expert_layers: 0.0,
            experts_are_wider: false,
            ..*stage
        };
        what(&own, &Weights::of(&own.model), &encoder);
    }
}

/// The shape that a tensor of the decoder has in the encoder.
fn of_source(shape: &'static Expr) -> &'static Expr {
    let pairs: [(&'static Expr, &'static Expr); 11] = [
        (&forms::RESIDUAL, &forms::SOURCE_RESIDUAL),
        (&forms::WHOLE_RESIDUAL, &forms::SOURCE_RESIDUAL),
        (&forms::QUERIES, &forms::SOURCE_QUERIES),
        (&forms::KEYS, &forms::SOURCE_KEYS),
        (&forms::PACKED, &forms::SOURCE_PACKED),
        (&forms::RANKS, &forms::SOURCE_RANKS),
        (&forms::ROWS, &forms::SOURCE_ROWS),
        (&forms::SCORES, &forms::SOURCE_SCORES),
        (&forms::INNER, &forms::SOURCE_INNER),
        (&forms::OWN_WIDTH, &forms::SOURCE_WIDTH),
        (&forms::PAIRS, &forms::SOURCE_PAIRS),
    ];
    pairs.iter().find(|(of, _)| std::ptr::eq(*of, shape)).map_or(shape, |(_, source)| *source)
}

/// What the encoder keeps, and what is alive while it runs backward.
pub(super) fn activations(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    beside(scenario, stage, |own, _, encoder| {
        let before = to.lines.len();
        activations::stack(to, own, encoder);
        to.are_layers_of(Stack::Encoder, before);
        for line in &mut to.lines[before..] {
            line.formula = of_source(line.formula);
        }
        around(to, scenario, &stage.at, &encoder.at);
    });
}

/// What lies between the two stacks, and before the encoder.
fn around(to: &mut Assembly, scenario: &Scenario, decoder: &StageInstants, at: &StageInstants) {
    let Types { element: e, residual: r, autocast, .. } = Types::of(scenario);
    let trained = scenario.recipe.adapter == Adapter::None;
    let mut push = |name, bucket, shape: &'static Expr, bytes: f64, alive: Instants| {
        if bytes > 0.0 {
            to.lines.push(Line { coefficient: bytes, ..Line::new(name, bucket, shape, &TRANSFORMERS, alive) });
        }
    };
    let kept = Bucket::Activations;
    let residual = &forms::SOURCE_RESIDUAL;
    push("Last norm of the encoder", kept, residual, head::norm_bytes(scenario), at.around_loss());
    // Products of 16 bits read what the norm puts out, all of them the same; under autocast each casts it. A layer
    // that is computed again holds it as its input.
    let again = scenario.recipe.recomputation != crate::Recomputation::None;
    if again || !autocast {
        push("Output of the encoder", kept, residual, r, at.around_loss());
    } else {
        push("Output of the encoder", kept, residual, r, StageInstants::only(at.forward));
    }
    // Every layer of the decoder adds to it, and it goes with the encoder’s last.
    let sum = decoder.of_decoder().in_backward();
    push("Gradient of the encoder’s output", Bucket::Temporary, residual, r, sum);
    push("Token ids of the source", Bucket::Batch, &forms::SOURCE_TOKENS, 8.0, at.in_passes());
    // T5 hands the bias that its first layers made to every layer that is computed again.
    if again && scenario.model.position == Position::Relative {
        let base = super::types::base_bytes(scenario);
        push("Position bias of the encoder", kept, &forms::SOURCE_PAIRS, base, at.in_passes());
        push("Position bias of the decoder", kept, &forms::PAIRS, base, decoder.of_decoder().in_passes());
    }
    // The layers of a stack share one bias, whose gradient is summed up from the last to the first.
    if scenario.model.position == Position::Relative && trained {
        let base = super::types::base_bytes(scenario);
        let gradient = Bucket::Temporary;
        let decoder = decoder.of_decoder().behind_the_last_layer();
        push(
            "Gradient of the encoder’s position bias",
            gradient,
            &forms::SOURCE_PAIRS,
            base,
            at.behind_the_last_layer(),
        );
        push("Gradient of the decoder’s position bias", gradient, &forms::PAIRS, base, decoder);
    }
    // Attention to the encoder has a bias of zeros, which all layers share.
    if scenario.model.position == Position::Relative && scenario.recipe.attention == AttentionKernel::Flash {
        push(
            "Zeros as a bias of attention to the encoder",
            kept,
            &forms::CROSS_PAIRS,
            e,
            decoder.of_decoder().in_passes(),
        );
    }
    let mels = f64::from(scenario.model.encoder.mels);
    if scenario.model.encoder.hears() && trained {
        // Twice as many frames as positions: what each convolution reads, and what each GELU does.
        let width = 2.0 * mels + (2.0 + 2.0 + 1.0) * f64::from(scenario.model.hidden);
        let line =
            Line::new("Sound and its two convolutions", kept, &forms::SOURCE_WIDTH, &TRANSFORMERS, at.in_passes());
        to.lines.push(Line { coefficient: e, weights: width, ..line });
    }
}

/// A table of sines has neither gradients nor optimizer state.
pub(super) fn fixed_positions(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if scenario.model.encoder.hears() {
        let bytes =
            frozen_bytes(scenario, Kind::Positions).map_or_else(|| StateBytes::of(scenario).weight, |(bytes, _)| bytes);
        let alive = stage.at.always();
        let line = Line::new("Positions of the encoder", Bucket::Parameters, &forms::OWN_WEIGHTS, &MODEL, alive);
        let weights = weights.encoder_positions as f64 / to.parameter_shards;
        to.lines.push(Line { coefficient: bytes, weights, ..line });
    }
}

/// Weights of the adapters beside the layers of the encoder.
pub(super) fn adapters(scenario: &Scenario) -> f64 {
    let own = view(scenario);
    if scenario.model.encoder.is_there() {
        AdapterWeights::of(&own.model, &own.recipe).total(own.model.layers.into(), 0) as f64
    } else {
        0.0
    }
}

/// Whether SDPA has a mask that is trained: T5's bias on scores (`create_position_bias_mask` in
/// transformers/integrations/sdpa_attention.py, 5.23.0).
pub(super) fn learns_a_mask(scenario: &Scenario) -> bool {
    let flash = scenario.recipe.attention == AttentionKernel::Flash;
    flash && scenario.model.position == Position::Relative && scenario.recipe.adapter == Adapter::None
}

impl Layer<'_> {
    /// Whether the layer attends to an encoder.
    pub(super) fn crosses(&self) -> bool {
        self.scenario.model.encoder.is_there()
    }

    /// Attention to the output of an encoder: its own queries, keys and values.
    pub(super) fn cross_attention(&mut self) {
        if !self.crosses() {
            return;
        }
        let Types { element: e, autocast, .. } = self.types;
        let flash = self.scenario.recipe.attention == AttentionKernel::Flash;
        let source = if flash { &FLASH } else { &TRANSFORMERS };
        let keys = self.adapted().source;
        let read = match (self.trained(), autocast) {
            (true, true) => 2.0 * e,
            (true, false) => 0.0,
            (false, _) => self.copies_for_adapters(keys),
        };
        self.push("Encoder’s output, read by keys and values", &forms::SOURCE_RESIDUAL, read, source);
        self.push("Queries to the encoder", &forms::QUERIES, e, source);
        self.push("Keys and values of the encoder’s output", &forms::SOURCE_KEYS, 2.0 * e, source);
        self.push("Output of attention to the encoder", &forms::QUERIES, if flash { e } else { 0.0 }, source);
        let adapted = self.adapted().output;
        let reordered = !flash || self.lies_head_by_head();
        let product = match (self.trained(), reordered) {
            (true, true) => e,
            (true, false) => 0.0,
            (false, true) => self.for_adapters(adapted, e),
            (false, false) => self.copies_for_adapters(adapted),
        };
        self.push("Input of its output projection", &forms::QUERIES, product, source);
        if flash {
            self.push("Log-sum-exp of each row to the encoder", &forms::ROWS, 4.0, source);
        } else {
            let (kept, _) = layer::score_bytes(self.scenario);
            self.push("Softmax of the scores to the encoder", &forms::CROSS_SCORES, kept, source);
            self.holds_scores();
        }
    }

    /// T5's bias on scores: under SDPA a mask for each layer, which the micro-batch shares (`create_position_bias_mask`
    /// in transformers/integrations/sdpa_attention.py). Eager attention adds it and keeps nothing of it.
    pub(super) fn position_bias(&mut self) {
        let flash = self.scenario.recipe.attention == AttentionKernel::Flash;
        if flash && self.scenario.model.position == Position::Relative {
            self.push("Position bias as a mask", &forms::PAIRS, self.types.element, &TRANSFORMERS);
            self.holds_scores();
        }
    }

    /// Bytes an element of the residual stream that T5's norm keeps beside what every RMSNorm keeps: it divides its
    /// input in the type in which it comes (`T5LayerNorm.forward`).
    pub(super) fn undivided(&self) -> f64 {
        let Types { residual: r, .. } = self.types;
        if self.scenario.model.position == Position::Relative && r < 4.0 { r } else { 0.0 }
    }

    /// Bytes an element of width f that the feed-forward blocks of encoder–decoders keep beside those of others: a
    /// dropout of their own (`dropout` of `T5DenseActDense`, `activation_dropout` of `BartEncoderLayer`), and under
    /// autocast a cast to fp32 and back (`hidden_states.to(self.wo.weight.dtype)`).
    pub(super) fn behind_the_activation(&self) -> f64 {
        let model = &self.scenario.model;
        let relu = model.mlp == Mlp::Relu && self.trained();
        let casts = relu && self.types.autocast && model.position == Position::Relative;
        let cast = if casts { self.types.element } else { 0.0 };
        let dropped = if relu && !casts { 1.0 + self.types.element } else { 1.0 };
        let stacks = self.crosses() || self.scenario.recipe.source > 0;
        cast + if self.dropout && stacks { dropped } else { 0.0 }
    }
}
