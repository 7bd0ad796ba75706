//! How many micro-batches a pipeline keeps, against the schedules of the engines played action by action.
//!
//! The player below knows the order in which each engine's own code runs forward and backward passes, and
//! nothing of the estimator's formula. It runs the ranks side by side, each in its order, lets a pass wait for
//! the passes that it depends on, and counts the chunks whose activations a rank holds.

use bmax::{
    AttentionKernel, Bucket, Engine, Estimate, Field, LossHead, Method, Percent, Precision, Recomputation, Scenario,
    Switch, TaskKind, ZeroStage, catalogue, estimate, link,
};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;

/// One pass of a micro-batch through a chunk of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pass {
    forward: bool,
    chunk: usize,
    micro_batch: usize,
}

const fn forward(chunk: usize, micro_batch: usize) -> Pass {
    Pass { forward: true, chunk, micro_batch }
}

const fn backward(chunk: usize, micro_batch: usize) -> Pass {
    Pass { forward: false, chunk, micro_batch }
}

/// A pipeline: P ranks, v chunks on each, m micro-batches.
#[derive(Clone, Copy, Debug)]
struct Shape {
    ranks: usize,
    chunks: usize,
    micro_batches: usize,
}

/// Forward passes alone, then a forward and a backward pass in turn, then backward passes alone.
fn one_forward_one_backward(forwards: &[Pass], backwards: &[Pass], warm_up: usize) -> Vec<Pass> {
    let warm_up = warm_up.min(forwards.len());
    let mut order = forwards[..warm_up].to_vec();
    let steady = forwards.len() - warm_up;
    for (forward, backward) in forwards[warm_up..].iter().zip(backwards) {
        order.extend([*forward, *backward]);
    }
    order.extend(&backwards[steady..]);
    order
}

/// Megatron-LM, megatron/core/pipeline_parallel/schedules.py at d98e8a64ddf3: `get_schedule_table` for the
/// order of chunks and micro-batches, `get_pp_rank_microbatches` for the warm-up, and
/// `forward_backward_pipelining_without_interleaving` with one chunk. Its groups are as large as the pipeline
/// (model_parallel_config.py), and a last group that is not full is refused. `None` where it refuses.
fn megatron(shape: Shape, rank: usize) -> Option<Vec<Pass>> {
    let Shape { ranks, chunks, micro_batches } = shape;
    if chunks == 1 {
        let [forwards, backwards] = [forward, backward].map(|pass| (0..micro_batches).map(|m| pass(0, m)).collect());
        let (forwards, backwards): (Vec<_>, Vec<_>) = (forwards, backwards);
        return Some(one_forward_one_backward(&forwards, &backwards, ranks - rank - 1));
    }
    if micro_batches % ranks != 0 {
        return None;
    }
    let mut table = Vec::new();
    for start in (0..micro_batches).step_by(ranks) {
        for chunk in 0..chunks {
            table.extend((start..start + ranks).map(|micro_batch| (chunk, micro_batch)));
        }
    }
    let forwards: Vec<_> = table.iter().map(|&(chunk, m)| forward(chunk, m)).collect();
    let backwards: Vec<_> = table.iter().map(|&(chunk, m)| backward(chunks - chunk - 1, m)).collect();
    let warm_up = (ranks - rank - 1) * 2 + (chunks - 1) * ranks;
    Some(one_forward_one_backward(&forwards, &backwards, warm_up))
}

