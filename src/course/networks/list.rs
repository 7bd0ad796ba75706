//! Reading a network from its text.
//!
//! A line is a layer, or several that follow each other: `conv 64 3x3 pad 1 norm relu`. `xN` at its end
//! repeats it; `#` begins a remark. `-> name` names what the line has made so far; `from`, `concat` and `add`
//! take it up again. A line that cannot be read is left out and named, and the others stay.

use std::fmt;

use super::put::Walk;
use super::{Kind, Network, Shape};
use crate::number;

/// Lines that are read.
pub const MAX_LINES: usize = 400;
/// Layers that a network may have, repeated ones and the inside of blocks included.
pub const MAX_LAYERS: usize = 10_000;
/// Words that are put, repeated ones and those of lines that are then left out included: a line may repeat names and
/// begin again without a layer, and no text may take longer to read than the largest network.
pub(super) const MAX_WORDS: usize = 4 * MAX_LAYERS;
/// Bytes that are read of a line.
pub(super) const MAX_LINE_BYTES: usize = 1_000;
/// Names that outputs may have.
pub(super) const MAX_NAMES: usize = 1_000;
/// The largest number of channels, neurons, rows or pixels along a side.
pub const MAX_SIZE: f64 = 1_000_000.0;
/// The largest kernel, stride, padding and repetition.
pub(super) const MAX_STEP: f64 = 1_000.0;

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
pub(super) type Flaw = Box<LayerError>;

/// One to three numbers, for the sides of a window.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    values: [f64; 3],
    count: usize,
}

impl Sides {
    pub(super) const fn all(value: f64) -> Self {
        Self { values: [value; 3], count: 1 }
    }

    fn read(field: &'static str, word: &str, from: f64) -> Result<Self, Flaw> {
        let mut sides = Self { values: [from; 3], count: 0 };
        for side in word.split('x') {
            let Some(value) = sides.values.get_mut(sides.count) else {
                return because(field, word, "write at most three sides");
            };
            *value = whole(field, side, from, MAX_STEP)?;
            sides.count += 1;
        }
        Ok(sides)
    }

    /// Depth, height and width; `idle` is the depth that changes nothing.
    pub(super) fn of(self, is_volume: bool, idle: f64) -> [f64; 3] {
        let [first, second, _] = self.values;
        match self.count {
            1 => [if is_volume { first } else { idle }, first, first],
            2 => [idle, first, second],
            _ => self.values,
        }
    }
}

/// A layer as it is written.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) head: &'static Head,
    pub(super) values: [f64; 4],
    pub(super) count: usize,
    pub(super) kernel: Sides,
    pub(super) stride: Sides,
    pub(super) padding: Sides,
    /// Padding by which an odd kernel keeps the size.
    pub(super) same: bool,
    pub(super) groups: f64,
    pub(super) bias: bool,
    /// A word that says how the block is built.
    pub(super) flag: bool,
    /// The output that it names or takes up.
    pub(super) name: String,
}

/// A word that begins a layer.
pub(super) struct Head {
    pub(super) word: &'static str,
    pub(super) what: What,
    /// Names of the numbers that follow it; the first `needs` must be there.
    pub(super) values: &'static [&'static str],
    pub(super) needs: usize,
    /// A word of its own that says how it is built.
    flag: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum What {
    Input,
    Context,
    Frozen,
    Layer(Kind),
    Residual,
    /// A residual block of three convolutions (He et al. 2016, figure 5 right) or of two (left).
    Block,
    Basic,
    /// Names of outputs.
    Name,
    From,
    Concat,
    /// The end of a residual block, as U-Nets project their shortcut.
    Join,
    // On rows.
    Rows,
    Patch,
    Unpatch,
    Attention,
    Cross,
    Gated,
    Mlp,
    Joint,
    AdaNorm,
    First,
    // Of the time.
    Time,
    Shift,
    // Blocks as lines of simpler words.
    Resblock,
    Transformer,
    Unit,
    Csp,
    Pyramid,
}

