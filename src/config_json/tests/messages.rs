//! What is said about a file: refusals and notes, word by word.

use super::*;
use crate::Mlp;

#[test]
fn what_the_file_leaves_out_is_named_with_what_stands_in() {
    assert_eq!(
        messages(&read(LLAMA_FILE).expect("a model")),
        ["“head_dim” is not in the file; 128 stands in, hidden size / heads."]
    );
    assert_eq!(
        note_with("\"num_key_value_heads\": 8,", ""),
        "“num_key_value_heads” is not in the file; 32 stands in, one for each attention head."
    );
    assert_eq!(
        note_with("\"tie_word_embeddings\": false,", ""),
        "“tie_word_embeddings” is not in the file; false stands in, the default for Llama in transformers."
    );
    let reading = read(
        r#"{"model_type":"mistral","hidden_size":512,"num_hidden_layers":2,"num_attention_heads":16,
        "intermediate_size":1024,"vocab_size":1000,"tie_word_embeddings":true,"head_dim":null}"#,
    )
    .expect("a model");
    assert_eq!((reading.model.kv_heads, reading.model.head_dim), (8, 32));
    assert_eq!(
        messages(&reading),
        ["“num_key_value_heads” is not in the file; 8 stands in, the default for Mistral in transformers."]
    );
    let reading = read(r#"{"model_type":"gpt2","n_embd":512,"n_layer":2,"n_head":8,"vocab_size":1000}"#);
    let reading = reading.expect("a model");
    assert_eq!((reading.model.feed_forward, reading.model.positions, reading.model.mlp), (2048, 1024, Mlp::GeluTanh));
    let notes = messages(&reading).join(" ");
    for key in ["intermediate_size", "max_position_embeddings", "activation_function", "tie_word_embeddings"] {
        assert!(notes.contains(&format!("“{key}” is not in the file")), "{notes}");
    }
}

#[test]
fn a_size_that_nothing_can_stand_in_for_is_refused_by_name() {
    for (line, name) in [
        ("\"hidden_size\": 4096,", "Hidden size: the file has no “hidden_size”"),
        ("\"num_hidden_layers\": 32,", "Layers: the file has no “num_hidden_layers”"),
        ("\"num_attention_heads\": 32,", "Attention heads: the file has no “num_attention_heads”"),
        ("\"intermediate_size\": 14336,", "Feed-forward width: the file has no “intermediate_size”"),
        (",\n  \"vocab_size\": 128256", "Vocabulary: the file has no “vocab_size”, and nothing can stand in"),
    ] {
        let message = refusal(&llama_with(line, ""));
        assert!(message.starts_with(name), "{message}");
    }
    let message = refusal(r#"{"model_type": "brand_new", "hidden_size": 768, "n_layer": 24, "vocab_size": 9000}"#);
    assert_eq!(
        message,
        "The model_type “brand_new” is not known, and the usual names do not help. Attention heads: the file has no \
         “num_attention_heads”, no “n_head”, no “n_heads”, none of its other names, and nothing can stand in for it."
    );
}

#[test]
fn a_value_of_another_kind_or_out_of_range_is_named() {
    for (new, message) in [
        ("\"32\"", "“num_hidden_layers” is a text; a number belongs there."),
        ("[32]", "“num_hidden_layers” is a list; a number belongs there."),
        ("true", "“num_hidden_layers” is true or false; a number belongs there."),
        (
            "-1",
            "“num_hidden_layers” cannot be used. Layers: “-1” is too small; it takes a whole number from 1 to 1,024.",
        ),
        (
            "1e308",
            "“num_hidden_layers” cannot be used. Layers: “1e308” is too large; it takes a whole number from 1 to 1,024.",
        ),
        (
            "1.5",
            "“num_hidden_layers” cannot be used. Layers: “1.5” is not a whole number; it takes a whole number from 1 to 1,024.",
        ),
    ] {
        let text = llama_with("\"num_hidden_layers\": 32", &format!("\"num_hidden_layers\": {new}"));
        assert_eq!(refusal(&text), message);
    }
    assert_eq!(
        note_with("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 0"),
        "“num_key_value_heads” cannot be used. Key/value heads: “0” is too small; it takes a whole number from 1 \
         to 1,024. 32 stands in."
    );
    assert_eq!(
        note_with("\"attention_bias\": false", "\"attention_bias\": \"no\""),
        "“attention_bias” is a text; true or false belongs there."
    );
    // Sizes that are in range by themselves and not together.
    let tiny = r#"{"model_type":"llama","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1,
        "intermediate_size":8,"vocab_size":2}"#;
    assert!(refusal(tiny).starts_with("Parameters: “0.0000"), "{}", refusal(tiny));
    let wide = llama_with("\"num_attention_heads\": 32", "\"num_attention_heads\": 1")
        .replace("\"hidden_size\": 4096", "\"hidden_size\": 8192");
    assert!(refusal(&wide).starts_with("Head width: “8,192” is too large"), "{}", refusal(&wide));
}

