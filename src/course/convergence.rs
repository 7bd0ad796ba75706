//! Steps and examples to a target against the batch size, the learning rate that goes with it, and the
//! throughput of one device.
//!
//! Batches are counted in examples: images, or sequences. A critical batch that is given in tokens is
//! divided by the length of a sequence before it comes here ([`in_examples`]).

use super::quoted::{
    GOYAL_EPOCHS, GOYAL_FIRST_FALL, GOYAL_SECOND_FALL, GOYAL_THIRD_FALL, GOYAL_WARM_UP, KAPLAN_EXPONENT, KAPLAN_SCALE,
};
use crate::catalogue;
use crate::{
    Adapter, Precision, Scenario, Weights,
    cost::{Speed, Work},
};

/// Optimizer steps to a target loss at this batch, as a multiple of the fewest there can be: above 1.
///
/// S = S_min · (1 + B_crit / B) (McCandlish et al. 2018, arXiv 1812.06162, section 2.3: the hyperbola
/// (S/S_min − 1) · (E/E_min − 1) = 1 with B = E/S and B_crit = E_min/S_min).
///
/// ```
/// use bmax::course::convergence::{examples, steps};
/// assert_eq!((steps(256.0, 256.0), examples(256.0, 256.0)), (2.0, 2.0));
/// ```
pub fn steps(batch: f64, critical: f64) -> f64 {
    1.0 + ratio(critical, batch)
}

/// Examples processed until then, as a multiple of the fewest there can be: E = E_min · (1 + B / B_crit),
/// from the same hyperbola.
pub fn examples(batch: f64, critical: f64) -> f64 {
    1.0 + ratio(batch, critical)
}

/// What twice the batch leaves of the steps: a half for a batch far below the critical one, nearly 1
/// far above it, and never either of them.
pub fn doubled(batch: f64, critical: f64) -> f64 {
    steps(2.0 * batch, critical) / steps(batch, critical)
}

/// A critical batch in examples, when it may have been counted in tokens.
pub fn in_examples(critical: f64, tokens: bool, sequence: u32) -> f64 {
    if tokens { critical / f64::from(sequence.max(1)) } else { critical }
}

/// The critical batch of a language model in tokens, at a loss in nats a token: B* / L^(1/α_B), whatever its size (Kaplan
/// et al. 2020, arXiv 2001.08361, equation 5.3).
///
/// ```
/// use bmax::course::convergence::critical_tokens;
/// // 1.1 million at a loss of 3, and twice as much for every 13 % less (section 5.1).
/// assert_eq!((critical_tokens(3.0) / 1e5).round(), 11.0);
/// assert!((critical_tokens(0.87 * 3.0) / critical_tokens(3.0) - 2.0).abs() < 0.1);
/// ```
pub fn critical_tokens(loss: f64) -> f64 {
    KAPLAN_SCALE.number() * 1e6 / loss.powf(1.0 / KAPLAN_EXPONENT.number())
}

/// A quotient of positive numbers; neither zero nor infinity come out.
fn ratio(over: f64, under: f64) -> f64 {
    (over / under.max(1e-9)).clamp(1e-12, 1e12)
}

/// Learning rates for a batch `times` larger than the one for which `rate` was tuned: the lower and the
/// higher of rate · √k and rate · k.
///
/// √k keeps the variance of an update (Krizhevsky 2014, arXiv 1404.5997, section 3.2) and is the rule for
/// Adam's kind (Malladi et al. 2022, arXiv 2205.10287); k keeps its expected size, for SGD (Goyal et al.
/// 2017, arXiv 1706.02677, section 2.1).
///
/// ```
/// use bmax::course::convergence::rates;
/// // Goyal et al.: 0.1 at 256 images becomes 3.2 at 8,192.
/// assert_eq!(rates(0.1, 32.0).1, 3.2);
/// ```
pub fn rates(rate: f64, times: f64) -> (f64, f64) {
    let root = times.max(0.0).sqrt();
    let (low, high) = if root < 1.0 { (times, root) } else { (root, times) };
    (rate * low, rate * high)
}

/// Epochs over which the rate climbs from `rate` to its scaled value, and where it falls to a tenth, of
/// 90 in all (Goyal et al. 2017, sections 2.2 and 5.1).
pub const WARM_UP_EPOCHS: f64 = GOYAL_WARM_UP.number();
/// The falls of the schedule.
pub const DECAY_EPOCHS: [f64; 3] = [GOYAL_FIRST_FALL.number(), GOYAL_SECOND_FALL.number(), GOYAL_THIRD_FALL.number()];
/// The whole of it.
pub const EPOCHS: f64 = GOYAL_EPOCHS.number();

/// The learning rate at a moment of the schedule of Goyal et al., in epochs: a straight climb from `rate`
/// to `scaled`, then `scaled`, a tenth of it, a hundredth, a thousandth.
pub fn scheduled(rate: f64, scaled: f64, epoch: f64) -> f64 {
    if epoch < WARM_UP_EPOCHS {
        return rate + (scaled - rate) * (epoch / WARM_UP_EPOCHS).max(0.0);
    }
    DECAY_EPOCHS.iter().filter(|decay| epoch >= **decay).fold(scaled, |rate, _| rate / 10.0)
}

/// How a device computes on micro-batches: what it could do if nothing had to be read, and how many
/// tokens a micro-batch needs before computing takes longer than reading the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Tokens per second when computing limits, per device: the roof.
    pub most: f64,
    /// Tokens of a micro-batch at which reading the weights takes as long as computing: the ridge.
    pub ridge: f64,
}

