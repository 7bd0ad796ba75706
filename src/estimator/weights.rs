//! How many weights an architecture has, matrix by matrix.
//!
//! The published parameter counts are sums of these to the last weight for most models; the ledger
//! turns the same counts into bytes.

use super::choice::{AdapterTargets, Bias, Norm, Packing, Position, QkNorm};
use super::scenario::{Model, Recipe};

/// The weights of one model, in elements. Those of a block are of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// V·H: the input embedding.
    pub embedding: u64,
    /// The learned position table.
    pub positions: u64,
    /// V·H: the output head; 0 when it is the input embedding.
    pub head: u64,
    /// The matrices of attention.
    pub attention: u64,
    /// The matrices of a dense feed-forward block.
    pub dense_mlp: u64,
    /// The matrices of one routed expert.
    pub expert: u64,
    /// The matrices of the experts every token visits, together.
    pub shared_experts: u64,
    /// H·E: the router.
    pub router: u64,
    /// Biases of attention and of a dense feed-forward block.
    pub biases: u64,
    /// Norms of one block, with those of queries and keys.
    pub norms: u64,
    /// The norm after the last block.
    pub final_norm: u64,
    /// Layers with a dense feed-forward block.
    pub dense_layers: u64,
    /// Layers with experts.
    pub expert_layers: u64,
    /// E: routed experts of a layer.
    pub experts: u64,
    /// The matrices with which one layer attends to an encoder; 0 without one.
    pub cross: u64,
    /// The biases and the norm beside them.
    pub cross_small: u64,
    /// The matrices of all layers of the encoder.
    pub encoder: u64,
    /// Norms, biases and convolutions of the encoder.
    pub encoder_small: u64,
    /// The position table of the encoder.
    pub encoder_positions: u64,
}

impl Weights {
    /// Counts the weights of `model`.
    ///
    /// With n heads of width d, k of them for keys and values: attention has 2·H·n·d + 2·H·k·d
    /// weights, a feed-forward block of width f has 2·H·f, or 3·H·f when it is gated (Vaswani et al.
    /// 2017, arXiv 1706.03762; Shazeer 2020, arXiv 2002.05202; Ainslie et al. 2023, arXiv
    /// 2305.13245). Multi-head latent attention compresses queries and keys with values
    /// (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1).
    pub fn of(model: &Model) -> Self {
        let [h, f, v, d] = [model.hidden, model.feed_forward, model.vocabulary, model.head_dim].map(u64::from);
        let [n, k] = [model.heads, model.kv_heads].map(u64::from);
        let (query, key_value) = (n * d, k * d);
        let latent = model.latent;
        let [query_rank, kv_rank, rope] = [latent.query_rank, latent.kv_rank, latent.rope_dim].map(u64::from);
        let attention = if kv_rank > 0 {
            // Compressed vectors pass a norm of their own width before they are expanded.
            let queries = match query_rank {
                0 => h * n * (d + rope),
                rank => h * rank + rank + rank * n * (d + rope),
            };
            queries + h * (kv_rank + rope) + kv_rank + kv_rank * n * 2 * d + n * d * h
        } else {
            2 * h * query + 2 * h * key_value
        };
        let matrices = u64::from(model.mlp.matrices());
        let experts = model.experts;
        let expert_width = u64::from(model.expert_width());
        let (dense_layers, expert_layers) = if experts.count > 0 {
            let dense = experts.dense_layers.min(model.layers);
            (u64::from(dense), u64::from(model.layers - dense))
        } else {
            (u64::from(model.layers), 0)
        };
        let biases = match model.bias {
            Bias::None => 0,
            Bias::Qkv => query + 2 * key_value,
            Bias::All => query + 2 * key_value + h + (matrices - 1) * f + h,
        };
        let norm = match model.norm {
            Norm::LayerNorm => 2 * h,
            Norm::RmsNorm | Norm::RmsNormFull | Norm::LayerNormFull => h,
            Norm::Plain => 0,
        };
        let qk_norms = match model.qk_norm {
            QkNorm::Off => 0,
            QkNorm::Head => 2 * d,
            QkNorm::Full => query + key_value,
        };
        // Each number of a relative table is one head's.
        let position = match model.position {
            Position::Learned => h,
            Position::Relative => n,
            _ => 0,
        };
        let encoder = model.encoder;
        let [layers, rows, mels] = [encoder.layers, encoder.positions, encoder.mels].map(u64::from);
        let is_there = u64::from(encoder.is_there());
        let attends = match model.bias {
            Bias::None => 0,
            Bias::Qkv => query + 2 * key_value,
            Bias::All => query + 2 * key_value + h,
        };
        // Two convolutions over three frames (Radford et al. 2022, arXiv 2212.04356, section 2.2).
        let convolutions = if mels > 0 { 3 * h * (mels + h) + 2 * h } else { 0 };
        let per_layer = biases + u64::from(model.norms) * norm + qk_norms;
        Self {
            embedding: v * h,
            positions: u64::from(model.positions) * position,
            head: if model.tied_embeddings.is_on() { 0 } else { v * h },
            attention,
            dense_mlp: matrices * h * f,
            expert: matrices * h * expert_width,
            shared_experts: matrices * h * u64::from(experts.shared_width),
            router: h * u64::from(experts.count),
            biases,
            norms: u64::from(model.norms) * norm + qk_norms,
            final_norm: norm,
            dense_layers,
            expert_layers,
            experts: experts.count.into(),
            cross: is_there * attention,
            cross_small: is_there * (attends + norm),
            encoder: layers * (attention + matrices * h * f),
            encoder_small: is_there * (layers * per_layer + norm + convolutions),
            encoder_positions: is_there * rows * position,
        }
    }

