//! One layer: its shape, its weights and its work.

use super::{At, IMAGE, ROWS, Walk};
use crate::course::networks::list::{Flaw, MAX_STEP, Spec, because, out_of_range};
use crate::course::networks::{Kind, Layer, MAX_LAYERS, Network, Shape, Source};
use crate::number;

impl Walk {
    /// A layer that reads a tensor and hands on the same shape.
    pub(super) fn blank(&self, kind: Kind, from: At) -> Layer {
        Layer {
            line: self.line,
            word: "",
            kind,
            input: from.shape,
            output: from.shape,
            reads: [from.source, Source::Nothing, Source::Nothing],
            matrix: 0.0,
            vector: 0.0,
            factors: 0.0,
            work: 0.0,
            beside: 0.0,
            beside_single: 0.0,
            aside: 0.0,
            once: 0.0,
            buffers: 0.0,
            begins_unit: false,
        }
    }

    pub(super) fn push(&mut self, network: &mut Network, mut layer: Layer, sides: usize) -> Result<At, Flaw> {
        if network.layers.len() >= MAX_LAYERS {
            return because("word", layer.word, "this line makes more than 10,000 layers");
        }
        // Sizes grow without end where every line makes the image larger.
        if layer.output.elements().max(layer.parameters()) > 1e30 {
            return because("word", layer.word, "it makes more than 10³⁰ numbers");
        }
        if let Some(word) = self.block {
            layer.word = word;
            self.block = Some("");
        }
        if self.is_open() || self.block.is_some() {
            layer.begins_unit = false;
        }
        let at = At { shape: layer.output, sides, source: Source::Layer(network.layers.len()) };
        network.layers.push(layer);
        Ok(at)
    }

    pub(super) fn unary(&mut self, network: &mut Network, kind: Kind, from: At, output: Shape) -> Result<At, Flaw> {
        self.view(network, kind, from, output, from.sides)
    }

    pub(super) fn view(
        &mut self,
        network: &mut Network,
        kind: Kind,
        from: At,
        output: Shape,
        sides: usize,
    ) -> Result<At, Flaw> {
        let word = match kind {
            Kind::Flatten => "rows",
            Kind::Copy => "image",
            Kind::Slice => "first",
            _ => "",
        };
        let layer = Layer { word, output, ..self.blank(kind, from) };
        self.push(network, layer, sides)
    }

    pub(super) fn dense(&mut self, network: &mut Network, from: At, width: f64, bias: bool) -> Result<At, Flaw> {
        let inside = from.shape.channels;
        let layer = Layer {
            word: "dense",
            output: Shape { channels: width, ..from.shape },
            matrix: inside * width,
            factors: inside + width,
            vector: if bias { width } else { 0.0 },
            work: inside * width * from.shape.places(),
            ..self.blank(Kind::Dense, from)
        };
        self.push(network, layer, from.sides)
    }

