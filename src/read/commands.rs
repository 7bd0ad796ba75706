//! Commands and Python programs as sections: launchers are peeled off, and what they start says which format its options
//! are of.

use super::format::{Format, TRAINER_KEY, launchers, nemo};
use super::recognise::{Section, of_document};
use super::syntax::flags::{self, Command, Word};
use super::syntax::python::Call;
use super::syntax::{Document, Entry};
use super::{Needs, Readers};
use crate::json::Value;

/// Programs with which a command begins that trains something.
const PROGRAMS: [&str; 17] = [
    "torchrun",
    "accelerate",
    "deepspeed",
    "python",
    "python3",
    "swift",
    "megatron",
    "llamafactory-cli",
    "lmf",
    "axolotl",
    "automodel",
    "trl",
    "tune",
    "srun",
    "ray",
    "uv",
    "torchtitan",
];

/// What stands before a program and starts it.
const WRAPPERS: [&str; 6] = ["export", "nohup", "sudo", "time", "exec", "env"];

/// Options of launchers that take no value.
const ALONE: [&str; 16] = [
    "standalone",
    "multi_gpu",
    "use_deepspeed",
    "use_fsdp",
    "no_python",
    "same_network",
    "debug",
    "quiet",
    "cpu",
    "use_parallelism_config",
    "use_megatron_lm",
    "enable_cpu_affinity",
    "no_local_rank",
    "bind_cores_to_rank",
    "force_multi",
    "run_path",
];

/// What a part of a script's or a module's name says of its options; the more telling ones come first.
const SCRIPTS: &[(&str, Format)] = &[
    ("llamafactory.v1", Format::LlamaFactoryV1),
    ("llamafactory", Format::LlamaFactory),
    ("llama_factory", Format::LlamaFactory),
    ("cli/_megatron", Format::MegatronSwift),
    ("cli._megatron", Format::MegatronSwift),
    ("swift/cli", Format::MsSwift),
    ("swift.cli", Format::MsSwift),
    ("verl.trainer", Format::Verl),
    ("openrlhf", Format::OpenRlhf),
    ("axolotl", Format::Axolotl),
    ("examples/run_grpo", Format::NemoRl),
    ("examples/run_dpo", Format::NemoRl),
    ("examples/run_sft", Format::NemoRl),
    ("grpo", Format::TrlGrpo),
    ("reward", Format::TrlReward),
    ("dpo", Format::TrlDpo),
    ("sft", Format::TrlSft),
    ("run_clm", Format::Transformers),
    ("run_recipe", Format::MegatronBridge),
    ("megatron_gpt", Format::Nemo),
    ("pretrain_gpt", Format::Megatron),
    ("pretrain_mamba", Format::Megatron),
];

/// Trainers of trl whose task is none of supervised fine-tuning, DPO, GRPO and reward models, by their scripts and classes
/// (examples/scripts/, trl/scripts/ and the classes of trl 1.16.0).
const TRAINERS: &[(&str, &str)] = &[
    ("async_grpo", "AsyncGRPOConfig"),
    ("bco", "BCOConfig"),
    ("cpo", "CPOConfig"),
    ("distillation", "DistillationConfig"),
    ("gkd", "GKDConfig"),
    ("gold", "GOLDConfig"),
    ("iw_opd", "IWOPDConfig"),
    ("kto", "KTOConfig"),
    ("minillm", "MiniLLMConfig"),
    ("nash_md", "NashMDConfig"),
    ("online_dpo", "OnlineDPOConfig"),
    ("orpo", "ORPOConfig"),
    ("ppo", "PPOConfig"),
    ("prm", "PRMConfig"),
    ("rloo", "RLOOConfig"),
    ("sdft", "SDFTConfig"),
    ("sdpo", "SDPOConfig"),
    ("server_distillation", "ServerDistillationConfig"),
    ("ssd", "SSDConfig"),
    ("tpo", "TPOConfig"),
    ("xpo", "XPOConfig"),
];

