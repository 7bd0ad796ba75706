//! From a word of the list to layers: shapes, weights, and which tensors each layer reads.

mod attention;
mod layer;
mod time;

use super::list::{ADD, CONV, Flaw, MAX_NAMES, MAX_WORDS, RESIDUAL, Sides, Spec, What, because, out_of_range, whole};
use super::{Kind, Layer, MAX_SIZE, Network, Shape, Source};
use crate::number;

/// A tensor that the reading is at, or that has a name.
#[derive(Clone, Copy)]
struct At {
    shape: Shape,
    /// Sides that a window can slide along: 0 for rows, 2 for images, 3 for volumes.
    sides: usize,
    source: Source,
}

/// What a residual block adds at its end.
#[derive(Clone, Copy)]
struct Shortcut {
    from: usize,
    at: At,
}

/// Where the reading stands.
#[derive(Clone)]
pub(super) struct Walk {
    pub(super) line: usize,
    /// Words that have been put so far, repeated ones and those of undone lines included.
    pub(super) tried: usize,
    at: At,
    residuals: Vec<Shortcut>,
    /// Named outputs, the last one last. A name given several times is a stack.
    names: Vec<(String, At)>,
    /// The text that comes with an example.
    context: Option<At>,
    /// The embedding of the time.
    time: Option<At>,
    /// The image whose rows these are.
    grid: Option<(Shape, usize)>,
    /// The word of the block that is put, until its first layer has it.
    block: Option<&'static str>,
    factor: f64,
    patch: Option<f64>,
}

impl Walk {
    pub(super) fn new(factor: f64, patch: Option<f64>) -> Self {
        let at = At { shape: Shape::rows(1.0, 1.0), sides: 0, source: Source::Given };
        Self {
            line: 0,
            tried: 0,
            at,
            residuals: Vec::new(),
            names: Vec::new(),
            context: None,
            time: None,
            grid: None,
            block: None,
            factor,
            patch,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.residuals.is_empty()
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|(known, _)| known == name)
    }

