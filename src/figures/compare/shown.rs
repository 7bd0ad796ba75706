//! What the figure shows: what is pinned beside the present configuration, what differs from the first of them, and what
//! that does to the memory of a GPU.

use bmax::chart::MemoryBar;
use bmax::compare::{self, Comparison, Difference, EntryChange, compare};
use bmax::link::Pinned;
use bmax::{
    Answer, Bytes, Choice, Estimate, Recomputation, Scenario, b_max, estimate,
    setting::{self, Word},
};

use crate::site::format;

/// What is too little to be seen in a column of GiB with two digits after the point.
const TOO_LITTLE: f64 = 0.005;

/// The names of the configurations in their order.
pub const LETTERS: [&str; SIDES] = ["A", "B", "C", "D"];

/// What is pinned, and the present one.
pub const SIDES: usize = Pinned::MOST + 1;

/// What a reader is told where there is no place for one more.
const FULL: &str = "Three are pinned, which is the most: remove one to pin another.";

/// A caption names so many inputs and counts the others.
const NAMED: usize = 3;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whether any is pinned; otherwise the second one is an example.
    pub is_pinned: bool,
    /// Whether there is no place for one more.
    pub is_full: bool,
    /// What they are.
    pub about: String,
    /// All of them, two at least: those that are pinned, and the present one behind them.
    pub sides: Vec<Side>,
    /// What comes of the change from the first to the last, in two or three sentences.
    pub verdict: String,
    /// The entries at the peaks of the first and the last, then their sums.
    pub rows: Vec<Vec<String>>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Which it is.
    pub role: Role,
    /// What it has different from the first, in a few words.
    pub caption: String,
    /// Model, GPUs and length.
    pub configuration: String,
    /// b_max.
    pub answer: String,
    /// Why there is none.
    pub reason: Option<String>,
    /// The micro-batch in use.
    pub batch: String,
    /// Its memory at its own peak, as long as the bars of the others.
    pub bar: MemoryBar,
    /// The inputs that differ from the first, in words.
    pub changes: Vec<String>,
}

/// What a configuration is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is pinned.
    Pinned,
    /// It is the present one.
    Now,
    /// It stands there while nothing is pinned.
    Example,
}

impl Role {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "Pinned",
            Self::Now => "Now",
            Self::Example => "Example",
        }
    }
}

/// The recomputation of the example: all of it, and where that is in use, none.
fn other(now: Recomputation) -> Recomputation {
    if now == Recomputation::Full { Recomputation::None } else { Recomputation::Full }
}

/// A configuration with one thing changed, for a reader who has pinned none.
pub fn example(scenario: &Scenario) -> Scenario {
    scenario.then(scenario.with_word(Word::Recomputation(other(scenario.recipe.recomputation))))
}

impl Shown {
    /// That at a place; the last one where there is none.
    pub fn side(&self, at: usize) -> &Side {
        self.sides.get(at).unwrap_or(&self.sides[self.sides.len() - 1])
    }

    /// Compares the present configuration with what is pinned, or an example with the present one.
    pub fn of(now: &Scenario, pinned: &Pinned) -> Self {
        let all: Vec<(Role, Scenario)> = if pinned.is_empty() {
            vec![(Role::Now, *now), (Role::Example, example(now))]
        } else {
            pinned.iter().map(|pinned| (Role::Pinned, *pinned)).chain([(Role::Now, *now)]).collect()
        };
        let estimates: Vec<Estimate> = all.iter().map(|(_, scenario)| estimate(scenario)).collect();
        let lengths = estimates.iter().flat_map(|estimate| [estimate.peak().bytes, estimate.memory]);
        let length = lengths.fold(Bytes::ZERO, |one, other| if one > other { one } else { other });
        let (first, last) = (&all[0].1, &all[all.len() - 1].1);
        let comparison = compare(first, last);
        let answers: Vec<Answer> = all.iter().map(|(_, scenario)| b_max(scenario)).collect();
        let sides = all.iter().zip(&estimates).zip(&answers).enumerate();
        let sides = sides.map(|(at, ((&(role, scenario), estimate), answer))| {
            let bar = MemoryBar::at_peak(estimate, Some(length));
            Side { role, ..Side::of(&scenario, answer, bar, (at > 0).then_some(first)) }
        });
        Self {
            is_pinned: !pinned.is_empty(),
            is_full: pinned.len() == Pinned::MOST,
            about: about(now, pinned),
            sides: sides.collect(),
            verdict: several(&answers) + &verdict(&comparison, LETTERS[all.len() - 1]),
            rows: rows(&comparison),
        }
    }
}

