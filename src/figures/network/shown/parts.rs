//! The layers and blocks of a list, and what they are called.

use bmax::course::networks::{Kind, Network, Setup, Shape};
use bmax::number;

/// A layer or block as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Its layers by position, the last not included.
    pub(super) end: usize,
    pub(super) name: &'static str,
    pub(super) line: usize,
    pub(super) output: Shape,
    pub(super) parameters: f64,
    /// Bytes kept of one example, and once.
    pub(super) each: f64,
    pub(super) once: f64,
}

/// Layers and blocks as they were written.
pub(super) fn parts(network: &Network, setup: &Setup) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (position, (layer, each)) in network.layers.iter().zip(network.kept(setup)).enumerate() {
        match parts.last_mut() {
            Some(part) if layer.word.is_empty() => {
                part.end = position + 1;
                part.output = layer.output;
                part.parameters += layer.parameters();
                part.each += each;
                part.once += layer.once;
            }
            _ => parts.push(Part {
                end: position + 1,
                name: name(layer.kind, layer.word),
                line: layer.line,
                output: layer.output,
                parameters: layer.parameters(),
                each,
                once: layer.once,
            }),
        }
    }
    parts
}

/// The words of the list that stand for several layers are their names.
const BLOCKS: [&str; 15] = [
    "patch",
    "attention",
    "cross",
    "mlp",
    "geglu",
    "swiglu",
    "joint",
    "adanorm",
    "time",
    "resblock",
    "transformer",
    "unit",
    "csp",
    "pyramid",
    "first",
];

fn name(kind: Kind, word: &'static str) -> &'static str {
    if BLOCKS.contains(&word) {
        return word;
    }
    match kind {
        Kind::Conv => "convolution",
        Kind::Deconv => "transposed convolution",
        Kind::Dense => "dense",
        Kind::Norm => "batch norm",
        Kind::GroupNorm => "group norm",
        Kind::InstanceNorm => "instance norm",
        Kind::LayerNorm => "layer norm",
        Kind::Relu => "ReLU",
        Kind::Gelu => "GELU",
        Kind::MaxPool => "max pool",
        Kind::AvgPool => "average pool",
        Kind::GlobalPool => "global mean",
        Kind::Flatten => "flatten",
        Kind::Slice => "part",
        Kind::Copy => "image",
        Kind::Dropout => "dropout",
        Kind::Add => "add",
        Kind::Concat => "concat",
        Kind::Upsample => "up-sampling",
        Kind::Attention => "attention",
        Kind::Gate | Kind::Scale => "gate",
        Kind::Modulate | Kind::Shift => "shift",
        Kind::Divide => "division",
        Kind::Token => "token",
        Kind::Position => "position",
        Kind::Softmax => "cross-entropy",
        Kind::Mse => "squared distance",
    }
}

pub(super) fn shape(shape: Shape) -> String {
    let [channels, depth, height, width] =
        [shape.channels, shape.depth, shape.height, shape.width].map(number::grouped);
    if shape.places() == 1.0 {
        channels
    } else if shape.depth > 1.0 {
        format!("{channels} × {depth} × {height} × {width}")
    } else {
        format!("{channels} × {height} × {width}")
    }
}
