//! The questions whose answers are the same for everybody, option by option.

use super::super::quoted::{DAO_DRAM_SPEED, GPT_3_BATCH, GPT_3_BATCH_2_7B, LECTURE_LAYERS, ZERO_GPUS, ZERO_PARAMETERS};
use super::{Options, Settled};
use crate::{
    Bucket, Bytes, Method, Optimizer, Precision, Recomputation, Scenario, Switch, ZeroStage, catalogue,
    cost::extra_work, estimate, planner,
};

/// Quantities in this unit, of which `asked` is right.
pub(super) fn quantities(said: [f64; 4], asked: f64, numbers: &[f64]) -> Settled {
    Settled { options: Options::Quantities { said, asked }, numbers: numbers.to_vec() }
}

/// Statements of which one is true.
pub(super) fn one_is_true(holds: [bool; 4], numbers: &[f64]) -> Settled {
    Settled { options: Options::Statements { holds, asked: true }, numbers: numbers.to_vec() }
}

/// The questions whose answers are the same for everybody, in order.
pub fn settled() -> [Settled; 17] {
    [
        sources_of_memory(),
        bucket_that_grows(),
        linear_layer(),
        states_of_seven_billion(),
        gibibytes_as_gigabytes(),
        activations_of_a_layer(),
        doubled_length_with_scores(),
        false_statement_on_recomputation(),
        boundaries_of_gpt3(),
        checkpoints_of_64_layers(),
        smallest_gradient(),
        factored_second_moment(),
        swap_of_a_checkpoint(),
        accumulation_steps(),
        batch_norm_under_accumulation(),
        past_the_critical_batch(),
        second_zero_stage(),
    ]
}

pub(super) const GIB: f64 = 1_073_741_824.0;
pub(super) const MIB: f64 = 1_048_576.0;
pub(super) const GB: f64 = 1e9;

/// The count of the papers, at 16 bits, with dropout, one device.
pub(super) fn paper(change: impl Fn(&mut Scenario)) -> Scenario {
    let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
    scenario.recipe.batch = 1;
    scenario.recipe.dropout = Switch::On;
    scenario.cluster.gpus = 1;
    change(&mut scenario);
    scenario
}

pub(super) fn bucket(scenario: &Scenario, bucket: Bucket) -> f64 {
    estimate(scenario).bucket(bucket).get()
}

/// Parameters, gradients and optimizer state.
pub(super) fn states(scenario: &Scenario) -> f64 {
    [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer].iter().map(|one| bucket(scenario, *one)).sum()
}

/// Bytes of the inputs of all layers at 16 bits, which is all that full recomputation keeps, for a
/// model of the catalogue and a number of tokens.
pub(super) fn boundaries(slug: &str, tokens: u32) -> f64 {
    let row = catalogue::model(slug).unwrap_or(catalogue::DEFAULT_MODEL);
    let scenario = row.apply(paper(|scenario| {
        // Only the product of the two matters; both are inside their ranges.
        scenario.recipe.sequence = 1_000;
        scenario.recipe.batch = tokens / 1_000;
        scenario.recipe.recomputation = Recomputation::Full;
    }));
    bucket(&scenario, Bucket::Activations)
}

/// Tokens of one step (Brown et al. 2020, arXiv 2005.14165, table 2.1): 1 M for 2.7B, 3.2 M for 175B.
pub(super) const TOKENS_2_7B: u32 = (GPT_3_BATCH_2_7B.number() * 1e6) as u32;
pub(super) const TOKENS_175B: u32 = (GPT_3_BATCH.number() * 1e6) as u32;

/// "Only a few kilobytes" (lecture, section 17.1).
pub(super) const TRAINING_CODE: f64 = 10e3;

