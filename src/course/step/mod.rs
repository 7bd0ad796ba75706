//! Memory over the time of two training steps.
//!
//! The ledger knows what is alive at the named instants of a step. Here they are put in the order in
//! which a training loop passes them, twice, with what lies between drawn in: layers fill one after
//! another on the way forward and empty on the way back, and a layer that is computed again comes and
//! goes. At every named instant the curve is the ledger's own number, and between two of them it never
//! rises above the higher one, so that its maximum is the peak of the estimate.
//!
//! The first step differs in one thing. PyTorch's optimizers make their state when they first use it
//! (`torch/optim/adam.py`, `_init_group`: `exp_avg` and `exp_avg_sq` are allocated while a parameter has
//! no state), so that the moments are missing until the first update. Master weights are copied from the
//! model when the optimizer is made and are there from the beginning.

mod paced;

pub use paced::{Named, Paced, Pass, UPDATE_ROOM};

use crate::{Bucket, Bytes, Entry, Estimate, Instant, Method, Recomputation, Scenario, TaskKind, estimate};

/// Parts into which a step is divided on the time axis. The axis shows the order of things and not
/// seconds, so that the same instant stands at the same place whatever is chosen.
pub const PARTS: u32 = 200;

/// Micro-batches of a step that are drawn; more of them repeat the last.
pub const MOST_DRAWN: u32 = 4;

/// Parts of a step that the optimizer is given, after all micro-batches.
const UPDATE: u32 = 20;

/// Coming and going layers of one step that are drawn one by one; in a deeper model one stands for
/// several.
const MOST_TEETH: u32 = 40;

/// Bytes of each bucket at one moment, in the order of [`Bucket::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held([f64; Bucket::ALL.len()]);

impl Held {
    /// One bucket.
    pub fn of(&self, bucket: Bucket) -> Bytes {
        Bytes::new(self.0[bucket as usize])
    }

    /// All of them.
    pub fn total(&self) -> Bytes {
        Bytes::new(self.0.iter().sum())
    }

    /// What lies between this moment and a later one, at a part of the way from 0 to 1.
    fn toward(&self, later: &Self, part: f64) -> Self {
        let mut between = *self;
        for (value, later) in between.0.iter_mut().zip(later.0) {
            *value += (later - *value) * part;
        }
        between
    }
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Where it stands, in parts of a step from the beginning of the first; a whole number where the
    /// moment is named.
    pub at: f64,
    /// 1 or 2.
    pub step: u32,
    /// From 1 to the number that is drawn.
    pub micro_batch: u32,
    /// Position among the instants of the estimate, where it is one of them.
    pub instant: Option<usize>,
    /// What is alive.
    pub held: Held,
}

/// Memory from the beginning of the first step to the end of the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// In the order of time; straight lines lie between.
    pub moments: Vec<Moment>,
    /// The instants that moments refer to by position.
    pub instants: Vec<&'static Instant>,
    /// What is said of each of them.
    pub meanings: Vec<String>,
    /// Micro-batches drawn in each step.
    pub drawn: u32,
}

impl Timeline {
    /// The last moment that is not later than `at`, in parts of a step, and what is alive at `at`.
    pub fn at(&self, at: f64) -> (&Moment, Held) {
        let next = self.moments.iter().position(|moment| moment.at > at).unwrap_or(self.moments.len());
        let moment = &self.moments[next.saturating_sub(1)];
        let held = match self.moments.get(next) {
            Some(later) if later.at > moment.at => {
                let part = ((at - moment.at) / (later.at - moment.at)).clamp(0.0, 1.0);
                moment.held.toward(&later.held, part)
            }
            _ => moment.held,
        };
        (moment, held)
    }

    /// The highest moment of a step, 1 or 2; the first of several as high.
    pub fn highest(&self, step: u32) -> &Moment {
        let mut highest = &self.moments[0];
        for moment in self.moments.iter().filter(|moment| moment.step == step) {
            if highest.step != step || moment.held.total() > highest.held.total() {
                highest = moment;
            }
        }
        highest
    }
}

/// Where the instants of the drawn pipeline stage stand in the list of the estimate: without a pipeline
/// there is one stage with six; with one, the last stage's six come first, and those of the first, of the
/// second and of further ones follow, five each, because none of them has a loss.
#[derive(Clone, Copy)]
struct Places {
    forward: usize,
    /// Past every list where there is none.
    loss: usize,
    last: usize,
    first: usize,
    end: usize,
    update: usize,
}

