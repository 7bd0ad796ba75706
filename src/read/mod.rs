//! “Paste your run”: configurations, commands and programs of training frameworks as a scenario, and error texts about
//! memory as what they say.
//!
//! Texts are recognised by what is in them (`recognise.rs`), become entries of a path, a value and a line whatever they
//! are written in (`syntax/`), and are explained by one table a format (`format/`), which also says what the program does
//! where the text is silent. What keys say alone and together becomes parameters of a link (`combine.rs`), which the
//! link's own readers read. Every key is in one of four lists afterwards: [`Understood`]. Nothing is run, no file is
//! opened, and nothing of a text is shown but numbers, words of the tables and shortened names (`secrets.rs`).
//!
//! ```
//! use bmax::read::{self, Text};
//!
//! let run = "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\nadapter: lora\nlora_r: 32\n";
//! let reading = read::read(&[Text::pasted(run)]);
//! assert_eq!(reading.decoded.scenario.recipe.sequence, 4_096);
//! assert_eq!((reading.inputs.get("rank"), reading.inputs.get("b")), (Some("32"), Some("2")));
//! // Nobody says the optimizer, and axolotl takes this one.
//! assert!(reading.understood.silent.iter().any(|silent| silent.value == "adamw_torch_fused"));
//! ```

mod combine;
mod commands;
mod explain;
mod facts;
mod format;
mod hub;
mod out_of_memory;
mod readers;
mod recognise;
mod rewrite;
pub(crate) mod secrets;
mod syntax;
#[cfg(test)]
mod tests;
mod told;
mod understood;

pub use explain::table_sizes;
pub use format::Format;
pub use format::weights::header_bytes;
pub use hub::{FullName, is_id};
pub use out_of_memory::{Backend, Cause, Holder, Holds, OutOfMemory, Report, Tensor, tensors_of_size};
pub use readers::{Needs, Readers};
pub use recognise::Unread;
pub use rewrite::{Rewritten, changes, rewrite};
pub use syntax::{Fault, Syntax, SyntaxError};
pub use told::{About, Told};
pub use understood::{NotCounted, NotUnderstood, Place, Silent, Understood, Used, Why};

use std::fmt;

use form_urlencoded::Serializer;

use crate::Field;
use crate::catalogue::{self, AsUsual, ModelRow};
use crate::config_json::{self, ConfigError};
use crate::link::{self, Decoded};
use crate::nearest::offers;
use combine::{Claim, Claims};
use explain::{Explained, Outcome};
use format::Meaning;
use hub::OwnSizes;
use recognise::{Recognised, Section};

/// A text that somebody gave.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The name of the file; empty for what was pasted.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// A pasted text.
    pub const fn pasted(text: &'a str) -> Self {
        Self { name: "", bytes: text.as_bytes() }
    }

    /// A file.
    pub const fn file(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes }
    }
}

/// What one text is.
#[derive(Clone, Debug, PartialEq)]
pub struct TextIs {
    /// Its name, without the way to it; empty for what was pasted.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How many keys it has. Each is in one list of [`Understood`].
    pub keys: usize,
}

/// What a text is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Texts of these formats, in their order, none twice.
    Formats(Vec<Format>),
    /// A model’s `config.json`.
    Model,
    /// A model’s `config.json` that is refused.
    Refused(Box<ConfigError>),
    /// The name of a model.
    Name,
    /// What a program or a tool says about memory.
    Memory,
    /// Nothing that is read, and why.
    Unread(Unread),
}

/// The model that texts name or describe.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Model {
    /// None of them does.
    #[default]
    NotNamed,
    /// A row of the catalogue.
    Listed(&'static ModelRow),
    /// That of a `config.json`.
    File(Box<config_json::Reading>),
    /// One that the catalogue does not have. No other model answers for it.
    Unknown {
        /// The last part of its name, shortened.
        name: String,
        /// Models that the name is like, three at most.
        nearest: Vec<&'static str>,
        /// Its name in full, by which it may be looked for.
        full: FullName,
    },
}

/// Parameters of a link, none twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs(Vec<(&'static str, String)>);

impl Inputs {
    /// The value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == key).map(|(_, value)| value.as_str())
    }

    /// Each with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// Whether the sizes of a model are among them.
    pub fn describe_a_model(&self) -> bool {
        ["hidden", "layers", "heads"].iter().all(|key| self.get(key).is_some())
    }

    fn word(&self, key: &str) -> Option<String> {
        self.get(key).map(|value| format!("{key}={value}"))
    }
}

