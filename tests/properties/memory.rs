//! What memory is made of, what makes it more or less, and what follows from it.

use bmax::{
    Adapter, Answer, AttentionKernel, Balance, Bucket, Bytes, Choice, Engine, Field, LossHead, Optimizer, Outside,
    Packing, Recomputation, Scenario, StepKernel, TaskKind, Vision, ZeroStage, b_max, counters, estimate,
    inverse::{largest_model, least_memory, longest_sequence},
    largest_micro_batch, link,
    range::range,
    search,
    setting::Setting,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::{as_drawn, counted, found, random, sensible};
use crate::support::any_scenario::any_scenario;
use crate::support::peaks::{at_least, peak};

/// Where dense layers and layers with experts stand beside each other, the layer that runs backward is
/// counted as one of the wider kind, and which kind that is may change as a size grows.
fn one_kind_of_layer(scenario: &Scenario) -> bool {
    scenario.model.experts.count == 0 || scenario.model.experts.dense_layers == 0
}

/// Whether gathered elements are counted up to a number of them, at the mean width of all weights, as DeepSpeed keeps up to
/// 1,000,000,000: beside weights of one byte or less the mean falls as the number of those weights grows.
fn gathers_by_count(scenario: &Scenario) -> bool {
    scenario.cluster.engine == Engine::DeepSpeed && scenario.recipe.adapter.is_quantized()
}

/// What ZeRO 3 may cost and no weaker stage does: the weights it gathers, or keeps for a group, are a copy beside
/// the shards, and they come and go, which leaves gaps. A model that is little more than one layer gathers all it has and gains nothing.
fn beside_the_shards(scenario: &Scenario) -> f64 {
    let weights = |gathered: bool| -> f64 {
        let all = estimate(scenario).entries.into_iter().filter(|entry| entry.bucket == Bucket::Parameters);
        let is_copy =
            |name: &str| ["Gathered", "Weights, resharded", "16-bit copy"].iter().any(|of| name.starts_with(of));
        all.filter(|entry| is_copy(entry.name) == gathered).map(|entry| entry.bytes.get()).sum()
    };
    let gathered = weights(true);
    let gaps = scenario.device.fragmentation.get() / 100.0;
    if gathered > 0.0 { weights(false) + gaps * gathered } else { 0.0 }
}

/// The bytes of one entry, over all instants; 0 without it.
fn entry(scenario: &Scenario, name: &str) -> f64 {
    estimate(scenario).entries.into_iter().filter(|entry| entry.name == name).map(|entry| entry.bytes.get()).sum()
}

/// That memory does not fall where a size grows by a factor.
fn rises(scenario: &Scenario, field: Field, factor: f64) -> Result<(), TestCaseError> {
    prop_assume!(one_kind_of_layer(scenario));
    prop_assume!(!gathers_by_count(scenario));
    let grown = (scenario.number(field) * factor).min(field.bound().max);
    let grown = if field.bound().whole { grown.floor() } else { grown };
    let larger = scenario.with_number(field, grown).expect("in range");
    prop_assert!(at_least(peak(&larger), peak(scenario)), "{:?} to {}, {}", field, grown, link::encode(scenario));
    Ok(())
}

/// Whether an entry of this name is made by the output head or the loss: logits, what is made of them, and the buffers of
/// a loss that makes gradients at once. What the allocator keeps of them is no tensor, and the head's own gradient is one
/// of weights.
fn is_of_the_loss(name: &str) -> bool {
    let words =
        ["logit", "log-softmax", "softmax, and", "divergence", "entropy", "exponentials", "one sequence’s gradient"];
    let buffers = [
        "One chunk",
        "Gradient of the last hidden state",
        "Those of this update",
        "The same, joined",
        "Hidden states that have a label",
        "One slice of the head",
    ];
    let lower = name.to_lowercase();
    let is_of = words.iter().any(|word| lower.contains(word)) || buffers.iter().any(|of| name.starts_with(of));
    is_of && !name.starts_with("Reserved")
}

#[test]
fn what_head_and_loss_make_has_a_bucket_of_its_own_and_buckets_add_up() {
    found::hold(as_drawn, |scenario| {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert_eq!(is_of_the_loss(entry.name), entry.bucket == Bucket::Logits, "{}", entry.name);
        }
        for position in 0..estimate.instants.len() {
            let together: Bytes = Bucket::ALL.iter().map(|&bucket| estimate.bucket_at(bucket, position)).sum();
            let total = estimate.total_at(position);
            prop_assert!((together - total).get().abs() <= 1e-9 * total.get(), "{:?} of {:?}", together, total);
        }
        Ok(())
    });
}

