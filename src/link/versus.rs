//! The parameter that names a second scenario: only what it has different from the first.
//!
//! A pair is a parameter, a colon and its value; semicolons stand between pairs. Neither sign is in a value that a
//! link writes, and browsers leave both as they are, so that the link stays short and can be read.

use super::decode::read as read_pairs;
use super::encode::{differing, encode, rows_of, unsaid_after};
use super::{Decoded, NETWORK, Notice, OWN, PASSED_OVER, model_word};
use crate::bounds::excerpt;
use crate::{Field, Scenario, catalogue, number, setting};

/// The name of the parameter.
pub const VS: &str = "vs";

/// Parameters of the link as a whole, of which there is one only.
const ONCE: [&str; 2] = ["v", VS];

/// Writes the query string of a scenario and of the one that it is compared with, without the leading question mark.
///
/// ```
/// use bmax::{Field, Scenario, link};
///
/// let pinned = Scenario::default();
/// let now = pinned.with_number(Field::Sequence, 4_096.0)?.at_largest();
/// let query = link::encode_with(&now, Some(&pinned));
/// assert_eq!(query, "v=4&s=4096&vs=s:2048");
/// assert_eq!(link::decode(&query).vs, Some(pinned));
/// # Ok::<(), bmax::InputError>(())
/// ```
pub fn encode_with(scenario: &Scenario, vs: Option<&Scenario>) -> String {
    encode(scenario) + &versus(scenario, vs)
}

/// The end of a query that names the scenario to compare with by what differs from the first; nothing where there is
/// none.
pub fn versus(scenario: &Scenario, vs: Option<&Scenario>) -> String {
    let Some(vs) = vs else { return String::new() };
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

/// The same with every parameter of the second scenario spelled out, for a link whose first one is.
pub fn versus_whole(vs: Option<&Scenario>) -> String {
    let Some(vs) = vs else { return String::new() };
    let mut written = Pairs::default();
    for (key, word) in rows_of(vs) {
        if key == "model" || word != OWN {
            written.push(key, word);
        }
    }
    for &field in Field::ALL {
        written.push(field.bound().key, &number::plain(vs.number(field)));
    }
    for word in setting::ALL {
        written.push(word.key, word.get(vs));
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
        match pair.filter(|(key, _)| !ONCE.contains(key) && *key != NETWORK && !PASSED_OVER.contains(key)) {
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
