//! The link: a scenario as a query string, and back.
//!
//! The query string is a contract with every link that was ever shared. It carries a version, then
//! only what differs from the defaults of that version. Since version 4 some defaults follow from the rest
//! ([`Scenario::as_unsaid`]): a link that says no micro-batch means the largest one. A value that cannot be used is named in a
//! [`Notice`], with the names that are like it; its default stands in, and everything else is kept. The
//! parameters of an embedded figure ([`PASSED_OVER`]) are passed over: they say what is shown, not what is computed.
//!
//! A link may name scenarios to compare with, each in a parameter [`VS`] of its own: only what that one has different.
//!
//! ```
//! use bmax::{Scenario, link};
//!
//! let read = link::decode("?v=4&model=qwen2.5-7b&gpu=rtx-4090&s=8,192&b=2&method=workshop");
//! assert!(read.notices.is_empty());
//! assert_eq!(read.scenario.recipe.sequence, 8192);
//! assert_eq!(link::encode(&read.scenario), "v=4&model=qwen2.5-7b&gpu=rtx-4090&s=8192&b=2&method=workshop");
//!
//! let read = link::decode("?s=-5&recompute=full");
//! assert_eq!(read.scenario.recipe.sequence, Scenario::default().recipe.sequence);
//! assert_eq!(read.notices.len(), 1);
//!
//! let read = link::decode("?recompute=none&vs=recompute:selective;s:4096");
//! let pinned = read.vs.get(0).expect("a second one");
//! assert_eq!((read.scenario.recipe.sequence, pinned.recipe.sequence), (2048, 4096));
//! ```

mod beginning;
mod changes;
mod decode;
mod encode;
mod notice;
mod parameters;
mod pinned;
#[cfg(test)]
mod tests;
mod versus;

pub use beginning::Beginning;
pub use changes::Change;
pub(crate) use decode::pairs;
pub use decode::{decode, decode_onto, decode_pairs, decode_with};
pub(crate) use encode::unsaid_after;
pub use encode::{encode, encode_change, encode_whole};
pub use notice::{Notice, Words};
#[cfg(feature = "cli")]
pub(crate) use notice::{explained, nearest_parameters};
pub use parameters::{NETWORK, PASSED_OVER, Parameter, is_parameter, names, parameters};
pub use pinned::Pinned;
pub use versus::{VS, encode_with, versus, versus_whole};

use crate::runtime::fragmentation;
use crate::{Origin, Scenario, catalogue};

/// The version this codec writes. A change in what any parameter or default means raises it, and
/// links of older versions keep their meaning. Every input says since which version links have it
/// ([`Bound::since`](crate::bounds::Bound::since), [`Setting::since`](crate::setting::Setting::since)).
pub const VERSION: u32 = 4;

/// The longest query that is read. The longest link of one scenario is far below it, and that of four is below
/// it.
pub const MAX_QUERY_BYTES: usize = 8_192;

/// The word for a model of no catalogue row, whose numbers are all in the link or defaults.
pub const OWN: &str = "own";

/// The word for a model that nobody knows. Any other word that names none is read like it.
pub const UNKNOWN: &str = "unknown";

/// The word of the parameter `model` for where a model's numbers come from.
pub const fn model_word(origin: Origin) -> &'static str {
    match origin {
        Origin::Row(slug) => slug,
        Origin::Own => OWN,
        Origin::Unknown => UNKNOWN,
    }
}

/// The word of the parameter `gpu` for the row that a GPU's numbers come from.
const fn gpu_word(origin: &'static str) -> &'static str {
    if origin.is_empty() { OWN } else { origin }
}

/// What a query string says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// The scenario, with defaults for what is absent or unusable.
    pub scenario: Scenario,
    /// The scenarios to compare with, in the order of the link.
    pub vs: Pinned,
    /// What the reader should know about.
    pub notices: Vec<Notice>,
}

/// The default scenario with the catalogue rows that `scenario` started from, and with what follows from `scenario` where
/// nobody says it.
pub fn base_of(scenario: &Scenario) -> Scenario {
    with_rows_of(scenario, Scenario::default()).unsaid_of(&scenario.as_unsaid())
}

/// `base` with the catalogue rows that `scenario` started from. Its micro-batch is that of `base`.
fn with_rows_of(scenario: &Scenario, mut base: Scenario) -> Scenario {
    match catalogue::model_of(scenario.model.origin) {
        Some(row) => base = row.apply(base),
        None => base.model.origin = scenario.model.origin,
    }
    if let Some(row) = catalogue::device(scenario.device.origin) {
        base = row.apply(base);
    }
    base.device.fragmentation = fragmentation(scenario.device.segments).likely;
    base
}
