//! The link: a scenario as a query string, and back.
//!
//! The query string is a contract with every link that was ever shared. It carries a version, then
//! only what differs from the defaults of that version. A value that cannot be used is named in a
//! [`Notice`], with the names that are like it; its default stands in, and everything else is kept. The
//! parameters of an embedded figure ([`PASSED_OVER`]) are passed over: they say what is shown, not what is computed.
//!
//! ```
//! use bmax::{Scenario, link};
//!
//! let read = link::decode("?v=3&model=llama-3.1-8b&gpu=h100-80&s=8,192&b=2&method=workshop");
//! assert!(read.notices.is_empty());
//! assert_eq!(read.scenario.recipe.sequence, 8192);
//! assert_eq!(link::encode(&read.scenario), "v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=2&method=workshop");
//!
//! let read = link::decode("?s=-5&recompute=full");
//! assert_eq!(read.scenario.recipe.sequence, Scenario::default().recipe.sequence);
//! assert_eq!(read.notices.len(), 1);
//! ```

use std::fmt;

use form_urlencoded::Serializer;

use crate::bounds::excerpt;
use crate::nearest::offers;
use crate::runtime::fragmentation;
use crate::{
    AdapterType, BatchUnit, Choice, Field, Input, InputError, InputErrorKind, Method, Mlp, Model, Packing, Percent,
    Recomputation, Scenario, Setting, Softmax, Switch, catalogue, number, setting,
};

/// The version this codec writes. A change in what any parameter or default means raises it, and
/// links of older versions keep their meaning.
pub const VERSION: u32 = 3;

/// What happens to a link of another version; a test holds the number to [`VERSION`].
const READ_AS_NEWEST: &str = "; it is read as version 3, so check the values below";

/// The longest query that is read. The longest link this codec can write is far below it.
pub const MAX_QUERY_BYTES: usize = 8_192;

/// How many words that name nothing are compared with what there is. A link of more is no slip of the hand, and
/// every comparison takes time.
const COMPARED: usize = 16;

/// The word for a model of no catalogue row, whose numbers are all in the link or defaults.
pub const OWN: &str = "own";

/// What a query string says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// The scenario, with defaults for what is absent or unusable.
    pub scenario: Scenario,
    /// What the reader should know about.
    pub notices: Vec<Notice>,
}

/// Something in a link that could not be used as it stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A number was refused; the value in its place, in the unit of the field.
    Number(InputError, f64),
    /// A word is not in the list of its parameter.
    Word {
        /// The parameter.
        key: &'static str,
        /// What it is called on the page.
        name: &'static str,
        /// What was given, shortened.
        given: String,
        /// The accepted words that are most like it, three at most.
        nearest: Vec<&'static str>,
        /// What would be accepted.
        accepted: String,
        /// What stands in.
        used: &'static str,
    },
    /// No parameter has this name.
    Unknown {
        /// The name, shortened.
        key: String,
        /// The parameters that are most like it, three at most; one may be given with its value.
        nearest: Vec<&'static str>,
    },
    /// A memory was given in GB and is taken for as many GiB: the field, what was given, and its value.
    Gigabytes(Field, String, f64),
    /// A parameter is given more than once; the first value counts.
    Repeated(String),
    /// A parameter whose percent-encoding is broken is left out.
    Encoding(String),
    /// The link was written by a newer version, or by none that ever was.
    Version(String),
    /// A model of the list is named beside a model of the reader's own, which counts.
    OwnModel,
    /// The query is longer than any link; what lies beyond the limit is left out.
    TooLong(usize),
}

