//! Every format that is read, a file and a row each: how it is told from others, what its keys mean, and what its program
//! does where a file is silent.
//!
//! A [`Rule`] gives parameters of a link or a [`Fact`]. Facts are what only several keys together say: the precision of a
//! run follows from a flag, from the type of the loaded weights, from what divides them and from whether they are frozen.
//! `combine.rs` derives parameters from them.

mod accelerate;
mod automodel;
mod axolotl;
mod beside;
mod deepspeed;
pub(super) mod launchers;
mod llama_factory;
mod llama_factory_v1;
mod megatron;
mod megatron_swift;
mod ms_swift;
pub(super) mod nemo;
pub(super) mod nemo_rl;
mod openrlhf;
mod peft;
mod python;
mod reasons;
pub(super) mod torchtitan;
mod torchtune;
mod transformers;
mod trl;
mod verl;
pub(in crate::read) mod weights;

use super::Needs;
use super::facts::{Count, Fact};
pub(in crate::read) use transformers::OPTIMIZERS;

/// A kind of text that is read: its program, and the class of its arguments where one program has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// axolotl’s YAML.
    Axolotl,
    /// LLaMA-Factory’s YAML, JSON or flags.
    LlamaFactory,
    /// LLaMA-Factory v1’s YAML, JSON or flags.
    LlamaFactoryV1,
    /// ms-swift’s flags or YAML.
    MsSwift,
    /// torchtune’s YAML.
    Torchtune,
    /// verl’s overrides.
    Verl,
    /// OpenRLHF’s flags.
    OpenRlhf,
    /// trl’s `SFTConfig`, or arguments of trl that tell no other class.
    TrlSft,
    /// trl’s `DPOConfig`.
    TrlDpo,
    /// trl’s `GRPOConfig`.
    TrlGrpo,
    /// trl’s `RewardConfig`.
    TrlReward,
    /// Configurations of trl’s other trainers.
    TrlOther,
    /// `TrainingArguments` of transformers.
    Transformers,
    /// torchtitan’s TOML or flags.
    Torchtitan,
    /// Megatron-LM’s flags.
    Megatron,
    /// ms-swift’s flags or YAML for Megatron-LM: `megatron sft`.
    MegatronSwift,
    /// Megatron-Bridge’s YAML, or the flags and overrides of its recipes.
    MegatronBridge,
    /// NeMo 1’s YAML or overrides.
    Nemo,
    /// NeMo AutoModel’s YAML.
    Automodel,
    /// NeMo-RL’s YAML or overrides.
    NemoRl,
    /// DeepSpeed’s JSON.
    DeepSpeed,
    /// accelerate’s YAML, or the flags of `accelerate launch`.
    Accelerate,
    /// peft’s `LoraConfig`, or an adapter’s `adapter_config.json`.
    Peft,
    /// `BitsAndBytesConfig` of transformers.
    BitsAndBytes,
    /// `from_pretrained` of transformers.
    FromPretrained,
    /// `FastLanguageModel.from_pretrained` of Unsloth.
    UnslothModel,
    /// `FastLanguageModel.get_peft_model` of Unsloth.
    UnslothAdapters,
    /// `prepare_model_for_kbit_training` of peft.
    KbitTraining,
    /// Options of torchrun.
    Torchrun,
    /// Options of DeepSpeed’s launcher.
    DeepSpeedLauncher,
    /// Variables that programs read.
    Environment,
    /// The index of a model’s weights.
    WeightIndex,
    /// The header of a file of weights.
    WeightHeader,
    /// A tokenizer.
    Tokenizer,
    /// What makes tensors of images or sounds.
    Processor,
    /// A part of a diffusion model.
    Diffusion,
    /// How a model generates.
    Generation,
}

/// How a text of a format is told from others.
pub(super) struct Row {
    pub(super) format: Format,
    /// What such a text is: “a configuration of DeepSpeed”.
    pub(super) name: &'static str,
    /// One of these groups of keys, all of a group, tells it from every other text. None for what a name tells.
    pub(super) signs: &'static [&'static [&'static str]],
    /// The part of the program that has its [`Meaning`]; none for the few that are always there.
    pub(super) needs: Option<Needs>,
}

/// The meaning of a text of a format. The tables are most of what reading takes to transfer, so that nothing but the functions
/// at the end of this file may name one.
pub(super) struct Meaning {
    /// What is so in every text of the format.
    pub(super) always: &'static [Said],
    /// What its keys mean. A key is looked up in the first table that has it, as in a class and its bases.
    pub(super) tables: &'static [&'static Table],
    /// Keys whose object is a text of another format: `deepspeed` of the Trainer.
    pub(super) within: &'static [(&'static str, &'static Self)],
}

/// Keys of one class of a program.
pub(super) struct Table {
    /// The program, its version, and the file and class that were read for it.
    pub(super) source: &'static str,
    /// Whether these are arguments of a program beside the class that its name stands for, which a call of that class
    /// in Python does not have.
    pub(super) is_of_scripts: bool,
    /// Keys that mean something.
    pub(super) keys: &'static [Key],
    /// Keys on which memory does not depend, with blanks between them. An asterisk at the end stands for any ending.
    pub(super) no_matter: &'static str,
    /// Keys on which it does depend and that nothing counts, with what they could cost.
    pub(super) not_counted: &'static [(&'static str, &'static str)],
}