/// Which is not a main source of memory (lecture, section 17.1).
pub(super) fn sources_of_memory() -> Settled {
    let gpt3 = catalogue::model("gpt-3-175b").unwrap_or(catalogue::DEFAULT_MODEL).apply(paper(|_| ()));
    let weights = bucket(&gpt3, Bucket::Parameters);
    let activations = boundaries("gpt-3-175b", TOKENS_175B);
    // The lecture counts the gradient with the optimizer: three numbers of four bytes a weight.
    let optimizer = 12.0 * gpt3.model.parameters as f64;
    let sizes = [weights, activations, optimizer, TRAINING_CODE];
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let mut numbers = sizes.map(|bytes| bytes / GB).to_vec();
    // The product as the lecture rounds it: 78 GB a layer, 96 layers.
    let layers = f64::from(gpt3.model.layers);
    numbers.extend([
        2.0,
        16.0,
        12.0,
        175.0,
        f64::from(TOKENS_175B) / 1e6,
        layers,
        LECTURE_LAYERS.number(),
        (activations / layers / GB).floor(),
    ]);
    quantities(sizes, least, &numbers)
}

/// Which bucket grows with the batch (workshop).
pub(super) fn bucket_that_grows() -> Settled {
    let (one, two) = (paper(|_| ()), paper(|scenario| scenario.recipe.batch = 2));
    let order = [Bucket::Activations, Bucket::Gradients, Bucket::Optimizer, Bucket::Parameters];
    one_is_true(
        order.map(|kind| bucket(&two, kind) > bucket(&one, kind)),
        &[1.0, 2.0, states(&one) / one.model.parameters as f64],
    )
}

/// A linear layer of 4096 × 4096 in fp32 under Adam, its input at 16 bits with S = 2048 (workshop).
pub(super) fn linear_layer() -> Settled {
    let width = 4_096.0;
    let tokens = 2_048.0;
    let weights = width * width * 4.0;
    let fixed = weights + weights + 2.0 * weights;
    let input = tokens * width * 2.0;
    let (from, to) = (1.0, 8.0);
    let said = [0.0, (to - from) * input, to * input, (to - from) * fixed];
    let numbers = [
        width,
        tokens,
        from,
        to,
        to - from,
        2.0,
        4.0,
        weights / MIB,
        2.0 * weights / MIB,
        fixed / MIB,
        input / MIB,
        32.0,
        16.0,
    ];
    let mut settled = quantities(said, to * input - from * input, &numbers);
    settled.numbers.extend(said.map(|bytes| bytes / MIB));
    settled
}

/// Model states of seven billion parameters in mixed precision (survival kit).
pub(super) fn states_of_seven_billion() -> Settled {
    let scenario = paper(|scenario| scenario.recipe.precision = Precision::Bf16);
    let n = scenario.model.parameters as f64;
    let weights = bucket(&scenario, Bucket::Parameters);
    let gradients = bucket(&scenario, Bucket::Gradients);
    let all = states(&scenario);
    // The third is the number in GiB with the other unit behind it.
    let said = [weights, weights + gradients, all / GIB * GB, all];
    let mut settled =
        quantities(said, all, &[7.0, 10.0, 9.0, 80.0, weights / n, gradients / n, 12.0, all / n, all / GIB]);
    settled.numbers.extend(said.map(|bytes| bytes / GB));
    settled
}

/// What 24,576 MiB are in GB.
pub(super) fn gibibytes_as_gigabytes() -> Settled {
    let mib = catalogue::device("rtx-3090").map_or(0.0, |row| f64::from(row.memory_mib));
    let memory = Bytes::from_mib(mib);
    // Wrong way round, the same figure, a MiB for a MB, right.
    let said = [memory.gib() * GB / GIB * GB, memory.gib() * GB, mib * 1e6, memory.get()];
    let mut settled =
        quantities(said, memory.get(), &[mib, MIB, GIB, memory.gib(), 10.0, 9.0, 6.0, 2.0, 20.0, 30.0, 24.0]);
    settled.numbers.extend(said.map(|bytes| bytes / GB));
    settled
}