const LAST_STAGE: Places = Places { forward: 0, loss: 1, last: 2, first: 3, end: 4, update: 5 };

impl Places {
    /// Of the stages without a loss, one after the other.
    const fn behind_the_last(nth: usize) -> Self {
        let forward = LAST_STAGE.update + 1 + 5 * nth;
        let [last, first, end, update] = [forward + 1, forward + 2, forward + 3, forward + 4];
        Self { forward, loss: usize::MAX, last, first, end, update }
    }

    /// Of the training step of a task, whose loss has an instant more between its two passes.
    const fn of_task(count: usize) -> Self {
        let [loss, last, first, end, update] = [count - 5, count - 4, count - 3, count - 2, count - 1];
        Self { forward: count - if count > LAST_STAGE.update + 1 { 7 } else { 6 }, loss, last, first, end, update }
    }

    /// Of PPO, whose value model runs backward behind the policy.
    const WITH_VALUE: Self = Self { forward: 5, loss: 7, last: 8, first: 9, end: 13, update: 15 };

    /// Of a decoder behind an encoder, whose layers run backward in between.
    const WITH_ENCODER: Self = Self { first: 5, end: 6, update: 7, ..LAST_STAGE };

    /// Of the stage that has the instant at this position.
    const fn around(position: usize) -> Self {
        match position.checked_sub(LAST_STAGE.update + 1) {
            None => LAST_STAGE,
            Some(behind) => Self::behind_the_last(behind / 5),
        }
    }
}

/// What a task has beside the six instants of a step: the part of the time of a micro-batch, and the position. DPO's
/// and distillation's passes without gradients run behind the forward pass.
const SCORED: &[(f64, usize)] = &[(0.31, 2), (0.32, 0), (0.33, 1), (0.36, 4)];
/// Those that generate do so, and score, before it.
const GENERATED: &[(f64, usize)] = &[(0.04, 0), (0.07, 1), (0.10, 2), (0.14, 3), (0.31, 4), (0.36, 6)];

/// The same, and PPO’s value model; the entropies of a micro-batch come behind its backward pass.
const WITH_VALUE: &[(f64, usize)] =
    &[(0.04, 0), (0.07, 1), (0.10, 2), (0.14, 3), (0.31, 4), (0.36, 6), (0.68, 10), (0.70, 11), (0.92, 12)];
const ENTROPIES: usize = 14;

/// The backward pass of a decoder ends where that of its encoder begins.
const TWO_STACKS: &[(f64, usize)] = &[(0.66, 3), (0.70, 4)];

/// A vision tower runs before the language model, and behind it on the way back.
const SEEN: &[(f64, usize)] = &[(0.14, 0), (0.93, 5), (0.945, 6)];
const WITH_TOWER: Places = Places { forward: 1, loss: 2, last: 3, first: 4, end: 7, update: 8 };

/// Which entries are counted.
#[derive(Clone, Copy)]
enum Cut {
    /// What lives through all of the passes: the beginning of a micro-batch, before any layer has run.
    Idle,
    /// All layers have run and the head has not.
    Layers,
    /// The instant at this position.
    At(usize),
}

/// Whether an entry of the optimizer's bucket is made by the first update.
fn is_lazy(entry: &Entry) -> bool {
    entry.bucket == Bucket::Optimizer && !entry.name.ends_with("fp32 master")
}

/// The activations that come back while a layer is computed again, and go when it has run backward.
fn is_brought_back(entry: &Entry, places: &Places) -> bool {
    let alive = |position| entry.alive.contains(position);
    entry.bucket == Bucket::Activations && alive(places.last) && alive(places.first) && !alive(places.forward)
}

/// One ledger while the curve is drawn from it.
struct Drawn<'a> {
    estimate: &'a Estimate,
    places: Places,
    /// What the allocator holds beyond live dynamic memory, as a part of it.
    fragmentation: f64,
}

