//! The attempts that have been made, as a list with a bar each.

use bmax::search::Probe;
use bmax::{Bytes, Estimate};
use leptos::html::Div;
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::{State, format};

/// A list of fixed height in which the newest attempt is always in view.
#[component]
pub fn Attempts(state: State, player: Player) -> impl IntoView {
    let region = NodeRef::<Div>::new();
    let usable = Memo::new(move |_| state.estimate.with(Estimate::usable));
    let shown = Memo::new(move |_| {
        player.trace.with(|trace| trace.iter().copied().take(player.shown()).enumerate().collect::<Vec<_>>())
    });
    // The scale is that of the whole search, so that no bar changes its length as others come.
    let longest = Memo::new(move |_| player.trace.with(|trace| longest(trace, usable.get())));
    let count = Memo::new(move |_| shown.with(Vec::len));
    Effect::new(move |_| {
        // Nothing to bring into view, and asking for a height would lay out the page for it.
        if count.get() == 0 {
            return;
        }
        // After the frame, because the new row has no place before.
        request_animation_frame(move || {
            if let Some(region) = region.get_untracked() {
                region.set_scroll_top(region.scroll_height());
            }
        });
    });
    let row = move |(at, probe): (usize, Probe)| {
        let current = move || if player.shown() == at + 1 { "step" } else { "false" };
        view! { <li class="oom-attempt" aria-current=current><Attempt at probe usable longest /></li> }
    };
    view! {
        <p class="oom-scale soft">
            <span class="oom-scale-mark" aria-hidden="true"></span>
            {move || format!("The mark is the usable memory, {}.", format::memory(usable.get()))}
        </p>
        <div class="oom-attempts" tabindex="0" role="region" aria-label="Attempts" node_ref=region>
            <ol>
                <For each=move || shown.get() key=|(at, probe)| (*at, probe.batch, probe.peak.get().to_bits()) children=row />
            </ol>
            <p class="oom-none soft" hidden=move || player.shown() != 0>"No attempt yet. Press Step for one at a time, or Play."</p>
        </div>
    }
}

/// One attempt: what was tried, what it takes against what is there, and what is known since.
#[component]
fn Attempt(at: usize, probe: Probe, usable: Memo<Bytes>, longest: Memo<Bytes>) -> impl IntoView {
    let Probe { phase, batch, peak, fits, low, high } = probe;
    let share = move |bytes: Bytes| format!("{:.3}%", bytes.share_of(longest.get()) * 100.0);
    view! {
        <span class="oom-number num soft">{at + 1}"."</span>
        <span class="oom-batch num"><i>"b"</i>" = "{format::count(batch)}</span>
        <span class="oom-phase soft">{words::phase(phase)}</span>
        <span class="oom-outcome" data-fits=fits.to_string()>{if fits { "✓ runs" } else { "✕ out of memory" }}</span>
        <span class="oom-bar" aria-hidden="true">
            <span class="oom-fill" data-fits=fits.to_string() style=("--share", move || share(peak))></span>
            <span class="oom-limit" style=("--share", move || share(usable.get()))></span>
        </span>
        <span class="oom-peak num">{format::memory(peak)}</span>
        <span class="oom-known soft num">{words::known(low, high)}</span>
    }
}

/// What the whole length of a bar stands for.
fn longest(trace: &[Probe], usable: Bytes) -> Bytes {
    trace.iter().map(|probe| probe.peak).fold(usable, |most, peak| if peak > most { peak } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;
    use bmax::search::by_running_out;

    #[test]
    fn every_bar_and_the_mark_fit_the_scale() {
        let mut scenario = Scenario::default();
        for gpus in [1, 8, 64] {
            scenario.cluster.gpus = gpus;
            let (trace, usable) = (by_running_out(&scenario), scenario.device.usable());
            let longest = longest(&trace, usable);
            assert!(usable <= longest && trace.iter().all(|probe| probe.peak <= longest));
        }
    }
}
