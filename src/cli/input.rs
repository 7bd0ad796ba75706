//! One question as somebody wrote it: a link, a query or a JSON object.
//!
//! All three are read by the rules of [`link`], so that a scenario means the same however it arrives.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::words;
use crate::bounds::excerpt;
use crate::course::lengths::Spread;
use crate::course::networks::Named;
use crate::json::{self, Value};
use crate::nearest::nearest;
use crate::{
    Batching, Field, Origin, Scenario,
    catalogue::{self, AsUsual},
    config_json, link, number, read,
};

/// The longest question, in bytes: 1 MiB.
pub const MAX_LINE_BYTES: usize = json::MAX_JSON_BYTES;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The mark by which the asker knows the answer again.
    pub id: Option<Id>,
    /// The scenario, with defaults for what is absent or unusable.
    pub scenario: Scenario,
    /// What could not be used as it stands, and what was read in a way that should be known.
    pub notices: Vec<Notice>,
    /// The lengths of a file, of which the scenario has three numbers.
    pub lengths: Option<Spread>,
    /// The network of layers that is asked about in the place of a transformer, if the question names one.
    pub network: Option<Named>,
}

/// One or two sentences on a part of a question. The alternate form (`{:#}`) leaves out what stands in its place,
/// for those who use nothing of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    text: String,
    /// The text without what stands in; none where nothing is wrong.
    fault: Option<String>,
}

impl Notice {
    fn new(fault: String, remedy: &str) -> Self {
        Self { text: format!("{fault}{remedy}"), fault: Some(fault) }
    }

    /// A notice that says something worth knowing, while nothing is wrong.
    pub(super) fn known(text: String) -> Self {
        Self { text, fault: None }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.fault.as_ref().filter(|_| f.alternate()).unwrap_or(&self.text))
    }
}

impl From<&link::Notice> for Notice {
    fn from(notice: &link::Notice) -> Self {
        Self { text: notice.to_string(), fault: notice.is_fault().then(|| format!("{notice:#}")) }
    }
}

impl From<&config_json::ConfigNotice> for Notice {
    fn from(note: &config_json::ConfigNotice) -> Self {
        Self::new(note.to_string(), "")
    }
}

impl Question {
    /// The same question with the lengths of a sample, each with how often it occurs. What the question does not say is
    /// that they are padded.
    #[must_use]
    pub fn with_lengths(mut self, sample: &[(u32, u64)]) -> Self {
        if let Some(lengths) = Spread::of(sample) {
            self.scenario.lengths = lengths.told(self.scenario.lengths);
            if self.scenario.lengths.batching == Batching::Equal {
                self.scenario.lengths.batching = Batching::Padded;
            }
            self.lengths = Some(lengths);
        }
        self
    }

    /// The question if all of it was used as it stands and it has an answer.
    ///
    /// # Errors
    /// [`QuestionError::Notices`] with what was not, conflicts of its settings among that.
    pub fn strictly(self) -> Result<Self, QuestionError> {
        let conflicts = self.scenario.conflicts();
        let wrong = self.notices.iter().filter(|notice| notice.fault.is_some()).cloned();
        let wrong: Vec<Notice> =
            wrong.chain(conflicts.into_iter().map(|found| Notice::new(found.message, ""))).collect();
        if wrong.is_empty() { Ok(self) } else { Err(QuestionError::Notices(wrong)) }
    }
}

/// The “id” of a JSON scenario, which its report repeats: a text or a number.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Id {
    /// A text.
    Text(String),
    /// A number; what has more digits than a double is better sent as a text.
    Number(serde_json::Number),
}