const fn head(word: &'static str, what: What, values: &'static [&'static str], needs: usize) -> Head {
    Head { word, what, values, needs, flag: "" }
}

const fn plain(word: &'static str, kind: Kind) -> Head {
    head(word, What::Layer(kind), &[], 0)
}

const HEADS_OF: &[&str] = &["heads"];
const CHANNELS: &[&str] = &["channels"];
const WIDTH: &[&str] = &["width"];

static HEADS: [Head; 53] = [
    head("input", What::Input, &["channels or features", "height", "width", "width"], 1),
    head("conv", What::Layer(Kind::Conv), CHANNELS, 1),
    head("dense", What::Layer(Kind::Dense), &["neurons"], 1),
    head("block", What::Block, &["inner channels", "channels"], 2),
    head("basic", What::Basic, CHANNELS, 1),
    head("residual", What::Residual, &[], 0),
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
    head("deconv", What::Layer(Kind::Deconv), CHANNELS, 1),
    head("groupnorm", What::Layer(Kind::GroupNorm), &["groups"], 1),
    plain("instancenorm", Kind::InstanceNorm),
    Head { flag: "plain", ..plain("layernorm", Kind::LayerNorm) },
    plain("leaky", Kind::Relu),
    head("upsample", What::Layer(Kind::Upsample), &["factor"], 0),
    plain("divide", Kind::Divide),
    plain("half", Kind::Slice),
    plain("copy", Kind::Copy),
    plain("token", Kind::Token),
    head("position", What::Layer(Kind::Position), &["rows of a table"], 0),
    plain("crossentropy", Kind::Softmax),
    plain("mse", Kind::Mse),
    head("context", What::Context, &["rows", "features"], 2),
    head("frozen", What::Frozen, &["parameters", "numbers alive at once"], 1),
    head("->", What::Name, &[], 0),
    head("from", What::From, &[], 0),
    head("concat", What::Concat, &[], 0),
    head("join", What::Join, &[], 0),
    head("rows", What::Rows, &[], 0),
    head("image", What::Unpatch, &[], 0),
    head("patch", What::Patch, &["patch size", "width"], 2),
    head("unpatch", What::Unpatch, &["patch size"], 1),
    Head { flag: "separate", ..head("attention", What::Attention, HEADS_OF, 1) },
    head("cross", What::Cross, HEADS_OF, 1),
    head("mlp", What::Mlp, WIDTH, 1),
    head("geglu", What::Gated, WIDTH, 1),
    head("swiglu", What::Gated, WIDTH, 1),
    Head { flag: "last", ..head("joint", What::Joint, HEADS_OF, 1) },
    head("adanorm", What::AdaNorm, &[], 0),
    head("first", What::First, &[], 0),
    head("time", What::Time, &["features", "width", "features of a vector"], 2),
    head("shift", What::Shift, &[], 0),
    head("resblock", What::Resblock, CHANNELS, 1),
    Head { flag: "linear", ..head("transformer", What::Transformer, &["heads", "blocks"], 1) },
];

static MORE: [Head; 3] = [
    head("unit", What::Unit, CHANNELS, 1),
    Head { flag: "shortcut", ..head("csp", What::Csp, &["channels", "blocks"], 2) },
    head("pyramid", What::Pyramid, CHANNELS, 1),
];

/// The heads that are put by the program itself.
pub(super) static CONV: &Head = &HEADS[1];
pub(super) static RESIDUAL: &Head = &HEADS[5];
pub(super) static ADD: &Head = &HEADS[6];

fn head_of(word: &str) -> Option<&'static Head> {
    HEADS.iter().chain(&MORE).find(|head| head.word.eq_ignore_ascii_case(word))
}

impl Network {
    /// Reads a network. Any text gives one, with what was wrong in [`Network::troubles`].
    pub fn read(text: &str) -> Self {
        Self::sized(text, 1.0, None)
    }

    /// The same network with an input whose sides are so many times as long, and with patches of another size.
    /// Sides are rounded to whole numbers.
    pub fn sized(text: &str, factor: f64, patch: Option<f64>) -> Self {
        let input = Shape::rows(1.0, 1.0);
        let (layers, troubles) = (Vec::new(), Vec::new());
        let mut network = Self { input, context: 0.0, frozen: (0.0, 0.0), pixels: 1.0, patch: None, layers, troubles };
        let mut walk = Walk::new(factor, patch);
        for (position, line) in text.lines().enumerate().take(MAX_LINES) {
            walk.line = position + 1;
            let line = line.split('#').next().unwrap_or_default();
            // Undone as a whole, also where only the third repetition does not fit.
            let (before, layers) = (walk.clone(), network.layers.len());
            if let Err(trouble) = walk.words(&mut network, line) {
                let tried = walk.tried;
                walk = before;
                walk.tried = tried;
                network.layers.truncate(layers);
                network.troubles.push(LayerError { line: position + 1, ..*trouble });
            }
        }
        // Whatever comes first can be computed again from the input.
        if let Some(first) = network.layers.first_mut() {
            first.begins_unit = true;
        }
        if walk.is_open() {
            let problem = LayerErrorKind::Because("no add follows it");
            network.troubles.push(LayerError { line: walk.line, field: "word", word: "residual".to_owned(), problem });
        }
        network
    }
}