    /// Weights of one layer with a dense feed-forward block.
    pub fn dense_layer(&self) -> u64 {
        self.attention + self.dense_mlp + self.biases + self.norms + self.cross + self.cross_small
    }

    /// Weights of one layer with experts.
    pub fn expert_layer(&self) -> u64 {
        let attends = self.cross + self.cross_small;
        self.attention
            + self.biases
            + self.norms
            + self.router
            + self.experts * self.expert
            + self.shared_experts
            + attends
    }

    /// All weights.
    pub fn total(&self) -> u64 {
        self.embedding
            + self.positions
            + self.head
            + self.dense_layers * self.dense_layer()
            + self.expert_layers * self.expert_layer()
            + self.final_norm
            + self.encoder
            + self.encoder_small
            + self.encoder_positions
    }

    /// Weights of all layers that a token is multiplied with: matrices, and of the routed experts those
    /// it visits.
    pub fn multiplied_in_layers(&self, model: &Model) -> u64 {
        let visited = self.experts.min(model.experts.active.into());
        let in_experts = self.router + visited * self.expert + self.shared_experts;
        // The norms of compressed vectors are weights of latent attention, and no matrices.
        let norms = if model.latent.kv_rank > 0 { model.latent.query_rank + model.latent.kv_rank } else { 0 };
        let attention = self.attention - u64::from(norms);
        self.dense_layers * (attention + self.dense_mlp) + self.expert_layers * (attention + in_experts)
    }

    /// V·H: weights of the product with the output head, which may be the input embedding.
    pub fn multiplied_by_head(&self) -> u64 {
        self.embedding
    }

    /// The largest tensor of the routed experts of a layer, in elements: one matrix of each expert, in a stack; `joined`
    /// says whether the two matrices of each expert that a gate multiplies are one.
    pub fn expert_stack(&self, model: &Model, joined: bool) -> u64 {
        let matrix = self.experts * self.expert / u64::from(model.mlp.matrices());
        if joined && model.mlp.is_gated() { 2 * matrix } else { matrix }
    }
}

/// Some tensors of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensors {
    /// Of each of them.
    pub elements: u64,
    /// How many there are.
    pub count: u64,
}

impl Tensors {
    /// The elements of all of them.
    pub const fn all(self) -> u64 {
        self.elements * self.count
    }
}

