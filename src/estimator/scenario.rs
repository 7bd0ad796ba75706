//! What is asked: a model, a training recipe, a cluster and a device.

use serde::Serialize;

use super::bounds::{Field, Problem};
use super::choice::{BatchUnit, Method, Mlp, Precision, Recomputation, Switch, ZeroStage};
use super::units::{Bytes, Percent};

/// Everything an answer depends on. Two equal scenarios have equal estimates, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// The accounting in use.
    pub method: Method,
    /// The network.
    pub model: Model,
    /// How it is trained.
    pub recipe: Recipe,
    /// On how many devices, and how the work is divided.
    pub cluster: Cluster,
    /// One of those devices.
    pub device: Device,
    /// What one optimizer step should see.
    pub goal: Goal,
    /// What the chart's reference curves assume.
    pub comparison: Comparison,
}

/// A decoder-only transformer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Model {
    /// The catalogue row these numbers were taken from; the estimator does not read it.
    pub origin: &'static str,
    /// N: trainable parameters, 10⁵ to 10¹⁴.
    pub parameters: u64,
    /// H: width of the residual stream.
    pub hidden: u32,
    /// L: transformer blocks.
    pub layers: u32,
    /// n: attention (query) heads.
    pub heads: u32,
    /// k: key/value heads.
    pub kv_heads: u32,
    /// Width of one head.
    pub head_dim: u32,
    /// f: inner width of the feed-forward block.
    pub feed_forward: u32,
    /// V: entries of the vocabulary.
    pub vocabulary: u32,
    /// Whether input and output embeddings are one matrix.
    pub tied_embeddings: Switch,
    /// The kind of feed-forward block.
    pub mlp: Mlp,
}

/// How the model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recipe {
    /// S: tokens in a sequence.
    pub sequence: u32,
    /// b: sequences one device processes at once.
    pub batch: u32,
    /// Element type of activations.
    pub precision: Precision,
    /// What is computed again in the backward pass.
    pub recomputation: Recomputation,
    /// Whether the blocks use dropout, whose masks take a byte an element.
    pub dropout: Switch,
}

/// The devices and the division of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// All devices of the job: data-parallel size × tensor-parallel size.
    pub gpus: u32,
    /// What the data-parallel devices shard.
    pub zero: ZeroStage,
    /// T: devices that share each matrix.
    pub tensor_parallel: u32,
    /// Whether the parts outside attention and MLP are split over the T devices too.
    pub sequence_parallel: Switch,
}

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Device {
    /// The catalogue row these numbers were taken from; the estimator does not read it.
    pub origin: &'static str,
    /// Total memory in MiB as the driver reports it.
    pub memory_mib: u32,
    /// The part of it kept free.
    pub headroom: Percent,
}

/// The target of the accumulation planner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// B, in the unit beside it.
    pub global_batch: u32,
    /// Sequences or tokens.
    pub unit: BatchUnit,
}

/// The setting of the chart's four reference curves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Devices the reference models are spread over.
    pub gpus: u32,
    /// Recomputation of the reference models.
    pub recomputation: Recomputation,
}

impl Model {
    /// The parameter count that follows from the architecture.
    ///
    /// For the GELU block with n = k and f = 4H it is H·V + L·(12H² + 13H) + 2H, the standard GPT
    /// count (Korthikanti et al. 2022, section 2, without position embeddings); for the gated block
    /// it is L·(2H·n·d + 2H·k·d + 3H·f + 2H) + H, with one or two embedding matrices (Touvron et
    /// al. 2023, arXiv 2302.13971, which drops biases and uses RMSNorm).
    pub fn derived_parameters(&self) -> u64 {
        let [h, l, f, v] = [self.hidden, self.layers, self.feed_forward, self.vocabulary].map(u64::from);
        let query = u64::from(self.heads) * u64::from(self.head_dim);
        let key_value = u64::from(self.kv_heads) * u64::from(self.head_dim);
        let attention = 2 * h * query + 2 * h * key_value;
        let (block, last_norm) = match self.mlp {
            // Biases: queries, keys and values, output projection, f and H of the MLP; two
            // LayerNorms of weight and bias.
            Mlp::Gelu => (attention + query + 2 * key_value + h + 2 * h * f + f + h + 4 * h, 2 * h),
            Mlp::Gated => (attention + 3 * h * f + 2 * h, h),
        };
        let embeddings = if self.tied_embeddings.is_on() { 1 } else { 2 };
        embeddings * v * h + l * block + last_norm
    }

