//! One model on a grid of GPUs: who shares what with whom, and what crosses the links between them.

use crate::stages::{element_bytes, stages};
use crate::{Bytes, Scenario, cost};

/// GPUs of one server, which NVLink joins; between servers there is a network. Eight is the usual number, and that
/// of the servers in Narayanan et al. 2021 (arXiv 2104.04473, section 5).
pub const SERVER: u32 = 8;

/// GPUs that share something, or hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// T: they share each matrix.
    Tensor,
    /// C: they share the tokens of a sequence.
    Context,
    /// P: they share the layers.
    Pipeline,
    /// X: they share the experts of each layer.
    Expert,
    /// D: they hold the same part of the model and see different sequences.
    Data,
}

/// The numbers of a group's GPUs: `count` of them from `first` on, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// The lowest number.
    pub first: u32,
    /// The distance between neighbours.
    pub stride: u32,
    /// How many there are, at least 1.
    pub count: u32,
}

impl Members {
    /// The number of the member at this place, from 0.
    pub fn at(&self, place: u32) -> u32 {
        self.first.saturating_add(place.saturating_mul(self.stride))
    }

    /// Whether this GPU is one of them.
    pub fn contains(&self, gpu: u32) -> bool {
        gpu >= self.first
            && (gpu - self.first).is_multiple_of(self.stride)
            && (gpu - self.first) / self.stride < self.count
    }
}

/// The sizes of a grid of GPUs, each at least 1.
///
/// GPUs are numbered as Megatron-LM numbers its ranks by default, "tp-cp-ep-dp-pp": tensor-parallel neighbours are
/// next to each other, then context-parallel ones, then copies of the model, and the stages of a pipeline are
/// furthest apart (`initialize_model_parallel` in megatron/core/parallel_state.py).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// T.
    pub tensor: u32,
    /// C.
    pub context: u32,
    /// D: copies of the model.
    pub data: u32,
    /// P.
    pub pipeline: u32,
    /// X, within the D·C GPUs that would hold the same experts.
    pub expert: u32,
}

impl Grid {
    /// The grid of a scenario. A pipeline has at most as many stages as layers, and a dense model has no experts
    /// to divide; GPUs that make no whole copy of the model are left out.
    pub fn of(scenario: &Scenario) -> Self {
        let (cluster, model) = (&scenario.cluster, &scenario.model);
        let (context, data) = (cluster.context_parallel.max(1), cluster.data_parallel());
        let most = data.saturating_mul(context).min(model.experts.count).max(1);
        Self {
            tensor: cluster.tensor_parallel.max(1),
            context,
            data,
            pipeline: cluster.pipeline_parallel.clamp(1, model.layers.max(1)),
            expert: cluster.expert_parallel.clamp(1, most),
        }
    }

    /// GPUs of one copy of the model: T·C·P.
    pub fn copy(&self) -> u32 {
        self.tensor.saturating_mul(self.context).saturating_mul(self.pipeline)
    }

    /// All GPUs of the grid.
    pub fn gpus(&self) -> u32 {
        self.copy().saturating_mul(self.data)
    }

    /// The size of a kind of group.
    pub fn size(&self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Context => self.context,
            Group::Pipeline => self.pipeline,
            Group::Expert => self.expert,
            Group::Data => self.data,
        }
    }

    /// The number of the GPU at this place, each counted from 0.
    pub fn gpu(&self, tensor: u32, context: u32, data: u32, stage: u32) -> u32 {
        [(stage, self.data), (data, self.context), (context, self.tensor)]
            .into_iter()
            .fold(0_u32, |number, (place, inner)| number.saturating_add(place).saturating_mul(inner))
            .saturating_add(tensor)
    }

    /// The group of a GPU.
    ///
    /// ```
    /// use bmax::course::splitting::{Grid, Group, Members};
    /// let grid = Grid { tensor: 2, context: 1, data: 2, pipeline: 4, expert: 1 };
    /// assert_eq!(grid.members(Group::Pipeline, 1), Members { first: 1, stride: 4, count: 4 });
    /// ```
    pub fn members(&self, group: Group, gpu: u32) -> Members {
        let (t, c) = (self.tensor, self.context);
        let stage = self.stride(Group::Pipeline);
        let within = |stride: u32, count: u32| {
            let place = gpu / stride % count;
            Members { first: gpu - place * stride, stride, count }
        };
        match group {
            Group::Tensor => within(1, t),
            Group::Context => within(t, c),
            Group::Data => within(self.stride(Group::Data), self.data),
            Group::Pipeline => within(stage, self.pipeline),
            Group::Expert => {
                // The D·C GPUs of a stage that hold the same share of the matrices, X after X.
                let all = c.saturating_mul(self.data);
                let place = gpu / t % all;
                let start = place - place % self.expert;
                Members { first: gpu - (place - start) * t, stride: t, count: self.expert.min(all - start) }
            }
        }
    }

    /// How far apart the neighbours of a group are.
    fn stride(&self, group: Group) -> u32 {
        match group {
            Group::Tensor => 1,
            Group::Context | Group::Expert => self.tensor,
            Group::Data => self.tensor.saturating_mul(self.context),
            Group::Pipeline => self.tensor.saturating_mul(self.context).saturating_mul(self.data),
        }
    }

    /// Whether every group of this kind is inside one server of [`SERVER`] GPUs.
    pub fn inside_a_server(&self, group: Group) -> bool {
        let block = self.stride(group).saturating_mul(self.size(group));
        self.gpus() <= SERVER || SERVER.is_multiple_of(block)
    }
}

