//! Values, names and spellings that several formats have: patterns of matrices, switches, trainers, brackets.

use super::*;

#[test]
fn a_pattern_of_names_says_which_matrices_have_adapters() {
    let of = |pattern: &str| {
        let text =
            format!("base_model: Qwen/Qwen3-8B\nadapter: lora\nlora_target_modules: '{pattern}'\nsequence_len: 512\n");
        told_of(&text).into_iter().find(|line| line.starts_with("3 ")).expect("a line")
    };
    let used = |word: &str| format!("3 used lora_target_modules: targets={word}");
    // Every linear layer of a block, once with wrapped blocks and once with all alternatives written out.
    assert_eq!(
        of(r"model.language_model.layers.[\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj"),
        used("all")
    );
    assert_eq!(
        of(r"model\.layers\.\d+\.(?:_checkpoint_wrapped_module.)?(self_attn|mlp)\.(q_proj|up_proj|down_proj)"),
        used("all")
    );
    assert_eq!(of(r".*\.self_attn\.(q|k|v|o)_proj|.*\.mlp\.(gate|up|down)_proj"), used("all"));
    assert_eq!(of(r".*self_attn.(q|k|v|o)_proj"), used("attention"));
    assert_eq!(of(r".*(q|v)_proj$"), used("qv"));
    // Some layers alone, another matrix, a look ahead, brackets that do not match, and more choices than are followed.
    let more = "(a|b|c|d)".repeat(6);
    for other in [
        r".*\.layers\.(3|7|11)\.self_attn\.(q|k|v|o)_proj",
        r"model\.layers\.\d+\.(mlp\.(gate|up)_proj|self_attn\.q_proj)|model\.projector\.linear_[12]",
        r"(?!lm_head).*_proj",
        "((q|v)_proj",
        more.as_str(),
    ] {
        assert_eq!(of(other), "3 not counted lora_target_modules", "{other}");
    }
}

#[test]
fn a_list_whose_bracket_stands_at_its_key_is_read_as_pyyaml_reads_it() {
    let text = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nllmcompressor:\n  recipe:\n    targets: [\n      'a',\n    ]\n    \
        start: 0\nmicro_batch_size: 3\n";
    assert_says(&[Text::pasted(text)], "s=2048&b=3");
    // What is wrong for PyYAML, too, is named with the line of the reader's own text.
    let wrong = read(&[Text::pasted("base_model: a\nsequence_len: [1, 2\nb: ]\n")]);
    assert!(
        matches!(&wrong.texts[0].kind, Kind::Unread(Unread::Syntax(fault)) if fault.line <= 3),
        "{:?}",
        wrong.texts
    );
}

#[test]
fn a_switch_with_no_before_it_is_the_opposite_of_the_switch() {
    let text = "trl sft --model_name_or_path Qwen/Qwen3-8B --no_gradient_checkpointing --no_remove_unused_columns --no_such_key";
    let told = told_of(text);
    assert!(told.contains(&"1 used no_gradient_checkpointing: recompute=none".to_owned()), "{told:?}");
    assert!(told.contains(&"1 no matter no_remove_unused_columns".to_owned()), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("1 not understood no_such_key")), "{told:?}");
}

#[test]
fn the_other_trainers_of_trl_are_named_and_not_taken_for_one_that_is_counted() {
    for (text, trainer) in [
        ("trl kto --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2", "1 not counted trainer"),
        (
            "python examples/scripts/online_dpo_vlm.py --model_name_or_path a/b --max_length 4096",
            "1 not counted trainer",
        ),
        ("accelerate launch trl/experimental/sdpo/sdpo.py --learning_rate 1e-5", "1 not counted trainer"),
        ("args = RLOOConfig(output_dir='x', per_device_train_batch_size=2)", "1 not counted trainer"),
        ("from trl import PPOConfig\nargs = PPOConfig(response_length=64)", "2 used trainer: task=ppo"),
    ] {
        assert!(formats(&[Text::pasted(text)]).contains(&Format::TrlOther), "{text}");
        assert!(told_of(text).contains(&trainer.to_owned()), "{text}: {:?}", told_of(text));
    }
    // The four that are counted keep their names.
    assert_eq!(formats(&[Text::pasted("trl dpo --model_name_or_path a/b")]), [Format::TrlDpo]);
    assert_eq!(formats(&[Text::pasted("python grpo.py --model_name_or_path a/b --beta 0.1")]), [Format::TrlGrpo]);
}

#[test]
fn a_program_of_python_without_settings_is_told_from_a_broken_configuration() {
    for text in [
        "\"\"\"Trains: a model.\"\"\"\nfrom trl import TrlParser\n\nif __name__ == \"__main__\":\n    main()\n",
        "import os\nname: str = \"a\"\nother: \"b\" = c\n",
        "def main(args):\n    print(args: 1)\n",
    ] {
        let read = read(&[Text::pasted(text)]);
        let Kind::Unread(why) = &read.texts[0].kind else { panic!("{text} is read") };
        assert!(why.to_string().contains("paste the command that starts it"), "{text}: {why}");
    }
}

#[test]
fn megatron_of_llama_factory_is_divided_as_it_says_and_named() {
    let text = "model_name_or_path: Qwen/Qwen3-30B-A3B\ncutoff_len: 4096\ntensor_model_parallel_size: 2\n\
        pipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\nsequence_parallel: true\nuse_distributed_optimizer: true\n";
    assert_says(&[Text::pasted(text)], "tp=2&pp=4&ep=2&sp=on");
    assert!(told_of(text).contains(&"7 not counted use_distributed_optimizer".to_owned()), "{:?}", told_of(text));
}