    pub(super) fn put(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        self.tried += 1;
        if self.tried > MAX_WORDS {
            return because("word", word, "the lines up to here repeat more than 40,000 words");
        }
        if spec.count < spec.head.needs {
            return whole(spec.head.values[spec.count], "", 1.0, MAX_SIZE).map(drop);
        }
        let [first, second, third, _] = spec.values;
        match spec.head.what {
            What::Layer(Kind::Add) if !spec.name.is_empty() => {
                let other = self.named(&spec.name)?;
                self.sum(network, self.at, other)
            }
            What::Layer(Kind::Add) => self.add(network, true),
            What::Join => self.add(network, false),
            What::Layer(kind) => self.layer(network, kind, spec),
            What::Input | What::Context if !network.layers.is_empty() => {
                because("word", word, "it stands before all layers")
            }
            What::Input => self.input(network, spec),
            What::Context => {
                self.context = Some(At { shape: Shape::rows(first, second), sides: 0, source: Source::Given });
                network.context = first * second;
                Ok(())
            }
            What::Frozen => {
                network.frozen.0 += first;
                if spec.count == 2 {
                    // A VAE sees the picture, and its tensors grow with the area.
                    network.frozen.1 = network.frozen.1.max(second * self.factor * self.factor);
                }
                Ok(())
            }
            What::Residual => {
                self.residuals.push(Shortcut { from: network.layers.len(), at: self.at });
                Ok(())
            }
            What::Block | What::Basic => {
                // (channels, side of the kernel, stride) of the convolutions.
                let (inner, outer) = if spec.count == 2 { (first, second) } else { (first, first) };
                let one = Sides::all(1.0);
                let three: &[_] = &[(inner, 1.0, one), (inner, 3.0, spec.stride), (outer, 1.0, one)];
                let two: &[_] = &[(inner, 3.0, spec.stride), (outer, 3.0, one)];
                self.put(network, &Spec::of(RESIDUAL))?;
                let convolutions = if spec.head.what == What::Block { three } else { two };
                for (position, &(channels, side, stride)) in convolutions.iter().enumerate() {
                    if position > 0 {
                        self.layer(network, Kind::Relu, spec)?;
                    }
                    let convolution =
                        Spec { kernel: Sides::all(side), stride, same: true, bias: false, ..conv(channels) };
                    self.layer(network, Kind::Conv, &convolution)?;
                    self.layer(network, Kind::Norm, spec)?;
                }
                self.add(network, true)?;
                self.layer(network, Kind::Relu, spec)
            }
            What::Name if spec.name.is_empty() => because("name", "", "write a name after it"),
            What::Name if spec.name.starts_with(|first: char| first == '/' || first.is_ascii_digit()) => {
                because("name", &spec.name, "a name begins with a letter")
            }
            What::Name if self.names.len() >= MAX_NAMES => because("name", &spec.name, "there are too many names"),
            What::Name => {
                self.names.push((spec.name.clone(), self.at));
                Ok(())
            }
            What::From if spec.name == "context" => {
                let Some(context) = self.context else {
                    return because("name", "context", "there is no line with context before it");
                };
                self.at = context;
                Ok(())
            }
            What::From => {
                let last = self.names.iter().rfind(|(known, _)| *known == spec.name).map(|(_, at)| *at);
                self.at = last.map_or_else(|| because("name", &spec.name, UNNAMED), Ok)?;
                Ok(())
            }
            What::Concat => {
                let other = self.named(&spec.name)?;
                self.at = self.concat(network, self.at, other, "concat")?;
                Ok(())
            }
            What::Rows => {
                if self.at.sides == 0 {
                    return because("word", word, "its input has rows already");
                }
                self.put_rows(network)
            }
            What::Unpatch => self.put_image(network, spec),
            What::Patch => {
                let size = self.patch.unwrap_or(first);
                let Shape { depth, height, width, .. } = self.at.shape;
                let least = if self.at.sides == 3 { depth.min(height).min(width) } else { height.min(width) };
                if self.at.sides == 0 {
                    return because("word", word, IMAGE);
                }
                if size > least {
                    return out_of_range("patch size", size, 1.0, least);
                }
                network.patch = Some(size);
                self.grouped(network, word, |walk, network| {
                    let sides = Sides::all(size);
                    walk.layer(network, Kind::Conv, &Spec { kernel: sides, stride: sides, ..conv(second) })?;
                    walk.put_rows(network)
                })
            }
            What::Attention => self.grouped(network, word, |walk, network| walk.attention(network, first, spec.flag)),
            What::Cross => self.grouped(network, word, |walk, network| walk.cross(network, first)),
            What::Mlp => self.text(network, word, &["dense ", &whole_number(first), " gelu ", &self.back()]),
            What::Gated => self.grouped(network, word, |walk, network| {
                let width = walk.at.shape.channels;
                let both = walk.dense(network, walk.at, 2.0 * first, true)?;
                walk.at = walk.unary(network, Kind::Gate, both, Shape { channels: first, ..both.shape })?;
                if let Some(gate) = network.layers.last_mut() {
                    gate.aside = gate.output.elements();
                }
                walk.at = walk.dense(network, walk.at, width, true)?;
                Ok(())
            }),
            What::Joint => self.grouped(network, word, |walk, network| walk.joint(network, first, spec.flag)),
            What::AdaNorm => self.grouped(network, word, |walk, network| {
                let made = walk.modulation(network, 2.0)?;
                walk.at = walk.modulated(network, walk.at, made)?;
                Ok(())
            }),
            What::First => {
                let shape = Shape::rows(1.0, self.at.shape.channels);
                self.at = self.unary(network, Kind::Slice, self.at, shape)?;
                Ok(())
            }
            What::Time => self.grouped(network, word, |walk, network| {
                let mut time = walk.embedding(network, first, second)?;
                if spec.count > 2 {
                    let vector = walk.embedding(network, third, second)?;
                    let before = walk.at;
                    walk.sum(network, time, vector)?;
                    time = std::mem::replace(&mut walk.at, before);
                }
                walk.time = Some(time);
                Ok(())
            }),
            What::Shift => {
                let shape = self.at.shape;
                let time = self.activated_time(network)?;
                let shift = self.dense(network, time, shape.channels, true)?;
                let layer = Layer { word, reads: two(self.at, shift), ..self.blank(Kind::Shift, self.at) };
                self.at = self.push(network, layer, self.at.sides)?;
                Ok(())
            }
            What::Resblock => {
                let channels = whole_number(first);
                let shift = if self.time.is_some() { " shift" } else { "" };
                let halves = [
                    "residual groupnorm 32 silu conv ",
                    &channels,
                    " 3x3 pad 1",
                    shift,
                    " groupnorm 32 silu conv ",
                    &channels,
                    " 3x3 pad 1 join divide",
                ];
                self.text(network, word, &halves)
            }
            What::Transformer => self.transformer(network, spec),
            What::Unit => {
                let channels = Spec { same: true, bias: false, ..spec.clone() };
                self.grouped(network, word, |walk, network| {
                    walk.layer(network, Kind::Conv, &channels)?;
                    walk.layer(network, Kind::Norm, &channels)?;
                    walk.layer(network, Kind::Gelu, &channels)
                })
            }
            What::Csp => {
                let (all, inner) = (whole_number(first), whole_number((first / 2.0).floor()));
                let mut text = ["unit ", &all, " -> (a half -> (b from (a half"].concat();
                for _ in 0..second.min(100.0) as usize {
                    let unit = [" unit ", &inner, " 3x3"].concat();
                    let (before, after) = if spec.flag { (" residual", " add") } else { ("", "") };
                    text += &[" -> (c", before, &unit, &unit, after].concat();
                }
                text += &" concat (c".repeat(second.min(100.0) as usize);
                self.text(network, word, &[&text, " concat (b unit ", &all])
            }
            // Three pools after each other, and all four behind each other.
            What::Pyramid => {
                let pool = " -> (d max 5x5 pad 2";
                let inner = whole_number((self.at.shape.channels / 2.0).floor());
                let text = ["unit ", &inner, pool, pool, pool, " concat (d concat (d concat (d unit "];
                self.text(network, word, &[&text.concat(), &whole_number(first)])
            }
        }
    }