/// What a text says about the memory of a GPU; `None` where it says nothing. Sizes are found in the error of PyTorch’s allocator,
/// in the table of `nvidia-smi` and in PyTorch’s summary of its allocator.
pub fn about_memory(text: &str) -> Option<OutOfMemory> {
    out_of_memory::read(text)
}

/// What several texts together say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// What each text is, by name.
    pub texts: Vec<TextIs>,
    /// What became of every key.
    pub understood: Understood,
    /// What they say, as parameters of a link, without the model.
    pub inputs: Inputs,
    /// The model.
    pub model: Model,
    /// What a text says about the memory of a GPU, the first one where several do.
    pub out_of_memory: Option<OutOfMemory>,
    /// The scenario, with the site’s defaults for what nobody says.
    pub decoded: Decoded,
}

impl Reading {
    /// The query of a link that says the same, but for a model of a file.
    pub fn query(&self) -> String {
        query(&self.inputs, &self.model)
    }

    /// The model of a `config.json`, with how it is usually trained.
    pub fn own_model(&self) -> Option<AsUsual> {
        if let Model::File(reading) = &self.model { Some(reading.as_usual()) } else { None }
    }

    /// Inputs that decide the answer most and that nobody says: their keys in links.
    pub fn open(&self) -> Vec<&'static str> {
        let unknown = matches!(self.model, Model::NotNamed | Model::Unknown { .. });
        let model = (unknown && !self.inputs.describe_a_model()).then_some("model");
        let others = ["gpu", "gpus", "s"].into_iter().filter(|key| self.inputs.get(key).is_none());
        model.into_iter().chain(others).collect()
    }

    /// Whether any text says anything of a run or of a model.
    pub fn says_anything(&self) -> bool {
        !self.inputs.0.is_empty() || self.model != Model::NotNamed
    }
}

fn query(inputs: &Inputs, model: &Model) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("v", &link::VERSION.to_string());
    if let Model::Listed(row) = model {
        query.append_pair("model", row.slug);
    } else if inputs.describe_a_model() {
        query.append_pair("model", link::OWN);
    }
    query.extend_pairs(inputs.iter());
    query.finish()
}

/// A section with the text that it is of.
struct Placed {
    text: String,
    section: Section,
    meaning: &'static Meaning,
    keys: Vec<Explained>,
}

impl Placed {
    fn new(text: String, section: Section, meaning: &'static Meaning) -> Self {
        let keys = explain::keys(&section, meaning);
        Self { text, section, meaning, keys }
    }
}

/// Reads texts that belong together. The order in which they come makes no difference.
pub fn read(texts: &[Text]) -> Reading {
    Readers::all().read(texts).unwrap_or_else(|_| reading(RecognisedTexts::default()))
}