/// What crosses the links of one kind of group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The group.
    pub group: Group,
    /// Exchanges of one optimizer step.
    pub exchanges: f64,
    /// Bytes of one optimizer step: what one GPU sends, or what both directions between two stages carry.
    pub bytes: Bytes,
}

/// What one GPU of the stage with most layers sends in one optimizer step of the scenario's micro-batches, to
/// the other GPUs that hold a part of the same model. All layers' activations are S·b·H elements, of which a
/// context-parallel GPU has a C-th.
///
/// - Tensor: two all-reduces of the activations forward and two backward in each layer (Shoeybi et al. 2019, arXiv
///   1909.08053, section 3), of which each GPU sends 2·(T − 1)/T: 8·S·b·H·(T − 1)/T elements a layer (Narayanan et
///   al. 2021, arXiv 2104.04473, section 3.2). With sequence parallelism each is an all-gather and a
///   reduce-scatter, which send as much together, and two inputs are gathered once more backward, because only a
///   part of them was kept (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2).
/// - Context: keys and values go around a ring, once forward, and backward once more with their gradients (Liu et
///   al. 2023, arXiv 2310.01889, section 3): three times their bytes, less what a GPU has itself.
/// - Pipeline: between two stages the activations of each micro-batch go forward and their gradients back
///   (Narayanan et al. 2021, section 3.2), v times as often under an interleaved schedule (section 2.2.2). With
///   sequence parallelism a GPU has a T-th of them.
/// - Expert: every token goes to its experts and back in each layer that has some, and so do the gradients: four
///   all-to-alls (Lepikhin et al. 2020, arXiv 2006.16668, section 3), of which 1/X stays where it is. The load is
///   taken to be even.
///
/// What recomputation sends again, embeddings, the loss and gradients of weights are not counted.
pub fn crossing(scenario: &Scenario) -> [Crossing; 4] {
    let (model, cluster, recipe) = (&scenario.model, &scenario.cluster, &scenario.recipe);
    let grid = Grid::of(scenario);
    let stages = stages(scenario);
    let most = |of: fn(&crate::stages::StageShare) -> f64| stages.iter().map(of).fold(0.0, f64::max);
    let (layers, expert_layers) = (most(|stage| stage.layers), most(|stage| stage.expert_layers));
    let micro_batches = f64::from(recipe.micro_batches.max(1));
    let (element, residual) = element_bytes(scenario);
    let [t, c, x] = [grid.tensor, grid.context, grid.expert].map(f64::from);
    let others = |size: f64| (size - 1.0) / size;
    let sequence_parallel = cluster.sequence_parallel.is_on() && grid.tensor > 1;
    let split = if sequence_parallel { t } else { 1.0 };

    let tokens = f64::from(recipe.sequence) * f64::from(recipe.batch);
    let stream = tokens / c * f64::from(model.hidden);
    let of_all_reduces = if sequence_parallel { 8.0 + 2.0 } else { 8.0 };
    let tensor = of_all_reduces * others(t) * stream * element;
    // Keys and values of whole sequences, of the heads that a GPU has: one at least.
    let heads = (f64::from(model.kv_heads) / t).max(1.0);
    let width = 2.0 * f64::from(model.head_dim) + f64::from(model.latent.rope_dim);
    let context = 3.0 * others(c) * tokens * heads * width * element;
    let chunks = f64::from(chunks(scenario, grid.pipeline));
    let pipeline = if grid.pipeline > 1 { 2.0 * chunks * stream * residual / split } else { 0.0 };
    let visited = f64::from(model.experts.active.min(model.experts.count));
    let expert = 4.0 * others(x) * visited * stream * element / split;

    let crossing = |group: Group, each: f64, times: f64, bytes: f64| {
        let exchanges = if grid.size(group) > 1 { each * times * micro_batches } else { 0.0 };
        Crossing { group, exchanges, bytes: Bytes::new(bytes * times * micro_batches) }
    };
    [
        crossing(Group::Tensor, if sequence_parallel { 10.0 } else { 4.0 }, layers, tensor),
        crossing(Group::Context, 2.0, layers, context),
        crossing(Group::Pipeline, 2.0 * chunks, 1.0, pipeline),
        crossing(Group::Expert, 4.0, expert_layers, expert),
    ]
}