impl Roofline {
    /// The roofline of the scenario's model on one device (Williams, Waterman and Patterson 2009,
    /// "Roofline: an insightful visual performance model", CACM 52(4)).
    ///
    /// Weights cross the memory bus three times in a micro-batch, however large it is: read forward, read
    /// backward, their gradients written; frozen ones twice. Of tables that are only looked up a few rows
    /// are read, which are not counted. Recomputation adds a reading and the work of a forward pass, which
    /// leaves the ridge where it is. What grows with the tokens, activations above all, is not counted,
    /// and neither is what a device waits for others. Both roofs are taken at the part of the data sheet
    /// that training reaches, [`Speed::UTILIZATION`], which leaves the ridge where it is, too.
    pub fn of(scenario: &Scenario) -> Self {
        let speed = catalogue::speed(scenario);
        let work = Work::of(scenario);
        let passes = if frozen(scenario) { 2.0 } else { 3.0 };
        let weights = Weights::of(&scenario.model);
        // An input embedding that is no head is looked up; it has as many weights as the head beside it.
        let read = (weights.total() - weights.positions - weights.head) as f64 * bytes_per_weight(scenario);
        let read = read * passes / (catalogue::memory_bandwidth(scenario) * Speed::UTILIZATION);
        Self {
            most: speed.flops_per_second / (work.once() + work.again),
            ridge: read * speed.flops_per_second / work.once(),
        }
    }

    /// Tokens per second at a micro-batch of this many tokens: when computing takes longer than reading
    /// completely, and when they wait for each other. The truth lies between.
    pub fn throughput(&self, tokens: f64) -> (f64, f64) {
        let (hidden, waiting) = (tokens.max(self.ridge), tokens + self.ridge);
        (self.most * tokens / waiting, self.most * tokens / hidden)
    }
}

fn frozen(scenario: &Scenario) -> bool {
    scenario.recipe.adapter != Adapter::None
}

/// What a product reads of a weight.
fn bytes_per_weight(scenario: &Scenario) -> f64 {
    if scenario.recipe.precision == Precision::Fp32 { 4.0 } else { 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::cost;

    #[test]
    fn steps_fall_and_examples_rise_with_the_batch_and_meet_at_the_critical_one() {
        let critical = 2_048.0;
        let mut before = (f64::INFINITY, 0.0);
        for batch in [1.0, 64.0, 2_048.0, 65_536.0, 1e9] {
            let now = (steps(batch, critical), examples(batch, critical));
            assert!(now.0 < before.0 && now.1 > before.1 && now.0 > 1.0 && now.1 > 1.0);
            assert!(((now.0 - 1.0) * (now.1 - 1.0) - 1.0).abs() < 1e-9, "the hyperbola");
            before = now;
        }
    }

    #[test]
    fn doubling_never_quite_halves_the_steps_and_never_quite_stops_helping() {
        for batch in [0.01, 1.0, 256.0, 1e6] {
            let left = doubled(batch, 256.0);
            assert!(left > 0.5 && left < 1.0, "{left}");
        }
        assert!((doubled(256.0, 256.0) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn no_number_leaves_the_formulas_infinite() {
        for batch in [0.0, f64::MIN_POSITIVE, 1e300, f64::INFINITY] {
            for critical in [0.0, 1e300] {
                assert!(steps(batch, critical).is_finite() && examples(batch, critical).is_finite());
            }
        }
    }

    #[test]
    fn a_smaller_batch_turns_the_band_of_rates_around() {
        assert_eq!(rates(1.0, 4.0), (2.0, 4.0));
        assert_eq!(rates(1.0, 0.25), (0.25, 0.5));
        assert_eq!(rates(1.0, 1.0), (1.0, 1.0));
    }

    #[test]
    fn the_schedule_climbs_holds_and_falls_by_tens() {
        let at = |epoch| scheduled(0.1, 3.2, epoch);
        assert_eq!((at(0.0), at(5.0), at(29.9)), (0.1, 3.2, 3.2));
        assert!((at(2.5) - 1.65).abs() < 1e-12);
        assert!((at(30.0) - 0.32).abs() < 1e-12 && (at(89.0) - 0.0032).abs() < 1e-12);
    }

    #[test]
    fn at_the_ridge_the_device_does_half_to_all_it_can() {
        let roofline = Roofline::of(&Scenario::workshop());
        let (waiting, hidden) = roofline.throughput(roofline.ridge);
        assert!((waiting / roofline.most - 0.5).abs() < 1e-9 && (hidden / roofline.most - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_ridge_of_a_dense_model_in_16_bits_is_about_the_device_s_own() {
        // 2 bytes a weight three times over are 6; so are the operations of a token and weight. What is
        // left is the ridge of the device, 312 TFLOP/s over 2,039 GB/s, and the attention, which has no weights.
        let ridge = Roofline::of(&Scenario::workshop()).ridge;
        assert!(ridge < 312e12 / 2_039e9 && ridge > 0.8 * 312e12 / 2_039e9, "{ridge}");
    }

    #[test]
    fn the_roof_is_what_a_step_takes() {
        let scenario = Scenario::workshop().with_batch(3);
        let seconds = cost(&scenario, 1, catalogue::speed(&scenario)).compute_seconds;
        let roofline = Roofline::of(&scenario);
        assert!((roofline.most * seconds - 3.0 * 2_048.0).abs() < 1e-6);
    }
}
