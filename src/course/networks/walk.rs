//! What is alive while a network runs backward: kept tensors and gradients, one operation after another.
//!
//! Autograd runs the operations in the opposite order of the forward pass, frees what an operation has
//! kept once it has run, hands gradients on, and adds those of a tensor that was read twice
//! (`torch/csrc/autograd/engine.cpp`, `evaluate_function`; `input_buffer.cpp`, `accumulate`; PyTorch 2.15).
//! A gradient of a sum is the same tensor for both sides, and one of a concatenation a view for each.
//!
//! Under autocast an operation of matrices takes copies of its inputs in 16 bits, and a norm copies in fp32
//! (`aten/src/ATen/autocast_mode.h`). Those of activations are made anew for every reader.

use super::{Kind, Layer, Network, Setup, Source};
use crate::course::networks::Element;

/// In which type an operation computes under autocast.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// In 16 bits.
    Narrow,
    /// In fp32.
    Wide,
    /// In fp32 even where the weights are in 16 bits.
    Single,
    /// In the widest type of its inputs.
    Same,
}

fn rule(layer: &Layer) -> Rule {
    match layer.kind {
        Kind::Conv | Kind::Deconv | Kind::Dense | Kind::Attention => Rule::Narrow,
        Kind::GroupNorm | Kind::LayerNorm | Kind::Softmax | Kind::Token => Rule::Wide,
        // Learned positions are in fp32; a table is cast to the type of the rows.
        Kind::Position if layer.vector > 0.0 => Rule::Wide,
        Kind::Mse => Rule::Single,
        _ => Rule::Same,
    }
}

/// Which of its tensors an operation keeps: a bit for each input, and the fourth for its output.
const fn keeps(kind: Kind) -> u8 {
    match kind {
        Kind::Conv
        | Kind::Deconv
        | Kind::Dense
        | Kind::Norm
        | Kind::GroupNorm
        | Kind::InstanceNorm
        | Kind::LayerNorm
        | Kind::Gelu
        | Kind::MaxPool
        | Kind::AvgPool
        | Kind::Gate
        | Kind::Modulate
        | Kind::Mse => 0b0001,
        Kind::Scale => 0b0011,
        Kind::Relu | Kind::Softmax => 0b1000,
        Kind::Attention => 0b1111,
        _ => 0,
    }
}

/// Whether the gradient of its inputs is the memory of the gradient of its output.
const fn passes(kind: Kind) -> bool {
    matches!(kind, Kind::Add | Kind::Concat | Kind::Flatten | Kind::Shift | Kind::Copy | Kind::Position | Kind::Token)
}

/// A tensor of one example.
struct Tensor {
    elements: f64,
    /// Bytes of an element.
    width: f64,
    /// The tensor whose memory it is: itself, or another that it is a view of.
    root: usize,
    /// The layer that made it.
    maker: usize,
    needs_gradient: bool,
    is_read: bool,
}

impl Tensor {
    fn bytes(&self) -> f64 {
        self.elements * self.width
    }
}

/// One operation: a layer, or a cast for one of its inputs.
struct Op {
    layer: usize,
    /// Nothing for a cast.
    kind: Option<Kind>,
    reads: [Option<usize>; 3],
    output: usize,
    /// Bytes it keeps that are no tensor of another operation.
    extra: f64,
}

impl Op {
    /// The memory of all tensors that it keeps.
    fn kept<'a>(&'a self, tensors: &'a [Tensor]) -> impl Iterator<Item = usize> + 'a {
        let mask = self.kind.map_or(0, keeps);
        let all = [self.reads[0], self.reads[1], self.reads[2], Some(self.output)];
        (0..4).filter(move |bit| mask & 1 << bit != 0).filter_map(move |bit| Some(tensors[all[bit]?].root))
    }
}

/// The operations of a network in one precision.
pub(super) struct Walk<'a> {
    layers: &'a [Layer],
    tensors: Vec<Tensor>,
    ops: Vec<Op>,
}

