//! Which tensors can be swapped to the CPU and back without a wait.
//!
//! Swapping is free while the copy of a tensor takes no longer than the computing it hides behind:
//! T_swap = bytes / bandwidth ≤ T_compute (the runtime lecture, section 15.2). All here is about one
//! layer, because that is the rhythm in which tensors come and go: in a long row of layers a copy that
//! takes longer than a layer's pass makes every layer wait for the difference.

use super::quoted::{DAO_DRAM_SPEED, DAO_HBM_SIZE, DAO_HBM_SPEED, DAO_SRAM_SIZE, DAO_SRAM_SPEED};
use crate::{
    AttentionKernel, Bucket, Bytes, Estimate, Method, Offload, Recomputation, Scenario, catalogue, cost::Work, estimate,
};

/// One level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// Bytes per second.
    pub bandwidth: f64,
    /// Bytes it holds.
    pub capacity: f64,
}

/// The lecture's table (section 15): the SRAM of a GPU, its HBM and the DRAM of the host. It is figure 1
/// of Dao et al. 2022 (FlashAttention, arXiv 2205.14135), for an A100 of 40 GB. 12.8 GB/s are one channel
/// of DDR4-1600: 8 bytes, 1.6·10⁹ times a second.
pub const TIERS: [Tier; 3] = [
    Tier { bandwidth: DAO_SRAM_SPEED.number() * 1e12, capacity: DAO_SRAM_SIZE.number() * 1e6 },
    Tier { bandwidth: DAO_HBM_SPEED.number() * 1e12, capacity: DAO_HBM_SIZE.number() * 1e9 },
    Tier { bandwidth: DAO_DRAM_SPEED.number() * 1e9, capacity: 1e12 },
];

/// What may be swapped, of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// The layer's input, which is all that full recomputation keeps.
    Input,
    /// All that the layer keeps when nothing is computed again.
    Kept,
    /// The part of it inside the feed-forward block or the experts.
    FeedForward,
    /// The part of it that grows with S²; nothing under flash attention.
    Scores,
    /// The weights.
    Weights,
    /// Their gradients.
    Gradients,
    /// Moments and master copy, for an update on the GPU.
    Optimizer,
}

impl Swapped {
    /// Every kind, in the order of the table.
    pub const ALL: [Self; 7] =
        [Self::Input, Self::Kept, Self::FeedForward, Self::Scores, Self::Weights, Self::Gradients, Self::Optimizer];

    /// Whether it crosses to the host and from the host, forward and then backward.
    const fn moves(self) -> [Moves; 2] {
        match self {
            // Kept going forward, needed going backward.
            Self::Input | Self::Kept | Self::FeedForward | Self::Scores => {
                [Moves { out: true, back: false }, Moves { out: false, back: true }]
            }
            // The host's copy stays valid, so that weights only ever come.
            Self::Weights => [Moves { out: false, back: true }; 2],
            Self::Gradients => [Moves::NONE, Moves { out: true, back: false }],
            // Fetched for the update that follows a layer's gradient, and written back.
            Self::Optimizer => [Moves::NONE, Moves { out: true, back: true }],
        }
    }
}

/// Which ways a tensor crosses the link during one pass of its layer.
#[derive(Clone, Copy)]
struct Moves {
    out: bool,
    back: bool,
}

impl Moves {
    const NONE: Self = Self { out: false, back: false };
}

/// One layer and one micro-batch on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Seconds of its forward pass.
    pub forward: f64,
    /// Seconds of its backward pass, with what is computed again.
    pub backward: f64,
    /// Floating-point operations per second that both are worked out with.
    pub flops_per_second: f64,
    /// Sizes in the order of [`Swapped::ALL`].
    sizes: [Bytes; 7],
}

/// The swap of one tensor over one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swap {
    /// Its size.
    pub bytes: Bytes,
    /// T_swap: seconds on the link, one way.
    pub copy: f64,
    /// T_compute: seconds of the shortest pass that the copy has to hide behind.
    pub hidden_by: f64,
    /// Seconds for which the GPU waits at each layer, forward and backward together.
    pub wait: f64,
    /// That as a part of the layer's forward and backward pass.
    pub slowdown: f64,
    /// Floating-point operations of the pass for each byte that moves; infinite when nothing does.
    pub flops_per_byte: f64,
}

