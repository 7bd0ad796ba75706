//! Reading a network from its text.
//!
//! A line is a layer, or several that follow each other: `conv 64 3x3 pad 1 norm relu`. `xN` at its end
//! repeats it; `#` begins a remark. A line that cannot be read is left out and named, and the others
//! stay.

use std::fmt;

use super::{Kind, Layer, Network, Shape};
use crate::number;

/// Lines that are read.
pub const MAX_LINES: usize = 400;
/// Layers that a network may have, repeated ones and the inside of blocks included.
pub const MAX_LAYERS: usize = 2_000;
/// The largest number of channels, neurons, rows or pixels along a side.
pub const MAX_SIZE: f64 = 1_000_000.0;
/// The largest kernel, stride, padding and repetition.
const MAX_STEP: f64 = 1_000.0;

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerError {
    /// The line, counted from 1.
    pub line: usize,
    /// What the word was read as.
    pub field: &'static str,
    /// The word.
    pub word: String,
    /// What is wrong with it.
    pub problem: LayerErrorKind,
}

/// What is wrong with a word of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerErrorKind {
    /// It is not a whole number in this range.
    Range(f64, f64),
    /// Something else, as the end of a sentence.
    Because(&'static str),
}

impl fmt::Display for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for LayerError {}

impl LayerError {
    /// One sentence: line, field, range.
    pub fn message(&self) -> String {
        let start = ["Line ", &number::fixed(self.line as f64, 0), ", ", self.field, " “", &self.word, "”: "].concat();
        match self.problem {
            LayerErrorKind::Range(from, to) => {
                let [from, to] = [from, to].map(number::grouped);
                [&start, "write a whole number from ", &from, " to ", &to, "."].concat()
            }
            LayerErrorKind::Because(reason) => start + reason + ".",
        }
    }
}

/// A trouble on its way out of a line. In a box, a result is one word wide, which keeps the reader small.
type Flaw = Box<LayerError>;

/// A layer as it is written.
#[derive(Clone, Copy)]
struct Spec {
    head: &'static Head,
    values: [f64; 3],
    count: usize,
    kernel: (f64, f64),
    stride: f64,
    padding: f64,
    groups: f64,
    bias: bool,
}

/// A word that begins a layer.
struct Head {
    word: &'static str,
    what: What,
    /// Names of the numbers that follow it; the first `needs` must be there.
    values: &'static [&'static str],
    needs: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Input,
    Layer(Kind),
    Residual,
    /// A residual block of three convolutions (He et al. 2016, figure 5 right) or of two (left).
    Block,
    Basic,
}

const fn plain(word: &'static str, kind: Kind) -> Head {
    Head { word, what: What::Layer(kind), values: &[], needs: 0 }
}

static HEADS: [Head; 18] = [
    Head { word: "input", what: What::Input, values: &["channels or features", "height", "width"], needs: 1 },
    Head { word: "conv", what: What::Layer(Kind::Conv), values: &["channels"], needs: 1 },
    Head { word: "dense", what: What::Layer(Kind::Dense), values: &["neurons"], needs: 1 },
    Head { word: "block", what: What::Block, values: &["inner channels", "channels"], needs: 2 },
    Head { word: "basic", what: What::Basic, values: &["channels"], needs: 1 },
    Head { word: "residual", what: What::Residual, values: &[], needs: 0 },
    plain("add", Kind::Add),
    plain("norm", Kind::Norm),
    plain("relu", Kind::Relu),
    plain("sigmoid", Kind::Relu),
    plain("tanh", Kind::Relu),
    plain("gelu", Kind::Gelu),
    plain("silu", Kind::Gelu),
    plain("max", Kind::MaxPool),
    plain("avg", Kind::AvgPool),
    plain("global", Kind::GlobalPool),
    plain("flatten", Kind::Flatten),
    plain("dropout", Kind::Dropout),
];

