//! From the global batch a recipe asks for to micro-batch, GPUs and accumulation steps.

mod drawing;
mod planned;
mod updates;

use bmax::planner::Accumulation;
use bmax::{BatchUnit, Choice, Field, setting};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::site::controls::{number_field, segmented};
use crate::site::dom::{El, el};
use crate::site::{SettingHandle, State, format, mount_figure, mount_live};
use drawing::drawing;
use planned::{Planned, equation, in_unit};

/// What the figure works with: handles only, passed by value.
#[derive(Clone, Copy)]
struct Planner {
    state: State,
    /// Whether the reader prefers the other of two plans; that is no part of the configuration.
    other: RwSignal<bool>,
    /// The numbers of the plan that is shown, as memos, so that what only they decide stays as it is
    /// while the rest of the configuration changes; no steps when nothing can be planned.
    micro_batch: Memo<u32>,
    data_parallel: Memo<u32>,
    steps: Memo<u32>,
}

impl Planner {
    fn new(state: State) -> Self {
        let other = RwSignal::new(false);
        let number = move |of: fn(Accumulation) -> u32| {
            Memo::new(move |_| planned(state, other).map_or(0, |planned| of(planned.chosen())))
        };
        Self {
            state,
            other,
            micro_batch: number(|plan| plan.micro_batch),
            data_parallel: number(|plan| plan.data_parallel),
            steps: number(|plan| plan.steps),
        }
    }

    /// The plans, or why there are none.
    fn planned(self) -> Result<Planned, String> {
        planned(self.state, self.other)
    }

    /// The plan that is shown.
    fn chosen(self) -> Option<Accumulation> {
        let [micro_batch, data_parallel, steps] =
            [self.micro_batch, self.data_parallel, self.steps].map(|number| number.get());
        (steps > 0).then_some(Accumulation { micro_batch, data_parallel, steps })
    }

    /// Something that is said about the plans; `otherwise` when there are none.
    fn text(self, of: fn(&Planned) -> String, otherwise: &'static str) -> impl Fn() -> String + Copy + 'static {
        move || self.planned().map_or_else(|_| otherwise.to_owned(), |planned| of(&planned))
    }
}

fn planned(state: State, other: RwSignal<bool>) -> Result<Planned, String> {
    state.read(|facts| Planned::of(&facts.scenario, &facts.answer, other.get()))
}

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("terms", state, updates::terms);
    mount_figure("planner", state, planner);
    mount_live("update-time", state, updates::draw);
}

/// The target, the plan that reaches it, and what that plan looks like in time.
fn planner(state: State) -> El {
    let planner = Planner::new(state);
    el("div").class("planner").children(vec![
        target(planner),
        plan(planner),
        drawing(move || planner.chosen(), move || planner.planned().is_ok_and(|planned| planned.group() > 1)),
        facts(planner),
        el("p").class("field-help").text(
            "The optimizer steps once after all accumulation steps. More of them take more time and no more memory than two: each micro-batch frees its activations before the next, and adds its gradients to the same sums, which stay from one to the next.",
        ),
    ])
}

/// What is asked for, in either unit.
fn target(planner: Planner) -> El {
    let state = planner.state;
    // The same amount in the other unit: 256 sequences do not become 256 tokens.
    let write = Callback::new(move |word: String| {
        if let Some(unit) = BatchUnit::from_key(&word) {
            state.change(|scenario| in_unit(scenario, unit));
        }
    });
    let unit = SettingHandle { write, name: "Counted in", ..state.setting(&setting::BATCH_UNIT) };
    el("div").class("planner-target").children(vec![
        number_field(state.field(Field::GlobalBatch), "target-batch", false),
        segmented(unit, "target-batch-unit", false),
        el("p").class("field-help planner-asked").bind_text(planner.text(Planned::asked, "")),
        nearby(planner),
    ])
}

