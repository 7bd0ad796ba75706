//! What the count did before there was a word for it, where that was another answer: dated changes of the count.
//!
//! A link of a version that did not have the word goes on meaning what it meant, and its reader is told that the count has
//! changed since. A change of this kind has a variant here; the option that stands in is declared beside the setting.

use crate::setting::{self, Setting};
use crate::{Adapter, Method, Precision, Scenario};

/// A change of what is counted where nobody says otherwise, and of which a setting tells the old from the new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Adapters are kept in fp32.
    AdapterType,
    /// Routed experts beside adapters are in stacks.
    ExpertStacks,
}

impl Change {
    /// Every change, the oldest first.
    pub const ALL: &'static [Self] = &[Self::AdapterType, Self::ExpertStacks];

    /// The day since which it is counted so.
    pub fn day(self) -> &'static str {
        match self {
            Self::AdapterType => "22 November 2026",
            Self::ExpertStacks => "25 November 2026",
        }
    }

    /// The setting that tells the old count from the new.
    pub fn setting(self) -> &'static Setting {
        match self {
            Self::AdapterType => &setting::ADAPTER_TYPE,
            Self::ExpertStacks => &setting::EXPERT_MATRICES,
        }
    }

    /// Whether the two counts differ for this scenario.
    pub fn concerns(self, scenario: &Scenario) -> bool {
        let Scenario { model, recipe, .. } = scenario;
        scenario.method == Method::Ledger
            && recipe.adapter != Adapter::None
            && match self {
                // Adapters beside fp32 weights are in fp32 in any case.
                Self::AdapterType => recipe.precision != Precision::Fp32,
                Self::ExpertStacks => model.experts.count > 0 && model.experts.dense_layers < model.layers,
            }
    }

    /// What is counted now, in a sentence.
    pub(super) fn now(self) -> &'static str {
        match self {
            Self::AdapterType => "Adapters have been counted in fp32 since",
            Self::ExpertStacks => "Experts beside adapters have been counted as stacks since",
        }
    }

    /// What was counted before.
    pub(super) fn before(self) -> &'static str {
        match self {
            Self::AdapterType => "adapters in 16 bits",
            Self::ExpertStacks => "linear layers",
        }
    }
}
