//! Numbers as page, pictures and exports write them. The estimator never rounds; this file does, and only for
//! the eye.

use crate::growth::{Factor, Growth, Kind, Of};
use crate::input::{Input, Value};
use crate::meaning::Stack;
use crate::others::{self, Lacking, Printed};
use crate::range::Range;
use crate::{
    Adapter, Answer, Batching, Bucket, Bytes, Change, Choice, Infeasible, Instant, Refusal, RefusalKind, Scenario,
    Shortage, Unit, catalogue, link, number,
};

/// A memory size in GiB with as many digits as matter, or in MiB below a tenth of a GiB.
#[must_use]
pub fn memory(bytes: Bytes) -> String {
    let gib = bytes.gib();
    if gib == 0.0 {
        "0 GiB".to_owned()
    } else if gib.abs() < 0.1 {
        format!("{} MiB", digits(bytes.mib(), 1))
    } else {
        format!("{} GiB", digits(gib, if gib.abs() < 10.0 { 2 } else { 1 }))
    }
}

/// A memory size in GiB with one digit after the point, for columns.
#[must_use]
pub fn gib(bytes: Bytes) -> String {
    format!("{} GiB", digits(bytes.gib(), 1))
}

/// A number with `places` digits after the point and thousands commas.
#[must_use]
pub fn digits(value: f64, places: u32) -> String {
    number::with_commas(&number::fixed(value, places))
}

/// A count with thousands commas.
#[must_use]
pub fn count(count: impl Into<u64>) -> String {
    number::grouped(count.into() as f64)
}

/// A count of weights in billions, with three digits that matter, as in 0.124 or 8.03.
///
/// ```
/// use bmax::format::billions;
/// assert_eq!((billions(124_439_808), billions(8_030_261_248)), ("0.124".to_owned(), "8.03".to_owned()));
/// ```
#[must_use]
pub fn billions(count: u64) -> String {
    let billions = count as f64 / 1e9;
    let scale = if billions < 1.0 { 1e3 } else { 1e2 };
    number::grouped((billions * scale).round() / scale)
}

/// A share as whole percent, "< 1 %" for what would round to nothing.
#[must_use]
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 { "< 1 %".to_owned() } else { percent_to(share, 0) }
}

/// A share as percent with `places` digits after the point.
#[must_use]
pub fn percent_to(share: f64, places: u32) -> String {
    number::fixed(share * 100.0, places) + " %"
}

/// A value of an input as its field shows it: at most two digits after the point for what was
/// converted from another unit, so that 81,559 MiB reads 79.65 GiB.
#[must_use]
pub fn input(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    number::grouped(if rounded == 0.0 { value } else { rounded })
}

/// The value of an input without its unit, in the words of forms and with every digit.
#[must_use]
pub fn bare(input: Input, value: Value) -> String {
    match (input, value) {
        (_, Value::Number(number)) => number::grouped(number),
        (Input::Model, Value::Word(link::OWN)) => "A model of your own".to_owned(),
        (Input::Model, Value::Word(slug)) => catalogue::model(slug).map_or(slug, |row| row.name).to_owned(),
        (Input::Gpu, Value::Word(slug)) => catalogue::device(slug).map_or(slug, |row| row.name).to_owned(),
        (Input::Word(setting), Value::Word(word)) => {
            setting.option(word).map_or(word, |option| option.label).to_owned()
        }
        (Input::Number(_), Value::Word(word)) => word.to_owned(),
    }
}

/// The same with its unit, and with two digits after the point at most.
#[must_use]
pub fn value(input: Input, value: Value) -> String {
    match (input, value) {
        (Input::Number(field), Value::Number(number)) => {
            let unit = field.bound().unit;
            format!("{} {unit}", self::input(number)).trim_end().to_owned()
        }
        _ => bare(input, value),
    }
}

/// What a formula has no input for, and what it is set to.
#[must_use]
pub fn lacking(lacking: &Lacking) -> String {
    format!("“{}”, which is set to “{}” here", lacking.input.name(), value(lacking.input, lacking.value))
}