/// The sections of a text with a command in it; none where it has none.
pub(super) fn sections(text: &str) -> Option<Vec<Section>> {
    let commands = flags::commands(text);
    let is_one = commands.iter().any(|command| command.words.first().is_some_and(begins));
    if !is_one {
        return None;
    }
    let mut sections = Vec::new();
    let mut environment = Document::default();
    for command in &commands {
        assigned(command, &mut environment);
        started(&command.words, &mut sections, 0);
    }
    if !environment.entries.is_empty() {
        sections.push(Section::new(Format::Environment, environment));
    }
    Some(sections)
}

/// Whether a word begins a command that may train something.
fn begins(word: &Word) -> bool {
    let option = word.text.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    option || PROGRAMS.contains(&base(&word.text)) || WRAPPERS.contains(&word.text.as_str())
}

/// A name without the way to it.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Takes over variables that a program reads; all others are the shell's own.
fn assigned(command: &Command, to: &mut Document) {
    for (name, value) in &command.assigned {
        if launchers::ENVIRONMENT_MEANING.find(name).is_some() {
            to.put(name.clone(), super::syntax::plain(&value.text), value.line);
        }
    }
}

/// The sections of a command: of each of its launchers, and of what they start.
fn started(words: &[Word], to: &mut Vec<Section>, depth: usize) {
    // No launcher starts a launcher that starts another one and so on.
    const DEEPEST: usize = 6;
    let Some((first, rest)) = words.split_first().filter(|_| depth < DEEPEST) else { return };
    let mut again = |words: &[Word], to: &mut Vec<Section>| started(words, to, depth + 1);
    if first.text.starts_with("--") {
        return to.extend(section(words, None));
    }
    let word = |at: usize| rest.get(at).map(|word| word.text.as_str());
    match base(&first.text) {
        wrapper if WRAPPERS.contains(&wrapper) => again(rest, to),
        "uv" if word(0) == Some("run") => again(&rest[1..], to),
        // What stands behind two hyphens is the command that a scheduler starts.
        "ray" | "srun" => {
            let at = rest.iter().position(|word| PROGRAMS.contains(&base(&word.text)) && !word.text.starts_with('-'));
            if let Some(at) = at {
                again(&rest[at..], to);
            }
        }
        "torchrun" => launched(rest, Format::Torchrun, to, &mut again),
        "deepspeed" => launched(rest, Format::DeepSpeedLauncher, to, &mut again),
        "accelerate" if word(0) == Some("launch") => launched(&rest[1..], Format::Accelerate, to, &mut again),
        "python" | "python3" => {
            // Python's own options, such as -u, take no value here.
            let skipped = rest.iter().take_while(|word| word.text.starts_with('-') && word.text != "-m").count();
            let rest = &rest[skipped..];
            match rest {
                [m, module, rest @ ..] if m.text == "-m" => match module.text.as_str() {
                    "torch.distributed.run" | "torch.distributed.launch" => {
                        launched(rest, Format::Torchrun, to, &mut again)
                    }
                    "accelerate.commands.launch" => launched(rest, Format::Accelerate, to, &mut again),
                    module => to.extend(named(rest, module)),
                },
                [script, rest @ ..] => to.extend(named(rest, &script.text)),
                [] => {}
            }
        }
        "llamafactory-cli" | "lmf" if matches!(word(0), Some("sft" | "dpo" | "rm")) => {
            to.extend(section(rest, Some(Format::LlamaFactoryV1)));
        }
        "llamafactory-cli" | "lmf" => to.extend(section(rest, Some(Format::LlamaFactory))),
        "swift" => to.extend(section(rest, Some(Format::MsSwift))),
        "megatron" => to.extend(section(rest, Some(Format::MegatronSwift))),
        // What stands behind the recipe's configuration changes single keys of it.
        "tune" if word(0) == Some("run") => launched(&rest[1..], Format::Torchrun, to, &mut again),
        "axolotl" => to.extend(section(rest, Some(Format::Axolotl))),
        "automodel" => to.extend(section(rest, Some(Format::Automodel))),
        "trl" => to.extend(named(rest, word(0).unwrap_or_default())),
        other if other.ends_with(".py") => to.extend(named(rest, other)),
        _ => {}
    }
}

