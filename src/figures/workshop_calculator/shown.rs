//! What the figure shows: the answer, the division behind it, and the bar with as many sequences as fit.

use bmax::chart::MemoryBar;
use bmax::division::line_at_peak;
use bmax::{Answer, Bytes, Field, Method, estimate, preview};

use crate::site::{Facts, format};

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The largest micro-batch, or that there is none.
    pub most: String,
    /// Whose count it is, or why nothing fits.
    pub told: String,
    /// What the memory is divided into, with as many sequences as fit, or with one where none does.
    pub rows: Vec<Row>,
    /// The same as a bar.
    pub bar: MemoryBar,
}

/// A part of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub name: String,
    /// Its size.
    pub size: String,
}

impl Shown {
    /// What these facts show.
    pub fn of(facts: &Facts) -> Self {
        let unit = facts.scenario.unit();
        let filled = preview::filled(&facts.scenario);
        let estimate = estimate(&filled);
        Self {
            most: match &facts.answer {
                Answer::Fits(room) if !room.capped => format::batch(room.batch, unit),
                answer => format::answer(answer),
            },
            told: format::shortage(&facts.answer, unit).unwrap_or_else(|| whose(facts.scenario.method).to_owned()),
            rows: rows(facts, filled.recipe.batch),
            bar: MemoryBar::of(&estimate, None),
        }
    }
}

/// Whose count answers.
const fn whose(method: Method) -> &'static str {
    match method {
        Method::Workshop => "By the workshop’s count.",
        Method::Paper => "By the paper’s count.",
        Method::Ledger => "Counted tensor by tensor.",
    }
}

fn rows(facts: &Facts, batch: u32) -> Vec<Row> {
    let scenario = facts.scenario.with_batch(batch);
    let line = line_at_peak(&scenario);
    let growing = Bytes::new(line.per_sequence.get() * f64::from(batch));
    let kept = scenario.device.memory - line.usable;
    let row = |name: String, size: String| Row { name, size };
    let grows = if facts.is_ledger() { "Grows with the batch" } else { "Activations" };
    let each = format!("{grows}, {}", format::batch(batch, scenario.unit()));
    let mut rows = vec![
        row("Fixed on each GPU".to_owned(), format::memory(line.fixed)),
        row(each, format!("{batch} × {} = {}", format::memory(line.per_sequence), format::memory(growing))),
    ];
    // The ledger counts what a share is kept free for.
    if kept > Bytes::ZERO {
        rows.push(row(
            format!("Kept free, {} %", format::digits(scenario.device.headroom.get(), 0)),
            format::memory(kept),
        ));
    }
    let left = line.usable - line.fixed - growing;
    rows.push(if left.get() < 0.0 {
        row("Too much".to_owned(), format::memory(Bytes::new(-left.get())))
    } else {
        row("Left over".to_owned(), format::memory(left))
    });
    rows
}

/// Whether a count has no use for a number: the ledger adds the parameters up from the shape of the model.
pub fn is_unread(field: Field, method: Method) -> bool {
    field == Field::Parameters && method == Method::Ledger
}

/// The sentence below a field.
pub fn help(field: Field, method: Method) -> &'static str {
    match field {
        field if is_unread(field, method) => "Counted tensor by tensor, it follows from the numbers below.",
        Field::Memory => "Of one GPU.",
        Field::Gpus => "ZeRO-3 divides the fixed part among them.",
        Field::Parameters => "16 bytes each: weights, gradients, Adam’s two averages.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::Scenario;
    use bmax::link::{self, Beginning};
    use proptest::prelude::*;

    fn rows(scenario: Scenario) -> Vec<(String, String)> {
        Shown::of(&facts_of(scenario)).rows.into_iter().map(|row| (row.name, row.size)).collect()
    }

    fn told(rows: &[(String, String)]) -> Vec<(&str, &str)> {
        rows.iter().map(|(name, size)| (name.as_str(), size.as_str())).collect()
    }

    /// 16 · 7e9 / 8 bytes are 13.04 GiB, 34 · 2,048 · 4,096 · 32 · 2 bytes are 17.0 GiB, and 0.9 · 80 are 72 GiB.
    #[test]
    fn the_workshop_s_example_is_broken_down_as_the_workshop_does() {
        let example = Beginning::Workshop.scenario();
        let shown = Shown::of(&facts_of(example));
        assert_eq!((shown.most.as_str(), shown.told.as_str()), ("3 sequences", "By the workshop’s count."));
        let rows = rows(example);
        assert_eq!(
            told(&rows),
            [
                ("Fixed on each GPU", "13.0 GiB"),
                ("Activations, 3 sequences", "3 × 17.0 GiB = 51.0 GiB"),
                ("Kept free, 10 %", "8.00 GiB"),
                ("Left over", "7.96 GiB"),
            ]
        );
        // The chosen micro-batch is no input of this figure.
        assert_eq!(Shown::of(&facts_of(example.with_batch(1))), shown);
    }

    /// On one GPU 16 · 7e9 bytes are 104.3 GiB, which is 32.3 more than 72, and one sequence adds 17.0.
    #[test]
    fn where_nothing_fits_it_says_by_how_much() {
        let alone = Scenario {
            cluster: bmax::Cluster { gpus: 1, ..Beginning::Workshop.scenario().cluster },
            ..Beginning::Workshop.scenario()
        };
        let shown = Shown::of(&facts_of(alone));
        assert_eq!(shown.most, "does not fit");
        assert!(shown.told.starts_with("Parameters, gradients and optimizer state alone"), "{}", shown.told);
        let rows = rows(alone);
        assert_eq!(told(&rows)[0], ("Fixed on each GPU", "104.3 GiB"));
        assert_eq!(told(&rows)[3], ("Too much", "49.3 GiB"));
    }

    #[test]
    fn counted_tensor_by_tensor_nothing_is_kept_free_and_n_is_not_read() {
        let ledger = Scenario { method: Method::Ledger, ..Beginning::Workshop.scenario() };
        let rows = rows(ledger);
        assert!(told(&rows).iter().all(|(name, _)| !name.starts_with("Kept free")), "{rows:?}");
        assert!(is_unread(Field::Parameters, Method::Ledger) && !is_unread(Field::Parameters, Method::Workshop));
    }

    /// The rest of the answers that `maxBatch` of the workshop’s page gives without recomputation, or with all of it:
    /// its own selective recomputation is another one.
    #[test]
    fn the_presets_answer_as_the_workshop_s_page_does() {
        for (query, most) in [
            ("model=1b&gpus=1&recompute=none", 2),
            ("model=1b&gpus=1&recompute=full", 304),
            ("model=7b&gpus=8&recompute=none", 1),
            ("model=7b&gpus=8&recompute=full", 117),
            ("model=70b&gpus=64&recompute=full", 22),
        ] {
            let read = link::decode(&format!("v=3&{query}&s=2048&method=workshop&gpu=a100-80"));
            let shown = Shown::of(&facts_of(read.scenario));
            assert_eq!(shown.most, format!("{most} sequence{}", if most == 1 { "" } else { "s" }), "{query}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_broken_down(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario)));
        }
    }
}