impl Walk {
    /// One line, or what a block stands for.
    pub(super) fn words(&mut self, network: &mut Network, line: &str) -> Result<(), Flaw> {
        if line.len() > MAX_LINE_BYTES {
            return because("word", line, "a line has 1,000 letters at most");
        }
        let mut specs: Vec<Spec> = Vec::new();
        let mut times = 1.0;
        let mut words = line.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("pool")).peekable();
        while let Some(word) = words.next() {
            if let Some(head) = head_of(word) {
                let mut spec = Spec::of(head);
                let is_name = |word: &&str| {
                    let named = matches!(head.what, What::Name | What::From | What::Concat);
                    named || head.what == What::Layer(Kind::Add) && self.knows(word)
                };
                if let Some(name) = words.next_if(is_name) {
                    name.clone_into(&mut spec.name);
                }
                specs.push(spec);
                continue;
            }
            let is = |name| word.eq_ignore_ascii_case(name);
            let Some(spec) = specs.last_mut() else { return because("word", word, "a line begins with a layer") };
            if let Some(number) = word.strip_prefix('x') {
                times = whole("repetitions", number, 1.0, MAX_STEP)?;
            } else if let Some(number) = word.strip_prefix('/') {
                spec.stride = Sides::read("stride", number, 1.0)?;
            } else if word.contains('x') && !is(spec.head.flag) {
                spec.kernel = Sides::read("kernel", word, 1.0)?;
            } else if is("pad") {
                spec.padding = Sides::read("padding", words.next().unwrap_or_default(), 0.0)?;
            } else if is("same") {
                spec.same = true;
            } else if is("groups") {
                spec.groups = whole("groups", words.next().unwrap_or_default(), 1.0, MAX_SIZE)?;
            } else if is("nobias") {
                spec.bias = false;
            } else if !spec.head.flag.is_empty() && is(spec.head.flag) {
                spec.flag = true;
            } else if let Some(name) = spec.head.values.get(spec.count) {
                // Frozen networks have billions of parameters.
                let most = if spec.head.what == What::Frozen { 1e12 } else { MAX_SIZE };
                spec.values[spec.count] = whole(name, word, 1.0, most)?;
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
}

impl Spec {
    #[inline(never)]
    pub(super) fn of(head: &'static Head) -> Self {
        Self {
            head,
            values: [1.0; 4],
            count: 0,
            kernel: Sides::all(1.0),
            stride: Sides::all(1.0),
            padding: Sides::all(0.0),
            same: false,
            groups: 1.0,
            bias: true,
            flag: false,
            name: String::new(),
        }
    }
}

pub(super) fn whole(field: &'static str, word: &str, from: f64, to: f64) -> Result<f64, Flaw> {
    match number::parse(word) {
        Ok(value) if value.fract() == 0.0 && value >= from && value <= to => Ok(value),
        _ => Err(flaw(field, word, LayerErrorKind::Range(from, to))),
    }
}

pub(super) fn out_of_range<T>(field: &'static str, value: f64, from: f64, to: f64) -> Result<T, Flaw> {
    Err(flaw(field, &number::plain(value), LayerErrorKind::Range(from, to)))
}

pub(super) fn because<T>(field: &'static str, word: &str, reason: &'static str) -> Result<T, Flaw> {
    Err(flaw(field, word, LayerErrorKind::Because(reason)))
}

/// The line is known where the lines are counted.
#[inline(never)]
fn flaw(field: &'static str, word: &str, problem: LayerErrorKind) -> Flaw {
    Box::new(LayerError { line: 0, field, word: word.chars().take(20).collect(), problem })
}
