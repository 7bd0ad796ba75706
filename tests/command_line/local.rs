//! A model that texts name and that lies on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use super::schema_check::check;
use super::{bmax, words};
use crate::support::golden::here;
use bmax::cli::schema;

const REVISION: &str = "0e9e39f249a16976918f6564b8830bc894c89659";

/// An empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("local").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    fs::write(path, content).expect("a file can be written");
}

/// Puts a model into a cache as huggingface_hub lays it out: the file is in `blobs`, and the snapshot links to it.
fn put(cache: &Path, model: &str, config: &str) {
    let folder = cache.join(model);
    write(&folder.join("refs/main"), REVISION);
    write(&folder.join("blobs/8ab3c0"), config);
    let file = folder.join("snapshots").join(REVISION).join("config.json");
    fs::create_dir_all(file.parent().expect("a snapshot")).expect("a folder can be made");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../../blobs/8ab3c0", &file).expect("a link can be made");
    #[cfg(not(unix))]
    fs::write(&file, config).expect("a file can be written");
}

/// The file of a model that the catalogue does not have: GPT-2’s sizes, with eleven layers, and nothing left open.
fn eleven_layers() -> String {
    let file = fs::read_to_string(here("tests/config_files/gpt2.json")).expect("it is committed");
    let eleven = file.replace("\"n_layer\": 12", "\"n_layer\": 11, \"n_inner\": 3072, \"tie_word_embeddings\": true");
    assert_ne!(eleven, file);
    eleven
}

