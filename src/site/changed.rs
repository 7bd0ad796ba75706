//! What differs from the defaults.

use bmax::compare::Input;
use bmax::{Field, Scenario, setting};

use super::Facts;

/// What is no setting of the calculator beside what follows from the rest, such as the micro-batch, which is what it answers
/// for: what the planner and the chart have fields for.
static ELSEWHERE: [Input; 3] =
    [Input::Number(Field::GlobalBatch), Input::Word(&setting::BATCH_UNIT), Input::Word(&setting::CHART_AXIS)];

/// The settings of the calculator beside the rows of the catalogue, in their order.
pub fn settings() -> impl Iterator<Item = Input> {
    Input::each().filter(|input| !input.follows() && !ELSEWHERE.contains(input))
}

/// The settings that differ from the defaults of what is chosen.
pub fn changed(facts: &Facts) -> impl Iterator<Item = Input> {
    settings().filter(|input| input.differs(&facts.scenario, &facts.base))
}

/// The scenario with the default of a setting.
pub fn with_default(input: Input, scenario: Scenario, base: &Scenario) -> Scenario {
    let with = match input {
        Input::Word(word) => word.read(word.get(base), scenario).ok(),
        Input::Number(field) => scenario.with_number(field, base.number(field)).ok(),
        _ => None,
    };
    with.unwrap_or(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::facts_of;

    #[test]
    fn each_changed_setting_is_counted_once_and_its_default_takes_it_out_alone() {
        let facts = facts_of(bmax::link::decode("?s=1234&b=7&gpus=16&adapter=qlora&chart_gpus=64").scenario);
        let keys = |facts: &Facts| changed(facts).map(Input::key).collect::<Vec<_>>();
        let all = keys(&facts);
        assert!(["s", "gpus", "adapter"].iter().all(|key| all.contains(key)), "{all:?}");
        assert!(!all.contains(&"b") && !all.contains(&"chart_gpus"), "{all:?}");
        for input in changed(&facts) {
            let left = keys(&facts_of(with_default(input, facts.scenario, &facts.base)));
            assert!(!left.contains(&input.key()) && left.len() + 1 == all.len(), "{}: {left:?}", input.key());
        }
    }
}
