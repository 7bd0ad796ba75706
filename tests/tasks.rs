//! What tasks beside next-token training take, against numbers worked out by hand from the sizes of models and the code
//! of trl 1.10.0.

use bmax::{
    Adapter, AttentionKernel, Bytes, Choice, Engine, Estimate, Field, FrozenType, Kernels, Method, Optimizer,
    Precision, QkNorm, Recomputation, Reference, RewardModel, Rollout, Scenario, Switch, Task, TaskKind, ZeroStage,
    b_max, catalogue, estimate, levers::ranked, link,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::alone::alone;
use crate::support::any_scenario;
use crate::support::held::{at, exactly};
use crate::support::peaks::{at_least, peak};

/// Llama 3.1 8B on one GPU, in 16 bits, with a recomputed step.
fn llama(kind: TaskKind) -> Scenario {
    let mut scenario = alone("llama-3.1-8b", Recomputation::Full);
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.batch = 2;
    scenario.task.kind = kind;
    scenario
}

/// Parameters of Llama 3.1 8B, as its card and its catalogue row have them.
const LLAMA: f64 = 8_030_261_248.0;
const VOCABULARY: f64 = 128_256.0;

#[test]
fn the_cache_of_llama_3_1_8b_takes_128_kib_for_each_token() {
    // 2 · 32 layers · 8 key/value heads · 128 · 2 bytes = 131,072 bytes a token.
    let mut scenario = llama(TaskKind::Grpo);
    scenario.recipe.sequence = 8192;
    scenario.task.generations = 16;
    let estimate = estimate(&scenario);
    let cache: f64 =
        ["Cache of keys", "Cache of values"].iter().map(|of| at(&estimate, of, "generate, last token")).sum();
    exactly(cache, 131_072.0 * 8192.0 * 16.0);
    exactly(cache, 16.0 * 1024.0 * 1024.0 * 1024.0);
}

#[test]
fn without_a_number_of_its_own_a_step_s_sequences_are_generated_at_once() {
    let mut scenario = llama(TaskKind::Grpo);
    scenario.recipe.micro_batches = 4;
    let at_once = estimate(&scenario);
    // Four micro-batches of two sequences.
    exactly(at(&at_once, "Cache of keys", "generate, last token"), 65_536.0 * 1024.0 * 8.0);
    scenario.task.generations = 8;
    let named = estimate(&scenario);
    exactly(at(&named, "Cache of keys", "generate, last token"), 65_536.0 * 1024.0 * 8.0);
}

#[test]
fn the_reference_is_a_second_model_in_16_bits_unless_adapters_are_switched_off() {
    let estimate_of = |reference, adapter| {
        let mut scenario = llama(TaskKind::Dpo);
        scenario.task.reference = reference;
        scenario.recipe.adapter = adapter;
        estimate(&scenario)
    };
    let of = |estimate: &Estimate| at(estimate, "Reference model", "train: optimizer step");
    exactly(of(&estimate_of(Reference::Copy, Adapter::None)), 2.0 * LLAMA);
    exactly(of(&estimate_of(Reference::Offloaded, Adapter::None)), 0.0);
    exactly(of(&estimate_of(Reference::None, Adapter::None)), 0.0);
    exactly(of(&estimate_of(Reference::Adapter, Adapter::Lora)), 0.0);
}

#[test]
fn a_reference_is_divided_as_zero_3_divides_the_model_or_whatever_the_stage() {
    let mut scenario = llama(TaskKind::Dpo);
    scenario.cluster.gpus = 8;
    let of = |scenario: &Scenario| at(&estimate(scenario), "Reference model", "train: optimizer step");
    exactly(of(&scenario), 2.0 * LLAMA);
    scenario.task.reference = Reference::Sharded;
    exactly(of(&scenario), 2.0 * LLAMA / 8.0);
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.task.reference = Reference::Copy;
    exactly(of(&scenario), 2.0 * LLAMA / 8.0);
}

#[test]
fn beside_fp32_weights_a_reference_is_in_fp32_unless_16_bits_are_asked_for() {
    let mut scenario = llama(TaskKind::Dpo);
    scenario.recipe.precision = Precision::Autocast;
    exactly(at(&estimate(&scenario), "Reference model", "score, logits"), 4.0 * LLAMA);
    scenario.task.frozen = FrozenType::Half;
    exactly(at(&estimate(&scenario), "Reference model", "score, logits"), 2.0 * LLAMA);
}

#[test]
fn a_pair_is_two_sequences() {
    // Two pairs of 1,024 tokens: four sequences, and in 16 bits logits, their log-softmax, the reference’s logits and a
    // copy for entropies are alive together.
    let estimate = estimate(&llama(TaskKind::Dpo));
    let tokens = 2.0 * 2.0 * 1024.0;
    let there = "train: loss, forward";
    for name in
        ["Logits", "Log-softmax of the logits", "Logits of the frozen model", "Logits, copied for their entropy"]
    {
        exactly(at(&estimate, name, there), 2.0 * tokens * VOCABULARY);
    }
    exactly(at(&estimate, "Token ids and labels", there), 16.0 * tokens);
    exactly(at(&estimate, "128 rows of their entropy", there), 6.0 * 128.0 * VOCABULARY);
}

#[test]
fn under_autocast_logits_are_in_fp32_and_twelve_bytes_of_each_are_alive() {
    let mut scenario = llama(TaskKind::Dpo);
    scenario.recipe.precision = Precision::Autocast;
    let estimate = estimate(&scenario);
    let logit = 2.0 * 2.0 * 1024.0 * VOCABULARY;
    let forward: f64 = ["Logits", "Logits of the frozen model", "Logits, copied for their entropy"]
        .iter()
        .map(|name| at(&estimate, name, "train: loss, forward"))
        .sum();
    exactly(forward, 12.0 * logit);
    let backward: f64 = ["Logits, or their log-softmax", "Gradients of the logits"]
        .iter()
        .map(|name| at(&estimate, name, "train: loss, backward"))
        .sum();
    exactly(backward, 12.0 * logit);
}

#[test]
fn grpo_has_logits_of_completions_alone() {
    let mut scenario = llama(TaskKind::Grpo);
    scenario.task.completion = 256;
    let estimate = estimate(&scenario);
    exactly(at(&estimate, "Log-softmax of the logits", "train: loss, forward"), 2.0 * 2.0 * 256.0 * VOCABULARY);
    exactly(at(&estimate, "Logits of a scoring pass", "score, logits"), 2.0 * 2.0 * 2.0 * 256.0 * VOCABULARY);
}

#[test]
fn ppo_trains_a_value_model_and_holds_a_reward_model() {
    // Without the output head, which is as large as the embedding.
    let body = LLAMA - VOCABULARY * 4096.0;
    let mut scenario = llama(TaskKind::Ppo);
    let step = "train: optimizer step";
    let seen = estimate(&scenario);
    exactly(at(&seen, "Value model", step), 2.0 * body);
    exactly(at(&seen, "Value model’s gradients", step), 2.0 * body);
    exactly(at(&seen, "Value model’s optimizer state", step), 4.0 * body);
    exactly(at(&seen, "Reward model", step), 2.0 * body);
    scenario.task.reward = RewardModel::Function;
    exactly(at(&estimate(&scenario), "Reward model", step), 0.0);
    scenario.recipe.optimizer = Optimizer::Sgd;
    exactly(at(&estimate(&scenario), "Value model’s optimizer state", step), 0.0);
}

#[test]
fn ppo_holds_what_the_policy_put_out_through_the_step_and_generated_logits_throughout() {
    let mut scenario = llama(TaskKind::Ppo);
    scenario.task.rollout = Rollout::Model;
    scenario.task.completion = 256;
    let (step, tokens) = ("train: optimizer step", 2.0 * 1024.0);
    let seen = estimate(&scenario);
    exactly(at(&seen, "Logits", step), 2.0 * tokens * VOCABULARY);
    // The embeddings and what 32 layers put out.
    let hidden = "Hidden states that the trainer holds";
    exactly(at(&seen, hidden, step), 2.0 * 33.0 * tokens * 4096.0);
    // Recomputed layers fill no cache; kept ones have 2 · 8 heads · 128 · 2 bytes for a token and a layer.
    let cache = "Cache that the trainer holds";
    exactly(at(&seen, cache, step), 0.0);
    for instant in ["generate, prompts", "score, logits", "train: value model, last layer", step] {
        exactly(at(&seen, "Logits of every token that was generated", instant), 4.0 * 2.0 * 256.0 * VOCABULARY);
    }
    scenario.recipe.recomputation = Recomputation::None;
    exactly(at(&estimate(&scenario), cache, step), 131_072.0 * tokens);
    // accelerate casts hidden states and logits to fp32.
    scenario.recipe.precision = Precision::Autocast;
    scenario.recipe.adapter = Adapter::Lora;
    let cast = estimate(&scenario);
    exactly(at(&cast, "Logits", step), 4.0 * tokens * VOCABULARY);
    exactly(at(&cast, hidden, step), 4.0 * 33.0 * tokens * 4096.0);
}

#[test]
fn ppo_recomputes_in_the_policy_and_never_in_the_value_model() {
    let mut scenario = llama(TaskKind::Ppo);
    let value = "Value model’s activations";
    let [full, none] = [Recomputation::Full, Recomputation::None].map(|recomputation| {
        scenario.recipe.recomputation = recomputation;
        estimate(&scenario)
    });
    for instant in ["train: logits", "train: backward, first layer", "train: value model, last layer"] {
        assert!(at(&full, value, instant) > 0.0);
        exactly(at(&full, value, instant), at(&none, value, instant));
    }
    exactly(at(&full, value, "train: end of backward"), 0.0);
}

#[test]
fn ppo_s_value_model_is_in_the_type_of_the_policy_s_weights() {
    let body = LLAMA - VOCABULARY * 4096.0;
    let mut scenario = llama(TaskKind::Ppo);
    scenario.recipe.precision = Precision::Autocast;
    for (adapter, bytes) in [(Adapter::None, 4.0), (Adapter::LoraFp32, 4.0), (Adapter::Lora, 2.0)] {
        scenario.recipe.adapter = adapter;
        let seen = estimate(&scenario);
        exactly(at(&seen, "Value model", "train: optimizer step"), bytes * body);
        exactly(at(&seen, "Value model’s optimizer state", "train: optimizer step"), 2.0 * bytes * body);
    }
}

#[test]
fn what_ppo_reads_from_a_cache_stands_beside_packed_queries_keys_and_values() {
    let packed = |slug: &str| {
        let mut scenario = catalogue::model(slug).expect("listed").apply(llama(TaskKind::Ppo));
        scenario.recipe.recomputation = Recomputation::None;
        scenario.recipe.attention = AttentionKernel::Flash;
        scenario.recipe.kernels = Kernels::Eager;
        scenario.recipe.dropout = Switch::Off;
        estimate(&scenario)
    };
    let (there, tokens) = ("train: loss, forward", 2.0 * 1024.0);
    // 12 layers of GPT-2 with keys and values of 768 numbers of 2 bytes.
    exactly(at(&packed("gpt2"), "Keys and values", there), 12.0 * 2.0 * 2.0 * 768.0 * tokens);
    // Rotated queries and keys of Pythia are copies anyway, so that the values alone are left of the product: 16 layers of
    // 2,048 numbers.
    exactly(at(&packed("pythia-1b"), "Values", there), 16.0 * 2.0 * 2_048.0 * tokens);
}

#[test]
fn expanded_keys_and_values_of_latent_attention_are_cached_beside_all_that_a_norm_of_keys_keeps() {
    let mut scenario = catalogue::model("deepseek-v2-lite").expect("listed").apply(llama(TaskKind::Ppo));
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.kernels = Kernels::Fused;
    for norm in [QkNorm::Off, QkNorm::Head] {
        scenario.model.qk_norm = norm;
        // 27 layers of 16 heads of 128 + 64 numbers, for keys and for values, of 2 bytes.
        let cached = at(&estimate(&scenario), "Cache that the trainer holds", "train: logits");
        exactly(cached, 27.0 * 2.0 * 2.0 * 16.0 * 192.0 * 2.0 * 1024.0);
    }
}

#[test]
fn at_ppo_s_logits_is_what_accelerate_casts_or_what_the_value_model_put_out_the_more_of_the_two() {
    let (there, tokens) = ("train: logits", 2.0 * 1024.0);
    let (logits, cache, hidden) = ("Logits in fp32", "Value model’s cache", "Hidden states in fp32");
    let mut scenario = llama(TaskKind::Ppo);
    scenario.recipe.precision = Precision::Autocast;
    // 4 bytes of 128,256 logits are 501 KiB a token. The value model’s keys and values in fp32 are 8 bytes of 1,024 numbers
    // in each of 32 layers, 256 KiB.
    let seen = estimate(&scenario);
    exactly(at(&seen, logits, there), 4.0 * VOCABULARY * tokens);
    exactly(at(&seen, cache, there), 0.0);
    // Of 50,000 logits they are 195 KiB.
    scenario.model.vocabulary = 50_000;
    let seen = estimate(&scenario);
    exactly(at(&seen, logits, there), 0.0);
    exactly(at(&seen, cache, there), 32.0 * 8.0 * 1_024.0 * tokens);
    // Beside adapters hidden states are in 16 bits, and are cast as well: 33 of 4,096 numbers.
    scenario.model.vocabulary = 128_256;
    scenario.recipe.adapter = Adapter::Lora;
    let seen = estimate(&scenario);
    exactly(at(&seen, logits, there), 4.0 * VOCABULARY * tokens);
    exactly(at(&seen, hidden, there), 4.0 * 33.0 * 4_096.0 * tokens);
    // With 64,000 logits both are 778 KiB. The value model has 32 layers of 2 bytes of 4,096 numbers that norms do not keep,
    // and of as many keys and values, which eager attention does not keep as they are: 768 KiB.
    scenario.model.vocabulary = 64_000;
    scenario.model.kv_heads = 32;
    scenario.recipe.attention = AttentionKernel::Eager;
    exactly(at(&estimate(&scenario), hidden, there), 4.0 * 33.0 * 4_096.0 * tokens);
}

#[test]
fn an_engine_stands_beside_the_model_where_completions_are_generated_on_its_gpu() {
    let has = |kind, rollout| Task { kind, rollout, ..Task::TRAIN }.has_engine();
    assert!(has(TaskKind::Grpo, Rollout::Awake) && has(TaskKind::Ppo, Rollout::Asleep));
    assert!(!has(TaskKind::Grpo, Rollout::Model) && !has(TaskKind::Grpo, Rollout::Server));
    assert!(!has(TaskKind::Train, Rollout::Awake) && !has(TaskKind::Dpo, Rollout::Awake));
}

#[test]
fn deepspeed_gathers_no_weights_to_generate_that_one_gpu_has() {
    let mut scenario = llama(TaskKind::Grpo);
    scenario.cluster.engine = Engine::DeepSpeed;
    scenario.cluster.zero = ZeroStage::Stage3;
    let gathered = |scenario: &Scenario| at(&estimate(scenario), "Weights, gathered to generate", "generate, prompts");
    exactly(gathered(&scenario), 0.0);
    scenario.cluster.gpus = 8;
    exactly(gathered(&scenario), 2.0 * LLAMA);
}

#[test]
fn autocast_does_not_reach_what_ppo_generates_and_scores() {
    let mut scenario = llama(TaskKind::Ppo);
    scenario.recipe.precision = Precision::Autocast;
    let seen = estimate(&scenario);
    let tokens = 2.0 * 1024.0;
    exactly(at(&seen, "Hidden states of a scoring pass", "score, logits"), 4.0 * 33.0 * tokens * 4096.0);
    exactly(at(&seen, "Logits of a scoring pass", "score, logits"), 4.0 * tokens * VOCABULARY);
    exactly(at(&seen, "16-bit casts of a pass without gradients", "score, layers"), 0.0);
}

#[test]
fn a_reward_model_has_one_output_in_the_place_of_a_vocabulary() {
    let estimate = estimate(&llama(TaskKind::Reward));
    assert_eq!(estimate.instants.len(), 6);
    assert!(estimate.instants.iter().all(|instant| instant.name.starts_with("train: ")));
    assert!(!estimate.entries.iter().any(|entry| entry.name.contains("ogits") || entry.name == "Output head"));
    // Two bytes of weight and two of gradient, once: there is no second matrix of that size.
    exactly(at(&estimate, "Embedding", "train: optimizer step"), 4.0 * VOCABULARY * 4096.0);
}

#[test]
fn an_engine_takes_its_share_of_the_gpu_and_asleep_only_while_it_generates() {
    let mut scenario = llama(TaskKind::Grpo);
    scenario.task.rollout = Rollout::Awake;
    let share = 0.3 * scenario.device.memory.get();
    let of = |scenario: &Scenario, instant| at(&estimate(scenario), "Inference engine", instant);
    for instant in ["generate, last token", "score, logits", "train: loss, backward"] {
        exactly(of(&scenario, instant), share);
    }
    scenario.task.rollout = Rollout::Asleep;
    exactly(of(&scenario, "generate, last token"), share);
    exactly(of(&scenario, "train: loss, backward"), 0.0);
    scenario.task.rollout = Rollout::Server;
    exactly(of(&scenario, "generate, last token"), 0.0);
}

#[test]
fn a_teacher_of_its_own_size_is_counted_by_its_weights() {
    let mut scenario = llama(TaskKind::Distil);
    scenario.task.teacher = 70_000_000_000;
    exactly(at(&estimate(&scenario), "Teacher", "score, logits"), 140e9);
    scenario.task.teacher = 0;
    exactly(at(&estimate(&scenario), "Teacher", "score, logits"), 2.0 * LLAMA);
}

#[test]
fn a_plain_run_reads_nothing_of_a_task() {
    let plain = Scenario::workshop();
    let mut other = plain;
    other.task = Task {
        kind: TaskKind::Train,
        reference: Reference::Offloaded,
        frozen: FrozenType::Half,
        teacher: 7,
        reward: RewardModel::Model,
        rollout: Rollout::Awake,
        completion: 5,
        generations: 9,
        scored: 2,
        ..Task::TRAIN
    };
    assert_eq!(estimate(&other).entries, estimate(&plain).entries);
    assert_eq!(estimate(&plain).instants.len(), 6);
}

#[test]
fn the_instants_of_a_task_stand_before_those_of_its_step() {
    let names =
        |kind| -> Vec<&'static str> { estimate(&llama(kind)).instants.iter().map(|instant| instant.name).collect() };
    let grpo = names(TaskKind::Grpo);
    assert_eq!(grpo[..4], ["generate, prompts", "generate, last token", "score, layers", "score, logits"]);
    assert_eq!(grpo.len(), 12);
    assert_eq!(names(TaskKind::Dpo)[..3], ["score, layers", "score, logits", "train: logits"]);
    assert_eq!(names(TaskKind::Train)[0], "loss, forward");
}

#[test]
fn settings_of_a_task_travel_in_links_and_only_where_they_differ() {
    let mut scenario = Scenario::default();
    assert_eq!(link::encode(&scenario), "v=4");
    scenario.task.kind = TaskKind::Grpo;
    scenario.task.rollout = Rollout::Asleep;
    scenario = scenario.with_number(Field::Completion, 512.0).expect("in range").at_largest();
    assert_eq!(link::encode(&scenario), "v=4&completion=512&task=grpo&rollout=asleep");
    assert_eq!(link::decode("v=4&completion=512&task=grpo&rollout=asleep").scenario, scenario);
}

#[test]
fn every_task_fits_somewhere_and_says_where_it_peaks() {
    for kind in TaskKind::ALL {
        let mut scenario = llama(*kind);
        scenario.device.memory = Bytes::from_gib(4096.0);
        assert!(b_max(&scenario).batch().is_some(), "{kind}");
        assert!(estimate(&scenario).peak().bytes.get() > 0.0);
    }
}

#[test]
fn levers_of_a_task_lead_to_nothing_that_it_has_not() {
    let mut scenario = llama(TaskKind::Grpo);
    scenario.cluster.gpus = 8;
    scenario.recipe.recomputation = Recomputation::None;
    scenario.task.rollout = Rollout::Awake;
    let levers = ranked(&scenario, &[]);
    let words: Vec<_> = levers.iter().map(|lever| format!("{:?}", lever.change)).collect();
    assert!(words.iter().any(|word| word.contains("Asleep")), "{words:?}");
    assert!(words.iter().any(|word| word.contains("Tiled")), "{words:?}");
    let has = |part: &str| words.iter().any(|word| word.contains(part));
    assert!(!has("TensorParallel") && !has("Loss(Fused)"), "{words:?}");
    for lever in levers {
        assert_eq!(lever.change.apply(scenario).conflicts(), [], "{words:?}");
        assert!(!lever.change.cost().is_empty() || lever.gain() == 0, "{:?}", lever.change);
    }
}

prop_compose! {
    /// A task of any kind on data-parallel devices, which is how trl runs them.
    fn any_task()(
        scenario in any_scenario::any_scenario(),
        kind in select(TaskKind::ALL.iter().copied().filter(|kind| *kind != TaskKind::Train).collect::<Vec<_>>()),
    ) -> Scenario {
        let mut scenario = Scenario { method: Method::Ledger, ..scenario };
        scenario.task.kind = kind;
        let cluster = &mut scenario.cluster;
        (cluster.tensor_parallel, cluster.pipeline_parallel, cluster.context_parallel) = (1, 1, 1);
        cluster.sequence_parallel = Switch::Off;
        if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
            cluster.engine = Engine::Torch;
        }
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_task_never_takes_less_in_its_update_than_plain_training(scenario in any_task()) {
        // A reward model has no output head.
        prop_assume!(scenario.task.kind != TaskKind::Reward);
        // trl trains decoders, and a task is counted without an encoder.
        let mut scenario = scenario;
        scenario.model.encoder = bmax::Encoder::NONE;
        // Neither with products in fp8, nor with a step in the backward pass, nor with labels of its own: a classifier of
        // a few classes is a matrix that Shampoo keeps two square ones for, where tied embeddings add none.
        scenario.recipe.fp8 = bmax::Fp8::Off;
        scenario.recipe.loss = match scenario.recipe.loss {
            bmax::LossHead::Classifier => bmax::LossHead::Plain,
            other => other,
        };
        scenario.recipe.step = bmax::StepKernel::Foreach;
        let mut plain = scenario;
        plain.task.kind = TaskKind::Train;
        let update = |scenario: &Scenario| {
            let estimate = estimate(scenario);
            estimate.total_at(estimate.step_instants() - 1).get()
        };
        prop_assert!(at_least(update(&scenario), update(&plain)), "{}", link::encode(&scenario));
    }

    #[test]
    fn an_engine_that_sleeps_never_takes_more_than_one_that_does_not(scenario in any_task()) {
        let [awake, asleep, server] = [Rollout::Awake, Rollout::Asleep, Rollout::Server].map(|rollout| {
            let mut with = scenario;
            with.task.rollout = rollout;
            peak(&with)
        });
        prop_assert!(at_least(awake, asleep) && at_least(asleep, server), "{}", link::encode(&scenario));
    }

    #[test]
    fn a_reference_that_is_the_model_itself_adds_no_weights(scenario in any_task()) {
        let mut scenario = scenario;
        scenario.task.reference = Reference::Adapter;
        scenario.recipe.adapter = Adapter::Lora;
        // A copy in fewer bytes than the model itself is gathered in fewer.
        scenario.task.frozen = FrozenType::Policy;
        prop_assume!(scenario.task.kind != TaskKind::Distil);
        let entries = estimate(&scenario).entries;
        prop_assert!(!entries.iter().any(|entry| entry.name == "Reference model"));
        let adapters_off = peak(&scenario);
        scenario.task.reference = Reference::Copy;
        prop_assert!(at_least(peak(&scenario), adapters_off), "{}", link::encode(&scenario));
    }

    #[test]
    fn more_that_is_generated_or_scored_at_once_never_takes_less(scenario in any_task(), factor in 2_u32..5) {
        for field in [Field::Generations, Field::Scored] {
            let now = scenario.number(field);
            if now > 0.0 && now * f64::from(factor) <= field.bound().max {
                let more = scenario.with_number(field, now * f64::from(factor)).expect("in range");
                prop_assert!(at_least(peak(&more), peak(&scenario)), "{field:?}: {}", link::encode(&scenario));
            }
        }
    }

    #[test]
    fn a_task_is_a_straight_line_in_the_micro_batch(scenario in any_task()) {
        let at = |batch| {
            let mut with = scenario;
            with.recipe.batch = batch;
            let estimate = estimate(&with);
            (0..estimate.instants.len()).map(|position| estimate.total_at(position).get()).collect::<Vec<_>>()
        };
        for ((one, two), three) in at(1).into_iter().zip(at(2)).zip(at(3)) {
            prop_assert!((three - 2.0 * two + one).abs() <= 1e-9 * three, "{}", link::encode(&scenario));
        }
    }

    #[test]
    fn every_entry_of_a_task_is_finite_and_has_a_source(scenario in any_task()) {
        for entry in estimate(&scenario).entries {
            prop_assert!(entry.bytes.get().is_finite() && entry.bytes.get() >= 0.0, "{}", entry.name);
            prop_assert!(entry.source.url.starts_with("https://"));
        }
    }
}
