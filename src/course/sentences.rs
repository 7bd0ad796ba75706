//! The arithmetic of the sentences in which a reader drags numbers: each function is one formula of the text, with
//! the source that the text names beside it.

use super::scaling;
use crate::{Bytes, ZeroStage, cost};

/// What a GPT layer keeps for each token and unit of width beside its attention scores, in bytes at 16 bits
/// (Korthikanti et al. 2022, arXiv 2205.05198, equation 1).
const LINEAR: f64 = 34.0;

/// What it keeps for each pair of tokens and head: softmax and dropout at 2 bytes each, a mask of 1 (the same).
const SCORES: f64 = 5.0;

/// Bytes of a parameter that is trained with Adam, in fp32 and in mixed precision alike (Rajbhandari et al. 2020,
/// arXiv 1910.02054, section 3.1).
const TRAINED: f64 = 16.0;

/// The input that a linear layer keeps at 16 bits: 2·s·b·h (Korthikanti et al. 2022, section 4.1).
///
/// ```
/// use bmax::course::sentences::linear_input;
/// // 4 · 2048 · 4096 · 2 = 67,108,864 bytes.
/// assert_eq!(linear_input(4.0, 2048.0, 4096.0).mib(), 64.0);
/// ```
pub fn linear_input(sequences: f64, tokens: f64, width: f64) -> Bytes {
    Bytes::new(2.0 * sequences * tokens * width)
}

/// The logits of a loss that is computed in fp32: 4·s·b·v (Korthikanti et al. 2022, section 4.3).
pub fn logits(sequences: f64, tokens: f64, vocabulary: f64) -> Bytes {
    Bytes::new(4.0 * sequences * tokens * vocabulary)
}

/// The part of a layer's activations that grows with the length of one sequence, 34·s·h, and the attention scores,
/// which grow with its square, 5·a·s² (Korthikanti et al. 2022, equation 1).
///
/// ```
/// use bmax::course::sentences::layer;
/// // 34 · 8192 · 4096 and 5 · 32 · 8192².
/// assert_eq!(layer(8192.0, 4096.0, 32.0).map(|bytes| bytes.gib()), [1.0625, 10.0]);
/// ```
pub fn layer(tokens: f64, width: f64, heads: f64) -> [Bytes; 2] {
    [Bytes::new(LINEAR * tokens * width), Bytes::new(SCORES * heads * tokens * tokens)]
}

/// The attention scores as a part of what a layer keeps, from 0 to 1.
pub fn share_of_scores(tokens: f64, width: f64, heads: f64) -> f64 {
    let [linear, scores] = layer(tokens, width, heads);
    scores.share_of(linear + scores)
}

/// How many times the activations of a sequence grow when it gets twice as long: 2 without scores, 4 with nothing
/// else.
pub fn twice_as_long(tokens: f64, width: f64, heads: f64) -> f64 {
    let total = |tokens: f64| layer(tokens, width, heads).into_iter().sum::<Bytes>().get();
    total(2.0 * tokens) / total(tokens)
}

/// What the weights take at 16 bits, and what they take to be trained with Adam.
pub fn loaded_and_trained(parameters: f64) -> [Bytes; 2] {
    [2.0, TRAINED].map(|bytes| Bytes::new(bytes * parameters))
}

/// Adam's two averages of each weight (Kingma and Ba 2014, arXiv 1412.6980, algorithm 1).
pub fn moments(parameters: f64, bits: f64) -> Bytes {
    Bytes::new(2.0 * parameters * bits / 8.0)
}

/// Model states of each of `gpus` at a stage of ZeRO, with 2 bytes for a weight, 2 for its gradient and 12 for
/// Adam's state (Rajbhandari et al. 2020, figure 1).
pub fn states(parameters: f64, gpus: f64, stage: ZeroStage) -> Bytes {
    let sharded = match stage {
        ZeroStage::Stage0 => 0.0,
        ZeroStage::Stage1 => 12.0,
        ZeroStage::Stage2 => 14.0,
        ZeroStage::Stage3 => TRAINED,
    };
    Bytes::new(parameters * (TRAINED - sharded + sharded / gpus))
}

