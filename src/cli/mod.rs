//! The command line: text in, tables or JSON out.
//!
//! A [`question`] is a link, a query or a JSON object, read by the rules of [`link`](crate::link);
//! a [`report`] says everything about it. [`run`] is the program around them. The schemas of both
//! are in `schema/`, made from the same tables and types.

mod arguments;
mod comparison;
mod input;
mod lines;
mod local;
mod network;
mod others;
mod page;
mod pasted;
mod report;
pub mod schema;
mod table;
mod trace;
mod values;
mod words;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

pub use arguments::{ArgumentError, Document, Reading, Task, TextSource};
pub use comparison::{BucketChange, Change, Comparison, EntryChange, Side, comparison, text as comparison_text};
pub use input::{Id, MAX_LINE_BYTES, Notice, Question, QuestionError, question};
pub use lines::answer_lines;
pub use network::{Batch, Moment, NetworkReport, NetworkStep, network_report, network_text};
pub use others::{Counted, Estimator, Missing, Most, Others, Own, Part, Place, others, text as others_text};
pub use page::text;
pub use pasted::{
    KeyPlace, MissingFile, Pasted, PastedMemory, PastedText, SilentKey, UncountedKey, UnknownKey, UsedKey, pasted,
    text as pasted_text,
};
pub use report::{
    Accumulation, Answer, AssumedSpeed, Balanced, Buckets, Closest, Conflict, Cost, Counters, Depth, Entry, Estimate,
    Failing, Failure, Infeasible, Instant, Lengths, Lever, Line, OtherMethod, Outcome, ParameterCount, Peak, Plan,
    Range, Refused, Report, Room, Solve, Source, Step, Way, WayOut, Ways, line, report,
};
pub use values::{Number, Parameters, Value};

use crate::course::lengths;
use crate::export::Target;
use crate::tape::NotCounted;
use crate::{config_json, export, format, json, number};

/// How the program is used, with a line for each file that it writes.
pub fn help() -> String {
    let targets =
        Target::ALL.iter().map(|target| format!("  {:14} {}\n", target.key(), target.describe())).collect::<String>();
    HELP.replace("@TARGETS@\n", &targets)
}

/// [`help`] without the files that it writes.
const HELP: &str = "\
How many sequences one GPU can train on at once, why, and what to change.

  bmax '<link, query or JSON scenario>'   answer one question with tables
  bmax --json '<...>'                     answer it with JSON
  bmax --config config.json ['<...>']     take the model from a Hugging Face config.json
  bmax --lengths FILE ['<...>']           take lengths that vary from a file, or from standard input (“-”)
  bmax --export TARGET ['<...>']          write it for a training framework, or as a script that measures it
  bmax --compare '<...>' '<...>'          say what turns one into the other, and what that does to the memory;
                                          one link with vs is enough
  bmax --others ['<...>']                 say what the formulas of other estimators make of it, and why they differ
  bmax --trace ['<...>']                  write what two training steps ask PyTorch’s allocator, event by event
  bmax FILE... ['<...>']                  read configurations, commands and error texts of training programs together,
                                          say what became of every key, and answer; a query refines what they say;
                                          a model that is not listed is looked for in the local Hugging Face cache
  bmax -- COMMAND...                      read the command of a run: accelerate launch, torchrun, deepspeed, python, ...
  bmax --read FILE|TEXT|-... ['<...>']    the same, also from standard input or from a text; with --json what was read
                                          with the answer, as JSON
  bmax [--full] < questions               answer a question a line with JSON, a line each
  bmax --schema [scenario|report|comparison|others|read]
                                          print the JSON Schema of what is read and written

A query is that of the page's links: 'model=llama-3.1-8b&gpu=h100-80&gpus=8&s=8192'.
'network=resnet-50&gpu=rtx-3090' asks about a network of layers in the place of a transformer.
A JSON scenario has the same keys: '{\"model\": \"llama-3.1-8b\", \"gpus\": 8, \"s\": 8192}'.

TARGET is one of
@TARGETS@

  --page URL  the page that links in exported files lead to; without it they are the query alone
  --strict    exit with 1 instead of answering when anything was not used exactly as it stands or has no answer
  --full      levers, solved quantities and the plan for every line, too; one question has them always
  --require-fit  exit with 3 where the micro-batch that is asked about does not fit, or none does
  --          what follows is no option: a question, or a command of several words
  -h, --help  -V, --version

It exits with 0 when it answered (“does not fit” is an answer, and so are the failures among lines),
1 when a question or a file cannot be used or a model is not known, 2 when the arguments cannot be understood, and 3
with --require-fit where it does not fit.
With --strict a line with a notice, or without an answer because its settings conflict, is a failure, and it
exits with 1 when any line failed.
";

