//! Pipeline stages: which layers a device holds, and how many micro-batches it keeps at once.

use super::instants::{FIRST_STAGE, FURTHER_STAGES, LAST_STAGE, SECOND_STAGE, StageInstants};
use crate::{Engine, Recomputation, Scenario, TaskKind, Weights};

/// Layers of one pipeline stage and what else stands there.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    /// Its place in the pipeline, from 0.
    pub(super) rank: u32,
    pub(super) at: StageInstants,
    pub(super) has_embedding: bool,
    pub(super) has_head: bool,
    /// Layers with a dense feed-forward block.
    pub(super) dense_layers: f64,
    /// Layers with experts.
    pub(super) expert_layers: f64,
    /// Whether a layer with experts has the wider working set, where there are both kinds.
    pub(super) experts_are_wider: bool,
    /// Whole passes over the stage whose activations it keeps at once: chunks in flight over chunks of
    /// the stage.
    pub(super) in_flight: f64,
    /// The same without the chunk that runs backward.
    pub(super) waiting: f64,
    /// The part of the stage's layers that runs together: 1 / v.
    pub(super) chunk: f64,
}

impl Stage {
    pub(super) fn layers(&self) -> f64 {
        self.dense_layers + self.expert_layers
    }

    /// Layers that are computed again from their inputs, each by itself, as a part of all layers of the
    /// stage; 1 where every layer is.
    pub(super) fn recomputed_part(&self, scenario: &Scenario) -> f64 {
        let recipe = &scenario.recipe;
        let layers = self.layers();
        match recipe.recomputation {
            Recomputation::None | Recomputation::Selective => 0.0,
            Recomputation::Operators | Recomputation::Full | Recomputation::EveryK => 1.0,
            // torchtitan counts layers from 1 and wraps those that K divides.
            Recomputation::KthLayer => (layers / f64::from(recipe.every.max(1))).floor() / layers,
            // Megatron-LM counts the layers of a chunk of the model and wraps the first N of each.
            Recomputation::Block => (f64::from(recipe.recomputed_layers) / self.chunk).min(layers) / layers,
        }
    }

    /// Layers that are computed again together.
    pub(super) fn layers_per_segment(&self, scenario: &Scenario) -> f64 {
        if scenario.recipe.recomputation == Recomputation::EveryK {
            f64::from(scenario.recipe.every).min(self.layers())
        } else {
            1.0
        }
    }
}

/// The pipeline of a scenario.
#[derive(Clone, Copy)]
pub(super) struct Pipeline {
    /// P, at most the number of layers.
    pub(super) stages: u32,
    /// v.
    chunks: u32,
    /// m: micro-batches of a step, at least P.
    micro_batches: u32,
    /// Micro-batches that an interleaved schedule sends through one chunk before it turns to the next.
    round: u32,
    layers: u32,
    first: u32,
    last: u32,
}

