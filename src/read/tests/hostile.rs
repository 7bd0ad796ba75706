//! Texts that nobody vouches for: clear words, nothing of a secret, an answer in time.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn unread(bytes: &[u8]) -> Unread {
    let reading = read(&[Text::file("x", bytes)]);
    match &reading.texts[0].kind {
        Kind::Unread(why) => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_text_or_too_long_or_broken_is_told_as_that() {
    assert_eq!(unread(b""), Unread::Empty);
    assert_eq!(unread(b" \n\t"), Unread::Empty);
    assert_eq!(unread(&[0xff, 0xfe, 0x00]), Unread::Binary);
    assert_eq!(unread(b"\x80\x02}q\x00(X\x01"), Unread::Binary);
    assert_eq!(unread(b"PK\x03\x04 a: 1\x00"), Unread::Binary);
    let long = "key: value\n".repeat(800_000);
    assert_eq!(unread(long.as_bytes()), Unread::TooLong { length: 8_800_000, most: 1 << 19 });
    assert!(matches!(unread(b"{\"train_batch_size\": 4,"), Unread::Json(_)));
    assert!(matches!(unread(b"base_model: x\nsequence_len: [1, 2\nmicro_batch_size: 2\n"), Unread::Syntax(_)));
    assert_eq!(unread(b"hello world"), Unread::Unknown(None));
}

#[test]
fn yaml_that_grows_nests_or_repeats_itself_is_refused_with_the_line() {
    let of = |text: &str| match unread(text.as_bytes()) {
        Unread::Syntax(fault) => fault,
        other => panic!("{other:?}"),
    };
    // A billion laughs: nine levels of nine aliases each.
    let mut bomb = "base_model: x\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    assert_eq!(of(&bomb).fault, Fault::TooManyValues(32_768));
    let deep = format!("base_model: x\nsequence_len: {}{}\n", "[".repeat(30), "]".repeat(30));
    assert_eq!(of(&deep).fault, Fault::TooDeep(24));
    let deeper = format!("base_model: x\nsequence_len: {}\n", "[".repeat(500_000));
    assert!(matches!(of(&deeper).fault, Fault::Grammar(_) | Fault::TooDeep(24)));
    let twice = of("base_model: x\nsequence_len: 1\nsequence_len: 2\n");
    assert_eq!((twice.line, twice.fault), (3, Fault::Repeated("sequence_len".to_owned())));
}

/// The fifty milliseconds of a release build, with room for a build that is not optimized.
#[test]
fn the_longest_texts_are_answered_in_time() {
    let limit = if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_millis(200) };
    let keys: String = (0..40_000).map(|at| format!("key_number_{at}: value\n")).collect();
    for text in [
        "key: value\n".repeat(800_000),
        format!("base_model: x\nsequence_len: 1\n{keys}"),
        "[".repeat(500_000),
        "{\"a\":".repeat(200_000),
        "--a b ".repeat(80_000),
        "a: 'b\n".repeat(80_000),
        "f(".repeat(200_000),
        "SFTConfig(".repeat(50_000),
        (0..40_000).map(|at| format!("A{at}=1\n")).collect::<String>() + "torchrun $A1 t.py",
        (0..40_000).map(|at| format!("--k{at} 1 ")).collect(),
        format!("[a]\n{}", (0..40_000).map(|at| format!("k{at} = 1\n")).collect::<String>()),
    ] {
        let start = Instant::now();
        read(&[Text::pasted(&text)]);
        assert!(start.elapsed() < limit, "{:?} for {}…", start.elapsed(), &text[..20]);
    }
}

/// Tokens as services give them out, a path and a name of a user, none of them real.
const SECRETS: [&str; 8] = [
    "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345",
    "0123456789abcdef0123456789abcdef01234567",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk-proj-0a1B2c3D4e5F6g7H8i9J",
    "/home/rosalind/checkpoints/run-17",
    "C:\\Users\\rosalind\\model",
    "https://rosalind:geheim@example.org/x",
];

/// Everything that is ever shown of a reading.
fn everything(reading: &Reading) -> String {
    let texts: Vec<_> = reading.texts.iter().map(|text| format!("{text:?}")).collect();
    let model = match &reading.model {
        Model::Unknown { name, .. } => name.clone(),
        _ => String::new(),
    };
    let notices: Vec<_> = reading.decoded.notices.iter().map(|notice| notice.to_string()).collect();
    format!("{texts:?}{:?}{}{model}{notices:?}", reading.understood, reading.query())
}

fn assert_hidden(text: &str) {
    let said = everything(&read(&[Text::file("/home/rosalind/run.yaml", text.as_bytes())]));
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    assert!(!said.contains("rosalind") && !said.contains("geheim"), "{said}");
}

