//! Properties of every step that is played.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Alive, Caching, OutOfMemory, Peak, Replayed};
use crate::estimator::bounds::Field;
use crate::estimator::choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, Logits, LossHead, Optimizer, Precision, Recomputation,
    Reference, RewardModel, Rollout, Segments, StepKernel, Switch, TaskKind,
};
use crate::estimator::engines::{self, Unsaid};
use crate::estimator::operators::{Kind, Owner, Part, Place};
use crate::estimator::scenario::Scenario;
use crate::estimator::step::{Depth, Event, Steps, Trace, play};
use crate::estimator::tape::largest_micro_batch;
use crate::estimator::units::{Percent, Width, Widths};
use crate::{Bytes, catalogue};

/// A model of one GPU that is trained without anything that is not played.
fn plain(model: &str) -> Scenario {
    let mut scenario = catalogue::model(model).expect("listed").apply(Scenario::workshop());
    scenario.method = crate::Method::Ledger;
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = crate::ZeroStage::Stage0;
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.loss = crate::LossHead::Plain;
    scenario.recipe.attention = AttentionKernel::Flash;
    scenario.device.workspace = Bytes::ZERO;
    scenario.device.headroom = Percent::new(0.0);
    scenario
}

prop_compose! {
    /// A step that may be played: every choice that changes its order, and widths of any size.
    fn any_step()(
        model in select(vec![
            "gpt2", "tinyllama-1.1b", "llama-3.2-1b", "qwen2.5-0.5b", "qwen3-8b", "gemma-7b", "gemma-2-9b", "olmo-2-7b",
            "pythia-1.4b", "phi-1.5", "falcon-7b", "bert-base",
        ]),
        (precision, adapter, targets, dtype) in (
            select(vec![Precision::PureBf16, Precision::Autocast, Precision::Fp32]),
            select(vec![Adapter::None, Adapter::Lora, Adapter::LoraFp32]),
            select(vec![AdapterTargets::QueryValue, AdapterTargets::Attention, AdapterTargets::All]),
            select(vec![AdapterType::Full, AdapterType::Half]),
        ),
        (recomputation, eager, dropped, kept, optimizer, step) in (
            select(vec![Recomputation::None, Recomputation::Full]),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            select(vec![
                Optimizer::AdamW,
                Optimizer::AdamW,
                Optimizer::Adam8bit,
                Optimizer::Adafactor,
                Optimizer::AdafactorTorch,
                Optimizer::Momentum,
                Optimizer::Sgd,
            ]),
            select(vec![StepKernel::Fused, StepKernel::Foreach, StepKernel::Loop]),
        ),
        (layers, micro_batches, batch) in (1..9_u32, 1..4_u32, 1..6_u32),
        sizes in prop::collection::vec(0.0..1.0_f64, 6),
    ) -> Scenario {
        let mut scenario = plain(model);
        let recipe = &mut scenario.recipe;
        (recipe.precision, recipe.adapter, recipe.targets, recipe.adapter_type) = (precision, adapter, targets, dtype);
        (recipe.recomputation, recipe.step, recipe.micro_batches, recipe.batch) = (recomputation, step, micro_batches, batch);
        recipe.adapter_dropout = if dropped { Switch::On } else { Switch::Off };
        recipe.logits = if kept { Logits::Kept } else { Logits::Dropped };
        recipe.optimizer = optimizer;
        if model == "bert-base" {
            recipe.adapter = Adapter::None;
            recipe.loss = if kept { LossHead::MaskedLm } else { LossHead::Classifier };
            recipe.dropout = if dropped { Switch::On } else { Switch::Off };
        }
        if eager || model == "gemma-2-9b" {
            recipe.attention = AttentionKernel::Eager;
        }
        scenario.model.layers = layers;
        let fields = [Field::Hidden, Field::FeedForward, Field::Vocabulary, Field::Sequence, Field::Rank, Field::HeadDim];
        for (field, size) in fields.into_iter().zip(sizes) {
            let bound = field.bound();
            let value = (bound.min.max(1.0).ln() + size * (bound.max / bound.min.max(1.0)).ln()).exp().floor();
            scenario = scenario.with_number(field, value.clamp(bound.min, bound.max)).expect("in range");
        }
        scenario
    }
}