/// Why a text is no question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// There is nothing but white space.
    Empty,
    /// It has more than [`MAX_LINE_BYTES`] bytes.
    TooLong,
    /// Its bytes are not UTF-8.
    NotText,
    /// It begins like JSON but is none.
    Json(json::JsonError),
    /// It is JSON, but this kind of value instead of an object.
    NotAnObject(&'static str),
    /// It is neither link nor query nor JSON.
    Neither {
        /// Its first characters.
        given: String,
        /// A query with the model or GPU that it may be the name of.
        nearest: Option<String>,
    },
    /// It names no parameter at all.
    NoParameter {
        /// The first name in it, shortened.
        given: String,
        /// The parameters that this name is like.
        nearest: Vec<&'static str>,
    },
    /// It names a model that nobody knows, and no other answers for it.
    UnknownModel {
        /// What is wrong with it, and with anything else.
        notices: Vec<Notice>,
        /// The models that are most like it, three at most.
        nearest: Vec<&'static str>,
    },
    /// There are notices, and none is wanted; or nothing can stand in for what they speak of.
    Notices(Vec<Notice>),
    /// It asks about a network of layers where only transformers are known.
    NetworkAlone,
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("The line is empty; the default scenario is asked for by “?” or “{}”."),
            Self::TooLong => write!(f, "The line is longer than {} bytes.", number::grouped(MAX_LINE_BYTES as f64)),
            Self::NotText => f.write_str("The line is not valid UTF-8."),
            Self::Json(fault) => write!(f, "This is not JSON: {fault}."),
            Self::NotAnObject(kind) => write!(f, "A scenario is a JSON object in braces; this is {kind}."),
            Self::Neither { given, nearest } => {
                write!(f, "“{given}” is neither a link, nor a query such as {EXAMPLE}, nor a JSON object")?;
                match nearest {
                    Some(query) => write!(f, "; it may stand for {query}."),
                    None => f.write_str("."),
                }
            }
            Self::NoParameter { given, nearest } => {
                write!(f, "“{given}” is not a parameter")?;
                if !nearest.is_empty() {
                    write!(f, " (nearest: {})", link::explained(nearest))?;
                }
                write!(f, ", and no other is given. A query is, for example, {EXAMPLE}; “?” asks for the default.")
            }
            Self::NetworkAlone => write!(
                f,
                "“{}” asks about a network of layers, which is answered alone and with nothing but a batch that fits: \
                 bmax '{}=…&gpu=…'.",
                link::NETWORK,
                link::NETWORK
            ),
            Self::UnknownModel { notices, .. } | Self::Notices(notices) => {
                let faults: Vec<_> = notices.iter().map(|notice| format!("{notice:#}")).collect();
                f.write_str(&faults.join(" "))
            }
        }
    }
}

impl std::error::Error for QuestionError {}

/// A question as it should be.
const EXAMPLE: &str = "model=llama-3.1-8b&gpu=h100-80&gpus=8&s=8192";

/// Reads one question; `own_model`, if there is one, takes the place of the model list, and is trained as usual where the
/// question does not say otherwise.
///
/// # Errors
/// [`QuestionError`] when the text is no link, query or JSON object at all, or names no parameter or a model that nobody
/// knows: the answer to the default scenario would pass for the answer to it. Whatever else is wrong is a notice.
///
/// ```
/// use bmax::cli::question;
/// let asked = question(r#"{"model": "llama-3.1-8b", "s": 8192, "colour": "red"}"#, None)?;
/// assert_eq!(asked.scenario.recipe.sequence, 8192);
/// assert_eq!(asked.notices.len(), 1);
/// assert_eq!(asked.scenario, question("https://example.org/?model=llama-3.1-8b&s=8192", None)?.scenario);
/// # Ok::<(), bmax::cli::QuestionError>(())
/// ```
pub fn question(text: &str, own_model: Option<AsUsual>) -> Result<Question, QuestionError> {
    if text.len() > MAX_LINE_BYTES {
        return Err(QuestionError::TooLong);
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        Err(QuestionError::Empty)
    } else if text.starts_with(['{', '[', '"']) {
        from_json(text, own_model)
    } else {
        let query =
            query_of(text).ok_or_else(|| QuestionError::Neither { given: excerpt(text), nearest: query_with(text) })?;
        // What is damaged behind a name is said in a notice.
        let keys = query.split('&').filter(|pair| !pair.is_empty());
        names_something(keys.filter_map(|pair| Some(form_urlencoded::parse(pair.as_bytes()).next()?.0)))?;
        // What is wrong with the query is said once, by those who read all of it.
        let network = network_of(&link::pairs(query, &mut Vec::new()));
        asked(None, link::decode_with(query, own_model), Vec::new(), network)
    }
}

