//! From the global batch a recipe asks for to micro-batch, GPUs and accumulation steps.

mod drawing;
mod planned;
mod updates;

use bmax::planner::Accumulation;
use bmax::{BatchUnit, Choice, Field, number};

use crate::site::{Facts, Live, State, format, mount_live, mount_pressed};
use drawing::boxes;
use planned::{Planned, equation, grouped, in_unit, sequences};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("terms", state, updates::terms);
    mount_pressed("planner", state, planner, press);
    mount_live("update-time", state, updates::draw);
}

/// The plans; that the reader prefers the other of two is no part of the configuration.
fn planned(live: &Live, facts: &Facts) -> Result<Planned, String> {
    Planned::of(&facts.scenario, &facts.answer, !live.word("other").is_empty())
}

/// The target, the plan that reaches it, and what that plan looks like in time.
fn planner(live: &Live) {
    let (planned, unit, default, batch) = live.facts(|facts| {
        (planned(live, facts), facts.scenario.goal.unit, facts.base.goal.unit, facts.scenario.recipe.batch)
    });
    live.set("unit", unit.key());
    live.control_attr("unit", "data-changed", truth(unit != default));
    live.text("shortage", planned.as_ref().err().map_or("", |reason| reason));
    let planned = planned.as_ref().ok();
    let texts = planned.map(texts).unwrap_or_default();
    for (name, text) in OUTPUTS.into_iter().zip(&texts) {
        live.text(name, if text.is_empty() { "–" } else { text });
    }
    let is = |what: fn(&Planned) -> bool| planned.is_some_and(what);
    let fits = planned.is_some();
    for (part, shown) in [
        ("plan", fits),
        ("result", fits),
        ("asked", fits),
        ("legend", fits),
        ("grid", fits),
        ("axis", fits),
        ("no-result", !fits),
        ("no-plan", !fits),
        ("nothing", !fits),
        ("exact", is(|planned| planned.over() == 0)),
        ("over", is(|planned| planned.over() > 0)),
        ("other-plan", is(|planned| planned.hidden.is_some())),
        ("full", is(|planned| planned.nearby == [None; 2])),
        ("multiples", is(|planned| planned.nearby != [None; 2])),
        ("in-tokens", unit == BatchUnit::Tokens),
    ] {
        live.show(part, shown);
    }
    live.attr("use", "aria-disabled", truth(planned.is_none_or(|planned| planned.chosen.micro_batch == batch)));
    let nearby = planned.map_or([None; 2], |planned| planned.nearby);
    for (button, target) in ["below", "above"].into_iter().zip(nearby) {
        let text = target.map(format::count).unwrap_or_default();
        live.show(button, target.is_some());
        live.text(button, &text);
        live.attr(button, "data-press", &text);
        live.attr(button, "aria-label", &format!("Set the target to {text} {}", unit.label()));
    }
    let Some(planned) = planned else {
        live.attr("drawing", "aria-label", "Nothing to draw until one sequence fits.");
        return;
    };
    // The sentence tells drawings apart.
    if live.attr("drawing", "aria-label", &described(planned)) {
        boxes(live, planned.chosen, if planned.group > 1 { "Group" } else { "GPU" });
    }
}

/// What the texts that [`texts`] returns are called in the page.
const OUTPUTS: [&str; 16] = [
    "result", "asked", "target", "by", "percent", "each", "replicas", "times", "other", "tokens", "micro", "peak",
    "round", "share", "legend", "axis",
];

/// What is said about the plans, in the order of [`OUTPUTS`].
fn texts(planned: &Planned) -> [String; 16] {
    let Planned { chosen: plan, target, sequence, .. } = *planned;
    let (over, target) = (planned.over(), u64::from(target));
    let tokens = |sequences: u64| format!("{} tokens", grouped(sequences.saturating_mul(sequence.into())));
    let length = tokens(1);
    let each = format::counted(plan.micro_batch, "sequence", "sequences");
    [
        equation(plan),
        match planned.unit {
            BatchUnit::Sequences => format!("At {length} a sequence that is {}.", tokens(target)),
            BatchUnit::Tokens => format!("That is {} of {length}, rounded up to whole ones.", sequences(target)),
        },
        sequences(target),
        grouped(over),
        format::percent(over as f64 / target.max(1) as f64),
        each.clone(),
        planned.replicas(),
        match plan.steps {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            steps => format!("{} times", format::count(steps)),
        },
        planned.other_plan_text().unwrap_or_default(),
        tokens(plan.global_batch()),
        format!("{each}, at most {}", format::count(planned.b_max)),
        format::memory(planned.peak),
        match planned.unit {
            BatchUnit::Sequences => grouped(planned.round),
            BatchUnit::Tokens => sequences(planned.round),
        },
        planned.share(),
        format!(": {each} on one {}", if planned.group > 1 { "group of GPUs" } else { "GPU" }),
        format!("{} →", format::counted(plan.steps, "accumulation step", "accumulation steps")),
    ]
}

/// The drawing in words.
fn described(planned: &Planned) -> String {
    let Accumulation { micro_batch, data_parallel, steps } = planned.chosen;
    let (one, many) = if planned.group > 1 { ("group of GPUs", "groups of GPUs") } else { ("GPU", "GPUs") };
    format!(
        "{} one after another; in each, {} process {} each; then the optimizer steps once.",
        format::counted(steps, "accumulation step", "accumulation steps"),
        format::counted(data_parallel, one, many),
        format::counted(micro_batch, "sequence", "sequences")
    )
}

/// Changes the target or its unit, shows the other plan, or takes over the plan's micro-batch.
fn press(live: &Live, word: &str) {
    let state = live.state();
    if let Some(unit) = BatchUnit::from_key(word) {
        // The same amount in the other unit: 256 sequences do not become 256 tokens.
        state.change(|scenario| in_unit(scenario, unit));
    } else if word == "other" {
        live.set("other", if live.word("other").is_empty() { "1" } else { "" });
    } else if word == "use" {
        if let Ok(planned) = state.peek(|facts| planned(live, facts)) {
            state.change(|scenario| scenario.with_batch(planned.chosen.micro_batch));
        }
    } else if let Ok(target) = number::parse(word) {
        state.change(|scenario| scenario.with_number(Field::GlobalBatch, target).unwrap_or(scenario));
        // The pressed button is gone now; the keyboard goes on from where it was.
        live.focus("nearby");
    }
}

fn truth(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}