    fn input(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let [first, second, third, fourth] = spec.values;
        let sized = |side: f64| (side * self.factor).round().max(1.0);
        let (shape, sides) = match spec.count {
            4 => (Shape { channels: first, depth: sized(second), height: sized(third), width: sized(fourth) }, 3),
            3 => (Shape { channels: first, depth: 1.0, height: sized(second), width: sized(third) }, 2),
            // Two numbers are rows and the features of each, in the order of a tensor's shape.
            2 => (Shape::rows(first, second), 0),
            _ => (Shape::rows(1.0, first), 0),
        };
        self.at = At { shape, sides, source: Source::Given };
        network.input = shape;
        network.pixels = spec.stride.of(false, 1.0)[1];
        Ok(())
    }

    /// The last output of this name. Where several have it, it is taken away, so that the next reader gets the one
    /// before it.
    fn named(&mut self, name: &str) -> Result<At, Flaw> {
        let Some(last) = self.names.iter().rposition(|(known, _)| known == name) else {
            return because("name", name, UNNAMED);
        };
        let at = self.names[last].1;
        if self.names[..last].iter().any(|(known, _)| known == name) {
            self.names.remove(last);
        }
        Ok(at)
    }

    /// A block of several layers: one unit of recomputation and one bar of the drawing.
    fn grouped(
        &mut self,
        network: &mut Network,
        word: &'static str,
        put: impl FnOnce(&mut Self, &mut Network) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let (outer, from) = (self.block, network.layers.len());
        if outer.is_none() {
            self.block = Some(word);
        }
        put(self, network)?;
        self.block = outer.map(|_| "");
        if let Some(first) = network.layers.get_mut(from).filter(|_| outer.is_none() && self.residuals.is_empty()) {
            first.begins_unit = true;
        }
        Ok(())
    }

    /// A block as a line of simpler words.
    fn text(&mut self, network: &mut Network, word: &'static str, text: &[&str]) -> Result<(), Flaw> {
        self.grouped(network, word, |walk, network| walk.words(network, &text.concat()))
    }

    /// A dense layer back to the width at hand.
    fn back(&self) -> String {
        ["dense ", &whole_number(self.at.shape.channels)].concat()
    }