/// The question that texts ask, where a query says some of it otherwise; `None` for a question that is no query.
pub(super) fn refined(
    found: &read::Reading,
    text: &str,
    own_model: Option<AsUsual>,
) -> Option<Result<Question, QuestionError>> {
    let mut told = Vec::new();
    let mut pairs = link::pairs(query_of(text.trim())?, &mut told);
    // What the question says comes before what the texts say.
    let own_model = own_model.or_else(|| found.own_model().filter(|_| !pairs.iter().any(|(key, _)| key == "model")));
    for (key, value) in link::pairs(&found.query(), &mut Vec::new()) {
        if !pairs.iter().any(|(other, _)| *other == key) {
            pairs.push((key, value));
        }
    }
    let named = pairs.iter().any(|(key, _)| key == "model");
    if let read::Model::Unknown { name, nearest, .. } = &found.model
        && !named
        && own_model.is_none()
    {
        let like = if nearest.is_empty() { String::new() } else { format!(" (nearest: {})", nearest.join(", ")) };
        let fault = format!(
            "Model: “{name}” is neither of the list nor on this machine{like}; give its config.json beside, or model=…."
        );
        let notices = vec![Notice::new(fault, "")];
        return Some(Err(QuestionError::UnknownModel { notices, nearest: nearest.clone() }));
    }
    // What several keys of the texts make is in no link where no input takes it; the question may say it instead.
    let is_lost = |notice: &&link::Notice| match notice {
        link::Notice::Number(refusal, _) => !pairs.iter().any(|(key, _)| key == refusal.input.key()),
        _ => false,
    };
    let lost = found.decoded.notices.iter().filter(is_lost);
    let mut notices: Vec<Notice> = told.iter().chain(lost).map(Notice::from).collect();
    if let read::Model::File(reading) = &found.model {
        notices.extend(reading.notes.iter().map(Notice::from));
    }
    let network = network_of(&pairs);
    Some(asked(None, link::decode_pairs(&pairs, own_model), notices, network))
}

/// Whether a query says which model it is about.
pub(super) fn names_a_model(text: &str) -> bool {
    query_of(text.trim()).is_some_and(|query| link::pairs(query, &mut Vec::new()).iter().any(|(key, _)| key == "model"))
}

/// Refuses names of which none is known. No names at all ask for the default.
fn names_something<'a>(keys: impl Iterator<Item = Cow<'a, str>>) -> Result<(), QuestionError> {
    let mut first = None;
    for key in keys {
        if link::is_parameter(&key) {
            return Ok(());
        }
        first.get_or_insert(key);
    }
    match first {
        None => Ok(()),
        Some(key) => Err(QuestionError::NoParameter { given: excerpt(&key), nearest: link::nearest_parameters(&key) }),
    }
}

/// The query of the model or the GPU that a word is the name of, or nearly so.
fn query_with(word: &str) -> Option<String> {
    // A sentence has the names of models in it by chance.
    if word.contains(char::is_whitespace) {
        return None;
    }
    let model = nearest(word, &mut catalogue::MODELS.iter().map(|row| (row.slug, row.name)));
    let gpu = nearest(word, &mut catalogue::DEVICES.iter().map(|row| (row.slug, row.name)));
    let of = |key: &str, slugs: &[&str]| slugs.first().map(|slug| format!("{key}={slug}"));
    of("model", &model).or_else(|| of("gpu", &gpu))
}

fn asked(
    id: Option<Id>,
    read: link::Decoded,
    mut notices: Vec<Notice>,
    network: Option<String>,
) -> Result<Question, QuestionError> {
    notices.extend(read.notices.iter().map(Notice::from));
    if read.scenario.model.origin == Origin::Unknown {
        let of = |notice: &link::Notice| match notice {
            link::Notice::UnknownModel(_) => Some(notice.nearest()),
            _ => None,
        };
        let named = read.notices.iter().find_map(of);
        if named.is_none() {
            notices.push(Notice::new("Model: nobody knows which one it is.".to_owned(), ""));
        }
        return Err(QuestionError::UnknownModel { notices, nearest: named.unwrap_or_default() });
    }
    let named = network.as_deref().map(|word| (Named::read(word), Named::notices(word)));
    let (network, told) = match named {
        // No other network stands in for one that is not known.
        Some((None, told)) => return Err(QuestionError::Notices(told.iter().map(Notice::from).collect())),
        Some((network, told)) => (network, told),
        None => (None, Vec::new()),
    };
    notices.extend(told.iter().map(Notice::from));
    if network.is_none() {
        notices.extend(words::disagreement(&read.scenario).map(|text| Notice::new(text, "")));
    }
    Ok(Question { id, scenario: read.scenario, notices, lengths: None, network })
}

/// The word of the network that parameters name.
fn network_of(pairs: &[(String, String)]) -> Option<String> {
    pairs.iter().find(|(key, _)| key == link::NETWORK).map(|(_, word)| word.trim().to_owned())
}

/// The query of a link, or the text itself when it is a bare query.
pub(super) fn query_of(text: &str) -> Option<&str> {
    // What follows a “#” belongs to the browser.
    let text = text.split('#').next().unwrap_or_default();
    let (before, query) = text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)));
    let is_bare = before.contains('=');
    if !is_bare && !before.contains(char::is_whitespace) {
        // An address without a query is the page as it opens; but a path without one is some file.
        if before.contains("://") {
            return Some(query.unwrap_or_default());
        }
        if before.is_empty() || before.starts_with('/') {
            return query;
        }
    }
    match query {
        // The name of a file alone, or words that are no question, which their names will tell.
        Some(query) if !is_bare && query.contains('=') => Some(query),
        _ => text.contains('=').then_some(text),
    }
}