impl Network {
    /// Reads a network. Any text gives one, with what was wrong in [`Network::troubles`].
    pub fn read(text: &str) -> Self {
        let input = Shape { channels: 1.0, height: 1.0, width: 1.0 };
        let mut network = Self { input, layers: Vec::new(), troubles: Vec::new() };
        let mut walk = Walk { shape: input, image: false, maker: None, shortcut: None, line: 0 };
        for (position, line) in text.lines().enumerate().take(MAX_LINES) {
            walk.line = position + 1;
            let line = line.split('#').next().unwrap_or_default();
            // Undone as a whole, also where only the third repetition does not fit.
            let (before, layers) = (walk, network.layers.len());
            let kept = before.maker.and_then(|maker| network.layers.get(maker)).is_some_and(|layer| layer.keeps_output);
            if let Err(trouble) = walk.line(&mut network, line) {
                walk = before;
                network.layers.truncate(layers);
                if let Some(maker) = before.maker.and_then(|maker| network.layers.get_mut(maker)) {
                    maker.keeps_output = kept;
                }
                network.troubles.push(LayerError { line: position + 1, ..*trouble });
            }
        }
        // Whatever comes first can be computed again from the input.
        if let Some(first) = network.layers.first_mut() {
            first.begins_unit = true;
        }
        if walk.shortcut.is_some() {
            let problem = LayerErrorKind::Because("no add follows it");
            network.troubles.push(LayerError { line: walk.line, field: "word", word: "residual".to_owned(), problem });
        }
        network
    }
}

/// Where the reading stands.
#[derive(Clone, Copy)]
struct Walk {
    shape: Shape,
    /// Whether it has height and width that a window can slide over.
    image: bool,
    /// The layer whose output is the tensor at hand; none while it is the input.
    maker: Option<usize>,
    shortcut: Option<Shortcut>,
    line: usize,
}

/// What a residual block adds at its end.
#[derive(Clone, Copy)]
struct Shortcut {
    from: usize,
    shape: Shape,
    maker: Option<usize>,
}