/// What one layer keeps by the paper's count, H = 4096, S = 2048, b = 1, attention recomputed.
pub(super) fn activations_of_a_layer() -> Settled {
    let layer = |method, recomputation, layers| {
        let scenario = paper(|scenario| {
            scenario.method = method;
            scenario.recipe.recomputation = recomputation;
            scenario.model.layers = layers;
        });
        bucket(&scenario, Bucket::Activations)
    };
    let one = layer(Method::Paper, Recomputation::Selective, 1);
    let said = [
        layer(Method::Paper, Recomputation::Full, 1),
        one,
        // The workshop multiplies the 34, which are bytes, by the bytes of an element.
        layer(Method::Workshop, Recomputation::Selective, 1),
        layer(Method::Paper, Recomputation::Selective, 32),
    ];
    let mut settled = quantities(said, one, &[34.0, 16.0, 2.0, 2_048.0, 4_096.0, 1.0, 32.0, one, said[3] / GIB]);
    settled.numbers.extend(said.map(|bytes| bytes / MIB));
    settled
}

/// How many times the activations of one sequence grow from 2048 to 4096 tokens while the scores are
/// stored: the workshop's 57 to 194 GiB.
pub(super) fn doubled_length_with_scores() -> Settled {
    let at = |sequence, recomputation| {
        let scenario = paper(|scenario| {
            scenario.recipe.sequence = sequence;
            scenario.recipe.recomputation = recomputation;
        });
        bucket(&scenario, Bucket::Activations)
    };
    let (short, long) = (at(2_048, Recomputation::None), at(4_096, Recomputation::None));
    let (linear, twice) = (at(2_048, Recomputation::Selective), at(4_096, Recomputation::Selective));
    let (scores, four_times) = (short - linear, long - twice);
    let asked = long / short;
    let said = [1.0, twice / linear, asked, four_times / scores];
    let mut numbers = said.to_vec();
    numbers.extend([7.0, 34.0, 5.0, 2_048.0, 4_096.0, 2.0, 4.0, 100.0 * scores / short]);
    numbers.extend([short, long, linear, twice, scores, four_times].map(|bytes| bytes / GIB));
    quantities(said, asked, &numbers)
}

/// Which statement on recomputation is false (lecture, section 17.2).
pub(super) fn false_statement_on_recomputation() -> Settled {
    let at = |recomputation, every| {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = recomputation;
        scenario.recipe.every = every;
        (estimate(&scenario), extra_work(&scenario))
    };
    let (all, work) = at(Recomputation::None, 1);
    let (full, more_work) = at(Recomputation::Full, 1);
    let [two, sixteen] = [2, 16].map(|every| at(Recomputation::EveryK, every).0.peak().bytes);
    let holds = [
        full.peak().bytes < all.peak().bytes,
        full.bucket_at(Bucket::Parameters, 0) < all.bucket_at(Bucket::Parameters, 0),
        two != sixteen,
        full.bucket(Bucket::Activations) < all.bucket(Bucket::Activations) && more_work > work,
    ];
    Settled { options: Options::Statements { holds, asked: false }, numbers: Vec::new() }
}

/// Boundary activations of GPT-3 2.7B at 16 bits (lecture, section 17.3), the units put right.
pub(super) fn boundaries_of_gpt3() -> Settled {
    let all = boundaries("gpt-3-2.7b", TOKENS_2_7B);
    let row = catalogue::model("gpt-3-2.7b").unwrap_or(catalogue::DEFAULT_MODEL);
    let (hidden, layers) = (f64::from(row.model.hidden), f64::from(row.model.layers));
    // Gigabytes with the other unit behind them; four bytes an element; the row of 175B.
    let said = [all, all / GB * GIB, 2.0 * all, boundaries("gpt-3-175b", TOKENS_175B)];
    let mut settled = quantities(
        said,
        all,
        &[
            f64::from(TOKENS_2_7B),
            f64::from(TOKENS_175B) / 1e6,
            16.0,
            30.0,
            10.0,
            6.0,
            9.0,
            2.7,
            175.0,
            2.0,
            4.0,
            hidden,
            layers,
            all / layers / GB,
            all / GB,
        ],
    );
    settled.numbers.extend(said.map(|bytes| bytes / GIB));
    settled
}

