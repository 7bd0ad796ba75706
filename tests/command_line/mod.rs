//! The program as somebody at a terminal, or another program, meets it.
//!
//! Where a change of the estimator or of the tables is meant, `BMAX_BLESS=1 cargo test --features
//! cli --test native command_line::` writes the committed files anew, and their difference is there to be read.

mod adapters;
mod contradictions;
mod local;
mod read;
mod schema_check;

use crate::support::adapter_facts;
use crate::support::golden::{as_committed, here};

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

use bmax::cli::{Depth, line, question, schema};
use bmax::export::{self, Target};
use bmax::{catalogue, format, setting};
use schema_check::check;
use serde_json::{Map, Value, json};

/// The program, which finds no model in a cache of this machine.
fn bmax() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bmax"));
    program.env("HF_HUB_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-cache"));
    program
}

fn run(arguments: &[&str]) -> Output {
    bmax().args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn words(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// The report on one question.
fn report(asked: &str) -> Value {
    let output = run(&["--json", asked]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it writes JSON")
}

/// What it answers to these bytes on standard input.
fn answers(input: Vec<u8>, arguments: &[&str]) -> Vec<Value> {
    let mut child = bmax()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("all of it is read");
    assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), ""));
    words(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

fn config_files() -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(here("tests/config_files")).expect("the folder is committed");
    files.map(|file| file.expect("it can be listed").path())
}

#[test]
fn link_query_and_json_scenario_have_the_same_report() {
    let expected = report("model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=8192&precision=mixed");
    assert_eq!(expected["link"], "v=4&s=8192&precision=mixed");
    for asked in [
        "?v=4&model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=8192&precision=mixed",
        "https://example.org/bmax/?model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=8192&precision=mixed#levers",
        r#"{"model":"llama-3.1-8b","gpu":"h100-80","gpus":8,"zero":"3","s":8192,"precision":"mixed"}"#,
    ] {
        assert_eq!(report(asked), expected, "{asked}");
    }
}

#[test]
fn a_version_keeps_its_meaning_in_json_as_in_links() {
    assert_eq!(report(r#"{"v":1,"gpus":8}"#)["method"], "workshop");
    assert_eq!(report("?v=1&gpus=8")["method"], "workshop");
    assert_eq!(report(r#"{"gpus":8}"#)["method"], "ledger");
}

#[test]
fn the_scenario_of_a_report_asks_for_the_same_report() {
    for asked in ["model=mixtral-8x7b&gpus=64&ep=8&zero=1&mem=79.65&frag=7.25", "v=1&layers=7", "{}"] {
        let first = report(asked);
        assert_eq!(report(&first["scenario"].to_string()), first, "{asked}");
        assert_eq!(report(first["link"].as_str().expect("a query")), first, "{asked}");
    }
}

#[test]
fn tables_show_what_the_json_says() {
    let text = String::from_utf8(run(&["model=llama-3.1-8b&gpu=h100-80&recompute=full"]).stdout).expect("UTF-8");
    let json = report("model=llama-3.1-8b&gpu=h100-80&recompute=full");
    assert!(text.contains(&format!("b_max = {} sequences per GPU", json["answer"]["b_max"])), "{text}");
    assert!(text.contains(json["estimate"]["peak"]["instant"].as_str().expect("a name")), "{text}");
    for other in json["other_methods"].as_array().expect("a list") {
        assert!(text.contains(other["method"].as_str().expect("a word")), "{text}");
    }
}

#[test]
fn a_micro_batch_is_told_in_what_it_counts_and_a_task_with_its_instants() {
    let output = run(&["model=llama-3.1-8b&gpu=h100-80&task=dpo"]);
    let text = words(&output.stdout);
    assert!(text.contains(" pairs per GPU"), "{text}");
    assert!(text.contains("score, logits") && text.contains("train: loss, forward"), "{text}");
    // Rows are what documents are packed into, and what is out of range has no unit of its own.
    let packed = run(&["model=llama-3.1-8b&gpu=h100-80&lengths=packed&b=0"]);
    assert!(words(&packed.stdout).contains(" rows per GPU"), "{}", words(&packed.stdout));
    assert!(
        words(&packed.stdout).contains("it takes a whole number from 1 to 1,048,576."),
        "{}",
        words(&packed.stdout)
    );
    let refused = run(&["model=llama-3.1-8b&task=dpo&method=workshop"]);
    assert!(words(&refused.stdout).contains("the ledger counts DPO"), "{}", words(&refused.stdout));
}

#[test]
fn lengths_of_a_file_are_padded_and_told_in_tokens_with_their_whole_sample() {
    let path = std::env::temp_dir().join(format!("bmax-lengths-{}.txt", std::process::id()));
    std::fs::write(&path, "length count\n100 95\n900 4\n1500 1\n").expect("a place for files");
    let file = path.display().to_string();
    let asked = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&s=1024";
    let output = run(&["--lengths", &file, asked]);
    let text = words(&output.stdout);
    assert!(text.contains("up to 1,024 tokens a sequence") && text.contains("The worst micro-batch has "), "{text}");
    assert!(text.contains("median 100, 95th percentile 100, mean 141, longest 1,024 tokens"), "{text}");
    let output = run(&["--json", "--lengths", &file, asked]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("it writes JSON");
    let lengths = &report["lengths"];
    assert_eq!((&lengths["batching"], &lengths["worst_length"]), (&Value::from("padded"), &Value::from(1_024)));
    assert_eq!(
        lengths["max_tokens_at_b_max"],
        Value::from(1_024 * report["answer"]["b_max"].as_u64().expect("some fit"))
    );
    assert_eq!(report["scenario"]["len_max"], Value::from(1_500));
    std::fs::write(&path, "100\nmany\n").expect("a place for files");
    let refused = run(&["--lengths", &file]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused.stderr).contains("Line 2: “many” is no whole number."), "{}", words(&refused.stderr));
    std::fs::remove_file(&path).expect("it is there");
    // Without lengths that vary there is nothing to say of them.
    assert_eq!(self::report(asked).get("lengths"), None);
}

#[test]
fn times_on_a_gpu_without_a_listed_speed_are_said_to_be_assumed() {
    for (question, teraflops) in [("gpu=dgx-spark", 100.0), ("gpu=dgx-spark&precision=fp32", 25.0)] {
        let output = run(&[question]);
        let text = words(&output.stdout);
        let speed = &report(question)["plan"]["assumed_speed"];
        let said = speed["assumed"].as_str().expect("a sentence");
        assert!(said.contains(&format!("assumed: {teraflops} TFLOP/s")) && text.contains(said), "{said} in {text}");
        assert_eq!(speed["flops_per_second"].as_f64(), Some(0.4 * teraflops * 1e12));
    }
    let listed = &report("gpu=rtx-4070")["plan"]["assumed_speed"];
    assert_eq!((&listed["assumed"], listed["flops_per_second"].as_f64()), (&json!(null), Some(0.4 * 58.3e12)));
    assert!(!words(&run(&["gpu=rtx-4070"]).stdout).contains("assumed"));
}

#[test]
fn what_does_not_fit_is_an_answer_with_its_reason() {
    let output = run(&["model=70b&gpus=1"]);
    assert_eq!(output.status.code(), Some(0));
    let text = words(&output.stdout);
    assert!(text.contains("Not even one sequence fits") && text.contains("GPUs it would fit"), "{text}");
    let answer = &report("model=70b&gpus=1")["answer"];
    assert_eq!((&answer["fits"], &answer["reason"]), (&json!(false), &json!("model-states")));
    assert!(answer["over_bytes"].as_f64() > Some(0.0) && answer["fewest_gpus"].as_u64() > Some(1), "{answer}");
}

#[test]
fn what_cannot_be_used_is_named_beside_an_answer() {
    let report = report("s=-5&colour=red&gpus=3&tp=2");
    let notices = report["notices"].to_string();
    assert!(notices.contains("Sequence length") && notices.contains("colour"), "{notices}");
    let conflict = &report["conflicts"][0];
    assert_eq!((&conflict["key"], &conflict["nearest"]), (&json!("gpus"), &json!(4)));
    assert_eq!(report["scenario"]["gpus"], 3);
}

#[test]
fn exit_codes_tell_an_answer_from_bad_input_and_from_wrong_usage() {
    for (code, arguments) in [
        (0, ["s=1024"].as_slice()),
        (0, &["--help"]),
        (0, &["--version"]),
        (0, &["--schema"]),
        (0, &["--", "s=1024"]),
        (0, &["s=not-a-number"]),
        (0, &["--strict", "s=4k"]),
        (0, &["--compare", "s=1024", "?"]),
        (0, &["--others", "s=1024"]),
        (1, &["--others", "colour=red"]),
        (0, &["--others", "--json", "s=1024"]),
        (0, &["--compare", "?s=1024&vs=s:2048"]),
        (1, &["llama-3.1-8b"]),
        (1, &["what is the biggest batch for llama 8b on h100?"]),
        (1, &["colour=red"]),
        (1, &["--strict", "s=not-a-number"]),
        (1, &["--strict", "s=1024&colour=red"]),
        (1, &["--strict", "mem=80GB"]),
        (1, &["--strict", "model=llama-2-7b&params=70"]),
        (1, &["--strict", "--compare", "s=1024", "s=1024&colour=red"]),
        (1, &["--strict", "--compare", "s=1024&vs=s:none"]),
        (1, &["--strict", "--export", "deepspeed", "s=1024&colour=red"]),
        (1, &["--compare", "s=1024", "colour=red"]),
        (1, &[""]),
        (1, &["{\"s\":"]),
        (1, &["[1, 2]"]),
        (1, &["--config", "/no/such/file.json"]),
        (1, &["--config", "Cargo.toml"]),
        (2, &["--jason", "s=1024"]),
        (2, &["--config"]),
        (2, &["s=1024", "b=2"]),
        (2, &["--compare", "s=1024"]),
        (2, &["--compare", "s=1024", "b=2", "b=3"]),
        (2, &["--schema", "answer"]),
    ] {
        let output = bmax()
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output.stderr));
        assert_eq!(output.stderr.is_empty(), code == 0, "{arguments:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{arguments:?}");
    }
}

#[test]
fn a_trace_has_every_allocation_and_free_of_two_steps() {
    let asked = "model=tinyllama-1.1b&gpus=1&zero=0&precision=bf16-pure&recompute=none&dropout=off&loss=plain&layers=2";
    let output = run(&["--trace", asked]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    let text = words(&output.stdout);
    assert!(text.lines().nth(1) == Some("# build") && text.ends_with("# end\n"), "{text}");
    let (mut live, mut count) = (vec![], 0);
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("+", _)) => {
                live.push(true);
                count += 1;
            }
            Some(("-", number)) => {
                let alive: &mut bool = &mut live[number.parse::<usize>().expect("a number")];
                assert!(std::mem::take(alive), "{number} is freed twice");
            }
            _ => {}
        }
    }
    // What is left: an embedding, nine weights a layer, a norm and a head, three states of each, token ids, two tables of
    // frequencies, and a workspace of cuBLAS for each of two threads.
    let weights = 1 + 9 * 2 + 2;
    assert_eq!((live.iter().filter(|alive| **alive).count(), count > 500), (weights * 4 + 5, true), "{count}");
}

#[test]
fn what_is_not_played_yet_is_said_and_the_way_on() {
    let output = run(&["--trace", "model=tinyllama-1.1b&gpus=8&tp=8&precision=mixed"]);
    assert_eq!((output.status.code(), words(&output.stdout)), (Some(1), ""));
    let said = "bmax: there is no trace: on several GPUs, only some steps of DDP, FSDP, DeepSpeed, torchtitan and pipelines \
        are played yet; without --trace there is an answer\n";
    assert!(words(&output.stderr).ends_with(said), "{}", words(&output.stderr));
}

#[test]
fn a_question_is_not_answered_by_the_default_but_by_an_example() {
    for asked in ["what is the biggest batch for llama 8b on h100?", "biggest batch=?", "{\"question\": \"b?\"}"] {
        let output = run(&[asked]);
        assert_eq!(output.status.code(), Some(1), "{asked}");
        let message = words(&output.stderr);
        let example = message.split_whitespace().find(|word| word.starts_with("model=")).expect("an example");
        assert_eq!(run(&["--strict", example.trim_end_matches([',', ';', '.'])]).status.code(), Some(0), "{message}");
    }
}

#[test]
fn what_is_strictly_refused_is_told_on_the_error_stream_a_line_each() {
    let output = run(&["--strict", "model=llama3-8b&gpu=h100"]);
    let document = fs::read_to_string(here("docs/command-line.md")).expect("it is committed");
    let mut blocks = document.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| block.contains("--strict")).expect("an example");
    let (call, told) = block.split_once('\n').expect("a call and what it prints");
    assert_eq!((call, told), ("$ bmax 'model=llama3-8b&gpu=h100' --strict", words(&output.stderr)));
}