/// The section of a launcher's own options, and those of what it starts.
fn launched(words: &[Word], format: Format, to: &mut Vec<Section>, again: &mut dyn FnMut(&[Word], &mut Vec<Section>)) {
    let mut at = 0;
    while let Some(word) =
        words.get(at).filter(|word| word.text.starts_with('-') && word.text != "-m" && word.text != "--module")
    {
        let name = word.text.trim_start_matches('-').replace('-', "_");
        let has_value = !name.contains('=')
            && !ALONE.contains(&name.as_str())
            && words.get(at + 1).is_some_and(|next| !next.text.starts_with('-') && !next.text.ends_with(".py"));
        at += if has_value { 2 } else { 1 };
    }
    let (own, rest) = words.split_at(at.min(words.len()));
    to.extend(section(own, Some(format)));
    match rest {
        [m, module, rest @ ..] if m.text.starts_with('-') => to.extend(named(rest, &module.text)),
        [program, ..] if PROGRAMS.contains(&base(&program.text)) || program.text.ends_with(".py") => again(rest, to),
        [program, rest @ ..] => to.extend(named(rest, &program.text)),
        [] => {}
    }
}

/// The section that options are behind the name of a script, of a module or of what a program is told to do.
fn named(words: &[Word], name: &str) -> Option<Section> {
    let small = name.to_ascii_lowercase();
    let script = base(&small).trim_end_matches(".py").trim_end_matches("_vlm").trim_end_matches("_tldr");
    if let Some((trainer, _)) = TRAINERS.iter().find(|(trainer, _)| *trainer == script) {
        let options = section(words, Some(Format::TrlOther));
        let options = options.unwrap_or_else(|| Section::new(Format::TrlOther, Document::default()));
        return Some(trained_by(trainer, words.first().map_or(1, |word| word.line), options));
    }
    section(words, SCRIPTS.iter().find(|(part, _)| small.contains(part)).map(|(_, format)| *format))
}

/// The section with the name of the trainer of trl’s that it is for.
fn trained_by(trainer: &str, line: usize, mut section: Section) -> Section {
    section.document.put(TRAINER_KEY.to_owned(), Value::Text(trainer.to_owned()), line);
    section
}

/// The section that options are; by what they are where no format is told.
fn section(words: &[Word], format: Option<Format>) -> Option<Section> {
    let (mut document, others) = flags::options(words);
    // torchtitan 0.3 has a command for each kind of recomputation.
    for word in &others {
        if let Some(mode) = word.text.strip_prefix("activation-checkpoint:") {
            document.put("activation_checkpoint.mode".to_owned(), Value::Text(mode.to_owned()), word.line);
        }
    }
    if format == Some(Format::MegatronBridge) {
        name_recipe(&mut document);
    }
    let files = others.iter().filter(|word| is_file(&word.text)).map(|word| (word.text.clone(), word.line));
    let mut files: Vec<(String, usize)> = files.collect();
    for entry in &document.entries {
        if let (true, Value::Text(name)) =
            (matches!(entry.path.as_str(), "config" | "config_file" | "job.config_file"), &entry.value)
        {
            files.push((name.clone(), entry.line));
        }
    }
    let of_name = |format| Section::new(format, document.clone());
    let section = match format {
        // Which of trl's classes it is, its options know better than the name of a script.
        Some(Format::TrlSft) | None => of_document(document.clone()).or_else(|| format.map(of_name)),
        Some(format) => Some(of_name(format)),
    };
    let section = section.filter(|section| !section.document.entries.is_empty() || !files.is_empty());
    section.map(|section| Section { files: [section.files, files].concat(), ..section })
}

/// Puts what the name of a recipe says of the model and of adapters in its place.
fn name_recipe(document: &mut Document) {
    let mode = document.text("mode").map(|(mode, _)| mode);
    let named = ["recipe", "model"].into_iter().find_map(|key| Some((key, document.text(key)?)));
    let Some((key, (name, line))) = named else {
        return;
    };
    let (model, rank) = nemo::recipe(&name, mode.as_deref());
    document
        .entries
        .iter_mut()
        .filter(|entry| entry.path == key)
        .for_each(|entry| entry.value = Value::Text(model.clone()));
    if let Some(rank) = rank.filter(|_| !document.has("peft.dim")) {
        document.put("peft.dim".to_owned(), super::syntax::plain(rank), line);
    }
}

