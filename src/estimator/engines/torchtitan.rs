//! torchtitan 0.2.2: what its trainer does around the passes of a step (`Trainer.train_step` in torchtitan/train.py).

use super::acts::{Act, Hook, Name, Round, Unit};
use super::pipeline::Pipeline;
use crate::estimator::models::tokens;
use crate::estimator::operators::{FOREACH_CHUNK, Form, PROCESSORS, Part, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::{D, DType, S};

const SOURCE: &str = "torchtitan 0.2.2, train.py Trainer.train_step";

/// What a device holds of a weight.
#[derive(Clone, Copy, Debug)]
pub struct HeldPart {
    /// Its elements.
    pub elements: u64,
    /// The elements of the whole weight.
    pub whole: u64,
    /// Whether it is drawn from a truncated normal distribution: a matrix, but that of the embedding.
    pub is_drawn: bool,
    /// What other devices that share its layer have of it.
    pub split: Split,
}

/// What of a weight devices have that share its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// No devices share layers.
    Alone,
    /// All have all of it.
    Whole,
    /// Each of so many has some rows.
    Rows(u32),
    /// Each of so many has some columns.
    Columns(u32),
}

impl Split {
    /// How many have a part each.
    fn parts(self) -> u64 {
        match self {
            Self::Alone | Self::Whole => 1,
            Self::Rows(parts) | Self::Columns(parts) => u64::from(parts),
        }
    }
}

