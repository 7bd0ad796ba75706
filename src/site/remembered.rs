//! The card and the number of GPUs of the reader's last visit, which this browser remembers.
//!
//! They are kept as a link's words under `bmax-card` in the local storage. The first script of a page (`index.html`) puts
//! them into an address that names no configuration, before anything is counted, so that such a visit is one by a link. The
//! reader is told, and can have them forgotten.

use bmax::{Scenario, link};
use leptos::prelude::window;

use super::address::is_framed;

const KEY: &str = "bmax-card";

/// Remembers the GPUs of `now` where the reader has changed them; those of the default are nothing to remember. In a frame
/// nothing is kept, and a sandboxed one has no storage.
pub fn remember(before: &Scenario, now: &Scenario) {
    let card = |scenario: &Scenario| (scenario.device, scenario.cluster.gpus);
    if card(before) == card(now) || is_framed() {
        return;
    }
    if let Ok(Some(storage)) = window().local_storage() {
        _ = match words(now) {
            Some(words) => storage.set_item(KEY, &words),
            None => storage.remove_item(KEY),
        };
    }
}

/// The GPUs of a scenario as a link has them; none for those of the default.
fn words(scenario: &Scenario) -> Option<String> {
    let default = Scenario::default();
    let mut card = Scenario { device: scenario.device, ..default };
    card.cluster.gpus = scenario.cluster.gpus;
    let card = card.compared_alike().at_largest();
    (card != default).then(|| link::encode(&card))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(query: &str) -> Option<String> {
        words(&link::decode(query).scenario)
    }

    #[test]
    fn the_card_and_the_number_of_gpus_are_kept_and_nothing_else() {
        let own = "v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=qlora&s=4096&b=3";
        assert_eq!(kept(own).as_deref(), Some("v=4&gpu=rtx-4090&gpus=1"));
        assert_eq!(kept("v=4&gpus=16&zero=1").as_deref(), Some("v=4&gpus=16"));
    }

    #[test]
    fn a_card_of_ones_own_is_kept_with_its_memory() {
        let kept = kept("v=4&gpu=rtx-4090&mem=47").expect("not the default");
        let read = link::decode(&kept).scenario;
        assert_eq!(read.device.memory.gib(), 47.0);
    }

    #[test]
    fn what_every_visit_begins_with_is_nothing_to_keep() {
        assert_eq!(kept("v=4"), None);
        assert_eq!(kept("v=4&model=gpt2&s=512&adapter=lora"), None);
    }
}