    /// How far the typed count is from the derived one, as a part of the derived one.
    pub fn parameter_mismatch(&self) -> f64 {
        let derived = self.derived_parameters() as f64;
        (self.parameters as f64 - derived).abs() / derived.max(1.0)
    }
}

impl Device {
    /// Total memory.
    pub fn memory(&self) -> Bytes {
        Bytes::from_mib(f64::from(self.memory_mib))
    }

    /// The part kept free.
    pub fn reserved(&self) -> Bytes {
        Bytes::new(self.memory().get() * self.headroom.fraction())
    }

    /// What a training step may use.
    pub fn usable(&self) -> Bytes {
        self.memory() - self.reserved()
    }
}

impl Cluster {
    /// Data-parallel size: how many different micro-batches are processed at once, at least 1.
    ///
    /// When T does not divide the GPUs the incomplete group is left out;
    /// [`Scenario::conflicts`] says so.
    pub fn data_parallel(&self) -> u32 {
        (self.gpus / self.tensor_parallel.max(1)).max(1)
    }
}

impl Goal {
    /// The target in sequences of `sequence` tokens, rounded up.
    pub fn sequences(&self, sequence: u32) -> u32 {
        match self.unit {
            BatchUnit::Sequences => self.global_batch,
            BatchUnit::Tokens => self.global_batch.div_ceil(sequence.max(1)),
        }
    }
}

/// Two settings that do not go together, and the nearest that do.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The field to change.
    pub field: Field,
    /// The nearest value that resolves it.
    pub nearest: f64,
    /// One sentence for the reader.
    pub message: String,
}

impl Scenario {
    /// The value of a numeric field, in the unit of its [`Bound`](super::Bound).
    pub fn number(&self, field: Field) -> f64 {
        match field {
            Field::Parameters => self.model.parameters as f64 / 1e9,
            Field::Hidden => self.model.hidden.into(),
            Field::Layers => self.model.layers.into(),
            Field::Heads => self.model.heads.into(),
            Field::KvHeads => self.model.kv_heads.into(),
            Field::HeadDim => self.model.head_dim.into(),
            Field::FeedForward => self.model.feed_forward.into(),
            Field::Vocabulary => self.model.vocabulary.into(),
            Field::Sequence => self.recipe.sequence.into(),
            Field::Batch => self.recipe.batch.into(),
            Field::Gpus => self.cluster.gpus.into(),
            Field::TensorParallel => self.cluster.tensor_parallel.into(),
            Field::Memory => f64::from(self.device.memory_mib) / 1024.0,
            Field::Headroom => self.device.headroom.get(),
            Field::GlobalBatch => self.goal.global_batch.into(),
            Field::ComparisonGpus => self.comparison.gpus.into(),
        }
    }