impl Pipeline {
    /// A pipeline is nearly always given at least P micro-batches, so that fewer count as P: the answer
    /// is that of a full pipeline.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let layers = scenario.model.layers.max(1);
        let stages = scenario.cluster.pipeline_parallel.clamp(1, layers);
        let micro_batches = scenario.recipe.micro_batches.max(stages);
        let round = match scenario.cluster.engine {
            // As few rounds as P allows, each of them as long as the others (`ScheduleInterleaved1F1B` in
            // torch/distributed/pipelining/schedules.py, PyTorch 2.15).
            Engine::Torch | Engine::Torchtitan => micro_batches / (micro_batches / stages),
            // Megatron-LM takes groups of P (`microbatch_group_size_per_vp_stage` in
            // megatron/core/model_parallel_config.py, d98e8a64ddf3).
            Engine::Megatron | Engine::DeepSpeed => stages,
        };
        Self {
            stages,
            chunks: if stages > 1 { scenario.cluster.virtual_stages.clamp(1, layers.div_ceil(stages)) } else { 1 },
            micro_batches,
            round,
            layers,
            first: scenario.cluster.first_stage_layers.min(layers),
            last: scenario.cluster.last_stage_layers.min(layers),
        }
    }

    /// Layers of the stage `rank`. An even division is rounded up, because some stage has that many;
    /// stages whose number of layers is given leave the rest to the others.
    fn layers_of(&self, rank: u32) -> u32 {
        if self.stages == 1 {
            return self.layers;
        }
        let is_first = rank == 0 && self.first > 0;
        let is_last = rank + 1 == self.stages && self.last > 0;
        if is_first {
            return self.first;
        }
        if is_last {
            return self.last;
        }
        let named = [self.first, self.last].iter().filter(|layers| **layers > 0).count() as u32;
        let left = self.layers.saturating_sub(self.first + self.last);
        left.div_ceil(self.stages.saturating_sub(named).max(1)).max(1)
    }

    /// The number of the first layer of a chunk of a stage: chunks go round the stages.
    fn start_of(&self, rank: u32, chunk: u32) -> u32 {
        // With one chunk the first stages come before; with several, whole rounds do.
        let before: u32 = (0..rank).map(|earlier| self.layers_of(earlier)).sum();
        let round = self.layers / self.chunks.max(1);
        chunk * round + before / self.chunks.max(1)
    }

    /// Chunks whose activations the stage `rank` keeps at once: its warm-up and the one that runs.
    ///
    /// 1F1B keeps min(P − r, m) micro-batches (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1).
    /// Interleaved, a stage runs 2(P − r − 1) + (v − 1)·R chunks ahead of its first backward pass, where R is
    /// the length of a round, P in Megatron-LM (megatron/core/pipeline_parallel/schedules.py,
    /// `get_pp_rank_microbatches`, at d98e8a64ddf3; `_get_warmup_ops` in
    /// torch/distributed/pipelining/schedules.py, PyTorch 2.15).
    pub(super) fn chunks_in_flight(&self, rank: u32) -> u32 {
        let behind = self.stages - rank - 1;
        let warm_up = if self.chunks > 1 { 2 * behind + (self.chunks - 1).saturating_mul(self.round) } else { behind };
        warm_up.saturating_add(1).min(self.micro_batches.saturating_mul(self.chunks))
    }

    /// Dense layers of the stage `rank`: they stand at the beginning of the model.
    fn dense_layers_of(&self, weights: &Weights, rank: u32) -> f64 {
        let layers = self.layers_of(rank);
        if weights.expert_layers == 0 {
            return f64::from(layers);
        }
        if self.stages == 1 {
            return weights.dense_layers as f64;
        }
        let size = layers.div_ceil(self.chunks);
        let within = |chunk: u32| {
            let start = u64::from(self.start_of(rank, chunk));
            weights.dense_layers.saturating_sub(start).min(size.into())
        };
        ((0..self.chunks).map(within).sum::<u64>() as f64).min(layers.into())
    }

    /// The stage `rank` of this pipeline.
    fn stage(&self, scenario: &Scenario, weights: &Weights, rank: u32, at: StageInstants) -> Stage {
        let layers = self.layers_of(rank);
        let is_last = rank + 1 == self.stages;
        let dense = self.dense_layers_of(weights, rank);
        let expert_layers = f64::from(layers) - dense;
        let model = &scenario.model;
        let expert_width =
            f64::from(model.expert_width()) * f64::from(model.experts.active) * super::imbalance(scenario)
                + f64::from(model.experts.shared_width);
        let in_flight = f64::from(self.chunks_in_flight(rank)) / f64::from(self.chunks);
        let chunk = 1.0 / f64::from(self.chunks);
        Stage {
            rank,
            at,
            experts_are_wider: expert_layers > 0.0 && (dense == 0.0 || expert_width >= model.feed_forward.into()),
            has_embedding: rank == 0,
            has_head: is_last,
            dense_layers: dense,
            expert_layers,
            in_flight,
            waiting: in_flight - chunk,
            chunk,
        }
    }

    /// Every stage, from the first to the last. Their instants are nobody's: nothing is counted here.
    pub(super) fn all(&self, scenario: &Scenario, weights: &Weights) -> Vec<Stage> {
        (0..self.stages).map(|rank| self.stage(scenario, weights, rank, LAST_STAGE)).collect()
    }

    /// The stages that are counted: the last, which has the head; the first, which has the embedding and
    /// the most in flight; and the second, which has the most in flight of those between. Those between have the
    /// same number of layers, but behind the dense ones more of them have experts: the first that has more than
    /// the second, and the first that has most, are counted as well.
    pub(super) fn counted(&self, scenario: &Scenario, weights: &Weights) -> Vec<Stage> {
        let at = match scenario.task.kind {
            _ if scenario.model.vision.is_there() => StageInstants::with_tower(),
            TaskKind::Train if scenario.model.encoder.is_there() => StageInstants::with_encoder(),
            TaskKind::Train => LAST_STAGE,
            kind => StageInstants::of_task(kind),
        };
        let at = at.with(&scenario.outside);
        let mut stages = vec![self.stage(scenario, weights, self.stages - 1, at)];
        if self.stages > 1 {
            stages.push(self.stage(scenario, weights, 0, FIRST_STAGE));
        }
        if self.stages > 2 {
            stages.push(self.stage(scenario, weights, 1, SECOND_STAGE));
            let (mut dense, mut free) = (self.dense_layers_of(weights, 1), FURTHER_STAGES.into_iter());
            for rank in 2..self.stages - 1 {
                let own = self.dense_layers_of(weights, rank);
                if own < dense
                    && let Some(at) = free.next()
                {
                    dense = own;
                    stages.push(self.stage(scenario, weights, rank, at));
                }
            }
        }
        stages
    }
}