/// The plan as an equation and as a sentence.
fn plan(planner: Planner) -> El {
    let result = el("output")
        .class("readout num")
        .attr("data-testid", "planner-result")
        .bind_text(move || planner.chosen().map_or_else(|| "no plan".to_owned(), equation));
    let letters = el("span")
        .class("soft small")
        .child(el("i").text("B"))
        .text(" = ")
        .child(el("i").text("b"))
        .text(" · ")
        .child(el("i").text("D"))
        .text(" · steps");
    let words = move || planner.planned().map_or_else(|reason| reason, |planned| planned.words());
    el("div").class("planner-plan").children(vec![
        el("p").class("planner-equation").child(result).child(letters),
        el("p").class("planner-words").attr("data-testid", "planner-words").bind_text(words),
        alternatives(planner),
    ])
}

/// The other plan, where hitting the target exactly takes more steps than reaching it.
fn alternatives(planner: Planner) -> El {
    let offer = move || planner.planned().ok().and_then(|planned| planned.other_plan_text());
    let button = quiet_button("planner-other")
        .toggle("hidden", move || offer().is_none())
        .on("click", move |_| planner.other.update(|other| *other = !*other))
        .bind_text(move || offer().unwrap_or_default());
    el("p").class("planner-other").child(button)
}

/// Tokens a step, the micro-batch and its memory.
fn facts(planner: Planner) -> El {
    let peak = planner.text(Planned::peak, "–");
    let tokens = el("dd").class("num").attr("data-testid", "planner-tokens");
    let b = || el("i").text("b");
    el("dl").class("planner-facts").children(vec![
        fact(el("dt").text("Tokens per optimizer step"), tokens.bind_text(planner.text(Planned::tokens, "–"))),
        fact(el("dt").text("Micro-batch ").child(b()), micro_batch(planner)),
        fact(el("dt").text("Peak memory at this ").child(b()), el("dd").class("num").bind_text(peak)),
    ])
}

fn fact(name: El, value: El) -> El {
    el("div").child(name).child(value)
}

/// The plan's micro-batch, and the button that makes it the one of the configuration.
fn micro_batch(planner: Planner) -> El {
    let state = planner.state;
    let in_use =
        move || planner.chosen().is_none_or(|plan| state.asked(|scenario| scenario.recipe.batch == plan.micro_batch));
    let take = move |_| {
        if let Some(plan) = untrack(move || planner.chosen()) {
            state.change(|scenario| scenario.with_batch(plan.micro_batch));
        }
    };
    let button = quiet_button("planner-use")
        .on("click", take)
        .bind("aria-disabled", move || in_use().to_string())
        .text("Use this micro-batch");
    let value =
        el("span").attr("data-testid", "planner-micro-batch").bind_text(planner.text(Planned::micro_batch, "–"));
    el("dd").class("num").child(value).child(button)
}

/// Targets nearby that leave nothing over.
fn nearby(planner: Planner) -> El {
    let region = el("div")
        .class("planner-nearby")
        .attr("role", "group")
        .attr("aria-label", "Targets nearby")
        .attr("tabindex", "-1");
    let row = region.clone();
    let buttons = move || {
        let targets = planner.planned().map_or_else(|_| Vec::new(), |planned| planned.nearby);
        targets.into_iter().map(|target| nearby_button(planner.state, target, row.clone())).collect()
    };
    let text = el("p").class("small").bind_text(planner.text(Planned::nearby_text, ""));
    region.child(text).child(el("div").class("button-row").live(buttons))
}

fn nearby_button(state: State, target: u32, region: El) -> El {
    let text = format::count(target);
    let unit = state.scenario.with_untracked(|scenario| scenario.goal.unit.label());
    let set = move |_| {
        state.change(|scenario| scenario.with_number(Field::GlobalBatch, target.into()).unwrap_or(scenario));
        // The pressed button is gone now; the keyboard goes on from where it was.
        _ = region.element().unchecked_ref::<HtmlElement>().focus();
    };
    el("button")
        .attr("type", "button")
        .class("button button-quiet button-small num")
        .attr("data-testid", "planner-nearby")
        .attr("aria-label", &format!("Set the target to {text} {unit}"))
        .on("click", set)
        .text(&text)
}

fn quiet_button(test: &str) -> El {
    el("button").attr("type", "button").class("button button-quiet button-small").attr("data-testid", test)
}