/// It answered.
const ANSWERED: u8 = 0;
/// The question, a file or a stream cannot be used.
const UNUSABLE: u8 = 1;
/// The arguments cannot be understood.
const MISUSED: u8 = 2;
/// It answered that it does not fit, and that was asked.
const DOES_NOT_FIT: u8 = 3;

/// Runs the program with the arguments behind its name, and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let task = match arguments::task(arguments) {
        Ok(task) => task,
        Err(misuse) => {
            complain(&format!("{misuse}; bmax --help tells what there is"));
            return MISUSED;
        }
    };
    match carry_out(task) {
        Ok(Fit::NotAsked | Fit::Fits) => ANSWERED,
        Ok(Fit::DoesNot) => DOES_NOT_FIT,
        // Whoever reads the output has enough of it.
        Err(CommandError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => ANSWERED,
        Err(trouble) => {
            match &trouble {
                CommandError::Question(
                    QuestionError::Notices(notices) | QuestionError::UnknownModel { notices, .. },
                ) => {
                    notices.iter().for_each(|notice| complain(&format!("{notice:#}")));
                }
                other => complain(&other.to_string()),
            }
            UNUSABLE
        }
    }
}

/// Whether what was asked about fits.
enum Fit {
    NotAsked,
    Fits,
    DoesNot,
}

/// A message is worth an attempt; nothing is left to do when even that fails.
fn complain(message: &str) {
    let _ = writeln!(io::stderr(), "bmax: {message}");
}

/// Why a task is not carried out.
enum CommandError {
    /// The question.
    Question(QuestionError),
    /// A file that cannot be read.
    File(String, io::Error),
    /// A file that describes no model.
    Config(String, crate::read::NoConfig),
    /// A file that holds no lengths.
    Lengths(String, lengths::PastedError),
    /// A text that is not read, and why.
    Text(String),
    /// A question beside texts that is no query.
    NoQuery,
    /// A file that is no text.
    NotText(String),
    /// A file of more bytes than are read: how many it has, where that can be told, and how many are read.
    TooLarge { path: String, has: Option<u64>, most: usize },
    /// A step that is not played, and why.
    NotPlayed(NotCounted),
    /// Lines, this many, among others that were answered.
    Lines(u64),
    /// Standard input or output.
    Stream(io::Error),
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Question(refusal) => refusal.fmt(f),
            Self::Lines(1) => f.write_str("one line was not answered"),
            Self::Lines(count) => write!(f, "{count} lines were not answered"),
            Self::File(path, error) => write!(f, "{path}: {error}"),
            Self::Config(path, refusal) => write!(f, "{path}: {refusal}"),
            Self::Lengths(path, refusal) => write!(f, "{path}: {refusal}"),
            Self::Text(why) => f.write_str(why),
            Self::NoQuery => f.write_str("beside files a question is a query, such as gpu=h100-80&gpus=8"),
            Self::NotText(path) => write!(f, "{path} is not valid UTF-8"),
            Self::TooLarge { path, has, most } => {
                write!(f, "{} has ", if path == "-" { "standard input" } else { path })?;
                match has {
                    Some(bytes) => write!(f, "{} bytes", number::grouped(*bytes as f64))?,
                    None => f.write_str("more bytes than are read")?,
                }
                write!(f, "; at most {} are read", number::grouped(*most as f64))
            }
            Self::NotPlayed(reason) => write!(f, "there is no trace: {reason}; without --trace there is an answer"),
            Self::Stream(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Stream(error)
    }
}

