//! The tour in words: a line `{{tour}}` is the list of its cards (`bmax::tour`), each with what it says of the default
//! configuration. It is what readers without scripts are led to.

use bmax::Scenario;
use bmax::tour::{CARDS, Seen, WAYS};

const PLACE: &str = "{{tour}}";

/// The source of a section with the cards in their place.
pub fn filled(source: &str) -> String {
    if source.contains(PLACE) { source.replace(PLACE, &words()) } else { source.to_owned() }
}

fn words() -> String {
    let own = Seen::of(Scenario::default());
    let cards = CARDS.iter().enumerate();
    let cards: String =
        cards.map(|(at, card)| format!("{}. **{}.** {}\n", at + 1, card.title, card.told(&own))).collect();
    let ways: String = WAYS.iter().map(|(who, what, id)| format!("- {who}: [{what}](#{id}).\n")).collect();
    cards + "\n" + ways.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_stands_in_the_list_with_its_words_and_its_way() {
        let filled = filled("before\n\n{{tour}}\nafter\n");
        let own = Seen::of(Scenario::default());
        for card in &CARDS {
            assert!(filled.contains(&format!(". **{}.** {}\n", card.title, card.told(&own))), "{}", card.id);
        }
        assert!(filled.starts_with("before\n\n1. ") && filled.ends_with("(#teach).\nafter\n"), "{filled}");
    }
}
