//! What the layers of a tower keep, what stands around them, and the masks of the language model.

use super::{Counted, Kept, Width};
use crate::estimator::counted::forms;
use crate::estimator::counted::instants::StageInstants;
use crate::estimator::counted::types::Types;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::{Keeps, Part, Stack};
use crate::source::{FLASH, PYTORCH, TRANSFORMERS};
use crate::vision::LLAMA_4_OUTPUT;
use crate::{Adapter, AttentionKernel, Scenario, Tower, formula::Expr};

impl Counted<'_> {
    /// What one block keeps of each patch.
    fn block(&self) -> Vec<Kept> {
        let (e, trained) = (self.element, self.is_trained());
        let qwen = self.vision.tower.keeps_shape();
        let mut kept = Vec::with_capacity(16);
        let mut push = |name, width, bytes| kept.push(Kept { name, width, bytes });
        push("Tower: inputs of the norms", Width::Hidden, 2.0 * self.norm);
        if self.gated && trained {
            push("Tower: normalized inputs", Width::Hidden, 2.0 * e);
        }
        let (attention, fed) = (if qwen { 1.0 } else { 3.0 }, if self.gated { 2.0 } else { 1.0 });
        let outputs = self.read(trained, attention) + self.read(trained, fed);
        push("Tower: outputs of the norms, inputs of the products", Width::Hidden, outputs);
        // Queries, keys and values; where one product makes them, rotated ones stand beside the whole of it.
        push("Tower: queries, keys and values", Width::Hidden, if qwen { 5.0 } else { 3.0 } * e);
        let eager = self.scenario.recipe.attention == AttentionKernel::Eager;
        // Qwen's code joins the outputs of windows or images, and the product reads the copy.
        let joined = qwen || eager;
        if !eager || qwen {
            push("Tower: attention output", Width::Hidden, e);
        }
        let copy = if self.is_trained() { if joined { e } else { 0.0 } } else { self.read(false, 1.0) };
        push("Tower: input of the output projection", Width::Hidden, copy);
        if eager {
            // The softmax in fp32 and its copy for the product with the values.
            let scores = if e < 4.0 { 4.0 + e } else { 4.0 };
            push("Tower: softmax of the attention scores", Width::Sequence(self.scores()), scores);
        } else {
            push("Tower: log-sum-exp of each row", Width::Patch(self.vision.heads.into()), 4.0);
        }
        // Gated: both factors and the activation. QuickGELU: its input and a sigmoid.
        let inner = match self.vision.tower {
            Tower::Qwen25Vl => 3.0,
            Tower::Qwen2Vl | Tower::Llava | Tower::LlavaNext => 2.0,
            _ => 1.0,
        };
        let inner = inner * self.inner + self.read(trained, 1.0);
        push("Tower: inside the feed-forward block", Width::Inner, inner);
        if self.has_adapters() {
            let adapters = attention + 1.0 + fed + 1.0;
            let rank = Width::Patch(self.scenario.recipe.rank.into());
            push("Tower: outputs of the adapters’ first matrices", rank, adapters * self.adapter_element());
            if self.scenario.recipe.adapter_dropout.is_on() {
                push("Tower: masks of the adapters’ dropout", Width::Hidden, attention + 1.0 + fed);
                push("Tower: masks of the adapters’ dropout, inside the block", Width::Inner, 1.0);
            }
        }
        kept
    }

    /// Attention scores of one block for the images of a sequence: every tile attends to itself. Qwen2.5-VL's windows of
    /// 8 × 8 patches (`window_size` 112) are those of all but every eighth block (`fullatt_block_indexes`).
    fn scores(&self) -> f64 {
        let images = &self.scenario.recipe.images;
        let seen = images.seen(&self.vision);
        let (patches, tiles) = (seen.patches as f64, seen.tiles.max(1) as f64);
        let whole = patches / tiles * patches;
        let scores = if self.gated { (whole + 7.0 * patches * patches.min(64.0)) / 8.0 } else { whole };
        f64::from(self.vision.heads) * scores * f64::from(images.count)
    }

    pub(super) fn layers(&mut self) {
        let used = f64::from(self.vision.used_layers());
        let block = self.block();
        let (until, backward) = (self.until_the_tower(), self.backward());
        let first = Instants::among(&[self.at.tower[2]]);
        let kept = Bucket::Activations;
        let before = self.to.lines.len();
        if self.flows && self.recomputed {
            let inputs = Kept { name: "Tower: layer inputs", width: Width::Hidden, bytes: self.stream };
            self.push(inputs, kept, used, until, &TRANSFORMERS);
            self.to.are(Part::Layers(Keeps::Inputs, Stack::Tower), before);
            let before = self.to.lines.len();
            for tensor in block {
                self.push(tensor, kept, 1.0, backward, &TRANSFORMERS);
            }
            self.to.are(Part::Layers(Keeps::Again, Stack::Tower), before);
        } else if self.flows {
            for tensor in block {
                let source = if tensor.name.contains("log-sum-exp") { &FLASH } else { &TRANSFORMERS };
                self.push(tensor, kept, used, until, source);
                self.push(tensor, kept, 1.0, first, source);
            }
            self.to.are(Part::Layers(Keeps::Whole, Stack::Tower), before);
        }
        let passing: Vec<(&'static str, Width, f64, f64, Instants)> = if self.flows {
            let inner = if self.gated { 2.0 } else { 1.0 } * self.inner;
            vec![
                ("Tower: gradient of the residual stream", Width::Hidden, self.stream, 1.0, backward),
                ("Tower: gradients inside the feed-forward block", Width::Inner, inner, 1.0, backward),
            ]
        } else {
            // LLaVA asks for the outputs of all layers and takes one (`output_hidden_states`).
            let streams = if self.vision.tower.is_clip() { f64::from(self.vision.layers) + 1.0 } else { 2.0 };
            let inner = if self.gated { 3.0 } else { 2.0 } * self.inner;
            let forward = Instants::among(&[self.at.tower[0]]);
            vec![
                ("Tower: residual stream, nothing kept", Width::Hidden, self.stream, streams, forward),
                ("Tower: output of a norm, nothing kept", Width::Hidden, self.element, 1.0, forward),
                ("Tower: inside one layer, nothing kept", Width::Inner, inner, 1.0, forward),
            ]
        };
        for (name, width, bytes, layers, alive) in passing {
            self.push(Kept { name, width, bytes }, Bucket::Temporary, layers, alive, &TRANSFORMERS);
        }
    }

    /// Pixels, and what stands before the first block and behind the last.
    pub(super) fn outside(&mut self) {
        let (e, norm, flows) = (self.element, self.norm, self.flows);
        let (trained, projects) = (self.is_trained(), self.trains_projector());
        let until = self.until_the_tower();
        let numbers = Width::Patch(self.vision.numbers() as f64);
        let pixels = Kept { name: "Pixels, in fp32", width: numbers, bytes: 4.0 };
        self.push(pixels, Bucket::Batch, 1.0, self.at.always(), &TRANSFORMERS);
        let text = f64::from(self.scenario.model.hidden);
        let out = LLAMA_4_OUTPUT as f64;
        let read_trained = if trained { e } else { self.read(false, 1.0) };
        let read_projector = if projects { e } else { self.read(false, 1.0) };
        let passes = |bytes: f64| if flows { bytes } else { 0.0 };
        // What an activation reads where anything before it has a gradient.
        let acts = if flows || projects { e } else { 0.0 };
        let mut list = Vec::with_capacity(6);
        let mut push = |name, width, bytes| list.push(Kept { name, width, bytes });
        push("Pixels, cast for the patch embedding", numbers, if trained && e < 4.0 { e } else { 0.0 });
        let name = "Projector: what its norm and matrices read";
        match self.vision.tower {
            Tower::None => {}
            Tower::Qwen2Vl | Tower::Qwen25Vl => {
                let gated = self.vision.tower == Tower::Qwen25Vl;
                let normed = if flows || (projects && !gated) { norm } else { 0.0 };
                let scaled = if gated && projects { e } else { 0.0 };
                push(name, Width::Hidden, normed + scaled + 2.0 * read_projector + acts);
            }
            Tower::Llava | Tower::LlavaNext => {
                push("Tower: input of the first norm", Width::Hidden, passes(norm));
                push(name, Width::Hidden, read_projector);
                push("Projector: inside", Width::Token(text), acts + read_projector);
            }
            Tower::Gemma3 => {
                let hidden = f64::from(self.vision.hidden);
                push("Tower: input of the last norm", Width::Hidden, passes(norm));
                push("Projector: what is pooled", Width::Hidden, passes(norm));
                let normed = if projects { 4.0 + e } else { 0.0 };
                push(name, Width::Token(hidden), passes(4.0) + normed);
            }
            Tower::Llama4 => {
                push("Tower: inputs of the first and the last norm", Width::Hidden, passes(2.0 * norm));
                push("Tower: inside the adapter", Width::Token(out), passes(2.0 * e) + read_trained);
                push("Tower: input of the adapter", Width::Hidden, read_trained);
                push(name, Width::Token(out), read_projector);
            }
        }
        for kept in list {
            self.push(kept, Bucket::Activations, 1.0, until, &TRANSFORMERS);
        }
        // The embedding waits for the tower, which ran after it.
        if flows || projects || self.scenario.recipe.adapter == Adapter::None {
            let line = Line::new(
                "Gradient of the embedded sequence",
                Bucket::Temporary,
                &forms::RESIDUAL,
                &TRANSFORMERS,
                self.backward(),
            );
            self.to.lines.push(Line { coefficient: Types::of(self.scenario).residual, ..line });
        }
    }

    /// With images, Gemma 3 lets the tokens of each attend to one another. SDPA then has a mask, which every layer turns
    /// into numbers of its own, and keys and values are repeated for all heads (`use_gqa_in_sdpa` in
    /// transformers/integrations/sdpa_attention.py; `convert_boolean_attn_mask` in
    /// aten/src/ATen/native/transformers/attention.cpp).
    pub(super) fn masks(&mut self) {
        let Scenario { model, recipe, .. } = *self.scenario;
        if self.vision.tower != Tower::Gemma3 || recipe.attention == AttentionKernel::Eager {
            return;
        }
        let repeated = f64::from(model.heads.saturating_sub(model.kv_heads)) * f64::from(model.head_dim);
        let kept = [
            ("Masks of attention, as numbers", &forms::MASKS as &'static Expr, self.element, 1.0),
            ("Keys and values, repeated to n heads", &forms::OWN_WIDTH, 2.0 * self.element, repeated),
        ];
        let at = self.at;
        let alive = if self.recomputed {
            vec![(1.0, at.in_backward())]
        } else {
            vec![(f64::from(model.layers), at.all_layers_kept()), (1.0, StageInstants::only(at.first))]
        };
        for (name, shape, coefficient, weights) in kept {
            for (layers, alive) in &alive {
                let line = Line::new(name, Bucket::Activations, shape, &PYTORCH, *alive);
                self.to.lines.push(Line { coefficient, layers: *layers, weights, ..line });
            }
        }
    }
}