/// A key, or several spellings of it, with its meaning.
pub(super) struct Key {
    pub(super) names: &'static [&'static str],
    /// What the program takes where nobody says it, where that is told apart from “nothing”.
    pub(super) default: Option<&'static str>,
    pub(super) rule: Rule,
}

/// How the value of a key is read.
pub(super) enum Rule {
    /// A number that this input takes as it is.
    Number(&'static str),
    /// A number in units of which a million is one of this input.
    Millions(&'static str),
    /// A share of one, of which this input takes hundredths.
    Share(&'static str),
    /// A number that says something together with others.
    Count(Count),
    /// Words, each with what it says.
    Words(&'static [(&'static str, Said)]),
    /// A text with one of these in it. Its name may be that of a file, which is read where it is given, too.
    File(&'static [(&'static str, Said)]),
    /// What is so where a number is above zero, and where it is not.
    Above(Said, Said),
    /// A number that is counted as it usually is; why another one is not counted.
    Usual(f64, &'static str),
    /// A word that is counted; why any other is not.
    Only(&'static str, &'static str),
    /// The name of a model.
    Model,
    /// The function that builds a model of torchtune’s, whose name has that of the model in it.
    Component,
    /// The rank of adapters, of which there are none at 0.
    Rank,
    /// The names of matrices that get adapters.
    Targets,
    /// An optimizer by its name in transformers, or by one of these.
    Optimizer(&'static [(&'static str, Said)]),
    /// `name=value` pairs of the optimizer, of which a rank is known.
    OptimizerArguments,
}

/// What a value says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Said {
    /// What is so anyhow.
    Nothing,
    /// Parameters of a link, with an ampersand between them.
    Link(&'static str),
    /// Something that says more together with others.
    Fact(Fact),
    /// Something for which nothing is counted, and what it could cost.
    NotCounted(&'static str),
}

/// A key with what its program takes where nobody says it.
const fn key(names: &'static [&'static str], default: &'static str, rule: Rule) -> Key {
    Key { names, default: Some(default), rule }
}

/// A key that says nothing where it is absent.
const fn open(names: &'static [&'static str], rule: Rule) -> Key {
    Key { names, default: None, rule }
}

/// Formats that are told by their keys; the more telling ones come first.
pub(super) static TOLD: &[&Row] = &[
    &deepspeed::ROW,
    &accelerate::ROW,
    &peft::ADAPTER,
    &torchtune::ROW,
    &verl::ROW,
    &openrlhf::ROW,
    &axolotl::ROW,
    &llama_factory_v1::ROW,
    &megatron_swift::ROW,
    &ms_swift::ROW,
    &llama_factory::ROW,
    &trl::GRPO,
    &trl::DPO,
    &trl::SFT,
    &transformers::ROW,
    &torchtitan::ROW,
    &nemo_rl::ROW,
    &automodel::ROW,
    &nemo::BRIDGE,
    &nemo::NEMO,
    &megatron::ROW,
    &weights::INDEX,
    &beside::TOKENIZER,
    &beside::PROCESSOR,
    &beside::DIFFUSION,
    &beside::GENERATION,
];

/// Every format.
pub(super) static ALL: &[&Row] = &[
    &axolotl::ROW,
    &llama_factory::ROW,
    &llama_factory_v1::ROW,
    &ms_swift::ROW,
    &megatron_swift::ROW,
    &torchtune::ROW,
    &verl::ROW,
    &openrlhf::ROW,
    &trl::SFT,
    &trl::DPO,
    &trl::GRPO,
    &trl::REWARD,
    &trl::OTHER,
    &transformers::ROW,
    &torchtitan::ROW,
    &nemo::BRIDGE,
    &nemo::NEMO,
    &automodel::ROW,
    &nemo_rl::ROW,
    &megatron::ROW,
    &deepspeed::ROW,
    &accelerate::ROW,
    &peft::ADAPTER,
    &python::BITS_AND_BYTES,
    &python::FROM_PRETRAINED,
    &python::UNSLOTH_MODEL,
    &python::UNSLOTH_ADAPTERS,
    &python::KBIT_TRAINING,
    &launchers::TORCHRUN,
    &launchers::DEEPSPEED,
    &launchers::ENVIRONMENT,
    &weights::INDEX,
    &weights::HEADER,
    &beside::TOKENIZER,
    &beside::PROCESSOR,
    &beside::DIFFUSION,
    &beside::GENERATION,
];

impl Format {
    /// How it is told; `None` for none that exists, which a test excludes.
    pub(super) fn row(self) -> Option<&'static Row> {
        ALL.iter().copied().find(|row| row.format == self)
    }

    /// What a text of it is: “a configuration of DeepSpeed”.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }

    /// Whether it says nothing of how a model is trained.
    pub(super) const fn is_beside(self) -> bool {
        matches!(self, Self::Tokenizer | Self::Processor | Self::Diffusion | Self::Generation)
    }
}