impl Side {
    /// A pinned one with its answer and its bar, beside the `first` where it is not that.
    fn of(scenario: &Scenario, answer: &Answer, bar: MemoryBar, first: Option<&Scenario>) -> Self {
        let differences = first.map(|first| compare::changes(first, scenario));
        Self {
            role: Role::Pinned,
            caption: differences.as_deref().map_or_else(|| "What the others are compared with".to_owned(), caption),
            configuration: format::configuration(scenario),
            answer: format::answer(answer),
            reason: format::shortage(answer, scenario.unit()),
            batch: format::count(scenario.recipe.batch),
            bar,
            changes: differences.unwrap_or_default().iter().map(change).collect(),
        }
    }
}

/// What they are, in a sentence or two.
fn about(now: &Scenario, pinned: &Pinned) -> String {
    match pinned.len() {
        0 => {
            let setting = &setting::RECOMPUTATION;
            let option = other(now.recipe.recomputation).option().label;
            format!(
                "Nothing is pinned yet. As an example, A is your configuration, and B is the same with {} set to “{option}”.",
                setting.name.to_lowercase()
            )
        }
        1 => "A is the configuration that you pinned, and B is yours now.".to_owned(),
        2 => "A and B are the configurations that you pinned, and C is yours now.".to_owned(),
        _ => format!("A, B and C are the configurations that you pinned, and D is yours now. {}", FULL),
    }
}

/// What an input has different from the first, for the first few of them.
fn caption(differences: &[Difference]) -> String {
    let named = differences.iter().take(NAMED);
    let mut parts: Vec<String> =
        named.map(|one| format!("{}: {}", one.input.name(), format::value(one.input, one.after))).collect();
    if differences.len() > NAMED {
        parts.push(format!("{} more", differences.len() - NAMED));
    }
    if parts.is_empty() { "The same as A".to_owned() } else { parts.join("; ") }
}

/// The answers of all of them where there are more than two.
fn several(answers: &[Answer]) -> String {
    if answers.len() < 3 {
        return String::new();
    }
    let told: Vec<String> =
        answers.iter().zip(LETTERS).map(|(answer, letter)| format!("{letter} {}", format::answer(answer))).collect();
    format!("Largest micro-batches: {}. ", told.join(", "))
}

/// What the change from A to the `last` does to the answer and to the peak.
fn verdict(comparison: &Comparison, last: &str) -> String {
    let Comparison { before, after, .. } = comparison;
    if comparison.changes.is_empty() {
        let same = if last == "B" { "Nothing differs yet.".to_owned() } else { format!("{last} is the same as A.") };
        return format!("{same} Change a setting here or on another page, and you see here what that gives.");
    }
    // Of two it is clear which change is meant.
    let largest = if last == "B" {
        "The largest micro-batch".to_owned()
    } else {
        format!("From A to {last} the largest micro-batch")
    };
    let [was, is] = [&before.answer, &after.answer].map(format::answer);
    let answer = match (&before.answer, &after.answer) {
        (Answer::Refused(_), Answer::Refused(_)) => format!("Neither has an answer: {was}; {is}."),
        (Answer::Refused(_), _) => format!("A has no answer ({was}). In {last} the largest micro-batch is {is}."),
        (_, Answer::Refused(_)) => format!("In A the largest micro-batch is {was}. {last} has no answer ({is})."),
        (Answer::Infeasible(_), Answer::Infeasible(_)) => "Neither fits, not even the smallest micro-batch.".to_owned(),
        (Answer::Infeasible(_), Answer::Fits(_)) => {
            format!("A does not fit at all. In {last} the largest micro-batch is {is}.")
        }
        (Answer::Fits(_), Answer::Infeasible(_)) => {
            format!("In A the largest micro-batch is {was}. {last} does not fit at all.")
        }
        (Answer::Fits(one), Answer::Fits(other)) if one.batch == other.batch => {
            format!("{largest} stays {is}.")
        }
        (Answer::Fits(one), Answer::Fits(other)) => {
            let by = format::count(one.batch.abs_diff(other.batch));
            // Where the search ended early, nobody knows by how much.
            let by = match other.batch > one.batch {
                _ if one.capped || other.capped => String::new(),
                true => format!(", {by} more"),
                false => format!(", {by} fewer"),
            };
            format!("{largest} goes from {was} to {is}{by}.")
        }
    };
    let [from, to] = [before.peak.bytes, after.peak.bytes].map(format::memory);
    let batches = [before.micro_batch, after.micro_batch].map(format::count);
    let [first, second] = &batches;
    let by = format::memory(Bytes::new(comparison.delta.get().abs()));
    let direction = if comparison.delta.get() < 0.0 { "falls" } else { "rises" };
    let peak = match (is_seen(comparison.delta), first == second) {
        (false, true) => format!("At b = {second} the peak stays {to}."),
        (false, false) => format!("The peak stays {to}, with b = {first} in A and b = {second} in {last}."),
        (true, true) => format!("At b = {second} the peak {direction} by {by}, from {from} to {to}."),
        (true, false) => format!("The peak {direction} by {by}, from {from} at b = {first} to {to} at b = {second}."),
    };
    format!("{answer} {peak}")
}