/// Trainable elements of adapters beside the matrices of one layer.
///
/// An adapter of rank r has r·(rows + columns) beside its matrix (Hu et al. 2021, arXiv 2106.09685, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterWeights {
    /// In a layer with a dense feed-forward block.
    pub dense_layer: u64,
    /// In a layer with experts, without those of routed experts; with those of its router where experts are in stacks.
    pub expert_layer: u64,
    /// Of all routed experts of a layer, together.
    pub routed: u64,
}

impl AdapterWeights {
    /// Counts what `recipe` puts beside the matrices of `model`.
    ///
    /// A matrix that holds queries, keys and values is one target. A layer that attends to an encoder has those of
    /// attention twice. Latent attention has two matrices for queries, unless they are not compressed, and two for keys
    /// with values; of them that for queries and that for values are the ones that expand (`DeepseekV3Attention` in
    /// models/deepseek_v3/modeling_deepseek_v3.py, transformers 5.23.0).
    ///
    /// Where all matrices have adapters and experts are in stacks, peft 0.21.2 takes the names of feed-forward matrices for
    /// those of the stacks (`_convert_peft_config_moe` in utils/transformers_weight_conversion.py): the two that a gate
    /// multiplies are one stack with an adapter of rank 2r, the router has one, and neither dense blocks nor experts that
    /// every token visits have any.
    pub fn of(model: &Model, recipe: &Recipe) -> Self {
        let [h, f, d] = [model.hidden, model.feed_forward, model.head_dim].map(u64::from);
        let heads = u64::from(model.heads);
        let (query, key_value) = (heads * d, u64::from(model.kv_heads) * d);
        let targets = recipe.targets;
        let [query_rank, kv_rank, rope] =
            [model.latent.query_rank, model.latent.kv_rank, model.latent.rope_dim].map(u64::from);
        let projections = if kv_rank > 0 {
            let wide = heads * (d + rope);
            let (compress, expand) = match query_rank {
                0 => (0, h + wide),
                rank => (h + rank, rank + wide),
            };
            let values = kv_rank + heads * 2 * d;
            match targets {
                AdapterTargets::QueryValue => expand + values,
                _ => compress + expand + (h + kv_rank + rope) + values,
            }
        } else {
            match (model.packing, targets) {
                (Packing::Packed | Packing::PackedGate, _) => h + query + 2 * key_value,
                (Packing::Separate, AdapterTargets::QueryValue) => (h + query) + (h + key_value),
                (Packing::Separate, _) => (h + query) + 2 * (h + key_value),
            }
        };
        let output = if targets == AdapterTargets::QueryValue { 0 } else { h + query };
        let stacks = 1 + u64::from(model.encoder.is_there());
        let attention = stacks * (projections + output);
        let experts = &model.experts;
        let [count, shared, width] = [experts.count, experts.shared_width, model.expert_width()].map(u64::from);
        let rank = u64::from(recipe.rank);
        let matrices = u64::from(model.mlp.matrices());
        if targets == AdapterTargets::All && recipe.stacks_experts(model) {
            let first = if model.mlp.is_gated() { 2 * (h + 2 * width) } else { h + width };
            return Self {
                dense_layer: rank * attention,
                expert_layer: rank * (attention + h + count),
                routed: rank * count * (first + width + h),
            };
        }
        let fed = |width: u64| match (targets, width) {
            (AdapterTargets::All, 1..) => matrices * (h + width),
            _ => 0,
        };
        // The first of the two matrices of a rank reads once for both halves.
        let shared_reads = if model.joins_gate() { h } else { 0 };
        let beside = |width: u64| fed(width) - shared_reads.min(fed(width));
        Self {
            dense_layer: rank * (attention + beside(f)),
            expert_layer: rank * (attention + beside(shared)),
            routed: rank * count * fed(width),
        }
    }

    /// Those of all layers that a token is multiplied with, which visits so many routed experts. Adapters of stacks are added
    /// to them and multiplied with no token; they are counted all the same, which is too much by a few parts in a hundred.
    pub fn multiplied(&self, weights: &Weights, visited: u64) -> u64 {
        let routed = self.routed.checked_div(weights.experts).unwrap_or(0) * visited;
        weights.dense_layers * self.dense_layer + weights.expert_layers * (self.expert_layer + routed)
    }