/// The alternate form (`{:#}`) says only what is wrong and not what stands in, for those who use nothing of it.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedied = !f.alternate();
        let remedy = |text: &'static str| if remedied { text } else { "" };
        match self {
            Self::Number(problem, used) => {
                write!(f, "{problem}")?;
                if remedied {
                    write!(f, " The link’s “{}” is set to {}.", problem.input.key(), number::grouped(*used))?;
                }
                Ok(())
            }
            Self::Word { key, name, given, nearest, accepted, used } => {
                write!(f, "{name}: “{given}” is not known{}; “{key}” takes {accepted}.", like(nearest.join(", ")))?;
                if remedied {
                    write!(f, " It is set to {used}.")?;
                }
                Ok(())
            }
            Self::Unknown { key, nearest } => {
                let like = like(explained(nearest));
                write!(f, "“{key}” is not a parameter{like}{}.", remedy("; it is passed over"))
            }
            Self::Gigabytes(field, given, read) => {
                let bound = field.bound();
                write!(f, "{}: “{given}” is in GB, and “{}” takes GiB.", bound.name, bound.key)?;
                if remedied {
                    write!(f, " It is read as {} GiB, as GPUs are named; ", number::grouped(*read))?;
                    f.write_str("their drivers report somewhat less.")?;
                }
                Ok(())
            }
            Self::Repeated(key) => {
                write!(f, "“{key}” is in the link more than once{}.", remedy("; the first value is used"))
            }
            Self::Encoding(key) => write!(
                f,
                "“{key}” is damaged in the link (its percent-encoding is broken){}.",
                remedy("; its default is used")
            ),
            Self::Version(given) => write!(
                f,
                "The link’s version “{given}” is not one this page knows (it knows 1 to {VERSION}){}.",
                remedy(READ_AS_NEWEST)
            ),
            Self::OwnModel => f.write_str("“model” is passed over: the model is the one that was given as a file."),
            Self::TooLong(length) => {
                write!(f, "The link is {} characters long; only ", number::grouped(*length as f64))?;
                write!(f, "the first {} are read.", number::grouped(MAX_QUERY_BYTES as f64))
            }
        }
    }
}

/// Words that are offered, as a notice has them.
fn like(nearest: String) -> String {
    if nearest.is_empty() { nearest } else { format!(" (nearest: {nearest})") }
}

/// The parameters that a name is like, three at most.
pub(crate) fn nearest_parameters(key: &str) -> Vec<&'static str> {
    offers("", key, &mut names())
}

/// Parameters, some with a value, and what they are called.
pub(crate) fn explained(parameters: &[&str]) -> String {
    let mut told = String::new();
    for parameter in parameters {
        let key = parameter.split('=').next().unwrap_or_default();
        let name = names().find(|(known, _)| *known == key).map_or("", |(_, name)| name);
        told += if told.is_empty() { "" } else { ", " };
        told += &format!("“{parameter}” for {name}");
    }
    told
}

/// Every parameter of a scenario and what it is called, in the order in which [`encode`] writes them.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let numbers = Field::ALL.iter().map(|field| (field.bound().key, field.bound().name));
    let words = setting::ALL.iter().map(|word| (word.key, word.name));
    ROWS.into_iter().chain(numbers).chain(words)
}

/// The parameters that are neither numbers nor settings.
const ROWS: [(&str, &str); 3] = [("v", "Version"), ("model", "Model"), ("gpu", "GPU")];

/// The parameters that say how a figure is embedded ([`crate::embed`]). No parameter of a scenario may ever be
/// called like one of them.
pub const PASSED_OVER: [&str; 5] = ["embed", "controls", "theme", "title", "height"];

/// Whether a link may have this parameter, be it of the scenario or of an embedded figure.
pub fn is_parameter(key: &str) -> bool {
    names().any(|(name, _)| name == key) || PASSED_OVER.contains(&key)
}

/// A parameter of the link, as the documentation lists it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in the query string.
    pub key: &'static str,
    /// What it is called on the page.
    pub name: &'static str,
    /// What it takes.
    pub takes: String,
    /// What stands in when it is absent; for numbers of the model or the GPU, that of the default row.
    pub default: String,
}

