//! What each optimizer remembers.

use bmax::course::states::{State as Held, states};
use bmax::{Bytes, Choice, Method, Optimizer};

use crate::site::{Live, State, format, mount_pressed};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("optimizer-states", state, draw, press);
}

/// Puts an optimizer in use.
fn press(live: &Live, word: &str) {
    let Some(optimizer) = Optimizer::from_key(word) else { return };
    let most = || live.state().peek(|facts| format::answer(&facts.answer));
    let before = most();
    live.state().change(|mut scenario| {
        scenario.recipe.optimizer = optimizer;
        scenario
    });
    live.text("done", &(optimizer.label().to_owned() + ": largest b " + &before + " → " + &most()));
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let states = states(&scenario);
    let of = |optimizer: Optimizer| states[optimizer as usize];
    let (adam, own) = (of(Optimizer::AdamW), of(scenario.recipe.optimizer));
    live.text("weights", &format::significant(adam.whole.get() / adam.per_weight / 1e9));
    live.text("own", &format::memory(own.per_gpu));
    live.text("whole", &format::memory(own.whole));
    live.text("master", &format::memory(own.master));
    live.show("case-host", scenario.recipe.offload.takes_optimizer());
    live.show("case-method", scenario.method != Method::Ledger);
    let mut rows = Vec::with_capacity(states.len() + 1);
    let mut put = |key: &str, label: &str, held: &Held| {
        let name = |what: &str| what.to_owned() + key;
        let share = |bytes: Bytes| format::css_percent(bytes.share_of(adam.per_gpu + adam.master));
        let each = format::significant(held.per_weight);
        let on_gpu = format::memory(held.per_gpu);
        let batch = held.batch.map_or_else(|| "none fits".to_owned(), format::count);
        live.text(&name("each-"), &each);
        live.text(&name("gpu-"), &on_gpu);
        live.text(&name("batch-"), &batch);
        live.variable(&name("bar-"), "--moments", &share(held.per_gpu));
        live.variable(&name("bar-"), "--master", &share(held.master));
        live.class(&name("row-"), "is-own", key == scenario.recipe.optimizer.key());
        let with_master = format::memory(held.per_gpu + held.master);
        rows.push(vec![label.to_owned(), each, format::memory(held.whole), on_gpu, with_master, batch]);
    };
    for held in &states {
        put(held.optimizer.key(), held.optimizer.label(), held);
    }
    // Adafactor with a first moment, which is no setting of the estimator: the two together, and as much
    // room for a batch as the larger of them leaves.
    let (sums, moment) = (of(Optimizer::Adafactor), of(Optimizer::Momentum));
    put(
        "both",
        "Adafactor with momentum",
        &Held {
            per_weight: sums.per_weight + moment.per_weight,
            whole: sums.whole + moment.whole,
            per_gpu: sums.per_gpu + moment.per_gpu,
            ..moment
        },
    );
    live.rows("states", rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;

    #[test]
    fn every_optimizer_has_a_bar() {
        for optimizer in Optimizer::OPTIONS {
            let bar = format!("data-out=\"bar-{}\"", optimizer.key);
            assert!(include_str!("prose.html").contains(&bar), "{bar}");
        }
    }

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let states = states(&Scenario::default());
        let held = |optimizer: Optimizer| format::memory(states[optimizer as usize].per_gpu);
        for optimizer in [Optimizer::AdamW, Optimizer::Adam8bit, Optimizer::Lion] {
            assert!(text.contains(&held(optimizer)), "{}", held(optimizer));
        }
        assert!(text.contains(&held(Optimizer::Adafactor)), "{}", held(Optimizer::Adafactor));
        for state in &states {
            let most = if state.optimizer == Optimizer::AdamW { 6 } else { 7 };
            assert_eq!(state.batch, Some(most), "{:?}", state.optimizer);
        }
    }
}
