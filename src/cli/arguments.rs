//! What the program was called with.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::input::query_of;
use crate::export::Target;
use crate::link::{self, Pinned};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Answer one question.
    One {
        /// The question; the default scenario when only a file is given.
        question: String,
        /// How it is read.
        reading: Reading,
        /// As JSON instead of tables.
        json: bool,
        /// Say what was read of the texts, and not the answer alone.
        read: bool,
        /// All that was read, the keys that do not matter among it.
        full: bool,
        /// Exit with 3 where it does not fit.
        require_fit: bool,
    },
    /// Say what turns one scenario into another, and what that does to the memory.
    Compare {
        /// The two questions.
        questions: [String; 2],
        /// How many more the one link pins, which are not compared.
        left_out: usize,
        /// How they are read.
        reading: Reading,
        /// As JSON instead of tables.
        json: bool,
    },
    /// Say what other estimators make of one question.
    Others {
        /// The question; the default scenario when only a file is given, or nothing.
        question: String,
        /// How it is read.
        reading: Reading,
        /// As JSON instead of tables.
        json: bool,
    },
    /// Write what the step of one question asks PyTorch's allocator.
    Trace {
        /// The question; the default scenario when only a file is given, or nothing.
        question: String,
        /// How it is read.
        reading: Reading,
    },
    /// Write the scenario of one question for another program.
    Export {
        /// For which.
        target: Target,
        /// The question; the default scenario when only a file is given, or nothing.
        question: String,
        /// How it is read.
        reading: Reading,
        /// The address of the page that links in the file lead to.
        page: String,
    },
    /// Answer standard input, a question a line.
    Lines {
        /// Levers, solved quantities and plans as well.
        full: bool,
        /// Answer no line that has notices.
        strict: bool,
    },
    /// Print a JSON Schema.
    Schema(Document),
    /// Print how the program is used.
    Help,
    /// Print its version.
    Version,
}

/// How a question is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// A `config.json` to take the model from.
    pub config: Option<PathBuf>,
    /// A file of lengths, or “-” for standard input.
    pub lengths: Option<PathBuf>,
    /// Texts that say what is asked: configurations, commands, error texts. The question refines them.
    pub texts: Vec<TextSource>,
    /// Refuse a question that has notices.
    pub strict: bool,
}

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Input,
    /// An argument, or a command of several.
    Pasted(String),
}

/// A JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// That of scenarios.
    Scenario,
    /// That of reports.
    Report,
    /// That of comparisons.
    Comparison,
    /// That of what other estimators say.
    Others,
    /// That of what was read of pasted texts.
    Read,
    /// All in one.
    All,
}

/// Why the arguments make no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// There is no such option.
    Unknown(String),
    /// The option needs a value behind it.
    NoValue(&'static str),
    /// There is more than one question, and this is the second.
    Second(String),
    /// A comparison has this many questions instead of two, and no link that names both scenarios.
    NotTwo(usize),
    /// An argument is not valid UTF-8.
    NotText,
    /// There is no such schema.
    NoSchema(String),
    /// Nothing can be written for that.
    NoTarget(String),
    /// Whether something fits is asked of one question.
    FitOfOne,
    /// There is nothing to read.
    NothingToRead,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(option) => write!(f, "there is no option {option}"),
            Self::NoValue(option @ "--export") => write!(f, "{option} needs a target behind it: {}", targets()),
            Self::NoValue(option @ "--page") => write!(f, "{option} needs an address behind it"),
            Self::NoValue(option) => write!(f, "{option} needs a file behind it"),
            Self::Second(question) => {
                write!(f, "“{question}” is a second question; put quotes around links, because shells split them at &")
            }
            Self::NotTwo(count) => {
                write!(
                    f,
                    "--compare takes two questions, each in quotes, or one link with vs, and there {} {count}",
                    if *count == 1 { "is" } else { "are" }
                )
            }
            Self::NotText => f.write_str("an argument is not valid UTF-8"),
            Self::NoSchema(name) => {
                write!(f, "there is no schema “{name}”; there are scenario, report, comparison, others and read")
            }
            Self::NoTarget(name) => write!(f, "there is no export “{name}”; there are {}", targets()),
            Self::FitOfOne => f.write_str("--require-fit goes with one question, or with files"),
            Self::NothingToRead => f.write_str("--read needs files, a text, or - for standard input behind it"),
        }
    }
}