#[test]
fn strict_lines_are_all_answered_and_the_exit_code_tells_of_failures() {
    let ask = |input: &'static [u8]| {
        let mut child = bmax()
            .arg("--strict")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let told = words(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (output.status.code(), told)
    };
    let (code, told): (_, Vec<Value>) = ask(b"gpus=1&colour=red\ngpus=2\n");
    assert_eq!((code, told.len()), (Some(1), 2));
    assert_eq!(told[0], json!({ "line": 1, "error": "“colour” is not a parameter." }));
    assert_eq!(told[1]["scenario"]["gpus"], 2);
    let (code, told) = ask(b"gpus=2\n");
    assert_eq!((code, told.len()), (Some(0), 1));
}

#[test]
fn notices_come_before_the_answer() {
    let text = String::from_utf8(run(&["model=llama-2-7b&params=70&colour=red"]).stdout).expect("UTF-8");
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(place("“colour”") < place("b_max ="));
    assert!(place("Parameters: 70.00 billion are given") < place("b_max ="));
}

/// The comparison of two questions.
fn compared(before: &str, after: &str) -> Value {
    let output = run(&["--compare", "--json", before, after]);
    assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), ""));
    serde_json::from_slice(&output.stdout).expect("it writes JSON")
}

#[test]
fn a_comparison_says_what_the_two_reports_say() {
    let (before, after) = ("model=llama-3.1-8b&gpu=h100-80", "model=llama-3.1-8b&gpu=h200&recompute=none&s=8k");
    let comparison = compared(before, after);
    for (side, asked) in [("before", before), ("after", after)] {
        let (side, report) = (&comparison[side], report(asked));
        for key in ["link", "scenario", "notices", "conflicts", "answer"] {
            assert_eq!(side[key], report[key], "{asked}: {key}");
        }
        assert_eq!(side["peak"], report["estimate"]["peak"], "{asked}");
    }
    let keys: Vec<_> = comparison["changes"].as_array().expect("a list").iter().map(|change| &change["key"]).collect();
    assert_eq!(keys, [&json!("gpu"), &json!("s"), &json!("recompute")]);
    // The buckets add up to the whole, to the last bit.
    let sum: f64 =
        comparison["buckets"].as_array().expect("a list").iter().filter_map(|b| b["delta_bytes"].as_f64()).sum();
    assert_eq!(Some(sum), comparison["delta_bytes"].as_f64());
    let text = String::from_utf8(run(&["--compare", before, after]).stdout).expect("UTF-8");
    for part in ["Activation recomputation", "b_max", "B − A", "GPU", "H200 SXM 141 GB"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_comparison_is_as_its_schema_says() {
    let schema = schema::comparison();
    for (before, after) in
        [("?", "?"), ("model=7b", "model=mixtral-8x7b&gpu=h200&gpus=64&ep=8"), ("gpus=1&colour=red", "method=paper")]
    {
        check(&schema, &compared(before, after)).unwrap_or_else(|fault| panic!("{before} {after}: {fault}"));
    }
}

#[test]
fn two_models_of_files_can_be_compared() {
    let file = here("tests/config_files/gpt2.json");
    let output = run(&["--compare", "?", "recompute=full", "--config", file.to_str().expect("UTF-8"), "--json"]);
    let comparison: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(comparison["changes"].as_array().map(Vec::len), Some(1), "{}", comparison["changes"]);
    assert_eq!(comparison["after"]["scenario"]["hidden"], 768);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_wrong_usage() {
    use std::os::unix::ffi::OsStrExt;
    let odd: OsString = OsStr::from_bytes(b"s=\xff").to_owned();
    assert_eq!(bmax().arg(odd).output().expect("the program starts").status.code(), Some(2));
}

#[test]
fn lines_are_answered_in_order_and_a_bad_one_stops_nothing() {
    let lines: [&[u8]; 9] = [
        b"gpus=1&s=1024",
        b"{\"id\": \"second\", \"gpus\": 2}",
        b"",
        b"no question at all",
        b"{\"gpus\": 3, \"gpus\": 3}",
        b"\xff\xfe\x00",
        b"{\"id\": 7, \"gpus\": 7, \"s\": 1e999}\r",
        b"[[[[",
        b"https://example.org/?gpus=9",
    ];
    let told = answers(lines.join(&b'\n'), &[]);
    assert_eq!(told.len(), lines.len());
    let gpus: Vec<_> = told.iter().map(|answer| answer["scenario"]["gpus"].as_u64().unwrap_or(0)).collect();
    assert_eq!(gpus, [1, 2, 0, 0, 0, 0, 7, 0, 9]);
    for (position, answer) in told.iter().enumerate() {
        assert_eq!(answer["line"], position + 1);
        assert_eq!(answer["error"].is_string(), gpus[position] == 0, "{answer}");
    }
    assert_eq!((&told[1]["id"], &told[6]["id"]), (&json!("second"), &json!(7)));
    assert_eq!(told[6]["notices"].as_array().map(Vec::len), Some(1));
}

#[test]
fn hostile_lines_are_answered_like_any_other() {
    let nested = format!("{{\"s\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("s={}", "1".repeat(2 << 20));
    let many = format!("{{{}}}", (0..100_000).map(|i| format!("\"k{i}\":1")).collect::<Vec<_>>().join(","));
    let query = format!("gpus=8{}", "&é=%".repeat(100_000));
    let lines = [nested.as_str(), &long, &many, &query, "{\"s\":\"\\u0000\\ud800\"}", "s=1%00", "s=8192"];
    let told = answers(lines.join("\n").into_bytes(), &[]);
    assert_eq!(told.len(), lines.len());
    for (answer, is_answered) in told.iter().zip([false, false, false, true, false, true, true]) {
        assert_eq!(answer["error"].is_null(), is_answered, "{answer}");
    }
    assert_eq!(told[6]["scenario"]["s"], 8192);
}

#[test]
fn whoever_waits_for_an_answer_before_the_next_question_gets_it() {
    let mut child = bmax().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut questions = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    for gpus in [1, 2, 3] {
        writeln!(questions, "gpus={gpus}").expect("it reads");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("it answers");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["scenario"]["gpus"], gpus);
    }
    drop(questions);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_reader_who_has_enough_is_no_error() {
    let mut child =
        bmax().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut questions = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    let writer = thread::spawn(move || {
        // More than any pipe holds; writing ends when the program does.
        while questions.write_all(b"gpus=8\n").is_ok() {}
    });
    let mut first = String::new();
    answers.read_line(&mut first).expect("it answers");
    drop(answers);
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic");
    assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_config_json_is_the_model_and_a_query_refines_it() {
    let file = here("tests/config_files/llama-3.1-8b.json");
    let file = file.to_str().expect("a plain path");
    let output = run(&["--json", "--config", file, "gpu=h100-80&s=8192&model=70b"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["parameters"]["typed"], 8_030_261_248_u64);
    assert_eq!((&report["scenario"]["model"], &report["scenario"]["s"]), (&json!("llama-3.1-8b"), &json!(8192)));
    assert!(report["notices"].to_string().contains("“model” is passed over"), "{}", report["notices"]);
    // The model of the file travels in the link, which is that of the list where its network is one of them.
    let again = self::report(report["link"].as_str().expect("a query"));
    assert_eq!(again["estimate"], report["estimate"]);
}

#[test]
fn every_report_is_as_its_schema_says() {
    let reports = schema::report();
    let scenarios = schema::scenario();
    let rows = catalogue::MODELS.iter().map(|row| format!("model={}", row.slug));
    let devices = catalogue::DEVICES.iter().map(|row| format!("gpu={}&recompute=full", row.slug));
    let settings = setting::ALL.iter().flat_map(|word| {
        word.options.iter().map(move |option| format!("{}={}&model=mixtral-8x7b", word.key, option.key))
    });
    let odd = [
        "{\"id\":1.5}",
        "nonsense",
        "model=70b&gpus=1&b=1048576",
        "s=4194304&zero=0",
        "s=1&gpus=3&tp=2&pp=2",
        "network=sdxl.ema.root",
        "network=none",
    ];
    for asked in rows.chain(devices).chain(settings).chain(odd.map(str::to_owned)) {
        let told = line(Some(1), question(&asked, None), Depth::Full);
        let told = serde_json::to_value(told).expect("a report is JSON");
        check(&reports, &told).unwrap_or_else(|fault| panic!("{asked}: {fault}"));
        // A network of layers has no scenario.
        if told["error"].is_null() && told["network"].is_null() {
            check(&scenarios, &told["scenario"]).unwrap_or_else(|fault| panic!("{asked}: {fault}"));
        }
    }
}

#[test]
fn what_the_program_writes_is_as_its_schema_says() {
    let reports = schema::report();
    check(&reports, &report("model=llama-3.1-8b")).expect("a report");
    for told in answers(b"gpus=8\n\n{\"id\":\"x\"}\n".to_vec(), &["--full"]) {
        check(&reports, &told).expect("a line");
    }
}

#[test]
fn a_config_json_has_a_report_or_a_reason() {
    let reports = schema::report();
    let mut answered = 0;
    for file in config_files() {
        let output = bmax().arg("--json").arg("--config").arg(&file).output().expect("the program starts");
        if output.status.code() == Some(0) {
            let told = serde_json::from_slice(&output.stdout).expect("JSON");
            check(&reports, &told).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
            answered += 1;
        } else {
            let name = file.to_str().expect("a plain path");
            assert!(output.status.code() == Some(1) && words(&output.stderr).contains(name), "{name}");
        }
    }
    assert!(answered > 20, "{answered} files are models");
}

#[test]
fn brief_lines_hold_back_what_takes_many_searches() {
    let brief = &answers(b"gpus=8\n".to_vec(), &[])[0];
    let full = &answers(b"gpus=8\n".to_vec(), &["--full"])[0];
    for section in ["levers", "solve", "plan"] {
        assert!(brief.get(section).is_none() && full.get(section).is_some(), "{section}");
    }
    assert_eq!(brief["estimate"], full["estimate"]);
}

#[test]
fn the_committed_schemas_are_those_of_the_program() {
    let schemas = [
        ("scenario", schema::scenario()),
        ("report", schema::report()),
        ("comparison", schema::comparison()),
        ("others", schema::others()),
        ("read", schema::read()),
    ];
    for (name, schema) in &schemas {
        let path = format!("schema/{name}.schema.json");
        let output = run(&["--schema", name]);
        let committed = fs::read_to_string(here(&path)).expect("it is committed");
        assert_eq!(words(&output.stdout), committed, "{path} has drifted: make generate writes it anew");
        let kept: Value = serde_json::from_str(&committed).expect("the committed schema is JSON");
        assert_eq!(kept, *schema);
    }
    let all: Value = serde_json::from_slice(&run(&["--schema"]).stdout).expect("JSON");
    assert_eq!(all["$defs"].as_object().map(Map::len), Some(schemas.len()));
    for (name, schema) in &schemas {
        assert_eq!(all["$defs"][*name], *schema);
    }
}

/// What a schema leaves out of what is required, and what it lets be null, by its place in the value.
#[derive(Default)]
struct Gaps {
    left_out: BTreeSet<String>,
    null: BTreeSet<String>,
}

impl Gaps {
    fn of(schema: &Value) -> Self {
        let mut gaps = Self::default();
        gaps.look(schema, schema, "", &mut Vec::new());
        gaps
    }

    fn look<'a>(&mut self, root: &'a Value, schema: &'a Value, place: &str, within: &mut Vec<&'a str>) {
        if let Some(reference) = schema["$ref"].as_str() {
            // What holds itself, as changes do, has nothing new inside.
            if !within.contains(&reference) {
                within.push(reference);
                self.look(root, root.pointer(&reference[1..]).expect("a definition"), place, within);
                within.pop();
            }
        }
        let is_null = |schema: &Value| schema["type"] == "null";
        let kinds = schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("null")));
        if kinds || schema["anyOf"].as_array().is_some_and(|options| options.iter().any(is_null)) {
            self.null.insert(place.to_owned());
        }
        for option in schema["anyOf"].as_array().into_iter().flatten() {
            self.look(root, option, place, within);
        }
        if schema["items"].is_object() {
            self.look(root, &schema["items"], &format!("{place}[]"), within);
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            if schema["required"].as_array().is_none_or(|required| !required.contains(&json!(name))) {
                self.left_out.insert(place.clone());
            }
            self.look(root, inner, &place, within);
        }
    }
}

/// The names in backticks in the first column of the table of a document that has this heading.
fn listed(document: &str, heading: &str) -> BTreeSet<String> {
    let rows =
        document.split(heading).nth(1).expect("a table").lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn the_document_on_json_lists_what_is_left_out_and_what_may_be_null() {
    let document = fs::read_to_string(here("docs/json.md")).expect("it is committed");
    let mut gaps = Gaps::of(&schema::report());
    for more in [Gaps::of(&schema::comparison()), Gaps::of(&schema::others())] {
        gaps.left_out.extend(more.left_out);
        gaps.null.extend(more.null);
    }
    assert_eq!(listed(&document, "| left out | when |"), gaps.left_out);
    assert_eq!(listed(&document, "| null | when | why |"), gaps.null);
}

#[test]
fn what_may_be_left_out_or_null_is_that_where_the_document_says_so() {
    let brief = &answers(b"gpus=8\n".to_vec(), &[])[0];
    assert_eq!((brief.get("line"), brief.get("id")), (Some(&json!(1)), None));
    let full = report("{\"id\": 1, \"model\": \"70b\", \"gpus\": 1, \"s\": 4194304, \"gpu\": \"t4\"}");
    assert_eq!((full.get("line"), full.get("id")), (None, Some(&json!(1))));
    assert!(full["range"]["safe"]["b_max"].is_null() && full["range"]["safe"]["reason"].is_string());
    let missing: Vec<&str> = full["solve"]
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(key, _)| key.as_str())
        .collect();
    assert!(!missing.is_empty());
    for key in missing {
        assert!(full["solve"]["reasons"][key].is_string(), "{key}");
    }
}

#[test]
fn the_scenario_schema_refuses_what_the_reader_would_complain_of() {
    let schema = schema::scenario();
    for (scenario, is_fine) in [
        (json!({ "model": "llama-3.1-8b", "gpus": 8, "zero": 3, "sp": true, "s": null, "id": "x" }), true),
        (json!({ "s": "8,192", "zero": "3", "sp": "on" }), true),
        (json!({ "gpus": 8, "colour": "red" }), false),
        (json!({ "s": 0 }), false),
        (json!({ "s": 1.5 }), false),
        (json!({ "s": [1] }), false),
        (json!({ "zero": 4 }), false),
    ] {
        assert_eq!(check(&schema, &scenario).is_ok(), is_fine, "{scenario}");
        let notices = question(&scenario.to_string(), None).expect("an object").notices;
        assert_eq!(notices.is_empty(), is_fine, "{scenario}: {notices:?}");
    }
    // What no other model answers for is refused by both.
    let unknown = json!({ "model": "gpt-9" });
    assert!(check(&schema, &unknown).is_err() && question(&unknown.to_string(), None).is_err());
}

#[test]
fn the_tables_of_one_question_are_as_committed() {
    let asked = "model=llama-3.1-8b&gpu=h100-80&s=4096&b=2&recompute=full&loss=chunked&colour=red";
    let now = String::from_utf8(run(&[asked]).stdout).expect("UTF-8");
    as_committed("tests/golden/command_line.txt", &now);
}

#[test]
fn the_tables_of_one_comparison_are_as_committed() {
    let before = "model=llama-3.1-8b&gpu=h100-80&s=4k&b=2&recompute=full";
    let after = "model=llama-2-13b&gpu=h100&s=4k&b=2&recompute=full&loss=chunked";
    let now = String::from_utf8(run(&["--compare", before, after]).stdout).expect("UTF-8");
    as_committed("tests/golden/comparison.txt", &now);
}

#[test]
fn what_others_say_of_one_question_as_committed() {
    let asked = "model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=4096&b=2&recompute=full";
    let now = String::from_utf8(run(&["--others", asked]).stdout).expect("UTF-8");
    as_committed("tests/golden/others.txt", &now);
}

#[test]
fn what_others_say_is_as_its_schema_says_and_as_the_tables_do() {
    for asked in [
        "?",
        "model=llama-2-7b&gpus=1&zero=0&recompute=none",
        "adapter=qlora&gpus=1",
        "gpus=1&colour=red",
        "task=grpo",
        "lengths=packed",
    ] {
        let output = run(&["--others", "--json", asked]);
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        check(&schema::others(), &said).unwrap_or_else(|fault| panic!("{asked}: {fault}"));
        let report = report(asked);
        assert_eq!((&said["own"]["answer"], &said["notices"]), (&report["answer"], &report["notices"]), "{asked}");
        let text = String::from_utf8(run(&["--others", asked]).stdout).expect("UTF-8");
        for one in said["estimators"].as_array().expect("a list") {
            assert_eq!(one["memory"].is_null(), one["memory_lacks"].is_object(), "{asked}: {}", one["key"]);
            assert_eq!(one["largest"].is_null(), one["largest_lacks"].is_object(), "{asked}: {}", one["key"]);
            if let Some(printed) = one["memory"]["printed"].as_str() {
                assert!(text.contains(printed), "{asked}: {printed}");
            }
        }
    }
    let text = run(&["--others", "lengths=packed&b=2"]);
    let text = words(&text.stdout);
    assert!(text.contains("Memory of the fullest GPU with 2 rows"), "{text}");
    assert!(text.contains("Megatron-LM: it has no input for Lengths that vary “Packed”."), "{text}");
}

#[test]
fn the_worked_example_of_the_document_on_json_is_answered_as_printed() {
    let document = fs::read_to_string(here("docs/json.md")).expect("it is committed");
    let asked = document.split("echo '").nth(1).and_then(|rest| rest.split('\'').next()).expect("an example");
    let printed = document.split("among much else:\n\n```json\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let printed: Value = serde_json::from_str(printed.expect("an answer")).expect("JSON");
    let report = &answers(asked.as_bytes().to_vec(), &[])[0];
    assert_eq!(report["notices"], json!([]));
    for (key, value) in printed.as_object().expect("members") {
        assert_eq!(report[key], *value, "{key}");
    }
}

/// torchvision’s resnet50 has 25,557,032 weights; in bf16 with a master copy and AdamW’s moments a step has 12 bytes of each
/// beside its gradients.
#[test]
fn a_network_of_layers_is_answered_by_its_own_numbers_and_by_no_transformer_s() {
    let asked = "network=resnet-50&gpu=rtx-3090";
    let told = report(asked);
    assert_eq!((&told["network"], &told["name"]), (&json!("resnet-50"), &json!("ResNet-50")));
    assert_eq!((&told["notices"], &told["parameters"]), (&json!([]), &json!(25_557_032)));
    let states = told["step"]["optimizer_bytes"].as_f64().expect("bytes");
    assert_eq!(states, 8.0 * 25_557_032.0);
    assert_eq!(told["answer"]["b_max"], told["step"]["examples"]);
    assert!(told["step"]["peak_bytes"].as_f64() <= told["room_bytes"].as_f64());
    assert!(told["answer"]["fits"] == true && told.get("estimate").is_none());
    let text = run(&["--strict", asked]);
    let most = told["answer"]["b_max"].as_u64().expect("some fit");
    let said = words(&text.stdout);
    assert_eq!(text.status.code(), Some(0));
    assert!(said.starts_with("ResNet-50 on RTX 3090 24 GB") && !said.contains("7B"), "{said}");
    assert!(said.contains(&format!("b_max = {} example", format::count(most))), "{said}");
    // A line, and a JSON scenario.
    let line = &answers(b"{\"id\": 7, \"network\": \"resnet-50\", \"gpu\": \"rtx-3090\"}\n".to_vec(), &[])[0];
    assert_eq!((&line["line"], &line["id"], &line["answer"]), (&json!(1), &json!(7), &told["answer"]));
}

#[test]
fn a_network_that_is_not_known_has_no_answer_and_one_has_no_comparison_and_no_export() {
    let output = run(&["network=resnet50"]);
    assert_eq!((output.status.code(), words(&output.stdout)), (Some(1), ""));
    assert!(
        words(&output.stderr).contains("“resnet50” is not known (nearest: resnet-50)"),
        "{}",
        words(&output.stderr)
    );
    // Of a known one the part that says nothing is named.
    let told = report("network=sdxl.emma");
    assert!(
        told["notices"][0].as_str().is_some_and(|notice| notice.contains("“emma” is not known (nearest: ema)")),
        "{told}"
    );
    assert_eq!(run(&["--strict", "network=sdxl.emma"]).status.code(), Some(1));
    for arguments in [
        &["--export=json", "network=sdxl"][..],
        &["--compare", "network=sdxl", "gpus=2"],
        &["--others", "network=sdxl"],
    ] {
        let output = run(arguments);
        assert_eq!((output.status.code(), words(&output.stdout)), (Some(1), ""), "{arguments:?}");
    }
}

#[test]
fn every_export_is_written_whole_and_is_the_library_s() {
    let asked = "model=llama-3.1-8b&gpu=h100-80&precision=mixed";
    let scenario = question(asked, None).expect("it is understood").scenario;
    for target in Target::ALL {
        let output = run(&["--export", target.key(), "--page=https://example.org/", asked]);
        assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), ""), "{target:?}");
        assert_eq!(words(&output.stdout), export::write(*target, &scenario, "https://example.org/"));
    }
}

#[test]
fn an_export_says_on_the_error_stream_what_it_could_not_use() {
    let output = run(&["--export=deepspeed", "s=abc&gpus=4"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(words(&output.stderr).contains("Sequence length"), "{}", words(&output.stderr));
    let config: Value = serde_json::from_slice(&output.stdout).expect("it writes JSON");
    assert_eq!(config["zero_optimization"]["stage"], 3);
    assert_eq!(run(&["--export", "keras"]).status.code(), Some(2));
    assert_eq!(run(&["--export", "json", "no question"]).status.code(), run(&["no question"]).status.code());
}

#[test]
fn an_export_takes_the_model_of_a_configuration_file() {
    let file = here("tests/config_files/gpt2.json");
    let output = run(&["--export", "megatron", "--config", file.to_str().expect("UTF-8"), "gpus=1&zero=0"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    assert!(words(&output.stdout).contains("--hidden-size 768"));
}

/// Whether everything that `part` says stands in `whole` under the same name.
fn is_part(part: &Value, whole: &Value, path: &str) {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            for (key, value) in part {
                let there = whole.get(key).unwrap_or_else(|| panic!("the report has no {path}.{key}"));
                is_part(value, there, &format!("{path}.{key}"));
            }
        }
        (Value::Array(part), Value::Array(whole)) => {
            assert_eq!(part.len(), whole.len(), "{path}");
            for (position, (part, whole)) in part.iter().zip(whole).enumerate() {
                is_part(part, whole, &format!("{path}[{position}]"));
            }
        }
        (part, whole) => assert_eq!(part, whole, "{path}"),
    }
}

#[test]
fn the_json_export_is_part_of_the_report() {
    for asked in ["?", "model=llama-3.1-8b&gpu=h100-80&b=2", "gpus=1", "method=paper", "pp=4&gpus=32&zero=1&accum=8"] {
        let output = run(&["--export", "json", asked]);
        let mut part: Value = serde_json::from_slice(&output.stdout).expect("it writes JSON");
        // The page is not the command line’s to know.
        let page = part.as_object_mut().and_then(|part| part.remove("page")).expect("an address");
        let whole = report(asked);
        assert_eq!(page.as_str().map(|page| page.trim_start_matches('?')), whole["link"].as_str());
        is_part(&part, &whole, "");
    }
}
