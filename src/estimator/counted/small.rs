//! The tensors that are neither matrices of layers nor embeddings, each with its size: norms, biases, routers,
//! convolutions and tables of distances. Optimizers of few bits leave those with few elements as they are.

use super::optimizer::{PAGED, moment_bytes};
use super::stage::Stage;
use super::states::{Kind, StateBytes};
use crate::source::Source;
use crate::{Bias, Model, Norm, Optimizer, Position, QkNorm, Tensors, Weights};

/// The fewest elements of a tensor whose moments have 8 bits in bitsandbytes and GaLore (`min_8bit_size` of
/// `Optimizer8bit.init_state` in bitsandbytes/optim/optimizer.py, 0.50.2, with which galore_torch/adamw8bit.py is made),
/// and few bits in torchao, where they also have to divide into blocks (`_new_buffer` in torchao/optim/adam.py, 0.18.0).
const LEAST_QUANTIZED: u64 = 4096;

/// The fewest elements of a tensor whose moments bitsandbytes pages (`get_state_buffer` in bitsandbytes/optim/optimizer.py,
/// 0.50.2).
const LEAST_PAGED: u64 = 100_000;

/// The small tensors of a stage, whole.
pub(super) fn of(model: &Model, weights: &Weights, stage: &Stage) -> Vec<Tensors> {
    let [h, f, d] = [model.hidden, model.feed_forward, model.head_dim].map(u64::from);
    let (query, key) = (u64::from(model.heads) * d, u64::from(model.kv_heads) * d);
    let encoder = model.encoder;
    let layers = (stage.dense_layers + stage.expert_layers) as u64;
    let attends = if encoder.is_there() { layers } else { 0 };
    let heard = if stage.has_head { u64::from(encoder.layers) } else { 0 };
    let mut found = Vec::with_capacity(12);
    let mut push = |elements: u64, count: u64| {
        if elements * count > 0 {
            found.push(Tensors { elements, count });
        }
    };
    // One weight, or a weight and a bias.
    let of_a_norm = match model.norm {
        Norm::LayerNorm => 2,
        Norm::RmsNorm | Norm::RmsNormFull | Norm::LayerNormFull => 1,
        Norm::Plain => 0,
    };
    let norms = u64::from(model.norms);
    let ends = if stage.has_head { 1 + u64::from(encoder.is_there()) } else { 0 };
    push(h, of_a_norm * ((layers + heard) * norms + attends + ends));
    match model.qk_norm {
        QkNorm::Off => {}
        QkNorm::Head => push(d, 2 * (layers + heard)),
        QkNorm::Full => {
            push(query, layers + heard);
            push(key, layers + heard);
        }
    }
    if model.bias != Bias::None {
        let stacks = layers + heard + attends;
        if model.packs_attention() {
            push(query + 2 * key, stacks);
        } else {
            push(query, stacks);
            push(key, 2 * stacks);
        }
        if model.bias == Bias::All {
            push(h, stacks + layers + heard);
            push(f, (u64::from(model.mlp.matrices()) - 1) * (layers + heard));
        }
    }
    push(weights.router, stage.expert_layers as u64);
    if heard > 0 {
        let mels = u64::from(encoder.mels);
        if mels > 0 {
            push(3 * h * mels, 1);
            push(3 * h * h, 1);
            push(h, 2);
        } else {
            push(weights.encoder_positions, 1);
        }
    }
    // A table of distances is where the first layer is.
    if stage.has_embedding && model.position == Position::Relative {
        push(weights.positions, 1);
    }
    found
}

/// Weights of some tensors.
pub(super) fn weights(tensors: &[Tensors]) -> f64 {
    tensors.iter().map(|tensors| tensors.all() as f64).sum()
}

/// Whether an optimizer keeps the moments of a tensor of so many elements in fewer bits than those of the smallest ones.
fn is_quantized(optimizer: Optimizer, elements: u64) -> bool {
    let block = match optimizer {
        Optimizer::Adam8bit | Optimizer::PagedAdam8bit | Optimizer::Galore8bit => 1,
        Optimizer::Adam8bitTorchao | Optimizer::AdamFp8 => 256,
        Optimizer::Adam4bit => 128,
        _ => return false,
    };
    elements >= LEAST_QUANTIZED && elements.is_multiple_of(block)
}

