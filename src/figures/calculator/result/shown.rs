//! What the result shows: the answer, the bar, what binds, and what nobody can know before the run.

use bmax::chart::MemoryBar;
use bmax::{
    Answer, Balance, Bytes, Change, Choice, Counters, Scenario, Shortage, catalogue, counters, number, range::Outlook,
};

use crate::figures::levers::{describe, together};
use crate::site::{Facts, Ranking, Standing, format};

/// What the result shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whether the ledger answers.
    pub is_ledger: bool,
    /// Whose answer it is.
    pub method: &'static str,
    /// The answer.
    pub answer: String,
    /// Whether the answer is words, which would not fit beside the others at the size of a number.
    pub in_words: bool,
    /// Contradictory settings, each with what its button does.
    pub conflicts: Vec<(String, String)>,
    /// What should be known of settings that go together, each with what its button does, if there is one.
    pub remarks: Vec<(String, Option<String>)>,
    /// What stands in on a GPU that runs no CUDA, where the ledger answers.
    pub without_cuda: Option<&'static str>,
    /// The bar and its legend.
    pub bar: MemoryBar,
    /// What the bar shows.
    pub bar_title: String,
    /// What the button above the bar does.
    pub use_b_max: String,
    /// Whether that is nothing.
    pub idle: bool,
    /// How the chosen micro-batch stands.
    pub standing: Standing,
    /// By how much.
    pub balance: String,
    /// What binds, and whether more GPUs would mend it.
    pub binds: String,
    /// What nobody can know, in the order of [`UNKNOWNS`], with its values in the order of [`OUTLOOKS`].
    pub unknowns: [[String; OUTLOOKS.len()]; UNKNOWNS.len()],
    /// What the counters speak of.
    pub counted: String,
    /// The peak as tools would show it, in the order of [`COUNTERS`].
    pub counters: [String; 3],
}

/// The outlooks in the order of their columns.
const OUTLOOKS: [Outlook; 3] = [Outlook::Safe, Outlook::Likely, Outlook::Optimistic];

/// What nobody can know before the run.
pub const UNKNOWNS: [&str; 5] =
    ["CUDA context, GiB", "Communication buffers, GiB", "Fragmentation", "Kernels", "Pools of communication streams"];

/// The counters that can be compared with the peak: their names, and what they count.
pub const COUNTERS: [(&str, &str); 3] = [
    ("max_memory_allocated", "tensors of PyTorch"),
    ("max_memory_reserved", "blocks its allocator holds"),
    ("nvidia-smi", "the whole process"),
];

impl Shown {
    /// What these facts show.
    pub fn of(facts: &Facts) -> Self {
        let Facts { scenario, estimate, answer, .. } = facts;
        let most = answer.batch();
        let batch = format::batch(scenario.recipe.batch, scenario.unit());
        let seen = counters(scenario);
        Self {
            is_ledger: facts.is_ledger(),
            method: scenario.method.label(),
            answer: format::answer(answer),
            in_words: most.is_none(),
            conflicts: scenario.conflicts().into_iter().map(|found| (found.message, press(found.mend))).collect(),
            remarks: scenario
                .remarks()
                .into_iter()
                .map(|found| (found.message.to_owned(), found.mend.map(press)))
                .collect(),
            without_cuda: if facts.is_ledger() { catalogue::without_cuda(scenario) } else { None },
            bar: MemoryBar::of(estimate, None),
            bar_title: format!("Memory of one GPU at {batch} of {}", format::length(scenario)),
            use_b_max: most.map_or_else(|| "Show b_max".to_owned(), |most| format!("Show b = {}", format::count(most))),
            idle: most.is_none_or(|most| most == scenario.recipe.batch),
            standing: Standing::of(facts),
            balance: balance(facts),
            binds: binds(facts),
            unknowns: unknowns(scenario),
            counted: counted(&batch, estimate.balance(), &seen),
            counters: [seen.allocated, seen.reserved, seen.device].map(format::memory),
        }
    }
}

/// What a button does that makes a change.
fn press(change: Change) -> String {
    let value = match change {
        Change::Number(_, nearest) => format::input(nearest),
        Change::Word(word) => word.option().label.to_owned(),
        _ => String::new(),
    };
    format!("Set {} to {value}", change.name())
}

fn balance(facts: &Facts) -> String {
    let (by, how) = match facts.estimate.balance() {
        Balance::Free(free) if facts.is_ledger() => (free, "left"),
        Balance::Free(free) => (free, "left below the headroom"),
        Balance::Close(over) => (over, "into the headroom"),
        Balance::Over(over) => (over, "more than the GPU has"),
        Balance::LacksHost(lacks) => (lacks, "of CPU memory lacking"),
    };
    format!("{} {how}", format::memory(by))
}

