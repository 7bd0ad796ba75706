//! Single changes to the current configuration, ranked by what they gain, each applied and undone
//! with one press.

mod applied;
mod text;

use bmax::levers::{Change, Lever};
use bmax::{Choice, Field, b_max, number};
use leptos::prelude::*;

use crate::site::{Live, State, format, mount_pressed};
use applied::{APPLIED, Applied, holding, remember};
pub use text::describe;
use text::{still_missing, token_account};

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_pressed("levers", state, draw, press);
}

/// Where the configuration stands, the ranked list, what was applied from it, and what would gain
/// nothing.
fn draw(live: &Live) {
    let (scenario, answer) = live.facts(|facts| (facts.scenario, facts.answer));
    let fits = answer.batch().is_some();
    live.text("method", scenario.method.label());
    live.text("now", &format::answer(&answer));
    live.show("symbol", fits);
    live.show("unit", fits);

    let applied = APPLIED.with_borrow(|list| holding(list, &scenario));
    live.show("nothing-applied", applied.is_empty());
    live.show("applied-list", !applied.is_empty());
    for ((at, entry), row) in (0_u32..).zip(&applied).zip(live.copies("applied", applied.len())) {
        put_button(&row, entry.change, "Undo: ", &("undo ".to_owned() + &format::count(at)));
    }

    live.state().ranking.with(|ranking| {
        let (gaining, idle) = (ranking.gaining(), ranking.idle());
        let alone = gaining.is_empty();
        live.show("gaining", !alone);
        live.show("none", alone);
        // The strongest comes first, and its bar is the longest.
        let most = gaining.first().and_then(|lever| lever.after).unwrap_or(1);
        let rows = live.copies("gaining", gaining.len());
        for ((at, lever), row) in (0_u32..).zip(gaining).zip(&rows) {
            put_button(row, lever.change, "Apply: ", &format::count(at));
            put_gain(row, lever, most, ranking.scenario.recipe.sequence);
        }
        live.show("idle", !idle.is_empty());
        live.text("idle-count", &format::counted(idle.len() as u32, "change", "changes"));
        // They are open when there is nothing else, because together they may still help; and only a
        // change of that opens or closes what the reader may have opened.
        if live.attr("idle", "data-alone", if alone { "true" } else { "false" }) {
            live.flag("idle", "open", alone);
        }
        // The reasons are found only while they are shown.
        let rows = live.copies("idle", if live.on("idle") { idle.len() } else { 0 });
        for ((at, lever), row) in (gaining.len() as u32..).zip(idle).zip(&rows) {
            put_button(row, lever.change, "Apply: ", &format::count(at));
            row.text("why", &still_missing(&b_max(&lever.change.apply(ranking.scenario))));
        }
    });
}

/// Names a change and says what its button does, by `word`.
fn put_button(row: &Live, change: Change, does: &str, word: &str) {
    let name = describe(change);
    row.text("name", &name);
    row.attr("button", "data-press", word);
    row.attr("button", "aria-label", &(does.to_owned() + &name));
}

/// What a change costs and what it leads to. Its bar is drawn against `most`, the largest micro-batch of
/// all levers.
fn put_gain(row: &Live, lever: &Lever, most: u32, sequence: u32) {
    let tokens = match (lever.change, lever.after) {
        (Change::Number(Field::Sequence, shorter), Some(after)) => {
            token_account(lever.before, sequence, after, shorter as u32)
        }
        _ => String::new(),
    };
    row.text("cost", lever.change.cost());
    row.text("tokens", &tokens);
    row.show("tokens", !tokens.is_empty());
    row.text("gain", &("+".to_owned() + &format::count(lever.gain())));
    for (name, bar, batch) in [("before", "bar-before", lever.before), ("after", "bar-after", lever.after)] {
        row.text(name, &batch.map_or_else(|| "does not fit".to_owned(), format::count));
        row.variable(bar, "--share", &format::css_percent(f64::from(batch.unwrap_or(0)) / f64::from(most.max(1))));
    }
}

/// Makes the change at a place of the ranking, or takes back the one at a place among those applied.
fn press(live: &Live, word: &str) {
    let state = live.state();
    let (undo, place) = word.strip_prefix("undo ").map_or((false, word), |place| (true, place));
    let Ok(place) = number::parse(place) else { return };
    let place = place as usize;
    let change = APPLIED.with_borrow_mut(|list| {
        let scenario = state.peek(|facts| facts.scenario);
        if undo {
            let entry = *holding(list, &scenario).get(place)?;
            list.retain(|other| *other != entry);
            return Some(entry.inverse);
        }
        let change = state.ranking.with_untracked(|ranking| ranking.all().get(place).map(|lever| lever.change))?;
        remember(list, Applied { change, inverse: change.undo(&scenario) });
        Some(change)
    });
    if let Some(change) = change {
        state.change(|scenario| change.apply(scenario));
        // The pressed button may be gone: without this the keyboard would start over at the top of the page.
        live.focus("applied");
    }
}
