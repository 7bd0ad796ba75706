//! The parameter that names a scenario to compare with: only what it has different from the first one. A link has it
//! once for each.
//!
//! A pair is a parameter, a colon and its value; semicolons stand between pairs. Neither sign is in a value that a
//! link writes, and browsers leave both as they are, so that the link stays short and can be read.

use super::decode::read as read_pairs;
use super::encode::{differing, encode, rows_of, unsaid_after};
use super::{Decoded, NETWORK, Notice, OWN, PASSED_OVER, Pinned, model_word};
use crate::bounds::excerpt;
use crate::input::Input;
use crate::{Field, Scenario, catalogue, number, setting};

/// The name of the parameter.
pub const VS: &str = "vs";

/// Parameters of the link as a whole, which no scenario to compare with has.
const OF_THE_LINK: [&str; 2] = ["v", VS];

/// Writes the query string of a scenario and of those that it is compared with, without the leading question mark.
///
/// ```
/// use bmax::{Field, Scenario, link, link::Pinned};
///
/// let first = Scenario::default();
/// let pinned = Pinned::from(first);
/// let now = first.with_number(Field::Sequence, 4_096.0)?.at_largest();
/// let query = link::encode_with(&now, &pinned);
/// assert_eq!(query, "v=4&s=4096&vs=s:2048");
/// assert_eq!(link::decode(&query).vs, pinned);
/// # Ok::<(), bmax::InputError>(())
/// ```
pub fn encode_with(scenario: &Scenario, vs: &Pinned) -> String {
    encode(scenario) + &versus(scenario, vs)
}

/// The end of a query that names the scenarios to compare with by what differs from the first; nothing where there are
/// none.
pub fn versus(scenario: &Scenario, vs: &Pinned) -> String {
    let mut written = String::new();
    for vs in vs.iter() {
        written += &one(scenario, vs);
    }
    written
}

/// One of them.
fn one(scenario: &Scenario, vs: &Scenario) -> String {
    let mut written = Pairs::default();
    let mut base = *scenario;
    if vs.model.origin != base.model.origin {
        written.push("model", model_word(vs.model.origin));
        match catalogue::model_of(vs.model.origin) {
            Some(row) => base = row.apply(base),
            None => base.model.origin = vs.model.origin,
        }
    }
    if let Some(row) = catalogue::device(vs.device.origin).filter(|row| row.slug != base.device.origin) {
        written.push("gpu", row.slug);
        base = row.apply(base);
    }
    // Segments bring a fragmentation along where that is the usual one.
    base.device.fragmentation = base.device.with_segments(vs.device.segments).fragmentation;
    base = base.unsaid_of(&unsaid_after(scenario, vs));
    differing(vs, &base, &mut |key, value| written.push(key, value));
    written.finish()
}

/// The same for a link that spells out its own scenario: whatever could change with a default or with a row of the
/// catalogue is spelled out of each of them, too.
pub fn versus_whole(scenario: &Scenario, vs: &Pinned) -> String {
    vs.iter().map(|vs| one_whole(scenario, vs)).collect()
}

/// One of them. Where model and GPU are those of the first, that says all that does not differ, but for what follows from
/// other inputs.
fn one_whole(scenario: &Scenario, vs: &Scenario) -> String {
    let mut written = Pairs::default();
    let is_alike = rows_of(scenario) == rows_of(vs);
    for (key, word) in rows_of(vs) {
        if !is_alike && (key == "model" || word != OWN) {
            written.push(key, word);
        }
    }
    // Segments bring a fragmentation along.
    let follows =
        |key: &str| key == Field::Fragmentation.bound().key || Input::from_key(key).is_some_and(Input::follows);
    for &field in Field::ALL {
        let (key, value) = (field.bound().key, vs.number(field));
        if !is_alike || follows(key) || value != scenario.number(field) {
            written.push(key, &number::plain(value));
        }
    }
    for word in setting::ALL {
        let value = word.get(vs);
        if !is_alike || follows(word.key) || value != word.get(scenario) {
            written.push(word.key, value);
        }
    }
    written.finish()
}

/// The pairs of the parameter, as they are written.
#[derive(Default)]
struct Pairs(String);

impl Pairs {
    fn push(&mut self, key: &str, value: &str) {
        let between = if self.0.is_empty() { "" } else { ";" };
        self.0.extend([between, key, ":", value]);
    }

    fn finish(self) -> String {
        format!("&{VS}={}", self.0)
    }
}

/// Reads the scenario to compare with by the rules of the link's version, onto the first one. What is wrong in it is
/// told, and the value of the first scenario stands in.
pub(super) fn read(given: &str, version: u32, first: &Scenario, notices: &mut Vec<Notice>) -> Scenario {
    let mut pairs = vec![("v".to_owned(), version.to_string())];
    let mut problems = Vec::new();
    for part in given.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let pair = part.split_once(':').map(|(key, value)| (key.trim(), value));
        match pair.filter(|(key, _)| !OF_THE_LINK.contains(key) && *key != NETWORK && !PASSED_OVER.contains(key)) {
            None => problems.push(Notice::NoPair(excerpt(part))),
            Some((key, value)) if !pairs.iter().any(|(name, _)| name == key) => {
                pairs.push((key.to_owned(), value.to_owned()));
            }
            Some((key, _)) => {
                let repeated = Notice::Repeated(excerpt(key));
                if !problems.contains(&repeated) {
                    problems.push(repeated);
                }
            }
        }
    }
    let Decoded { scenario, notices: read, .. } = read_pairs(&pairs, None, Some(first), problems);
    notices.extend(read.into_iter().map(|notice| Notice::Vs(Box::new(notice))));
    scenario
}