impl std::error::Error for ArgumentError {}

/// The words of all targets, for messages.
fn targets() -> String {
    let keys: Vec<_> = Target::ALL.iter().map(|target| target.key()).collect();
    keys.join(", ")
}

/// What the arguments behind the program's name ask for.
///
/// # Errors
/// [`ArgumentError`] names the first argument that cannot be understood.
pub fn task(arguments: impl IntoIterator<Item = OsString>) -> Result<Task, ArgumentError> {
    task_among(arguments, &|path| Path::new(path).is_file())
}

/// The same, with what says whether there is a file of a name.
fn task_among(
    arguments: impl IntoIterator<Item = OsString>,
    is_file: &dyn Fn(&str) -> bool,
) -> Result<Task, ArgumentError> {
    let mut given = Given::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        given.take(argument, &mut arguments)?;
    }
    given.task(is_file)
}

/// The arguments seen so far.
#[derive(Default)]
struct Given {
    questions: Vec<String>,
    /// What stands behind two hyphens.
    behind: Vec<String>,
    reading: Reading,
    export: Option<Target>,
    page: Option<String>,
    compare: bool,
    others: bool,
    trace: bool,
    json: bool,
    full: bool,
    schema: bool,
    help: bool,
    version: bool,
    read: bool,
    require_fit: bool,
    only_questions: bool,
}

impl Given {
    fn take(&mut self, argument: OsString, rest: &mut impl Iterator<Item = OsString>) -> Result<(), ArgumentError> {
        let argument = argument.into_string().map_err(|_| ArgumentError::NotText)?;
        if self.only_questions {
            self.behind.push(argument);
            return Ok(());
        }
        // A hyphen alone is standard input.
        if !argument.starts_with('-') || argument == "-" {
            self.questions.push(argument);
            return Ok(());
        }
        match argument.as_str() {
            "--" => self.only_questions = true,
            "--compare" => self.compare = true,
            "--others" => self.others = true,
            "--trace" => self.trace = true,
            "--strict" => self.reading.strict = true,
            "--json" => self.json = true,
            "--full" => self.full = true,
            "--read" => self.read = true,
            "--require-fit" => self.require_fit = true,
            "--schema" => self.schema = true,
            "-h" | "--help" => self.help = true,
            "-V" | "--version" => self.version = true,
            "--config" => self.reading.config = Some(rest.next().ok_or(ArgumentError::NoValue("--config"))?.into()),
            "--lengths" => self.reading.lengths = Some(rest.next().ok_or(ArgumentError::NoValue("--lengths"))?.into()),
            "--export" => self.export = Some(target(&text(rest, "--export")?)?),
            "--page" => self.page = Some(text(rest, "--page")?),
            other => {
                if let Some(file) = other.strip_prefix("--config=") {
                    self.reading.config = Some(file.into());
                } else if let Some(file) = other.strip_prefix("--lengths=") {
                    self.reading.lengths = Some(file.into());
                } else if let Some(word) = other.strip_prefix("--export=") {
                    self.export = Some(target(word)?);
                } else if let Some(address) = other.strip_prefix("--page=") {
                    self.page = Some(address.to_owned());
                } else {
                    return Err(ArgumentError::Unknown(crate::bounds::excerpt(other)));
                }
            }
        }
        Ok(())
    }

