//! The tensor that an error text asked memory for, found by its size among those of a configuration.

use crate::number::grouped;
use crate::{Bytes, Scenario, Weights};

/// What a tensor of a training step holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holds {
    /// A number for each token and word.
    Logits,
    /// The same without the last token of each sequence, as transformers up to 4.45 copied them for the loss
    /// (`shift_logits` in models/llama/modeling_llama.py).
    ShiftedLogits,
    /// A number for each pair of tokens and head, which eager attention stores.
    Scores,
    /// The inner width of the feed-forward block for each token.
    FeedForward,
    /// The width of the model for each token.
    Hidden,
    /// The matrix of the vocabulary, or its gradient or moment.
    Vocabulary,
    /// A matrix of the feed-forward block, or its gradient or moment.
    FeedForwardMatrix,
    /// All routed experts of a layer in one parameter.
    Experts,
    /// One layer in one piece, as FSDP gathers it.
    Layer,
    /// All weights in one piece, as DeepSpeed flattens them, or their gradients.
    Whole,
    /// What one GPU has of all weights, in one piece.
    Share,
}

impl Holds {
    /// What it is, in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Logits => "the logits",
            Self::ShiftedLogits => "the logits without the last token of each sequence",
            Self::Scores => "the scores of eager attention in one layer",
            Self::FeedForward => "a tensor inside the feed-forward block",
            Self::Hidden => "the hidden states of one layer",
            Self::Vocabulary => "the embedding or the output head, or a gradient or moment of it",
            Self::FeedForwardMatrix => "one matrix of the feed-forward block, or a gradient or moment of it",
            Self::Experts => "the experts of one layer",
            Self::Layer => "the weights of one layer in one piece",
            Self::Whole => "all weights or gradients in one piece",
            Self::Share => "this GPU’s share of all weights in one piece",
        }
    }

    /// Whether it is the largest of those whose size depends on the micro-batch: of another micro-batch than the
    /// configuration's only such a one is looked for, because among many small ones every size has one by chance.
    const fn dominates(self) -> bool {
        matches!(self, Self::Logits | Self::ShiftedLogits | Self::Scores)
    }
}

/// A tensor of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// What it holds.
    pub holds: Holds,
    /// Its size as a product: numbers, each with its noun.
    pub product: Vec<(u64, &'static str)>,
    /// The micro-batch for which it has this size, if that is another one than the configuration's.
    pub batch: Option<u32>,
}

impl Tensor {
    /// Its size; bytes an element are the last factor.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.product.iter().map(|(count, _)| *count as f64).product())
    }

    /// The size as a product, and what it is: “8,192 tokens × 128,256 words × 4 bytes: the logits”.
    pub fn words(&self) -> String {
        let factor = |(count, nouns): &(u64, &'static str)| {
            let noun = if *count == 1 { nouns.trim_end_matches('s') } else { nouns };
            format!("{} {noun}", grouped(*count as f64))
        };
        let factors: Vec<String> = self.product.iter().map(factor).collect();
        let batch = match self.batch {
            None => String::new(),
            Some(batch) => format!(" at a micro-batch of {}", grouped(batch.into())),
        };
        format!("{}: {}{batch}", factors.join(" × "), self.holds.words())
    }
}