#[test]
fn memory_rises_where_it_once_fell() {
    for (link, field, factor) in found::GROWING {
        match rises(&sensible(found::scenario(link)), field, factor) {
            Ok(()) | Err(TestCaseError::Reject(_)) => {}
            Err(TestCaseError::Fail(why)) => panic!("{link}: {why}"),
        }
    }
}

of_every_scenario! {
    fn every_scenario_in_range_has_a_finite_answer(scenario in as_drawn) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert!(entry.bytes.get().is_finite() && entry.bytes >= Bytes::ZERO, "{}", entry.name);
        }
        match b_max(&scenario) {
            Answer::Fits(room) => prop_assert!(room.peak.get().is_finite() && room.batch >= 1),
            Answer::Infeasible(reason) => prop_assert!(reason.over.get().is_finite() && reason.over > Bytes::ZERO),
            Answer::Refused(refusal) => prop_assert!(refusal.would_be != Some(0) && !refusal.conflicts.is_empty()),
        }
    }

    fn buckets_add_up_to_the_total_at_every_instant(scenario in as_drawn) {
        let estimate = estimate(&scenario);
        for position in 0..estimate.instants.len() {
            let total = estimate.total_at(position).get();
            let parts: f64 = Bucket::ALL.iter().map(|bucket| estimate.bucket_at(*bucket, position).get()).sum();
            prop_assert!((total - parts).abs() <= total * 1e-12);
            prop_assert!(at_least(estimate.peak().bytes.get(), total));
        }
    }

    fn an_entry_is_the_value_of_the_formula_it_shows(scenario in as_drawn) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert_eq!(entry.bytes.get(), entry.formula.value(&entry.values(&estimate)));
        }
    }

    fn b_max_fits_and_one_sequence_more_does_not(mut scenario in as_drawn) {
        // What the memory of the machine has room for is held in tests/recipes.rs.
        scenario.host.ram = Bytes::ZERO;
        let usable = scenario.usable().get();
        match b_max(&scenario) {
            Answer::Fits(room) => {
                prop_assert!(peak(&scenario.with_batch(room.batch)) <= usable * (1.0 + 1e-12));
                if !room.capped {
                    prop_assert!(at_least(peak(&scenario.with_batch(room.batch + 1)), usable));
                }
            }
            Answer::Infeasible(_) => prop_assert!(at_least(peak(&scenario.with_batch(1)), usable)),
            Answer::Refused(refusal) => {
                let would_be = refusal.would_be.unwrap_or(0);
                prop_assert!(would_be == 0 || peak(&scenario.with_batch(would_be)) <= usable * (1.0 + 1e-12));
            }
        }
    }

    fn a_micro_batch_is_free_up_to_b_max_and_no_farther_whatever_memory_is_short(mut scenario in as_drawn) {
        // A machine with little more than the micro-batch takes, where that is a size that a machine may have.
        let taken = estimate(&scenario).host.peak().bytes.gib() * (1.0 + 1e-9);
        if let Ok(small) = scenario.with_number(Field::HostMemory, taken) {
            scenario = small;
        }
        let most = largest_micro_batch(&scenario).unwrap_or(0);
        let last = Field::Batch.bound().max as u32;
        for batch in [1, most.max(1), (most + 1).min(last), scenario.recipe.batch] {
            let at = estimate(&scenario.with_batch(batch));
            // A peak that is the usable memory to the last bits may be read as either.
            if at_least(at.peak().bytes.get(), at.usable().get()) && at_least(at.usable().get(), at.peak().bytes.get()) {
                continue;
            }
            let is_free = matches!(at.balance(), Balance::Free(_));
            prop_assert_eq!(is_free, batch <= most, "b = {} of {}, {}", batch, most, link::encode(&scenario));
            prop_assert_eq!(is_free, at.fits());
        }
    }

    fn the_empirical_search_ends_at_b_max(scenario in as_drawn) {
        let probes = search::by_running_out(&scenario);
        let last = probes.last().expect("it tries at least once");
        prop_assert_eq!(last.low, largest_micro_batch(&scenario).unwrap_or(0));
        prop_assert!(probes.len() <= 42, "{} attempts", probes.len());
    }

    fn memory_never_rises_with_more_gpus(mut scenario in sensible) {
        // The second GPU brings communication buffers; from then on more of them only share.
        let two_groups = (2 * scenario.cluster.group()).min(Field::Gpus.bound().max as u32);
        scenario.cluster.gpus = scenario.cluster.gpus.max(two_groups);
        prop_assume!(scenario.cluster.data_parallel() > 1);
        // An evaluation gathers the logits of all GPUs, and a full state dict what they divide.
        scenario.outside = Outside::OFF;
        // A group that shares its weights keeps them as a copy of its own, which more groups do not make smaller.
        scenario.cluster.reshard = 0;
        // An expert that is whole on its GPU is never gathered; once it is divided, it is.
        prop_assume!(scenario.cluster.expert_parallel == 1 || scenario.cluster.data_parallel() > scenario.cluster.expert_parallel);
        // Experts are shared by as many GPUs as there are, so that more of them may share more.
        let more = (scenario.number(Field::Gpus) * 2.0).min(Field::Gpus.bound().max);
        let wider = scenario.with_number(Field::Gpus, more).expect("in range");
        prop_assert!(at_least(peak(&scenario), peak(&wider)), "{}", link::encode(&scenario));
    }

    fn memory_never_rises_with_the_zero_stage(mut scenario in sensible) {
        // A group that shares its weights keeps them beside the layers that are gathered, which may be all.
        scenario.cluster.reshard = 0;
        // What needs whole matrices gives way to AdamW where they are divided.
        prop_assume!(!scenario.recipe.optimizer.projects() && !scenario.recipe.optimizer.preconditions());
        // A full state dict and an evaluation gather what only the third stage divides.
        scenario.outside = Outside::OFF;
        for stages in ZeroStage::ALL.windows(2) {
            let [mut weaker, mut stronger] = [scenario; 2];
            weaker.cluster.zero = stages[0];
            stronger.cluster.zero = stages[1];
            // Every stage of DeepSpeed has buffers of its own.
            if scenario.cluster.engine == Engine::DeepSpeed {
                continue;
            }
            let spare = match stages[1] {
                ZeroStage::Stage3 => beside_the_shards(&stronger),
                // A layer's whole gradient lives beside its shard until the two are reduced, and with fp32 shards
                // the 16-bit copy lives beside them.
                ZeroStage::Stage2 => {
                    beside_the_shards(&stronger) + 1.5 * entry(&stronger, "Whole gradients and their reduction")
                }
                _ => 0.0,
            };
            prop_assert!(at_least(peak(&weaker) + spare, peak(&stronger)), "{:?}, {}", stages, link::encode(&scenario));
        }
    }

    fn memory_never_rises_with_stronger_recomputation(mut scenario in sensible) {
        // Beside adapters recomputation lets gradients run through a frozen vision tower (`enable_input_require_grads`).
        scenario.model.vision = Vision::NONE;
        use Recomputation::{EveryK, Full, None, Operators, Selective};
        for (weaker, stronger) in [(None, Selective), (Selective, Operators), (Operators, Full), (None, EveryK)] {
            // A segment of a mixture of experts may hold more than its share of layers with experts.
            if stronger == EveryK && scenario.model.experts.count > 0 {
                continue;
            }
            // The layers of a segment run backward together, and with few tokens the first is where it is highest.
            if stronger == EveryK {
                let activations = |recomputation| {
                    let mut with = scenario;
                    with.recipe.recomputation = recomputation;
                    estimate(&with).bucket_at(Bucket::Activations, 1).get()
                };
                prop_assert!(at_least(activations(weaker), activations(stronger)), "{}", link::encode(&scenario));
                continue;
            }
            // What tensor parallelism has added up is kept by the choice of operators and by nothing else. That
            // choice also keeps what a frozen product puts out, which no backward pass reads.
            let frozen = scenario.recipe.adapter != Adapter::None;
            // With padding it keeps a second output of attention, whose tokens lie in another order.
            let frozen = frozen || scenario.batching().pads();
            // With fp8 what a product reads is kept in one byte, and what the choice keeps of it in two.
            let in_bytes = scenario.recipe.fp8.is_on();
            if stronger == Operators && (scenario.cluster.tensor_parallel > 1 || frozen || in_bytes) {
                continue;
            }
            // The input of the layer that is computed again is one more tensor, and so is what an encoder puts out; they are
            // a gain from two layers on, and where more than scores is computed again.
            if scenario.model.layers == 1 || scenario.model.encoder.is_there() {
                continue;
            }
            // Without recomputation PPO fills a cache with copies of keys and values, which frees a packed product; with it
            // the packed product is kept (`DynamicLayer` in transformers/cache_utils.py, 5.23.0).
            if scenario.task.kind == TaskKind::Ppo && scenario.model.packing != Packing::Separate {
                continue;
            }
            let [mut more, mut less] = [scenario; 2];
            more.recipe.recomputation = weaker;
            less.recipe.recomputation = stronger;
            prop_assert!(at_least(peak(&more), peak(&less)), "{:?} {:?}, {}", weaker, stronger, link::encode(&scenario));
        }
    }

    fn what_costs_less_memory_by_its_nature_never_costs_more(scenario in counted) {
        let with = |key: &str, word: &str| {
            let setting = Setting::from_key(key).expect("a setting");
            peak(&setting.read(word, scenario).expect("a word of its own"))
        };
        for (key, more, less) in [
            ("kernels", "eager", "fused"),
            ("loss", "plain", "kernel"),
            ("loss", "kernel", "kernel-inplace"),
            ("optimizer", "adamw", "lion"),
            ("optimizer", "momentum", "sgd"),
            ("step", "foreach", "fused"),
            ("step", "loop", "fused"),
            ("dropout", "on", "off"),
            ("offload", "none", "optimizer"),
            ("offload", "optimizer", "both"),
            ("grad", "32", "16"),
            ("qk_norm", "head", "off"),
        ] {
            // DeepSpeed casts 16-bit gradients to fp32 for the step, beside what they were, and its optimizer for
            // fp32 sums, which is never on the host, is the only one without buckets.
            let buffered = matches!((key, more), ("grad", _) | ("offload", "none"))
                && scenario.cluster.engine == Engine::DeepSpeed;
            // With padding, keys and values are repeated to every head for the mask, which one packed tensor is not.
            // Fused kernels hand on what they make, and Transformer Engine casts it once more.
            if key == "kernels" && (scenario.batching().pads() || scenario.recipe.fp8.is_on()) {
                continue;
            }
            // Autocast casts the weights of fused experts, and those of transformers compute in fp32.
            if key == "kernels" && scenario.model.experts.count > 0 && scenario.recipe.precision == bmax::Precision::Autocast {
                continue;
            }
            // In the backward pass AdamW has a kernel for each weight, and Lion is written out.
            if key == "optimizer" && scenario.recipe.step == StepKernel::InBackward {
                continue;
            }
            // DeepSpeed keeps so many weights gathered as its limit of live ones leaves room for beside the others.
            if key == "qk_norm" && scenario.cluster.engine == Engine::DeepSpeed {
                continue;
            }
            // SOAP has no 16-bit gradients: its preconditioners are in fp32.
            if key == "grad" && scenario.recipe.optimizer == Optimizer::Soap {
                continue;
            }
            // A compiled loss in chunks makes more of one chunk, and is meant for many.
            if buffered || (key == "kernels" && scenario.recipe.loss == LossHead::Chunked) {
                continue;
            }
            prop_assert!(at_least(with(key, more), with(key, less)), "{}: {} against {}, {}", key, more, less, link::encode(&scenario));
        }
    }

    fn grouped_queries_take_no_more_than_one_key_for_each_query(scenario in counted) {
        // A side of a matrix that is too long has no preconditioner, and fewer keys make it shorter.
        prop_assume!(!matches!(scenario.recipe.optimizer, Optimizer::Soap | Optimizer::Shampoo));
        prop_assume!(!gathers_by_count(&scenario));
        let mut each = scenario;
        each.model.kv_heads = each.model.heads;
        prop_assert!(at_least(peak(&each), peak(&scenario)));
    }

    fn flash_attention_takes_no_more_than_eager(scenario in counted) {
        // Its row statistics are one number where eager attention keeps a row of scores, and its backward pass
        // adds gradients of the queries up in fp32, which weigh less than scores unless heads are as wide as the
        // sequence is long.
        prop_assume!(scenario.longest() > 8.max(4 * scenario.model.head_dim));
        // T5’s bias on scores is a mask of S² for the kernel.
        prop_assume!(scenario.model.position != bmax::Position::Relative);
        // Padding costs a mask and keys repeated to every head, or a second output, which eager attention has not.
        prop_assume!(!scenario.batching().pads());
        let [mut eager, mut flash] = [scenario; 2];
        eager.recipe.attention = AttentionKernel::Eager;
        eager.recipe.recomputation = Recomputation::None;
        flash.recipe.attention = AttentionKernel::Flash;
        flash.recipe.recomputation = Recomputation::None;
        prop_assert!(at_least(peak(&eager), peak(&flash)), "{}", link::encode(&scenario));
    }

    fn safe_is_at_most_likely_and_likely_at_most_optimistic(scenario in counted) {
        let range = range(&scenario);
        let [safe, likely, optimistic] =
            [&range.safe, &range.likely, &range.optimistic].map(|answer| answer.batch().unwrap_or(0));
        prop_assert!(safe <= likely && likely <= optimistic, "{} {} {}, {}", safe, likely, optimistic, link::encode(&scenario));
        prop_assert_eq!(range.likely, b_max(&scenario));
    }

    fn counters_see_more_the_further_out_they_are(scenario in as_drawn) {
        let seen = counters(&scenario);
        prop_assert!(seen.allocated <= seen.reserved && seen.reserved <= seen.device);
        prop_assert!(seen.device.get().is_finite());
    }

    fn every_conflict_can_be_mended(scenario in as_drawn) {
        let mut at = scenario;
        for _ in 0..24 {
            let Some(conflict) = at.conflicts().into_iter().next() else { return Ok(()) };
            prop_assert!(!conflict.message.is_empty());
            let mended = conflict.mend.apply(at);
            prop_assert!(mended != at, "{}", conflict.message);
            at = mended;
        }
        prop_assert!(at.conflicts().is_empty(), "{:?}", at.conflicts());
    }

    fn inverse_questions_agree_with_the_ledger(mut scenario in sensible) {
        // What CPU memory has room for is held in tests/cpu_memory.rs.
        scenario.host.ram = Bytes::ZERO;
        let batch = scenario.recipe.batch;
        let fits = |scenario: &Scenario| peak(scenario) <= scenario.usable().get() * (1.0 + 1e-12);
        if let Some(sequence) = longest_sequence(&scenario, batch) {
            let mut at = scenario;
            at.recipe.sequence = sequence;
            prop_assert!(fits(&at));
            // It is a multiple of the context-parallel size, and the next one is too long for the memory or for learned positions.
            let next = sequence + scenario.cluster.context_parallel;
            if f64::from(next) <= Field::Sequence.bound().max {
                let known = at.conflicts().len();
                at.recipe.sequence = next;
                // Padding to a multiple may go past the table of positions before the tokens do.
                let is_refused = at.conflicts().len() > known;
                prop_assert!(is_refused || at_least(peak(&at), at.usable().get()));
            }
        }
        if let Some(memory) = least_memory(&scenario, batch) {
            let mut at = scenario;
            at.device.memory = memory;
            prop_assert!(fits(&at));
        }
        if let Some(model) = largest_model(&scenario, batch) {
            let at = Scenario { model, ..scenario };
            prop_assert!(fits(&at));
        }
    }
}

