//! How the chosen micro-batch stands to the memory.

use bmax::{Answer, Balance, RefusalKind, format};

use super::Facts;

/// How a micro-batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It fits.
    Fits,
    /// It fits as expected, and does not if the unknowns turn out badly. Only the ledger knows these.
    LikelyFits,
    /// It lives off the headroom.
    TooClose,
    /// It does not fit.
    DoesNotFit,
    /// Nobody can say: the configuration has no answer.
    Unanswered(RefusalKind),
}

impl Standing {
    /// How these facts' own micro-batch stands.
    pub fn of(facts: &Facts) -> Self {
        if let Answer::Refused(refusal) = &facts.answer {
            return Self::Unanswered(refusal.kind);
        }
        match Self::by(facts.estimate.balance()) {
            Self::Fits if facts.range.safe.batch().unwrap_or(0) < facts.scenario.recipe.batch => Self::LikelyFits,
            standing => standing,
        }
    }

    /// How a micro-batch of this balance stands, all unknowns as expected.
    pub const fn by(balance: Balance) -> Self {
        match balance {
            Balance::Free(_) => Self::Fits,
            Balance::Close(_) => Self::TooClose,
            Balance::Over(_) | Balance::LacksHost(_) => Self::DoesNotFit,
        }
    }

    /// The same in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::LikelyFits => "likely fits",
            Self::TooClose => "too close",
            Self::DoesNotFit => "does not fit",
            Self::Unanswered(kind) => format::refused(kind),
        }
    }

    /// The style sheet's word for its colour.
    pub const fn colour(self) -> &'static str {
        match self {
            Self::Fits => "good",
            Self::LikelyFits | Self::TooClose | Self::Unanswered(_) => "warn",
            Self::DoesNotFit => "bad",
        }
    }

    /// The sign that stands for it beside its colour.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Fits => "✓",
            Self::LikelyFits | Self::TooClose => "!",
            Self::DoesNotFit => "✕",
            Self::Unanswered(_) => "?",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::any_scenario;
    use crate::site::facts_of;
    use bmax::{AttentionKernel, Method, Recomputation, Scenario};
    use proptest::prelude::*;

    #[test]
    fn between_safe_and_likely_a_batch_only_likely_fits() {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = Recomputation::Full;
        scenario.recipe.attention = AttentionKernel::Eager;
        let facts = facts_of(scenario);
        let [safe, likely] = [&facts.range.safe, &facts.range.likely].map(|answer| answer.batch().expect("fits"));
        assert!(safe < likely);
        for (batch, word) in
            [(safe, "fits"), (safe + 1, "likely fits"), (likely, "likely fits"), (likely + 1, "does not fit")]
        {
            assert_eq!(Standing::of(&facts_of(scenario.with_batch(batch))).word(), word, "b = {batch}");
        }
        scenario.method = Method::Workshop;
        let most = facts_of(scenario).answer.batch().expect("fits");
        assert_eq!(Standing::of(&facts_of(scenario.with_batch(most))), Standing::Fits);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_has_no_answer_is_never_in_the_colour_of_what_fits(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            let standing = Standing::of(&facts);
            prop_assert_eq!(matches!(standing, Standing::Unanswered(_)), !facts.is_answered());
            prop_assert!(facts.is_answered() || standing.colour() != Standing::Fits.colour());
        }
    }
}