/// Every parameter of a link, in the order in which [`encode`] writes them.
pub fn parameters() -> Vec<Parameter> {
    let default = Scenario::default();
    let rows = [
        (format!("1 to {VERSION}"), VERSION.to_string()),
        (format!("a slug of the model list, or {OWN}"), default.model.origin.to_owned()),
        ("a slug of the GPU list".to_owned(), default.device.origin.to_owned()),
    ];
    let numbers = Field::ALL.iter().map(|field| (field.bound().to_string(), number::plain(default.number(*field))));
    let words = setting::ALL.iter().map(|word| (word.keys(), word.get(&default).to_owned()));
    let values = rows.into_iter().chain(numbers).chain(words);
    names().zip(values).map(|((key, name), (takes, default))| Parameter { key, name, takes, default }).collect()
}

/// Writes the query string of a scenario, without the leading question mark.
///
/// The model and the device are written as catalogue rows plus what was edited in them.
pub fn encode(scenario: &Scenario) -> String {
    let default = Scenario::default();
    let base = base_of(scenario);
    let mut query = Serializer::new(String::new());
    query.append_pair("v", &VERSION.to_string());
    for (key, origin, usual) in
        [("model", base.model.origin, default.model.origin), ("gpu", base.device.origin, default.device.origin)]
    {
        if origin != usual {
            query.append_pair(key, if origin.is_empty() { OWN } else { origin });
        }
    }
    for &field in Field::ALL {
        let value = scenario.number(field);
        if value != base.number(field) {
            query.append_pair(field.bound().key, &number::plain(value));
        }
    }
    for word in setting::ALL {
        let value = word.get(scenario);
        if value != word.get(&base) {
            query.append_pair(word.key, value);
        }
    }
    query.finish()
}

/// Writes the query string of a scenario with every parameter spelled out, so that it means the same
/// after any change of a default or of a row of the catalogue. [`decode`] reads it as it reads any other.
///
/// ```
/// use bmax::{Scenario, link};
///
/// let whole = link::encode_whole(&Scenario::default());
/// assert_eq!(link::decode(&whole).scenario, Scenario::default());
/// assert_eq!(whole.split('&').count(), link::parameters().len());
/// ```
pub fn encode_whole(scenario: &Scenario) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("v", &VERSION.to_string());
    for (key, origin) in [("model", scenario.model.origin), ("gpu", scenario.device.origin)] {
        query.append_pair(key, if origin.is_empty() { OWN } else { origin });
    }
    for &field in Field::ALL {
        query.append_pair(field.bound().key, &number::plain(scenario.number(field)));
    }
    for word in setting::ALL {
        query.append_pair(word.key, word.get(scenario));
    }
    query.finish()
}

/// What stands in for an absent parameter in links of `version`.
fn defaults_of(version: u32) -> Scenario {
    let mut scenario = Scenario::default();
    if version == 1 {
        // Version 1 knew no ledger: a link that names no method meant the workshop's. The rest is written
        // out, so that no later default changes what such a link says.
        scenario.method = Method::Workshop;
        scenario = catalogue::model("7b").map_or(scenario, |row| row.apply(scenario));
        scenario = catalogue::device("a100-80").map_or(scenario, |row| row.apply(scenario));
        let numbers = [
            (Field::Sequence, 2_048.0),
            (Field::Batch, 3.0),
            (Field::Gpus, 8.0),
            (Field::TensorParallel, 1.0),
            (Field::Headroom, 10.0),
            (Field::GlobalBatch, 256.0),
            (Field::ComparisonGpus, 64.0),
        ];
        for (field, value) in numbers {
            scenario = scenario.with_number(field, value).unwrap_or(scenario);
        }
        for (key, word) in [
            ("precision", "bf16"),
            ("recompute", "selective"),
            ("dropout", "on"),
            ("zero", "3"),
            ("sp", "off"),
            ("unit", "sequences"),
            ("chart_recompute", "full"),
        ] {
            if let Some(setting) = Setting::from_key(key) {
                scenario = setting.read(word, scenario).unwrap_or(scenario);
            }
        }
    }
    if version < 3 {
        // Until version 3 no model brought its own dropout and recomputation, and fragmentation was 5 % whatever
        // the allocator.
        scenario.recipe.dropout = Switch::On;
        scenario.recipe.recomputation = Recomputation::Selective;
        scenario.device.fragmentation = Percent::new(5.0);
    }
    scenario
}

