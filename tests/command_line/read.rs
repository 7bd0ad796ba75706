//! Files of a run as they are given to the program.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use super::schema_check::check;
use super::{bmax, run, words};
use crate::runs::{RUNS, Run};
use bmax::cli::schema;

/// A folder with files of these names and contents.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (name, content) in files {
        std::fs::write(folder.join(name), content).expect("a file can be written");
    }
    folder
}

const RUN: (&str, &str) = (
    "run.yaml",
    "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\nadapter: qlora\nload_in_4bit: true\n\
     hub_token: hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345\ndeepspeed: configs/ds.json\n",
);
const DEEPSPEED: (&str, &str) = ("ds.json", r#"{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}"#);

#[test]
fn files_of_a_run_are_answered_together_and_a_query_refines_them() {
    let folder = folder("read-together", &[RUN, DEEPSPEED]);
    let [first, second] = ["run.yaml", "ds.json"].map(|name| folder.join(name).display().to_string());
    let output = run(&[&first, &second, "gpu=a100-80&gpus=4"]);
    let text = words(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    assert_eq!(run(&[&second, "gpu=a100-80&gpus=4", &first]).stdout, output.stdout);
    for said in
        ["run.yaml, line 2: sequence_len: 4096 → s=4096", "zero_optimization.stage: 2 → zero=2", "4 × A100 SXM 80 GB"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    // The same as the link that it stands for.
    let link = "model=llama-3.1-8b&gpu=a100-80&gpus=4&s=4096&b=2&accum=1&adapter=qlora&engine=deepspeed&zero=2&precision=bf16\
        &recompute=none&segments=expandable&optimizer=adamw&step=fused&adapter_dropout=off&target=8";
    let answer = |text: &str| text.lines().find(|line| line.starts_with("b_max")).map(str::to_owned);
    assert_eq!(answer(text), answer(words(&run(&[link]).stdout)));
    assert!(!text.contains("hf_") && !text.contains(&folder.display().to_string()), "{text}");
}

#[test]
fn what_was_read_is_as_its_schema_says() {
    let folder = folder(
        "read-schema",
        &[
            RUN,
            DEEPSPEED,
            (
                "oom.txt",
                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a \
        total capacity of 79.15 GiB of which 1.00 GiB is free.",
            ),
        ],
    );
    let name = |name: &str| folder.join(name).display().to_string();
    for arguments in [
        vec!["--read".to_owned(), "--json".to_owned(), name("run.yaml")],
        vec!["--read".to_owned(), "--json".to_owned(), name("oom.txt"), name("run.yaml"), name("ds.json")],
        ["--read", "--json", "Qwen/Qwen3-8B"].map(str::to_owned).to_vec(),
        ["--read", "--json", "some/unknown-model"].map(str::to_owned).to_vec(),
    ] {
        let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        check(&schema::read(), &said).unwrap_or_else(|fault| panic!("{arguments:?}: {fault}"));
        // No other model answers for one that is not known.
        let known = said["model"] != "unknown-model";
        assert_eq!((output.status.code(), said.get("report").is_some()), (Some(i32::from(!known)), known));
    }
    let files = [name("oom.txt"), name("run.yaml"), name("ds.json")];
    let output = run(&["--json", "--read", &files[0], &files[1], &files[2]]);
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // 79.15 × 2³⁰ bytes.
    assert_eq!(said["memory"]["capacity_bytes"], 84_986_665_369.6);
    assert_eq!(
        (said["memory"]["devices"][0].as_str(), said["report"]["scenario"]["gpu"].as_str()),
        (Some("a100-80"), Some("a100-80"))
    );
}

#[test]
fn exit_codes_tell_what_fits_from_what_does_not_and_from_what_is_not_read() {
    let folder = folder("read-codes", &[RUN, ("hello.txt", "hello world"), ("broken.yaml", "a: [1\nb: 2\nc: 3\n")]);
    let name = |name: &str| folder.join(name).display().to_string();
    for (code, arguments) in [
        (0, vec![name("run.yaml"), "gpu=h100-80&gpus=1".to_owned(), "--require-fit".to_owned()]),
        (3, vec![name("run.yaml"), "gpu=rtx-2060&gpus=1".to_owned(), "--require-fit".to_owned()]),
        (3, vec![name("run.yaml"), "gpu=h100-80&gpus=1&b=500".to_owned(), "--require-fit".to_owned()]),
        (0, vec![name("run.yaml"), "gpu=rtx-2060&gpus=1".to_owned()]),
        (3, vec!["model=llama-3.1-70b&gpu=rtx-2060&gpus=1".to_owned(), "--require-fit".to_owned()]),
        (1, vec![name("hello.txt")]),
        (1, vec![name("broken.yaml")]),
        (1, vec![name("run.yaml"), "{\"gpus\": 1}".to_owned()]),
        (2, vec!["--read".to_owned()]),
        (2, vec!["--require-fit".to_owned()]),
    ] {
        let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output.stderr));
    }
}

#[test]
fn a_command_and_standard_input_are_read_like_files() {
    let command = ["--", "torchrun", "--nproc_per_node", "4", "train.py", "--model_name_or_path", "Qwen/Qwen3-8B"];
    let arguments =
        [&command[..], &["--output_dir", "o", "--per_device_train_batch_size", "1", "--max_length", "1024"]].concat();
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    assert!(words(&output.stdout).contains("Qwen3 8B on 4 × "), "{}", words(&output.stdout));

    let mut child = bmax().args(["--read", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(arguments[1..].join(" ").as_bytes()).expect("it reads");
    assert_eq!(child.wait_with_output().expect("it ends").stdout, output.stdout);
}

#[test]
fn every_kind_of_text_is_read_from_a_file_and_from_standard_input() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    for Run { file, text, says } in RUNS {
        let mut child = bmax()
            .args(["--read", "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        let piped = child.wait_with_output().expect("it ends").stdout;
        let from_file = run(&["--read", "--json", &folder.join(file).display().to_string()]).stdout;
        for output in [piped, from_file] {
            let said: Value = serde_json::from_slice(&output).expect("JSON");
            let link = said["report"]["link"].as_str().unwrap_or_else(|| panic!("{file}: {said}"));
            for word in says.split(' ') {
                assert!(link.split('&').any(|one| one == word), "{file}: {word} is not in {link}");
            }
        }
    }
}
