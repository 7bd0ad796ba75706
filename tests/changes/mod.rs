//! What each option and each number changes, in configurations of every kind: a table that says which answers a change of
//! the estimator moves, and in which direction. `make accuracy` writes it.

mod configurations;

use std::fmt::Write;

use bmax::cost::{Speed, cost};
use bmax::strategy::cheapest_plan;
use bmax::{
    Bucket, Entry, Field, Scenario, b_max, catalogue, estimate, fewest_gpus, inverse, levers, link, range, search,
    setting, sweep,
};

use crate::support::golden;
use crate::support::held::throughout;

/// Where the table stands.
pub const PATH: &str = "tests/golden/changes.txt";

/// An A100 by its data sheet, so that steps have seconds.
const SPEED: Speed = Speed::from_peak(312.0, 25.0);

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// One line: what is held, what fits and what it takes.
fn line(scenario: &Scenario) -> String {
    let counted = estimate(scenario);
    let peak = counted.peak();
    let [all, host] = throughout(&counted);
    let cost = cost(scenario, 4, SPEED);
    let lines = counted.entries.len() + counted.host.entries.len();
    let mut line = format!(
        " {lines:>3} {:>13.0} {all:>14.0} {host:>13.0} {:>7} {:>9.3}  {}",
        peak.bytes.get(),
        shown(b_max(scenario).batch()),
        cost.seconds(),
        peak.instant.name
    );
    for conflict in scenario.conflicts() {
        _ = write!(line, "; {:?}", conflict.mend);
    }
    line
}

/// The lines of a configuration by their names, and where they are most.
fn held(scenario: &Scenario) -> String {
    let counted = estimate(scenario);
    let names = |entries: &[Entry]| entries.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    let mut text = format!("  lines: {}\n", names(&counted.entries));
    if !counted.host.entries.is_empty() {
        _ = writeln!(text, "  in CPU memory: {}; it lacks {:?}", names(&counted.host.entries), counted.host.lacks());
    }
    for bucket in Bucket::ALL {
        let (instant, bytes) = counted.fullest(*bucket);
        _ = writeln!(text, "  most of {}: {:.0}, {}", bucket.name(), bytes.get(), counted.instants[instant].name);
    }
    for stage in counted.stages() {
        _ = writeln!(text, "  stage {}, rank {}: {:.0}", stage.stage, stage.rank, stage.peak.bytes.get());
    }
    let largest: Vec<_> = counted.largest().iter().take(6).map(|entry| entry.name).collect();
    _ = writeln!(text, "  at the peak: {}; {:?}", largest.join(", "), counted.balance());
    text
}

/// What fits, asked in every way there is.
fn fitting(scenario: &Scenario) -> String {
    let range = range::range(scenario);
    let [safe, optimistic] = [range.safe, range.optimistic].map(|answer| shown(answer.batch()));
    let batch = scenario.recipe.batch;
    let [gpus, for_twice] = [batch, 2 * batch].map(|batch| shown(fewest_gpus(scenario, batch)));
    let longest = shown(inverse::longest_sequence(scenario, batch));
    let least = shown(inverse::least_memory(scenario, batch).map(|bytes| format!("{:.0}", bytes.get())));
    let largest = shown(inverse::largest_model(scenario, batch).map(|model| model.parameters));
    let each = |asked: &[u32], answers: Vec<Option<u32>>| {
        let pairs = asked.iter().zip(answers).map(|(asked, batch)| format!("{asked} {}", shown(batch)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let lengths = sweep::sequence_lengths(8);
    let by_length = each(&lengths, sweep::b_max_by_sequence(scenario, &lengths));
    let memories = sweep::memories(scenario, 6);
    let by_memory = each(&memories, sweep::b_max_by_memory(scenario, &memories));
    let sizes: Vec<_> =
        sweep::model_sizes(&scenario.model, 5).iter().map(|model| model.parameters.to_string()).collect();
    let tried: Vec<_> = search::by_running_out(scenario).iter().map(|probe| probe.batch.to_string()).collect();
    format!(
        "  safe {safe}, optimistic {optimistic}; GPUs for the batch {gpus}, for twice as many {for_twice}\n  \
         longest sequence {longest}; least memory {least}; largest model {largest}\n  \
         b_max by length: {by_length}; by MiB: {by_memory}\n  \
         sizes of the same shape: {}\n  tried until it runs out: {}\n",
        sizes.join(", "),
        tried.join(" ")
    )
}

/// The levers, and the rungs to the global batch.
fn measures(scenario: &Scenario) -> String {
    let mut text = String::new();
    let device = catalogue::device("h200").expect("listed").taken();
    for lever in levers::ranked(scenario, &[device]) {
        let [before, after] = [lever.before, lever.after].map(shown);
        _ = writeln!(text, "  {:?}: {before} -> {after}, {} more; {}", lever.change, lever.gain(), lever.change.cost());
    }
    for rung in &cheapest_plan(scenario, SPEED).rungs {
        let cost = rung.cost.map(|cost| format!("{:.3} s", cost.seconds()));
        _ = writeln!(text, "  rung {:?}: {}, {}", rung.measure, shown(rung.b_max), shown(cost));
    }
    text
}

/// Another value of a number: about twice it, or half of it where that is too much.
fn changed(scenario: &Scenario, field: Field) -> Option<(f64, Scenario)> {
    let now = scenario.number(field);
    [2.0 * now + 1.0, now / 2.0].into_iter().find_map(|value| {
        let value = if field.bound().whole { value.round() } else { value };
        scenario.with_number(field, value).ok().map(|changed| (value, changed))
    })
}

/// The table of all configurations.
pub fn table() -> String {
    let mut table = "\
# What each option and each number changes. Written by `make accuracy`; do not edit.
#
# Each block is a configuration: its line, what else is asked of it, its levers and its plan; and then a line for each option
# and number that changes the line: n lines of the ledger, bytes at the peak, at all instants together and in CPU memory, b_max,
# and seconds of a step of four micro-batches at 312 TFLOP/s and 25 GB/s.
"
    .to_owned();
    for (name, query) in configurations::ALL {
        let read = link::decode(&format!("v=3&{query}"));
        assert_eq!(read.notices, [], "{name}");
        let scenario = read.scenario;
        _ = writeln!(
            table,
            "\n{name}\n?{query}\n{:<24} {:>3} {:>13} {:>14} {:>13} {:>7} {:>9}  peak; what mends contradictions",
            "", "n", "peak", "all instants", "host", "b_max", "seconds"
        );
        let own = line(&scenario);
        _ = writeln!(table, "{:<24}{own}", "as it is");
        table += &(held(&scenario) + &fitting(&scenario) + &measures(&scenario));
        let mut unchanged = Vec::new();
        let mut add = |named: String, changed: &Scenario| {
            let line = line(changed);
            if line == own {
                unchanged.push(named);
            } else {
                _ = writeln!(table, "{named:<24}{line}");
            }
        };
        for setting in setting::ALL {
            for option in setting.options.iter().filter(|option| option.key != setting.get(&scenario)) {
                let changed = setting.read(option.key, scenario).expect("a word of its own");
                add(format!("{}={}", setting.key, option.key), &changed);
            }
        }
        for field in Field::ALL {
            if let Some((value, changed)) = changed(&scenario, *field) {
                add(format!("{}={value}", field.bound().key), &changed);
            }
        }
        _ = writeln!(table, "no difference: {}", unchanged.join(" "));
    }
    table
}

#[test]
fn no_answer_changes_unseen() {
    golden::unmoved(PATH, &table(), "make accuracy");
}
