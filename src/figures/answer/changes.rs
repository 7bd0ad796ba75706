//! Which changes stand beside the answer: three that make room, or that make the chosen micro-batch fit.

use bmax::levers::Change;
use bmax::ways::Price;
use bmax::{Answer, Field, Scenario, export, largest_micro_batch, link};

use crate::components::{Help, Helps};
use crate::figures::levers::together;
use crate::site::{Ranking, format};

/// How many are shown.
const SHOWN: usize = 3;

/// Chooses the changes that help a scenario. Neither its answer nor its ranking depends on its micro-batch.
pub fn helps_of(scenario: &Scenario, answer: &Answer, ranking: &Ranking) -> Helps {
    let batch = scenario.recipe.batch;
    match answer {
        Answer::Fits(room) if batch > room.batch => Helps {
            title: format!("Makes {} fit", format::batch(batch, scenario.unit())),
            helps: holding(scenario, ranking, batch, room.batch),
        },
        Answer::Fits(_) => Helps { title: "More fit with".to_owned(), helps: making_room(scenario, ranking) },
        _ => Helps { title: "These fit".to_owned(), helps: ways_out(scenario, ranking) },
    }
}

/// Where one sequence fits: what makes room for more, what costs least first.
fn making_room(scenario: &Scenario, ranking: &Ranking) -> Vec<Help> {
    let mut gaining: Vec<_> = ranking.gaining().iter().collect();
    gaining.sort_by_key(|lever| (lever.change.price(), std::cmp::Reverse(lever.after)));
    let mut prices: Vec<Price> = Vec::new();
    // Three of one kind would say one thing three times.
    let first = gaining.iter().filter(|lever| {
        let is_new = !prices.contains(&lever.change.price());
        prices.push(lever.change.price());
        is_new
    });
    let first: Vec<_> = first.copied().collect();
    let rest = gaining.iter().filter(|lever| !first.contains(lever)).copied();
    let mut chosen: Vec<_> = first.iter().copied().chain(rest).take(SHOWN).collect();
    chosen.sort_by_key(|lever| lever.change.price());
    chosen.into_iter().map(|lever| help(scenario, &[lever.change], lever.after.unwrap_or(0))).collect()
}

/// Where the chosen micro-batch does not fit: what makes it fit. To run it in parts comes first, because that trains the
/// same.
fn holding(scenario: &Scenario, ranking: &Ranking, batch: u32, most: u32) -> Vec<Help> {
    let parts = in_parts(scenario, batch, most).map(|(changes, part)| Help {
        name: format!("{} × {} accumulated", format::count(part), format::count(batch / part)),
        after: None,
        ..help(scenario, &changes, part)
    });
    let mut enough: Vec<_> = ranking.gaining().iter().filter(|lever| lever.after >= Some(batch)).collect();
    enough.sort_by_key(|lever| (lever.change.price(), std::cmp::Reverse(lever.after)));
    let enough = enough.into_iter().map(|lever| help(scenario, &[lever.change], lever.after.unwrap_or(0)));
    parts.into_iter().chain(enough).take(SHOWN).collect()
}

/// The chosen micro-batch in equal parts, one after the other, each of which fits: the changes, and one part.
fn in_parts(scenario: &Scenario, batch: u32, most: u32) -> Option<([Change; 2], u32)> {
    let parts = (1..=most).rev().filter(|part| batch.is_multiple_of(*part));
    let mut parts = parts.map(|part| {
        let steps = f64::from(scenario.recipe.micro_batches) * f64::from(batch / part);
        ([Change::Number(Field::Batch, part.into()), Change::Number(Field::MicroBatches, steps)], part)
    });
    parts.find(|(changes, part)| {
        let with = changes.iter().fold(*scenario, |scenario, change| change.apply(scenario));
        with.conflicts().is_empty() && largest_micro_batch(&with) >= Some(*part)
    })
}

/// Where nothing fits, or nobody can say: the cheapest ways out.
fn ways_out(scenario: &Scenario, ranking: &Ranking) -> Vec<Help> {
    ranking.ways.fitting.iter().take(SHOWN).map(|way| help(scenario, &way.changes, way.after)).collect()
}

fn help(scenario: &Scenario, changes: &[Change], after: u32) -> Help {
    let with = changes.iter().fold(*scenario, |scenario, change| change.apply(scenario));
    let lines: Vec<String> =
        changes.iter().filter_map(|change| export::line(change, scenario.cluster.engine)).collect();
    let line = if lines.len() == changes.len() { lines.join(", ") } else { cost(changes) };
    Help {
        name: together(changes),
        after: Some(format::count(after)),
        line: (!line.is_empty()).then_some(line),
        query: format!("?{}", link::encode(&scenario.then(with))),
    }
}

/// What the changes cost, in the words of the techniques.
fn cost(changes: &[Change]) -> String {
    let costs = changes.iter().map(|change| change.cost()).filter(|cost| !cost.is_empty());
    costs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::b_max;
    use proptest::prelude::*;

    fn of(query: &str) -> Helps {
        let facts = facts_of(link::decode(query).scenario);
        helps_of(&facts.scenario, &facts.answer, &Ranking::of(&facts.scenario.with_batch(1)))
    }

    #[test]
    fn a_batch_that_does_not_fit_is_offered_in_parts_first_with_the_lines_that_do_it() {
        // b_max is 4 or more and below 8: 8 runs as two fours.
        let query = "v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=8";
        let most = b_max(&link::decode(query).scenario).batch().expect("some fit");
        assert!((4..8).contains(&most), "{most}");
        let Helps { title, helps } = of(query);
        assert_eq!(title, "Makes 8 sequences fit");
        assert_eq!(helps[0].name, "4 × 2 accumulated");
        assert_eq!(helps[0].line.as_deref(), Some("per_device_train_batch_size=4, gradient_accumulation_steps=2"));
        assert!(helps.len() > 1, "{helps:?}");
    }

    #[test]
    fn where_nothing_fits_adapters_come_first() {
        let Helps { title, helps } = of("v=3&model=qwen2.5-7b&gpu=rtx-4090&gpus=1");
        assert_eq!(title, "These fit");
        assert!(helps[0].name.contains("LoRA") && helps[1].name.contains("QLoRA"), "{helps:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_help_leads_where_it_says(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            let helps = helps_of(&scenario, &facts.answer, &Ranking::of(&scenario.with_batch(1)));
            texts_are_sound(&helps);
            prop_assert!(helps.helps.len() <= SHOWN);
            for help in &helps.helps {
                let with = link::decode(&help.query).scenario;
                let most = b_max(&with).batch().unwrap_or(0);
                prop_assert!(most > 0, "{help:?}");
                let fits = match &help.after {
                    Some(after) => format::count(most) == *after,
                    None => most >= with.recipe.batch,
                };
                prop_assert!(fits, "{most}: {help:?}");
            }
        }
    }
}