impl Drawn<'_> {
    /// What a cut counts, with or without what the first update makes.
    fn held(&self, cut: Cut, updated: bool) -> Held {
        let mut held = Held::default();
        let mut dynamic = 0.0;
        let places = &self.places;
        for entry in &self.estimate.entries {
            let alive = |position| entry.alive.contains(position);
            let counted = match cut {
                // The layers of PPO's value model come with the pass and stay to its end.
                Cut::Idle => {
                    alive(places.forward)
                        && alive(places.last)
                        && alive(places.first)
                        && !matches!(entry.name, "Value model’s activations" | "Value model’s 16-bit casts")
                }
                // Entries that stand for layers are theirs; the head's are gone when the last layer runs
                // backward.
                Cut::Layers => alive(places.forward) && (alive(places.last) || entry.layers > 1.0),
                Cut::At(position) => alive(position),
            };
            if counted && (updated || !is_lazy(entry)) {
                held.0[entry.bucket as usize] += entry.bytes.get();
                if entry.bucket.is_dynamic() {
                    dynamic += entry.bytes.get();
                }
            }
        }
        // At its instants the ledger has an entry for it.
        if !matches!(cut, Cut::At(_)) {
            held.0[Bucket::Runtime as usize] += self.fragmentation * dynamic;
        }
        held
    }

    /// Between the backward passes of the last and of the first layer, what was computed again goes and
    /// that of the next layer comes, `teeth` times in all.
    fn teeth(&self, moments: &mut Vec<Moment>, last: Moment, first: Moment, teeth: u32) {
        let mut brought = 0.0;
        for entry in &self.estimate.entries {
            if is_brought_back(entry, &self.places) {
                brought += entry.bytes.get();
            }
        }
        let gaps = f64::from(teeth.saturating_sub(1));
        for half in 2..(2 * teeth).saturating_sub(1) {
            let is_low = half % 2 == 0;
            // A layer's backward pass takes twice its forward pass, during which it empties.
            let part = (f64::from(half / 2) - if is_low { 0.35 } else { 0.0 }) / gaps;
            let mut held = last.held.toward(&first.held, part);
            if is_low {
                held.0[Bucket::Activations as usize] -= brought;
                held.0[Bucket::Runtime as usize] -= self.fragmentation * brought;
            }
            moments.push(Moment { at: last.at + (first.at - last.at) * part, instant: None, held, ..first });
        }
    }
}

