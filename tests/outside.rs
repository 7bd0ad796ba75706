//! What is outside the training step, against numbers worked out by hand from the sizes of models and the code that the
//! sources name, and against runs of it under PyTorch's allocator.

use bmax::{
    Adapter, Answer, Bytes, Change, Choice, Engine, Evaluation, Field, Gather, Gathered, Load, LossHead, Merge,
    Outside, Precision, Recomputation, Resume, Save, Scenario, Shortage, Switch, TaskKind, ZeroStage, b_max, counters,
    estimate, levers::ranked, link, setting::Word,
};
use proptest::prelude::*;
use serde::Deserialize;

use crate::support::alone::alone;
use crate::support::any_scenario;
use crate::support::held::{at, exactly, position};

/// Llama 3.1 8B with adapters on one GPU of 80 GB.
fn llama() -> Scenario {
    let mut scenario = alone("llama-3.1-8b", Recomputation::Full);
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.adapter = Adapter::Lora;
    scenario
}

/// Every switch at every value but off.
fn switched() -> Vec<(&'static str, Scenario)> {
    let mut all = Vec::new();
    for setting in bmax::setting::ALL {
        let outside = ["eval", "gather", "save", "load", "resume", "merge"].contains(&setting.key);
        for option in setting.options.iter().filter(|option| outside && option.key != "off") {
            let mut scenario = llama();
            if setting.key == "gather" {
                scenario.cluster.gpus = 8;
                scenario.cluster.zero = ZeroStage::Stage3;
            }
            if option.key == "whole" {
                scenario.recipe.adapter = Adapter::Qlora;
            }
            all.push((setting.key, setting.read(option.key, scenario).expect("a word of its own")));
        }
    }
    all
}

#[test]
fn nothing_outside_the_step_is_counted_unless_it_is_asked_for() {
    let plain = llama();
    let names: Vec<_> = estimate(&plain).instants.iter().map(|instant| instant.name).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    // The numbers and what is beside a switch that is off are not read.
    let mut numbers = plain;
    numbers.outside =
        Outside { eval_batch: 3, eval_sequences: 9, eval_steps: 2, eval_generate: Switch::On, ..Outside::OFF };
    numbers.outside.gathered = Gathered::All;
    assert_eq!(estimate(&numbers), estimate(&plain));
}

#[test]
fn every_switch_adds_instants_behind_the_step_and_changes_none_of_it() {
    for (key, scenario) in switched() {
        let mut plain = scenario;
        plain.outside = Outside::OFF;
        let [with, without] = [estimate(&scenario), estimate(&plain)];
        assert_eq!(scenario.conflicts(), [], "{key}");
        assert!(with.instants.len() > without.instants.len(), "{key}");
        assert_eq!(with.step_instants(), without.instants.len(), "{key}");
        for step in 0..without.instants.len() {
            assert_eq!(with.instants[step], without.instants[step]);
            exactly(with.total_at(step).get(), without.total_at(step).get());
        }
        assert!(with.instants[without.instants.len()..].iter().all(|instant| instant.is_outside()), "{key}");
        assert!(with.peak().bytes >= without.peak().bytes, "{key}");
    }
}

#[test]
fn kept_logits_of_an_evaluation_are_four_bytes_for_each_token_and_entry_twice_while_they_are_joined() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Autocast;
    scenario.outside.evaluation = Evaluation::Logits;
    (scenario.outside.eval_batch, scenario.outside.eval_sequences) = (2, 32);
    let of = |scenario: &Scenario| {
        let estimate = estimate(scenario);
        let joined = "evaluation: logits joined";
        at(&estimate, "Kept logits", joined) + at(&estimate, "The same, joined with the next", joined)
    };
    // n·S·V·4 for 32 sequences of 1,024 tokens and 128,256 entries, and the same again.
    let once = 32.0 * 1024.0 * 128_256.0 * 4.0;
    exactly(of(&scenario), 2.0 * once);
    // Four batches of two sequences, and then they leave.
    scenario.outside.eval_steps = 4;
    exactly(of(&scenario), once / 2.0);
    // On two GPUs each has the batches of both.
    scenario.cluster.gpus = 2;
    exactly(of(&scenario), once);
    // In 16 bits the model puts out 16 bits.
    scenario.recipe.precision = Precision::PureBf16;
    exactly(of(&scenario), once / 2.0);
}

