//! Live memory: the peak of a step at a micro-batch, and who is alive then.

use std::ops::ControlFlow;

use super::blocks;
use crate::estimator::operators::{Owner, Tensor, TensorId};
use crate::estimator::step::{Event, Moment, Trace};
use crate::estimator::units::Widths;

/// An event of a trace, and in which of its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    event: usize,
    iteration: u32,
}

/// A sum that is kept over the events of a trace.
trait Tally: Clone {
    fn add(&mut self, tensor: TensorId, times: i128);
    /// Becomes what it is if what has changed since `before` comes `times` times.
    fn leap(&mut self, before: &Self, times: i128);
}

/// Goes through a trace. What is alive within a repetition is a straight line in the iteration, so its ends say it all:
/// the first and the last iteration are gone through, and those between are leapt over.
fn walk<T: Tally>(
    trace: &Trace,
    tally: &mut T,
    mut visit: impl FnMut(&T, Position, Event) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let events = &trace.events;
    let mut through = |tally: &mut T, events: &[Event], first: usize, iteration| {
        for (offset, &event) in events.iter().enumerate() {
            match event {
                Event::Allocate(tensor, _) => tally.add(tensor, 1),
                Event::Free(tensor, _) => tally.add(tensor, -1),
                Event::EmptyCache | Event::Mark(_) | Event::Repeat(_) | Event::Again => {}
            }
            visit(tally, Position { event: first + offset, iteration }, event)?;
        }
        ControlFlow::Continue(())
    };
    let mut at = 0;
    while at < events.len() {
        let rest = &events[at..];
        if let Event::Repeat(times) = rest[0] {
            let end = rest.iter().position(|event| *event == Event::Again).unwrap_or(rest.len());
            let body = &rest[..end];
            let before = tally.clone();
            through(tally, body, at, 0)?;
            tally.leap(&before, i128::from(times) - 1);
            through(tally, body, at, times - 1)?;
            at += body.len();
        } else {
            let straight = rest.iter().skip(1).position(|event| matches!(event, Event::Repeat(_)));
            let straight = straight.map_or(rest.len(), |end| end + 1);
            through(tally, &rest[..straight], at, 0)?;
            at += straight;
        }
    }
    ControlFlow::Continue(())
}

/// Live bytes.
#[derive(Clone)]
struct Bytes<'s> {
    sizes: &'s [u64],
    live: i128,
}

impl Tally for Bytes<'_> {
    fn add(&mut self, tensor: TensorId, times: i128) {
        self.live += i128::from(self.sizes[tensor.index()]) * times;
    }
    fn leap(&mut self, before: &Self, times: i128) {
        self.live = before.live + (self.live - before.live) * times;
    }
}

/// Live tensors of each number.
impl Tally for Vec<i128> {
    fn add(&mut self, tensor: TensorId, times: i128) {
        self[tensor.index()] += times;
    }
    fn leap(&mut self, before: &Self, times: i128) {
        self.iter_mut().zip(before).for_each(|(live, before)| *live = before + (*live - before) * times);
    }
}

/// The fullest event of the last step at a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Bytes of all live blocks, each rounded up as the allocator does.
    pub bytes: u64,
    /// The moment at which they are live.
    pub moment: Moment,
    /// The event.
    pub at: Position,
}

impl Peak {
    /// The peak of a trace at a micro-batch.
    pub fn of(trace: &Trace, widths: &Widths, batch: u64) -> Self {
        let widths = widths.at(batch);
        let sizes = blocks(&trace.registry, &widths);
        let begin = trace.last_step();
        let start = Position { event: 0, iteration: 0 };
        let (mut most, mut moment, mut at, mut fullest) = (0, Moment::Load, start, Moment::Load);
        // Nothing breaks this walk.
        let _ = walk(trace, &mut Bytes { sizes: &sizes, live: 0 }, |tally, position, event| {
            match event {
                Event::Mark(next) => moment = next,
                Event::Allocate(..) if position.event > begin && tally.live > most => {
                    (most, at, fullest) = (tally.live, position, moment);
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        Self { bytes: u64::try_from(most).unwrap_or(u64::MAX), moment: fullest, at }
    }
}

/// A tensor that is alive, and how many of it: an entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    /// The tensor.
    pub tensor: Tensor,
    /// Whose it is.
    pub owner: Owner,
    /// The source of the tensor's rule.
    pub source: &'static str,
    /// How many are alive.
    pub count: u64,
    /// Bytes of all of them, not rounded.
    pub bytes: u64,
}

impl Alive {
    /// Lists the tensors that are alive at a peak, the largest first.
    pub fn at(trace: &Trace, widths: &Widths, batch: u64, peak: Peak) -> Vec<Self> {
        let mut counts = vec![0_i128; trace.registry.all().count()];
        let _ = walk(trace, &mut counts, |_, position, _| {
            if position == peak.at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let widths = widths.at(batch);
        let known = trace.registry.all().zip(trace.registry.all_bytes(&widths)).zip(counts);
        let alive = known.filter(|(_, count)| *count > 0).map(|(((&tensor, owner, source), bytes), count)| {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            Self { tensor, owner, source, count, bytes: bytes.saturating_mul(count) }
        });
        let mut alive: Vec<_> = alive.filter(|alive| alive.bytes > 0).collect();
        alive.sort_by_key(|alive| (std::cmp::Reverse(alive.bytes), alive.owner, alive.tensor.place, alive.tensor.part));
        alive
    }
}