/// A total as another program prints it: in its unit, with its label.
///
/// ```
/// use bmax::{Bytes, format, others};
/// let megatron = others::ALL.iter().find(|other| other.key == "megatron").expect("listed");
/// // It divides by 2²⁰ and writes MB.
/// let printed = megatron.printed.expect("it is a program");
/// assert_eq!(format::printed(printed, Bytes::from_gib(2.0)), "2,048.00 MB");
/// ```
#[must_use]
pub fn printed(printed: Printed, total: Bytes) -> String {
    let Printed { unit, label } = printed;
    let (number, label) = match unit {
        others::Unit::Mib => (total.mib(), label),
        others::Unit::Gb => (total.gb(), label),
        others::Unit::Power1024 if total.gib() >= 1024.0 => (total.gib() / 1024.0, "TB"),
        others::Unit::Power1024 if total.gib() < 1.0 => (total.mib(), "MB"),
        others::Unit::Gib | others::Unit::Power1024 => (total.gib(), label),
    };
    format!("{} {label}", digits(number, 2))
}

/// Model, adapters, GPUs and length of a configuration, in a few words.
///
/// ```
/// use bmax::{Scenario, format, link};
/// assert_eq!(format::configuration(&Scenario::workshop()), "7B on 8 × A100 SXM 80 GB, 2,048 tokens a sequence");
/// let adapted = link::decode("v=3&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=qlora&rank=32").scenario;
/// assert_eq!(
///     format::configuration(&adapted),
///     "Qwen2.5 7B with QLoRA (rank 32) on 1 × RTX 4090 24 GB, 2,048 tokens a sequence"
/// );
/// ```
#[must_use]
pub fn configuration(scenario: &Scenario) -> String {
    let device = named(catalogue::device_row_of(scenario).map(|(row, edited)| (row.name, edited)), "a GPU of your own");
    let (model, gpus) = (model(scenario), count(scenario.cluster.gpus));
    format!("{model} on {gpus} × {device}, {} a sequence", length(scenario))
}

/// The model of a configuration, and its adapters where it has any.
///
/// ```
/// use bmax::{format, link};
/// let adapted = link::decode("v=3&model=qwen2.5-7b&adapter=qlora&rank=32").scenario;
/// assert_eq!(format::model(&adapted), "Qwen2.5 7B with QLoRA (rank 32)");
/// ```
#[must_use]
pub fn model(scenario: &Scenario) -> String {
    let model = catalogue::model_row_of(scenario).map(|(row, edited)| (row.name, edited));
    let model = named(model, "A model of your own");
    match scenario.recipe.adapter {
        Adapter::None => model,
        adapter => format!("{model} with {} (rank {})", adapter.label(), count(scenario.recipe.rank)),
    }
}

/// The name of a row of the catalogue, and whether a number of it was changed.
fn named(row: Option<(&str, bool)>, none: &str) -> String {
    match row {
        Some((name, false)) => name.to_owned(),
        Some((name, true)) => format!("{name} (edited)"),
        None => none.to_owned(),
    }
}

/// How long sequences are: of lengths that vary, the most.
#[must_use]
pub fn length(scenario: &Scenario) -> String {
    let tokens = counted(scenario.longest(), "token", "tokens");
    match scenario.batching() {
        Batching::Equal => tokens,
        _ => format!("up to {tokens}"),
    }
}

/// The tokens of the worst micro-batch of so many sequences, as a sentence; `None` where all are as long.
///
/// ```
/// use bmax::{Batching, Scenario, format};
/// let mut scenario = Scenario::workshop();
/// assert_eq!(format::most_tokens(&scenario, 6), None);
/// scenario.lengths.batching = Batching::Padded;
/// assert_eq!(format::most_tokens(&scenario, 6).as_deref(), Some("The worst micro-batch has 12,288 tokens."));
/// ```
#[must_use]
pub fn most_tokens(scenario: &Scenario, batch: u32) -> Option<String> {
    let tokens = counted(scenario.tokens_at(batch), "token", "tokens");
    (scenario.batching() != Batching::Equal).then(|| format!("The worst micro-batch has {tokens}."))
}

/// b_max in one or two words.
#[must_use]
pub fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Fits(room) if room.capped => format!("≥ {}", count(room.batch)),
        Answer::Fits(room) => count(room.batch),
        Answer::Infeasible(_) => "does not fit".to_owned(),
        Answer::Refused(refusal) => refused(refusal.kind).to_owned(),
    }
}

/// Why there is no answer, in two or three words.
#[must_use]
pub const fn refused(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::UnknownModel => "unknown model",
        RefusalKind::Contradiction => "settings conflict",
        RefusalKind::Uncounted => "not all counted",
    }
}

