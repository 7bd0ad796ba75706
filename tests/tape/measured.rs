//! Live memory of the tape beside what a real GPU measured (tests/vectors/gpu.json, gpu_2.json): an H100 with PyTorch 2.11,
//! which keeps the workspaces of cuBLAS. Both files are older than the tape, and no rule of it was made for a row of them.

use bmax::link;
use bmax::tape::Program;
use serde_json::Value;

use super::vectors;

/// Rows that are further off than this, in parts of a thousand, are named below.
const WITHIN: u64 = 15;

/// Rows that are further off, and why.
const APART: &[(&str, &str)] = &[
    ("model=falcon-7b batch=1 sequence=2048 layers=2", MATH),
    ("model=llama-3.2-1b batch=1 sequence=4096 precision=fp32 ckpt layers=4", MATH),
    ("model=mistral-7b batch=1 sequence=2048 precision=amp base=nf4", UNMARKED),
    ("model=phi-3-mini batch=1 sequence=4096 layers=6", MASK),
    ("model=qwen2.5-0.5b batch=2 sequence=2048 precision=fp32 layers=6", MATH),
    ("model=starcoder2-7b batch=1 sequence=4096 layers=4", MASK),
    ("model=tinyllama-1.1b batch=2 sequence=2048 precision=fp32 layers=4", MATH),
];

const MATH: &str = "Fewer heads of keys than of queries: before 2.14 PyTorch has no fused kernel for them in fp32, nor with a mask, and \
                    takes scores in full (tests/vectors/README.md).";
const UNMARKED: &str = "The base does not bear the mark of loading, so that peft took its plain layer.";
const MASK: &str = "At the length of their windows StarCoder 2 and Phi-3-mini give the fused kernel a mask.";

/// A run with its live memory in bytes.
struct Run {
    id: String,
    question: String,
    live: u64,
}

fn runs() -> Vec<Run> {
    let rows = ["gpu", "gpu_2"].into_iter().flat_map(vectors);
    let measured = rows.filter(|row| row["measured_kind"] == "torch.cuda.max_memory_allocated");
    let run = |row: Value| Run {
        id: row["id"].as_str().expect("a name").to_owned(),
        question: row["question"].as_str().expect("a question").to_owned(),
        live: (row["measured_gib"].as_f64().expect("a number") * f64::from(1 << 30)).round() as u64,
    };
    measured.map(run).collect()
}

#[test]
fn live_memory_is_that_of_a_real_gpu() {
    let (mut played, mut equal, mut within_a_block, mut errors, mut apart) = (0, 0, 0, vec![], vec![]);
    let runs = runs();
    for run in &runs {
        let read = link::decode(&run.question);
        assert_eq!(read.notices, [], "{}", run.id);
        let Ok(program) = Program::of(&read.scenario) else { continue };
        let segments = read.scenario.device.segments;
        let live = program.first_steps(2).replay(segments, u64::MAX).expect("there is no limit").live;
        let off = live.abs_diff(run.live);
        played += 1;
        equal += usize::from(off == 0);
        within_a_block += usize::from(off <= 512);
        errors.push(off as f64 / run.live as f64);
        if off * 1000 > WITHIN * run.live {
            apart.push(run.id.clone());
        }
    }
    errors.sort_by(f64::total_cmp);
    let reached = [errors[errors.len() / 2], errors[errors.len() * 9 / 10]];
    apart.sort();
    assert_eq!(apart.len(), APART.len(), "{apart:?}");
    for (name, reason) in APART {
        assert!(apart.iter().any(|id| id.contains(name)), "{name} is no exception: {reason}");
    }
    assert_eq!((runs.len(), played, equal, within_a_block), HELD, "{reached:?}");
    assert!(reached[0] <= 0.000_001 && reached[1] <= 0.004, "{reached:?}");
}

/// Runs, those that are played, those that are equal to the byte, and those that are within one block of 512 bytes.
const HELD: (usize, usize, usize, usize) = (171, 168, 59, 100);