prop_compose! {
    /// The step of one rank of several.
    fn any_rank()(
        scenario in any_step(),
        gpus in 2..70_u32,
        is_sharded in any::<bool>(),
        is_mixed in any::<bool>(),
        reshard in 0..2_u32,
        is_fsdp1 in any::<bool>(),
        has_bucket_views in any::<bool>(),
    ) -> (Scenario, Unsaid) {
        let mut scenario = scenario;
        scenario.cluster.gpus = gpus;
        let is_fsdp1 = is_fsdp1 && is_sharded;
        if is_sharded {
            scenario.cluster.zero = crate::ZeroStage::Stage3;
            scenario.cluster.reshard = if is_fsdp1 { 0 } else { reshard };
            scenario.recipe.adapter = Adapter::None;
            scenario.recipe.precision = if is_mixed { Precision::Mixed } else { Precision::PureBf16 };
        }
        (scenario, Unsaid { is_fsdp1, has_bucket_views, ..Unsaid::default() })
    }
}

/// A step that finds its state there, with the widths of its model.
fn steady(scenario: &Scenario, depth: Depth) -> (Trace, Widths) {
    steady_run(scenario, Unsaid::default(), depth)
}

/// A step of a run of which it is known what no input says.
fn steady_run(scenario: &Scenario, unsaid: Unsaid, depth: Depth) -> (Trace, Widths) {
    let plan = engines::wrapped(scenario, unsaid).expect("it is played");
    (play(&plan, depth, Steps::Steady), plan.widths())
}

