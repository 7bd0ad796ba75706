//! What a page shows where its address names no configuration, and how its address is read and written.
//!
//! Most pages begin with the default of the site. The page of the workshop begins with the workshop’s own example, in
//! the workshop’s count, which is a matter of that page alone: its address says whose count it shows, and its ways to
//! other pages do not.
//!
//! ```
//! use bmax::link::{Beginning, Pinned};
//! use bmax::{Method, Scenario};
//!
//! let page = Beginning::Workshop;
//! assert_eq!(page.read("").scenario, page.scenario());
//! let counted = page.read("?v=4&gpus=4").scenario;
//! assert_eq!((counted.cluster.gpus, counted.method), (4, Method::Workshop));
//! assert_eq!(page.link(&Scenario { method: Method::Ledger, ..counted }, &Pinned::NONE), "v=4&b=83&gpus=4&method=ledger");
//! assert_eq!(page.onward(&counted, &Pinned::NONE), "v=4&gpus=4");
//! ```

use super::{Decoded, Pinned, VS, decode, encode, encode_with, names, pairs, versus, with_rows_of};
use crate::{Choice, Method, Scenario, setting};

/// What a page begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beginning {
    /// The default of the site, as every link means it.
    Site,
    /// The workshop’s example in the workshop’s count.
    Workshop,
}

/// The workshop’s example: its 7B model on eight A100 of 80 GB. The version gives what the link does not name, so that
/// no later default changes it.
const WORKSHOP_EXAMPLE: &str = "v=3&model=7b&gpu=a100-80&s=2048&b=3&gpus=8&headroom=10&method=workshop&precision=bf16\
    &recompute=selective&zero=3&chart_gpus=8&chart_recompute=selective";

impl Beginning {
    /// Every beginning, that of most pages first.
    pub const ALL: [Self; 2] = [Self::Site, Self::Workshop];