/// An input that differs, with what it brings along.
fn change(change: &Difference) -> String {
    let of = |value| format::value(change.input, value);
    let told = format!("{}: from {} to {}", change.input.name(), of(change.before), of(change.after));
    let brought: Vec<_> = change.brings.iter().map(|brought| brought.input.name()).collect();
    if brought.is_empty() {
        return told;
    }
    format!("{told}; this brings its own values for {}", brought.join(", "))
}

/// Whether a difference can be seen in the table.
fn is_seen(delta: Bytes) -> bool {
    delta.gib().abs() >= TOO_LITTLE
}

/// The entries that differ, what most first, the others together, and the sums.
fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let or_dash = |bytes: Option<Bytes>| bytes.map_or_else(|| "–".to_owned(), gib);
    let (seen, others): (Vec<&EntryChange>, Vec<&EntryChange>) =
        comparison.entries.iter().partition(|entry| is_seen(entry.delta));
    let mut rows: Vec<Vec<String>> = seen
        .iter()
        .map(|entry| {
            let bucket = entry.bucket.name().to_owned();
            vec![entry.name.to_owned(), signed(entry.delta), or_dash(entry.before), or_dash(entry.after), bucket]
        })
        .collect();
    if !others.is_empty() {
        let sum = |of: fn(&EntryChange) -> Bytes| others.iter().map(|entry| of(entry)).sum::<Bytes>();
        let [before, after] =
            [sum(|entry| entry.before.unwrap_or(Bytes::ZERO)), sum(|entry| entry.after.unwrap_or(Bytes::ZERO))];
        let [one, many] = if seen.is_empty() { ["entry", "entries"] } else { ["other entry", "other entries"] };
        let named = format::counted(others.len() as u64, one, many);
        rows.push(vec![named, signed(sum(|entry| entry.delta)), gib(before), gib(after), "–".to_owned()]);
    }
    let peaks = [comparison.before.peak.bytes, comparison.after.peak.bytes].map(gib);
    let [before, after] = peaks;
    rows.push(vec!["All at the peak".to_owned(), signed(comparison.delta), before, after, "–".to_owned()]);
    rows
}

/// A size for a column of GiB.
fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), 2)
}

