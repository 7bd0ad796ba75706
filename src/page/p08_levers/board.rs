//! What the levers would do to one configuration.

use bmax::catalogue::DEVICES;
use bmax::levers::{self, Change, Lever};
use bmax::{Scenario, b_max};

use super::text::{still_missing, token_account};

/// The levers of one configuration, parted by whether they gain anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Levers with a gain, the strongest first.
    pub gaining: Vec<Lever>,
    /// Changes without one, each with the reason.
    pub idle: Vec<(Change, String)>,
    /// The largest micro-batch of any of them: the length of the bars.
    pub most: u32,
    /// Tokens in a sequence now.
    sequence: u32,
}

impl Board {
    /// Tries every single change on `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let ranked = levers::ranked(scenario, &larger_devices(scenario.device.memory_mib));
        let (gaining, idle): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|lever| lever.gain() > 0);
        let why = |lever: Lever| (lever.change, still_missing(&b_max(&lever.change.apply(*scenario))));
        Self {
            most: gaining.iter().filter_map(|lever| lever.after).max().unwrap_or(1),
            idle: idle.into_iter().map(why).collect(),
            gaining,
            sequence: scenario.recipe.sequence,
        }
    }

    /// What a change of the sequence length does to the tokens of a step.
    pub fn tokens(&self, lever: Lever) -> Option<String> {
        match (lever.change, lever.after) {
            (Change::Sequence(sequence), Some(after)) => {
                Some(token_account(lever.before, self.sequence, after, sequence))
            }
            _ => None,
        }
    }
}

/// A larger device counts as another one when it has a tenth more memory.
const NOTICEABLY_LARGER: f64 = 1.1;
/// How many larger devices are worth a row.
const DEVICES_SHOWN: usize = 3;

/// The next larger devices of the catalogue, one for each size.
pub fn larger_devices(memory_mib: u32) -> Vec<Change> {
    let mut larger = Vec::with_capacity(DEVICES_SHOWN);
    let mut last = f64::from(memory_mib);
    for _ in 0..DEVICES_SHOWN {
        let enough = DEVICES.iter().filter(|row| f64::from(row.memory_mib) >= last * NOTICEABLY_LARGER);
        let Some(next) = enough.min_by_key(|row| row.memory_mib) else { break };
        last = f64::from(next.memory_mib);
        larger.push(Change::Device(next.slug, next.memory_mib));
    }
    larger
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Recomputation};

    #[test]
    fn the_first_view_gains_most_from_recomputing_whole_layers() {
        let board = Board::of(&Scenario::default());
        assert_eq!(board.gaining[0].change, Change::Recomputation(Recomputation::Full));
        assert_eq!((board.gaining[0].before, board.gaining[0].after), (Some(3), Some(117)));
        assert_eq!(board.most, 117);
    }

    #[test]
    fn a_change_without_gain_says_what_is_still_missing() {
        let board = Board::of(&Scenario::default());
        let gpus = board.idle.iter().find(|(change, _)| *change == Change::Gpus(16)).expect("listed");
        assert!(gpus.1.contains("lack"), "{}", gpus.1);
    }

    #[test]
    fn no_change_is_both_gaining_and_idle() {
        let alone = Scenario::default().with_number(Field::Gpus, 1.0).expect("in range");
        let board = Board::of(&alone);
        assert!(board.gaining.iter().all(|lever| board.idle.iter().all(|(change, _)| *change != lever.change)));
        assert!(board.gaining.iter().all(|lever| lever.before.is_none() && lever.after.is_some()));
    }

    #[test]
    fn larger_devices_are_larger_rising_and_few() {
        for memory in [1, 24_576, 81_920, 196_592, u32::MAX] {
            let mut last = memory;
            let devices = larger_devices(memory);
            assert!(devices.len() <= DEVICES_SHOWN);
            for device in devices {
                let Change::Device(_, larger) = device else { panic!("{device:?}") };
                assert!(larger > last);
                last = larger;
            }
        }
        assert!(larger_devices(u32::MAX).is_empty());
    }
}