/// The default scenario with the catalogue rows that `scenario` started from.
pub fn base_of(scenario: &Scenario) -> Scenario {
    let mut base = Scenario::default();
    if let Some(row) = catalogue::model(scenario.model.origin) {
        base = row.apply(base);
    } else {
        base.model.origin = "";
    }
    if let Some(row) = catalogue::device(scenario.device.origin) {
        base = row.apply(base);
    }
    base.device.fragmentation = fragmentation(scenario.device.segments).likely;
    base
}

/// Reads a query string, with or without its question mark. It never fails: what cannot be used is
/// reported and its default stands in.
pub fn decode(query: &str) -> Decoded {
    decode_with(query, None)
}

/// Reads a query string that refines `own_model`, if there is one, instead of a row of the model list.
pub fn decode_with(query: &str, own_model: Option<Model>) -> Decoded {
    decode_query(query, own_model, None)
}

/// Reads a query string that changes what it names in `scenario` and leaves the rest as it is; without a
/// scenario it is the same as [`decode`].
pub fn decode_onto(scenario: Option<&Scenario>, query: &str) -> Decoded {
    decode_query(query, None, scenario)
}

// One copy for all callers: it is a large part of the page.
#[inline(never)]
fn decode_query(query: &str, own_model: Option<Model>, onto: Option<&Scenario>) -> Decoded {
    let mut notices = Vec::new();
    let pairs = pairs(query.strip_prefix('?').unwrap_or(query), &mut notices);
    read(&pairs, own_model, onto, notices)
}

/// Reads parameters that came in another shape than a query, each name once, by the rules of links.
pub fn decode_pairs(pairs: &[(String, String)], own_model: Option<Model>) -> Decoded {
    read(pairs, own_model, None, Vec::new())
}

fn read(
    pairs: &[(String, String)],
    own_model: Option<Model>,
    onto: Option<&Scenario>,
    mut notices: Vec<Notice>,
) -> Decoded {
    let value_of = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());

    let version = match value_of("v") {
        None => VERSION,
        Some(given) => {
            given.trim().parse().ok().filter(|version| (1..=VERSION).contains(version)).unwrap_or_else(|| {
                notices.push(Notice::Version(excerpt(given)));
                VERSION
            })
        }
    };
    // Catalogue rows come first, whatever the order in the link: single values refine them.
    let mut scenario = onto.copied().unwrap_or_else(|| defaults_of(version));
    if let Some(model) = own_model {
        scenario.model = model;
        if value_of("model").is_some() {
            notices.push(Notice::OwnModel);
        }
    } else if let Some(given) = value_of("model") {
        match catalogue::model(given.trim()) {
            Some(row) if version < 3 => scenario.model = row.model,
            Some(row) => scenario = row.apply(scenario),
            None if given.trim() == OWN => scenario.model.origin = "",
            None => {
                let known = &mut catalogue::MODELS.iter().map(|row| (row.slug, row.name));
                notices.push(unknown_row(ROWS[1], given, known, "a model of the list", scenario.model.origin));
            }
        }
    }
    if let Some(given) = value_of("gpu") {
        match catalogue::device(given.trim()) {
            Some(row) => scenario = row.apply(scenario),
            None => {
                let known = &mut catalogue::DEVICES.iter().map(|row| (row.slug, row.name));
                notices.push(unknown_row(ROWS[2], given, known, "a GPU of the list", scenario.device.origin));
            }
        }
    }
    // What brings a number comes before numbers; the loop below says what is wrong with it.
    if let Some(with) = value_of(setting::SEGMENTS.key).and_then(|given| setting::SEGMENTS.read(given, scenario).ok()) {
        scenario = with;
    }
    if version < 3 {
        if value_of("model").is_none() && value_of(setting::MLP.key) == Some(Mlp::GeluTanh.key()) {
            // GELU spelt out stood for all of GPT-2's code.
            scenario.model.packing = Packing::Packed;
            scenario.model.softmax = Softmax::Scores;
        }
        if value_of(setting::ADAPTER.key).is_some() {
            // The matrices of an adapter were counted in the type that is computed in.
            scenario.recipe.adapter_type = AdapterType::Half;
        }
    }
    for (key, value) in pairs {
        if let Some(field) = Field::from_key(key) {
            let read = field.typed(value).and_then(|typed| {
                beside(field, value, typed.unit, value_of("unit"))?;
                Ok((scenario.with_typed(field, typed)?, typed))
            });
            match read {
                Ok((with, typed)) => {
                    scenario = with;
                    if typed.in_gb {
                        notices.push(Notice::Gigabytes(field, excerpt(value.trim()), typed.value));
                    }
                }
                Err(problem) => notices.push(Notice::Number(problem, scenario.number(field))),
            }
        } else if let Some(word) = Setting::from_key(key) {
            match word.read(value, scenario) {
                // It was read before the numbers, some of which may be the reader's own by now.
                Ok(_) if *word == setting::SEGMENTS => {}
                Ok(with) => scenario = with,
                Err(problem) => {
                    let known = &mut word.options.iter().map(|option| (option.key, option.label));
                    notices.push(Notice::Word {
                        key: word.key,
                        name: word.name,
                        given: problem.given,
                        nearest: offers(word.key, value, known),
                        accepted: word.keys(),
                        used: word.get(&scenario),
                    });
                }
            }
        } else if !is_parameter(key) {
            let nearest = if notices.len() < COMPARED { nearest_parameters(key) } else { Vec::new() };
            notices.push(Notice::Unknown { key: excerpt(key), nearest });
        }
    }
    Decoded { scenario, notices }
}