    fn task(self, is_file: &dyn Fn(&str) -> bool) -> Result<Task, ArgumentError> {
        let Self {
            mut questions,
            behind,
            mut reading,
            export,
            page,
            compare,
            others,
            trace,
            json,
            full,
            schema,
            help,
            version,
            read,
            require_fit,
            only_questions: _,
        } = self;
        // Several words are a command, and one is a question that begins with a hyphen.
        if behind.len() > 1 && !compare {
            reading.texts.push(TextSource::Pasted(command(&behind)));
        } else {
            questions.extend(behind);
        }
        if help {
            return Ok(Task::Help);
        } else if version {
            return Ok(Task::Version);
        } else if compare {
            let count = questions.len();
            let pinned = match questions.as_slice() {
                [link] => pinned(link),
                _ => Pinned::NONE,
            };
            let first = pinned.get(0).map(link::encode);
            let questions: Vec<String> = first.into_iter().chain(questions).collect();
            let questions = questions.try_into().map_err(|_| ArgumentError::NotTwo(count))?;
            return Ok(Task::Compare { questions, left_out: pinned.len().saturating_sub(1), reading, json });
        }
        if !schema {
            questions.retain(|given| match source(given, read, is_file) {
                Some(text) => {
                    reading.texts.push(text);
                    false
                }
                None => true,
            });
        }
        if read && reading.texts.is_empty() {
            return Err(ArgumentError::NothingToRead);
        }
        if let Some(second) = questions.get(1) {
            return Err(ArgumentError::Second(crate::bounds::excerpt(second)));
        }
        let question = questions.into_iter().next();
        // A model from a file is a question by itself, and so are lengths.
        let or_default = |question: Option<String>| question.unwrap_or_else(|| "?".to_owned());
        Ok(if schema {
            Task::Schema(document(question.as_deref())?)
        } else if require_fit && (others || trace || export.is_some()) {
            return Err(ArgumentError::FitOfOne);
        } else if others {
            Task::Others { question: or_default(question), reading, json }
        } else if trace {
            Task::Trace { question: or_default(question), reading }
        } else if let Some(target) = export {
            Task::Export { target, question: or_default(question), reading, page: page.unwrap_or_default() }
        } else if question.is_some()
            || reading.config.is_some()
            || reading.lengths.is_some()
            || !reading.texts.is_empty()
        {
            Task::One { question: or_default(question), reading, json, read, full, require_fit }
        } else if require_fit {
            return Err(ArgumentError::FitOfOne);
        } else {
            Task::Lines { full, strict: reading.strict }
        })
    }
}

/// The text that an argument is: a file, standard input where a text is wanted, and there also what is no question.
fn source(given: &str, read: bool, is_file: &dyn Fn(&str) -> bool) -> Option<TextSource> {
    if given == "-" && read {
        Some(TextSource::Input)
    } else if is_file(given) {
        Some(TextSource::File(given.into()))
    } else if read && (query_of(given).is_none() || crate::read::is_id(given)) {
        Some(TextSource::Pasted(given.to_owned()))
    } else {
        None
    }
}

