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
pub use line::line;

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Hugging Face `TrainingArguments`, a Python file.
    Transformers,
    /// A configuration of Accelerate's launcher, YAML.
    Accelerate,
    /// A DeepSpeed configuration, JSON.
    DeepSpeed,
    /// A torchtitan job configuration, TOML.
    Torchtitan,
    /// Flags of Megatron-LM, a shell fragment.
    Megatron,
    /// A Lightning `Trainer`, a Python file.
    Lightning,
    /// A file for trl's commands, YAML.
    Trl,
    /// The configuration of adapters that peft reads, JSON.
    Peft,
    /// A configuration of axolotl, YAML.
    Axolotl,
    /// A file for LLaMA-Factory's command, YAML.
    LlamaFactory,
    /// A PyTorch script that measures the peak and prints it beside the prediction.
    Measure,
    /// The answer as a table.
    Markdown,
    /// The answer for programs.
    Json,
    /// A citation of the page with its link.
    Bibtex,
}

/// How a target is called in different places.
struct Card {
    key: &'static str,
    name: &'static str,
    file_name: &'static str,
    media_type: &'static str,
    describe: &'static str,
}

impl Target {
    /// Every target, training frameworks first, in the order in which a dialog shows them.
    pub const ALL: &'static [Self] = &[
        Self::Transformers,
        Self::Accelerate,
        Self::DeepSpeed,
        Self::Torchtitan,
        Self::Megatron,
        Self::Lightning,
        Self::Trl,
        Self::Peft,
        Self::Axolotl,
        Self::LlamaFactory,
        Self::Measure,
        Self::Markdown,
        Self::Json,
        Self::Bibtex,
    ];

    const fn card(self) -> Card {
        match self {
            Self::Transformers => Card {
                key: "transformers",
                name: "Hugging Face Trainer",
                file_name: "training_arguments.py",
                media_type: "text/x-python",
                describe: "TrainingArguments of Hugging Face transformers, as a Python file to import.",
            },
            Self::Accelerate => Card {
                key: "accelerate",
                name: "Accelerate",
                file_name: "accelerate.yaml",
                media_type: "application/yaml",
                describe: "A configuration for accelerate launch --config_file.",
            },
            Self::DeepSpeed => Card {
                key: "deepspeed",
                name: "DeepSpeed",
                file_name: "ds_config.json",
                media_type: "application/json",
                describe: "A DeepSpeed configuration, for deepspeed.initialize or the Trainer’s deepspeed argument.",
            },
            Self::Torchtitan => Card {
                key: "torchtitan",
                name: "torchtitan",
                file_name: "torchtitan.toml",
                media_type: "application/toml",
                describe: "A job configuration of torchtitan.",
            },
            Self::Megatron => Card {
                key: "megatron",
                name: "Megatron-LM",
                file_name: "megatron_flags.sh",
                media_type: "application/x-sh",
                describe: "Flags of Megatron-LM’s pretrain_gpt.py, as a fragment of a shell script.",
            },
            Self::Lightning => Card {
                key: "lightning",
                name: "Lightning",
                file_name: "trainer.py",
                media_type: "text/x-python",
                describe: "A Lightning Trainer with its strategy, as a Python file to import.",
            },
            Self::Trl => Card {
                key: "trl",
                name: "trl",
                file_name: "trl.yaml",
                media_type: "application/yaml",
                describe: "A file for trl sft, dpo, grpo or reward --config, or for the parser of its scripts.",
            },
            Self::Peft => Card {
                key: "peft",
                name: "peft",
                file_name: "adapter_config.json",
                media_type: "application/json",
                describe: "The adapters for peft’s LoraConfig.from_pretrained, which reads JSON.",
            },
            Self::Axolotl => Card {
                key: "axolotl",
                name: "axolotl",
                file_name: "axolotl.yaml",
                media_type: "application/yaml",
                describe: "A configuration for axolotl train.",
            },
            Self::LlamaFactory => Card {
                key: "llama-factory",
                name: "LLaMA-Factory",
                file_name: "llama_factory.yaml",
                media_type: "application/yaml",
                describe: "A file for llamafactory-cli train.",
            },
            Self::Measure => Card {
                key: "measure",
                name: "Measure it",
                file_name: "bmax_measure.py",
                media_type: "text/x-python",
                describe: "A PyTorch script that builds this model, trains two steps and prints the measured peak beside the prediction.",
            },
            Self::Markdown => Card {
                key: "markdown",
                name: "Markdown",
                file_name: "bmax.md",
                media_type: "text/markdown",
                describe: "The answer as a Markdown table, for notes and issues.",
            },
            Self::Json => Card {
                key: "json",
                name: "JSON",
                file_name: "bmax.json",
                media_type: "application/json",
                describe: "The answer for programs, with the names of the command line’s report.",
            },
            Self::Bibtex => Card {
                key: "bibtex",
                name: "BibTeX",
                file_name: "bmax.bib",
                media_type: "application/x-bibtex",
                describe: "A citation of the page with the link to this scenario.",
            },
        }
    }

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

    /// The target with this word.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.key() == key)
    }
}

/// Writes the file of `target` for a scenario. `page` is the address of the page without query, to
/// which the scenario's own query is added wherever the file links back.
pub fn write(target: Target, scenario: &Scenario, page: &str) -> String {
    let page = &text::address(page);
    match target {
        Target::Transformers => transformers::write(scenario, page),
        Target::Accelerate => accelerate::write(scenario, page),
        Target::DeepSpeed => deepspeed::write(scenario, page),
        Target::Torchtitan => torchtitan::write(scenario, page),
        Target::Megatron => megatron::write(scenario, page),
        Target::Lightning => lightning::write(scenario, page),
        Target::Trl => trainers::trl::write(scenario, page),
        Target::Peft => peft::write(scenario, page),
        Target::Axolotl => trainers::axolotl::write(scenario, page),
        Target::LlamaFactory => trainers::llama_factory::write(scenario, page),
        Target::Measure => measure::write(scenario, page),
        Target::Markdown => markdown::write(scenario, page),
        Target::Json => json::write(scenario, page),
        Target::Bibtex => bibtex::write(scenario, page),
    }
}
