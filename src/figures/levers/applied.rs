//! What was applied here, and the way back.

use bmax::Scenario;
use bmax::levers::Change;

/// A change that was made here, and the way back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// What was made.
    pub change: Change,
    /// What takes it back.
    pub inverse: Change,
}

/// Only the last way to a setting is kept, so that no setting has two ways back.
pub fn remember(list: &mut Vec<Applied>, next: Applied) {
    list.retain(|earlier| earlier.change != next.change);
    list.push(next);
}

/// The changes that still hold: one that was overwritten elsewhere has nothing to take back.
pub fn holding(list: &[Applied], scenario: &Scenario) -> Vec<Applied> {
    list.iter().copied().filter(|entry| entry.change.holds_in(scenario)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Field;

    const SIXTEEN: Applied =
        Applied { change: Change::Number(Field::Gpus, 16.0), inverse: Change::Number(Field::Gpus, 8.0) };
    const THIRTY_TWO: Applied =
        Applied { change: Change::Number(Field::Gpus, 32.0), inverse: Change::Number(Field::Gpus, 16.0) };

    #[test]
    fn a_change_that_was_overwritten_offers_no_undo() {
        let scenario = THIRTY_TWO.change.apply(Scenario::workshop());
        assert_eq!(holding(&[SIXTEEN, THIRTY_TWO], &scenario), [THIRTY_TWO]);
        assert_eq!(holding(&[SIXTEEN, THIRTY_TWO], &Scenario::workshop()), []);
    }

    #[test]
    fn undoing_the_second_change_of_a_setting_uncovers_the_first() {
        let scenario = THIRTY_TWO.inverse.apply(THIRTY_TWO.change.apply(Scenario::workshop()));
        assert_eq!(holding(&[SIXTEEN], &scenario), [SIXTEEN]);
    }

    #[test]
    fn a_setting_reached_twice_has_one_way_back() {
        let mut list = vec![SIXTEEN];
        let again = Applied { change: Change::Number(Field::Gpus, 16.0), inverse: Change::Number(Field::Gpus, 4.0) };
        remember(&mut list, again);
        assert_eq!(list, [again]);
    }
}