fn carry_out(task: Task) -> Result<Fit, CommandError> {
    let mut output = io::stdout().lock();
    let mut fit = Fit::NotAsked;
    match task {
        Task::Help => output.write_all(help().as_bytes())?,
        Task::Version => writeln!(output, "bmax {}", env!("CARGO_PKG_VERSION"))?,
        Task::Schema(document) => write_json(
            &mut output,
            &match document {
                Document::Scenario => schema::scenario(),
                Document::Report => schema::report(),
                Document::Comparison => schema::comparison(),
                Document::Others => schema::others(),
                Document::Read => schema::read(),
                Document::All => schema::all(),
            },
        )?,
        Task::One { question, reading, json, read: says_what_was_read, full, require_fit } => {
            let pasted = pasted_texts(&question, &reading)?;
            let question = question_of(&question, &reading, pasted.as_ref());
            if let (Some(texts), false) = (&pasted, json) {
                let scenario = question.as_ref().ok().map(|question| &question.scenario);
                output.write_all(pasted_text(&texts.found, scenario, full).as_bytes())?;
            }
            if let (true, Err(CommandError::Question(refusal))) = (json, &question) {
                match pasted.as_ref().filter(|_| says_what_was_read) {
                    Some(texts) => write_json(&mut output, &self::pasted(&texts.found, None, None))?,
                    None => write_json(&mut output, &Failure::of(None, refusal))?,
                }
            }
            let question = question?;
            let fits = if let Some(named) = &question.network {
                let report = network_report(named, &question);
                let text = || network_text(&report, &question.scenario);
                if json {
                    write_json(&mut output, &report)?
                } else {
                    output.write_all(text().as_bytes())?
                }
                report.answer.b_max.is_some()
            } else {
                let report = report(&question, Depth::Full);
                let fits = matches!(&report.answer, Answer::Fits(room) if question.scenario.recipe.batch <= room.b_max);
                match pasted.as_ref().filter(|_| says_what_was_read) {
                    Some(texts) if json => {
                        write_json(&mut output, &self::pasted(&texts.found, Some(&question.scenario), Some(report)))?
                    }
                    _ if json => write_json(&mut output, &report)?,
                    _ => output.write_all(text(&report).as_bytes())?,
                }
                fits
            };
            if require_fit {
                fit = if fits { Fit::Fits } else { Fit::DoesNot };
            }
        }
        Task::Compare { questions: [before, after], left_out, reading, json } => {
            if left_out > 0 {
                let more = format::counted(left_out as u64, "more configuration", "more configurations");
                complain(&format!("the link pins {more}; the first is compared here, and the page shows all"));
            }
            let compared = comparison(&asked(&before, &reading)?, &asked(&after, &reading)?);
            if json {
                write_json(&mut output, &compared)?;
            } else {
                output.write_all(comparison_text(&compared).as_bytes())?;
            }
        }
        Task::Others { question, reading, json } => {
            let question = asked(&question, &reading)?;
            if json {
                write_json(&mut output, &others(&question))?;
            } else {
                output.write_all(others_text(&question).as_bytes())?;
            }
        }
        Task::Trace { question, reading } => {
            let question = asked(&question, &reading)?;
            // A trace is read by programs.
            question.notices.iter().for_each(|notice| complain(&notice.to_string()));
            trace::write(&question, &mut output)?.map_err(CommandError::NotPlayed)?;
        }
        Task::Export { target, question, reading, page } => {
            let question = asked(&question, &reading)?;
            // A file that goes elsewhere has no place for them.
            for notice in &question.notices {
                complain(&notice.to_string());
            }
            output.write_all(export::write(target, &question.scenario, &page).as_bytes())?;
        }
        Task::Lines { full, strict } => {
            let input = io::stdin().lock();
            if input.is_terminal() {
                complain("a link, a query or a JSON scenario a line, please; bmax --help tells more");
            }
            let depth = if full { Depth::Full } else { Depth::Brief };
            let failures = answer_lines(input, &mut output, depth, strict)?;
            if strict && failures > 0 {
                return Err(CommandError::Lines(failures));
            }
        }
    }
    output.flush()?;
    Ok(fit)
}