/// Texts after each of them was recognised.
#[derive(Default)]
struct RecognisedTexts {
    /// The name of each, in their order.
    names: Vec<String>,
    /// All that they are, each under its name and with what the formats of its sections mean.
    parts: Vec<(String, Recognised, Vec<&'static Meaning>)>,
}

/// Recognises texts, in an order that does not depend on theirs.
fn recognised(texts: &[Text], readers: Readers) -> Result<RecognisedTexts, Needs> {
    let mut texts: Vec<(String, &[u8])> = texts.iter().map(|text| (secrets::file(text.name), text.bytes)).collect();
    texts.sort();
    let mut all = RecognisedTexts::default();
    for (name, bytes) in texts {
        let found = match format::weights::header(bytes).or_else(|| std::str::from_utf8(bytes).ok()) {
            Some(text) => recognise::recognise_all(text, readers)?,
            None => vec![Recognised::Unread(Unread::Binary)],
        };
        for recognised in found {
            let sections = if let Recognised::Sections(sections) = &recognised { sections.as_slice() } else { &[] };
            let meanings = sections.iter().map(|section| readers.meaning(section.format)).collect::<Result<_, _>>()?;
            all.parts.push((name.clone(), recognised, meanings));
        }
        all.names.push(name);
    }
    Ok(all)
}

/// Puts together what recognised texts say.
fn reading(RecognisedTexts { names, parts }: RecognisedTexts) -> Reading {
    let mut kinds = Vec::new();
    let mut sections = Vec::new();
    let mut model = Model::NotNamed;
    let mut own_sizes: OwnSizes = &[];
    let mut memory: Option<OutOfMemory> = None;
    for (name, recognised, meanings) in parts {
        let mut count = 0;
        let kind = match recognised {
            Recognised::Sections(found) => {
                let mut formats: Vec<Format> = found.iter().map(|section| section.format).collect();
                formats.sort_unstable();
                formats.dedup();
                sections.extend(found.into_iter().zip(meanings).map(|(section, meaning)| {
                    let placed = Placed::new(name.clone(), section, meaning);
                    count += placed.keys.len();
                    placed
                }));
                Kind::Formats(formats)
            }
            Recognised::Model(read) => match *read {
                Ok(reading) => {
                    // Of two descriptions of a model the first counts.
                    if !matches!(model, Model::File(_)) {
                        model = Model::File(Box::new(reading));
                    }
                    Kind::Model
                }
                Err(refusal) => Kind::Refused(Box::new(refusal)),
            },
            Recognised::Name(name) => {
                if model == Model::NotNamed {
                    (model, own_sizes) = named(&name);
                }
                Kind::Name
            }
            Recognised::Memory(found) => {
                memory.get_or_insert(*found);
                Kind::Memory
            }
            Recognised::Unread(why) => Kind::Unread(why),
        };
        kinds.push(TextIs { name, kind, keys: count });
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // What counts where two say different things: the order of the formats, and what names a file before that file.
    sections.sort_by_key(|placed| (placed.section.format, placed.section.files.is_empty()));
    let own = if let Model::File(reading) = &model { Some(reading.as_usual()) } else { None };
    let Together { understood, mut inputs, refused, model: told } =
        together(&sections, &names, memory.as_ref(), own.map(|own| own.model));
    if let (Model::NotNamed, Some(name)) = (&model, told) {
        (model, own_sizes) = named(&name);
    }
    if matches!(model, Model::Listed(_)) {
        let unsaid = own_sizes.iter().filter(|(key, _)| inputs.get(key).is_none());
        let unsaid: Vec<_> = unsaid.map(|(key, value)| (*key, (*value).to_owned())).collect();
        inputs.0.extend(unsaid);
    }
    // The reader is told what is refused; the link does not have it.
    let said = Inputs([inputs.0.clone(), refused].concat());
    let decoded = link::decode_with(&query(&said, &model), own);
    Reading { texts: kinds, understood, inputs, model, out_of_memory: memory, decoded }
}

/// The model of a name, and the sizes that are its own.
fn named(name: &str) -> (Model, OwnSizes) {
    match hub::known(name) {
        Some(known) => (Model::Listed(known.row), known.own),
        None => {
            let known = &mut catalogue::MODELS.iter().map(|row| (row.slug, row.name));
            let last = hub::id(name).rsplit(['/', '\\']).next().unwrap_or_default();
            let (nearest, full) = (offers("model", last, known), FullName::new(name));
            (Model::Unknown { name: secrets::model(name), nearest, full }, &[])
        }
    }
}

/// A key that says something.
struct Said {
    place: Place,
    value: String,
    /// What it says, each with whether it counts.
    claims: Vec<(Claim, bool)>,
}

/// All sections as one.
struct Together {
    /// What became of each key.
    understood: Understood,
    /// The parameters of a link.
    inputs: Inputs,
    /// Parameters whose value no input takes, with that value: several keys make it, each of which is in order.
    refused: Vec<(&'static str, String)>,
    /// The name of the model.
    model: Option<String>,
}

/// Why an input refuses the value of a parameter, if it does.
fn refusal(key: &str, value: &str) -> Option<String> {
    Some(Field::from_key(key)?.read(value).err()?.to_string())
}

fn together(sections: &[Placed], names: &[&str], memory: Option<&OutOfMemory>, own: Option<crate::Model>) -> Together {
    let mut claims = Claims::default();
    let mut understood = Understood::default();
    // Nothing else says which GPU it is; how many there are is said better by a command.
    if let Some(row) = memory.and_then(|memory| memory.devices.first()) {
        claims.take(&Claim::Link("gpu", row.slug.to_owned()));
    }
    let has_deepspeed = sections.iter().any(|placed| placed.section.format == Format::DeepSpeed);
    let mut model = None;
    // What is said counts before what is always so, and that before what programs take by themselves.
    let mut said: Vec<Said> = Vec::new();
    let mut models = Vec::new();
    for placed in sections {
        for (path, line) in &placed.section.files {
            let name = secrets::file(path);
            if !names.contains(&name.as_str()) {
                let place = Place { text: placed.text.to_owned(), line: *line, key: String::new() };
                understood.missing.push((place, name));
            }
        }
        for key in &placed.keys {
            let place = Place { text: placed.text.to_owned(), line: key.line, key: key.key.clone() };
            let value = key.value.clone();
            match &key.outcome {
                Outcome::Claims(all) => {
                    let all = all.iter().map(|claim| (claim.clone(), claims.take(claim))).collect();
                    said.push(Said { place, value, claims: all });
                }
                Outcome::File(by_name, always, name) => {
                    let by_name = if has_deepspeed { &[][..] } else { by_name.as_slice() };
                    let all = always.iter().chain(by_name);
                    let all = all.map(|claim| (claim.clone(), claims.take(claim))).collect();
                    if !has_deepspeed {
                        understood.missing.push((place.clone(), name.clone()));
                    }
                    said.push(Said { place, value, claims: all });
                }
                Outcome::Model(name, all) => {
                    let first = model.get_or_insert_with(|| name.clone());
                    let counts = *first == *name;
                    let all: Vec<Claim> = all.iter().filter(|claim| claims.take(claim)).cloned().collect();
                    models.push((place, counts, all));
                }
                Outcome::NoMatter => understood.no_matter.push(place),
                Outcome::NotCounted(why) => understood.not_counted.push(NotCounted { place, value, why }),
                Outcome::NotUnderstood(why) => {
                    understood.not_understood.push(NotUnderstood { place, why: why.clone() })
                }
            }
        }
    }
    let mut silent = Vec::new();
    for placed in sections {
        // What is so in any case stands for itself: no key says it.
        let taken: Vec<Claim> = explain::always(&placed.section, placed.meaning)
            .into_iter()
            .filter(|claim| claims.is_open(claim))
            .collect();
        for claim in &taken {
            claims.take(claim);
        }
        let source = placed.meaning.tables.first().map_or("", |table| table.source);
        silent.push((placed.section.format, explain::Unsaid { key: "", value: "", source, claims: Vec::new() }, taken));
    }
    for placed in sections {
        for unsaid in explain::unsaid(&placed.section, placed.meaning) {
            let taken: Vec<Claim> = unsaid.claims.iter().filter(|claim| claims.is_open(claim)).cloned().collect();
            for claim in &taken {
                claims.take(claim);
            }
            silent.push((placed.section.format, unsaid, taken));
        }
    }
    if let Some(gpus) = memory.and_then(|memory| memory.gpus) {
        claims.take(&Claim::Count(facts::Count::Visible, gpus.into()));
    }
    let network = model.as_deref().and_then(hub::known);
    let known = own.or_else(|| network.map(|network| network.row.model));
    let saved = claims.saved(known.as_ref());
    let (refused, taken): (Vec<_>, Vec<_>) = claims
        .inputs(known.map(|model| model.layers), saved)
        .into_iter()
        .partition(|(key, value)| refusal(key, value).is_some());
    let inputs = Inputs(taken);
    let became = |all: &mut dyn Iterator<Item = &Claim>| {
        let mut words: Vec<String> = Vec::new();
        for claim in all {
            let keys = claim.concerns().into_iter();
            words.extend(
                keys.filter(|key| inputs.get(key).is_some_and(|value| claim.explains(key, value)))
                    .filter_map(|key| inputs.word(key)),
            );
        }
        words.sort();
        words.dedup();
        words
    };
    for Said { place, value, claims: all } in said {
        let words = became(&mut all.iter().map(|(claim, _)| claim));
        let concerned = all.iter().filter(|(_, counts)| *counts).flat_map(|(claim, _)| claim.concerns());
        let why = concerned
            .filter_map(|key| refused.iter().find(|(other, _)| *other == key))
            .find_map(|(key, value)| refusal(key, value));
        if let (true, Some(why)) = (words.is_empty(), why) {
            understood.not_understood.push(NotUnderstood { place, why: Why::Input(why) });
        } else if all.iter().any(|(claim, _)| claim.is_of_files())
            && saved != Some(combine::Saved::Same)
            && words.is_empty()
        {
            understood.not_counted.push(NotCounted { place, value, why: combine::OTHER_WEIGHTS });
        } else if let (true, Some(why)) = (words.is_empty(), all.iter().find_map(|(claim, _)| claims.uncounted(claim)))
        {
            understood.not_counted.push(NotCounted { place, value, why });
        } else if words.is_empty() {
            understood.no_matter.push(place);
        } else {
            let overruled = all.iter().any(|(_, counts)| !counts);
            understood.used.push(Used { place, value, became: words, overruled });
        }
    }
    for (place, counts, all) in models {
        let words = became(&mut all.iter());
        let word = network.map(|known| format!("model={}", known.row.slug));
        let sizes = network.into_iter().flat_map(|known| known.own.iter().map(|(key, value)| format!("{key}={value}")));
        let value = model.as_deref().map(secrets::model).unwrap_or_default();
        understood.used.push(Used {
            place,
            value,
            became: word.into_iter().chain(sizes).chain(words).collect(),
            overruled: !counts,
        });
    }
    for (format, unsaid, taken) in silent {
        let became = became(&mut taken.iter());
        if !became.is_empty() {
            let explain::Unsaid { key, value, source, .. } = unsaid;
            understood.silent.push(Silent { format, key, value, became, source });
        }
    }
    understood.used.sort_by(|one, other| one.place.cmp(&other.place));
    understood.no_matter.sort();
    understood.not_counted.sort_by(|one, other| one.place.cmp(&other.place));
    understood.not_understood.sort_by(|one, other| one.place.cmp(&other.place));
    Together { understood, inputs, refused, model }
}

/// A text of another program that was given where a `config.json` belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Aside {
    /// What it is.
    pub format: Format,
    /// What became of its keys.
    pub understood: Understood,
    /// The model that it names, without its owner; empty where it names none.
    pub model: String,
}

/// Why a text that stands where a `config.json` belongs is none.
#[derive(Clone, Debug, PartialEq)]
pub enum NoConfig {
    /// It is a text of another program: how a model is trained, how its tokens are made.
    Aside(Box<Aside>),
    /// It is refused for what is in it.
    Refused(ConfigError),
}

impl fmt::Display for NoConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aside(aside) => aside.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

/// Reads the text of a `config.json`, and says what a text is that is none. [`config_json::read`] knows no other program,
/// and none of their tables.
///
/// # Errors
/// [`NoConfig`] for a text of another program, and for all that [`config_json::read`] refuses.
pub fn config(text: &str) -> Result<config_json::Reading, NoConfig> {
    config_json::read(text).map_err(|refusal| {
        // What is too long to be read is not looked at again.
        let is_limit = matches!(&refusal, ConfigError::Json(fault) if fault.reason.is_limit());
        match if is_limit { None } else { aside_of(text) } {
            Some(aside) => NoConfig::Aside(Box::new(aside)),
            None => NoConfig::Refused(refusal),
        }
    })
}

fn aside_of(text: &str) -> Option<Aside> {
    let Ok(Recognised::Sections(found)) = recognise::recognise(text, Readers::all()) else { return None };
    let format = found.first()?.format;
    let placed = |section: Section| {
        let meaning = Readers::all().meaning(section.format).ok()?;
        Some(Placed::new(String::new(), section, meaning))
    };
    let sections: Vec<Placed> = found.into_iter().filter_map(placed).collect();
    let Together { understood, model, .. } = together(&sections, &[], None, None);
    let model = model.as_deref().map(secrets::model).unwrap_or_default();
    Some(Aside { format, understood, model })
}

impl Aside {
    /// What its keys say, as parameters of a link, none twice. What its program takes by itself is not among them.
    pub fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = Vec::new();
        for word in self.understood.used.iter().flat_map(|used| used.became.iter()) {
            if !words.contains(&word.as_str()) && !word.starts_with("model=") {
                words.push(word);
            }
        }
        words
    }
}

impl fmt::Display for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "This is {}, and no config.json of a model.", self.format.name())?;
        let words = self.words();
        if !words.is_empty() {
            write!(f, " In the words of a link it says {}.", words.join("&"))?;
        }
        let uncounted: Vec<&str> =
            self.understood.not_counted.iter().take(3).map(|one| one.place.key.as_str()).collect();
        if !uncounted.is_empty() {
            write!(f, " It also has what is not counted: {}.", uncounted.join(", "))?;
        }
        if !self.model.is_empty() {
            write!(f, " Its model is “{}”.", self.model)?;
        }
        f.write_str(" The sizes of a model stand in its config.json, beside its weights.")
    }
}