fn is_file(word: &str) -> bool {
    [".yaml", ".yml", ".json", ".toml"].iter().any(|ending| word.to_ascii_lowercase().ends_with(ending))
}

/// The calls of Python whose arguments are read.
fn calls(text: &str, readers: Readers) -> Result<Vec<Call>, Needs> {
    // A look for brackets behind the names is quicker than reading the text.
    let names: Vec<&'static str> =
        CALLS.iter().map(|(name, _)| *name).chain(TRAINERS.iter().map(|(_, class)| *class)).collect();
    if !names.iter().any(|name| text.match_indices(name).any(|(at, _)| text[at + name.len()..].starts_with('('))) {
        return Ok(Vec::new());
    }
    Ok(readers.python.ok_or(Needs::Python)?(text, &names))
}

/// Where calls of Python end whose arguments are read: the bytes behind the last argument and at the closing bracket.
pub(super) fn ends_of_calls(text: &str, readers: Readers) -> Result<Vec<(usize, usize)>, Needs> {
    Ok(calls(text, readers)?.iter().filter_map(|call| call.end).collect())
}

/// Classes and functions whose arguments say something, the longer names first.
const CALLS: &[(&str, Format)] = &[
    ("FastLanguageModel.from_pretrained", Format::UnslothModel),
    ("FastModel.from_pretrained", Format::UnslothModel),
    ("FastVisionModel.from_pretrained", Format::UnslothModel),
    ("FastLanguageModel.get_peft_model", Format::UnslothAdapters),
    ("FastModel.get_peft_model", Format::UnslothAdapters),
    ("FastVisionModel.get_peft_model", Format::UnslothAdapters),
    ("from_pretrained", Format::FromPretrained),
    ("SFTConfig", Format::TrlSft),
    ("DPOConfig", Format::TrlDpo),
    ("GRPOConfig", Format::TrlGrpo),
    ("RewardConfig", Format::TrlReward),
    ("TrainingArguments", Format::Transformers),
    ("Seq2SeqTrainingArguments", Format::Transformers),
    ("UnslothTrainingArguments", Format::Transformers),
    ("ParallelismConfig", Format::Transformers),
    ("LoraConfig", Format::Peft),
    ("BitsAndBytesConfig", Format::BitsAndBytes),
    ("prepare_model_for_kbit_training", Format::KbitTraining),
];

/// The sections of a Python program; none where it has no call that says anything.
pub(super) fn of_python(text: &str, readers: Readers) -> Result<Option<Vec<Section>>, Needs> {
    let mut sections = Vec::new();
    for call in calls(text, readers)? {
        let trainer = TRAINERS.iter().find(|(_, class)| *class == call.name).map(|(trainer, _)| *trainer);
        let known = CALLS.iter().find(|(name, _)| *name == call.name).map(|(_, format)| *format);
        let Some(format) = known.or(trainer.map(|_| Format::TrlOther)) else { continue };
        // Tokenizers and configurations are loaded by the same name.
        let loads = format == Format::FromPretrained;
        if loads && !(call.owner.contains("Model") || call.owner.contains("LM")) || call.owner.contains("Tokenizer") {
            continue;
        }
        let mut document = call.document;
        if let Some(name) = call.first.filter(|_| loads || format == Format::UnslothModel) {
            let key = if loads { "pretrained_model_name_or_path" } else { "model_name" };
            document.entries.push(Entry { path: key.to_owned(), value: Value::Text(name), line: call.line });
        }
        if call.name == "ParallelismConfig" {
            for entry in &mut document.entries {
                entry.path = format!("parallelism_config.{}", entry.path);
            }
        }
        let section = Section { expressions: call.expressions, is_call: true, ..Section::new(format, document) };
        sections.push(match trainer {
            Some(trainer) => trained_by(trainer, call.line, section),
            None => section,
        });
    }
    Ok((!sections.is_empty()).then_some(sections))
}