#[test]
fn what_contradicts_itself_or_may_matter_is_noted() {
    assert_eq!(
        note_with("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"),
        "Attention heads (32) should be a multiple of Key/value heads (5)."
    );
    assert_eq!(
        note_with("\"mlp_bias\": false", "\"n_embd\": 2048"),
        "“hidden_size” and “n_embd” differ; the first is used."
    );
    assert_eq!(
        note_with("\"mlp_bias\": false", "\"num_local_experts\": 8, \"some_rank\": 4, \"q_lora_rank\": null"),
        "Not read: num_local_experts, some_rank. What it means for weights and activations cannot be said."
    );
    assert_eq!(
        note_with("\"mlp_bias\": false", "\"quantization_config\": {\"quant_method\": \"awq\"}"),
        "The published weights are quantized; how they are trained is for the recipe to say."
    );
    assert_eq!(
        note_with("\"mlp_bias\": false", "\"mlp_bias\": true"),
        // 32 layers of two inner biases of 14,336 and one of 4,096.
        "Not counted: the biases of the feed-forward blocks, 1,048,576 weights (2 MiB in 16 bits)."
    );
    assert_eq!(
        note_with("\"hidden_size\": 4096", "\"hidden_size\": 4100"),
        "Hidden size (4100) should be a multiple of Attention heads (32)."
    );
}

#[test]
fn a_file_of_no_known_family_is_read_by_the_usual_names() {
    let reading = read(&llama_with("\"llama\"", "\"brand_new\"")).expect("a model");
    assert_eq!(reading.model, read(LLAMA_FILE).expect("a model").model);
    assert_eq!(reading.architecture, "Llama, assumed");
    assert!(messages(&reading)[0].starts_with("The model_type “brand_new” is not known."));
    // Experts and compressed keys are found by name as well.
    let deepseek = FILES.iter().find(|(name, ..)| *name == "deepseek-v3").expect("a file").1;
    let reading = read(&deepseek.replace("deepseek_v3", "brand_new")).expect("a model");
    assert_eq!(reading.model, read(deepseek).expect("a model").model);
}

#[test]
fn the_language_model_of_a_larger_one_is_read_and_said_so() {
    let nested =
        format!("\u{feff}{{\"model_type\": \"llava\", \"vision_config\": {{}}, \"text_config\": {LLAMA_FILE}}}");
    let reading = read(&nested).expect("a model");
    assert_eq!(reading.model, read(LLAMA_FILE).expect("a model").model);
    assert_eq!(reading.architecture, "Llama");
    let notes = messages(&reading);
    assert_eq!(
        notes[0],
        "The sizes are those of the language model, in “text_config”; what else the model has is not counted."
    );
    assert!(
        notes.contains(
            &"The part that “vision_config” describes is not counted; how much it takes cannot be said.".to_owned()
        ),
        "{notes:?}"
    );
}