/// What is alive for one example while an operation runs backward.
pub(super) struct Alive {
    /// The layer that it belongs to.
    pub layer: usize,
    /// Bytes kept.
    pub kept: f64,
    /// Bytes of gradients of activations.
    pub gradients: f64,
    /// Whether the weight gradient of the layer is made here.
    pub is_layer: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn of(network: &'a Network, setup: &Setup) -> Self {
        let layers = &network.layers;
        let wide = if setup.element == Element::Half { 2.0 } else { 4.0 };
        let narrow = setup.element.bytes();
        let mut walk =
            Self { layers, tensors: Vec::with_capacity(layers.len()), ops: Vec::with_capacity(layers.len()) };
        let mut outputs: Vec<usize> = Vec::with_capacity(layers.len());
        for (position, layer) in layers.iter().enumerate() {
            let mut reads: [Option<usize>; 3] = layer.reads.map(|source| match source {
                Source::Layer(maker) => outputs.get(maker).copied(),
                Source::Given | Source::Nothing => None,
            });
            let widths =
                |walk: &Self| reads.iter().flatten().map(|&read: &usize| walk.tensors[read].width).reduce(f64::max);
            let width = match rule(layer) {
                Rule::Narrow => narrow,
                Rule::Wide => wide,
                Rule::Single => 4.0,
                Rule::Same => widths(&walk).unwrap_or(wide),
            };
            if rule(layer) != Rule::Same {
                for read in reads.iter_mut().flatten() {
                    if walk.tensors[*read].width != width {
                        let elements = walk.tensors[*read].elements;
                        let cast = walk.push(position, None, [Some(*read), None, None], elements, width, 0.0);
                        *read = cast;
                    }
                }
            }
            let narrowest = reads.iter().flatten().map(|&read: &usize| walk.tensors[read].width).reduce(f64::min);
            let single = if narrow == 4.0 { layer.beside_single } else { 0.0 };
            // An instance norm repeats its weight for each example, in the type of the weights.
            let aside = if layer.kind == Kind::InstanceNorm { wide } else { narrowest.unwrap_or(width) };
            let extra = layer.beside + single + layer.aside * aside;
            let output = walk.push(position, Some(layer.kind), reads, layer.output.elements(), width, extra);
            outputs.push(output);
        }
        walk
    }

    fn push(
        &mut self,
        layer: usize,
        kind: Option<Kind>,
        reads: [Option<usize>; 3],
        elements: f64,
        width: f64,
        extra: f64,
    ) -> usize {
        let output = self.tensors.len();
        let mut root = output;
        let mut needs_gradient = kind.is_some() && self.layers[layer].parameters() > 0.0;
        for read in reads.iter().flatten() {
            self.tensors[*read].is_read = true;
            needs_gradient |= self.tensors[*read].needs_gradient;
        }
        if matches!(kind, Some(Kind::Flatten | Kind::Slice))
            && let Some(read) = reads[0]
        {
            root = self.tensors[read].root;
        }
        self.tensors.push(Tensor { elements, width, root, maker: layer, needs_gradient, is_read: false });
        self.ops.push(Op { layer, kind, reads, output, extra });
        output
    }

    /// Bytes that are kept of each layer for one example: of its output and its casts, and beside them.
    pub(super) fn by_layer(&self) -> Vec<f64> {
        let mut bytes = vec![0.0; self.layers.len()];
        let mut is_kept = vec![false; self.tensors.len()];
        for op in &self.ops {
            bytes[op.layer] += op.extra;
            for root in op.kept(&self.tensors) {
                if !is_kept[root] {
                    is_kept[root] = true;
                    bytes[self.tensors[root].maker] += self.tensors[root].bytes();
                }
            }
        }
        bytes
    }

    /// What is kept while each operation runs backward, with segments of `every` units. The last segment is
    /// not computed again.
    pub(super) fn keeping(&self, every: usize) -> Vec<f64> {
        let mut units = 0_usize;
        let of_layer: Vec<usize> = self
            .layers
            .iter()
            .map(|layer| {
                units += usize::from(layer.begins_unit);
                units.saturating_sub(1) / every.max(1)
            })
            .collect();
        let segment = |op: &Op| of_layer[op.layer];
        let last = self.ops.last().map_or(0, segment);
        let mut ends = vec![0; last + 1];
        let mut starts = vec![usize::MAX; last + 1];
        for (position, op) in self.ops.iter().enumerate() {
            ends[segment(op)] = position;
            starts[segment(op)] = starts[segment(op)].min(position);
        }
        // Changes from one operation to the next, in the order of the forward pass.
        let mut changes = vec![0.0; self.ops.len() + 1];
        let mut span = |from: usize, to: usize, bytes: f64| {
            changes[from] += bytes;
            changes[to + 1] -= bytes;
        };
        // Of each tensor: the last segment that has kept it inside, and the first operation that needs the
        // one from the forward pass.
        let mut inside: Vec<Option<usize>> = vec![None; self.tensors.len()];
        let mut across: Vec<bool> = vec![false; self.tensors.len()];
        for (position, op) in self.ops.iter().enumerate() {
            let here = segment(op);
            span(position, ends[here], op.extra);
            let reads = op.reads.iter().flatten().map(|&read| self.tensors[read].root);
            let made_before = |root: usize| of_layer[self.tensors[root].maker] < here;
            // A segment keeps whatever comes from before it; the last one only what autograd does.
            for root in reads.filter(|_| here < last) {
                if made_before(root) && !across[root] {
                    across[root] = true;
                    span(starts[here], self.ops.len() - 1, self.tensors[root].bytes());
                }
            }
            for root in op.kept(&self.tensors) {
                let bytes = self.tensors[root].bytes();
                if made_before(root) {
                    if here == last && !across[root] {
                        across[root] = true;
                        span(position, ends[here], bytes);
                    }
                } else if inside[root] != Some(here) {
                    inside[root] = Some(here);
                    span(position, ends[here], bytes);
                }
            }
        }
        let mut sum = 0.0;
        changes.pop();
        for change in &mut changes {
            sum += *change;
            // Sums of whole numbers are exact as long as they are below 2⁵³.
            *change = sum;
        }
        changes
    }

