//! Every text that the fuzzer has kept goes through its reader again, and so do the longest texts that each reader takes.
//! A line of `tests/corpus/NAME.jsonl` is one text, as a JSON string. `make fuzz` goes on from there.

use crate::support::readers;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, iter};

use bmax::{Field, catalogue, course, json, link, setting};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The texts that are kept for a reader.
fn kept(name: &str) -> BTreeSet<String> {
    let file = fs::read_to_string(at(&format!("tests/corpus/{name}.jsonl"))).expect("every reader has a file");
    file.lines().map(|line| serde_json::from_str(line).expect("a line is a JSON string")).collect()
}

/// So much of this, over and over.
fn filled(start: &str, with: &str, bytes: usize) -> String {
    start.to_owned() + &with.repeat(bytes.saturating_sub(start.len()) / with.len())
}

/// So many parts, each with its number in it, that fit into a text of this length.
fn numbered(start: &str, bytes: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = start.to_owned();
    for part in (0..).map(part).take_while(|part| !part.is_empty()) {
        if text.len() + part.len() > bytes {
            break;
        }
        text += &part;
    }
    text
}

/// Texts as long as a reader takes them, made to keep it busy.
fn longest(name: &str) -> Vec<String> {
    let (query, file) = (link::MAX_QUERY_BYTES, json::MAX_JSON_BYTES);
    // A configuration with room for what a reader puts before it.
    let run = (1 << 19) - 256;
    match name {
        "query" => vec![
            filled("", "&a", query),
            filled("s=1", "%2", query),
            numbered("", query, |at| format!("&{at:x}")),
            numbered("", query, |at| format!("&len_medjan{at}=1")),
            numbered("vs=", query, |at| format!(";{at:x}:")),
            numbered("s=1&vs=", query, |at| format!("x{at}:1;")),
            numbered("", query, |at| format!("&{}=nonsens", setting::ALL[at % setting::ALL.len()].key)),
            numbered("", query, |at| format!("&{}=-1", Field::ALL[at % Field::ALL.len()].bound().key)),
            filled("model=", "llama-3.1-8", query),
        ],
        "scenario" => vec![
            filled("", "[", file),
            filled("{\"s\":", "1", file),
            filled("{\"s\":\"", "\\u0041", file),
            numbered("{\"s\":1", file.min(60_000), |at| format!(",\"sequencelength{at}\":1")) + "}",
            numbered("{\"s\":[1", file - 2, |at| format!(",{at}")) + "]}",
            numbered("{\"s\":1", 40_000, |at| format!(",\"{at}\":[]")) + "}",
            filled("s=1", "&a", file),
            filled("", "a", file),
            filled("", "llama", 60),
        ],
        "config" => vec![
            numbered("{\"model_type\":\"llama\"", 40_000, |at| format!(",\"k{at}\":{at}")) + "}",
            numbered("{\"layer_types\":[\"a\"", file - 2, |at| format!(",\"b{at}\"")) + "]}",
            filled("{\"model_type\":\"", "l", file - 2) + "\"}",
        ],
        "message" => vec![filled("set\nembed=", "a", query), numbered("change\n", query, |at| format!("&{at:x}"))],
        "lengths" => {
            let most = course::lengths::MOST_BYTES;
            vec![
                numbered("", most, |at| format!("{}\n", 1 + at * 7_919 % 4_194_304)),
                numbered("1", most, |at| format!(",{}", 1 + at * 7_919 % 4_194_304)),
                filled("1\n", "\n", most),
                filled("1,", ",", most),
                filled("", "9", most),
            ]
        }
        "network" => {
            let lines = |line: &str| format!("input 3 64 64\n{}", format!("{line}\n").repeat(399));
            vec![
                lines("relu x1000"),
                lines("conv 8 3x3 same norm relu x1000"),
                lines("residual conv 8 3x3 same relu add x1000"),
                lines("relu x25"),
                lines("relu -> a add a x1000"),
                lines("transformer 8 x1000"),
                format!("input 3 64 64\n{} x1000", "relu ".repeat(20_000)),
                format!("input 3 64 64\n{} x1000", "-> a from a ".repeat(20_000)),
                lines(&"-> a ".repeat(1_000)),
                format!("input 3 64 64\n{}relu x24", numbered("", 8_000, |at| format!("relu -> n{at}\n"))),
            ]
        }
        "value" => {
            vec![filled("", "1", file), filled("1", ",000", file), filled("0.", "0", file), filled("", "k", file)]
        }
        "plot" => vec![filled("", "0 ", file), filled("", "1", file)],
        "yaml" => vec![
            numbered("", run, |at| format!("key_number_{at}: value\n")),
            filled("", "a: 'b\n", run),
            filled("k: ", "[", run),
            filled("k: [", "x, ", run),
        ],
        "toml" => vec![
            numbered("", run, |at| format!("key_{at} = 1\n")),
            numbered("", run, |at| format!("[t{at}]\n")),
            filled("k = ", "[", run),
        ],
        "json" => vec![
            numbered("\"k\": 1", run, |at| format!(", \"k{at}\": 1")),
            filled("\"k\": ", "[", run),
            filled("\"k\": \"", "\\u0041", run) + "\"",
        ],
        "flags" => vec![
            numbered("", run, |at| format!("--key-{at} 1 ")),
            filled("", "--bf16 ", run),
            filled("", "'", run),
            numbered("", run, |at| format!("A{at}=1\n")) + "torchrun $A1 t.py",
        ],
        "python" => vec![
            numbered("", run, |at| format!("key_{at}=1, ")),
            filled("x=", "f(", run),
            filled("", "SFTConfig(", run),
            filled("x=\"\"\"", "'", run),
        ],
        "memory" => vec![
            filled("", "Tried to allocate 1.00 GiB. ", file),
            filled("", "|  1MiB /  2MiB |\n", file),
            filled("", "9", file),
        ],
        // The page writes no table of more than some hundred cells.
        _ => ["1.5 GiB\t", "1.5 MiB\n", "\"\n"].map(|cell| filled("", cell, 1 << 16)).to_vec(),
    }
}