/// What the trainer does with weights of which a device holds so many elements, and so many micro-batches. It moves each
/// micro-batch to the device, keeps its loss, and clips gradients by their norm, which `foreach_tensor_norm_cuda`
/// (aten/src/ATen/native/cuda/ForeachReduceOp.cu) takes of all weights at once. The micro-batches of a pipeline are one to it.
pub fn round(
    networks: &[Vec<HeldPart>],
    micro_batches: u32,
    pipeline: Option<Pipeline>,
    is_alone: bool,
    registry: &mut Registry,
) -> Round {
    let (micro_batches, parts) = pipeline.map_or((micro_batches, 1), |pipeline| (1, pipeline.micro_batches));
    let builds = networks.iter().map(|weights| build(weights, is_alone, registry)).collect();
    let weights = networks.concat();
    let elements = weights.iter().map(|weight| weight.elements).collect::<Vec<_>>();
    let mut of = |place, part, size| registry.id(Tensor { place, part, size }, SOURCE);
    let count = elements.len() as u64;
    let chunks = elements.iter().map(|elements| elements.div_ceil(FOREACH_CHUNK)).fold(0, u64::saturating_add);
    let given = Form { shape: tokens().shape.by(parts), ..tokens() };
    let [ids, labels] = [Part::Ids, Part::Labels].map(|part| of(Place::Batch, part, Size::Of(given)));
    let counted = of(Place::Batch, Part::Counted, Size::Bytes(8));
    let losses = of(Place::Loss, Part::Result, Size::Bytes(4 * u64::from(micro_batches)));
    let losses_of_parts = of(Place::Loss, Part::Joined, Size::Bytes(4 * u64::from(parts)));
    let mut norms = |bytes: u64| of(Place::GradientNorm, Part::Result, Size::Bytes(bytes));
    let (offsets, sums, all) = (norms((count + 1) * 8), norms(chunks.saturating_mul(4)), norms(count * 4));
    let one = norms(4);
    let shares_layers = weights.iter().any(|weight| weight.split != Split::Alone);
    // Norms of weights that all have become parts of a sum, each in a tensor of its own.
    let parts_of_sum =
        weights.iter().filter(|weight| weight.split == Split::Whole).map(|_| Act::More(Name::Columns, one));
    // `torch.stack`, and the sum over devices of powers of them, by devices that share layers again.
    let sum = [Act::Name(Name::Square, all), Act::Name(Name::Sum, all), Act::Name(Name::Root, all)];
    let sum = [&sum[..], &[Act::Drop(Name::Square), Act::Drop(Name::Sum)]].concat();
    let of_devices = sum.repeat(if is_alone { 0 } else { 1 + usize::from(shares_layers) });
    let norm = [Act::Drop(Name::Buffer), Act::Drop(Name::Number)].into_iter().chain(parts_of_sum);
    let norm = norm.chain([Act::Name(Name::Rows, all), Act::Drop(Name::Columns)]).chain(of_devices);
    let norm = norm.chain([Act::Name(Name::Norm, one), Act::Drop(Name::Root), Act::Drop(Name::Rows)]);
    let norm = norm.collect::<Vec<_>>();
    let joined = match pipeline {
        None => Vec::new(),
        // `torch.sum(torch.stack(losses)) / global_valid_tokens`.
        Some(pipeline) if pipeline.is_last(pipeline.chunks - 1) => vec![
            Act::Name(Name::Rows, losses_of_parts),
            Act::Name(Name::Sum, one),
            Act::Drop(Name::Rows),
            Act::More(Name::Losses, one),
            Act::Drop(Name::Sum),
        ],
        // `torch.tensor([-1.0])`.
        Some(_) => vec![Act::More(Name::Losses, one)],
    };
    // The number of tokens of this device, and of all: a number of Python, or alone the same in fp32.
    let count =
        [Act::Name(Name::Counted, counted), if is_alone { Act::More(Name::Counted, one) } else { Act::Brief(counted) }];
    let logged = vec![
        // The loss of this device's own tokens, and what is summed over devices.
        Act::Name(Name::Square, one),
        Act::Name(Name::Root, one),
        Act::Drop(Name::Square),
        Act::Brief(one),
        Act::Brief(one),
        Act::Name(Name::Number, counted),
        Act::Brief(counted),
        Act::Drop(Name::Number),
    ];
    let unit = Unit::default()
        .with(Hook::EndPasses, joined)
        .with(Hook::BeginStep, [Act::Drop(Name::Ids)].into_iter().chain(count))
        .with(
            Hook::BeginMicroBatch,
            [Act::Drop(Name::Labels), Act::More(Name::Ids, ids), Act::Name(Name::Labels, labels)],
        )
        .with(Hook::Norms, [Act::Name(Name::Number, offsets), Act::Name(Name::Buffer, sums)])
        .with(Hook::Norm, norm)
        .with(
            Hook::Clip,
            [
                // `clip_grads_with_norm_`.
                Act::Name(Name::Denominator, one),
                Act::Name(Name::Number, one),
                Act::Name(Name::Update, one),
                Act::Drop(Name::Number),
                Act::Drop(Name::Denominator),
                Act::Name(Name::Estimate, one),
                Act::Drop(Name::Update),
                Act::Drop(Name::Estimate),
            ],
        )
        .with(Hook::EndStep, [Act::Name(Name::Rows, losses), Act::Name(Name::Sum, one), Act::Drop(Name::Rows)])
        .with(Hook::Log, if is_alone { Vec::new() } else { logged })
        // The generator of micro-batches has the last one until it gives the next.
        .with(Hook::Forget, [Act::KeepLast(Name::Ids)])
        .with(
            Hook::Forget,
            [Name::Counted, Name::Labels, Name::Losses, Name::Sum, Name::Norm, Name::Root].map(Act::Drop),
        );
    Round { unit, norm: Some(one), builds_parts: true, builds }
}