#[test]
fn the_loss_alone_keeps_no_logits_and_liger_makes_none() {
    let mut scenario = llama();
    scenario.outside.evaluation = Evaluation::Loss;
    scenario.outside.eval_batch = 4;
    let plain = estimate(&scenario);
    assert!(plain.instants.iter().all(|instant| instant.name != "evaluation: logits joined"));
    // 16-bit logits, their fp32 copy and their log-softmax: ten bytes for each token and entry.
    let there = ["Logits, evaluated", "Evaluated logits in fp32", "Log-softmax of the evaluated logits"];
    let bytes: f64 = there.iter().map(|entry| at(&plain, entry, "evaluation: loss")).sum();
    exactly(bytes, 10.0 * 4.0 * 1024.0 * 128_256.0);
    scenario.recipe.loss = LossHead::Fused;
    let fused = estimate(&scenario);
    assert_eq!(at(&fused, "Logits, evaluated", "evaluation: loss"), 0.0);
    // Whoever wants the logits gets all of them.
    scenario.outside.evaluation = Evaluation::Logits;
    assert!(at(&estimate(&scenario), "Logits, evaluated", "evaluation: loss") > 0.0);
}

#[test]
fn an_evaluation_by_the_micro_batch_grows_with_it_in_a_straight_line() {
    let mut scenario = llama();
    scenario.outside.evaluation = Evaluation::Logits;
    (scenario.outside.eval_batch, scenario.outside.eval_steps) = (0, 3);
    let at_batch = |batch| estimate(&scenario.with_batch(batch)).total_at(7).get();
    exactly((at_batch(9) - at_batch(1)) / 8.0, at_batch(2) - at_batch(1));
    assert!(at_batch(2) > at_batch(1));
}

#[test]
fn what_an_evaluation_generates_has_the_cache_of_its_batch() {
    let mut scenario = llama();
    scenario.recipe.sequence = 8192;
    scenario.outside.evaluation = Evaluation::Loss;
    (scenario.outside.eval_batch, scenario.outside.eval_generate) = (16, Switch::On);
    let estimate = estimate(&scenario);
    let cache: f64 =
        ["Cache of keys", "Cache of values"].iter().map(|of| at(&estimate, of, "evaluation: last token")).sum();
    // 2 · 32 layers · 8 key/value heads · 128 · 2 bytes = 131,072 bytes a token.
    exactly(cache, 131_072.0 * 8192.0 * 16.0);
}

#[test]
fn a_full_state_dict_is_one_tensor_at_a_time_in_cpu_memory_or_the_whole_model_on_the_gpu() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::None;
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.outside.gather = Gather::Cpu;
    // The embedding, 128,256 × 4,096, in 16 bits.
    exactly(at(&estimate(&scenario), "One tensor, gathered", "gathering weights"), 128_256.0 * 4096.0 * 2.0);
    scenario.outside.gather = Gather::Gpu;
    let whole = estimate(&scenario);
    let gathered = at(&whole, "Full state dict", "gathering weights")
        + at(&whole, "Full state dict, embedding and head", "gathering weights");
    exactly(gathered, 8_030_261_248.0 * 2.0);
    scenario.outside.gathered = Gathered::All;
    let states = at(&estimate(&scenario), "Optimizer state, gathered", "gathering optimizer state");
    exactly(states, 8_030_261_248.0 * 4.0);
}

#[test]
fn merging_takes_two_products_of_the_largest_adapted_matrix() {
    let mut scenario = llama();
    scenario.outside.merge = Merge::On;
    // 14,336 × 4,096 in the fp32 of the adapters, and the same times its scale.
    let product = at(&estimate(&scenario), "Product of one adapter, and scaled", "merging adapters");
    exactly(product, 2.0 * 4.0 * 14_336.0 * 4096.0);
    scenario.outside.merge = Merge::Safe;
    exactly(at(&estimate(&scenario), "Copy of one matrix", "merging adapters"), 2.0 * 14_336.0 * 4096.0);
}

#[test]
fn a_checkpoint_read_to_the_gpu_holds_the_weights_twice_before_there_is_an_optimizer() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::None;
    scenario.outside.load = Load::Gpu;
    let estimate = estimate(&scenario);
    let there = position(&estimate, "loading weights");
    exactly(estimate.bucket_at(bmax::Bucket::Parameters, there).get(), 2.0 * 2.0 * 8_030_261_248.0);
    assert_eq!(estimate.bucket_at(bmax::Bucket::Optimizer, there), Bytes::ZERO);
}

#[test]
fn a_state_that_is_made_before_it_is_read_needs_gradients_of_zeros() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::None;
    scenario.outside.resume = Resume::Init;
    let estimate = estimate(&scenario);
    exactly(at(&estimate, "Gradients of zeros", "resuming"), 2.0 * 8_030_261_248.0);
}