/// PyTorch 2.15, torch/distributed/pipelining/schedules.py: `Schedule1F1B` with one chunk, where a rank starts
/// with a forward pass for each rank from itself on and then runs backward first; `ScheduleInterleaved1F1B`,
/// `_get_warmup_ops` and `_get_1f1b_rank_ops` with several. Its rounds are as long as the micro-batches need to
/// make whole rounds, and at least as long as the pipeline. `None` where it refuses.
fn torch(shape: Shape, rank: usize) -> Option<Vec<Pass>> {
    let Shape { ranks, chunks, micro_batches } = shape;
    if chunks == 1 {
        if micro_batches < ranks {
            return None;
        }
        let (mut there, mut back) = (0, 0);
        let mut order = Vec::new();
        while there < micro_batches.min(ranks - rank) {
            order.push(forward(0, there));
            there += 1;
        }
        loop {
            order.push(backward(0, back));
            back += 1;
            if there == micro_batches {
                break;
            }
            order.push(forward(0, there));
            there += 1;
        }
        order.extend((back..micro_batches).map(|m| backward(0, m)));
        return Some(order);
    }
    let rounds = (micro_batches / ranks).max(1);
    let in_round = micro_batches / rounds;
    if micro_batches % rounds != 0 {
        return None;
    }
    let all = chunks * micro_batches;
    let warm_up = ((chunks - 1) * in_round + 2 * (ranks - 1 - rank)).min(all);
    let (mut there, mut back) = (vec![0; chunks], vec![0; chunks]);
    let mut order = Vec::new();
    for step in 0..all + warm_up {
        if step < all {
            let chunk = step / in_round % chunks;
            order.push(forward(chunk, there[chunk]));
            there[chunk] += 1;
        }
        if step >= warm_up {
            let chunk = chunks - 1 - (step - warm_up) / in_round % chunks;
            order.push(backward(chunk, back[chunk]));
            back[chunk] += 1;
        }
    }
    Some(order)
}

/// DeepSpeed, `TrainSchedule` in deepspeed/runtime/pipe/schedule.py (edaa7221267243): in each step of the
/// pipeline a rank runs forward if both numbers are even or both odd, and backward otherwise. It has no chunks.
fn deepspeed(shape: Shape, rank: usize) -> Option<Vec<Pass>> {
    let Shape { ranks, chunks, micro_batches } = shape;
    if chunks > 1 {
        return None;
    }
    let [stages, stage, count] = [ranks, rank, micro_batches].map(|number| number as i64);
    let passes = (0..2 * (count + stages - 1)).filter_map(|step| {
        let (is_forward, micro_batch) = match (step % 2, stage % 2) {
            (0, 0) => (true, step / 2 - stage / 2),
            (1, 1) => (true, (step - 1) / 2 - stage / 2),
            (0, 1) => (false, step / 2 - stages + (stage + 1) / 2),
            _ => (false, (step - 1) / 2 - stages + 1 + stage / 2),
        };
        let pass = Pass { forward: is_forward, chunk: 0, micro_batch: micro_batch as usize };
        (0..count).contains(&micro_batch).then_some(pass)
    });
    Some(passes.collect())
}

