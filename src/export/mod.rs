//! What leaves the page: the scenario as the configuration of a training framework, as a script that
//! measures it, and the answer as text for documents and programs.
//!
//! Every file is a pure function of the scenario and total: a scenario in which nothing fits makes a
//! file, too, which says so first and trains one sequence at a time. Numbers come from the public
//! estimator and from nowhere else.

mod accelerate;
mod bibtex;
mod deepspeed;
mod json;
mod lightning;
mod line;
mod markdown;
mod measure;
mod megatron;
mod peft;
mod run;
#[cfg(test)]
mod tests;
mod text;
mod torchtitan;
mod trainers;
mod transformers;

use crate::Scenario;
use crate::read::Format;
pub use line::line;

/// How a file is called in different places; each module that writes one has its own as `CARD`.
struct Card {
    key: &'static str,
    name: &'static str,
    file_name: &'static str,
    media_type: &'static str,
    describe: &'static str,
    /// As what a file of it is read again; several where its program has several classes. None where nothing reads it.
    readers: &'static [Format],
}

/// Makes [`Target`] of one row for each file: its variant and the module that has its `CARD`, with its readers, and `write`.
///
/// Cards and writers are two matches: a table of both would bring every writer to whoever asks for a name.
macro_rules! targets {
    ($($(#[$doc:meta])+ $target:ident = $($module:ident)::+,)+) => {
        /// What a file is for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Target {
            $($(#[$doc])+ $target,)+
        }

        impl Target {
            /// Every target, training frameworks first, in the order in which a dialog shows them.
            pub const ALL: &'static [Self] = &[$(Self::$target),+];

            const fn card(self) -> Card {
                match self {
                    $(Self::$target => $($module)::+::CARD,)+
                }
            }
        }

        /// Writes the file of `target` for a scenario. `page` is the address of the page without query, to
        /// which the scenario's own query is added wherever the file links back.
        pub fn write(target: Target, scenario: &Scenario, page: &str) -> String {
            let page = &text::address(page);
            match target {
                $(Target::$target => $($module)::+::write(scenario, page),)+
            }
        }
    };
}

targets! {
    /// Hugging Face `TrainingArguments`, a Python file.
    Transformers = transformers,
    /// A configuration of Accelerate's launcher, YAML.
    Accelerate = accelerate,
    /// A DeepSpeed configuration, JSON.
    DeepSpeed = deepspeed,
    /// A torchtitan job configuration, TOML.
    Torchtitan = torchtitan,
    /// Flags of Megatron-LM, a shell fragment.
    Megatron = megatron,
    /// A Lightning `Trainer`, a Python file.
    Lightning = lightning,
    /// A file for trl's commands, YAML.
    Trl = trainers::trl,
    /// The configuration of adapters that peft reads, JSON.
    Peft = peft,
    /// A configuration of axolotl, YAML.
    Axolotl = trainers::axolotl,
    /// A file for LLaMA-Factory's command, YAML.
    LlamaFactory = trainers::llama_factory,
    /// A PyTorch script that measures the peak and prints it beside the prediction.
    Measure = measure,
    /// The answer as a table.
    Markdown = markdown,
    /// The answer for programs.
    Json = json,
    /// A citation of the page with its link.
    Bibtex = bibtex,
}

impl Target {
    /// The word for it on the command line and in markup.
    pub const fn key(self) -> &'static str {
        self.card().key
    }

    /// The name shown to the reader.
    pub const fn name(self) -> &'static str {
        self.card().name
    }

    /// What the file is called when it is saved.
    pub const fn file_name(self) -> &'static str {
        self.card().file_name
    }

    /// Its media type, without a character set: every file is UTF-8.
    pub const fn media_type(self) -> &'static str {
        self.card().media_type
    }

    /// One sentence on what it is.
    pub const fn describe(self) -> &'static str {
        self.card().describe
    }

    /// As what [`read`](crate::read) reads a file of it again, one of these; empty for a file that it does not read.
    pub const fn readers(self) -> &'static [Format] {
        self.card().readers
    }

    /// The target with this word.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.key() == key)
    }
}