#[test]
fn training_that_fits_beside_an_evaluation_that_does_not_says_so_and_what_mends_it() {
    let mut scenario = llama();
    scenario.outside.evaluation = Evaluation::Logits;
    scenario.outside.eval_sequences = 4096;
    let mut alone = scenario;
    alone.outside = Outside::OFF;
    let room = b_max(&alone).batch().expect("training fits");
    let Answer::Infeasible(reason) = b_max(&scenario) else { panic!("4,096 × 1,024 × 128,256 logits do not fit") };
    assert_eq!(reason.shortage, Shortage::Outside);
    assert_eq!(reason.instant.name, "evaluation: logits joined");
    assert_eq!(reason.training, Some(room));
    assert_eq!(reason.mend, Some(Change::Number(Field::EvalSteps, 1.0)));
    let words = bmax::format::outside(&reason, scenario.unit());
    assert!(words.contains("evaluation: logits joined") && words.contains("Batches kept on the GPU"), "{words}");
    assert!(b_max(&reason.mend.expect("above").apply(scenario)).batch().is_some());
    assert_eq!(ranked(&scenario, &[])[0].before, None);
}

#[test]
fn the_levers_of_an_evaluation_are_offered_where_it_is_on() {
    let mut scenario = llama();
    let keys = |scenario: &Scenario| ranked(scenario, &[]).iter().map(|lever| lever.change.key()).collect::<Vec<_>>();
    assert!(!keys(&scenario).contains(&"eval_steps"));
    scenario.outside.evaluation = Evaluation::Logits;
    assert!(["eval_steps", "eval_b", "eval"].iter().all(|key| keys(&scenario).contains(key)));
    // The loss alone is one number a batch, however many wait.
    scenario.outside.evaluation = Evaluation::Loss;
    scenario.outside.eval_steps = 8;
    assert!(!keys(&scenario).contains(&"eval_steps") && keys(&scenario).contains(&"eval_b"));
    scenario.outside.evaluation = Evaluation::Off;
    assert!(!keys(&scenario).contains(&"eval_steps") && !keys(&scenario).contains(&"eval_b"));
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.outside.gather = Gather::Gpu;
    assert!(keys(&scenario).contains(&"gather"));
}

#[test]
fn refused_switches_are_read_as_off() {
    for refuse in [
        |scenario: &mut Scenario| scenario.cluster.tensor_parallel = 2,
        |scenario: &mut Scenario| scenario.cluster.engine = Engine::Megatron,
        |scenario: &mut Scenario| scenario.cluster.pipeline_parallel = 2,
    ] {
        let mut scenario = llama();
        scenario.cluster.gpus = 8;
        scenario.outside.evaluation = Evaluation::Logits;
        scenario.outside.save = Save::Sync;
        refuse(&mut scenario);
        assert!(!scenario.conflicts().is_empty());
        let mut plain = scenario;
        plain.outside = Outside::OFF;
        assert_eq!(estimate(&scenario).instants, estimate(&plain).instants);
    }
    let mut task = llama();
    task.task.kind = TaskKind::Dpo;
    task.outside.evaluation = Evaluation::Loss;
    task.outside.save = Save::Sync;
    let estimate = estimate(&task);
    let outside: Vec<_> = estimate.instants.iter().filter(|instant| instant.is_outside()).collect();
    assert_eq!(outside.len(), 1);
    assert_eq!(outside[0].name, "saving");
    assert_eq!(task.conflicts()[0].mend, Change::Word(Word::Evaluation(Evaluation::Off)));
}

#[test]
fn weights_are_divided_from_zero_3_on_and_under_fsdp_s_mixed_precision_from_zero_2_on() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::None;
    let mut divides = |gpus, zero, precision| {
        (scenario.cluster.gpus, scenario.cluster.zero, scenario.recipe.precision) = (gpus, zero, precision);
        scenario.divides_weights()
    };
    assert!(divides(8, ZeroStage::Stage3, Precision::Bf16));
    assert!(divides(8, ZeroStage::Stage2, Precision::Mixed));
    assert!(!divides(8, ZeroStage::Stage2, Precision::Bf16));
    assert!(!divides(1, ZeroStage::Stage3, Precision::Bf16));
}

#[test]
fn logits_of_evaluation_batches_as_large_as_the_micro_batch_are_kept_for_the_set_or_for_a_few_batches() {
    let mut scenario = llama();
    scenario.outside.evaluation = Evaluation::Logits;
    scenario.outside.eval_batch = 0;
    scenario.outside.eval_sequences = 40;
    let (sequence, kept) = (2.0 * 1024.0 * 128_256.0, "Kept logits");
    // Never handed over: those of the whole set, at its last batch and when that has been joined.
    let whole = estimate(&scenario);
    exactly(at(&whole, kept, "evaluation: loss"), 40.0 * sequence);
    exactly(at(&whole, kept, "evaluation: logits joined"), 40.0 * sequence);
    // Handed over after two batches: at the second there is one. After three there are the one before and its sum with the
    // one before that: three.
    for (steps, there) in [(2, 1.0), (3, 3.0)] {
        scenario.outside.eval_steps = steps;
        exactly(at(&estimate(&scenario), kept, "evaluation: loss"), there * sequence);
    }
}

