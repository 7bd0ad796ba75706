//! The file for torchtitan.

use crate::{Scenario, link};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    format!("{page}?{}\n", link::encode(scenario))
}
