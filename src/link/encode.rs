//! A scenario as a query string.

use form_urlencoded::Serializer;

use super::{VERSION, base_of, gpu_word, model_word};
use crate::{Field, Scenario, catalogue, number, setting};

/// Writes the query string of a scenario, without the leading question mark.
///
/// The model and the device are written as catalogue rows plus what was edited in them.
pub fn encode(scenario: &Scenario) -> String {
    let default = Scenario::default();
    let base = base_of(scenario);
    let mut query = Serializer::new(String::new());
    query.append_pair("v", &VERSION.to_string());
    for ((key, word), (_, usual)) in rows_of(&base).into_iter().zip(rows_of(&default)) {
        if word != usual {
            query.append_pair(key, word);
        }
    }
    differing(scenario, &base, &mut |key, value| _ = query.append_pair(key, value));
    query.finish()
}

/// The parameters that name where the numbers of model and GPU come from.
pub(super) fn rows_of(scenario: &Scenario) -> [(&'static str, &'static str); 2] {
    [("model", model_word(scenario.model.origin)), ("gpu", gpu_word(scenario.device.origin))]
}

/// Hands every number and word of `scenario` that is another in `base` to `write`, in the order of links.
pub(super) fn differing(scenario: &Scenario, base: &Scenario, write: &mut dyn FnMut(&str, &str)) {
    for &field in Field::ALL {
        let value = scenario.number(field);
        if value != base.number(field) {
            write(field.bound().key, &number::plain(value));
        }
    }
    for word in setting::ALL {
        let value = word.get(scenario);
        if value != word.get(base) {
            write(word.key, value);
        }
    }
}

/// Writes what turns `now` into `next`, for [`decode_onto`](super::decode_onto): the row of its model, and every number and
/// word of it that is another one then. Its device is not among it.
///
/// ```
/// use bmax::{Scenario, catalogue, link};
///
/// let now = Scenario::default();
/// let next = now.then(catalogue::model("gpt2").expect("listed").apply(now));
/// assert_eq!(link::encode_change(&next, &now), "model=gpt2");
/// ```
pub fn encode_change(next: &Scenario, now: &Scenario) -> String {
    let mut query = Serializer::new(String::new());
    let origin = next.model.origin;
    query.append_pair("model", model_word(origin));
    let taken = match catalogue::model_of(origin) {
        Some(row) => row.apply(*now),
        None => *now,
    };
    let taken = taken.unsaid_of(&unsaid_after(now, next));
    differing(next, &taken, &mut |key, value| _ = query.append_pair(key, value));
    query.finish()
}

/// `next` with what it has where nothing says that and `now` comes before.
pub(crate) fn unsaid_after(now: &Scenario, next: &Scenario) -> Scenario {
    now.then(next.unsaid_of(now))
}

/// Writes the query string of a scenario with every parameter spelled out, so that it means the same
/// after any change of a default or of a row of the catalogue. [`decode`](super::decode) reads it as it reads any other.
///
/// ```
/// use bmax::{Scenario, link};
///
/// let whole = link::encode_whole(&Scenario::default());
/// assert_eq!(link::decode(&whole).scenario, Scenario::default());
/// assert_eq!(whole.split('&').count(), link::parameters().len());
/// ```
pub fn encode_whole(scenario: &Scenario) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("v", &VERSION.to_string());
    query.extend_pairs(rows_of(scenario));
    for &field in Field::ALL {
        query.append_pair(field.bound().key, &number::plain(scenario.number(field)));
    }
    for word in setting::ALL {
        query.append_pair(word.key, word.get(scenario));
    }
    query.finish()
}