fn write_json(output: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    let mut output = io::BufWriter::new(output);
    serde_json::to_writer_pretty(&mut output, value)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// A question about a transformer, read as is wanted.
fn asked(asked: &str, reading: &Reading) -> Result<Question, CommandError> {
    let question = read(asked, reading)?;
    if question.network.is_some() { Err(CommandError::Question(QuestionError::NetworkAlone)) } else { Ok(question) }
}

/// The question in a text, read as is wanted, with the texts that it refines.
fn read(asked: &str, reading: &Reading) -> Result<Question, CommandError> {
    question_of(asked, reading, pasted_texts(asked, reading)?.as_ref())
}

/// What texts say together.
struct Texts {
    found: crate::read::Reading,
    /// Where the `config.json` of the model was found that the texts name and do not describe.
    model_from: Option<local::Source>,
}

/// What texts say together; none where there are none.
fn pasted_texts(asked: &str, reading: &Reading) -> Result<Option<Texts>, CommandError> {
    if reading.texts.is_empty() {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for source in &reading.texts {
        texts.push(match source {
            TextSource::Pasted(text) => (String::new(), text.clone().into_bytes()),
            TextSource::Input => (String::new(), bytes_of(Path::new("-"), json::MAX_FILE_BYTES)?),
            TextSource::File(path) => (path.display().to_string(), bytes_of(path, json::MAX_FILE_BYTES)?),
        });
    }
    let mut found = pasted::read(&texts);
    let mut model_from = None;
    // What the question or a file says of the model comes before what lies on the machine.
    if let crate::read::Model::Unknown { name, full, .. } = &found.model
        && reading.config.is_none()
        && !input::names_a_model(asked)
        && let Some(local::Config { path, weights, source }) = local::find(full)
    {
        // The name that is shown, never the path.
        let labelled = |path: &Path| {
            let label = format!("{} of {name}", path.file_name().unwrap_or_default().display());
            let bytes = bytes_of_file(path, &label, json::MAX_FILE_BYTES)?;
            Ok::<_, CommandError>((label, bytes))
        };
        texts.push(labelled(&path)?);
        // The model is described without it, so that an index that is too long is no reason to refuse.
        texts.extend(weights.and_then(|path| labelled(&path).ok()));
        found = pasted::read(&texts);
        model_from = Some(source);
    }
    match found.unread() {
        Some(why) => Err(CommandError::Text(why)),
        None => Ok(Some(Texts { found, model_from })),
    }
}

/// The question in a text, with what texts say that it refines.
fn question_of(asked: &str, reading: &Reading, pasted: Option<&Texts>) -> Result<Question, CommandError> {
    let read = reading.config.as_deref().map(model_of).transpose()?;
    let (own, notes) = read.map_or((None, Vec::new()), |read| (Some(read.as_usual()), read.notes));
    let mut question = match pasted {
        None => question(asked, own),
        Some(texts) => input::refined(&texts.found, asked, own).ok_or(CommandError::NoQuery)?,
    }
    .map_err(CommandError::Question)?;
    let model_from = pasted.and_then(|texts| texts.model_from.as_ref());
    let from = model_from.map(|source| Notice::known(source.to_string()));
    question.notices.splice(..0, from.into_iter().chain(notes.iter().map(Notice::from)));
    if let Some(path) = &reading.lengths {
        question = question.with_lengths(&lengths_of(path)?);
    }
    if reading.strict { question.strictly().map_err(CommandError::Question) } else { Ok(question) }
}

fn model_of(path: &Path) -> Result<config_json::Reading, CommandError> {
    let text = text_of(path, json::MAX_FILE_BYTES)?;
    crate::read::config(&text).map_err(|refusal| CommandError::Config(path.display().to_string(), refusal))
}

fn lengths_of(path: &Path) -> Result<Vec<(u32, u64)>, CommandError> {
    let text = text_of(path, lengths::MOST_BYTES)?;
    lengths::pasted(&text).map_err(|refusal| CommandError::Lengths(path.display().to_string(), refusal))
}

/// The text of a file, or of standard input where it is “-”.
fn text_of(path: &Path, most_bytes: usize) -> Result<String, CommandError> {
    let bytes = bytes_of(path, most_bytes)?;
    String::from_utf8(bytes).map_err(|_| CommandError::NotText(path.display().to_string()))
}

/// The bytes of a file, or of standard input where it is “-”.
fn bytes_of(path: &Path, most_bytes: usize) -> Result<Vec<u8>, CommandError> {
    let name = path.display().to_string();
    // A pipe may have no end, and has no size.
    if name == "-" {
        bytes_within(io::stdin().lock(), None, &name, most_bytes)
    } else {
        bytes_of_file(path, &name, most_bytes)
    }
}

/// The bytes of a file, which messages call by this name.
fn bytes_of_file(path: &Path, name: &str, most_bytes: usize) -> Result<Vec<u8>, CommandError> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (size, file) = opened.map_err(|error| CommandError::File(name.to_owned(), error))?;
    bytes_within(file, Some(size), name, most_bytes)
}

/// Bytes by which a file of weights is told from others ([`crate::read::header_bytes`]).
const HEADER_TOLD_BY: u64 = 9;

/// The bytes of a source of this size, if it has one; an error where there are more than are read. Of a file of weights its
/// header is read alone.
fn bytes_within(
    mut from: impl Read,
    size: Option<u64>,
    name: &str,
    most_bytes: usize,
) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let most = most_bytes as u64;
    let read = from.by_ref().take(HEADER_TOLD_BY).read_to_end(&mut bytes).and_then(|begun| {
        // One byte more than is read tells that there is too much.
        let end = crate::read::header_bytes(&bytes).map_or(most + 1, |header| header.min(most + 1));
        from.take(end.saturating_sub(begun as u64)).read_to_end(&mut bytes)
    });
    read.map_err(|error| CommandError::File(name.to_owned(), error))?;
    if bytes.len() > most_bytes {
        let has = size.filter(|size| *size > most);
        return Err(CommandError::TooLarge { path: name.to_owned(), has, most: most_bytes });
    }
    Ok(bytes)
}