/// The answer of the program in a folder, with a cache.
fn asked(folder: &Path, cache: &Path, arguments: &[&str]) -> Output {
    let program = &mut bmax();
    program.current_dir(folder).env("HF_HUB_CACHE", cache).args(arguments).stdin(Stdio::null());
    program.output().expect("the program starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(&output.stderr)))
}

fn run_of(model: &str) -> String {
    format!("base_model: {model}\nsequence_len: 512\nmicro_batch_size: 2\n")
}

#[test]
fn a_model_of_the_cache_is_answered_as_with_its_file_beside_and_told_with_its_revision() {
    let folder = folder("cache");
    let cache = folder.join("rosalind/hub");
    put(&cache, "models--acme--odd-7b", &eleven_layers());
    write(&folder.join("run.yaml"), &run_of("acme/odd-7b"));
    write(&folder.join("config.json"), &eleven_layers());
    let output = asked(&folder, &cache, &["--read", "--json", "run.yaml", "gpu=h100-80&gpus=1"]);
    let said = json(&output);
    check(&schema::read(), &said).expect("it is as its schema says");
    assert_eq!((&said["model"], &said["report"]["scenario"]["layers"]), (&"own".into(), &11.into()));
    let beside = json(&asked(&folder, &cache, &["--read", "--json", "run.yaml", "config.json", "gpu=h100-80&gpus=1"]));
    assert_eq!(said["report"]["answer"], beside["report"]["answer"]);
    assert_eq!(said["report"]["estimate"], beside["report"]["estimate"]);

    let all = words(&output.stdout);
    let told = "read from the config.json of acme/odd-7b, revision 0e9e39f, in the local Hugging Face cache";
    assert!(all.contains(told) && all.contains("config.json of odd-7b"), "{all}");
    let table = asked(&folder, &cache, &["run.yaml", "gpu=h100-80&gpus=1"]);
    assert!(words(&table.stdout).contains(told), "{}", words(&table.stdout));
    for text in [all, words(&table.stdout)] {
        assert!(!text.contains("rosalind") && !text.contains(env!("CARGO_TARGET_TMPDIR")), "{text}");
    }
}

#[test]
fn the_cache_is_looked_into_for_names_commands_exports_and_comparisons_and_strictly_too() {
    let folder = folder("everywhere");
    let cache = folder.join("hub");
    put(&cache, "models--acme--odd-7b", &eleven_layers());
    put(&cache, "models--odd-8b", &eleven_layers());
    write(&folder.join("run.yaml"), &run_of("acme/odd-7b"));
    let command = ["--", "torchrun", "--nproc_per_node", "2", "t.py", "--per_device_train_batch_size", "1"];
    for arguments in [
        &["--read", "acme/odd-7b"][..],
        &["--read", "https://huggingface.co/acme/odd-7b/tree/main"],
        &["--strict", "run.yaml"],
        &["--export", "json", "run.yaml"],
        &["--others", "run.yaml"],
        &[&command[..], &["--output_dir", "o", "--model_name_or_path", "odd-8b"]].concat(),
    ] {
        let output = asked(&folder, &cache, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", words(&output.stderr));
    }
}

#[test]
fn what_is_said_of_the_model_comes_before_the_cache() {
    let folder = folder("before");
    let cache = folder.join("hub");
    put(&cache, "models--acme--odd-7b", &eleven_layers());
    put(&cache, "models--Qwen--Qwen3-8B", &eleven_layers());
    write(&folder.join("run.yaml"), &run_of("acme/odd-7b"));
    write(&folder.join("listed.yaml"), &run_of("Qwen/Qwen3-8B"));
    write(&folder.join("twelve.json"), &fs::read_to_string(here("tests/config_files/gpt2.json")).expect("committed"));
    for (arguments, layers) in [
        (&["run.yaml"][..], 11),
        // 36 layers: Table 1 of arXiv:2505.09388.
        (&["run.yaml", "model=qwen3-8b"], 36),
        (&["listed.yaml"], 36),
        (&["run.yaml", "--config", "twelve.json"], 12),
        (&["run.yaml", "twelve.json"], 12),
    ] {
        let said = json(&asked(&folder, &cache, &[&["--json"], arguments].concat()));
        assert_eq!(said["scenario"]["layers"], layers, "{arguments:?}");
        assert_eq!(said["notices"].to_string().contains("Hugging Face cache"), layers == 11, "{arguments:?}");
    }
}

#[test]
fn a_folder_that_is_named_is_read_before_the_cache_and_its_path_is_not_shown() {
    let folder = folder("folder");
    let cache = folder.join("hub");
    let twelve = fs::read_to_string(here("tests/config_files/gpt2.json")).expect("it is committed");
    put(&cache, "models--acme--odd-7b", &twelve);
    write(&folder.join("acme/odd-7b/config.json"), &eleven_layers());
    let whole = folder.join("acme/odd-7b").display().to_string();
    for name in ["acme/odd-7b", "./acme/odd-7b", "./acme/odd-7b/", "acme/../acme/odd-7b", &whole] {
        write(&folder.join("run.yaml"), &run_of(name));
        let output = asked(&folder, &cache, &["--read", "--json", "run.yaml"]);
        let said = json(&output);
        assert_eq!(said["report"]["scenario"]["layers"], 11, "{name}");
        let notices = said["report"]["notices"].to_string();
        assert!(notices.contains("read from the config.json in the folder that the text names"), "{name}: {notices}");
        assert!(!words(&output.stdout).contains(env!("CARGO_TARGET_TMPDIR")), "{name}");
    }
}

#[test]
fn no_name_and_no_revision_leads_out_of_the_cache() {
    let folder = folder("outside");
    let cache = folder.join("hub");
    put(&cache, "models--acme--odd-7b", &eleven_layers());
    // What would be found if a name or a revision were taken as a path.
    put(&folder, "models--acme--outside", &eleven_layers());
    put(&folder, "outside", &eleven_layers());
    write(&folder.join("outside/config.json"), &eleven_layers());
    let elsewhere = folder.join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder can be made");
    for name in [
        "../models--acme--outside",
        "acme/../../models--acme--outside",
        "acme/odd-7b/../../../outside",
        "acme--odd-7b",
        "x/../../outside",
        "models--acme--odd-7b",
        "https://huggingface.co/../../outside",
        "odd-7b",
    ] {
        write(&elsewhere.join("run.yaml"), &run_of(name));
        let output = asked(&elsewhere, &cache, &["--read", "--json", "run.yaml"]);
        assert_eq!((output.status.code(), json(&output).get("report")), (Some(1), None), "{name}");
    }
    write(&elsewhere.join("run.yaml"), &run_of("acme/odd-7b"));
    for revision in ["../../../outside", "..", "", "/", "main", &"0".repeat(41)] {
        write(&cache.join("models--acme--odd-7b/refs/main"), revision);
        assert_eq!(asked(&elsewhere, &cache, &["run.yaml"]).status.code(), Some(1), "{revision}");
    }
    write(&cache.join("models--acme--odd-7b/refs/main"), &format!("{REVISION}\n"));
    assert_eq!(asked(&elsewhere, &cache, &["run.yaml"]).status.code(), Some(0));
}

#[test]
fn a_file_of_the_cache_that_describes_no_model_that_is_counted_is_refused_by_its_reason() {
    let folder = folder("refused");
    let cache = folder.join("hub");
    put(&cache, "models--acme--odd-7b", r#"{"model_type": "mamba", "hidden_size": 8, "vocab_size": 16}"#);
    write(&folder.join("run.yaml"), &run_of("acme/odd-7b"));
    let output = asked(&folder, &cache, &["run.yaml"]);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true));
    let said = words(&output.stderr);
    assert!(said.starts_with("bmax: config.json of odd-7b: ") && !said.contains("snapshots"), "{said}");
    // A model that is nowhere is told to be nowhere.
    write(&folder.join("run.yaml"), &run_of("acme/nowhere-9x"));
    let said = asked(&folder, &cache, &["run.yaml"]);
    assert!(words(&said.stderr).contains("“nowhere-9x” is neither of the list nor on this machine"), "{said:?}");
}

#[test]
fn the_index_of_weights_beside_the_file_of_a_model_says_how_many_there_are() {
    let folder = folder("weights");
    let cache = folder.join("hub");
    put(&cache, "models--acme--odd-7b", &eleven_layers());
    write(&folder.join("run.yaml"), &run_of("acme/odd-7b"));
    let link = || {
        let output = asked(&folder, &cache, &["--read", "--json", "run.yaml"]);
        json(&output).get("link").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let alone = link();
    let snapshot = cache.join("models--acme--odd-7b/snapshots").join(REVISION);
    // 124,439,808 weights less a layer of 7,087,872, in 16 bits; then a few more.
    for (weights, params) in [(117_351_936_u64, ""), (118_000_000, "&params=0.118")] {
        let index = format!(r#"{{"metadata": {{"total_size": {}}}, "weight_map": {{}}}}"#, 2 * weights);
        write(&snapshot.join("model.safetensors.index.json"), &index);
        assert_eq!(link(), format!("{alone}{params}"));
    }
    // One that is longer than is read takes nothing from the file of the model.
    let long =
        format!(r#"{{"metadata": {{"total_size": 236000000}}, "weight_map": {{"{}": ""}}}}"#, "a".repeat(9 << 20));
    write(&snapshot.join("model.safetensors.index.json"), &long);
    assert_eq!(link(), alone);
    // Of a single file its header is read, however long the rest is.
    fs::remove_file(snapshot.join("model.safetensors.index.json")).expect("it was written");
    let header = r#"{"wte.weight": {"dtype": "F16", "shape": [118000, 1000], "data_offsets": [0, 236000000]}, "ln_f.weight": {"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}}"#;
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0x7b; 9 << 20]].concat();
    fs::write(snapshot.join("model.safetensors"), &file).expect("a file can be written");
    assert_eq!(link(), format!("{alone}&params=0.118"));
}