    /// Its word, in the front matter of a page and in the page itself.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Workshop => "workshop",
        }
    }

    /// The beginning of this word.
    pub fn from_key(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|beginning| beginning.key() == word)
    }

    /// The configuration itself.
    pub fn scenario(self) -> Scenario {
        match self {
            Self::Site => Scenario::default(),
            Self::Workshop => decode(WORKSHOP_EXAMPLE).scenario,
        }
    }

    /// This configuration with the catalogue rows that `scenario` started from, and with what follows from `scenario` where
    /// nobody says it, of which `largest` is the micro-batch. Against it the page marks what was changed.
    pub fn base_of(self, scenario: &Scenario, largest: u32) -> Scenario {
        with_rows_of(scenario, self.scenario()).unsaid_of(&scenario.with_batch(largest).compared_alike())
    }

    /// Reads the query of the page’s address. A page with a beginning of its own shows that where the query names no
    /// configuration, and counts as the workshop does where it names no method.
    pub fn read(self, query: &str) -> Decoded {
        if self == Self::Site {
            return decode(query);
        }
        let pairs = pairs(query.strip_prefix('?').unwrap_or(query), &mut Vec::new());
        let has = |name: &str| pairs.iter().any(|(key, _)| key == name);
        if !has(VS) && !names().any(|(name, _)| has(name)) {
            return Decoded { scenario: self.scenario(), ..decode(query) };
        }
        let method = &setting::METHOD;
        if has(method.key) {
            return decode(query);
        }
        // The largest micro-batch is that by the method.
        decode(&format!("{}={}&{}", method.key, Method::Workshop.key(), query.trim_start_matches('?')))
    }

    /// Writes the query of a link to the page: it names everything that the page needs to show the same.
    pub fn link(self, scenario: &Scenario, vs: &Pinned) -> String {
        // What is written is read: the default of links is not that of this page.
        if self == Self::Workshop && scenario.method == Scenario::default().method {
            let method = &setting::METHOD;
            return format!("{}&{}={}{}", encode(scenario), method.key, method.get(scenario), versus(scenario, vs));
        }
        encode_with(scenario, vs)
    }

    /// Writes the query of the page’s own address, which a page with a beginning of its own leaves out there.
    pub fn address(self, scenario: &Scenario, vs: &Pinned) -> String {
        if self == Self::Workshop && vs.is_empty() && *scenario == self.scenario() {
            return String::new();
        }
        self.link(scenario, vs)
    }

    /// Writes the query that the page’s ways to other pages take along. Whose count a page with a beginning of its own
    /// shows is not among it, and neither is that beginning.
    pub fn onward(self, scenario: &Scenario, vs: &Pinned) -> String {
        match self {
            Self::Site => encode_with(scenario, vs),
            Self::Workshop => {
                let counted = Scenario { method: Scenario::default().method, ..*scenario };
                let usual = if scenario.is_at_largest() { counted.at_largest() } else { counted };
                let counted = Scenario { method: scenario.method, ..self.scenario() };
                let is_first = [counted, self.scenario().then(counted)].contains(scenario);
                if vs.is_empty() && is_first { String::new() } else { encode_with(&usual, vs) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;
    use crate::{Field, b_max};

    const PAGE: Beginning = Beginning::Workshop;

    fn by(method: Method, query: &str) -> Scenario {
        decode(&format!("method={}&{}", method.key(), query.trim_start_matches('?'))).scenario
    }

    /// The workshop’s page: 7B, eight A100 of 80 GB, 2,048 tokens in bf16, attention recomputed, a tenth kept free. Three
    /// sequences fit, of 17.0 GiB each.
    #[test]
    fn the_workshop_s_example_is_written_out_and_says_nothing_of_itself() {
        let read = decode(WORKSHOP_EXAMPLE);
        assert_eq!(read.notices, []);
        let scenario = PAGE.scenario();
        let numbers = [Field::Parameters, Field::Hidden, Field::Layers, Field::Heads, Field::Sequence, Field::Gpus]
            .map(|field| scenario.number(field));
        assert_eq!(numbers, [7.0, 4_096.0, 32.0, 32.0, 2_048.0, 8.0]);
        assert_eq!((scenario.device.memory.gib(), scenario.device.headroom.get()), (80.0, 10.0));
        assert_eq!((scenario.method, scenario.recipe.batch), (Method::Workshop, 3));
        assert_eq!(b_max(&scenario).batch(), Some(3));
    }

    #[test]
    fn an_address_without_a_configuration_is_the_workshop_s_example() {
        for query in ["", "?", "?theme=dark", "?network=vgg16", "?nonsense=1"] {
            assert_eq!(PAGE.read(query).scenario, PAGE.scenario(), "{query}");
        }
        // What is wrong with it is told all the same.
        assert_eq!(PAGE.read("?nonsense=1").notices, decode("?nonsense=1").notices);
    }

    #[test]
    fn an_address_that_names_no_method_is_counted_as_the_workshop_counts() {
        for query in ["?v=4", "?v=4&model=llama-3.1-8b&gpus=4", "?s=4096", "?vs=s:4096"] {
            assert_eq!(PAGE.read(query).scenario, by(Method::Workshop, query), "{query}");
        }
    }

    #[test]
    fn an_address_that_names_a_method_is_counted_by_that() {
        for method in Method::ALL {
            let query = format!("?v=4&gpus=4&method={}", method.key());
            assert_eq!(PAGE.read(&query).scenario, by(*method, "?v=4&gpus=4"), "{query}");
        }
    }

    #[test]
    fn what_the_page_writes_names_the_method_and_is_read_again() {
        for query in ["?v=4", "?v=4&model=13b&gpus=64", "?v=4&s=4096&b=2&recompute=full", WORKSHOP_EXAMPLE] {
            for method in Method::ALL {
                let scenario = by(*method, query);
                let pinned = decode("?v=4&gpus=16").scenario;
                for vs in [Pinned::NONE, Pinned::from(pinned)] {
                    let [link, address] = [PAGE.link(&scenario, &vs), PAGE.address(&scenario, &vs)];
                    assert!(link.contains(&format!("&method={}", method.key())), "{link}");
                    for written in [&link, &address] {
                        let read = PAGE.read(written);
                        assert_eq!((read.scenario, read.vs, read.notices), (scenario, vs, vec![]), "{written}");
                    }
                    let is_first = scenario == PAGE.scenario() && vs.is_empty();
                    assert_eq!(address, if is_first { "" } else { &link });
                }
            }
        }
    }

    #[test]
    fn its_ways_take_the_configuration_along_and_not_the_count() {
        let scenario = decode("?v=4&model=13b&gpus=64").scenario;
        for method in Method::ALL {
            assert_eq!(PAGE.onward(&Scenario { method: *method, ..PAGE.scenario() }, &Pinned::NONE), "");
            let onward = PAGE.onward(&Scenario { method: *method, ..scenario }, &Pinned::NONE);
            assert_eq!(onward, encode(&scenario));
        }
        let pinned = Pinned::from(decode("?v=4&gpus=16").scenario);
        let onward = decode(&PAGE.onward(&PAGE.scenario(), &pinned));
        assert_eq!((onward.scenario.method, onward.vs), (Method::Ledger, pinned));
    }

    #[test]
    fn every_other_page_reads_and_writes_links_as_they_are() {
        for query in ["", "?v=4&gpus=4", "?method=paper&s=4096", "?vs=s:4096"] {
            let read = Beginning::Site.read(query);
            assert_eq!(read, decode(query));
            let written = encode_with(&read.scenario, &read.vs);
            for of_page in [Beginning::link, Beginning::address, Beginning::onward] {
                assert_eq!(of_page(Beginning::Site, &read.scenario, &read.vs), written);
            }
        }
    }

    #[test]
    fn nothing_of_its_own_example_is_changed_and_a_model_brings_its_numbers() {
        assert_eq!(PAGE.base_of(&PAGE.scenario(), 3), PAGE.scenario());
        let larger = decode("?v=4&model=13b").scenario;
        let base = PAGE.base_of(&larger, 1);
        assert_eq!((base.model, base.cluster.gpus, base.method), (larger.model, 8, Method::Workshop));
    }

    #[test]
    fn every_beginning_has_a_word_that_leads_back_to_it() {
        for beginning in Beginning::ALL {
            assert_eq!(Beginning::from_key(beginning.key()), Some(beginning));
        }
        assert_eq!(Beginning::from_key(""), None);
    }
}