impl Walk {
    fn line(&mut self, network: &mut Network, line: &str) -> Result<(), Flaw> {
        let mut specs: Vec<Spec> = Vec::new();
        let mut times = 1.0;
        let mut words = line.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("pool"));
        while let Some(word) = words.next() {
            if let Some(head) = HEADS.iter().find(|head| head.word.eq_ignore_ascii_case(word)) {
                specs.push(Spec::of(head));
                continue;
            }
            let is = |name| word.eq_ignore_ascii_case(name);
            let Some(spec) = specs.last_mut() else { return because("word", word, "a line begins with a layer") };
            if let Some(number) = word.strip_prefix('x') {
                times = whole("repetitions", number, 1.0, MAX_STEP)?;
            } else if let Some(number) = word.strip_prefix('/') {
                spec.stride = whole("stride", number, 1.0, MAX_STEP)?;
            } else if let Some((height, width)) = word.split_once('x') {
                let side = |side| whole("kernel", side, 1.0, MAX_STEP);
                spec.kernel = (side(height)?, side(width)?);
            } else if is("pad") {
                spec.padding = whole("padding", words.next().unwrap_or_default(), 0.0, MAX_STEP)?;
            } else if is("groups") {
                spec.groups = whole("groups", words.next().unwrap_or_default(), 1.0, MAX_SIZE)?;
            } else if is("nobias") {
                spec.bias = false;
            } else if let Some(name) = spec.head.values.get(spec.count) {
                spec.values[spec.count] = whole(name, word, 1.0, MAX_SIZE)?;
                spec.count += 1;
            } else {
                return because("word", word, "the list knows no such word here");
            }
        }
        for _ in 0..times as usize {
            for spec in &specs {
                self.put(network, spec)?;
            }
        }
        Ok(())
    }

    fn put(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        if spec.count < spec.head.needs {
            return whole(spec.head.values[spec.count], "", 1.0, MAX_SIZE).map(drop);
        }
        let [first, second, third] = spec.values;
        match spec.head.what {
            What::Layer(Kind::Add) => self.add(network),
            What::Layer(kind) => self.layer(network, kind, spec),
            What::Input if !network.layers.is_empty() => because("word", word, "it stands before all layers"),
            What::Input => {
                self.image = spec.count == 3;
                // Two numbers are rows and the features of each, in the order of a tensor's shape.
                self.shape = match spec.count {
                    2 => Shape { channels: second, height: first, width: 1.0 },
                    _ => Shape { channels: first, height: second, width: third },
                };
                network.input = self.shape;
                Ok(())
            }
            What::Residual if self.shortcut.is_some() => {
                because("word", word, "one residual block cannot stand in another")
            }
            What::Residual => {
                self.shortcut = Some(Shortcut { from: network.layers.len(), shape: self.shape, maker: self.maker });
                Ok(())
            }
            What::Block | What::Basic => {
                // (channels, side of the kernel, stride) of the convolutions.
                let (inner, outer) = if spec.count == 2 { (first, second) } else { (first, first) };
                let three: &[_] = &[(inner, 1.0, 1.0), (inner, 3.0, spec.stride), (outer, 1.0, 1.0)];
                let two: &[_] = &[(inner, 3.0, spec.stride), (outer, 3.0, 1.0)];
                self.put(network, &Spec::of(&HEADS[5]))?;
                let convolutions = if spec.head.what == What::Block { three } else { two };
                for (position, &(channels, side, stride)) in convolutions.iter().enumerate() {
                    if position > 0 {
                        self.layer(network, Kind::Relu, spec)?;
                    }
                    let padding = (side - 1.0) / 2.0;
                    self.convolution(network, channels, (side, side), stride, padding)?;
                    self.layer(network, Kind::Norm, spec)?;
                }
                self.add(network)?;
                self.layer(network, Kind::Relu, spec)
            }
        }
    }

    /// A convolution without bias, as residual blocks have them.
    fn convolution(
        &mut self,
        network: &mut Network,
        channels: f64,
        kernel: (f64, f64),
        stride: f64,
        padding: f64,
    ) -> Result<(), Flaw> {
        let values = [channels, 0.0, 0.0];
        let spec = Spec { values, count: 1, kernel, stride, padding, bias: false, ..Spec::of(&HEADS[1]) };
        self.layer(network, Kind::Conv, &spec)
    }

    /// The end of a residual block. A shortcut of another shape goes through a convolution of one pixel
    /// and a norm (He et al. 2016, option B).
    fn add(&mut self, network: &mut Network) -> Result<(), Flaw> {
        let Some(shortcut) = self.shortcut else { return because("word", "add", "there is no residual before it") };
        let (branch, branch_maker, inside) = (self.shape, self.maker, network.layers.len());
        if shortcut.shape != branch {
            self.shape = shortcut.shape;
            self.maker = shortcut.maker;
            let stride = (shortcut.shape.height / branch.height).round().max(1.0);
            self.convolution(network, branch.channels, (1.0, 1.0), stride, 0.0)?;
            self.layer(network, Kind::Norm, &Spec::of(&HEADS[1]))?;
            if self.shape != branch {
                return because("word", "add", "the block and its shortcut differ in height or width");
            }
        }
        // Backward, a projection runs first while the sum's gradient waits for the branch, and then the
        // branch while the projection's result waits. The last layer of either reads the sum's gradient
        // itself, beside which nothing else waits where the shortcut is the input as it is.
        let end = network.layers.len();
        for (position, layer) in network.layers.iter_mut().enumerate().skip(shortcut.from) {
            layer.begins_unit = position == shortcut.from;
            let reads_the_sum = position + 1 == end;
            layer.waiting = match (position < inside, reads_the_sum) {
                (_, true) => 0.0,
                (true, false) => shortcut.shape.elements(),
                (false, false) => branch.elements(),
            };
        }
        (self.shortcut, self.maker) = (None, branch_maker);
        self.layer(network, Kind::Add, &Spec::of(&HEADS[6]))
    }

    fn layer(&mut self, network: &mut Network, kind: Kind, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        if network.layers.len() >= MAX_LAYERS {
            return because("word", word, "this line makes more than 2,000 layers");
        }
        let before = self.shape;
        let mut layer = Layer {
            line: self.line,
            kind,
            input: before,
            output: before,
            matrix: 0.0,
            vector: 0.0,
            factors: 0.0,
            work: 0.0,
            keeps_output: kind == Kind::Relu,
            beside: 0.0,
            once: 0.0,
            waiting: 0.0,
            begins_unit: false,
        };
        let windows = matches!(kind, Kind::Conv | Kind::MaxPool | Kind::AvgPool | Kind::GlobalPool);
        if windows {
            layer.begins_unit = true;
            if !self.image {
                return because("word", word, "it needs an image: channels, height and width");
            }
        }
        if matches!(kind, Kind::Conv | Kind::MaxPool | Kind::AvgPool) {
            let widest = if kind == Kind::Conv { MAX_STEP } else { (spec.kernel.0.min(spec.kernel.1) / 2.0).floor() };
            if spec.padding > widest {
                return out_of_range("padding", spec.padding, 0.0, widest);
            }
            let slide = |size: f64, kernel: f64| {
                let room = size + 2.0 * spec.padding;
                if kernel > room {
                    out_of_range("kernel", kernel, 1.0, room)
                } else {
                    Ok(((room - kernel) / spec.stride).floor() + 1.0)
                }
            };
            layer.output.height = slide(before.height, spec.kernel.0)?;
            layer.output.width = slide(before.width, spec.kernel.1)?;
        }
        let bias = if spec.bias { spec.values[0] } else { 0.0 };
        match kind {
            Kind::Conv => {
                let (inside, outside) = (before.channels / spec.groups, spec.values[0]);
                if inside.fract() != 0.0 || (outside / spec.groups).fract() != 0.0 {
                    return because(
                        "groups",
                        &number::plain(spec.groups),
                        "they must divide the channels before and after",
                    );
                }
                layer.output.channels = outside;
                layer.matrix = outside * inside * spec.kernel.0 * spec.kernel.1;
                layer.factors = outside * inside * (spec.kernel.0 + spec.kernel.1);
                layer.vector = bias;
                layer.work = layer.matrix * layer.output.height * layer.output.width;
            }
            Kind::Dense => {
                if self.image {
                    return because("word", word, "its input is an image: write flatten before it");
                }
                layer.begins_unit = true;
                layer.output.channels = spec.values[0];
                layer.matrix = before.channels * spec.values[0];
                layer.factors = before.channels + spec.values[0];
                layer.vector = bias;
                layer.work = layer.matrix * before.height;
            }
            Kind::Norm => {
                layer.vector = 2.0 * before.channels;
                layer.once = 8.0 * before.channels;
            }
            Kind::MaxPool => layer.beside = 8.0 * layer.output.elements(),
            Kind::Dropout => layer.beside = before.elements(),
            Kind::GlobalPool => layer.output = Shape { height: 1.0, width: 1.0, ..before },
            Kind::Flatten => {
                self.image = false;
                layer.output = Shape { channels: before.elements(), height: 1.0, width: 1.0 };
            }
            Kind::Relu | Kind::Gelu | Kind::AvgPool | Kind::Add => {}
        }
        if self.shortcut.is_some() {
            layer.begins_unit = false;
        }
        if matches!(kind, Kind::Conv | Kind::Dense | Kind::Norm | Kind::Gelu | Kind::MaxPool | Kind::AvgPool)
            && let Some(maker) = self.maker.and_then(|maker| network.layers.get_mut(maker))
        {
            maker.keeps_output = true;
        }
        // Flattening makes no tensor: what is kept of it is the tensor before.
        if kind != Kind::Flatten {
            self.maker = Some(network.layers.len());
        }
        self.shape = layer.output;
        network.layers.push(layer);
        Ok(())
    }
}

impl Spec {
    #[inline(never)]
    fn of(head: &'static Head) -> Self {
        Self {
            head,
            values: [1.0; 3],
            count: 0,
            kernel: (1.0, 1.0),
            stride: 1.0,
            padding: 0.0,
            groups: 1.0,
            bias: true,
        }
    }
}

fn whole(field: &'static str, word: &str, from: f64, to: f64) -> Result<f64, Flaw> {
    match number::parse(word) {
        Ok(value) if value.fract() == 0.0 && value >= from && value <= to => Ok(value),
        _ => Err(flaw(field, word, LayerErrorKind::Range(from, to))),
    }
}

fn out_of_range<T>(field: &'static str, value: f64, from: f64, to: f64) -> Result<T, Flaw> {
    Err(flaw(field, &number::plain(value), LayerErrorKind::Range(from, to)))
}

fn because<T>(field: &'static str, word: &str, reason: &'static str) -> Result<T, Flaw> {
    Err(flaw(field, word, LayerErrorKind::Because(reason)))
}

/// The line is known where the lines are counted.
#[inline(never)]
fn flaw(field: &'static str, word: &str, problem: LayerErrorKind) -> Flaw {
    Box::new(LayerError { line: 0, field, word: word.chars().take(20).collect(), problem })
}
