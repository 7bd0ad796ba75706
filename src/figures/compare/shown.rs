//! What the figure shows: two configurations, what differs between them, and what that does to the memory of a GPU.

use bmax::chart::MemoryBar;
use bmax::compare::{Comparison, Difference, EntryChange, compare};
use bmax::{Answer, Bytes, Choice, Recomputation, Scenario, estimate, setting, setting::Word};

use crate::site::format;

/// What is too little to be seen in a column of GiB with two digits after the point.
const TOO_LITTLE: f64 = 0.005;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whether the first one is pinned; otherwise the second one is an example.
    pub is_pinned: bool,
    /// What the two are.
    pub about: String,
    /// Both, the first one first.
    pub sides: [Side; 2],
    /// What comes of the change, in one or two sentences.
    pub verdict: String,
    /// The inputs that differ, in words.
    pub changes: Vec<String>,
    /// The entries at the two peaks, then their sums.
    pub rows: Vec<Vec<String>>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Which it is.
    pub name: &'static str,
    /// Model, GPUs and length.
    pub configuration: String,
    /// b_max.
    pub answer: String,
    /// The micro-batch in use.
    pub batch: String,
    /// Its memory at its own peak, as long as the other one's bar.
    pub bar: MemoryBar,
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
    /// Compares the present configuration with the pinned one, or an example with the present one.
    pub fn of(now: &Scenario, pinned: Option<&Scenario>) -> Self {
        let example = example(now);
        let (before, after, names) = match pinned {
            Some(pinned) => (pinned, now, ["Pinned", "Now"]),
            None => (now, &example, ["Now", "Example"]),
        };
        let comparison = compare(before, after);
        let about = match pinned {
            Some(_) => "A is the configuration that you pinned, and B is yours now.".to_owned(),
            None => {
                let setting = &setting::RECOMPUTATION;
                let option = other(now.recipe.recomputation).option().label;
                format!(
                    "Nothing is pinned yet. As an example, A is your configuration, and B is the same with {} set to \
                     “{option}”.",
                    setting.name.to_lowercase()
                )
            }
        };
        let [first, second] = [before, after].map(estimate);
        let longest = [first.peak().bytes, first.memory, second.peak().bytes, second.memory];
        let length = longest.into_iter().fold(Bytes::ZERO, |one, other| if one > other { one } else { other });
        let side = |at: usize| {
            let scenario = [before, after][at];
            Side {
                name: names[at],
                configuration: format::configuration(scenario),
                answer: format::answer(&[&comparison.before, &comparison.after][at].answer),
                batch: format::count(scenario.recipe.batch),
                bar: MemoryBar::at_peak([&first, &second][at], Some(length)),
            }
        };
        Self {
            is_pinned: pinned.is_some(),
            about,
            sides: [side(0), side(1)],
            verdict: verdict(&comparison),
            changes: comparison.changes.iter().map(change).collect(),
            rows: rows(&comparison),
        }
    }
}

