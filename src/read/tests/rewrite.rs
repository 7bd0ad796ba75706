//! Files given back with other values: what is wanted is there, and no other byte is changed.

use super::*;
use crate::input::Input;
use crate::{Field, Scenario, link, setting};

/// A text with these values, `key=value` with blanks between them, and the inputs for which it has no line.
fn given_back(text: &str, wanted: &str) -> (String, Vec<&'static str>) {
    let wanted: Vec<(Input, String)> = wanted
        .split(' ')
        .map(|pair| {
            let (key, value) = pair.split_once('=').expect("a value");
            (Input::from_key(key).expect("an input"), value.to_owned())
        })
        .collect();
    let Rewritten { texts, left } = rewrite(&[("run", text)], &wanted);
    (texts.into_iter().next().map_or(text.to_owned(), |(_, text)| text), left)
}

#[test]
fn a_yaml_file_keeps_its_comments_and_its_order() {
    let file = "# The run of May.\nbase_model: Qwen/Qwen3-8B\nadapter: lora   # not all weights\nlora_r: 16\n\n\
                sequence_len: 4096\nmicro_batch_size: 1 # as large as fits\ngradient_checkpointing: true\noptimizer: adamw_torch_fused\n\
                output_dir: ./out\n";
    let (text, left) = given_back(file, "b=4 rank=32 recompute=none optimizer=adam8bit");
    let expected = file
        .replace("size: 1 #", "size: 4 #")
        .replace("lora_r: 16", "lora_r: 32")
        .replace("checkpointing: true", "checkpointing: false")
        .replace("optimizer: adamw_torch_fused", "optimizer: adamw_bnb_8bit");
    assert_eq!((text.as_str(), left.as_slice()), (expected.as_str(), &[][..]));
    // What the file does not say is added behind it.
    assert_eq!(given_back(file, "accum=8").0, format!("{file}gradient_accumulation_steps: 8\n"));
}

#[test]
fn json_toml_commands_and_python_are_given_back_too() {
    let json = "{\n  \"zero_optimization\": { \"stage\": 2 },\n  \"bf16\": { \"enabled\": true },\n  \"train_micro_batch_size_per_gpu\": 1\n}\n";
    assert_eq!(given_back(json, "zero=3").0, json.replace("\"stage\": 2", "\"stage\": 3"));
    assert_eq!(given_back(json, "b=4").0, json.replace("per_gpu\": 1", "per_gpu\": 4"));
    let command = "torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen3-8B --max_length=4096 \\\n  \
                   --per_device_train_batch_size 1 --gradient_checkpointing true\n";
    assert_eq!(given_back(command, "b=2").0, command.replace("batch_size 1", "batch_size 2"));
    assert_eq!(given_back(command, "s=8192").0, command.replace("=4096", "=8192"));
    assert_eq!(given_back(command, "gpus=4").0, command.replace("node 8", "node 4"));
    assert_eq!(given_back(command, "accum=4").0, format!("{} --gradient_accumulation_steps 4\n", command.trim_end()));
    let python = "args = SFTConfig(\n    per_device_train_batch_size=2,  # more does not fit\n    max_length=2048,\n    \
                  gradient_checkpointing=True,\n)\n";
    assert_eq!(given_back(python, "b=1").0, python.replace("size=2,", "size=1,"));
    assert_eq!(given_back(python, "recompute=none").0, python.replace("=True", "=False"));
    // An argument more, behind the comment of the last one, and in a call of one line.
    assert_eq!(
        given_back(python, "accum=4").0,
        python.replace("=True,\n", "=True,\n    gradient_accumulation_steps=4,\n")
    );
    let python = "peft_config = LoraConfig(r=16)\nargs = SFTConfig(\n    max_length=2048,\n    output_dir=f\"out-{name}\"  # (here)\n)\n";
    assert_eq!(
        given_back(python, "b=2").0,
        python.replace("name}\"  # (here)\n", "name}\",  # (here)\n    per_device_train_batch_size=2,\n")
    );
    assert_eq!(given_back(python, "targets=all").0, python.replace("r=16", "r=16, target_modules=\"all-linear\""));
    let toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n\n[training]\nlocal_batch_size = 1 # each\nseq_len = 8192\n\n[parallelism]\n\
                tensor_parallel_degree = 1\n";
    assert_eq!(given_back(toml, "s=4096").0, toml.replace("seq_len = 8192", "seq_len = 4096"));
}

#[test]
fn an_input_that_a_file_has_no_line_for_is_named_and_nothing_else_is_lost() {
    let file = "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\n";
    let (text, left) = given_back(file, "context=2 b=3");
    assert_eq!(text, file.replace("size: 1", "size: 3"));
    assert_eq!(left, [Field::CudaContext.bound().name]);
    assert_eq!(given_back("Dear all, the meeting is at four.", "b=3").1, [Field::Batch.bound().name]);
}

#[test]
fn what_differs_between_two_scenarios_is_named_without_model_and_gpu() {
    let scenario = |query: &str| link::decode(query).scenario;
    let before = scenario("v=4&model=qwen3-8b&gpus=1&b=1");
    let after = scenario("v=4&model=qwen3-8b&gpu=rtx-4090&gpus=1&b=2&adapter=lora");
    let keys: Vec<_> = changes(&before, &after).into_iter().map(|(input, value)| (input.key(), value)).collect();
    assert!(keys.contains(&("b", "2".to_owned())) && keys.contains(&("adapter", "lora".to_owned())), "{keys:?}");
    assert!(keys.iter().all(|(key, _)| *key != "gpu" && *key != "model"), "{keys:?}");
    assert_eq!(changes(&before, &before), []);
}

#[test]
fn every_text_that_is_given_back_says_what_is_wanted() {
    let file = "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\nadapter: lora\nlora_r: 8\n";
    let before = read(&[Text::pasted(file)]);
    for input in Input::each() {
        let value = match input {
            Input::Number(field) => ["2", "4", "96"].into_iter().find(|text| field.read(text).is_ok()),
            Input::Word(word) => {
                word.options.iter().map(|option| option.key).find(|key| *key != word.get(&Scenario::default()))
            }
            _ => None,
        };
        let Some(value) = value else { continue };
        let found = rewrite(&[("run", file)], &[(input, value.to_owned())]);
        let Some((_, text)) = found.texts.first() else { continue };
        let after = read(&[Text::pasted(text)]);
        assert_eq!(after.inputs.get(input.key()), Some(value), "{text}");
        // An optimizer is named with its step.
        let others = before.inputs.iter().filter(|(key, _)| *key != input.key() && *key != "step");
        assert!(others.into_iter().all(|(key, said)| after.inputs.get(key) == Some(said)), "{text}");
        assert_eq!(found.left, [""; 0]);
    }
    assert!(setting::ALL.len() > 20, "there are words");
}