/// Memory over two steps of `scenario`, on the pipeline stage whose instant binds.
///
/// With several micro-batches the first of a step finds no gradients and the others find the sums so far,
/// so that they are drawn from the ledgers of one micro-batch and of several. In a pipeline all micro-batches
/// on their way are drawn as one. A method that knows one instant gives two moments of equal height.
///
/// ```
/// use bmax::course::step::timeline;
/// use bmax::{Scenario, estimate};
/// let scenario = Scenario::workshop();
/// let curve = timeline(&scenario);
/// let peak = estimate(&scenario).peak().bytes.gib();
/// assert!((curve.highest(2).held.total().gib() - peak).abs() < 1e-9);
/// // The first step has no optimizer state until its end.
/// assert!(curve.highest(1).held.total() < curve.highest(2).held.total());
/// ```
pub fn timeline(scenario: &Scenario) -> Timeline {
    let whole = estimate(scenario);
    let instants = whole.instants.clone();
    let meanings = (0..instants.len()).map(|position| whole.meaning(position)).collect();
    // What is outside the step stands behind its instants.
    let count = whole.step_instants();
    if count < 6 {
        let mut held = Held::default();
        for &bucket in Bucket::ALL {
            held.0[bucket as usize] = whole.bucket(bucket).get();
        }
        let moment = |step| Moment {
            at: f64::from((step - 1) * 2 * PARTS),
            step,
            micro_batch: 1,
            instant: Some(whole.binding().0),
            held,
        };
        return Timeline { moments: vec![moment(1), moment(2)], instants, meanings, drawn: 1 };
    }
    let sees = scenario.method == Method::Ledger && scenario.model.vision.is_there();
    let is_task = scenario.method == Method::Ledger && scenario.task.kind != TaskKind::Train && !sees;
    let has_value = is_task && count == 16;
    let places = match (sees, is_task, count) {
        (true, ..) => WITH_TOWER,
        _ if has_value => Places::WITH_VALUE,
        (_, true, _) => Places::of_task(count),
        (.., 8) => Places::WITH_ENCODER,
        _ => Places::around(whole.binding().0.min(count - 1)),
    };
    let drawn = if count > 6 { 1 } else { scenario.recipe.micro_batches.clamp(1, MOST_DRAWN) };
    let mut alone = *scenario;
    if drawn > 1 {
        alone.recipe.micro_batches = 1;
    }
    let fresh = estimate(&alone);
    let fragmentation = match scenario.method {
        Method::Ledger => scenario.device.fragmentation.fraction(),
        Method::Workshop | Method::Paper => 0.0,
    };
    let teeth = segments(scenario).min(MOST_TEETH / drawn);
    // Part of the time of a micro-batch, what is counted, whether it is named. The head takes little room.
    let passes = [
        (0.0, Cut::Idle, false),
        (0.30, Cut::Layers, false),
        (0.34, Cut::At(places.forward), true),
        (0.38, Cut::At(places.loss), true),
        (0.44, Cut::At(places.last), true),
        (if has_value { 0.66 } else { 0.92 }, Cut::At(places.first), true),
        (0.96, Cut::At(places.end), true),
    ];
    let beside = match (is_task, count) {
        _ if has_value => WITH_VALUE,
        (true, 12) => GENERATED,
        (true, 10) => SCORED,
        (false, 8) => TWO_STACKS,
        _ if sees => SEEN,
        _ => &[],
    };
    let mut all: Vec<(f64, Cut, bool)> = Vec::with_capacity(passes.len() + beside.len());
    for row in passes {
        let earlier = all.last().map_or(-1.0, |before| before.0);
        let between = beside.iter().filter(|(part, _)| *part > earlier && *part < row.0);
        all.extend(between.map(|(part, position)| (*part, Cut::At(*position), true)));
        all.push(row);
    }
    if has_value {
        all.push((0.98, Cut::At(ENTROPIES), true));
    }
    let passes = all;
    let update = [(0.3, Cut::At(places.update), true), (0.8, Cut::At(places.update), false), (1.0, Cut::Idle, false)];
    // Behind the second update, part by part of the room that it has.
    let outside = (count..instants.len())
        .map(|position| (0.4 + 0.05 * (position - count) as f64, Cut::At(position), true))
        .collect::<Vec<_>>();
    let last_update = [&update[..1], &outside, &update[2..]].concat();
    let width = f64::from((PARTS - UPDATE) / drawn);
    let mut moments: Vec<Moment> = Vec::with_capacity(32);
    for step in 1..=2 {
        for turn in 0..=drawn {
            let is_update = turn == drawn;
            let rows: &[_] = match (is_update, step) {
                (true, 2) if !outside.is_empty() => &last_update,
                (true, _) => &update,
                (false, _) => &passes,
            };
            let width = if is_update { f64::from(UPDATE) } else { width };
            let begin =
                f64::from(step * PARTS - UPDATE) - f64::from(drawn - turn) * f64::from((PARTS - UPDATE) / drawn);
            for &(part, cut, is_named) in rows {
                // The next step begins where this one ends.
                let is_last = is_update && matches!(cut, Cut::Idle);
                if (is_last && step == 1) || matches!(cut, Cut::At(usize::MAX)) {
                    continue;
                }
                let begins = turn == 0 || is_last;
                let pass = Drawn { estimate: if begins { &fresh } else { &whole }, places, fragmentation };
                let held = pass.held(cut, step > 1 || is_update);
                // Named moments stand at whole parts, where a slider can stand.
                let at = begin + (part * width).round();
                let instant = match cut {
                    Cut::At(position) if is_named => Some(position),
                    _ => None,
                };
                let moment = Moment { at, step, micro_batch: (turn + 1).min(drawn), instant, held };
                if instant == Some(places.first)
                    && let Some(before) = moments.last().copied()
                {
                    pass.teeth(&mut moments, before, moment, teeth);
                }
                moments.push(moment);
            }
        }
    }
    Timeline { moments, instants, meanings, drawn }
}

/// Pieces that are computed again one after another on one pipeline stage.
fn segments(scenario: &Scenario) -> u32 {
    let layers = scenario.model.layers.div_ceil(scenario.cluster.pipeline_parallel.max(1));
    match scenario.recipe.recomputation {
        Recomputation::None => 0,
        Recomputation::EveryK => layers.div_ceil(scenario.recipe.every.max(1)),
        Recomputation::KthLayer => layers / scenario.recipe.every.max(1),
        Recomputation::Block => scenario.recipe.recomputed_layers.min(layers),
        Recomputation::Selective | Recomputation::Operators | Recomputation::Full => layers,
    }
}

#[cfg(test)]
mod tests;