/// How long a reader takes for each of some texts: their number, the longest time and the beginning of that text.
fn timed(read: fn(&str), texts: impl IntoIterator<Item = String>) -> (usize, Duration, String) {
    let mut found = (0, Duration::ZERO, String::new());
    for text in texts {
        let began = Instant::now();
        read(&text);
        let took = began.elapsed();
        found.0 += 1;
        if took >= found.1 {
            (found.1, found.2) = (took, text.chars().take(60).collect());
        }
    }
    found
}

#[test]
fn every_kept_text_is_answered() {
    for (name, read) in readers::ALL {
        let (count, slowest, text) = timed(read, kept(name));
        println!("{name}: {count} texts, the slowest in {:.1} ms: {text:?}", slowest.as_secs_f64() * 1e3);
        assert!(count > 0, "{name}");
    }
}

#[test]
fn the_longest_texts_are_answered() {
    for (name, read) in readers::ALL {
        for text in longest(name) {
            let (_, took, beginning) = timed(read, [text]);
            println!("{name}: {:.1} ms: {beginning:?}", took.as_secs_f64() * 1e3);
        }
    }
}

/// Where cargo-fuzz looks for the texts to begin with.
fn folder(name: &str) -> PathBuf {
    at("fuzz/corpus").join(name)
}

#[test]
#[ignore = "a step of make fuzz: each kept text as a file of its own, and the words of links as a dictionary"]
fn unpack() {
    for (name, _) in readers::ALL {
        fs::create_dir_all(folder(name)).expect("a folder can be made");
        for (number, text) in kept(name).iter().enumerate() {
            fs::write(folder(name).join(format!("kept-{number}")), text).expect("a file can be written");
        }
    }
    let fields = Field::ALL.iter().map(|field| field.bound().key);
    let words = setting::ALL.iter().flat_map(|word| iter::once(word.key).chain(word.options.iter().map(|one| one.key)));
    let rows = catalogue::MODELS.iter().map(|row| row.slug).chain(catalogue::DEVICES.iter().map(|row| row.slug));
    let mut dictionary = String::new();
    for word in fields.chain(words).chain(rows).collect::<BTreeSet<_>>() {
        writeln!(dictionary, "\"{word}\"").expect("a string takes all");
    }
    fs::write(at("fuzz/corpus/words.dict"), dictionary).expect("a file can be written");
}

#[test]
#[ignore = "a step of make fuzz: what is left after minimizing becomes what is kept"]
fn pack() {
    for (name, _) in readers::ALL {
        let files = fs::read_dir(folder(name)).expect("it is unpacked");
        let texts = files.map(|file| fs::read(file.expect("a file").path()).expect("it can be read"));
        let texts: BTreeSet<String> = texts.filter_map(|bytes| String::from_utf8(bytes).ok()).collect();
        let lines = texts.iter().map(|text| serde_json::to_string(text).expect("a text is JSON") + "\n");
        fs::write(at(&format!("tests/corpus/{name}.jsonl")), lines.collect::<String>()).expect("it can be written");
    }
}