    /// Those of so many layers of each kind, where every device has all of them.
    pub fn total(&self, dense_layers: u64, expert_layers: u64) -> u64 {
        dense_layers * self.dense_layer + expert_layers * (self.expert_layer + self.routed)
    }
}

impl Model {
    /// The parameter count that follows from the architecture, matrix by matrix.
    ///
    /// For the GPT block with n = k, f = 4H and tied embeddings it is H·V + L·(12H² + 13H) + 2H, the
    /// standard count (Korthikanti et al. 2022, section 2), and a learned position table beside it.
    pub fn derived_parameters(&self) -> u64 {
        let vision = self.vision.weights(self.hidden);
        Weights::of(self).total() + vision.tower(self.vision.layers) + vision.projector
    }

    /// How far the typed count is from the derived one, as a part of the derived one.
    pub fn parameter_mismatch(&self) -> f64 {
        let derived = self.derived_parameters() as f64;
        (self.parameters as f64 - derived).abs() / derived.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mlp, Switch, catalogue};

    #[test]
    fn the_standard_gpt_block_has_12_h_squared_plus_13_h_parameters() {
        let (h, l, v) = (768_u64, 12_u64, 50_257_u64);
        let gpt2 = Model {
            hidden: 768,
            layers: 12,
            heads: 12,
            kv_heads: 12,
            head_dim: 64,
            feed_forward: 3072,
            vocabulary: 50_257,
            tied_embeddings: Switch::On,
            mlp: Mlp::Gelu,
            norm: Norm::LayerNorm,
            bias: Bias::All,
            position: Position::None,
            ..catalogue::WORKSHOP_MODEL.model
        };
        assert_eq!(gpt2.derived_parameters(), h * v + l * (12 * h * h + 13 * h) + 2 * h);
    }

    #[test]
    fn a_layer_with_experts_attends_to_an_encoder_as_one_without_does() {
        let model = Model {
            hidden: 8,
            heads: 2,
            kv_heads: 2,
            head_dim: 4,
            feed_forward: 16,
            mlp: Mlp::Gated,
            norm: Norm::RmsNorm,
            norms: 2,
            bias: Bias::None,
            experts: crate::Experts { count: 4, ..crate::Experts::NONE },
            encoder: crate::Encoder { layers: 1, ..crate::Encoder::NONE },
            ..catalogue::WORKSHOP_MODEL.model
        };
        // Four matrices of 8 × 8 and two norms, a router of 4 × 8, four experts of three matrices of 8 × 16; and for the
        // encoder four matrices of 8 × 8 and a norm.
        let expected = 256 + 16 + 32 + 4 * 384 + 256 + 8;
        assert_eq!(Weights::of(&model).expert_layer(), expected);
        assert_eq!(Weights::of(&model).dense_layer(), 256 + 16 + 384 + 256 + 8);
    }

    #[test]
    fn what_a_model_does_not_use_of_its_settings_has_no_weights_in_products() {
        let llama = catalogue::model("llama-3.1-8b").expect("listed").model;
        let weights = Weights::of(&llama);
        // A rank of queries is read with one of keys and values alone.
        let ranked = Model { latent: crate::Latent { query_rank: 1_536, ..crate::Latent::NONE }, ..llama };
        assert_eq!(Weights::of(&ranked).multiplied_in_layers(&ranked), weights.multiplied_in_layers(&llama));
    }

    #[test]
    fn gate_and_up_of_all_experts_of_a_layer_are_one_parameter_where_they_are_joined() {
        let scout = catalogue::model("llama-4-scout").expect("listed").model;
        let weights = Weights::of(&scout);
        // 16 experts of 2 · 8,192 × 5,120.
        assert_eq!(weights.expert_stack(&scout, true), 16 * 2 * 8_192 * 5_120);
        assert_eq!(weights.expert_stack(&scout, false), 16 * 8_192 * 5_120);
        let ungated = Model { mlp: Mlp::Gelu, ..scout };
        assert_eq!(Weights::of(&ungated).expert_stack(&ungated, true), 16 * 8_192 * 5_120);
    }
}
