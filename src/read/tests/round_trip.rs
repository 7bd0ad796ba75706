//! What is exported comes back: every recorded file of a format that is read says the scenario that it runs, as far as the
//! format can say it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::Scenario;
use crate::export::Target;
use crate::input::Input;

/// The link in a file of what it runs: the last one above the line that says with what the file was checked.
fn runs(text: &str) -> Scenario {
    let end = text.find("Checked with").unwrap_or(text.len());
    let link = text[..end].rfind("?v=").map(|at| &text[at..]).expect("a link");
    let query = link.split(|c: char| c.is_whitespace() || matches!(c, '"' | ')')).next().expect("a query");
    let scenario = crate::link::decode(query).scenario;
    // A file that runs what was asked has the micro-batch and the steps of its plan, which its head says.
    let number = |behind: &str| {
        let words: Vec<&str> = text[..end].split(behind).nth(1)?.split_whitespace().collect();
        words.first().and_then(|word| word.parse::<f64>().ok())
    };
    let steps = text[..end].split(" accumulation").next().and_then(|before| before.split_whitespace().last());
    let Some((micro, steps)) = number("Micro-batch ").zip(steps.and_then(|steps| steps.parse().ok())) else {
        return scenario;
    };
    let with = |scenario: Scenario, field, value| scenario.with_number(field, value).expect("in range");
    with(with(scenario, crate::Field::Batch, micro), crate::Field::MicroBatches, steps)
}

/// The inputs that a file says otherwise than the scenario that it runs.
fn differing(text: &str) -> BTreeSet<&'static str> {
    let expected = runs(text);
    let found = read(&[Text::pasted(text)]);
    // Files have a placeholder in the place of the model, and none says the GPU.
    let whole = crate::link::encode_whole(&expected);
    let is_of_model = |key: &str| {
        let at = crate::Field::ALL.iter().position(|field| field.bound().key == key);
        let first = crate::Field::ALL.iter().position(|field| field.bound().key == "source");
        at < first && at.is_some()
    };
    let said = found.query();
    let has = |key: &str| said.split(['?', '&']).any(|pair| pair.split('=').next() == Some(key));
    let of_the_rest: Vec<&str> = whole
        .split('&')
        .filter(|pair| {
            let key = pair.split('=').next().unwrap_or_default();
            let rest = ["model", "gpu", "mem", "driver"].contains(&key) || is_of_model(key);
            rest && !has(key)
        })
        .collect();
    let got = crate::link::decode(&format!("{said}&{}", of_the_rest.join("&"))).scenario;
    Input::each()
        .filter(|input| match input {
            Input::Number(field) => expected.number(*field) != got.number(*field),
            Input::Word(word) => word.get(&expected) != word.get(&got),
            _ => false,
        })
        .map(Input::key)
        .collect()
}

/// The recorded files of this name, with the scenarios that they are of.
fn recorded(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports/files");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let folder = entry.expect("an entry").path();
        let name_of = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if let Ok(text) = fs::read_to_string(folder.join(name)) {
            files.push((name_of, text));
        }
    }
    files.sort();
    assert_eq!(files.len(), 9, "{name}");
    files
}

/// What the formats cannot say, or leave to another file, each with the files of which that is so. What the chart shows
/// is a matter of the page.
const UNSAID: &[(Target, &str)] = &[
    // How many GPUs there are its launcher is told, and with that goes the target.
    (Target::Axolotl, "gpus target"),
    // What generates is no matter of it, and neither are segments: an environment variable.
    (Target::LlamaFactory, "gpus target completion engine_share rollout segments frag"),
    // Prompts are those of the data set. It is written for trl 1.10 and read as trl 1.16, whose head makes no whole logits.
    (Target::Trl, "s segments frag loss"),
    (
        Target::Accelerate,
        "accum b adapter attn completion engine_share frag grad kernels loss recompute ref rollout s segments step target",
    ),
    (
        Target::DeepSpeed,
        "adapter attn completion engine_share ep frag gpus kernels loss pp recompute ref rollout s segments step",
    ),
    (
        Target::Peft,
        "accum b adapter attn completion engine engine_share frag gpus grad kernels precision recompute ref rollout s segments \
         step target tp zero",
    ),
    // The length is a variable, the attention stands among keyword arguments in a dictionary.
    (Target::Transformers, "gpus target s attn completion engine_share ref rollout segments frag grad"),
    (Target::Torchtitan, "completion engine_share ref rollout segments frag"),
    // Its GELU, and how queries, keys and values are computed, are its own.
    (Target::Megatron, "gpus accum completion engine_share ref rollout mlp qkv softmax"),
];

#[test]
fn every_recorded_export_comes_back_as_far_as_its_format_can_say_it() {
    for target in Target::ALL {
        let row = UNSAID.iter().find(|(of, _)| of == target);
        assert_eq!(row.is_some(), !target.readers().is_empty(), "{target:?}");
        let Some((_, unsaid)) = row else { continue };
        let unsaid: BTreeSet<&str> = unsaid.split_whitespace().collect();
        let mut differ = BTreeSet::new();
        for (of, text) in recorded(target.file_name()) {
            let formats = formats(&[Text::pasted(&text)]);
            assert!(formats.iter().any(|format| target.readers().contains(format)), "{target:?} of {of}: {formats:?}");
            for key in differing(&text) {
                if !key.starts_with("chart_") {
                    assert!(unsaid.contains(key), "{target:?} of {of} says another {key}");
                    differ.insert(key);
                }
            }
        }
        // The table names nothing that does come back.
        assert_eq!(differ, unsaid, "{target:?}");
    }
}