/// v: chunks of layers on each stage, at most one a layer; 1 without a pipeline.
fn chunks(scenario: &Scenario, stages: u32) -> u32 {
    if stages > 1 { scenario.cluster.virtual_stages.clamp(1, scenario.model.layers.max(1).div_ceil(stages)) } else { 1 }
}

/// The pipeline's bubble of a scenario: as a part of the time in which a stage computes, (P − 1)/(v·m), and as a
/// part of the whole step, which for v = 1 is (P − 1)/(m + P − 1).
pub fn bubble(scenario: &Scenario) -> (f64, f64) {
    let stages = Grid::of(scenario).pipeline;
    let bubble = cost::bubble(stages, chunks(scenario, stages), scenario.recipe.micro_batches);
    (bubble, bubble / (1.0 + bubble))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Precision, Switch, catalogue, stages::stages};

    const MIB: f64 = 1_048_576.0;

    fn bytes(scenario: &Scenario, group: Group) -> f64 {
        let found = crossing(scenario).into_iter().find(|crossing| crossing.group == group);
        found.expect("each is there").bytes.get()
    }

    /// GPT-3's 96 layers of width 12,288 at 2,048 tokens, a sequence at a time, T = 8 and P = 8 (Narayanan et al.
    /// 2021, section 3.2, in bytes of 16 bits).
    fn gpt3() -> Scenario {
        let mut scenario = Scenario::workshop().with_batch(1);
        scenario.model.hidden = 12_288;
        scenario.model.layers = 96;
        scenario.recipe.sequence = 2_048;
        scenario.recipe.micro_batches = 1;
        scenario.recipe.precision = Precision::Bf16;
        scenario.cluster.gpus = 64;
        scenario.cluster.tensor_parallel = 8;
        scenario.cluster.pipeline_parallel = 8;
        scenario
    }

    #[test]
    fn groups_are_those_of_megatrons_own_example() {
        // "16 GPUs, 2 to parallelize the model tensor, 4 to parallelize the model pipeline", from the text of
        // `initialize_model_parallel`: tensor groups [g0, g1], pipeline groups [g0, g4, g8, g12], data groups
        // [g0, g2], …, [g13, g15].
        let grid = Grid { tensor: 2, context: 1, data: 2, pipeline: 4, expert: 1 };
        let numbers = |group, gpu| {
            let members = grid.members(group, gpu);
            (0..members.count).map(|place| members.at(place)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(Group::Tensor, 15), [14, 15]);
        assert_eq!(numbers(Group::Pipeline, 4), [0, 4, 8, 12]);
        assert_eq!(numbers(Group::Pipeline, 15), [3, 7, 11, 15]);
        assert_eq!(numbers(Group::Data, 0), [0, 2]);
        assert_eq!(numbers(Group::Data, 15), [13, 15]);
        assert_eq!((grid.copy(), grid.gpus()), (8, 16));
    }

    #[test]
    fn every_gpu_is_in_one_group_of_each_kind_with_whoever_names_it() {
        let grid = Grid { tensor: 2, context: 3, data: 4, pipeline: 2, expert: 4 };
        for group in [Group::Tensor, Group::Context, Group::Pipeline, Group::Expert, Group::Data] {
            for gpu in 0..grid.gpus() {
                let members = grid.members(group, gpu);
                assert!(members.contains(gpu), "{group:?} {gpu}");
                assert_eq!(members.count, grid.size(group));
                for place in 0..members.count {
                    assert_eq!(grid.members(group, members.at(place)), members, "{group:?} {gpu}");
                }
            }
        }
        assert_eq!(grid.gpu(1, 2, 3, 1), 1 + 2 * (2 + 3 * (3 + 4)));
    }

    #[test]
    fn tensor_groups_of_eight_stay_in_a_server_and_stages_do_not() {
        let grid = Grid { tensor: 8, context: 1, data: 1, pipeline: 8, expert: 1 };
        assert!(grid.inside_a_server(Group::Tensor) && !grid.inside_a_server(Group::Pipeline));
        // The second group of three reaches from GPU 6 to GPU 8.
        assert!(!Grid { tensor: 3, pipeline: 4, ..grid }.inside_a_server(Group::Tensor));
        assert!(Grid { tensor: 2, pipeline: 4, ..grid }.inside_a_server(Group::Pipeline));
    }

    #[test]
    fn tensor_parallelism_sends_eight_bsh_a_layer_but_for_its_own_part() {
        // 12 layers of a stage · 8 · 2,048 · 12,288 elements · 7/8 · 2 bytes = 4,032 MiB.
        assert_eq!(bytes(&gpt3(), Group::Tensor), 4_032.0 * MIB);
        // Sequence parallelism gathers two inputs more: 10 instead of 8.
        let mut divided = gpt3();
        divided.cluster.sequence_parallel = Switch::On;
        assert_eq!(bytes(&divided, Group::Tensor), 5_040.0 * MIB);
    }

    #[test]
    fn a_pipeline_sends_bsh_each_way_for_each_micro_batch_and_chunk() {
        let mut scenario = gpt3();
        // 2,048 · 12,288 elements of 2 bytes are 48 MiB.
        assert_eq!(bytes(&scenario, Group::Pipeline), 96.0 * MIB);
        scenario.recipe.micro_batches = 16;
        scenario.cluster.virtual_stages = 2;
        assert_eq!(bytes(&scenario, Group::Pipeline), 96.0 * MIB * 32.0);
        scenario.cluster.sequence_parallel = Switch::On;
        assert_eq!(bytes(&scenario, Group::Pipeline), 96.0 * MIB * 4.0);
    }

    #[test]
    fn context_parallelism_sends_keys_and_values_three_times_but_for_its_own_part() {
        let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop()).with_batch(1);
        scenario.recipe.sequence = 131_072;
        scenario.recipe.micro_batches = 1;
        scenario.recipe.precision = Precision::Bf16;
        scenario.cluster.gpus = 16;
        scenario.cluster.context_parallel = 16;
        // 8 heads of 128, keys and values, 2 bytes: 4 KiB a token, 512 MiB a layer; 32 layers · 3 · 15/16.
        assert_eq!(bytes(&scenario, Group::Context), 512.0 * MIB * 90.0);
        // Half of the heads on each of two.
        scenario.cluster.gpus = 32;
        scenario.cluster.tensor_parallel = 2;
        assert_eq!(bytes(&scenario, Group::Context), 512.0 * MIB * 45.0);
    }

    #[test]
    fn tokens_go_to_their_experts_and_back_forward_and_backward() {
        let mut scenario = catalogue::model("mixtral-8x7b").expect("listed").apply(Scenario::workshop()).with_batch(1);
        scenario.recipe.sequence = 4_096;
        scenario.recipe.micro_batches = 1;
        scenario.recipe.precision = Precision::Bf16;
        scenario.cluster.gpus = 8;
        scenario.cluster.expert_parallel = 8;
        // 4,096 tokens of 4,096 elements of 2 bytes are 32 MiB, to 2 experts each: 4 · 7/8 · 64 = 224 MiB a layer.
        assert_eq!(bytes(&scenario, Group::Expert), 224.0 * MIB * 32.0);
    }

    #[test]
    fn one_gpu_sends_nothing_to_itself() {
        let alone = Scenario::workshop();
        assert!(crossing(&alone).iter().all(|crossing| crossing.bytes == Bytes::ZERO && crossing.exchanges == 0.0));
        assert_eq!(bubble(&alone), (0.0, 0.0));
    }

    #[test]
    fn the_bubble_is_three_eighths_of_the_computing_and_three_elevenths_of_the_step() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.pipeline_parallel = 4;
        scenario.recipe.micro_batches = 8;
        // (P − 1)/m and (P − 1)/(m + P − 1).
        let (computing, step) = bubble(&scenario);
        assert!((computing - 3.0 / 8.0).abs() < 1e-12 && (step - 3.0 / 11.0).abs() < 1e-12);
        scenario.cluster.virtual_stages = 2;
        assert!((bubble(&scenario).0 - 3.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn stages_divide_the_layers_and_all_weights_and_keep_fewer_micro_batches_one_by_one() {
        let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
        scenario = scenario.with_number(Field::Gpus, 8.0).expect("in range");
        scenario.cluster.pipeline_parallel = 4;
        let stages = stages(&scenario);
        assert!(stages.iter().all(|stage| stage.layers == 8.0));
        assert_eq!(stages.iter().map(|stage| stage.micro_batches).collect::<Vec<_>>(), [4.0, 3.0, 2.0, 1.0]);
        // 8,030,261,248 parameters as published, embedding and head apart.
        assert_eq!(stages.iter().map(|stage| stage.weights).sum::<f64>(), 8_030_261_248.0);
        // The embedding is on the first stage: 128,256 rows of 4,096.
        assert_eq!(stages[0].weights - stages[1].weights, 128_256.0 * 4_096.0);
    }
}
