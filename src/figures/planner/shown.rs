//! What the figure shows: the plan as an equation, in words and as a drawing, and where its buttons lead.

use bmax::BatchUnit;
use bmax::planner::Accumulation;

use super::drawing::Drawing;
use super::planned::{Planned, equation, grouped};
use crate::site::{Facts, format};

/// What stands where there is no plan and hence no number.
const NONE: &str = "–";

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What the target is counted in.
    pub unit: BatchUnit,
    /// Whether that is not the default.
    pub unit_changed: bool,
    /// The target in the other unit.
    pub asked: Option<String>,
    /// What the targets nearby have in common, or that there are none.
    pub nearby: Option<String>,
    /// Targets below and above.
    pub targets: Vec<Target>,
    /// The plan as an equation.
    pub result: String,
    /// The plan in words, or why there is none.
    pub words: String,
    /// The way to the plan that is not shown.
    pub other: Option<String>,
    /// The plan in time.
    pub drawing: Option<Drawing>,
    /// The drawing in words.
    pub described: String,
    /// What a box of the drawing stands for.
    pub legend: String,
    /// What its columns stand for.
    pub axis: Option<String>,
    /// Tokens that one update sees.
    pub tokens: String,
    /// The plan's micro-batch and the largest there is.
    pub micro: String,
    /// What that micro-batch takes.
    pub peak: String,
    /// The plan's micro-batch.
    pub batch: Option<u32>,
    /// Whether it is the chosen one already, or there is none.
    pub taken: bool,
}

/// A target that can be set by a press.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The target, in its unit.
    pub target: u32,
    /// The same as the button says it.
    pub text: String,
    /// What the button does.
    pub label: String,
}

impl Shown {
    /// What these facts show; with `other` by the plan that is not preferred.
    pub fn of(facts: &Facts, other: bool) -> Self {
        let (unit, base) = (facts.scenario.goal.unit, facts.base.goal.unit);
        let none = |reason: String| Self {
            unit,
            unit_changed: unit != base,
            asked: None,
            nearby: None,
            targets: Vec::new(),
            result: "no plan".to_owned(),
            words: format!(
                "Nothing can be planned, because not even one {} fits. Accumulation needs a micro-batch. {reason}",
                facts.scenario.unit().one()
            ),
            other: None,
            drawing: None,
            described: "Nothing to draw until a micro-batch fits.".to_owned(),
            legend: "one micro-batch".to_owned(),
            axis: None,
            tokens: NONE.to_owned(),
            micro: NONE.to_owned(),
            peak: NONE.to_owned(),
            batch: None,
            taken: true,
        };
        match Planned::of(&facts.scenario, &facts.answer, other) {
            Ok(planned) => Self {
                taken: planned.chosen.micro_batch == facts.scenario.recipe.batch,
                ..Self::with_plan(&planned, unit != base)
            },
            Err(reason) => none(reason),
        }
    }

    fn with_plan(planned: &Planned, unit_changed: bool) -> Self {
        let Planned { chosen: plan, target, sequence, unit, .. } = *planned;
        let tokens = |sequences: u64| format::counted(sequences.saturating_mul(sequence.into()), "token", "tokens");
        let (target, length) = (u64::from(target), tokens(1));
        let each = planned.counted(plan.micro_batch.into());
        Self {
            unit,
            unit_changed,
            asked: Some(match unit {
                BatchUnit::Sequences => format!("At {length} a {} that is {}.", planned.counts.one(), tokens(target)),
                BatchUnit::Tokens => {
                    format!("That is {} of {length}, rounded up to whole ones.", planned.counted(target))
                }
            }),
            nearby: Some(nearby(planned)),
            targets: planned.nearby.into_iter().flatten().map(|target| Target::to(target, planned)).collect(),
            result: equation(plan),
            words: words(planned, &each),
            other: planned.other_plan_text(),
            drawing: Some(Drawing::of(plan, if planned.group > 1 { "Group" } else { "GPU" })),
            described: described(planned),
            legend: format!(
                "one micro-batch: {each} on one {}",
                if planned.group > 1 { "group of GPUs" } else { "GPU" }
            ),
            axis: Some(format!("{} →", steps(plan))),
            tokens: tokens(plan.global_batch()),
            micro: format!("{each}, at most {}", format::count(planned.b_max)),
            peak: format::memory(planned.peak),
            batch: Some(plan.micro_batch),
            taken: false,
        }
    }
}

impl Target {
    fn to(target: u32, planned: &Planned) -> Self {
        let text = format::count(target);
        let unit = match planned.unit {
            BatchUnit::Sequences => planned.counts.many(),
            BatchUnit::Tokens => "tokens",
        };
        Self { target, label: format!("Set the target to {text} {unit}"), text }
    }
}

