//! The file for deepspeed.

use crate::{Scenario, link};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    format!("{page}?{}\n", link::encode(scenario))
}