/// The tensors of a step of `scenario` that may be asked for in one piece, in 16 and in 32 bits.
///
/// Those of a model with an encoder or a vision tower are the decoder's.
fn tensors(scenario: &Scenario, batch: u32) -> Vec<Tensor> {
    let (model, cluster) = (&scenario.model, &scenario.cluster);
    let weights = Weights::of(model);
    let split = u64::from(cluster.tensor_parallel.max(1));
    let stages = u64::from(cluster.pipeline_parallel.max(1));
    let of = |whole: u64| whole.div_ceil(split);
    let [width, inner, words, heads] = [model.hidden, model.feed_forward, model.vocabulary, model.heads].map(u64::from);
    let length = u64::from(scenario.longest()) / u64::from(cluster.context_parallel.max(1));
    let (sequences, tokens) = (u64::from(batch), length * u64::from(batch));
    let whole = weights.total() / (split * stages);
    let layer = if weights.expert_layers > 0 { weights.expert_layer() } else { weights.dense_layer() };
    let stack = weights.expert_stack(model, scenario.recipe.joins_gates(cluster.engine));
    let rows: [(Holds, &[(u64, &'static str)]); 11] = [
        (Holds::Logits, &[(tokens, "tokens"), (of(words), "words")]),
        (Holds::ShiftedLogits, &[(tokens.saturating_sub(sequences), "tokens"), (of(words), "words")]),
        (Holds::Scores, &[(sequences, "sequences"), (of(heads), "heads"), (length, "tokens"), (length, "tokens")]),
        (Holds::FeedForward, &[(tokens, "tokens"), (of(inner), "numbers")]),
        (Holds::Hidden, &[(tokens, "tokens"), (width, "numbers")]),
        (Holds::Vocabulary, &[(of(words), "words"), (width, "numbers")]),
        (Holds::FeedForwardMatrix, &[(of(inner), "numbers"), (width, "numbers")]),
        (Holds::Experts, &[(stack / split, "weights of a stack of experts")]),
        (Holds::Layer, &[(layer / split, "weights of a layer")]),
        (Holds::Whole, &[(whole, "weights")]),
        (Holds::Share, &[(whole / u64::from(scenario.data_parallel().max(1)), "weights of this GPU")]),
    ];
    let mut tensors = Vec::new();
    for (holds, product) in rows {
        for bytes in [2, 4] {
            let product = product.iter().copied().chain([(bytes, "bytes")]).collect();
            tensors.push(Tensor { holds, product, batch: None });
        }
    }
    tensors
}

/// No more tensors than these are named for one size.
const NAMED: usize = 3;

/// Micro-batches up to this one are tried where the configuration's has no tensor of the size.
const TRIED: u32 = 64;

/// The tensors of a configuration for which PyTorch would have asked for this much, as its message has it: three at most.
/// Where there is none at the configuration's micro-batch, those of other micro-batches are looked through.
///
/// ```
/// use bmax::read::tensors_of_size;
/// use bmax::{Bytes, link};
///
/// let scenario = link::decode("v=4&model=llama-3.1-8b&gpu=h100-80&gpus=1&s=8192&b=1").scenario;
/// // 8,192 · 128,256 · 4 bytes are 3.91 GiB.
/// let found = tensors_of_size(Bytes::from_gib(3.91), &scenario);
/// assert_eq!(found[0].words(), "8,192 tokens × 128,256 words × 4 bytes: the logits");
/// ```
pub fn tensors_of_size(asked: Bytes, scenario: &Scenario) -> Vec<Tensor> {
    let batch = scenario.recipe.batch;
    let mut found: Vec<Tensor> =
        tensors(scenario, batch).into_iter().filter(|one| is_asked(one.bytes(), asked)).collect();
    if found.is_empty() {
        let others = (1..=TRIED).filter(|other| *other != batch).flat_map(|other| {
            let grown = tensors(scenario, other).into_iter().filter(|one| one.holds.dominates());
            grown.map(move |one| Tensor { batch: Some(other), ..one })
        });
        found = others.filter(|one| is_asked(one.bytes(), asked)).collect();
        // Twice the micro-batch in half the bytes has the same size: the nearer one is likelier.
        found.sort_by_key(|one| (one.holds as u8, one.batch.unwrap_or(batch).abs_diff(batch)));
        found.dedup_by_key(|one| one.holds);
    }
    // A token less is mostly within the last digit.
    if found.iter().any(|one| one.holds == Holds::Logits) {
        found.retain(|one| one.holds != Holds::ShiftedLogits);
    }
    found.truncate(NAMED);
    found
}

/// Tokens for which the logits in fp32 have this size.
pub(super) fn tokens_of_logits(asked: Bytes, scenario: &Scenario) -> u64 {
    let words = scenario.model.vocabulary.div_ceil(scenario.cluster.tensor_parallel.max(1)).max(1);
    (asked.get() / (4.0 * f64::from(words))).round() as u64
}

/// Whether PyTorch says `asked` of a tensor of this size.
///
/// Its message has the segment that it would get: 2 MiB for what takes 1 MiB at most, 20 MiB for what takes less than 10,
/// else a multiple of 2 MiB, with two digits behind the point (`get_allocation_size` and `format_size` in
/// c10/cuda/CUDACachingAllocator.cpp, 2.9).
fn is_asked(tensor: Bytes, asked: Bytes) -> bool {
    let segment = match tensor.mib() {
        // A segment for small ones has room for everything.
        ..=1.0 => return false,
        ..10.0 => 20.0,
        size => (size / 2.0).ceil() * 2.0,
    };
    let digit = if segment > 1_024.0 { 10.24 } else { 0.01 };
    // Half of the last digit, and what a number in base ten loses.
    (segment - asked.mib()).abs() <= 0.501 * digit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    fn found(query: &str, gib: f64) -> Vec<String> {
        let scenario = link::decode(query).scenario;
        tensors_of_size(Bytes::from_gib(gib), &scenario).iter().map(Tensor::words).collect()
    }

    #[test]
    fn the_logits_of_a_long_sequence_and_a_large_vocabulary_are_found_by_their_size() {
        // 8,192 · 248,320 · 4 = 8,136,949,760 bytes, which are 7.578 GiB.
        let own = "v=4&model=qwen3-8b&gpus=1&s=8192&b=1&vocab=248320";
        assert_eq!(found(own, 7.58), ["8,192 tokens × 248,320 words × 4 bytes: the logits"]);
        // 2 · 4,096 tokens of Llama 3.1, 128,256 words, in bf16: 2,101,346,304 bytes, 1.957 GiB.
        let two = "v=4&model=llama-3.1-8b&gpus=1&s=4096&b=2";
        assert_eq!(found(two, 1.96)[0], "8,192 tokens × 128,256 words × 2 bytes: the logits");
    }

    #[test]
    fn the_scores_of_eager_attention_and_the_matrix_of_the_vocabulary_are_found_too() {
        // 1 · 32 · 8,192 · 8,192 · 2 bytes are 4 GiB.
        let eager = found("v=4&model=llama-3.1-8b&gpus=1&s=8192&b=1", 4.0);
        assert_eq!(
            eager,
            [
                "1 sequence × 32 heads × 8,192 tokens × 8,192 tokens × 2 bytes: the scores of eager attention in one layer"
            ]
        );
        // 128,256 · 4,096 · 2 bytes are 1,050,673,152, 1,002 MiB to the next two.
        let matrix = found("v=4&model=llama-3.1-8b&gpus=1&s=1000&b=1", 1_002.0 / 1_024.0);
        assert_eq!(
            matrix,
            [
                "128,256 words × 4,096 numbers × 2 bytes: the embedding or the output head, or a gradient or moment of it"
            ]
        );
    }

    #[test]
    fn another_micro_batch_is_named_where_the_configuration_has_no_such_tensor() {
        // 4 · 4,096 · 128,256 · 4 = 8,405,385,216 bytes, 7.83 GiB.
        let found = found("v=4&model=llama-3.1-8b&gpus=1&s=4096&b=1", 7.83);
        assert_eq!(found[0], "16,384 tokens × 128,256 words × 4 bytes: the logits at a micro-batch of 4");
    }

    #[test]
    fn a_size_that_no_tensor_has_finds_none() {
        assert_eq!(found("v=4&model=llama-3.1-8b&gpus=1&s=4096&b=1", 5.37), [""; 0]);
    }

    #[test]
    fn a_message_has_the_segment_and_not_the_tensor() {
        let mib = Bytes::from_mib;
        assert!(is_asked(mib(9.0), mib(20.0)) && !is_asked(mib(9.0), mib(9.0)));
        assert!(is_asked(mib(11.1), mib(12.0)) && !is_asked(mib(11.1), mib(11.1)));
        assert!(!is_asked(mib(0.5), mib(2.0)), "everything small asks for 2 MiB");
        assert!(is_asked(mib(2_049.0), Bytes::from_gib(2.0)), "two digits of 2,050 MiB are 2.00 GiB");
    }
}
