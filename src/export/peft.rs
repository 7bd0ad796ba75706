//! The configuration of adapters that peft reads, JSON: `LoraConfig.from_pretrained` takes a folder with it.
//!
//! Keys as in peft 0.21.2, `tuners/lora/config.py`. peft passes over keys that it does not know and names them in a
//! warning, so that what would be a comment is the list under `_comment`.

use super::Card;
use super::run::Run;
use super::text::{Spelling, Value};
use super::transformers::{self, ALL_LINEAR, target_modules};
use crate::read::Format;
use crate::{Adapter, AdapterType, LossHead, Scenario};

pub(super) const CARD: Card = Card {
    key: "peft",
    name: "peft",
    file_name: "adapter_config.json",
    media_type: "application/json",
    describe: "The adapters for peft’s LoraConfig.from_pretrained, which reads JSON.",
    readers: &[Format::Peft],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::new(scenario);
    run.change("peft is for adapters: LoRA stands in", |s| {
        if s.recipe.adapter == Adapter::None {
            s.recipe.adapter = Adapter::Lora;
        }
    });
    transformers::prepare(&mut run);
    let now = *run.now();
    let planned = run.plan();
    run.elsewhere(format!(
        "All that is not the adapters’, the micro-batch of {} and {} accumulation steps among it: the file for the \
         Hugging Face Trainer, of the scenario that runs.",
        planned.micro_batch, planned.steps
    ));
    if now.recipe.adapter_type == AdapterType::Half {
        run.elsewhere("Adapters in 16 bits: get_peft_model(…, autocast_adapter_dtype=False).");
    }
    let comment = run.head(page, "peft 0.21.2").into_iter().filter(|line| !line.is_empty());
    let task = match now.recipe.loss {
        LossHead::Classifier => Value::from("SEQ_CLS"),
        LossHead::MaskedLm => Value::Null,
        _ => "CAUSAL_LM".into(),
    };
    let targets = match target_modules(&now) {
        Some(names) => names.into(),
        None => Value::from(ALL_LINEAR),
    };
    let keys = vec![
        ("_comment", Value::List(comment.map(Value::from).collect())),
        ("peft_type", "LORA".into()),
        ("task_type", task),
        ("r", now.recipe.rank.into()),
        ("lora_alpha", now.recipe.rank.saturating_mul(2).into()),
        ("lora_dropout", if now.recipe.adapter_dropout.is_on() { 0.05 } else { 0.0 }.into()),
        ("target_modules", targets),
        ("bias", "none".into()),
    ];
    Value::Map(keys).pretty(Spelling::Json, 0) + "\n"
}
