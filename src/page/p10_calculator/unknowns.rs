//! What nobody can know before the run, with the values each outlook gives it; and the peak as tools
//! would show it.

use bmax::{Bytes, Choice, Outlook, Scenario, number};
use leptos::prelude::*;

use crate::site::dom::{El, el};
use crate::site::{State, format};

/// The outlooks in the order of their columns.
const OUTLOOKS: [Outlook; 3] = [Outlook::Safe, Outlook::Likely, Outlook::Optimistic];

/// One unknown: its name, and its value under an outlook, given that outlook's scenario.
type Unknown = (&'static str, fn(&Scenario, Outlook) -> String);

const UNKNOWNS: [Unknown; 5] = [
    ("CUDA context, GiB", |seen, _| number::plain(seen.device.context_gib)),
    ("Communication buffers, GiB", |seen, _| match seen.cluster.gpus {
        1 => "none".to_owned(),
        _ => number::plain(seen.device.communication_gib),
    }),
    ("Fragmentation", |seen, _| number::plain(seen.device.fragmentation.get()) + " %"),
    ("Kernels", |seen, _| seen.recipe.kernels.key().to_owned()),
    ("Pools of communication streams", |_, outlook| {
        match outlook {
            Outlook::Safe => "apart",
            _ => "shared",
        }
        .to_owned()
    }),
];

/// The named unknowns that part safe, likely and optimistic.
pub fn unknowns(state: State) -> El {
    let heading = |text| el("th").attr("scope", "col").text(text);
    let head =
        el("tr").child(heading("Unknown")).child(heading("Safe")).child(heading("Likely")).child(heading("Optimistic"));
    let rows = move || state.read(|facts| UNKNOWNS.iter().map(|unknown| row(*unknown, &facts.scenario)).collect());
    let table = el("table")
        .class("data-table unknowns")
        .child(el("caption").text("Nobody can know these before the run. They alone part the three answers."))
        .child(el("thead").child(head))
        .child(el("tbody").live(rows));
    ledger_only(state, "What makes the range", table).attr("data-testid", "unknowns")
}

fn row((name, value): Unknown, scenario: &Scenario) -> El {
    let cell = |outlook: Outlook| el("td").class("num").text(&value(&outlook.of(scenario), outlook));
    el("tr").child(el("th").attr("scope", "row").text(name)).children(OUTLOOKS.into_iter().map(cell).collect())
}

/// The peak at the chosen micro-batch under the names of the counters that can be compared with it.
pub fn counters(state: State) -> El {
    let row = |(name, bytes, what): (&str, Bytes, &str)| {
        let size = el("dd").class("num").text(&format::memory(bytes));
        el("div").child(el("dt").child(el("code").text(name)).child(el("span").text(what))).child(size)
    };
    let rows = move || {
        let seen = state.asked(bmax::counters);
        vec![
            row(("max_memory_allocated", seen.allocated, "tensors of PyTorch")),
            row(("max_memory_reserved", seen.reserved, "blocks its allocator holds")),
            row(("nvidia-smi", seen.device, "the whole process")),
        ]
    };
    let list = el("dl").class("counters").live(rows);
    let note = move || {
        let batch = state.asked(|scenario| format::counted(scenario.recipe.batch, "sequence", "sequences"));
        format!("At {batch} a run should show about:")
    };
    let body = el("div").child(el("p").class("field-help").bind_text(note)).child(list);
    ledger_only(state, "What your tools would show", body).attr("data-testid", "counters")
}

/// Something folded that only the ledger has.
fn ledger_only(state: State, summary: &str, body: El) -> El {
    el("details")
        .class("form-more")
        .toggle("hidden", move || state.read(|facts| !facts.is_ledger()))
        .child(el("summary").text(summary))
        .child(body)
}