#[test]
fn what_is_no_config_is_refused_in_a_short_sentence() {
    let many = "9".repeat(100_000);
    let bad = [
        String::new(),
        "4096".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "{\"hidden_size\": NaN}".to_owned(),
        "{\"hidden_size\": 1, \"hidden_size\": 2}".to_owned(),
        "{\"hidden_size\": \"\u{1}\"}".to_owned(),
        format!("{{\"hidden_size\": {many}}}"),
        format!("{{\"hidden_size\": \"{many}\"}}"),
        format!("{{\"model_type\": \"{many}\"}}"),
        "{\"text_config\":".repeat(100_000),
        "{\"text_config\":".repeat(60) + "{}" + &"}".repeat(60),
        " ".repeat(json::MAX_JSON_BYTES + 1),
    ];
    for text in bad {
        let message = refusal(&text);
        assert!(message.len() < 400, "{message}");
    }
    assert!(refusal("[]").contains("this is a list"));
    assert!(refusal("{\"a\":1,\n\"a\":2}").contains("line 2, column 1: “a” is here for the second time"));
}

#[test]
fn the_thinker_of_a_model_that_also_speaks_is_read_and_every_other_part_is_named() {
    let file = format!(
        "{{\"model_type\": \"qwen2_5_omni\", \"talker_config\": {{\"vocab_size\": 8448}}, \"thinker_config\": \
         {{\"audio_config\": {{}}, \"text_config\": {LLAMA_FILE}, \"empty_config\": null}}}}"
    );
    let reading = read(&file).expect("a model");
    assert_eq!(reading.model, read(LLAMA_FILE).expect("a model").model);
    let notes = messages(&reading).join("\n");
    for key in ["talker_config", "audio_config"] {
        assert!(notes.contains(&format!("The part that “{key}” describes is not counted;")), "{notes}");
    }
    assert!(!notes.contains("empty_config") && !notes.contains("“text_config” describes"), "{notes}");
}

#[test]
fn an_object_that_is_not_read_is_named_in_a_file_of_any_type() {
    for (new, is_named) in [
        ("\"side_config\": {\"hidden_size\": 8}", true),
        ("\"side_config\": null", false),
        ("\"side_config\": [1]", false),
        ("\"generation_config\": {\"top_k\": 8}", false),
        ("\"visual_config\": {}, \"visual\": {\"width\": 1664, \"layers\": 48}", true),
    ] {
        let text = llama_with("\"mlp_bias\": false", new);
        for text in [text.replace("\"llama\"", "\"brand_new\""), text] {
            let notes = messages(&read(&text).expect("a model")).join("\n");
            assert_eq!(notes.contains("_config” describes is not counted"), is_named, "{notes}");
        }
    }
}

/// A Llama file of no known type, with one line changed and another activation function.
fn guessed(activation: &str, old: &str, new: &str) -> Reading {
    let text = llama_with("\"llama\"", "\"brand_new\"").replace("\"silu\"", &format!("\"{activation}\""));
    assert!(text.contains(old), "{old}");
    read(&text.replacen(old, new, 1)).expect("a model")
}

#[test]
fn a_guess_reads_the_activation_before_it_assumes_a_gate() {
    let block = |reading: Reading| {
        let Model { mlp, norm, bias, position, .. } = reading.model;
        assert!(messages(&reading)[0].starts_with("The model_type “brand_new” is not known."));
        format!("{} {} {} {} {}", reading.architecture, mlp.key(), norm.key(), bias.key(), position.key())
    };
    let llama = "Llama, assumed gated rmsnorm none rotary";
    assert_eq!(block(guessed("silu", "{", "{")), llama);
    assert_eq!(block(guessed("gelu_pytorch_tanh", "{", "{")), llama);
    assert_eq!(block(guessed("relu2", "{", "{")), "GPT, assumed gelu rmsnorm none rotary");
    let layer_norm = |activation, further: &str| {
        let with = format!("\"layer_norm_eps\": 1e-5, {further}");
        block(guessed(activation, "\"rms_norm_eps\": 1e-05,", &with))
    };
    assert_eq!(layer_norm("gelu", ""), "GPT, assumed gelu layernorm none rotary");
    assert_eq!(layer_norm("silu", ""), "Llama, assumed gated layernorm none rotary");
}