#[test]
fn deepspeed_makes_no_state_before_it_reads_one() {
    let mut scenario = llama();
    scenario.recipe.adapter = Adapter::None;
    scenario.outside.resume = Resume::Init;
    let zeros = |scenario: &Scenario| estimate(scenario).entries.iter().any(|entry| entry.name == "Gradients of zeros");
    assert!(zeros(&scenario));
    scenario.cluster.engine = Engine::DeepSpeed;
    assert!(!zeros(&scenario));
}

/// A run of tools/simulate/outside.py.
#[derive(Deserialize)]
struct Row {
    id: String,
    outside: String,
    question: String,
    peak_bytes: Option<Peaks>,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
struct Peaks {
    total: f64,
}

/// The instants that a run goes through outside its step.
fn instants_of(outside: &str) -> &'static [&'static str] {
    match outside {
        "eval" | "eval-loss" => &["evaluation: layers", "evaluation: loss", "evaluation: logits joined"],
        "generate" => &["evaluation: prompts", "evaluation: last token"],
        "gather" | "gather-gpu" => &["gathering weights"],
        "gather-all" | "gather-all-gpu" => &["gathering optimizer state"],
        "save" => &["saving"],
        "merge" | "merge-safe" | "merge-whole" => &["merging adapters"],
        "load" | "load-gpu" => &["loading weights"],
        _ => &["resuming"],
    }
}

/// Live tensors at the highest of these instants, without what is no tensor.
fn live(scenario: &Scenario, names: &[&str]) -> f64 {
    let mut bare = *scenario;
    bare.device.driver = Bytes::ZERO;
    bare.device.cuda_context = Bytes::ZERO;
    bare.device.communication = Bytes::ZERO;
    let bare = bare.with_number(Field::Fragmentation, 0.0).expect("in range");
    let estimate = estimate(&bare);
    let there = (0..estimate.instants.len()).filter(|at| names.contains(&estimate.instants[*at].name));
    there.map(|at| estimate.total_at(at).get()).fold(0.0, f64::max)
}

#[test]
fn every_run_is_counted_within_two_percent() {
    let text = std::fs::read_to_string("tests/vectors/outside.json").expect("committed");
    let rows: Vec<Row> = serde_json::from_str(&text).expect("rows");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for row in &rows {
        let Some(peak) = &row.peak_bytes else {
            wrong.push(format!("{}: {}", row.id, row.error));
            continue;
        };
        let decoded = link::decode(&row.question);
        assert!(decoded.notices.is_empty(), "{}: {:?}", row.id, decoded.notices);
        let counted = live(&decoded.scenario, instants_of(&row.outside));
        let off = counted / peak.total - 1.0;
        println!("{:+.2} % {}", 100.0 * off, row.id);
        seen += 1;
        if off.abs() > 0.02 {
            wrong.push(format!("{}: {counted} and not {} ({:+.2} %)", row.id, peak.total, 100.0 * off));
        }
    }
    assert!(seen >= 30 && wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #[test]
    fn no_scenario_panics_and_what_is_outside_never_lowers_the_peak(
        scenario in any_scenario::any_scenario(),
        evaluation in proptest::sample::select(Evaluation::ALL),
        resume in proptest::sample::select(Resume::ALL),
        load in proptest::sample::select(Load::ALL),
        merge in proptest::sample::select(Merge::ALL),
        gather in proptest::sample::select(Gather::ALL),
    ) {
        let mut with = scenario;
        (with.outside.evaluation, with.outside.resume, with.outside.load) = (evaluation, resume, load);
        (with.outside.merge, with.outside.gather) = (merge, gather);
        let mut without = scenario;
        without.outside = Outside::OFF;
        let [whole, step] = [&with, &without].map(estimate);
        prop_assert!(whole.peak().bytes >= step.peak().bytes);
        prop_assert!(b_max(&with).batch() <= b_max(&without).batch());
        prop_assert!(whole.entries.iter().all(|entry| entry.bytes.get().is_finite() && entry.bytes.get() >= 0.0));
        prop_assert!(counters(&with).allocated.get() <= counters(&with).device.get());
        let again = link::decode(&link::encode(&with)).scenario;
        prop_assert_eq!(again.outside, with.outside);
    }
}