    /// The same scenario with one numeric field set, in the unit of its [`Bound`](super::Bound).
    ///
    /// # Errors
    /// [`Problem`] when `value` is outside the declared range; nothing changes then.
    pub fn with_number(mut self, field: Field, value: f64) -> Result<Self, Problem> {
        let value = field.check(value)?;
        // The range check above keeps every whole field inside `u32`.
        let whole = value as u32;
        match field {
            Field::Parameters => self.model.parameters = (value * 1e9).round() as u64,
            Field::Hidden => self.model.hidden = whole,
            Field::Layers => self.model.layers = whole,
            Field::Heads => self.model.heads = whole,
            Field::KvHeads => self.model.kv_heads = whole,
            Field::HeadDim => self.model.head_dim = whole,
            Field::FeedForward => self.model.feed_forward = whole,
            Field::Vocabulary => self.model.vocabulary = whole,
            Field::Sequence => self.recipe.sequence = whole,
            Field::Batch => self.recipe.batch = whole,
            Field::Gpus => self.cluster.gpus = whole,
            Field::TensorParallel => self.cluster.tensor_parallel = whole,
            Field::Memory => self.device.memory_mib = (value * 1024.0).round() as u32,
            // Hundredths of a percent are enough for anybody and keep links short.
            Field::Headroom => self.device.headroom = Percent::new((value * 100.0).round() / 100.0),
            Field::GlobalBatch => self.goal.global_batch = whole,
            Field::ComparisonGpus => self.comparison.gpus = whole,
        }
        Ok(self)
    }

    /// The same scenario at another micro-batch, clamped to the declared range.
    pub fn with_batch(mut self, batch: u32) -> Self {
        let bound = Field::Batch.bound();
        self.recipe.batch = batch.clamp(bound.min as u32, bound.max as u32);
        self
    }

    /// Settings that contradict each other, each with the nearest value that does not.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut found = Vec::new();
        let (gpus, tensor) = (self.cluster.gpus, self.cluster.tensor_parallel);
        if self.method == Method::Paper && gpus % tensor != 0 {
            let nearest = gpus.next_multiple_of(tensor);
            found.push(Conflict {
                field: Field::Gpus,
                nearest: nearest.into(),
                message: format!("{gpus} GPUs do not divide into tensor-parallel groups of {tensor}; {nearest} do."),
            });
        }
        let (heads, kv_heads) = (self.model.heads, self.model.kv_heads);
        if self.method == Method::Paper && heads % tensor != 0 {
            let nearest = nearest_divisor(heads, tensor);
            found.push(Conflict {
                field: Field::TensorParallel,
                nearest: nearest.into(),
                message: format!(
                    "{heads} attention heads cannot be split over {tensor} GPUs; {nearest} can share them."
                ),
            });
        }
        if heads % kv_heads != 0 {
            let nearest = nearest_divisor(heads, kv_heads);
            found.push(Conflict {
                field: Field::KvHeads,
                nearest: nearest.into(),
                message: format!(
                    "{heads} query heads do not divide into {kv_heads} key/value groups; {nearest} would."
                ),
            });
        }
        found
    }
}

/// The divisor of `whole` that is nearest to `wanted`; the smaller one of two as near.
fn nearest_divisor(whole: u32, wanted: u32) -> u32 {
    (1..=whole).filter(|part| whole.is_multiple_of(*part)).min_by_key(|part| part.abs_diff(wanted)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn a_field_reads_back_what_was_written() {
        let start = Scenario::default();
        for &field in Field::ALL {
            for value in [field.bound().min, field.bound().max] {
                let set = start.with_number(field, value).expect("the ends are in range");
                // Memory is kept in whole MiB, parameters in whole weights.
                assert!((set.number(field) - value).abs() < 1e-9 * value.max(1.0), "{field:?}");
            }
        }
    }

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
            ..catalogue::DEFAULT_MODEL.model
        };
        assert_eq!(gpt2.derived_parameters(), h * v + l * (12 * h * h + 13 * h) + 2 * h);
    }

    #[test]
    fn tensor_parallelism_that_does_not_divide_is_named_with_the_nearest_that_does() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::default() };
        scenario.cluster.gpus = 10;
        scenario.cluster.tensor_parallel = 4;
        let conflicts = scenario.conflicts();
        assert_eq!(conflicts.len(), 1);
        assert_eq!((conflicts[0].field, conflicts[0].nearest), (Field::Gpus, 12.0));
        scenario.cluster.gpus = 12;
        scenario.cluster.tensor_parallel = 3;
        assert_eq!(scenario.conflicts()[0].field, Field::TensorParallel);
    }
}