#[test]
fn an_encoder_with_a_decoder_is_refused_with_the_sizes_of_its_decoder() {
    let t5 = r#"{"model_type": "longt5", "is_encoder_decoder": true, "d_model": 512, "num_decoder_layers": 6,
        "num_heads": 8, "d_kv": 64, "d_ff": 2048, "vocab_size": 32128}"#;
    assert_eq!(
        refusal(t5),
        // The table of 32,128 × 512, and six layers of four matrices of 512² and three of 512 × 2,048, two norms each, and
        // the last norm.
        "This is an encoder with a decoder of a build that is not counted; whole models of the kind of T5, BART and \
         Whisper are. Its decoder alone, without what attends to the encoder, has 41,622,016 weights by its sizes: bmax \
         'v=4&model=own&params=0.041622016&hidden=512&layers=6&heads=8&head_dim=64&ffn=2048&vocab=32128&tied=on&\
         recompute=none'."
    );
    let whisper = r#"{"model_type": "whisper", "architectures": ["WhisperForCausalLM"], "d_model": 384, "encoder_layers": 4, "decoder_layers": 4,
        "decoder_attention_heads": 6, "decoder_ffn_dim": 1536, "vocab_size": 51865}"#;
    assert!(refusal(whisper).contains("hidden=384&layers=4&heads=6&kv=6&head_dim=64&ffn=1536&vocab=51865"));
    // Where a size is not there, nothing is offered that would be another model.
    let pair = r#"{"model_type": "encoder-decoder", "encoder": {}, "decoder": {"hidden_size": 768, "vocab_size": -1}}"#;
    assert!(refusal(pair).contains("A model of the list with about as many weights"), "{}", refusal(pair));
    assert!(!refusal(pair).contains("bmax"), "{}", refusal(pair));
}

#[test]
fn stacks_of_different_widths_and_half_of_a_model_are_refused() {
    let bart = include_str!("../../../tests/config_files/bart-base.json");
    assert!(read(bart).is_ok());
    for (old, new) in [
        ("\"encoder_attention_heads\": 12", "\"encoder_attention_heads\": 8"),
        ("\"encoder_ffn_dim\": 3072", "\"encoder_ffn_dim\": 2048"),
        ("BartForConditionalGeneration", "BartForCausalLM"),
    ] {
        assert!(bart.contains(old), "{old}");
        assert!(refusal(&bart.replace(old, new)).starts_with("This is an encoder with a decoder of a build"), "{new}");
    }
    let t5 = include_str!("../../../tests/config_files/t5-small.json");
    assert!(refusal(&t5.replace("T5ForConditionalGeneration", "T5EncoderModel")).contains("Its decoder alone"));
}

#[test]
fn t5_s_word_for_gate_and_function_is_read() {
    let t5 = include_str!("../../../tests/config_files/flan-t5-base.json");
    let mlp = |word: &str| {
        let text = t5.replace("\"gated-gelu\"", &format!("\"{word}\""));
        read(&text).unwrap_or_else(|refusal| panic!("{word}: {refusal}")).model.mlp
    };
    assert_eq!(mlp("gated-gelu"), Mlp::GatedGeluTanh);
    assert_eq!(mlp("gated-silu"), Mlp::Gated);
    assert_eq!(mlp("relu"), Mlp::Relu);
    assert_eq!(mlp("gelu_new"), Mlp::GeluTanh);
    // Layers of the decoder may be others than those of the encoder.
    let text = t5.replace("\"num_decoder_layers\": 12", "\"num_decoder_layers\": 4");
    let model = read(&text).expect("a model").model;
    assert_eq!((model.layers, model.encoder.layers), (4, 12));
}

#[test]
fn attention_to_words_and_distances_is_refused() {
    let message = refusal(include_str!("../../../tests/config_files/deberta-v3-base.json"));
    assert!(message.starts_with("“relative_attention”: its layers attend to words and to distances"), "{message}");
}