proptest! {
    #![proptest_config(random())]

    #[test]
    fn memory_rises_with_batch_sequence_hidden_layers_heads_and_parameters(
        scenario in any_scenario().prop_map(sensible),
        field in select(&[Field::Batch, Field::Sequence, Field::Hidden, Field::Layers, Field::Heads, Field::Parameters]),
        factor in 1.0..16.0_f64,
    ) {
        rises(&scenario, field, factor)?;
    }

    #[test]
    fn memory_rises_with_vocabulary_width_and_experts(
        scenario in any_scenario().prop_map(counted),
        field in select(&[
            Field::Vocabulary, Field::FeedForward, Field::KvHeads, Field::Experts, Field::Rank, Field::Norms,
            Field::CudaContext, Field::Fragmentation, Field::Driver, Field::MicroBatches,
        ]),
        factor in 1.0..16.0_f64,
    ) {
        // The first expert turns a dense model into another one.
        prop_assume!(field != Field::Experts || scenario.model.experts.count >= scenario.model.experts.active);
        // PyTorch's interleaved schedule takes longer rounds where P does not divide the micro-batches.
        prop_assume!(field != Field::MicroBatches || scenario.cluster.virtual_stages == 1);
        rises(&scenario, field, factor)?;
    }

    #[test]
    fn the_search_finds_the_last_that_fits(limit in 1_u32..100_000, guess in any::<u32>(), last in 0_u32..100_000) {
        let found = search::largest(limit, guess, |n| n <= last);
        prop_assert_eq!(found, last.min(limit));
    }
}