impl Layer {
    /// One layer of a scenario, by the ledger: what the model has more with one layer more.
    ///
    /// Sizes are those on one GPU, so that sharded states are a GPU's share of them. Times are operations
    /// over the speed that training reaches ([`crate::cost::Speed::UTILIZATION`] of the device's peak); the
    /// backward pass has what is computed again, too ([`Work`]).
    ///
    /// ```
    /// use bmax::Scenario;
    /// use bmax::course::swapping::{Layer, Swapped};
    /// // 3 sequences of 2,048 tokens, H = 4,096, 2 bytes: 48 MiB.
    /// assert_eq!(Layer::of(&Scenario::workshop()).size(Swapped::Input).mib(), 48.0);
    /// ```
    pub fn of(scenario: &Scenario) -> Self {
        // What a task has beside the step is none of a layer's.
        let mut own = scenario.without_task();
        own.method = Method::Ledger;
        own.recipe.offload = Offload::None;
        own.recipe.recomputation = Recomputation::None;
        // Gradients that are added up are there at every instant.
        own.recipe.micro_batches = own.recipe.micro_batches.max(2);
        // Stages divide the layers and leave each as it is.
        own.cluster.gpus /= own.cluster.pipeline_parallel.max(1);
        own.cluster.pipeline_parallel = 1;
        let mut longer = own;
        longer.model.layers = longer.model.layers.saturating_add(1);
        let (shorter, longer_kept) = (estimate(&own), estimate(&longer));
        let grown = |of: fn(&Estimate) -> f64| Bytes::new((of(&longer_kept) - of(&shorter)).max(0.0));
        let [mut inputs, mut longer_inputs] = [own, longer];
        inputs.recipe.recomputation = Recomputation::Full;
        longer_inputs.recipe.recomputation = Recomputation::Full;
        let input =
            bucket(&estimate(&longer_inputs), Bucket::Activations) - bucket(&estimate(&inputs), Bucket::Activations);

        let flops_per_second = catalogue::speed(scenario).flops_per_second;
        let recipe = &scenario.recipe;
        let tokens = f64::from(own.recipe.batch) * f64::from(recipe.sequence);
        let group = f64::from(scenario.cluster.tensor_parallel) * f64::from(scenario.cluster.context_parallel);
        let [shorter_work, longer_work] = [own, longer].map(|mut with| {
            with.recipe.recomputation = recipe.recomputation;
            Work::of(&with)
        });
        let seconds =
            |of: fn(&Work) -> f64| (of(&longer_work) - of(&shorter_work)) * tokens / group.max(1.0) / flops_per_second;
        Self {
            forward: seconds(|work| work.forward),
            backward: seconds(|work| work.backward + work.again),
            flops_per_second,
            sizes: [
                Bytes::new(input),
                grown(|estimate| bucket(estimate, Bucket::Activations)),
                grown(|estimate| named(estimate, "Inside the")),
                if recipe.attention == AttentionKernel::Flash {
                    Bytes::ZERO
                } else {
                    grown(|estimate| named(estimate, "Softmax"))
                },
                grown(|estimate| bucket(estimate, Bucket::Parameters)),
                grown(|estimate| bucket(estimate, Bucket::Gradients)),
                grown(|estimate| bucket(estimate, Bucket::Optimizer)),
            ],
        }
    }

    /// The size of what may be swapped.
    pub fn size(&self, what: Swapped) -> Bytes {
        self.sizes[what as usize]
    }

    /// Seconds of the forward and the backward pass.
    pub fn seconds(&self) -> f64 {
        self.forward + self.backward
    }

    /// Swaps one tensor of every layer over a link of this bandwidth, in bytes per second each way.
    ///
    /// ```
    /// use bmax::Scenario;
    /// use bmax::course::swapping::{Layer, Swapped};
    /// let layer = Layer::of(&Scenario::workshop());
    /// // Layer inputs go for free over PCIe 4.0, all that a layer keeps does not.
    /// assert_eq!(layer.swap(Swapped::Input, 31.5e9).wait, 0.0);
    /// assert!(layer.swap(Swapped::Kept, 31.5e9).wait > 0.0);
    /// ```
    pub fn swap(&self, what: Swapped, bytes_per_second: f64) -> Swap {
        let bytes = self.size(what);
        let copy = bytes.get() / bytes_per_second;
        let [forward, backward] = what.moves();
        let moving = |moves: Moves| moves.out || moves.back;
        let hidden_by = if moving(forward) { self.forward } else { self.backward };
        // Both ways run at once, so that a pass waits for one copy at most.
        let late = |moves, pass: f64| if moving(moves) { (copy - pass).max(0.0) } else { 0.0 };
        let wait = late(forward, self.forward) + late(backward, self.backward);
        Swap {
            bytes,
            copy,
            hidden_by,
            wait,
            slowdown: wait / self.seconds(),
            flops_per_byte: hidden_by * self.flops_per_second / bytes.get(),
        }
    }