fn from_json(text: &str, own_model: Option<AsUsual>) -> Result<Question, QuestionError> {
    let value = json::read(text).map_err(QuestionError::Json)?;
    let Value::Object(entries) = value else { return Err(QuestionError::NotAnObject(value.kind())) };
    names_something(entries.iter().filter(|(key, _)| key != "id").map(|(key, _)| Cow::from(key)))?;
    let mut notices = Vec::new();
    let mut pairs = Vec::with_capacity(entries.len());
    let mut id = None;
    for (key, value) in entries {
        if key == "id" {
            id = id_of(value, &mut notices);
        } else if let Some(word) = word_of(&key, value, &mut notices) {
            pairs.push((key, word));
        }
    }
    asked(id, link::decode_pairs(&pairs, own_model), notices, network_of(&pairs))
}

/// A value as a link would write it; `None` for null, which asks for the default.
fn word_of(key: &str, value: Value, notices: &mut Vec<Notice>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(text),
        Value::Bool(on) => Some(if on { "on" } else { "off" }.to_owned()),
        // Some programs write the whole number 3 as 3.0, which no list of words has.
        Value::Number(text) if Field::from_key(key).is_none() => Some(number::parse(&text).map_or(text, number::plain)),
        Value::Number(text) => Some(text),
        Value::List(_) | Value::Object(_) | Value::NotFinite => {
            let kind = value.kind();
            let fault = format!("“{}” is {kind}; a number or a word belongs there.", excerpt(key));
            notices.push(Notice::new(fault, " Its default is used."));
            None
        }
    }
}