    /// The end of a residual block. A shortcut of another shape goes through a convolution of one pixel, and
    /// in residual networks through a norm (He et al. 2016, option B; `ResnetBlock2D` of diffusers 0.42 has
    /// none).
    fn add(&mut self, network: &mut Network, normed: bool) -> Result<(), Flaw> {
        let Some(shortcut) = self.residuals.pop() else {
            return because("word", "add", "there is no residual before it");
        };
        let branch = self.at;
        if shortcut.at.shape != branch.shape {
            if shortcut.at.sides == 0 {
                return because("word", "add", "the block and its shortcut differ in rows or features");
            }
            self.at = shortcut.at;
            let stride = (shortcut.at.shape.height / branch.shape.height).round().max(1.0);
            let projection = Spec { stride: Sides::all(stride), bias: !normed, ..conv(branch.shape.channels) };
            self.layer(network, Kind::Conv, &projection)?;
            if normed {
                self.layer(network, Kind::Norm, &projection)?;
            }
            if self.at.shape != branch.shape {
                return because("word", "add", "the block and its shortcut differ in height or width");
            }
        }
        let projected = self.at.source != branch.source;
        let side = if projected { self.at } else { shortcut.at };
        if self.residuals.is_empty() && self.block.is_none() {
            for (position, layer) in network.layers.iter_mut().enumerate().skip(shortcut.from) {
                layer.begins_unit = position == shortcut.from;
            }
        }
        self.sum(network, branch, side)
    }

    fn sum(&mut self, network: &mut Network, one: At, other: At) -> Result<(), Flaw> {
        if one.shape != other.shape {
            return because("word", "add", "the two differ in shape");
        }
        let layer = Layer { word: ADD.word, reads: two(one, other), ..self.blank(Kind::Add, one) };
        self.at = self.push(network, layer, one.sides)?;
        Ok(())
    }

    fn concat(&mut self, network: &mut Network, one: At, other: At, word: &'static str) -> Result<At, Flaw> {
        let mut layer = Layer { word, reads: two(one, other), ..self.blank(Kind::Concat, one) };
        let (here, there) = (one.shape, other.shape);
        // Rows of other numbers go behind each other.
        let stacks = one.sides == 0 && here.channels == there.channels && here.height != there.height;
        if word.is_empty() || stacks {
            layer.output.height += there.height;
        } else if [here.depth, here.height, here.width] != [there.depth, there.height, there.width] {
            return because("word", word, "the two differ in height or width");
        } else {
            layer.output.channels += there.channels;
        }
        self.push(network, layer, one.sides)
    }

    fn put_rows(&mut self, network: &mut Network) -> Result<(), Flaw> {
        let from = self.at;
        self.grid = Some((from.shape, from.sides));
        let shape = Shape::rows(from.shape.places(), from.shape.channels);
        self.at = self.view(network, Kind::Flatten, from, shape, 0)?;
        Ok(())
    }

    fn put_image(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        let Some((grid, sides)) = self.grid.filter(|(grid, _)| grid.places() == self.at.shape.places()) else {
            return because("word", word, "there are no rows of an image before it");
        };
        let size = if spec.count > 0 { self.patch.unwrap_or(spec.values[0]) } else { 1.0 };
        let places = if sides == 3 { size * size * size } else { size * size };
        let channels = self.at.shape.channels / places;
        if channels.fract() != 0.0 {
            return because(word, &number::plain(size), "the features do not divide into patches");
        }
        let depth = if sides == 3 { grid.depth * size } else { 1.0 };
        let shape = Shape { channels, depth, height: grid.height * size, width: grid.width * size };
        self.at = self.view(network, Kind::Copy, self.at, shape, sides)?;
        Ok(())
    }
}

const UNNAMED: &str = "no line before it gives an output this name";
const IMAGE: &str = "it needs an image: channels, height and width";
const ROWS: &str = "its input is an image: write rows or flatten before it";

fn conv(channels: f64) -> Spec {
    Spec { values: [channels; 4], count: 1, ..Spec::of(CONV) }
}

fn two(one: At, other: At) -> [Source; 3] {
    [one.source, other.source, Source::Nothing]
}

fn whole_number(value: f64) -> String {
    number::plain(value)
}