/// Refuses a number whose unit is also given as a parameter of its own, and is another one there.
fn beside(field: Field, text: &str, unit: Option<BatchUnit>, given: Option<&str>) -> Result<(), InputError> {
    match (unit, given.and_then(BatchUnit::from_key)) {
        (Some(unit), Some(other)) if unit != other => Err(InputError {
            input: Input::Number(field),
            given: excerpt(text.trim()),
            fault: InputErrorKind::OtherUnit,
        }),
        _ => Ok(()),
    }
}

fn unknown_row(
    (key, name): (&'static str, &'static str),
    given: &str,
    known: &mut dyn Iterator<Item = (&'static str, &'static str)>,
    accepted: &str,
    used: &'static str,
) -> Notice {
    let nearest = offers(key, given, known);
    Notice::Word { key, name, given: excerpt(given), nearest, accepted: accepted.to_owned(), used }
}

/// The decoded pairs of a query, each name once, in the order of the link.
pub(crate) fn pairs(query: &str, notices: &mut Vec<Notice>) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for raw in within_limit(query, notices).split('&').filter(|raw| !raw.is_empty()) {
        let Some((key, value)) = form_urlencoded::parse(raw.as_bytes()).next() else { continue };
        if is_damaged(raw) || key.contains('\u{fffd}') || value.contains('\u{fffd}') {
            notices.push(Notice::Encoding(excerpt(&key)));
        } else if !pairs.iter().any(|(name, _)| *name == key) {
            pairs.push((key.into_owned(), value.into_owned()));
        } else if !notices.contains(&Notice::Repeated(excerpt(&key))) {
            notices.push(Notice::Repeated(excerpt(&key)));
        }
    }
    pairs
}

/// Cuts an overlong query after the last parameter that is whole.
fn within_limit<'a>(query: &'a str, notices: &mut Vec<Notice>) -> &'a str {
    if query.len() <= MAX_QUERY_BYTES {
        return query;
    }
    notices.push(Notice::TooLong(query.len()));
    let mut cut = MAX_QUERY_BYTES;
    while !query.is_char_boundary(cut) {
        cut -= 1;
    }
    let kept = &query[..cut];
    &kept[..kept.rfind('&').unwrap_or(0)]
}