/// A difference with its sign, for a column of GiB.
fn signed(delta: Bytes) -> String {
    let size = gib(Bytes::new(delta.get().abs()));
    match is_seen(delta) {
        false => "0.00".to_owned(),
        true if delta.get() < 0.0 => format!("−{size}"),
        true => format!("+{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::compare::Input;
    use bmax::link;
    use proptest::prelude::*;

    fn of(link: &str) -> Shown {
        let read = link::decode(&format!("v=3&{link}"));
        assert_eq!(read.notices, [], "{link}");
        Shown::of(&read.scenario, &read.vs)
    }

    /// A size or a difference of the table.
    fn number(cell: &str) -> f64 {
        cell.replace(',', "").replace('−', "-").replace('–', "0").trim_start_matches('+').parse().expect("a number")
    }

    #[test]
    fn the_pinned_configuration_does_not_differ_from_itself() {
        for link in ["vs=", "model=70b&gpus=64&vs=", "gpus=1&model=70b&vs=", "method=paper&vs="] {
            let shown = of(link);
            assert!(shown.is_pinned && shown.sides[1].changes.is_empty(), "{link}");
            assert_eq!(shown.sides[1].caption, "The same as A");
            assert!(shown.verdict.starts_with("Nothing differs yet."), "{}", shown.verdict);
            assert_eq!(shown.sides[0].bar, shown.sides[1].bar);
            assert!(shown.rows.iter().all(|row| row[2] == row[3] && row[1] == "0.00"), "{:?}", shown.rows);
        }
    }

    #[test]
    fn what_changed_names_the_inputs_that_differ_and_no_other() {
        let shown = of("recompute=full&gpus=16&vs=recompute:selective;gpus:8");
        assert_eq!(
            shown.sides[1].changes,
            ["Number of GPUs: from 8 to 16", "Activation recomputation: from Selective to Full"],
            "in the order of links"
        );
        let shown = of("gpu=h100-80&mem=60&vs=gpu:a100-80;mem:80");
        assert!(
            shown.sides[1].changes[0].starts_with("GPU: from A100 SXM 80 GB to H100 SXM 80 GB"),
            "{:?}",
            shown.sides[1].changes
        );
        assert_eq!(shown.sides[1].changes[1], "GPU memory: from 80 GiB to 60 GiB");
    }

    #[test]
    fn the_verdict_says_the_two_answers_and_the_two_peaks() {
        // The answers are those of the library, whatever they are.
        let most = |query: &str| b_max(&link::decode(&format!("v=3&{query}")).scenario).batch().expect("it fits");
        let (selective, full) = (most("recompute=selective"), most("recompute=full"));
        let said = of("recompute=full&vs=recompute:selective").verdict;
        let answer = format!("The largest micro-batch goes from {selective} to {full}, {} more.", full - selective);
        assert!(said.starts_with(&answer) && said.contains("At b = 3 the peak falls by"), "{said}");
        let said = of("recompute=selective&b=1&vs=recompute:full;b:3").verdict;
        assert!(said.contains(&format!("from {full} to {selective}, {} fewer.", full - selective)), "{said}");
        assert!(said.contains(" at b = 3 to ") && said.ends_with("at b = 1."), "{said}");
        assert!(
            of("target=64&vs=target:256").verdict.starts_with(&format!("The largest micro-batch stays {selective}"))
        );
        let too_large = "model=gpt-3-175b&gpus=1";
        assert!(of(&format!("{too_large}&vs=s:1")).verdict.starts_with("Neither fits"));
        assert!(of(&format!("{too_large}&vs=model:7b;gpus:8")).verdict.contains("B does not fit at all."));
        assert!(of("vs=model:gpt-3-175b;gpus:1").verdict.starts_with("A does not fit at all. In B"));
    }

    #[test]
    fn without_a_pinned_one_an_example_changes_one_setting() {
        for (link, from, to) in [
            ("", "Selective", "Full"),
            ("recompute=full", "Full", "None"),
            ("recompute=none&model=gpt2&method=workshop", "None", "Full"),
        ] {
            let shown = of(link);
            assert!(!shown.is_pinned && shown.about.contains(&format!("“{to}”")), "{}", shown.about);
            assert_eq!(shown.sides[1].changes, [format!("Activation recomputation: from {from} to {to}")]);
            assert_eq!(shown.sides.iter().map(|side| side.role).collect::<Vec<_>>(), [Role::Now, Role::Example]);
        }
    }

    #[test]
    fn every_configuration_has_its_letter_its_role_and_a_caption_of_what_differs_from_the_first() {
        let read =
            link::decode("v=4&s=4096&vs=s:2048&vs=zero:1;s:2048&vs=s:1024;zero:2;gpus:16;optimizer:lion;dropout:on");
        let shown = Shown::of(&read.scenario, &read.vs);
        let [a, b, c, d] = &shown.sides[..] else { panic!("{:?}", shown.sides) };
        assert_eq!([a, b, c, d].map(|side| side.role), [Role::Pinned, Role::Pinned, Role::Pinned, Role::Now]);
        assert_eq!(a.caption, "What the others are compared with");
        assert_eq!(b.caption, "ZeRO stage: 1: optimizer");
        assert_eq!(c.caption, "Sequence length: 1,024 tokens; Number of GPUs: 16; Optimizer: Lion; 2 more");
        assert_eq!(d.caption, "Sequence length: 4,096 tokens");
        assert_eq!([a, b, c, d].map(|side| side.changes.len()), [0, 1, 5, 1]);
        assert!(shown.is_full && shown.about.contains("remove one"), "{}", shown.about);
    }

    #[test]
    fn of_more_than_two_the_verdict_says_every_answer_and_what_the_last_has_different_from_the_first() {
        let read = link::decode("v=4&vs=gpus:16&vs=model:gpt-3-175b;gpus:1");
        let shown = Shown::of(&read.scenario, &read.vs);
        let [a, b, c] = &shown.sides[..] else { panic!("{:?}", shown.sides) };
        let all =
            format!("Largest micro-batches: A {}, B does not fit, C {}. From A to C the largest", a.answer, c.answer);
        assert!(shown.verdict.starts_with(&all), "{}", shown.verdict);
        assert!(b.reason.is_some() && a.reason.is_none() && c.reason.is_none(), "{:?}", b.reason);
        let same = link::decode("v=4&vs=&vs=gpus:16");
        assert!(Shown::of(&same.scenario, &same.vs).verdict.contains("C is the same as A."));
    }

    #[test]
    fn all_bars_have_the_length_that_the_largest_one_needs() {
        let read = link::decode("v=4&gpu=h100-80&vs=gpu:l4&vs=gpu:h200&vs=gpu:a100-40");
        let shown = Shown::of(&read.scenario, &read.vs);
        assert!(shown.sides.iter().all(|side| side.bar.length == shown.sides[0].bar.length));
        assert_eq!(shown.sides.len(), SIDES);
        assert!(shown.sides.iter().all(|side| side.bar.memory <= side.bar.length && side.bar.peak <= side.bar.length));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_differences_of_the_table_add_up_to_the_difference_of_the_peaks(
            now in any_scenario(), pinned in prop::collection::vec(any_scenario(), 0..=4),
        ) {
            let pinned = pinned.into_iter().fold(Pinned::NONE, Pinned::with);
            let shown = Shown::of(&now, &pinned);
            texts_are_sound(&shown);
            prop_assert_eq!(shown.sides.len(), pinned.len().max(1) + 1);
            let pinned = pinned.get(0).copied();
            let (sum, parts) = shown.rows.split_last().expect("the sums");
            // Every cell is rounded by itself.
            for column in 1..4 {
                let added: f64 = parts.iter().map(|row| number(&row[column])).sum();
                let off = (added - number(&sum[column])).abs();
                prop_assert!(off <= 0.0051 * (parts.len() + 1) as f64 + 1e-9 * added.abs(), "{:?}", shown.rows);
            }
            let peaks = [&pinned.unwrap_or(now), &if pinned.is_some() { now } else { example(&now) }]
                .map(|scenario| estimate(scenario).peak().bytes.gib());
            prop_assert!((number(&sum[1]) - (peaks[1] - peaks[0])).abs() <= 0.0051 + 1e-9 * peaks[1]);
            // What is brought along is in the line of what brings it.
            let before = pinned.unwrap_or(now);
            let after = if pinned.is_some() { now } else { example(&now) };
            let changes = &shown.sides[shown.sides.len() - 1].changes;
            for input in [Input::Model, Input::Gpu].into_iter().chain(Input::each()) {
                let differs = input.value(&before) != input.value(&after);
                let is_said = changes.iter().any(|change| change.contains(input.name()));
                // What follows from other inputs need not be said.
                let may_follow = ["b", "chart_gpus", "chart_recompute"].contains(&input.key());
                prop_assert!(is_said || !differs || may_follow, "{} in {:?}", input.name(), changes);
            }
        }
    }
}