    /// What happens when: `layers` layers run forward and backward while one tensor of each is swapped.
    ///
    /// Two tensors find room on the GPU at a time: one in use, one on its way. What the last two layers
    /// keep is still there when the backward pass begins. Before the first of the layers nothing runs that
    /// a copy could hide behind, so a row this short waits a little longer at its ends than [`Self::swap`]
    /// says.
    pub fn schedule(&self, what: Swapped, bytes_per_second: f64, layers: usize) -> Schedule {
        let copy = self.size(what).get() / bytes_per_second;
        let moves = what.moves();
        // Gradients and optimizer state are not there before the backward pass, weights are used twice.
        let stays = moves[0].out || moves[0].back;
        let mut blocks = Vec::with_capacity(4 * layers);
        let (mut now, mut out_free, mut back_free) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut released: Vec<f64> = Vec::with_capacity(2 * layers);
        let mut on_host = vec![0.0_f64; layers];
        for task in 0..2 * layers {
            let backward = task >= layers;
            let layer = if backward { 2 * layers - 1 - task } else { task };
            let moves = moves[usize::from(backward)];
            // The room of the tensor before the last one is free again from here on.
            let room = if task < 2 { 0.0 } else { released[task - 2] };
            let is_there = stays && backward && task < layers + 2;
            let mut start = now;
            if moves.back && !is_there && copy > 0.0 {
                let begin = back_free.max(room).max(on_host[layer]);
                back_free = begin + copy;
                blocks.push(Block { lane: Lane::FromHost, layer, start: begin, end: back_free });
                start = start.max(back_free);
            } else if moves.out {
                start = start.max(room);
            }
            now = start + if backward { self.backward } else { self.forward };
            blocks.push(Block { lane: Lane::Compute, layer, start, end: now });
            let leaves = moves.out && copy > 0.0 && (backward || layer + 2 < layers);
            if leaves {
                let begin = out_free.max(now);
                out_free = begin + copy;
                on_host[layer] = out_free;
                blocks.push(Block { lane: Lane::ToHost, layer, start: begin, end: out_free });
            }
            released.push(if leaves { out_free } else { now });
        }
        Schedule { blocks, computing: self.seconds() * layers as f64, seconds: now }
    }
}

fn bucket(estimate: &Estimate, bucket: Bucket) -> f64 {
    // At the loss, the first instant, all that the forward pass keeps is there.
    estimate.bucket_at(bucket, 0).get()
}

fn named(estimate: &Estimate, start: &str) -> f64 {
    let alive = estimate.entries.iter().filter(|entry| entry.alive.contains(0) && entry.name.starts_with(start));
    alive.map(|entry| entry.bytes.get()).sum()
}

/// What does the work of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The GPU's computing stream.
    Compute,
    /// Copies from the GPU to the host.
    ToHost,
    /// Copies from the host to the GPU.
    FromHost,
}

/// One pass or one copy of one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// What does it.
    pub lane: Lane,
    /// The layer, from 0.
    pub layer: usize,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// A row of layers forward and backward, with its copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Passes and copies, in the order in which they are issued.
    pub blocks: Vec<Block>,
    /// Seconds of computing.
    pub computing: f64,
    /// When the last pass ends, in seconds.
    pub seconds: f64,
}

impl Schedule {
    /// Seconds in which the GPU computes nothing.
    pub fn waiting(&self) -> f64 {
        (self.seconds - self.computing).max(0.0)
    }
}

/// Floating-point operations that a device does while one byte crosses a link: what a tensor has to be
/// worth, byte by byte, to be swapped for free.
pub fn break_even(flops_per_second: f64, bytes_per_second: f64) -> f64 {
    flops_per_second / bytes_per_second
}