#[test]
fn what_can_be_asked_by_hand_is_understood() {
    let t5 = r#"{"is_encoder_decoder": true, "d_model": 512, "num_decoder_layers": 6, "num_heads": 8, "d_kv": 64,
        "d_ff": 2048, "vocab_size": 32128}"#;
    let Err(ConfigError::TwoStacks(Some(by_hand))) = read(t5) else { panic!("it is refused") };
    let read = crate::link::decode(&by_hand.query());
    assert_eq!(read.notices, []);
    assert_eq!(crate::Weights::of(&read.scenario.model).total(), by_hand.weights());
    let Model { hidden, layers, heads, head_dim, feed_forward, vocabulary, .. } = read.scenario.model;
    assert_eq!([hidden, layers, heads, head_dim, feed_forward, vocabulary], [512, 6, 8, 64, 2048, 32128]);
}

#[test]
fn layers_that_are_no_attention_are_refused_with_what_says_so() {
    for (text, sign) in [
        (r#"{"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24}"#.to_owned(), "“mamba”"),
        (
            llama_with("\"mlp_bias\": false", "\"layer_types\": [\"full_attention\", \"mamba\"]"),
            "“layer_types” has “mamba”",
        ),
        (llama_with("\"mlp_bias\": false", "\"layer_types\": [\"conv\"]"), "“layer_types” has “conv”"),
        (llama_with("\"llama\"", "\"brand_new\"").replace("\"mlp_bias\"", "\"mamba_d_state\""), "“mamba_d_state”"),
        (
            llama_with("\"llama\"", "\"brand_new\"").replace("\"mlp_bias\"", "\"linear_num_key_heads\""),
            "“linear_num_key_heads”",
        ),
    ] {
        let message = refusal(&text);
        assert!(message.starts_with(&format!("{sign}: its layers keep a state")), "{message}");
        assert!(message.contains("A model of the list with about as many weights"), "{message}");
        assert!(!message.contains("bmax"), "{message}");
    }
    let kinds = "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"chunked_attention\", \"attention\"]";
    assert!(read(&llama_with("\"mlp_bias\": false", kinds)).is_ok());
}

#[test]
fn what_is_no_language_model_is_refused_as_such() {
    let sights = r#"{"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "image_size": 224}"#;
    assert!(refusal(sights).starts_with("This is no language model: “image_size” belongs to images"));
    let pair = format!("{{\"projection_dim\": 512, \"vision_config\": {{}}, \"text_config\": {LLAMA_FILE}}}");
    assert!(refusal(&pair.replace("\"llama\"", "\"brand_new\"")).contains("“projection_dim” belongs to"));
    let series = r#"{"model_type": "series", "d_model": 64, "num_layers": 2}"#;
    assert!(refusal(series).starts_with("The model_type “series” is not known, and the file has no “vocab_size”"));
}

#[test]
fn a_size_that_only_a_difference_needs_is_checked_too() {
    let file = r#"{"model_type": "deepseek_v32", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 1024, "vocab_size": 1000, "index_head_dim": 1e999, "index_n_heads": "many"}"#;
    let notes = messages(&read(file).expect("a model")).join("\n");
    assert!(
        notes.contains(
            "“index_head_dim” cannot be used: “1e999” is no whole number from 0 to 4,194,304. 128 stands in."
        ),
        "{notes}"
    );
    assert!(notes.contains("“index_n_heads” is a text; a number belongs there. 64 stands in."), "{notes}");
}

#[test]
fn a_class_without_a_head_over_the_vocabulary_is_noted() {
    let with = |class: &str| {
        let further = format!("\"architectures\": [\"{class}\"]");
        let text = llama_with("\"mlp_bias\": false", &further);
        let text = text.replacen("\"architectures\": [\n    \"LlamaForCausalLM\"\n  ],", "", 1);
        messages(&read(&text).expect("a model")).join("\n")
    };
    assert!(!with("LlamaForCausalLM").contains("output head"));
    // 128,256 entries of 4,096.
    assert!(
        with("LlamaModel").contains("Counted, though the model has none of it: an output head, 525,336,576 weights (")
    );
    assert!(with("LlamaForSequenceClassification").contains("The head that sorts into classes is not counted."));
}