/// Every rank of a pipeline of any length, with its widths.
fn ranks(scenario: &Scenario, depth: Depth) -> Vec<(Trace, Widths)> {
    let of = |rank| Unsaid { rank, ..Unsaid::default() };
    let ranks = (0..scenario.cluster.pipeline_parallel.min(scenario.model.layers))
        .map(|rank| steady_run(scenario, of(rank), depth));
    ranks.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn few_micro_batches_of_a_pipeline_have_the_peak_and_the_ledger_of_all(
        (ranks_of, chunks, layers, micro_batches) in (2..6_u32, 1..4_u32, 2..20_u32, 1..50_u32),
        recomputation in select(vec![Recomputation::None, Recomputation::Full]),
        (batch, sequence, vocabulary) in (1..4_u32, 1..3000_u32, 1..200_000_u32),
    ) {
        let mut scenario = plain("llama-3.1-8b");
        (scenario.model.layers, scenario.model.vocabulary) = (layers, vocabulary);
        let (cluster, recipe) = (&mut scenario.cluster, &mut scenario.recipe);
        (cluster.gpus, cluster.pipeline_parallel, cluster.virtual_stages) = (ranks_of, ranks_of, chunks);
        (recipe.micro_batches, recipe.recomputation) = (micro_batches, recomputation);
        (recipe.batch, recipe.sequence) = (batch, sequence);
        let [folded, whole] = [Depth::Folded, Depth::Whole].map(|depth| {
            let ranks = ranks(&scenario, depth).into_iter().map(|(trace, widths)| {
                let peak = Peak::of(&trace, &widths, batch.into());
                (peak.bytes, peak.moment, Alive::at(&trace, &widths, batch.into(), peak))
            });
            ranks.collect::<Vec<_>>()
        });
        prop_assert_eq!(folded, whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn equal_layers_played_by_three_members_have_the_peak_and_the_ledger_of_all(scenario in any_step()) {
        let batch = scenario.recipe.batch.into();
        let [folded, whole] = [Depth::Folded, Depth::Whole].map(|depth| {
            let (trace, widths) = steady(&scenario, depth);
            let peak = Peak::of(&trace, &widths, batch);
            (peak.bytes, peak.moment, Alive::at(&trace, &widths, batch, peak))
        });
        // Beyond two micro-batches all do what the second does.
        prop_assert_eq!(folded, whole);
    }

    #[test]
    fn the_same_holds_for_one_rank_of_several((scenario, unsaid) in any_rank()) {
        let batch = scenario.recipe.batch.into();
        let [folded, whole] = [Depth::Folded, Depth::Whole].map(|depth| {
            let (trace, widths) = steady_run(&scenario, unsaid, depth);
            let peak = Peak::of(&trace, &widths, batch);
            (peak.bytes, peak.moment, Alive::at(&trace, &widths, batch, peak))
        });
        prop_assert_eq!(folded, whole);
    }

    #[test]
    fn a_step_leaves_weights_and_the_optimizers_state_behind_and_nothing_else(scenario in any_step()) {
        let (trace, _) = steady(&scenario, Depth::Whole);
        let mut counts = vec![0_i32; trace.registry.all().count()];
        for event in &trace.events {
            match *event {
                Event::Allocate(tensor, _) => counts[tensor.index()] += 1,
                Event::Free(tensor, _) => counts[tensor.index()] -= 1,
                _ => {}
            }
        }
        for ((tensor, ..), count) in trace.registry.all().zip(counts) {
            let stays = matches!(tensor.kind(), Kind::Parameters | Kind::Optimizer)
                || matches!((tensor.place, tensor.part), (_, Part::Table) | (Place::Batch, Part::Ids | Part::Labels));
            prop_assert!(count == 0 || stays && count > 0, "{:?} {}", tensor, count);
        }
    }

    #[test]
    fn those_alive_add_up_to_the_peak_but_for_what_blocks_are_rounded_by(scenario in any_step()) {
        let (trace, widths) = steady(&scenario, Depth::Folded);
        let batch = scenario.recipe.batch.into();
        let peak = Peak::of(&trace, &widths, batch);
        let alive = Alive::at(&trace, &widths, batch, peak);
        let (bytes, count) = alive.iter().fold((0, 0), |(bytes, count), one| (bytes + one.bytes, count + one.count));
        prop_assert!(bytes <= peak.bytes && peak.bytes - bytes < 512 * count.max(1), "{} {} {}", bytes, count, peak.bytes);
    }

    #[test]
    fn the_largest_micro_batch_is_the_last_that_fits(scenario in any_step(), gib in 1..200_u64) {
        let budget = gib << 30;
        let largest = largest_micro_batch(&scenario, budget).expect("it is played");
        let live = |batch: u32| {
            let mut scenario = scenario;
            scenario.recipe.batch = batch;
            let (trace, widths) = steady(&scenario, Depth::Folded);
            Peak::of(&trace, &widths, batch.into()).bytes
        };
        prop_assert!(largest == 0 || live(largest) <= budget);
        prop_assert!(largest == Field::Batch.bound().max as u32 || live(largest + 1) > budget);
    }
}

#[test]
fn weights_are_those_that_published_models_have() {
    for row in catalogue::MODELS {
        let scenario = plain(row.slug);
        let plan = engines::wrapped(&scenario, Unsaid::default());
        if let (Ok(plan), true) = (plan, row.group.is_published()) {
            let model = &plan.task.networks[0].model;
            let said = row.model.parameters;
            // Some rows round what a paper says. BERT is an encoder: what has its features and says next tokens is another
            // model, without token types, their norm and a pooler.
            let is_other = said % 1_000_000 == 0 || row.slug.starts_with("bert-");
            assert!(is_other || model.parameters() == said, "{}: {}", row.slug, model.parameters());
        }
    }
}

#[test]
fn weights_that_are_frozen_keep_nothing_for_their_own_sake() {
    let mut scenario = plain("llama-3.1-8b");
    (scenario.recipe.adapter, scenario.recipe.targets) = (Adapter::Lora, AdapterTargets::QueryValue);
    (scenario.recipe.batch, scenario.model.layers) = (4, 6);
    let (trace, widths) = steady(&scenario, Depth::Folded);
    let alive = Alive::at(&trace, &widths, 4, Peak::of(&trace, &widths, 4));
    let count = |place, part| -> u64 {
        alive
            .iter()
            .filter(|alive| (alive.tensor.place, alive.tensor.part) == (place, part))
            .map(|alive| alive.count)
            .sum()
    };
    // The product before a frozen matrix is not read again, nor what a frozen norm's weight multiplies.
    assert_eq!([count(Place::Product, Part::Result), count(Place::AttentionNorm, Part::InHalf)], [0, 0]);
    // Each adapter reads a copy of its own; SiLU's product reads both of its factors.
    let kept = [(Place::Query, Part::InputCast), (Place::Value, Part::InputCast), (Place::Up, Part::Result)];
    assert_eq!(kept.map(|(place, part)| count(place, part)), [6, 6, 6]);
    // In the first layer nothing before the first adapters wants a gradient.
    let roots = [Place::AttentionNorm, Place::MlpNorm].map(|place| count(place, Part::InverseRoot));
    assert_eq!(roots, [5, 6]);
}

#[test]
fn the_allocator_gives_back_what_it_caches_before_it_gives_up() {
    let mut scenario = plain("llama-3.2-1b");
    (scenario.recipe.recomputation, scenario.recipe.batch) = (Recomputation::Full, 2);
    let plan = engines::wrapped(&scenario, Unsaid::default()).expect("it is played");
    let (trace, widths) = (play(&plan, Depth::Whole, Steps::First(2)), plan.widths());
    let replay = |limit| Caching::replay(&trace, &widths, 2, Segments::Fixed, limit);
    let Replayed { live, reserved } = replay(u64::MAX).expect("there is no limit");
    assert_eq!(replay(reserved), Ok(Replayed { live, reserved }));
    assert!(replay(reserved - (1 << 30)).is_ok());
    assert_eq!(replay(live - 1), Err(OutOfMemory));
}

#[test]
fn tasks_that_are_folded_peak_as_those_that_are_played_in_full() {
    let all = [TaskKind::Dpo, TaskKind::Reward, TaskKind::Distil, TaskKind::Grpo].map(|kind| (kind, Rollout::Server));
    for (kind, rollout) in all.into_iter().chain([TaskKind::Grpo, TaskKind::Ppo].map(|kind| (kind, Rollout::Model))) {
        for (precision, recomputation) in
            [(Precision::PureBf16, Recomputation::Full), (Precision::Autocast, Recomputation::None)]
        {
            let mut scenario = plain("qwen2.5-0.5b");
            (scenario.task.kind, scenario.task.reference) = (kind, Reference::Copy);
            let is_ppo = kind == TaskKind::Ppo;
            let reward = if is_ppo { RewardModel::Model } else { RewardModel::Function };
            (scenario.task.rollout, scenario.task.reward) = (rollout, reward);
            (scenario.task.completion, scenario.task.generations) = (40, if is_ppo { 0 } else { 500 });
            (scenario.recipe.precision, scenario.recipe.recomputation) = (precision, recomputation);
            (scenario.recipe.batch, scenario.recipe.sequence) = (3, 200);
            let sequences = engines::wrapped(&scenario, Unsaid::default()).expect("it is played").task.sequences;
            let batch = u64::from(scenario.recipe.batch) * sequences;
            let [folded, whole] = [Depth::Folded, Depth::Whole].map(|depth| {
                let (trace, widths) = steady(&scenario, depth);
                let peak = Peak::of(&trace, &widths, batch);
                (peak.bytes, peak.moment, Alive::at(&trace, &widths, batch, peak))
            });
            assert_eq!(folded, whole, "{kind:?}");
            let has_another = whole.2.iter().any(|alive| alive.owner != Owner::Trained);
            assert_eq!(has_another, kind != TaskKind::Reward, "{kind:?}");
        }
    }
}

#[test]
fn models_of_one_structure_have_one_trace_whatever_their_widths() {
    for adapter in [Adapter::None, Adapter::Lora] {
        let traces = [("llama-3.1-8b", 1000), ("llama-3.1-70b", 4096)].map(|(model, sequence)| {
            let mut scenario = plain(model);
            (scenario.recipe.adapter, scenario.recipe.sequence, scenario.model.layers) = (adapter, sequence, 40);
            let (trace, _) = steady(&scenario, Depth::Folded);
            let tensors: Vec<_> = trace.registry.all().map(|(tensor, ..)| *tensor).collect();
            (trace.events, tensors)
        });
        assert_eq!(traces[0], traces[1]);
    }
}

#[test]
fn absurd_widths_are_played_and_saturate() {
    let mut scenario = plain("llama-3.1-8b");
    for field in [Field::Hidden, Field::FeedForward, Field::Vocabulary, Field::Sequence, Field::Batch, Field::Heads] {
        scenario = scenario.with_number(field, field.bound().max).expect("in range");
    }
    let (trace, widths) = steady(&scenario, Depth::Folded);
    let widths = widths.with(Width::Hidden, u64::MAX);
    assert!(Peak::of(&trace, &widths, u64::MAX).bytes > 1 << 62);
    let plan = engines::wrapped(&scenario, Unsaid::default()).expect("it is played");
    let trace = play(&plan, Depth::Whole, Steps::First(1));
    assert_eq!(Caching::replay(&trace, &widths, 1, Segments::Expandable, 1 << 40), Err(OutOfMemory));
}