/// Bytes of optimizer state for each weight of small tensors, and how many weights have them.
pub(super) fn moments(
    optimizer: Optimizer,
    tensors: &[Tensors],
    bytes: &StateBytes,
) -> Vec<(f64, f64, &'static Source)> {
    let mut found: Vec<(f64, f64, &'static Source)> = Vec::with_capacity(2);
    for own in tensors {
        let kind = if is_quantized(optimizer, own.elements) { Kind::Embedding } else { Kind::Small };
        let (mut bytes, source) = moment_bytes(optimizer, kind, bytes);
        // What is quantized and not paged stays on the device.
        if optimizer == Optimizer::PagedAdam8bit && kind != Kind::Small && own.elements < LEAST_PAGED {
            bytes += PAGED;
        }
        let weights = weights(&[*own]);
        match found.iter_mut().find(|(of, ..)| *of == bytes) {
            Some((_, all, _)) => *all += weights,
            None => found.push((bytes, weights, source)),
        }
    }
    found
}

/// Weights of small tensors whose moments are as those of the smallest.
pub(super) fn unquantized(optimizer: Optimizer, tensors: &[Tensors]) -> f64 {
    let left = tensors.iter().filter(|tensors| !is_quantized(optimizer, tensors.elements));
    left.map(|tensors| weights(&[*tensors])).sum()
}

/// Weights of small tensors whose moments bitsandbytes pages.
pub(super) fn paged(tensors: &[Tensors]) -> f64 {
    tensors.iter().filter(|tensors| tensors.elements >= LEAST_PAGED).map(|tensors| weights(&[*tensors])).sum()
}

#[cfg(test)]
mod tests {
    use super::super::stage::Pipeline;
    use super::*;
    use crate::{Scenario, catalogue};

    #[test]
    fn small_tensors_of_every_listed_model_are_all_that_its_matrices_leave() {
        for row in catalogue::MODELS {
            let scenario = row.apply(Scenario::workshop());
            let model = &scenario.model;
            let weights = Weights::of(model);
            let [stage] = &Pipeline::of(&scenario).counted(&scenario, &weights)[..] else { panic!("one stage") };
            let in_layers = weights.dense_layers * weights.dense_mlp
                + weights.expert_layers * (weights.experts * weights.expert + weights.shared_experts);
            let matrices = in_layers + u64::from(model.layers) * (weights.attention + weights.cross) + weights.encoder;
            // Learned positions and tables of sines are no small tensors.
            let learned = if model.position == Position::Learned { weights.positions } else { 0 };
            let sines = if model.encoder.hears() { weights.encoder_positions } else { 0 };
            let left = weights.total() - matrices - weights.embedding - weights.head - learned - sines;
            assert_eq!(super::weights(&of(model, &weights, stage)), left as f64, "{}", row.slug);
        }
    }

    #[test]
    fn tensors_of_fewer_than_4096_elements_keep_moments_in_fp32() {
        let bytes = StateBytes { weight: 2.0, gradient: 2.0, master: 0.0, moment: 2.0, compute: 2.0 };
        let of = |optimizer, elements| {
            let [(bytes, _, _)] = moments(optimizer, &[Tensors { elements, count: 1 }], &bytes)[..] else {
                panic!("moments of one kind")
            };
            bytes
        };
        // Two bytes and two fp32 scales for 256 numbers.
        let eight_bits = 2.0 + 8.0 / 256.0;
        for (optimizer, elements, expected) in [
            (Optimizer::Adam8bit, 4095, 8.0),
            (Optimizer::Adam8bit, 4096, eight_bits),
            (Optimizer::Galore8bit, 4095, 8.0),
            (Optimizer::Galore8bit, 4096, eight_bits),
            (Optimizer::PagedAdam8bit, 4095, 8.0),
            (Optimizer::PagedAdam8bit, 99_999, eight_bits),
            (Optimizer::PagedAdam8bit, 100_000, eight_bits - 2.0),
            // torchao leaves them in the type of the weights, and so what does not divide into blocks.
            (Optimizer::Adam8bitTorchao, 3840, 4.0),
            (Optimizer::Adam8bitTorchao, 4096, eight_bits),
            (Optimizer::Adam8bitTorchao, 4224, 4.0),
            (Optimizer::Adam4bit, 4224, 1.0 + 8.0 / 128.0),
            (Optimizer::AdamW, 4096, 4.0),
        ] {
            assert_eq!(of(optimizer, elements), expected, "{optimizer:?} {elements}");
        }
    }
}