#[test]
fn no_secret_gets_out_of_a_key_a_value_or_a_message() {
    for secret in SECRETS {
        let quoted = secret.replace('\\', "/");
        for text in [
            format!("base_model: {quoted}\nsequence_len: 512\n"),
            format!("base_model: x\nsequence_len: {quoted}\n"),
            format!("base_model: x\nsequence_len: 512\nhub_token: {quoted}\n"),
            format!("base_model: x\nsequence_len: 512\n\"{quoted}\": 1\n"),
            format!("base_model: x\nsequence_len: 512\n\"{quoted}\": 1\n\"{quoted}\": 2\n"),
            format!("base_model: x\nsequence_len: 512\ndeepspeed: {quoted}\n"),
            format!("base_model: x\nsequence_len: 512\nlora_target_modules: [\"{quoted}\", q_proj]\n"),
            format!("base_model: x\nsequence_len: 512\noptimizer: {quoted}\n"),
            format!("{{\"zero_optimization\": {{\"stage\": \"{quoted}\"}}, \"{quoted}\": 1}}"),
            format!("{{\"zero_optimization\": {{}}, \"{quoted}\": 1, \"{quoted}\": 2}}"),
            quoted.clone(),
            format!(
                "HF_TOKEN={quoted} torchrun --nproc_per_node 2 train.py --output_dir {quoted} --per_device_train_batch_size 1"
            ),
            format!(
                "python train.py --output_dir o --learning_rate {quoted} --hub_token {quoted} --per_device_train_batch_size {quoted}"
            ),
            format!("python {quoted} --output_dir o --learning_rate 1 --{quoted} 1 --config {quoted}.yaml"),
            format!(
                "args = TrainingArguments(output_dir=\"{quoted}\", hub_token='{quoted}', optim=\"{quoted}\", bf16=\"{quoted}\")"
            ),
            format!("m = AutoModel.from_pretrained(\"{quoted}\", token=\"{quoted}\")"),
        ] {
            assert_hidden(&text);
        }
    }
}

proptest! {
    #[test]
    fn no_command_and_no_program_panics(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "torchrun ", "python ", "-m ", "--nproc_per_node=2 ", "--bf16 ", "$A", "${A[@]} ", "${B:-4} ", "A=(--lr 1 ", ") ", "\\\n", "\n",
                "'", "\"", "$(nproc) ", "#", "; ", "train.py ", "--x=[1,2] ", "+a.b=c ", "é", "SFTConfig(", "LoraConfig(r=", "[", "{\"a\": ",
                "1e5", ", ", "not ", "torch.bfloat16", "-", "\"\"\"", "max_length = 3\n", "max_length",
            ]), 0..40)
    ) {
        read(&[Text::pasted(&parts.concat())]);
    }

    #[test]
    fn no_text_panics_and_no_key_is_lost(text in "(?s).{0,400}") {
        read(&[Text::pasted(&text)]);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&[Text::file("x", &bytes)]);
    }

    #[test]
    fn no_lines_of_configurations_panic_and_every_key_is_in_one_list(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "base_model: x", "sequence_len: 512", "lora_r: 8", "lora_r: -1", "lora_r: 1e999", "deepspeed: {a: 1}", "deepspeed: z3.json",
                "fsdp: [full_shard, offload]", "fsdp_config:", "  reshard_after_forward: false", "micro_batch_size: ''", "bf16: maybe",
                "rl: grpo", "trl: {max_completion_length: 9e9}", "unknown: [1, {a: b}]", "optim_args: rank=4,momentum=0.9", "? x", "- y", "&a b: *a",
            ]), 0..14)
    ) {
        let text = lines.join("\n");
        let reading = read(&[Text::pasted(&text)]);
        if let Ok(Ok(Some(section))) = super::super::recognise::of_yaml(&text, Readers::all()) {
            prop_assert_eq!(reading.understood.keys(), section.document.entries.len());
        }
    }

    #[test]
    fn the_order_of_texts_does_not_matter(order in Just(vec![0, 1, 2, 3]).prop_shuffle()) {
        let texts = [
            Text::file("a.yaml", b"base_model: Qwen/Qwen3-8B\nsequence_len: 512\nmicro_batch_size: 3\n"),
            Text::file("b.yaml", b"output_dir: o\nlearning_rate: 1\nper_device_train_batch_size: 2\n"),
            Text::file("c.json", br#"{"zero_optimization": {"stage": 2}, "train_batch_size": 64}"#),
            Text::file("d.yaml", b"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 4\n"),
        ];
        let shuffled: Vec<Text> = order.iter().map(|at: &usize| texts[*at]).collect();
        prop_assert_eq!(read(&shuffled), read(&texts));
    }

    #[test]
    fn no_secret_gets_out_of_any_place(secret in prop::sample::select(SECRETS.to_vec()), before in "[a-z_]{1,12}", inner in any::<bool>()) {
        let secret = secret.replace('\\', "/");
        let text = if inner {
            format!("base_model: x\nsequence_len: 4\n{before}: {{{before}: \"{secret}\"}}\n")
        } else {
            format!("output_dir: {secret}\nlearning_rate: 1\n{before}: \"{secret}\"\n")
        };
        assert_hidden(&text);
    }
}

#[test]
fn what_several_keys_make_and_no_input_takes_is_in_no_link_and_told_of_its_keys() {
    // A completion may have 4,194,304 tokens; `sequence_len` says the sequence beside it.
    let text = "base_model: x\nsequence_len: 512\nrl: grpo\ntrl:\n  max_completion_length: 9000000000\n";
    let reading = read(&[Text::pasted(text)]);
    assert_eq!((reading.inputs.get("completion"), reading.inputs.get("s")), (None, Some("512")));
    assert_eq!(link::decode(&reading.query()).notices, []);
    assert!(reading.decoded.notices.iter().any(|notice| notice.to_string().contains("9000000000")));
    assert_eq!((reading.understood.keys(), reading.texts[0].keys), (4, 4));
    // 2,000,000 processes on 2,000 machines: no key is wrong by itself.
    let text = "torchrun --nnodes 2000 --nproc_per_node 2000000 t.py --output_dir o --learning_rate 1\n";
    let told = told_of(text);
    for key in ["nnodes", "nproc_per_node"] {
        assert!(told.iter().any(|line| line.starts_with(&format!("1 not understood {key}: "))), "{key}: {told:?}");
    }
    assert_eq!(read(&[Text::pasted(text)]).inputs.get("gpus"), None);
}
