//! Which inputs are out of sight.

use bmax::compare::Input;
use bmax::{Field, Method, Scenario};

/// Whether nothing can come of an input. A changed value is never out of sight, but for the number of parameters, for which
/// the ledger has a count of its own that stands in its place.
pub fn is_hidden(input: Input, scenario: &Scenario, base: &Scenario) -> bool {
    match input {
        Input::Number(Field::Parameters) => scenario.method == Method::Ledger,
        _ => input.missing(scenario).is_some() && !input.differs(scenario, base),
    }
}