/// What the targets nearby have in common.
fn nearby(planned: &Planned) -> String {
    if planned.nearby == [None; 2] {
        return "Every accumulation step is full: no other target nearby fits better.".to_owned();
    }
    let (round, tokens) = match planned.unit {
        BatchUnit::Sequences => (grouped(planned.round), ""),
        BatchUnit::Tokens => (planned.counted(planned.round), "; in tokens"),
    };
    format!("Multiples of {round} {}{tokens}:", planned.share())
}

/// How the plan stands to the target, and what each GPU does.
fn words(planned: &Planned, each: &str) -> String {
    let (over, target) = (planned.over(), u64::from(planned.target));
    let hit = if over == 0 {
        "Hits the target exactly".to_owned()
    } else {
        let part = format::percent(over as f64 / target.max(1) as f64);
        format!("Overshoots the target of {} by {} ({part})", planned.counted(target), grouped(over))
    };
    let times = match planned.chosen.steps {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        steps => format!("{} times", format::count(steps)),
    };
    format!("{hit}: {each} on each of {}, {times} before the optimizer steps.", planned.replicas())
}

/// The drawing in words.
fn described(planned: &Planned) -> String {
    let Accumulation { micro_batch, data_parallel, .. } = planned.chosen;
    let (one, many) = if planned.group > 1 { ("group of GPUs", "groups of GPUs") } else { ("GPU", "GPUs") };
    format!(
        "{} one after another; in each, {} process {} each; then the optimizer steps once.",
        steps(planned.chosen),
        format::counted(data_parallel, one, many),
        planned.counted(micro_batch.into())
    )
}

fn steps(plan: Accumulation) -> String {
    format::counted(plan.steps, "accumulation step", "accumulation steps")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Method, Scenario};
    use proptest::prelude::*;

    fn of(query: &str, other: bool) -> Shown {
        Shown::of(&facts_of(bmax::link::decode(&format!("v=3&{}", query.trim_start_matches('?'))).scenario), other)
    }

    #[test]
    fn the_plan_with_fewer_steps_says_by_how_much_it_overshoots() {
        let exact = of("?method=workshop", false);
        assert_eq!(exact.result, "256 = 2 · 8 · 16");
        assert!(exact.words.starts_with("Hits the target exactly: 2 sequences on each of 8 data-parallel GPUs"));
        assert_eq!(exact.other.as_deref(), Some("With fewer steps: 264 = 3 · 8 · 11"));
        let fewer = of("?method=workshop", true);
        assert_eq!(
            fewer.words,
            "Overshoots the target of 256 sequences by 8 (3 %): 3 sequences on each of 8 data-parallel GPUs, 11 times \
             before the optimizer steps."
        );
        assert_eq!(fewer.other.as_deref(), Some("Exactly the target: 256 = 2 · 8 · 16"));
    }

    #[test]
    fn without_a_sequence_that_fits_the_reason_is_given_and_nothing_is_drawn() {
        let none = of("?gpus=1", false);
        assert_eq!((none.result.as_str(), none.batch, none.drawing), ("no plan", None, None));
        assert!(none.words.contains("needs a micro-batch. ") && none.words.ends_with('.'), "{}", none.words);
        assert!(none.taken && none.targets.is_empty());
    }

    #[test]
    fn a_target_in_tokens_names_its_sequences_and_offers_tokens() {
        let shown = of("?method=workshop&target=500000&unit=tokens", false);
        assert_eq!(shown.asked.as_deref(), Some("That is 245 sequences of 2,048 tokens, rounded up to whole ones."));
        let targets: Vec<_> = shown.targets.iter().map(|target| (target.target, target.label.as_str())).collect();
        let wanted = [(491_520, "Set the target to 491,520 tokens"), (507_904, "Set the target to 507,904 tokens")];
        assert_eq!(targets, wanted);
        assert!(shown.unit_changed && shown.nearby.is_some_and(|said| said.ends_with("; in tokens:")));
    }

    #[test]
    fn a_micro_batch_that_is_chosen_already_cannot_be_taken_over() {
        let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        assert!(!Shown::of(&facts_of(scenario.with_batch(3)), false).taken);
        assert!(Shown::of(&facts_of(scenario.with_batch(2)), false).taken);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_plan_or_a_reason(scenario in any_scenario(), other: bool) {
            let shown = Shown::of(&facts_of(scenario), other);
            texts_are_sound(&Shown { drawing: None, ..shown.clone() });
            prop_assert_eq!(shown.drawing.is_some(), shown.batch.is_some());
            prop_assert_eq!(shown.targets.is_empty(), shown.nearby.is_none_or(|said| said.starts_with("Every accumulation step")));
        }
    }
}
