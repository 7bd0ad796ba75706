//! Files that stand beside a `config.json` and say nothing of how a model is trained.

use super::{Format, Meaning, Row, Table};

/// The meaning of every such file: none of its keys matters.
pub(super) static MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table { source: "", is_of_scripts: false, keys: &[], no_matter: "*", not_counted: &[] }],
    within: &[],
};

const fn row(format: Format, name: &'static str, signs: &'static [&'static [&'static str]]) -> Row {
    Row { format, name, signs, needs: None }
}

pub(super) static TOKENIZER: Row = row(
    Format::Tokenizer,
    "the configuration of a tokenizer",
    &[&["tokenizer_class"], &["added_tokens_decoder"], &["added_tokens", "pre_tokenizer"], &["eos_token", "bos_token"]],
);
pub(super) static PROCESSOR: Row = row(
    Format::Processor,
    "the configuration of what makes tensors of images or sounds",
    &[&["image_processor_type"], &["feature_extractor_type"], &["processor_class"]],
);
pub(super) static DIFFUSION: Row = row(
    Format::Diffusion,
    "a part of a diffusion model, which has no tokens",
    &[&["_class_name", "_diffusers_version"]],
);
pub(super) static GENERATION: Row = row(
    Format::Generation,
    "the settings with which a model generates",
    &[&["_from_model_config"], &["do_sample"], &["eos_token_id", "transformers_version"]],
);