/// What the change does to the answer and to the peak.
fn verdict(comparison: &Comparison) -> String {
    let Comparison { before, after, .. } = comparison;
    if comparison.changes.is_empty() {
        return "Nothing differs yet. Change a setting here or on another page, and you see here what that gives."
            .to_owned();
    }
    let [was, is] = [&before.answer, &after.answer].map(format::answer);
    let answer = match (&before.answer, &after.answer) {
        (Answer::Refused(_), Answer::Refused(_)) => format!("Neither has an answer: {was}; {is}."),
        (Answer::Refused(_), _) => format!("A has no answer ({was}). In B the largest micro-batch is {is}."),
        (_, Answer::Refused(_)) => format!("In A the largest micro-batch is {was}. B has no answer ({is})."),
        (Answer::Infeasible(_), Answer::Infeasible(_)) => "Neither fits, not even the smallest micro-batch.".to_owned(),
        (Answer::Infeasible(_), Answer::Fits(_)) => {
            format!("A does not fit at all. In B the largest micro-batch is {is}.")
        }
        (Answer::Fits(_), Answer::Infeasible(_)) => {
            format!("In A the largest micro-batch is {was}. B does not fit at all.")
        }
        (Answer::Fits(one), Answer::Fits(other)) if one.batch == other.batch => {
            format!("The largest micro-batch stays {is}.")
        }
        (Answer::Fits(one), Answer::Fits(other)) => {
            let by = format::count(one.batch.abs_diff(other.batch));
            // Where the search ended early, nobody knows by how much.
            let by = match other.batch > one.batch {
                _ if one.capped || other.capped => String::new(),
                true => format!(", {by} more"),
                false => format!(", {by} fewer"),
            };
            format!("The largest micro-batch goes from {was} to {is}{by}.")
        }
    };
    let [from, to] = [before.peak.bytes, after.peak.bytes].map(format::memory);
    let batches = [before.micro_batch, after.micro_batch].map(format::count);
    let [first, second] = &batches;
    let by = format::memory(Bytes::new(comparison.delta.get().abs()));
    let direction = if comparison.delta.get() < 0.0 { "falls" } else { "rises" };
    let peak = match (is_seen(comparison.delta), first == second) {
        (false, true) => format!("At b = {second} the peak stays {to}."),
        (false, false) => format!("The peak stays {to}, with b = {first} in A and b = {second} in B."),
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
    use bmax::{b_max, link};
    use proptest::prelude::*;

    fn of(link: &str) -> Shown {
        let read = link::decode(&format!("v=3&{link}"));
        assert_eq!(read.notices, [], "{link}");
        Shown::of(&read.scenario, read.vs.as_ref())
    }

    /// A size or a difference of the table.
    fn number(cell: &str) -> f64 {
        cell.replace(',', "").replace('−', "-").replace('–', "0").trim_start_matches('+').parse().expect("a number")
    }

    #[test]
    fn the_pinned_configuration_does_not_differ_from_itself() {
        for link in ["vs=", "model=70b&gpus=64&vs=", "gpus=1&model=70b&vs=", "method=paper&vs="] {
            let shown = of(link);
            assert!(shown.is_pinned && shown.changes.is_empty(), "{link}");
            assert!(shown.verdict.starts_with("Nothing differs yet."), "{}", shown.verdict);
            assert_eq!(shown.sides[0].bar, shown.sides[1].bar);
            assert!(shown.rows.iter().all(|row| row[2] == row[3] && row[1] == "0.00"), "{:?}", shown.rows);
        }
    }

    #[test]
    fn what_changed_names_the_inputs_that_differ_and_no_other() {
        let shown = of("recompute=full&gpus=16&vs=recompute:selective;gpus:8");
        assert_eq!(
            shown.changes,
            ["Number of GPUs: from 8 to 16", "Activation recomputation: from Selective to Full"],
            "in the order of links"
        );
        let shown = of("gpu=h100-80&mem=60&vs=gpu:a100-80;mem:80");
        assert!(shown.changes[0].starts_with("GPU: from A100 SXM 80 GB to H100 SXM 80 GB"), "{:?}", shown.changes);
        assert_eq!(shown.changes[1], "GPU memory: from 80 GiB to 60 GiB");
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
            assert_eq!(shown.changes, [format!("Activation recomputation: from {from} to {to}")]);
            assert_eq!(shown.sides.map(|side| side.name), ["Now", "Example"]);
        }
    }

    #[test]
    fn both_bars_have_the_length_that_the_larger_one_needs() {
        let shown = of("gpu=h200&vs=gpu:l4");
        assert_eq!(shown.sides[0].bar.length, shown.sides[1].bar.length);
        assert!(shown.sides.iter().all(|side| side.bar.memory <= side.bar.length && side.bar.peak <= side.bar.length));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_differences_of_the_table_add_up_to_the_difference_of_the_peaks(
            now in any_scenario(), pinned in prop::option::of(any_scenario()),
        ) {
            let shown = Shown::of(&now, pinned.as_ref());
            texts_are_sound(&shown);
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
            for input in [Input::Model, Input::Gpu].into_iter().chain(Input::each()) {
                let differs = input.value(&before) != input.value(&after);
                let is_said = shown.changes.iter().any(|change| change.contains(input.name()));
                // What follows from other inputs need not be said.
                let may_follow = ["b", "chart_gpus", "chart_recompute"].contains(&input.key());
                prop_assert!(is_said || !differs || may_follow, "{} in {:?}", input.name(), shown.changes);
            }
        }
    }
}