/// The reason behind the answer, in whole sentences: which entry, at which instant, by how much. Where all buckets are
/// counted at once there is no instant to speak of.
fn binds(facts: &Facts) -> String {
    let (largest, unit) = (&facts.limit.largest, facts.scenario.unit());
    let each = unit.one();
    let instant = facts.limit.instant.name;
    let entry = format!("“{}” ({}), {}", largest.name, largest.bucket.name(), format::memory(largest.bytes));
    match &facts.answer {
        Answer::Fits(room) if room.capped => "Nothing within the range of this site.".to_owned(),
        Answer::Fits(room) if room.by_host => {
            format!("CPU memory: with the next {each} each machine lacks {}.", format::memory(room.next_lacks))
        }
        Answer::Fits(room) => {
            let [one, lack, usable] = [room.per_sequence, room.next_lacks, facts.estimate.usable()].map(format::memory);
            let batch = format::counted(room.batch, "fits", "fit");
            if facts.is_ledger() {
                format!(
                    "Each {each} adds {one}. {batch} into {usable}; the next one is {lack} too much at “{instant}”. \
                     The largest entry there is {entry}."
                )
            } else {
                format!(
                    "Each {each} takes {one} of activations. {batch} into {usable}; the next one is {lack} too much."
                )
            }
        }
        Answer::Infeasible(reason) if reason.shortage == Shortage::HostMemory => {
            format::shortage(&facts.answer, facts.scenario.unit()).unwrap_or_default()
        }
        // The conflicts themselves are listed above it.
        Answer::Refused(refusal) => format::would_be(refusal, unit),
        Answer::Infeasible(reason) => {
            let why = format::shortage(&facts.answer, unit).unwrap_or_default();
            let at = if facts.is_ledger() { format!(" at “{instant}”") } else { String::new() };
            let mend = match reason.fewest_gpus {
                // What mends it is said with the reason.
                _ if reason.training.is_some() => return format!("{why} The largest entry{at} is {entry}."),
                None => "More GPUs alone do not help.".to_owned(),
                Some(gpus) => format!("With {} one {each} fits.", format::counted(gpus, "GPU", "GPUs")),
            };
            format!("{why} The largest entry{at} is {entry}. {mend}")
        }
    }
}

/// What the counters speak of, and what the allocator gives back so that they are not more than the GPU has.
fn counted(batch: &str, balance: Balance, seen: &Counters) -> String {
    if let Balance::Over(_) = balance {
        return format!("{batch} would take, had the GPU so much:");
    }
    let given_back = if seen.given_back > Bytes::ZERO {
        let more = format::memory(seen.given_back);
        format!(" (the allocator would cache {more} more, and gives that back at the end of the GPU)")
    } else {
        String::new()
    };
    format!("At {batch} a run should show about{given_back}:")
}

/// The named unknowns that part safe, likely and optimistic.
fn unknowns(scenario: &Scenario) -> [[String; OUTLOOKS.len()]; UNKNOWNS.len()] {
    let each = |value: fn(&Scenario) -> String| OUTLOOKS.map(|outlook| value(&outlook.of(scenario)));
    let communication = |seen: &Scenario| match seen.cluster.gpus {
        1 => "none".to_owned(),
        _ => number::plain(seen.device.communication.gib()),
    };
    [
        each(|seen| number::plain(seen.device.cuda_context.gib())),
        each(communication),
        each(|seen| number::plain(seen.device.fragmentation.get()) + " %"),
        each(|seen| seen.recipe.kernels.key().to_owned()),
        ["apart", "shared", "shared"].map(str::to_owned),
    ]
}

/// The three changes that gain most, each with where it leads; where nothing fits, the three cheapest ways.
pub fn helpful(ranking: &Ranking) -> Vec<(String, String)> {
    if let [_, ..] = ranking.ways.fitting[..] {
        let cheapest = ranking.ways.fitting.iter().take(3);
        return cheapest.map(|way| (together(&way.changes), format::count(way.after))).collect();
    }
    let gaining = ranking.gaining().iter().take(3);
    gaining.map(|lever| (describe(lever.change), lever.after.map_or_else(String::new, format::count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use proptest::prelude::*;

    fn shown(query: &str) -> Shown {
        Shown::of(&facts_of(bmax::link::decode(&format!("v=3&{}", query.trim_start_matches('?'))).scenario))
    }

    #[test]
    fn the_worked_7b_example_binds_as_the_workshop_counts_it() {
        let shown = shown("?method=workshop");
        // 17 GiB of activations for each sequence; three fit into 72 GiB, and the fourth lacks 9.04 GiB.
        assert_eq!(
            shown.binds,
            "Each sequence takes 17.0 GiB of activations. 3 fit into 72.0 GiB; the next one is 9.04 GiB too much."
        );
        assert!(!shown.is_ledger && !shown.in_words);
    }

    #[test]
    fn what_does_not_fit_says_why_and_how_many_gpus_would_mend_it() {
        let shown = shown("?method=workshop&gpus=1");
        assert!(shown.in_words && shown.idle && shown.use_b_max == "Show b_max");
        for part in ["optimizer state alone leave no room", "The largest entry is “", "With 2 GPUs one sequence fits."]
        {
            assert!(shown.binds.contains(part), "{part} is not in {}", shown.binds);
        }
    }

    #[test]
    fn a_conflict_says_what_resolves_it() {
        let conflicts = shown("?method=paper&gpus=10&tp=4").conflicts;
        let [(message, press)] = conflicts.as_slice() else { panic!("one conflict: {conflicts:?}") };
        assert_eq!(message, "Groups of 4 (4 tensor-parallel) cannot be made of 10 GPUs; 12 GPUs can.");
        assert_eq!(press, "Set Number of GPUs to 12");
    }

    #[test]
    fn the_unknowns_are_those_of_each_outlook() {
        let scenario = Scenario::workshop();
        let unknowns = unknowns(&scenario);
        for (at, outlook) in OUTLOOKS.into_iter().enumerate() {
            let device = outlook.of(&scenario).device;
            assert_eq!(unknowns[0][at], number::plain(device.cuda_context.gib()));
            assert_eq!(unknowns[1][at], number::plain(device.communication.gib()));
        }
        // One GPU has nobody to talk to.
        let alone = super::unknowns(&bmax::link::decode("?v=3&gpus=1").scenario);
        assert!(alone[1].iter().all(|text| text == "none"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_result(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario)));
        }

        #[test]
        fn what_would_help_is_named_with_where_it_leads(scenario in any_scenario()) {
            let helpful = helpful(&Ranking::of(&scenario.with_batch(1)));
            prop_assert!(helpful.len() <= 3);
            texts_are_sound(&helpful);
        }
    }
}
