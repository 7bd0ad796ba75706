//! trl's head, which makes logits and their gradient tile by tile (`ChunkedLogProbFunction` in trl/kernels/chunked_logprob.py and
//! `_fused_forward` in trl/trainer/utils.py, 1.16.0).

use super::kernel::Effect::{self, Brief, Drop, New, PassView, Workspace};
use super::kernel::{NOTHING, Operand, Reads, SECOND, Slot};
use super::log_probs::{masked_places, sum_of, total_of_flags};
use super::loss::quotient;
use super::lowering::Lowering;
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part, Place};
use crate::estimator::units::{B, CHUNK, DType, H, S, S1, Shape, V};

/// Tokens of a tile (`TOKEN_CHUNK_SIZE`).
const TOKENS: u64 = 4_096;
/// Words of a tile (`_CHUNKED_LOGPROB_CHUNK_SIZE`).
const WORDS: u64 = 32_768;

/// Tiles that are played one by one at most: what comes after them takes no more memory.
const MOST_TILES: u64 = 1024;

/// A form of numbers in fp32, of a shape.
const fn wide(shape: Shape) -> Form {
    Form::new(DType::Single, shape)
}

/// How many tokens and words there are, and how wide a hidden state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Tokens that have a label.
    pub tokens: u64,
    /// Words of the vocabulary.
    pub words: u64,
    /// Elements of a hidden state.
    pub hidden: u64,
}

impl Tiles {
    /// Tokens of the largest tile.
    pub const fn rows(tokens: u64) -> u64 {
        if tokens < TOKENS { tokens } else { TOKENS }
    }

    /// The tokens of each row of tiles, and the words of each tile of a row.
    fn sides(self) -> [Vec<u64>; 2] {
        let words = parts(self.words, WORDS, MOST_TILES);
        let rows = MOST_TILES.div_ceil(words.len().max(1) as u64);
        [parts(self.tokens, TOKENS, rows), words]
    }

    /// The bytes of as many hidden states, or columns of the head, in a type.
    fn bytes(self, count: u64, dtype: DType) -> Size {
        Size::Bytes(count.saturating_mul(self.hidden).saturating_mul(dtype.bytes()))
    }
}

/// So many in parts of one size, of which the last has the rest, and of which there are `most`.
fn parts(count: u64, each: u64, most: u64) -> Vec<u64> {
    let starts = (0..count.div_ceil(each).min(most)).map(|part| part * each);
    starts.map(|start| each.min(count - start)).collect()
}

/// The loss, and the log-probabilities that the class puts out beside it.
pub fn loss(k: &mut Lowering<'_>, x: Slot, tiles: Tiles) -> [Slot; 2] {
    let whole = k.form(x);
    let rows = B * S1;
    let (dtype, weights) = (whole.dtype, k.types.weights);
    let low = k.types.autocast.unwrap_or(dtype);
    let form = Form { shape: rows * H, ..whole };
    let hidden = k.view(x, Form { shape: whole.shape / S * S1, ..whole }).d(0, NOTHING, &[New]).put();
    let flags = k.constant(Part::Mask, Form::new(DType::Byte, rows), &[]);
    k.hold(flags);
    let places = masked_places(k, flags, rows);
    let picked = k.kernel(Part::Picked, form, &[hidden.into(), flags.into(), places.into()]);
    let picked = picked.d(0, SECOND, &added_at(rows)).put();
    k.at(Place::Head);
    let weight = k.matrix(Part::Weight, weights, [V, H]);
    k.at(Place::Loss);
    let places = masked_places(k, flags, rows);
    let targets = k.constant(Part::Labels, Form::new(DType::Long, rows), &[flags, places]);
    // `running_max` and its like, and `target_logit`.
    let sums: [Slot; 7] = std::array::from_fn(|_| k.constant(Part::Sum, wide(rows), &[]));
    let tile = k.constant(Part::ChunkLogits, Form::new(low, CHUNK * Shape::ONE.by(WORDS as u32)), &[]);
    let [tokens, words] = tiles.sides();
    let slice = |k: &mut Lowering<'_>, part, count| {
        k.kernel(part, Form::new(low, H), &[]).sized(part, tiles.bytes(count, low)).put()
    };
    let mut chunk = None;
    for &count in &tokens {
        let before = chunk;
        if dtype != low {
            let cast = slice(k, Part::AutocastInput, count);
            before.into_iter().for_each(|before| k.hold_until(before, cast));
            chunk = Some(cast);
        }
        for &count in &words {
            let cast = (weights != low).then(|| slice(k, Part::AutocastWeight, count));
            let read: Vec<_> = [tile].into_iter().chain(cast).map(Operand::Value).collect();
            k.alias(k.form(tile), &read).brief(CUBLAS).put();
        }
    }
    let log = k.constant(Part::Result, wide(rows), &[sums[1]]);
    let log_z = k.constant(Part::LogSumExp, wide(rows), &[sums[0], log]);
    let result = k.constant(Part::Result, wide(rows), &[sums[6], log_z]);
    let operands = [result.into(), picked.into(), weight, targets.into(), log_z.into()];
    let reads = Reads::operand(1) | Reads::operand(2) | Reads::operand(3) | Reads::operand(4);
    let [of_hidden, of_head] = backward(tiles, [dtype, weights, low], k.is_trained());
    let call = k.alias(wide(rows), &operands).keeping_behind();
    let call = call.d(1, reads, &of_hidden[0]).d(2, reads, &of_head[0]);
    let call = call.d(1, reads, &of_hidden[1]).d(2, reads, &of_head[1]).put();
    sums.into_iter().chain([tile]).chain(chunk).for_each(|name| k.hold_until(name, call));
    // `x.new_zeros(mask.shape).masked_scatter(mask, x)`, and `masked_select` on the way back.
    let zeros = k.constant(Part::Result, wide(rows), &[]);
    let log_probs = k.kernel(Part::Picked, wide(rows), &[call.into(), flags.into(), zeros.into()]);
    let log_probs = log_probs.workspace(Size::Of(Form::new(DType::Long, rows))).brief(Size::Scan { elements: rows });
    let log_probs = log_probs.d(0, SECOND, &[&places_of(rows)[..], &[New]].concat()).put();
    let total = k.kernel(Part::Sum, wide(Shape::ONE), &[log_probs.into()]).d(0, NOTHING, &[PassView]);
    let total = sum_of(total, Shape::ONE, rows).put();
    let negated = k.kernel(Part::Result, wide(Shape::ONE), &[total.into()]).d(0, NOTHING, &[New]).put();
    let count = total_of_flags(k, flags);
    let count = k.constant(Part::Counted, Form::new(DType::Long, Shape::ONE), &[count]);
    let loss = quotient(k, negated, count);
    [loss, log_probs]
}