/// What a table has of a key.
pub(super) enum Found {
    /// It means something.
    Key(&'static Key),
    /// Memory does not depend on it.
    NoMatter,
    /// It is not counted, for this reason.
    NotCounted(&'static str),
}

impl Meaning {
    /// What it has of a key, and of which table that is.
    pub(super) fn find(&self, path: &str) -> Option<Found> {
        let is = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => pattern == path,
        };
        self.tables.iter().find_map(|table| {
            let key = table.keys.iter().find(|key| key.names.contains(&path)).map(Found::Key);
            key.or_else(|| {
                let pair = table.not_counted.iter().find(|(pattern, _)| is(pattern));
                pair.map(|(_, why)| Found::NotCounted(why))
            })
            .or_else(|| table.no_matter.split(' ').any(is).then_some(Found::NoMatter))
        })
    }

    /// Every key that it knows.
    pub(super) fn known(&self) -> impl Iterator<Item = &'static str> {
        self.tables.iter().flat_map(|table| {
            let keys = table.keys.iter().flat_map(|key| key.names.iter().copied());
            let others = table.no_matter.split(' ').chain(table.not_counted.iter().map(|(key, _)| *key));
            keys.chain(others.filter(|key| !key.ends_with('*')))
        })
    }
}

/// The key that has the name of one of trl’s other trainers, which the name of a script or of a class says.
pub(super) const TRAINER_KEY: &str = "trainer";

/// Whether a value says yes, for keys that only switch something on or off.
const fn switch(on: Said, off: Said) -> [(&'static str, Said); 2] {
    [("true", on), ("false", off)]
}

/// Whether FSDP 2 lets weights go between the forward and the backward pass.
const RESHARDS: &[(&str, Said)] = &switch(Said::Fact(Fact::Reshards(true)), Said::Fact(Fact::Reshards(false)));

/// The meaning of a format that has none, which a test excludes.
pub(super) static NO_MEANING: Meaning = Meaning { always: &[], tables: &[], within: &[] };

/// The meaning of a format that a model, its weights or a launcher has. There are so few of them that they are always there.
pub(super) const fn beside_of(format: Format) -> Option<&'static Meaning> {
    Some(match format {
        Format::Torchrun => &launchers::TORCHRUN_MEANING,
        Format::DeepSpeedLauncher => &launchers::DEEPSPEED_MEANING,
        Format::Environment => &launchers::ENVIRONMENT_MEANING,
        Format::WeightIndex | Format::WeightHeader => &weights::MEANING,
        Format::Tokenizer | Format::Processor | Format::Diffusion | Format::Generation => &beside::MEANING,
        _ => return None,
    })
}

/// The meaning of a format of transformers, of what is built on it, or of what it takes beside.
pub(super) const fn fine_tuning(format: Format) -> Option<&'static Meaning> {
    Some(match format {
        Format::Axolotl => &axolotl::MEANING,
        Format::LlamaFactory => &llama_factory::MEANING,
        Format::LlamaFactoryV1 => &llama_factory_v1::MEANING,
        Format::MsSwift => &ms_swift::MEANING,
        Format::Torchtune => &torchtune::MEANING,
        Format::Verl => &verl::MEANING,
        Format::OpenRlhf => &openrlhf::MEANING,
        Format::TrlSft => &trl::SFT_MEANING,
        Format::TrlDpo => &trl::DPO_MEANING,
        Format::TrlGrpo => &trl::GRPO_MEANING,
        Format::TrlReward => &trl::REWARD_MEANING,
        Format::TrlOther => &trl::OTHER_MEANING,
        Format::Transformers => &transformers::MEANING,
        Format::DeepSpeed => &deepspeed::MEANING,
        Format::Accelerate => &accelerate::MEANING,
        Format::Peft => &peft::ADAPTER_MEANING,
        Format::BitsAndBytes => &python::BITS_AND_BYTES_MEANING,
        Format::FromPretrained => &python::FROM_PRETRAINED_MEANING,
        Format::UnslothModel => &python::UNSLOTH_MODEL_MEANING,
        Format::UnslothAdapters => &python::UNSLOTH_ADAPTERS_MEANING,
        Format::KbitTraining => &python::KBIT_TRAINING_MEANING,
        _ => return None,
    })
}

/// The meaning of a format of torchtitan, of Megatron-LM, or of NVIDIA’s other programs.
pub(super) const fn pretraining(format: Format) -> Option<&'static Meaning> {
    Some(match format {
        Format::Torchtitan => &torchtitan::MEANING,
        Format::Megatron => &megatron::MEANING,
        Format::MegatronSwift => &megatron_swift::MEANING,
        Format::MegatronBridge => &nemo::BRIDGE_MEANING,
        Format::Nemo => &nemo::NEMO_MEANING,
        Format::Automodel => &automodel::MEANING,
        Format::NemoRl => &nemo_rl::MEANING,
        _ => return None,
    })
}
