//! What the present scenario is compared with.

use crate::Scenario;

/// The scenarios that a reader has pinned, in the order of pinning: [`Pinned::MOST`] at most, and none of them twice.
///
/// ```
/// use bmax::{Field, Scenario, link::Pinned};
///
/// let first = Scenario::default();
/// let second = first.with_number(Field::Sequence, 4_096.0)?;
/// let pinned = Pinned::NONE.with(first).with(second).with(first);
/// assert_eq!(pinned.iter().copied().collect::<Vec<_>>(), [first, second]);
/// assert_eq!(pinned.without(0), Pinned::from(second));
/// # Ok::<(), bmax::InputError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pinned {
    /// Empty places are behind the others.
    places: [Option<Scenario>; Self::MOST],
}

impl Pinned {
    /// How many there may be: with the present one they are four side by side.
    pub const MOST: usize = 3;

    /// Nothing is pinned.
    pub const NONE: Self = Self { places: [None; Self::MOST] };

    /// The same with one more behind them. One that is there already changes nothing, and neither does one for which
    /// there is no place.
    #[must_use]
    pub fn with(mut self, scenario: Scenario) -> Self {
        if !self.has(&scenario)
            && let Some(place) = self.places.iter_mut().find(|place| place.is_none())
        {
            *place = Some(scenario);
        }
        self
    }

    /// The same without that at a place; those behind it move up.
    #[must_use]
    pub fn without(self, at: usize) -> Self {
        let kept = self.iter().enumerate().filter(|(place, _)| *place != at);
        kept.fold(Self::NONE, |pinned, (_, scenario)| pinned.with(*scenario))
    }

    /// Each of them, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &Scenario> {
        self.places.iter().flatten()
    }

    /// That at a place, counted from 0.
    pub fn get(&self, at: usize) -> Option<&Scenario> {
        self.places.get(at)?.as_ref()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.places[0].is_none()
    }

    /// Whether it is one of them.
    pub fn has(&self, scenario: &Scenario) -> bool {
        self.iter().any(|pinned| pinned == scenario)
    }
}

impl From<Scenario> for Pinned {
    fn from(scenario: Scenario) -> Self {
        Self::NONE.with(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn with(gpus: &[u32]) -> Pinned {
        gpus.iter().fold(Pinned::NONE, |pinned, gpus| pinned.with(on(*gpus)))
    }

    fn on(gpus: u32) -> Scenario {
        Scenario::default().with_number(Field::Gpus, gpus.into()).expect("in range")
    }

    #[test]
    fn three_are_kept_in_their_order_and_none_twice() {
        assert_eq!(with(&[2, 4, 2, 8, 16]), with(&[2, 4, 8]));
        assert_eq!(with(&[2, 4, 8]).iter().map(|one| one.cluster.gpus).collect::<Vec<_>>(), [2, 4, 8]);
        assert_eq!([with(&[]), with(&[2]), with(&[2, 4, 8, 16])].map(|pinned| pinned.len()), [0, 1, 3]);
        assert!(with(&[2, 4, 8]).has(&on(8)) && !with(&[2, 4, 8]).has(&on(16)));
    }

    #[test]
    fn what_is_behind_the_one_that_goes_moves_up() {
        let all = with(&[2, 4, 8]);
        assert_eq!([0, 1, 2].map(|at| all.without(at)), [with(&[4, 8]), with(&[2, 8]), with(&[2, 4])]);
        for at in [3, 4, usize::MAX] {
            assert_eq!(all.without(at), all, "{at}");
        }
        assert_eq!(with(&[2]).without(0), Pinned::NONE);
        assert!(with(&[2]).without(0).is_empty() && with(&[2]).without(1) == with(&[2]));
    }
}