/// Why there is no answer, in whole sentences, and what it would be by what is counted.
#[must_use]
pub fn refusal(refusal: &Refusal, unit: Unit) -> String {
    let why = match refusal.kind {
        RefusalKind::UnknownModel => {
            return "No answer: the model that was asked for is not known. Choose one of the list, or give its config.json."
                .to_owned();
        }
        RefusalKind::Contradiction => "No answer: these settings do not go together.",
        RefusalKind::Uncounted => "No answer: a part of this is not counted.",
    };
    let messages: String = refusal.conflicts.iter().map(|conflict| format!(" {}", conflict.message)).collect();
    format!("{why}{messages} {}", would_be(refusal, unit))
}

/// What the answer would be by what is counted, in a sentence.
#[must_use]
pub fn would_be(refusal: &Refusal, unit: Unit) -> String {
    match refusal.would_be {
        Some(1) => format!("By what is counted, 1 {} would fit.", unit.one()),
        Some(most) => format!("By what is counted, {} would fit.", batch(most, unit)),
        None => format!("By what is counted, not even one {} would fit.", unit.one()),
    }
}

/// What fits from the safe answer to the likely one: "2 to 4 sequences", "3 sequences" where both are the same.
#[must_use]
pub fn between(range: &Range, unit: Unit) -> String {
    match (&range.safe, &range.likely) {
        (Answer::Fits(safe), Answer::Fits(likely)) if safe.batch < likely.batch && !likely.capped => {
            format!("{} to {}", count(safe.batch), batch(likely.batch, unit))
        }
        (Answer::Infeasible(_), Answer::Fits(likely)) if !likely.capped => {
            format!("at most {}", batch(likely.batch, unit))
        }
        (_, Answer::Fits(likely)) if !likely.capped => batch(likely.batch, unit),
        (_, likely) => answer(likely),
    }
}

/// Why nothing fits, or why there is no answer, in one sentence or several.
#[must_use]
pub fn shortage(answer: &Answer, unit: Unit) -> Option<String> {
    let reason = match answer {
        Answer::Fits(_) => return None,
        Answer::Infeasible(reason) => reason,
        Answer::Refused(found) => return Some(refusal(found, unit)),
    };
    let (over, one) = (memory(reason.over), unit.one());
    Some(match reason.shortage {
        Shortage::ModelStates => {
            format!("Parameters, gradients and optimizer state alone leave no room: with one {one}, {over} too much.")
        }
        Shortage::FirstSequence => {
            format!("The model states fit, but the activations of one {one} are {over} too much.")
        }
        Shortage::Outside => outside(reason, unit),
        Shortage::HostMemory => format!(
            "One machine needs {over} more CPU memory than it has: offload less, load fewer copies, or take fewer GPUs in \
             a machine."
        ),
    })
}

/// What does not fit outside the step, that training would, and what lets both fit.
#[must_use]
pub fn outside(reason: &Infeasible, unit: Unit) -> String {
    let over = memory(reason.over);
    let room = batch(reason.training.unwrap_or(0), unit);
    let why =
        format!("Training would fit with {room}, but {over} more would be needed {}.", at_instant(reason.instant));
    match reason.mend {
        Some(change) => format!("{why} It fits with {}.", setting(change)),
        None => why,
    }
}

/// A change as the input and the value that a form shows.
fn setting(change: Change) -> String {
    match change {
        Change::Number(field, value) => format!("“{}” at {}", field.bound().name, number::grouped(value)),
        Change::Word(word) => format!("“{}”: {}", word.setting().name, word.option().label),
        Change::Device { origin, .. } => origin.to_owned(),
    }
}

/// The moment of a step in words that fit into a sentence.
#[must_use]
pub fn at_instant(instant: &Instant) -> String {
    format!("at “{}”", instant.name)
}

/// What each sequence adds, and the largest kind of it as a product: “Each sequence adds 8.20 GiB, and 85 % of it is
/// logits: 4,096 tokens × 152,064 words × 12 bytes.”
///
/// ```
/// use bmax::{Method, Scenario, b_max, format, growth::growth};
/// let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
/// let growth = growth(&scenario, &b_max(&scenario)).expect("three sequences fit");
/// assert_eq!(
///     format::growth(&growth),
///     "Each sequence adds 17.0 GiB, and all of it is activations of layers: 2,048 tokens × 32 layers × 4,096 numbers \
///      × 68 bytes.",
/// );
/// ```
#[must_use]
pub fn growth(growth: &Growth) -> String {
    let (unit, largest) = (growth.unit.one(), growth.largest());
    let share = if growth.parts.len() == 1 { "all".to_owned() } else { percent(largest.bytes.share_of(growth.each)) };
    let product: Vec<String> = growth.product.iter().map(factor).collect();
    let [each, kind, product] = [memory(growth.each), kind_of_growth(largest.kind).to_owned(), product.join(" × ")];
    format!("Each {unit} adds {each}, and {share} of it is {kind}: {product}.")
}