/// At what distance of checkpoints 64 equal layers keep least: one boundary for every K layers and K
/// layers while a segment is computed again (lecture, section 12.3).
pub(super) fn checkpoints_of_64_layers() -> Settled {
    let layers = 64.0;
    let kept = |every: f64| layers / every + every;
    let mut best = 1.0;
    for every in (1..=64).map(f64::from) {
        if kept(every) < kept(best) {
            best = every;
        }
    }
    let said = [64.0, 32.0, best, 2.0];
    let mut numbers = said.to_vec();
    numbers.extend(said.map(kept));
    numbers.extend([layers / best, 1.0, layers]);
    quantities(said, best, &numbers)
}

/// A binary floating-point format with subnormal numbers.
pub(super) struct Format {
    fraction_bits: i32,
    /// The exponent of the smallest normal number.
    least_exponent: i32,
    largest: f64,
}

/// IEEE 754 binary16.
pub(super) const FP16: Format = Format { fraction_bits: 10, least_exponent: -14, largest: 65_504.0 };
/// The upper half of an fp32 (Kalamkar et al. 2019, arXiv 1905.12322, section 2).
pub(super) const BF16: Format = Format { fraction_bits: 7, least_exponent: -126, largest: 3.389_531_389_251_535_5e38 };

impl Format {
    /// The smallest number above 0.
    pub(super) fn smallest(&self) -> f64 {
        2_f64.powi(self.least_exponent - self.fraction_bits)
    }

    /// A small number as this format holds it; what is below half of the smallest is 0.
    pub(super) fn holds(&self, value: f64) -> f64 {
        if value.abs() > self.largest {
            return f64::INFINITY;
        }
        let spacing = 2_f64.powi((value.abs().log2().floor() as i32).max(self.least_exponent) - self.fraction_bits);
        (value / spacing).round_ties_even() * spacing
    }
}

/// What fp16 makes of a gradient of 10⁻⁸, and what helps.
pub(super) fn smallest_gradient() -> Settled {
    let (gradient, scale) = (1e-8, 1_024.0);
    let vanishes = FP16.holds(gradient) == 0.0;
    let holds = [
        vanishes && FP16.holds(gradient * scale) > 0.0,
        vanishes && BF16.holds(gradient) == 0.0,
        !vanishes && FP16.fraction_bits > BF16.fraction_bits,
        FP16.holds(gradient).is_infinite(),
    ];
    let mantissa = |value: f64| value / 10_f64.powi(value.log10().floor() as i32);
    let numbers = [
        0.0,
        scale,
        16.0,
        10.0,
        8.0,
        5.0,
        38.0,
        7.0,
        mantissa(FP16.smallest()),
        mantissa(gradient * scale),
        mantissa(2_f64.powi(BF16.least_exponent)),
        mantissa(BF16.largest),
        FP16.largest,
    ];
    one_is_true(holds, &numbers)
}

/// What Adafactor keeps of the second moment of a 4096 × 4096 matrix: one fp32 sum for each row and
/// each column (Shazeer and Stern 2018, arXiv 1804.04235, section 3).
pub(super) fn factored_second_moment() -> Settled {
    let width = 4_096.0;
    let adam = 2.0 * width * width * 4.0;
    let sums = (width + width) * 4.0;
    let said = [0.0, sums, adam / 2.0, adam];
    let numbers = [0.0, width, 2.0 * width, 4.0, 2.0, sums / 1_024.0, adam / 2.0 / MIB, adam / MIB, adam / sums];
    quantities(said, sums, &numbers)
}

/// How long the GPU waits for one boundary of GPT-3 2.7B over the lecture's DRAM, 12.8 GB/s, behind
/// 0.25 s of computing.
pub(super) fn swap_of_a_checkpoint() -> Settled {
    let row = catalogue::model("gpt-3-2.7b").unwrap_or(catalogue::DEFAULT_MODEL);
    let tensor = boundaries("gpt-3-2.7b", TOKENS_2_7B) / f64::from(row.model.layers);
    let (swap, compute) = (tensor / (DAO_DRAM_SPEED.number() * 1e9), 0.25);
    let said = [0.0, swap - compute, swap, swap + compute];
    let mut numbers = said.to_vec();
    numbers.extend([tensor / GB, DAO_DRAM_SPEED.number(), compute]);
    quantities(said, (swap - compute).max(0.0), &numbers)
}