/// `Transformer.init_weights`: a table of numbers of the unit circle (`precompute_freqs_cis`), in the place of the one that
/// `to_empty` made, and then matrices, each drawn from a truncated normal distribution (`trunc_normal_` in
/// torchtitan/models/utils.py). The embedding is drawn in place.
fn build(weights: &[HeldPart], is_alone: bool, registry: &mut Registry) -> Vec<Act> {
    let mut of = |part, size| registry.id(Tensor { place: Place::RotaryTable, part, size }, SOURCE);
    let table = |dtype, shape| Size::Of(Form::new(dtype, shape));
    let whole = of(Part::Table, table(DType::Single, S * D));
    let half = of(Part::Table, table(DType::Single, (S * D).part(2)));
    let places = of(Part::Ids, table(DType::Long, S));
    let [long, row, flags] =
        [DType::Long, DType::Single, DType::Byte].map(|dtype| of(Part::Table, table(dtype, D.part(2))));
    let number = of(Part::Table, Size::Bytes(8));
    let mut acts = vec![Act::Name(Name::Weight, whole)];
    // Names of the function: `freqs`, `wavelen`, `smooth_factor`, `smoothed_freqs`, `is_medium_freqs`.
    let (freqs, lengths, smooth, smoothed, medium) =
        (Name::Gradient, Name::Square, Name::Rows, Name::Columns, Name::Mean);
    // A step of a formula is there before the one that it reads goes.
    let steps = |name: Name, steps: &[TensorId]| steps.iter().map(|&step| Act::Name(name, step)).collect::<Vec<_>>();
    let (one, two) = (Name::Estimate, Name::Update);
    acts.extend(steps(one, &[long, row, row]));
    acts.extend([Act::Name(two, row), Act::Brief(number), Act::Drop(one), Act::Name(one, row), Act::Name(freqs, row)]);
    acts.extend([Act::Drop(one), Act::Drop(two)]);
    acts.extend([Act::Name(one, row), Act::Name(lengths, row), Act::Drop(one)]);
    acts.extend([
        Act::Name(one, flags),
        Act::Name(two, row),
        Act::Name(Name::Root, row),
        Act::Drop(one),
        Act::Drop(two),
    ]);
    acts.push(Act::Move(freqs, Name::Root));
    acts.extend(steps(one, &[row, row, row]));
    acts.extend([Act::Name(smooth, row), Act::Drop(one)]);
    acts.extend([Act::Name(one, row), Act::Name(two, row), Act::Drop(one), Act::Name(one, row), Act::Drop(two)]);
    acts.extend([Act::Name(two, row), Act::Name(smoothed, row), Act::Drop(one), Act::Drop(two)]);
    acts.extend(steps(one, &[flags, flags]));
    acts.extend(steps(two, &[flags, flags]));
    acts.extend([Act::Name(medium, flags), Act::Drop(one), Act::Drop(two)]);
    acts.extend([Act::Name(freqs, row), Act::Name(Name::Number, places), Act::Name(one, half), Act::Drop(freqs)]);
    acts.extend([Act::Name(two, half), Act::More(Name::Table, whole), Act::Drop(two), Act::Drop(one)]);
    acts.extend([lengths, smooth, smoothed, medium, Name::Number, Name::Weight].map(Act::Drop));
    let drawn = weights.iter().filter(|weight| weight.is_drawn);
    for &HeldPart { elements, whole: divided, split, .. } in drawn {
        let whole = divided.saturating_mul(split.parts());
        let mut own = |bytes: u64| {
            registry.id(Tensor { place: Place::Unit, part: Part::Workspace, size: Size::Bytes(bytes) }, SOURCE)
        };
        // What lies outside of the bounds, by its two sides and together; the flags of all devices, and whether one of them is
        // set, for which each processor of an A100, or each 524,288 elements, has a number (as recorded).
        let outside = own(elements);
        let (flags, flag, count) = (own(whole), own(1), own(4));
        let flags = (!is_alone).then_some(Act::Name(Name::Number, flags));
        // Flags of devices that share layers come first where they have columns, and are copied side by side.
        let gathered = match split {
            Split::Alone | Split::Whole => Vec::new(),
            Split::Rows(_) => vec![Act::Name(Name::Number, own(divided))],
            Split::Columns(parts) => {
                let columns = own(elements.saturating_mul(u64::from(parts)));
                vec![Act::Name(Name::Number, columns), Act::Name(Name::Number, columns)]
            }
        };
        let sums = own(4 * whole.div_ceil(8 * FOREACH_CHUNK).max(PROCESSORS));
        acts.extend([
            Act::Name(Name::Rows, outside),
            Act::Name(Name::Columns, outside),
            Act::Name(Name::Sum, outside),
            Act::Drop(Name::Rows),
            Act::Drop(Name::Columns),
        ]);
        acts.extend(gathered.into_iter().chain(flags));
        acts.extend([
            Act::Name(Name::Mean, flag),
            Act::Name(Name::Buffer, sums),
            Act::Name(Name::Semaphores, count),
            Act::Drop(Name::Semaphores),
            Act::Drop(Name::Buffer),
            Act::Drop(Name::Number),
            Act::Drop(Name::Mean),
            Act::Drop(Name::Sum),
        ]);
    }
    acts
}