/// A kind of what a sequence adds, within a sentence.
#[must_use]
pub const fn kind_of_growth(kind: Kind) -> &'static str {
    match kind {
        Kind::Logits => "logits",
        Kind::Layers(stack) => match stack {
            Stack::Model => "activations of layers",
            Stack::Encoder => "activations of the encoder’s layers",
            Stack::Tower => "activations of the vision tower’s layers",
            Stack::Value => "activations of the value model’s layers",
        },
        Kind::Inputs(stack) => match stack {
            Stack::Model => "inputs of layers",
            Stack::Encoder => "inputs of the encoder’s layers",
            Stack::Tower => "inputs of the vision tower’s layers",
            Stack::Value => "inputs of the value model’s layers",
        },
        Kind::Again(_) => "activations that are computed again",
        Kind::Cache => "keys and values of what is generated",
        Kind::Rest(Bucket::Activations) => "activations outside the layers",
        Kind::Rest(Bucket::Temporary) => "temporary tensors",
        Kind::Rest(Bucket::Batch) => "data of the batch",
        Kind::Rest(Bucket::Runtime) => "gaps of the allocator",
        Kind::Rest(bucket) => bucket.name(),
    }
}

/// A factor with its noun: “4,096 tokens”, “12 bytes”.
fn factor(factor: &Factor) -> String {
    let Factor { of, count } = *factor;
    let (one, many) = match of {
        Of::Tokens => ("token", "tokens"),
        Of::Patches => ("patch", "patches"),
        Of::Words => ("word", "words"),
        Of::Layers => ("layer", "layers"),
        Of::LayersInFlight => ("layer in flight", "layers in flight"),
        Of::Hidden => ("number", "numbers"),
        Of::Bytes => return decimal(count),
    };
    let written = match count {
        whole if whole.fract() == 0.0 => number::grouped(whole),
        few if few < 100.0 => significant(few),
        many => digits(many, 2),
    };
    format!("{written} {}", noun(count, one, many))
}

/// A number of bytes in the decimal unit that suits it.
fn decimal(bytes: f64) -> String {
    let (value, unit) = match bytes {
        bytes if bytes < 1e3 => (bytes, noun(bytes, "byte", "bytes")),
        bytes if bytes < 1e6 => (bytes / 1e3, "kB"),
        bytes if bytes < 1e9 => (bytes / 1e6, "MB"),
        bytes => (bytes / 1e9, "GB"),
    };
    format!("{} {unit}", significant(value))
}

/// The noun that stands behind a number: that of one, or that of many.
#[must_use]
pub fn noun<'a>(number: f64, one: &'a str, many: &'a str) -> &'a str {
    if number == 1.0 { one } else { many }
}

/// "1 sequence", "3 sequences".
#[must_use]
pub fn counted(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{} {}", count(number), noun(number as f64, one, many))
}

/// A micro-batch in what it counts: "1 sequence", "3 pairs".
#[must_use]
pub fn batch(number: impl Into<u64>, unit: Unit) -> String {
    counted(number, unit.one(), unit.many())
}

/// A part of one as a length for the style sheet, to a thousandth of a percent.
#[must_use]
pub fn css_percent(part: f64) -> String {
    number::fixed(part * 100.0, 3) + "%"
}

/// A number of examples, whole but for a few.
#[must_use]
pub fn examples(count: f64) -> String {
    number::grouped(if count < 10.0 { (count * 10.0).round() / 10.0 } else { count.round() })
}

/// A time in the unit that suits it.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        time if time < 1.0 => (time * 1e3, "ms"),
        time if time < 120.0 => (time, "s"),
        time if time < 7_200.0 => (time / 60.0, "min"),
        time if time < 172_800.0 => (time / 3_600.0, "hours"),
        time if time < 63_115_200.0 => (time / 86_400.0, "days"),
        time => (time / 31_557_600.0, "years"),
    };
    significant(value) + " " + unit
}

/// A factor: 1.13×, 65×.
#[must_use]
pub fn times(factor: f64) -> String {
    significant(factor) + "×"
}

/// A number to three significant digits.
#[must_use]
pub fn significant(value: f64) -> String {
    let scale = number::power(10.0, 2 - number::decade(value.abs().max(1e-9)));
    number::grouped((value * scale).round() / scale)
}