/// What is cast to the type of the products.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cast {
    /// The hidden states of a row of tiles.
    Hidden,
    /// A slice of the head.
    Slice,
}

/// What `backward` of the function does for the hidden states and for the head, each before and behind the tiles, for their types
/// and that of the products. Sums are in fp32.
fn backward(tiles: Tiles, types: [DType; 3], is_trained: bool) -> [[Vec<Effect<Size>>; 2]; 2] {
    let [dtype, weights, low] = types;
    let sum = |dtype, count| match dtype {
        DType::Single => vec![New],
        _ => vec![Workspace(tiles.bytes(count, DType::Single))],
    };
    let cast = |dtype| if dtype == DType::Single { vec![] } else { vec![New] };
    let tile = Workspace(Size::Of(Form::new(low, CHUNK * Shape::ONE.by(WORDS as u32))));
    let mut effects = vec![tile];
    let products = if is_trained { 3 } else { 2 };
    let [tokens, words] = tiles.sides();
    // Names of hidden states and of a slice of the head in the type of the products, in the order in which they came.
    let mut names = Vec::new();
    let mut name = |effects: &mut Vec<_>, cast, count| {
        effects.push(Workspace(tiles.bytes(count, low)));
        names.push(cast);
        if let Some(before) = names[..names.len() - 1].iter().position(|other| *other == cast) {
            effects.push(Drop(names.len() - 1 - before));
            names.remove(before);
        }
    };
    for &count in &tokens {
        if dtype != low {
            name(&mut effects, Cast::Hidden, count);
        }
        for &count in &words {
            if weights != low {
                name(&mut effects, Cast::Slice, count);
            }
            effects.extend([Brief(CUBLAS)].repeat(products));
        }
    }
    let hidden = [sum(dtype, tiles.tokens), [effects, cast(dtype)].concat()];
    [hidden, [sum(weights, tiles.words), cast(weights)]]
}

/// What `nonzero` takes within a derivative: a count, and the places of flags that are set.
fn places_of(rows: Shape) -> [Effect<Size>; 5] {
    let count = Workspace(Size::Of(Form::new(DType::Int, Shape::ONE)));
    let places = Workspace(Size::Of(Form::new(DType::Long, rows.by(2))));
    [count, Brief(Size::CountOfFlags { flags: rows }), places, Brief(Size::Bytes(1023)), Drop(1)]
}

/// `index_put_` with `accumulate` into zeros, by the flags themselves, whose places are looked for again
/// (aten/src/ATen/native/cuda/Indexing.cu).
fn added_at(rows: Shape) -> Vec<Effect<Size>> {
    let each = Workspace(Size::Of(Form::new(DType::Long, rows)));
    let put = [each, each, Drop(1), each, each, Drop(1), Drop(0)];
    let sort = [each, each, each, Brief(Size::IndexSort { entries: rows, rows })];
    [&[New][..], &places_of(rows), &put, &sort].concat()
}