/// Steps that make 256 sequences out of 4 on each of 8 GPUs (workshop).
pub(super) fn accumulation_steps() -> Settled {
    let (target, gpus, batch) = (256, 8, 4);
    let steps = planner::plan(target, gpus, batch).preferred().steps;
    let said = [steps, target / gpus, target / batch, target].map(f64::from);
    let mut numbers = said.to_vec();
    numbers.extend([target, gpus, batch, batch * gpus].map(f64::from));
    quantities(said, f64::from(steps), &numbers)
}

/// Whether 32 micro-batches of 8 are a batch of 256 to a network with batch normalization (Ioffe and
/// Szegedy 2015, arXiv 1502.03167, algorithm 1), on a small example: four samples, two at a time.
pub(super) fn batch_norm_under_accumulation() -> Settled {
    let samples = [1.0, 2.0, 4.0, 9.0];
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let normalized = |sample: f64, among: &[f64]| {
        let center = mean(among);
        let variance = among.iter().map(|value| (value - center) * (value - center)).sum::<f64>() / among.len() as f64;
        (sample - center) / variance.sqrt()
    };
    let (first, second) = samples.split_at(2);
    // Gradients are averages, and averages of equal parts add up; statistics do not.
    let gradients_add_up = mean(&[mean(first), mean(second)]) == mean(&samples);
    let same_statistics = normalized(samples[0], first) == normalized(samples[0], &samples);
    let holds =
        [gradients_add_up && same_statistics, same_statistics, !gradients_add_up, gradients_add_up && !same_statistics];
    one_is_true(holds, &[8.0, 32.0, 256.0, 16.0])
}

/// By how much the number of steps falls from 4096 to 8192 sequences at a critical batch of 2048:
/// steps are S_min·(1 + B_crit / B) (McCandlish et al. 2018, arXiv 1812.06162, section 2.3).
pub(super) fn past_the_critical_batch() -> Settled {
    let critical = 2_048.0;
    let steps = |batch: f64| 1.0 + critical / batch;
    let examples = |batch: f64| batch * steps(batch);
    let (from, to) = (4_096.0, 8_192.0);
    let fewer = |now: f64, then: f64| 100.0 * (1.0 - then / now);
    let asked = fewer(steps(from), steps(to));
    // Halved, as far below the critical batch; as far as it can fall at all; not at all.
    let said = [50.0, fewer(steps(from), 1.0), asked, 0.0];
    let mut numbers = said.to_vec();
    numbers.extend([critical, from, to, 1.0, steps(from), steps(to), 100.0 * (examples(to) / examples(from) - 1.0)]);
    quantities(said, asked, &numbers)
}

/// Model states on each of 64 GPUs at ZeRO stage 2, with the 7.5 billion parameters of the paper's
/// figure 1 (Rajbhandari et al. 2020).
pub(super) fn second_zero_stage() -> Settled {
    let at = |zero| {
        states(&paper(|scenario| {
            scenario.model.parameters = (ZERO_PARAMETERS.number() * 1e9) as u64;
            scenario.cluster.gpus = ZERO_GPUS.number() as u32;
            scenario.cluster.zero = zero;
            scenario.recipe.optimizer = Optimizer::AdamW;
        }))
    };
    let said = [ZeroStage::Stage3, ZeroStage::Stage2, ZeroStage::Stage1, ZeroStage::Stage0].map(at);
    let mut settled = quantities(
        said,
        at(ZeroStage::Stage2),
        &[7.5, 10.0, 9.0, 64.0, 1.0, 2.0, 3.0, 12.0, 14.0, 16.0, 15.0, 14.0 * 7.5 / 64.0],
    );
    settled.numbers.extend(said.map(|bytes| bytes / GB));
    settled
}