/// Words as a shell would have to be given them again.
fn command(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain =
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=./:,+@%".contains(&byte));
        if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The scenarios that a link is compared with. Whatever is wrong with them, the link itself will be told.
fn pinned(link: &str) -> Pinned {
    query_of(link).map_or(Pinned::NONE, |query| link::decode(query).vs)
}

/// The text behind an option.
fn text(rest: &mut impl Iterator<Item = OsString>, option: &'static str) -> Result<String, ArgumentError> {
    rest.next().ok_or(ArgumentError::NoValue(option))?.into_string().map_err(|_| ArgumentError::NotText)
}

fn target(word: &str) -> Result<Target, ArgumentError> {
    Target::from_key(word).ok_or_else(|| ArgumentError::NoTarget(crate::bounds::excerpt(word)))
}

fn document(name: Option<&str>) -> Result<Document, ArgumentError> {
    match name {
        None => Ok(Document::All),
        Some("scenario") => Ok(Document::Scenario),
        Some("report") => Ok(Document::Report),
        Some("comparison") => Ok(Document::Comparison),
        Some("others") => Ok(Document::Others),
        Some("read") => Ok(Document::Read),
        Some(other) => Err(ArgumentError::NoSchema(crate::bounds::excerpt(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Task, ArgumentError> {
        task(arguments.iter().map(OsString::from))
    }

    fn of_a_file(file: &str) -> Reading {
        Reading { config: Some(file.into()), ..Reading::default() }
    }

    #[test]
    fn a_file_of_lengths_is_a_question_by_itself_and_a_dash_is_standard_input() {
        for (arguments, file) in [
            (&["--lengths", "lengths.txt"][..], "lengths.txt"),
            (&["--lengths=lengths.txt"], "lengths.txt"),
            (&["--lengths", "-"], "-"),
        ] {
            let reading = Reading { lengths: Some(file.into()), ..Reading::default() };
            assert_eq!(
                read(arguments),
                Ok(Task::One {
                    question: "?".to_owned(),
                    reading,
                    json: false,
                    read: false,
                    full: false,
                    require_fit: false
                })
            );
        }
        assert_eq!(read(&["--lengths"]), Err(ArgumentError::NoValue("--lengths")));
    }

    #[test]
    fn options_may_stand_before_and_behind_the_question() {
        let (question, reading) = ("s=1".to_owned(), of_a_file("c.json"));
        let expected = Task::One { question, json: true, reading, read: false, full: false, require_fit: false };
        for arguments in [
            ["--json", "--config", "c.json", "s=1"].as_slice(),
            &["s=1", "--config=c.json", "--json"],
            &["--json", "--config=c.json", "--", "s=1"],
        ] {
            assert_eq!(read(arguments), Ok(expected.clone()));
        }
    }

    #[test]
    fn an_export_has_a_target_and_the_default_scenario_unless_one_is_asked_for() {
        let task = |question: &str, page: &str| {
            let (question, page) = (question.to_owned(), page.to_owned());
            Ok(Task::Export { target: Target::DeepSpeed, question, reading: Reading::default(), page })
        };
        assert_eq!(read(&["--export", "deepspeed"]), task("?", ""));
        assert_eq!(read(&["--export=deepspeed", "s=1", "--page=https://a.b/"]), task("s=1", "https://a.b/"));
        assert_eq!(read(&["s=1", "--page", "https://a.b/", "--export", "deepspeed"]), task("s=1", "https://a.b/"));
        assert_eq!(read(&["--export"]), Err(ArgumentError::NoValue("--export")));
        let message = read(&["--export", "keras"]).expect_err("none").to_string();
        assert!(message.contains("keras") && message.contains("torchtitan"), "{message}");
    }

    #[test]
    fn a_comparison_has_two_questions() {
        let questions = ["s=1".to_owned(), "s=2".to_owned()];
        let task = |reading| Ok(Task::Compare { questions: questions.clone(), left_out: 0, reading, json: false });
        assert_eq!(read(&["--compare", "s=1", "s=2"]), task(Reading::default()));
        assert_eq!(read(&["s=1", "--config=c.json", "s=2", "--compare"]), task(of_a_file("c.json")));
        // One link may name both; what is pinned comes first.
        let questions = ["v=4&s=1024".to_owned(), "https://a.b/?gpus=1&s=2048&vs=s:1024;gpus:8#plan".to_owned()];
        let task = |questions: &[String; 2], left_out| {
            Ok(Task::Compare { questions: questions.clone(), left_out, reading: Reading::default(), json: false })
        };
        assert_eq!(read(&["--compare", &questions[1]]), task(&questions, 0));
        // Of several the first is compared, and the others are told of.
        let questions = ["v=4&s=1024".to_owned(), "?v=4&vs=s:1024&vs=gpus:16&vs=gpus:32".to_owned()];
        assert_eq!(read(&["--compare", &questions[1]]), task(&questions, 2));
        for (arguments, count) in
            [(["--compare"].as_slice(), 0), (&["--compare", "s=1"], 1), (&["--compare", "a", "b", "c"], 3)]
        {
            assert_eq!(read(arguments), Err(ArgumentError::NotTwo(count)));
        }
    }

    #[test]
    fn a_trace_is_asked_of_one_question() {
        let task = |question: &str, reading| Ok(Task::Trace { question: question.to_owned(), reading });
        assert_eq!(read(&["--trace"]), task("?", Reading::default()));
        assert_eq!(read(&["s=1", "--config=c.json", "--trace"]), task("s=1", of_a_file("c.json")));
        assert_eq!(read(&["--trace", "--require-fit", "s=1"]), Err(ArgumentError::FitOfOne));
    }

    #[test]
    fn what_others_say_is_asked_of_one_question() {
        let task = |question: &str, reading| Ok(Task::Others { question: question.to_owned(), reading, json: false });
        assert_eq!(read(&["--others"]), task("?", Reading::default()));
        assert_eq!(read(&["s=1", "--config=c.json", "--others"]), task("s=1", of_a_file("c.json")));
        assert_eq!(read(&["--others", "s=1", "b=2"]), Err(ArgumentError::Second("b=2".to_owned())));
        let json = Task::Others { question: "s=1".to_owned(), reading: Reading::default(), json: true };
        assert_eq!(read(&["--others", "--json", "s=1"]), Ok(json));
    }

    #[test]
    fn without_a_question_standard_input_is_read() {
        assert_eq!(read(&[]), Ok(Task::Lines { full: false, strict: false }));
        assert_eq!(read(&["--json", "--full", "--strict"]), Ok(Task::Lines { full: true, strict: true }));
    }

    #[test]
    fn files_a_command_and_standard_input_are_texts_and_a_question_refines_them() {
        let read = |arguments: &[&str]| {
            let task = task_among(arguments.iter().map(OsString::from), &|name| name.ends_with(".yaml"));
            let Ok(Task::One { question, reading, json, read, require_fit, .. }) = task else { panic!("{task:?}") };
            (question, reading.texts, [json, read, require_fit])
        };
        let file = |name: &str| TextSource::File(name.into());
        let pasted = |text: &str| TextSource::Pasted(text.to_owned());
        let none = "?".to_owned();
        assert_eq!(read(&["a.yaml", "b.yaml"]), (none.clone(), vec![file("a.yaml"), file("b.yaml")], [false; 3]));
        assert_eq!(
            read(&["gpus=8", "a.yaml", "--require-fit"]),
            ("gpus=8".to_owned(), vec![file("a.yaml")], [false, false, true])
        );
        assert_eq!(read(&["--read", "--json", "-"]), (none.clone(), vec![TextSource::Input], [true, true, false]));
        for name in ["some/model", "https://huggingface.co/some/model"] {
            assert_eq!(read(&["--read", name]), (none.clone(), vec![pasted(name)], [false, true, false]));
        }
        assert_eq!(
            read(&["--", "python", "t.py", "--x", "it's a"]),
            (none, vec![pasted("python t.py --x 'it'\\''s a'")], [false; 3])
        );
        assert_eq!(super::task(["--read".into()]), Err(ArgumentError::NothingToRead));
        assert_eq!(super::task(["--require-fit".into()]), Err(ArgumentError::FitOfOne));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        assert_eq!(read(&["--jason"]), Err(ArgumentError::Unknown("--jason".to_owned())));
        assert_eq!(read(&["--config"]), Err(ArgumentError::NoValue("--config")));
        assert_eq!(read(&["s=1", "b=2"]), Err(ArgumentError::Second("b=2".to_owned())));
        assert_eq!(read(&["--schema", "answer"]), Err(ArgumentError::NoSchema("answer".to_owned())));
    }
}