/// What a checkpoint every `every` layers keeps, in inputs of a layer: those of the segments, and what the layers of
/// one segment keep inside. A layer keeps at least 34/2 of its inputs inside (Korthikanti et al. 2022, equation 1;
/// segments: Chen et al. 2016, arXiv 1604.06174, section 3).
///
/// ```
/// use bmax::course::sentences::checkpoints;
/// // ⌈32 / 6⌉ inputs and 6 · 17 inside; with a checkpoint at every layer 32 and 17.
/// assert_eq!(checkpoints(32.0, 6.0), [6.0, 102.0]);
/// assert_eq!(checkpoints(32.0, 1.0), [32.0, 17.0]);
/// ```
pub fn checkpoints(layers: f64, every: f64) -> [f64; 2] {
    let every = every.clamp(1.0, layers);
    [(layers / every).ceil(), every * LINEAR / 2.0]
}

/// How many times their own bytes an all-reduce makes each of `gpus` send: 2·(D − 1)/D (Patarasuk and Yuan 2009).
pub fn sent_by_ring(gpus: u32) -> f64 {
    scaling::all_reduce_seconds(Bytes::new(1.0), gpus, 1.0)
}

/// The wait of a pipeline as a part of its computing: (p − 1)/(v·m) for p stages, m micro-batches and v chunks a stage
/// (Narayanan et al. 2021, arXiv 2104.04473, section 2.2).
pub fn bubble(stages: f64, micro_batches: f64, chunks: f64) -> f64 {
    // Sentences drag whole numbers.
    cost::bubble(stages as u32, chunks as u32, micro_batches as u32)
}

/// What a convolution makes in fp32: images times kernels times the area of a map.
pub fn maps(images: f64, kernels: f64, side: f64) -> Bytes {
    Bytes::new(4.0 * images * kernels * side * side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logits_of_four_sequences_are_four_bytes_for_each_token_and_entry() {
        // 4 · 4 · 8192 · 128,256 bytes; 2¹⁷ of them are 128,256 / 2¹³ GiB.
        assert_eq!(logits(4.0, 8192.0, 128_256.0).gib(), 128_256.0 / 8192.0);
    }

    #[test]
    fn the_stages_leave_what_the_paper_prints() {
        // Figure 1: 7.5 billion parameters on 64 GPUs take 120, 31.4, 16.6 and 1.9 GB.
        let stages = [ZeroStage::Stage0, ZeroStage::Stage1, ZeroStage::Stage2, ZeroStage::Stage3];
        let left = stages.map(|stage| (states(7.5e9, 64.0, stage).get() / 1e8).round() / 10.0);
        assert_eq!(left, [120.0, 31.4, 16.6, 1.9]);
    }

    #[test]
    fn scores_are_half_of_a_layer_where_the_text_says_and_more_beyond() {
        // S = 34H / (5n) is 870.4 for a width of 4096 and 32 heads; at 2048 it is 2048 / (870.4 + 2048).
        assert!((share_of_scores(870.4, 4096.0, 32.0) - 0.5).abs() < 1e-12);
        assert!((share_of_scores(2048.0, 4096.0, 32.0) - 2048.0 / 2918.4).abs() < 1e-12);
    }

    #[test]
    fn twice_the_length_takes_two_to_four_times_the_memory() {
        // (2 · 870.4 + 4 · 2048) / (870.4 + 2048), with 870.4 as above.
        assert!((twice_as_long(2048.0, 4096.0, 32.0) - 9932.8 / 2918.4).abs() < 1e-12);
        assert!(twice_as_long(1.0, 4096.0, 32.0) < 2.01 && twice_as_long(1e6, 4096.0, 32.0) > 3.99);
    }

    #[test]
    fn weights_and_moments_take_the_bytes_of_the_text() {
        // 7 billion weights: 14 GB to load, 112 to train, 56 of them moments in fp32.
        assert_eq!(loaded_and_trained(7e9).map(|bytes| bytes.get() / 1e9), [14.0, 112.0]);
        assert_eq!(moments(7e9, 32.0).get() / 1e9, 56.0);
    }

    #[test]
    fn a_ring_sends_less_than_twice_and_a_pipeline_waits_for_its_stages() {
        assert_eq!([1, 2, 8].map(sent_by_ring), [0.0, 1.0, 1.75]);
        // Three of four stages, for each of twelve micro-batches; half of that with two chunks.
        assert_eq!([bubble(4.0, 12.0, 1.0), bubble(4.0, 12.0, 2.0)], [0.25, 0.125]);
        assert_eq!(bubble(1.0, 12.0, 1.0), 0.0);
    }

    #[test]
    fn twice_the_side_is_four_times_the_map() {
        // 32 · 64 · 224² · 4 bytes are 392 MiB.
        assert_eq!(maps(32.0, 64.0, 224.0).mib(), 392.0);
        assert_eq!(maps(32.0, 64.0, 448.0).mib(), 4.0 * 392.0);
    }
}