fn id_of(value: Value, notices: &mut Vec<Notice>) -> Option<Id> {
    let kind = value.kind();
    let id = match value {
        Value::Null => return None,
        Value::Text(text) => Some(Id::Text(text)),
        Value::Number(text) => text.parse().ok().map(Id::Number),
        _ => None,
    };
    if id.is_none() {
        let fault = format!("“id” is {kind} that cannot be repeated; it takes a text or a number.");
        notices.push(Notice::new(fault, ""));
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Switch;
    use crate::catalogue::Usual;

    fn read(text: &str) -> Question {
        question(text, None).expect("a question")
    }

    #[test]
    fn link_query_and_json_mean_the_same() {
        let scenario = read("model=llama-3.1-8b&gpus=4&s=8,192&sp=on&tp=2").scenario;
        for text in [
            "?model=llama-3.1-8b&gpus=4&s=8192&sp=on&tp=2",
            " https://example.org/bmax/?model=llama-3.1-8b&gpus=4&s=8192&sp=on&tp=2#levers\r",
            "/bmax/index.html?model=llama-3.1-8b&gpus=4&s=8192&sp=on&tp=2",
            r#"{"model":"llama-3.1-8b","gpus":4,"s":8192,"sp":"on","tp":2}"#,
            r#"{"tp":"2","sp":true,"s":"8 192","gpus":4.0,"model":"llama-3.1-8b","zero":null}"#,
            "\u{feff}{\"model\":\"llama-3.1-8b\",\"gpus\":4e0,\"s\":8192,\"sp\":true,\"tp\":2,\"zero\":3.0}",
        ] {
            let asked = read(text);
            assert_eq!(asked.notices, [], "{text}");
            assert_eq!(asked.scenario, scenario, "{text}");
        }
    }

    #[test]
    fn the_default_is_asked_for_by_an_address_a_question_mark_or_an_empty_object() {
        for text in [
            "?",
            "{}",
            "{\"id\":1}",
            "{\"s\":null}",
            "https://example.org/bmax/",
            "https://example.org/bmax/?#levers",
            "/bmax/?",
            "?embed=chart",
            "v=4",
        ] {
            let asked = read(text);
            assert_eq!((asked.scenario, asked.notices), (Scenario::default(), vec![]), "{text}");
        }
    }

    #[test]
    fn a_question_that_names_no_parameter_is_refused_with_what_is_like_it_and_an_example() {
        for (text, named) in [
            ("foo=1", "“foo” is not a parameter, and no other is given"),
            ("?foo=1&bar=2", "“foo” is not a parameter"),
            ("https://example.org/?foo=1", "“foo” is not a parameter"),
            ("sequence=8192", "“s” for Sequence length"),
            (r#"{"seq_len": 8192}"#, "“s” for Sequence length"),
            (r#"{"id": 1, "foo": null}"#, "“foo” is not a parameter"),
            ("&&=1", "“” is not a parameter"),
        ] {
            let refusal = question(text, None).expect_err(text);
            assert!(matches!(refusal, QuestionError::NoParameter { .. }), "{text}: {refusal}");
            let message = refusal.to_string();
            assert!(message.contains(named) && message.contains(EXAMPLE), "{text}: {message}");
        }
        // One known name is enough, whatever is wrong with its value.
        for text in ["foo=1&s=8192", "s=%zz&foo=1", r#"{"foo": 1, "s": []}"#] {
            assert!(!read(text).notices.is_empty(), "{text}");
        }
        assert_eq!(read(EXAMPLE).notices, []);
    }

    #[test]
    fn what_cannot_be_used_is_named_and_the_rest_is_kept() {
        for (text, name) in [
            (r#"{"gpus":4,"s":[1,[2]]}"#, "“s” is a list"),
            (r#"{"gpus":4,"s":{"s":1}}"#, "“s” is an object"),
            (r#"{"gpus":4,"s":1e999}"#, "Sequence length"),
            (r#"{"gpus":4,"s":-1}"#, "Sequence length"),
            (r#"{"gpus":4,"s":true}"#, "Sequence length"),
            (r#"{"gpus":4,"zero":7}"#, "ZeRO stage"),
            (r#"{"gpus":4,"colour":"red"}"#, "colour"),
            (r#"{"gpus":4,"v":99}"#, "99"),
            (r#"{"gpus":4,"id":[]}"#, "“id” is a list"),
            (r#"{"gpus":4,"id":1e999}"#, "“id” is a number"),
        ] {
            let asked = read(text);
            assert_eq!(asked.scenario.cluster.gpus, 4, "{text}");
            assert_eq!(asked.notices.len(), 1, "{text}: {:?}", asked.notices);
            assert!(asked.notices[0].to_string().contains(name), "{text}: {:?}", asked.notices);
        }
    }

    #[test]
    fn what_is_no_question_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", "empty"),
            (" \t", "empty"),
            ("42", "neither a link"),
            ("what is the biggest batch for llama 8b on h100?", "such as model=llama-3.1-8b&gpu=h100-80&gpus=8"),
            ("llama-3.1-8b?", "neither a link"),
            ("llama3-8b", "it may stand for model=llama-3.1-8b."),
            ("meta-llama/Llama-3.1-8B", "it may stand for model=llama-3.1-8b."),
            ("h100", "it may stand for gpu=h100-80."),
            ("/data/config.json", "neither a link"),
            ("see https://example.org/ please", "neither a link"),
            ("#levers", "neither a link"),
            ("[]", "a list"),
            ("\"s=1\"", "a text"),
            ("{", "line 1, column 1: the text ends inside an object"),
            (r#"{"s":1,"s":2}"#, "second time"),
        ] {
            let message = question(text, None).expect_err(text).to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
        assert!(matches!(question(&"[".repeat(100_000), None), Err(QuestionError::Json(_))));
        assert_eq!(question(&"s".repeat(MAX_LINE_BYTES + 1), None), Err(QuestionError::TooLong));
    }

    #[test]
    fn a_model_of_ones_own_takes_the_place_of_the_list_and_is_refined() {
        let mut own = Scenario::workshop().model;
        own.origin = crate::Origin::Own;
        own.layers = 7;
        let own = AsUsual { model: own, usual: Usual::of(own.parameters, Switch::Off) };
        let asked = question("v=3&hidden=1024&model=70b", Some(own)).expect("a question");
        assert_eq!((asked.scenario.model.layers, asked.scenario.model.hidden), (7, 1024));
        // The row of the list is passed over, and seven billion parameters are not those of the matrices.
        assert_eq!(asked.notices.len(), 2);
    }

    #[test]
    fn strictly_a_link_of_which_the_count_has_changed_is_used_as_it_stands() {
        let old = "v=2&model=mixtral-8x7b&gpus=1&adapter=qlora";
        let asked = read(old).strictly().expect("nothing is wrong with it");
        assert_eq!(asked.notices.len(), 2, "what has changed is said all the same");
        let refused = read(&format!("{old}&s=0")).strictly().unwrap_err();
        assert!(matches!(&refused, QuestionError::Notices(faults) if faults.len() == 1), "{refused:?}");
    }
}