/// Where a value stands on a logarithmic scale, from 0 to 1.
pub fn place(value: f64, from: f64, to: f64) -> f64 {
    ((value / from).ln() / (to / from).ln()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ZeroStage, catalogue};

    const PCIE4: f64 = 31.5e9;

    fn preset(slug: &str) -> Scenario {
        catalogue::model(slug).expect("listed").apply(Scenario::workshop())
    }

    #[test]
    fn the_batch_cancels_for_activations_and_decides_for_weights() {
        let scenario = preset("7b");
        let [one, eight] = [1, 8].map(|batch| Layer::of(&scenario.with_batch(batch)));
        for what in [Swapped::Input, Swapped::Kept, Swapped::FeedForward] {
            let [one, eight] = [one, eight].map(|layer| layer.swap(what, PCIE4).flops_per_byte);
            assert!((one / eight - 1.0).abs() < 1e-9, "{what:?}");
        }
        for what in [Swapped::Weights, Swapped::Gradients, Swapped::Optimizer] {
            let [one, eight] = [one, eight].map(|layer| layer.swap(what, PCIE4).flops_per_byte);
            assert!((eight / one - 8.0).abs() < 1e-9, "{what:?}");
        }
    }

    #[test]
    fn a_checkpoint_is_worth_12_h_and_2_s_operations_a_byte() {
        // 24·H² + 4·H·S operations a token forward, 2·H bytes.
        let scenario = preset("7b");
        let layer = Layer::of(&scenario);
        let expected = 12.0 * 4_096.0 + 2.0 * 2_048.0;
        let found = layer.swap(Swapped::Input, PCIE4).flops_per_byte;
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn a_swap_is_free_exactly_where_its_tensor_is_worth_the_break_even() {
        for slug in ["1b", "7b", "70b"] {
            for batch in [1, 4, 64] {
                let layer = Layer::of(&preset(slug).with_batch(batch));
                for bandwidth in [12.8e9, 31.5e9, 450e9] {
                    for what in Swapped::ALL {
                        let swap = layer.swap(what, bandwidth);
                        let worth = swap.flops_per_byte >= break_even(layer.flops_per_second, bandwidth);
                        assert_eq!(swap.wait == 0.0, worth, "{slug} {batch} {bandwidth} {what:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_of_a_layer_are_those_of_the_ledger_over_its_layers() {
        let mut scenario = preset("7b");
        scenario.cluster.zero = ZeroStage::Stage0;
        let layer = Layer::of(&scenario);
        // 12·H² + 13·H weights, 2 bytes; gradients too; master and moments 12.
        let weights = 12.0 * 4_096.0_f64.powi(2) + 13.0 * 4_096.0;
        for (what, bytes) in [(Swapped::Weights, 2.0), (Swapped::Gradients, 2.0), (Swapped::Optimizer, 12.0)] {
            let found = layer.size(what).get();
            assert!((found / (bytes * weights) - 1.0).abs() < 1e-3, "{what:?} {found}");
        }
        assert!(layer.size(Swapped::FeedForward) < layer.size(Swapped::Kept));
        assert_eq!(layer.size(Swapped::Scores), Bytes::ZERO);
        scenario.recipe.attention = AttentionKernel::Eager;
        let eager = Layer::of(&scenario);
        assert!(eager.size(Swapped::Scores) > eager.size(Swapped::FeedForward));
    }

    #[test]
    fn a_pipeline_leaves_each_layer_as_it_is() {
        let scenario = preset("7b");
        let mut staged = scenario;
        staged.cluster.gpus = 16;
        staged.cluster.pipeline_parallel = 2;
        assert_eq!(Layer::of(&staged), Layer::of(&scenario));
    }

    #[test]
    fn a_lane_does_one_thing_at_a_time_and_copies_wait_for_their_layers() {
        let layer = Layer::of(&preset("7b"));
        for what in Swapped::ALL {
            for bandwidth in [1e9, 12.8e9, 450e9] {
                let schedule = layer.schedule(what, bandwidth, 6);
                for lane in [Lane::Compute, Lane::ToHost, Lane::FromHost] {
                    let mut before = 0.0;
                    for block in schedule.blocks.iter().filter(|block| block.lane == lane) {
                        assert!(block.start >= before && block.end >= block.start, "{what:?} {block:?}");
                        before = block.end;
                    }
                }
                for copy in schedule.blocks.iter().filter(|block| block.lane == Lane::ToHost) {
                    let made = |block: &&Block| {
                        block.lane == Lane::Compute && block.layer == copy.layer && block.end <= copy.start
                    };
                    assert!(schedule.blocks.iter().any(|block| made(&block)), "{what:?}");
                }
                assert!(schedule.seconds >= schedule.computing * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn a_schedule_waits_where_its_swap_does() {
        let layer = Layer::of(&preset("7b"));
        assert!(layer.schedule(Swapped::Input, PCIE4, 6).waiting() < 1e-9);
        let kept = layer.swap(Swapped::Kept, PCIE4);
        // Four of six layers are swapped, the last two stay.
        let waiting = layer.schedule(Swapped::Kept, PCIE4, 6).waiting();
        assert!(waiting > kept.wait && waiting < 6.0 * (kept.wait + kept.copy), "{waiting} {}", kept.wait);
        // A long row waits as often as it has layers.
        let long = layer.schedule(Swapped::Kept, PCIE4, 200).waiting() / 200.0;
        assert!((long / kept.wait - 1.0).abs() < 0.1, "{long} {}", kept.wait);
    }

    #[test]
    fn the_scale_is_logarithmic_and_ends_at_its_ends() {
        assert!((place(1e10, 1e9, 1e11) - 0.5).abs() < 1e-12);
        assert_eq!((place(1.0, 1e9, 1e11), place(1e15, 1e9, 1e11)), (0.0, 1.0));
    }
}