    /// What is there of one example after each operation of the forward pass: what is kept, what somebody
    /// still reads, and outputs of the network.
    pub(super) fn forward(&self) -> Vec<(usize, f64)> {
        let end = self.ops.len();
        let mut until = vec![0; self.tensors.len()];
        for (position, op) in self.ops.iter().enumerate() {
            let output = &self.tensors[op.output];
            until[output.root] = until[output.root].max(if output.is_read { position } else { end });
            for root in op.kept(&self.tensors) {
                until[root] = end;
            }
            for &read in op.reads.iter().flatten() {
                let root = self.tensors[read].root;
                until[root] = until[root].max(position);
            }
        }
        let mut gone = vec![0.0; end + 1];
        let mut sum = 0.0;
        let alive = self.ops.iter().enumerate().map(|(position, op)| {
            let output = &self.tensors[op.output];
            sum += op.extra;
            if output.root == op.output {
                sum += output.bytes();
                gone[until[op.output]] += output.bytes();
            }
            let now = sum;
            sum -= gone[position];
            (op.layer, now)
        });
        alive.collect()
    }

    fn reads_instance_norm(&self, op: &Op) -> bool {
        op.reads[0].is_some_and(|read| self.layers[self.tensors[read].maker].kind == Kind::InstanceNorm)
    }

    /// What is alive at each operation, in the order of the backward pass.
    pub(super) fn backward(&self, every: usize) -> Vec<Alive> {
        let keeping = self.keeping(every);
        let mut held = Held::default();
        let mut pending: Vec<Option<usize>> = vec![None; self.tensors.len()];
        let mut alive = Vec::with_capacity(self.ops.len());
        for (position, op) in self.ops.iter().enumerate().rev() {
            let output = &self.tensors[op.output];
            let gradient = match pending[op.output].take() {
                Some(gradient) => gradient,
                // Nobody reads it: its gradient comes from the loss.
                None if !output.is_read => held.take(output.bytes()),
                None => continue,
            };
            let is_wanted = |read: &&usize| self.tensors[**read].needs_gradient;
            let mut handed: Vec<(usize, usize)> = Vec::with_capacity(3);
            let mut spare = 0.0;
            for &read in op.reads.iter().flatten().filter(is_wanted) {
                let passed = op.kind.is_some_and(passes);
                let new = if passed { held.share(gradient) } else { held.take(self.tensors[read].bytes()) };
                handed.push((read, new));
            }
            // The product that is summed up for a scale or a gate is as large as the rows.
            if matches!(op.kind, Some(Kind::Modulate | Kind::Scale)) {
                spare = output.bytes();
            }
            let is_layer = op.kind.is_some();
            // An instance norm hands on a view, and an activation in place on a view copies its gradient twice
            // (`CopySlices::apply`, torch/csrc/autograd/functions/tensor.cpp).
            if op.kind == Some(Kind::Relu) && self.reads_instance_norm(op) {
                spare = 2.0 * output.bytes();
            }
            alive.push(Alive { layer: op.layer, kept: keeping[position], gradients: held.bytes + spare, is_layer });
            held.give(gradient);
            let after = if position > 0 { keeping[position - 1].min(keeping[position]) } else { 0.0 };
            for (read, new) in handed {
                let Some(old) = pending[read] else {
                    pending[read] = Some(new);
                    continue;
                };
                // Added in place where nobody else holds it.
                if held.is_sole(old) {
                    held.give(new);
                    continue;
                }
                let sum = held.take(self.tensors[read].bytes());
                alive.push(Alive { layer: op.layer, kept: after, gradients: held.bytes, is_layer: false });
                held.give(old);
                held.give(new);
                pending[read] = Some(sum);
            }
        }
        alive
    }
}

/// Gradients that are held, each as long as somebody does.
#[derive(Default)]
struct Held {
    all: Vec<(f64, u32)>,
    bytes: f64,
}

impl Held {
    fn take(&mut self, bytes: f64) -> usize {
        self.bytes += bytes;
        self.all.push((bytes, 1));
        self.all.len() - 1
    }

    fn share(&mut self, gradient: usize) -> usize {
        self.all[gradient].1 += 1;
        gradient
    }

    fn give(&mut self, gradient: usize) {
        let (bytes, holders) = &mut self.all[gradient];
        *holders -= 1;
        if *holders == 0 {
            self.bytes -= *bytes;
        }
    }

    fn is_sole(&self, gradient: usize) -> bool {
        self.all[gradient].1 == 1
    }
}
