//! The same question turned around: one input is sought, the others are given.
//!
//! Memory is monotone in each of them, so every answer is a search over the exact ledger.

use super::answer::{holds, in_host};
use super::bounds::Field;
use super::ledger::Ledger;
use super::scenario::{Model, Scenario};
use super::search;
use super::shape::Shape;
use super::units::Bytes;

/// The longest sequence in tokens at micro-batch `batch`, in whole multiples of the context-parallel
/// size, and no longer than learned positions reach; `None` when not even the shortest fits.
///
/// ```
/// use bmax::{Scenario, largest_micro_batch, inverse::longest_sequence};
/// let mut scenario = Scenario::workshop();
/// scenario.recipe.sequence = longest_sequence(&scenario, 2).expect("short sequences fit");
/// assert!(largest_micro_batch(&scenario) >= Some(2));
/// ```
pub fn longest_sequence(scenario: &Scenario, batch: u32) -> Option<u32> {
    let fits = |length| {
        let mut at = *scenario;
        at.recipe.sequence = length;
        !at.is_beyond_positions() && holds(&at, &Ledger::of(&at), batch)
    };
    let longest = search::largest(Field::Sequence.bound().max as u32, scenario.recipe.sequence, fits);
    let context_parallel = scenario.cluster.context_parallel.max(1);
    (longest >= context_parallel).then_some(longest - longest % context_parallel)
}

/// The least memory of a device, in whole MiB as its driver reports it, that holds `batch` sequences; the
/// driver's own part stays what it is. `None` when no memory in the declared range is enough.
///
/// ```
/// use bmax::{Scenario, b_max, inverse::least_memory};
/// let mut scenario = Scenario::workshop();
/// scenario.device.memory = least_memory(&scenario, 1).expect("some device would do");
/// assert_eq!(b_max(&scenario).batch(), Some(1));
/// ```
pub fn least_memory(scenario: &Scenario, batch: u32) -> Option<Bytes> {
    let limit = (Field::Memory.bound().max * 1024.0) as u32;
    let ledger = Ledger::of(scenario);
    // No larger device gives the machine more memory.
    if batch > in_host(scenario, &ledger) {
        return None;
    }
    let (_, needed) = ledger.peak(batch);
    // An engine beside the trained model takes a share of whatever memory there is.
    let shared = scenario.task.has_engine();
    let lacks = |mib: u32| {
        let mut device = *scenario;
        device.device.memory = Bytes::from_mib(mib.into());
        let needed = if shared { Ledger::of(&device).peak(batch).1 } else { needed };
        needed > device.usable()
    };
    let most_lacking = search::largest(limit, scenario.device.memory.mib() as u32, lacks);
    (most_lacking < limit).then(|| Bytes::from_mib(f64::from(most_lacking) + 1.0))
}

/// The largest model of the scenario's shape of which `batch` sequences fit: width, heads,
/// feed-forward width, experts' width and depth grow and shrink together, a group of heads at a time,
/// with the width of a head, the heads of a group and the vocabulary as they are. `None` when not even
/// one group does.
///
/// Its parameter count is the derived one, and it belongs to no catalogue row.
pub fn largest_model(scenario: &Scenario, batch: u32) -> Option<Model> {
    let shape = Shape::of(&scenario.model);
    let fits = |groups| {
        let at = Scenario { model: shape.model(groups), ..*scenario };
        holds(&at, &Ledger::of(&at), batch)
    };
    let groups = search::largest(shape.most(), shape.own(), fits);
    (groups > 0).then(|| shape.model(groups))
}
