//! From a word of the list to layers: shapes, weights, and which tensors each layer reads.

use super::list::{
    ADD, CONV, Flaw, MAX_NAMES, MAX_STEP, MAX_WORDS, RESIDUAL, Sides, Spec, What, because, out_of_range, whole,
};
use super::{Kind, Layer, MAX_LAYERS, MAX_SIZE, Network, Shape, Source};
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

    // What makes one layer.

    /// A layer that reads a tensor and hands on the same shape.
    fn blank(&self, kind: Kind, from: At) -> Layer {
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

    fn push(&mut self, network: &mut Network, mut layer: Layer, sides: usize) -> Result<At, Flaw> {
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

    fn unary(&mut self, network: &mut Network, kind: Kind, from: At, output: Shape) -> Result<At, Flaw> {
        self.view(network, kind, from, output, from.sides)
    }

    fn view(&mut self, network: &mut Network, kind: Kind, from: At, output: Shape, sides: usize) -> Result<At, Flaw> {
        let word = match kind {
            Kind::Flatten => "rows",
            Kind::Copy => "image",
            Kind::Slice => "first",
            _ => "",
        };
        let layer = Layer { word, output, ..self.blank(kind, from) };
        self.push(network, layer, sides)
    }

    fn dense(&mut self, network: &mut Network, from: At, width: f64, bias: bool) -> Result<At, Flaw> {
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

    fn layer(&mut self, network: &mut Network, kind: Kind, spec: &Spec) -> Result<(), Flaw> {
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

    // Blocks on rows.

    /// The scaled product of queries, keys and values: rows of the first read the others.
    fn product(&mut self, network: &mut Network, read: [Option<At>; 3], heads: f64) -> Result<At, Flaw> {
        let [Some(queries), keys, values] = read else { return Ok(self.at) };
        let source = |at: Option<At>| at.map_or(Source::Nothing, |at| at.source);
        // One tensor with all three, or one for each.
        let packed = keys.is_none();
        let channels = queries.shape.channels / if packed { 3.0 } else { 1.0 };
        let (rows, others) = (queries.shape.height, keys.unwrap_or(queries).shape.height);
        let layer = Layer {
            reads: [queries.source, source(keys), source(values)],
            output: Shape { channels, ..queries.shape },
            work: 2.0 * rows * others * channels,
            beside: 4.0 * heads * rows,
            // In fp32 the memory-efficient kernel rounds the rows up to 32 (`kAlignLSE`,
            // aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h).
            beside_single: 4.0 * heads * ((rows / 32.0).ceil() * 32.0 - rows),
            ..self.blank(Kind::Attention, queries)
        };
        self.push(network, layer, 0)
    }

    fn heads(&self, heads: f64) -> Result<(), Flaw> {
        if self.at.sides > 0 {
            return because("word", "attention", ROWS);
        }
        if (self.at.shape.channels / heads).fract() != 0.0 {
            return because("heads", &number::plain(heads), "they must divide the features");
        }
        Ok(())
    }

    fn attention(&mut self, network: &mut Network, heads: f64, separate: bool) -> Result<(), Flaw> {
        self.heads(heads)?;
        let (from, width) = (self.at, self.at.shape.channels);
        let read = if separate {
            let mut part = || self.dense(network, from, width, false).map(Some);
            [part()?, part()?, part()?]
        } else {
            [Some(self.dense(network, from, 3.0 * width, true)?), None, None]
        };
        let product = self.product(network, read, heads)?;
        self.at = self.dense(network, product, width, true)?;
        Ok(())
    }

    fn cross(&mut self, network: &mut Network, heads: f64) -> Result<(), Flaw> {
        self.heads(heads)?;
        let Some(context) = self.context else {
            return because("word", "cross", "there is no line with context before it");
        };
        let width = self.at.shape.channels;
        let queries = self.dense(network, self.at, width, false)?;
        let keys = self.dense(network, context, width, false)?;
        let values = self.dense(network, context, width, false)?;
        let product = self.product(network, [Some(queries), Some(keys), Some(values)], heads)?;
        self.at = self.dense(network, product, width, true)?;
        Ok(())
    }

    /// `Transformer2DModel` of diffusers 0.42: a norm, a product, blocks of two attentions and a GEGLU four times
    /// as wide, and a product, beside a shortcut.
    fn transformer(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        if self.at.sides == 0 {
            return because("word", word, IMAGE);
        }
        let (channels, blocks) = (self.at.shape.channels, if spec.count > 1 { spec.values[1] } else { 1.0 });
        let [width, heads, wide] = [channels, spec.values[0], 4.0 * channels].map(whole_number);
        let ends = if spec.flag {
            ["rows dense ", " ", "dense ", " image"]
        } else {
            ["conv ", " 1x1 rows", "image conv ", " 1x1"]
        };
        let shortcut = self.at;
        self.text(network, word, &["groupnorm 32 ", ends[0], &width, ends[1]])?;
        for _ in 0..blocks as usize {
            let text = [
                "residual layernorm attention ",
                &heads,
                " separate add residual layernorm cross ",
                &heads,
                " add residual layernorm geglu ",
                &wide,
                " add",
            ];
            self.text(network, word, &text)?;
        }
        self.text(network, word, &[ends[2], &width, ends[3]])?;
        self.sum(network, self.at, shortcut)
    }

    // Blocks that the time steers.

    /// A vector of the data through two dense layers (`TimestepEmbedding` of diffusers 0.42).
    fn embedding(&mut self, network: &mut Network, features: f64, width: f64) -> Result<At, Flaw> {
        let given = At { shape: Shape::rows(1.0, features), sides: 0, source: Source::Given };
        let first = self.dense(network, given, width, true)?;
        if let Some(layer) = network.layers.last_mut() {
            layer.aside = features;
        }
        let active = self.unary(network, Kind::Gelu, first, first.shape)?;
        self.dense(network, active, width, true)
    }

    fn activated_time(&mut self, network: &mut Network) -> Result<At, Flaw> {
        let Some(time) = self.time else {
            return because("word", "shift", "there is no line with time before it");
        };
        self.unary(network, Kind::Gelu, time, time.shape)
    }

    /// So many vectors as wide as the rows, made from the time.
    fn modulation(&mut self, network: &mut Network, vectors: f64) -> Result<At, Flaw> {
        let width = self.at.shape.channels;
        let time = self.activated_time(network)?;
        self.dense(network, time, vectors * width, true)
    }

    /// Rows after a norm without weights, scaled and shifted.
    fn modulated(&mut self, network: &mut Network, from: At, made: At) -> Result<At, Flaw> {
        let normed = Layer { beside: 8.0 * from.shape.places(), ..self.blank(Kind::LayerNorm, from) };
        let normed = self.push(network, normed, 0)?;
        let aside = from.shape.channels;
        let layer = Layer { reads: two(normed, made), aside, ..self.blank(Kind::Modulate, normed) };
        self.push(network, layer, 0)
    }

    /// What a gate lets through, added to the rows before it.
    fn gated(&mut self, network: &mut Network, before: At, rows: At, made: At) -> Result<At, Flaw> {
        let layer = Layer { reads: two(rows, made), ..self.blank(Kind::Scale, rows) };
        let gated = self.push(network, layer, 0)?;
        self.sum(network, before, gated)?;
        Ok(self.at)
    }

    fn narrow(&mut self, network: &mut Network, from: At, rows: f64) -> Result<At, Flaw> {
        let output = Shape { height: rows, ..from.shape };
        self.unary(network, Kind::Copy, from, output)
    }

    /// A block on two streams with one attention, the rows at hand and those named text
    /// (`JointTransformerBlock` of diffusers 0.42; Esser et al. 2024, arXiv:2403.03206, figure 2b). The last
    /// block ends with the rows at hand.
    fn joint(&mut self, network: &mut Network, heads: f64, last: bool) -> Result<(), Flaw> {
        self.heads(heads)?;
        let (rows, text) = (self.at, self.named("text")?);
        let width = rows.shape.channels;
        if text.sides > 0 || text.shape.channels != width {
            return because("word", "joint", "the rows named text have another width");
        }
        let made = self.modulation(network, 6.0)?;
        let normed = self.modulated(network, rows, made)?;
        let made_of_text = self.modulation(network, if last { 2.0 } else { 6.0 })?;
        let normed_text = self.modulated(network, text, made_of_text)?;
        let mut parts = [None; 3];
        for part in &mut parts {
            *part = Some(self.dense(network, normed, width, true)?);
        }
        for part in &mut parts {
            let other = self.dense(network, normed_text, width, true)?;
            if let Some(one) = *part {
                *part = Some(self.concat(network, one, other, "")?);
            }
        }
        let product = self.product(network, parts, heads)?;
        let of_text = if last { None } else { Some(self.narrow(network, product, text.shape.height)?) };
        let of_text = of_text.map(|from| self.dense(network, from, width, true)).transpose()?;
        let of_rows = self.narrow(network, product, rows.shape.height)?;
        let of_rows = self.dense(network, of_rows, width, true)?;
        let rows = self.half_of_joint(network, rows, of_rows, made)?;
        if let Some(of_text) = of_text {
            let text = self.half_of_joint(network, text, of_text, made_of_text)?;
            self.names.retain(|(name, _)| name != "text");
            self.names.push(("text".to_owned(), text));
        }
        self.at = rows;
        Ok(())
    }

    fn half_of_joint(&mut self, network: &mut Network, before: At, attended: At, made: At) -> Result<At, Flaw> {
        let width = before.shape.channels;
        let rows = self.gated(network, before, attended, made)?;
        let normed = self.modulated(network, rows, made)?;
        let wide = self.dense(network, normed, 4.0 * width, true)?;
        let active = self.unary(network, Kind::Gelu, wide, wide.shape)?;
        let back = self.dense(network, active, width, true)?;
        self.gated(network, rows, back, made)
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