/// Whether a `%` is not followed by two hexadecimal digits.
fn is_damaged(raw: &str) -> bool {
    raw.split('%').skip(1).any(|after| {
        let digits = after.as_bytes();
        digits.len() < 2 || !digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recomputation;

    fn only_notice(query: &str) -> String {
        let read = decode(query);
        assert_eq!(read.notices.len(), 1, "{query}: {:?}", read.notices);
        read.notices[0].to_string()
    }

    #[test]
    fn the_default_scenario_is_the_bare_version() {
        assert_eq!(encode(&Scenario::default()), "v=3");
        assert_eq!(decode("").scenario, Scenario::default());
        assert_eq!(decode("?v=3"), Decoded { scenario: Scenario::default(), notices: vec![] });
    }

    #[test]
    fn only_what_differs_from_the_catalogue_row_is_written() {
        let read = decode("?layers=40&model=13b&hidden=4096&method=paper");
        assert_eq!(read.notices, []);
        assert_eq!(encode(&read.scenario), "v=3&model=13b&hidden=4096&method=paper");
    }

    #[test]
    fn a_bad_number_names_field_and_range_and_the_rest_holds() {
        for bad in ["", "abc", "-1", "0", "NaN", "1e99", "2.5"] {
            let read = decode(&format!("?gpus=16&s={bad}&recompute=full"));
            assert_eq!(read.scenario.cluster.gpus, 16);
            assert_eq!(read.scenario.recipe.recomputation, Recomputation::Full);
            assert_eq!(read.scenario.recipe.sequence, Scenario::default().recipe.sequence);
            let message = read.notices[0].to_string();
            assert!(message.contains("Sequence length") && message.contains("1 to 4,194,304"), "{message}");
        }
    }

    #[test]
    fn a_bad_word_names_the_parameter_and_what_it_takes() {
        let message = only_notice("?recompute=some");
        assert!(message.contains("none, selective, ops, every-k, kth-layer, block, full"), "{message}");
        let message = only_notice("?model=gpt-9");
        assert!(message.contains("gpt-9") && message.contains("Model"), "{message}");
    }

    #[test]
    fn unknown_and_repeated_parameters_are_named() {
        assert!(only_notice("?colour=red").contains("colour"));
        assert!(only_notice("?s=1024&s=4096&s=1").contains("“s”"));
        assert_eq!(decode("?s=1024&s=4096").scenario.recipe.sequence, 1024);
    }

    #[test]
    fn words_that_name_nothing_come_with_what_is_like_them() {
        for (query, expected) in [
            (
                "model=llama3-8b",
                "Model: “llama3-8b” is not known (nearest: llama-3.1-8b); “model” takes a model of the list. It is set to 7b.",
            ),
            (
                "gpu=h100",
                "GPU: “h100” is not known (nearest: h100-80, h100-pcie, h100-nvl); “gpu” takes a GPU of the list. It is set to a100-80.",
            ),
            (
                "grad=bf16",
                "Gradients kept in: “bf16” is not known (nearest: 16); “grad” takes 16, 32. It is set to 16.",
            ),
            ("zero=fsdp", "ZeRO stage: “fsdp” is not known (nearest: 3); “zero” takes 0, 1, 2, 3. It is set to 3."),
            ("seq_len=1", "“seq_len” is not a parameter (nearest: “s” for Sequence length); it is passed over."),
            (
                "checkpointing=on",
                "“checkpointing” is not a parameter (nearest: “recompute=full” for Activation recomputation); it is passed over.",
            ),
            ("colour=red", "“colour” is not a parameter; it is passed over."),
        ] {
            assert_eq!(only_notice(query), expected);
            assert_eq!(decode(query).scenario, Scenario::default(), "nothing that is offered is applied");
        }
    }

    #[test]
    fn only_so_many_unknown_names_are_compared_with_what_there_is() {
        let query: String = (0..40).map(|i| format!("&seq_len{i}=1")).collect();
        let notices = decode(&query).notices;
        let offered = |notice: &&Notice| matches!(notice, Notice::Unknown { nearest, .. } if !nearest.is_empty());
        assert_eq!((notices.len(), notices.iter().filter(offered).count()), (40, COMPARED));
    }

    #[test]
    fn letters_and_units_behind_a_number_are_read() {
        let read = decode("s=128k&params=8B&target=1e6 tokens&mem=81559 MiB&context=512MiB&b=1 sequence");
        assert_eq!(read.notices, []);
        let expected = "v=3&params=8&s=131072&b=1&mem=79.6474609375&context=0.5&target=1000000&unit=tokens";
        assert_eq!(encode(&read.scenario), expected);
        assert_eq!(decode(expected).scenario, read.scenario);
    }

    #[test]
    fn gigabytes_of_a_gpu_are_read_as_gibibytes_and_that_is_said() {
        assert_eq!(
            only_notice("mem=80GB"),
            "GPU memory: “80GB” is in GB, and “mem” takes GiB. It is read as 80 GiB, as GPUs are named; their drivers \
             report somewhat less."
        );
        assert_eq!(decode("mem=80 gb").scenario.number(Field::Memory), 80.0);
        assert_eq!(decode("mem=80 GiB").notices, []);
        assert!(only_notice("context=0.5GB").contains("“0.5GB” is not a number"));
    }

    #[test]
    fn the_unit_of_a_target_is_that_of_the_number_unless_another_is_given() {
        let goal = |query: &str| {
            let read = decode(query);
            (read.scenario.goal.global_batch, setting::BATCH_UNIT.get(&read.scenario), read.notices.len())
        };
        assert_eq!(goal("target=4M tokens"), (4_000_000, "tokens", 0));
        assert_eq!(goal("target=512 sequences"), (512, "sequences", 0));
        assert_eq!(goal("target=512&unit=tokens"), (512, "tokens", 0));
        for query in ["target=4M tokens&unit=tokens", "unit=tokens&target=4M tokens"] {
            assert_eq!(goal(query), (4_000_000, "tokens", 0), "{query}");
        }
        for query in ["target=4M tokens&unit=sequences", "unit=sequences&target=4M tokens"] {
            assert_eq!(goal(query), (256, "sequences", 1), "{query}");
            assert!(only_notice(query).contains("is not in the unit that is given beside it"));
        }
        // A word that is none says nothing of the unit.
        for query in ["target=4M tokens&unit=pages", "unit=pages&target=4M tokens"] {
            assert_eq!(goal(query), (4_000_000, "tokens", 1), "{query}");
        }
    }

    #[test]
    fn broken_percent_encoding_costs_only_its_own_parameter() {
        for broken in ["s=%", "s=%2", "s=%zz", "s=%ff%fe", "%zz=1"] {
            let read = decode(&format!("?{broken}&gpus=4"));
            assert_eq!(read.scenario.cluster.gpus, 4, "{broken}");
            assert!(matches!(read.notices[..], [Notice::Encoding(_)]), "{broken}: {:?}", read.notices);
        }
        assert_eq!(decode("?s=4%2C096").scenario.recipe.sequence, 4096);
        assert_eq!(decode("?s=4+096").scenario.recipe.sequence, 4096);
    }

    #[test]
    fn a_hundred_kilobytes_are_cut_and_said_so() {
        let read = decode(&format!("?gpus=4&s=1{}", "0".repeat(100_000)));
        assert_eq!(read.scenario.cluster.gpus, 4);
        assert!(matches!(read.notices[..], [Notice::TooLong(_)]), "{:?}", read.notices);
        let read = decode(&format!("?gpus=4{}", "&é=1".repeat(30_000)));
        assert_eq!(read.scenario.cluster.gpus, 4);
    }

    #[test]
    fn other_versions_are_read_with_a_warning() {
        for version in ["0", "4", "999", "one", "", "-1"] {
            let read = decode(&format!("?v={version}&gpus=4"));
            assert_eq!(read.scenario.cluster.gpus, 4);
            assert!(matches!(read.notices[..], [Notice::Version(_)]), "{version}");
            assert!(read.notices[0].to_string().contains(&format!("read as version {VERSION}")));
        }
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let before = decode("v=3&model=13b&gpu=h100-80&gpus=64&s=4096&layers=41").scenario;
        let changed = |query| {
            let read = decode_onto(Some(&before), query);
            assert_eq!(read.notices, [], "{query}");
            encode(&read.scenario)
        };
        assert_eq!(changed("?s=8192"), "v=3&model=13b&gpu=h100-80&layers=41&s=8192&gpus=64");
        assert_eq!(changed("s=2048&gpus=8"), "v=3&model=13b&gpu=h100-80&layers=41");
        // Another row brings all of its own numbers, and the order of the parameters does not matter.
        assert_eq!(changed("layers=42&model=7b"), "v=3&gpu=h100-80&layers=42&s=4096&gpus=64");
        assert_eq!(changed(""), encode(&before));
        assert_eq!(changed("v=1"), encode(&before), "the version only says how words are meant");
        assert!(matches!(decode_onto(Some(&before), "s=0").notices[..], [Notice::Number(..)]));
    }

    #[test]
    fn the_short_form_of_a_notice_promises_nothing() {
        let query = "?v=9&s=0&recompute=on&seq_len=1&mem=80GB&gpus=4&gpus=5&b=%zz";
        let notices = decode(query).notices;
        assert_eq!(notices.len(), 7, "{notices:?}");
        for notice in &notices {
            let (long, short) = (notice.to_string(), format!("{notice:#}"));
            assert!(long.starts_with(short.trim_end_matches('.')) && long.len() > short.len(), "{long}\n{short}");
            for promise in ["set to", "passed over", "is used", "is read"] {
                assert!(!short.contains(promise), "{short}");
            }
        }
    }

    #[test]
    fn links_of_version_1_keep_their_meaning() {
        // Written when version 1 was new. Nothing here may ever change.
        let scenario = decode("?v=1&model=llama-3.1-8b&gpu=h100-80&s=8192").scenario;
        assert_eq!(scenario.method, Method::Workshop);
        assert_eq!(scenario.model.hidden, 4096);
        assert_eq!(scenario.model.parameters, 8_030_261_248);
        assert_eq!(scenario.device.memory, crate::Bytes::from_mib(81_559.0));
        assert_eq!(scenario.cluster.gpus, 8);
        assert_eq!(scenario.recipe.recomputation, Recomputation::Selective);
        assert_eq!(crate::b_max(&scenario).batch(), None);

        // The answers that such links gave when they were shared.
        let b_max = |query| crate::b_max(&decode(query).scenario).batch();
        assert_eq!(b_max("?v=1"), Some(3));
        assert_eq!(b_max("?v=1&recompute=full"), Some(117));
        assert_eq!(b_max("?v=1&method=paper&recompute=none"), Some(2));
        assert_eq!(b_max("?v=1&model=70b&gpus=64&recompute=full"), Some(22));
    }

    #[test]
    fn a_model_of_no_row_stays_the_readers_own() {
        let mut scenario = Scenario::default();
        scenario.model.origin = "";
        scenario.model.layers = 7;
        let query = encode(&scenario);
        assert_eq!(query, "v=3&model=own&layers=7");
        assert_eq!(decode(&query), Decoded { scenario, notices: vec![] });
    }

    #[test]
    fn a_link_of_version_1_is_written_anew_with_the_same_meaning() {
        for query in ["v=1", "v=1&model=13b&gpus=64", "v=1&method=paper&precision=fp32&tp=4&s=512"] {
            let read = decode(query).scenario;
            let written = encode(&read);
            assert!(written.starts_with("v=3&"), "{written}");
            assert_eq!(decode(&written).scenario, read, "{query}");
        }
    }

    #[test]
    fn every_parameter_has_its_own_name() {
        let mut keys: Vec<_> = parameters().iter().map(|parameter| parameter.key).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