/// Runs the ranks side by side and returns the most chunks whose activations each of them holds at once.
///
/// Panics where an order leaves out a pass, runs one twice, or waits for what can never come.
fn play(shape: Shape, orders: &[Vec<Pass>]) -> Vec<usize> {
    let Shape { ranks, chunks, micro_batches } = shape;
    let stages = ranks * chunks;
    // Whether a stage has run a micro-batch there and back. Chunks go round the ranks.
    let mut there = vec![vec![false; micro_batches]; stages];
    let mut back = there.clone();
    let (mut at, mut held, mut most) = (vec![0; ranks], vec![0_usize; ranks], vec![0; ranks]);
    loop {
        let mut moved = false;
        for rank in 0..ranks {
            while let Some(&Pass { forward, chunk, micro_batch }) = orders[rank].get(at[rank]) {
                let stage = chunk * ranks + rank;
                let ready = if forward {
                    stage == 0 || there[stage - 1][micro_batch]
                } else {
                    there[stage][micro_batch] && (stage + 1 == stages || back[stage + 1][micro_batch])
                };
                if !ready {
                    break;
                }
                let done = if forward { &mut there } else { &mut back };
                assert!(!done[stage][micro_batch], "{shape:?}: rank {rank} runs one pass twice");
                done[stage][micro_batch] = true;
                held[rank] = if forward { held[rank] + 1 } else { held[rank] - 1 };
                most[rank] = most[rank].max(held[rank]);
                at[rank] += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    assert!(back.iter().flatten().all(|done| *done), "{shape:?} cannot be run to its end");
    assert!(held.iter().all(|held| *held == 0));
    most
}

/// Chunks that each rank of this engine holds, or `None` where the engine refuses the shape.
fn held_by(engine: Engine, shape: Shape) -> Option<Vec<usize>> {
    let order = |rank| match engine {
        Engine::Megatron => megatron(shape, rank),
        Engine::DeepSpeed => deepspeed(shape, rank),
        _ => torch(shape, rank),
    };
    let orders: Option<Vec<_>> = (0..shape.ranks).map(order).collect();
    orders.map(|orders| play(shape, &orders))
}

/// A small dense model in a pipeline on as many GPUs as it has ranks, with nothing around it.
fn pipeline(engine: Engine, shape: Shape, layers_of_a_chunk: u32) -> Scenario {
    let row = catalogue::model("llama-3.2-1b").expect("a row of the catalogue");
    let mut scenario = row.apply(Scenario { method: Method::Ledger, ..Scenario::workshop() });
    scenario.model.layers = layers_of_a_chunk * (shape.ranks * shape.chunks) as u32;
    scenario.cluster.engine = engine;
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.cluster.gpus = shape.ranks as u32;
    scenario.cluster.pipeline_parallel = shape.ranks as u32;
    scenario.cluster.virtual_stages = shape.chunks as u32;
    scenario.recipe.micro_batches = shape.micro_batches as u32;
    scenario.recipe.batch = 1;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.attention = AttentionKernel::Flash;
    scenario.recipe.loss = LossHead::Plain;
    scenario.recipe.recomputation = Recomputation::Full;
    scenario.device.fragmentation = Percent::new(0.0);
    scenario
}

const LAST: &str = "last stage: loss, forward";
const FIRST: &str = "first stage: pipeline full";
const SECOND: &str = "second stage: pipeline full";

/// Layers whose inputs are kept at this instant, over all micro-batches on their way: the bytes of the inputs
/// over those of one, a 16-bit hidden state.
fn kept_inputs(scenario: &Scenario, estimate: &Estimate, instant: &str) -> Option<f64> {
    let at = estimate.instants.iter().position(|found| found.name == instant)?;
    let kept = estimate.entries.iter().filter(|entry| entry.name == "Layer inputs" && entry.alive.contains(at));
    let bytes: f64 = kept.map(|entry| entry.bytes.get()).sum();
    let tokens = f64::from(scenario.recipe.batch) * f64::from(scenario.recipe.sequence);
    Some(bytes / (2.0 * tokens * f64::from(scenario.model.hidden)))
}

/// The ranks that are counted, with the instants at which they keep most.
fn counted(ranks: usize) -> Vec<(usize, &'static str)> {
    let mut counted = vec![(ranks - 1, LAST), (0, FIRST)];
    if ranks > 2 {
        counted.push((1, SECOND));
    }
    counted
}

fn agrees(engine: Engine, shape: Shape) {
    let Some(held) = held_by(engine, shape) else { return };
    let scenario = pipeline(engine, shape, 2);
    let estimate = estimate(&scenario);
    for (rank, instant) in counted(shape.ranks) {
        let kept = kept_inputs(&scenario, &estimate, instant).expect("an instant of a pipeline");
        assert_eq!(kept, 2.0 * held[rank] as f64, "{engine:?}, {shape:?}, rank {rank}");
    }
    // No rank between holds more than the second.
    assert!(held.is_sorted_by(|before, after| before >= after), "{engine:?}, {shape:?}: {held:?}");
}

/// Every shape whose pipeline can be full.
fn shapes(chunks: std::ops::RangeInclusive<usize>) -> impl Iterator<Item = Shape> {
    (2..=16).flat_map(move |ranks| {
        let chunks = chunks.clone();
        chunks.flat_map(move |chunks| {
            (ranks..=8 * ranks).map(move |micro_batches| Shape { ranks, chunks, micro_batches })
        })
    })
}

#[test]
fn one_forward_one_backward_keeps_what_the_schedule_of_every_engine_keeps() {
    for shape in shapes(1..=1) {
        for engine in [Engine::Megatron, Engine::DeepSpeed, Engine::Torch, Engine::Torchtitan] {
            agrees(engine, shape);
        }
    }
}

#[test]
fn interleaving_keeps_what_megatron_s_schedule_keeps() {
    shapes(2..=4).for_each(|shape| agrees(Engine::Megatron, shape));
}

#[test]
fn interleaving_keeps_what_pytorch_s_schedule_keeps_in_rounds_of_any_length() {
    shapes(2..=4).for_each(|shape| agrees(Engine::Torch, shape));
}

#[test]
fn the_player_refuses_an_order_that_cannot_be_run() {
    // Two ranks, of which the second waits for a gradient before it has made one.
    let shape = Shape { ranks: 2, chunks: 1, micro_batches: 1 };
    let good = [vec![forward(0, 0), backward(0, 0)], vec![forward(0, 0), backward(0, 0)]];
    assert_eq!(play(shape, &good), [1, 1]);
    let stuck = [vec![backward(0, 0), forward(0, 0)], vec![forward(0, 0), backward(0, 0)]];
    assert!(std::panic::catch_unwind(|| play(shape, &stuck)).is_err());
    let twice = [vec![forward(0, 0), forward(0, 0), backward(0, 0)], vec![forward(0, 0), backward(0, 0)]];
    assert!(std::panic::catch_unwind(|| play(shape, &twice)).is_err());
}

#[test]
fn the_played_counts_are_those_of_the_papers() {
    // Narayanan et al. 2021 (arXiv 2104.04473), section 2.2.1: 1F1B keeps at most as many micro-batches as there
    // are stages. Korthikanti et al. 2022 (arXiv 2205.05198), section 4.2.3: interleaved, the first stage keeps
    // 1 + (P − 1)/(P·v) times as much.
    for (ranks, chunks) in [(4, 2), (8, 2), (8, 4), (16, 3)] {
        let plain = held_by(Engine::Megatron, Shape { ranks, chunks: 1, micro_batches: 8 * ranks }).expect("1F1B");
        assert_eq!(plain[0], ranks);
        let held = held_by(Engine::Megatron, Shape { ranks, chunks, micro_batches: 8 * ranks }).expect("interleaved");
        let (p, v) = (ranks as f64, chunks as f64);
        assert_eq!(held[0] as f64 / v / p, 1.0 + (p - 1.0) / (p * v));
    }
}

#[test]
fn fewer_micro_batches_than_stages_are_answered_for_as_many_as_stages() {
    for ranks in 2..=16 {
        for chunks in 1..=4 {
            let full = pipeline(Engine::Megatron, Shape { ranks, chunks, micro_batches: ranks }, 2);
            for micro_batches in 1..ranks {
                let mut few = full;
                few.recipe.micro_batches = micro_batches as u32;
                assert_eq!(estimate(&few).peak(), estimate(&full).peak(), "{ranks} {chunks} {micro_batches}");
                let said = few.conflicts();
                assert!(said.iter().any(|conflict| conflict.mend.key() == "accum"), "{said:?}");
                // It is never an answer that the fewer could not keep.
                let shape = Shape { ranks, chunks, micro_batches };
                if let Some(held) = held_by(Engine::DeepSpeed, shape) {
                    assert!(held.iter().all(|held| *held <= ranks));
                }
            }
        }
    }
}

/// Layers of each rank, from the layers that the first and the last are given.
fn layers_of(scenario: &Scenario) -> Vec<u32> {
    let cluster = &scenario.cluster;
    let ranks = cluster.pipeline_parallel;
    let (first, last) = (cluster.first_stage_layers, cluster.last_stage_layers);
    let named = u32::from(first > 0) + u32::from(last > 0);
    let others = ranks - named;
    let left = scenario.model.layers - first - last;
    let of_others = left.checked_div(others).unwrap_or(0);
    let size = |rank| match rank {
        0 if first > 0 => first,
        _ if rank + 1 == ranks && last > 0 => last,
        _ => of_others,
    };
    (0..ranks).map(size).collect()
}

prop_compose! {
    /// A pipeline whose first, whose last, or both of whose stages differ from the others, without conflicts.
    fn uneven()(
        ranks in 2_usize..=16, micro_batches in 1_u32..=8, others in 1_u32..=8, first in 0_u32..=12, last in 0_u32..=12,
        engine in 0_usize..4,
    ) -> (Scenario, Shape) {
        let shape = Shape { ranks, chunks: 1, micro_batches: ranks * micro_batches as usize };
        let engine = [Engine::Megatron, Engine::DeepSpeed, Engine::Torch, Engine::Torchtitan][engine];
        let mut scenario = pipeline(engine, shape, 1);
        scenario.cluster.first_stage_layers = first;
        scenario.cluster.last_stage_layers = last;
        let between = ranks as u32 - u32::from(first > 0) - u32::from(last > 0);
        scenario.model.layers = first + last + others * between;
        (scenario, shape)
    }
}

/// The pipeline whose second stage is the stage `rank` of this one: the stages before it are put together into
/// the first, which leaves as many stages behind it, and the same layers of the model on it.
fn from_rank(scenario: &Scenario, rank: u32) -> Scenario {
    let layers = layers_of(scenario);
    let mut tail = *scenario;
    let ranks = scenario.cluster.pipeline_parallel;
    tail.cluster.pipeline_parallel = ranks - rank + 1;
    tail.cluster.gpus = scenario.cluster.gpus / ranks * tail.cluster.pipeline_parallel;
    tail.cluster.first_stage_layers = layers[..rank as usize].iter().sum();
    tail.cluster.last_stage_layers = layers[ranks as usize - 1];
    tail
}

prop_compose! {
    /// Any model in an uneven pipeline without chunks, with any number of dense layers where it has experts.
    fn any_pipeline()(
        scenario in any_scenario(), ranks in 3_u32..=12, others in 1_u32..=6, first in 0_u32..=8, last in 0_u32..=8,
        data in 1_u32..=4, rounds in 1_u32..=3, dense in 0.0..=1.0_f64,
    ) -> Scenario {
        let mut scenario = Scenario { method: Method::Ledger, ..scenario };
        // No other task has a pipeline.
        scenario.task.kind = TaskKind::Train;
        // Neither do networks with a vision tower or an encoder.
        (scenario.model.vision, scenario.model.encoder) = (bmax::Vision::NONE, bmax::Encoder::NONE);
        let cluster = &mut scenario.cluster;
        cluster.pipeline_parallel = ranks;
        cluster.virtual_stages = 1;
        cluster.first_stage_layers = first;
        cluster.last_stage_layers = last;
        cluster.gpus = data * cluster.group();
        let between = ranks - u32::from(first > 0) - u32::from(last > 0);
        scenario.model.layers = first + last + others * between;
        scenario.model.experts.dense_layers = (f64::from(scenario.model.layers) * dense) as u32;
        scenario.recipe.micro_batches = ranks * rounds;
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn uneven_stages_have_all_layers_of_the_model_and_no_more((scenario, shape) in uneven()) {
        prop_assert_eq!(&scenario.conflicts(), &vec![]);
        let layers = layers_of(&scenario);
        prop_assert_eq!(layers.iter().sum::<u32>(), scenario.model.layers);
        let held = held_by(scenario.cluster.engine, shape).expect("1F1B");
        let estimate = estimate(&scenario);
        for (rank, instant) in counted(shape.ranks) {
            let kept = kept_inputs(&scenario, &estimate, instant).expect("an instant of a pipeline");
            prop_assert_eq!(kept, f64::from(layers[rank]) * held[rank] as f64, "rank {}", rank);
        }
        // The stages between keep no more than the second does.
        for rank in 2..shape.ranks.saturating_sub(1) {
            prop_assert!(layers[rank] as usize * held[rank] <= layers[1] as usize * held[1], "rank {}", rank);
        }
    }

    #[test]
    fn the_peak_of_a_pipeline_is_that_of_its_worst_stage((scenario, _) in uneven()) {
        let estimate = estimate(&scenario);
        let stages = estimate.stages();
        let worst = stages.iter().map(|stage| stage.peak.bytes.get()).fold(0.0, f64::max);
        prop_assert_eq!(estimate.peak().bytes.get(), worst);
        prop_assert_eq!(stages.len(), scenario.cluster.pipeline_parallel.min(3) as usize);
    }

    #[test]
    fn no_stage_needs_more_than_those_that_are_counted(scenario in any_pipeline()) {
        prop_assume!(u64::from(scenario.cluster.group()) * 4 <= Field::Gpus.bound().max as u64);
        let peak = estimate(&scenario).peak().bytes.get();
        for rank in 1..scenario.cluster.pipeline_parallel - 1 {
            let alone = from_rank(&scenario, rank);
            let own = estimate(&alone).stages()[2].peak.bytes.get();
            prop_assert!(own <= peak * (1.0 + 1e-12), "rank {}: {} > {}, {}", rank, own, peak, link::encode(&scenario));
        }
    }

    #[test]
    fn with_chunks_too_the_stages_with_more_and_with_most_experts_are_counted(
        ranks in 3_usize..=12, chunks in 1_usize..=4, own in 1_u32..=3, dense in 0.0..=1.0_f64, rounds in 1_usize..=3,
    ) {
        let shape = Shape { ranks, chunks, micro_batches: ranks * rounds };
        let row = catalogue::model("deepseek-moe-16b").expect("a row of the catalogue");
        let mut scenario = pipeline(Engine::Megatron, shape, own);
        let layers = scenario.model.layers;
        scenario.model = row.model;
        scenario.model.layers = layers;
        scenario.model.experts.dense_layers = (f64::from(layers) * dense) as u32;
        // Chunks go round the ranks, and dense layers stand at the beginning of the model.
        let with_experts = |rank: usize| {
            let starts = (0..chunks).map(|chunk| ((chunk * ranks + rank) as u32) * own);
            starts.flat_map(|start| start..start + own).filter(|layer| *layer >= scenario.model.experts.dense_layers).count()
        };
        let held = held_by(Engine::Megatron, shape).expect("whole rounds");
        // Two bytes of each weight, three matrices of each of 64 experts of 1,408 by 2,048.
        let of_a_layer = 2.0 * 64.0 * 3.0 * 1408.0 * 2048.0;
        let estimate = estimate(&scenario);
        let counted: Vec<(f64, f64)> = [SECOND, "stage with more experts: pipeline full", "stage with most experts: pipeline full"]
            .into_iter()
            .filter_map(|instant| {
                let at = estimate.instants.iter().position(|found| found.name == instant)?;
                let experts = estimate.entries.iter().filter(|entry| {
                    (entry.name, entry.bucket) == ("Experts", Bucket::Parameters) && entry.alive.contains(at)
                });
                let bytes: f64 = experts.map(|entry| entry.bytes.get()).sum();
                Some((bytes / of_a_layer, kept_inputs(&scenario, &estimate, instant)?))
            })
            .collect();
        // Every stage between has a counted one that holds as many experts and as many layers of micro-batches.
        for (rank, held) in held.iter().enumerate().take(ranks - 1).skip(1) {
            let (experts, inputs) = (with_experts(rank) as f64, *held as f64 * f64::from(own));
            let is_covered = counted.iter().any(|(counted, kept)| *counted >= experts && *kept >= inputs);
            prop_assert!(is_covered, "rank {}: {} {}, {:?}, {:?}", rank, experts, inputs, counted, shape);
        }
    }
}