    pub(super) fn layer(&mut self, network: &mut Network, kind: Kind, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        let (before, sides) = (self.at.shape, self.at.sides);
        let mut layer = Layer { word, ..self.blank(kind, self.at) };
        let mut now = sides;
        let slides = matches!(kind, Kind::Conv | Kind::Deconv | Kind::MaxPool | Kind::AvgPool);
        if slides || matches!(kind, Kind::GlobalPool | Kind::Upsample) {
            layer.begins_unit = true;
            if sides == 0 {
                return because("word", word, IMAGE);
            }
        }
        let is_volume = sides == 3;
        let kernel = spec.kernel.of(is_volume, 1.0);
        let stride = spec.stride.of(is_volume, 1.0);
        if slides {
            let padding = if spec.same {
                kernel.map(|side| ((side - 1.0) / 2.0).floor())
            } else {
                spec.padding.of(is_volume, 0.0)
            };
            let sizes = [before.depth, before.height, before.width];
            let mut after = sizes;
            for side in 0..3 {
                let widest = if matches!(kind, Kind::MaxPool | Kind::AvgPool) {
                    let narrowest = if is_volume { kernel[side] } else { kernel[1].min(kernel[2]) };
                    (narrowest / 2.0).floor()
                } else {
                    MAX_STEP
                };
                if padding[side] > widest {
                    return out_of_range("padding", padding[side], 0.0, widest);
                }
                let room = sizes[side] + 2.0 * padding[side];
                after[side] = if kind == Kind::Deconv {
                    ((sizes[side] - 1.0) * stride[side] + kernel[side] - 2.0 * padding[side]).max(1.0)
                } else if kernel[side] > room {
                    return out_of_range("kernel", kernel[side], 1.0, room);
                } else {
                    ((room - kernel[side]) / stride[side]).floor() + 1.0
                };
            }
            [layer.output.depth, layer.output.height, layer.output.width] = after;
        }
        let bias = if spec.bias { spec.values[0] } else { 0.0 };
        match kind {
            Kind::Conv | Kind::Deconv => {
                let (inside, outside) = (before.channels / spec.groups, spec.values[0]);
                if inside.fract() != 0.0 || (outside / spec.groups).fract() != 0.0 {
                    return because(
                        "groups",
                        &number::plain(spec.groups),
                        "they must divide the channels before and after",
                    );
                }
                let pairs = outside * inside * kernel[0];
                layer.output.channels = outside;
                layer.matrix = pairs * kernel[1] * kernel[2];
                layer.factors = pairs * (kernel[1] + kernel[2]);
                layer.vector = bias;
                let places = if kind == Kind::Conv { layer.output.places() } else { before.places() };
                layer.work = layer.matrix * places;
            }
            Kind::Dense => {
                if sides > 0 {
                    return because("word", word, "its input is an image: write flatten before it");
                }
                let dense = self.dense(network, self.at, spec.values[0], spec.bias)?;
                if let Some(layer) = network.layers.last_mut().filter(|_| !self.is_open() && self.block.is_none()) {
                    layer.begins_unit = true;
                }
                self.at = dense;
                return Ok(());
            }
            Kind::Norm => {
                layer.vector = 2.0 * before.channels;
                layer.once = 8.0 * before.channels;
                layer.buffers = layer.once + 8.0;
            }
            Kind::InstanceNorm => {
                layer.vector = 2.0 * before.channels;
                layer.beside = 8.0 * before.channels;
                layer.aside = before.channels;
            }
            Kind::GroupNorm => {
                let groups = spec.values[0];
                if (before.channels / groups).fract() != 0.0 {
                    return because("groups", &number::plain(groups), "they must divide the channels");
                }
                layer.vector = 2.0 * before.channels;
                layer.aside = 2.0 * groups;
            }
            Kind::LayerNorm => {
                if sides > 0 {
                    return because("word", word, ROWS);
                }
                layer.vector = if spec.flag { 0.0 } else { 2.0 * before.channels };
                layer.beside = 8.0 * before.places();
            }
            Kind::MaxPool => layer.beside = 8.0 * layer.output.elements(),
            Kind::Dropout => layer.beside = before.elements(),
            Kind::GlobalPool => layer.output = Shape { depth: 1.0, height: 1.0, width: 1.0, ..before },
            Kind::Upsample => {
                let factor = if spec.count > 0 { spec.values[0] } else { 2.0 };
                layer.output.depth *= if is_volume { factor } else { 1.0 };
                layer.output.height *= factor;
                layer.output.width *= factor;
            }
            Kind::Flatten => {
                now = 0;
                layer.output = Shape::rows(1.0, before.elements());
            }
            Kind::Slice => layer.output.channels = (before.channels / 2.0).floor().max(1.0),
            Kind::Token | Kind::Position if sides > 0 => return because("word", word, ROWS),
            Kind::Token => {
                layer.output.height += 1.0;
                layer.vector = before.channels;
            }
            Kind::Position if spec.count > 0 => layer.buffers = 4.0 * spec.values[0] * before.channels,
            Kind::Position => layer.vector = before.elements(),
            _ => {}
        }
        self.at = self.push(network, layer, now)?;
        Ok(())
    }
}
