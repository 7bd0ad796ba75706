//! What is trained: all weights, or adapters beside frozen ones.

use bmax::{Adapter, Field, Scenario};
use leptos::prelude::*;

use crate::components::{Model, NumberField, Segmented};
use crate::site::State;

/// The three ways that the line offers. The calculator has every kind of adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// All weights.
    All,
    /// Adapters beside weights in 32, 16 or 8 bits.
    Lora,
    /// Adapters beside weights in 4 bits.
    Qlora,
}

const WAYS: [(Way, &str); 3] = [(Way::All, "All weights"), (Way::Lora, "LoRA"), (Way::Qlora, "QLoRA")];

impl Way {
    const fn of(adapter: Adapter) -> Self {
        match adapter {
            Adapter::None => Self::All,
            Adapter::Qlora => Self::Qlora,
            _ => Self::Lora,
        }
    }

    /// The same scenario trained in this way; of several kinds of adapters the one in use stays.
    fn apply(self, mut scenario: Scenario) -> Scenario {
        if Self::of(scenario.recipe.adapter) != self {
            scenario.recipe.adapter = match self {
                Self::All => Adapter::None,
                Self::Lora => Adapter::Lora,
                Self::Qlora => Adapter::Qlora,
            };
        }
        scenario
    }
}

/// Chooses what is trained and, for adapters, their rank.
#[component]
pub fn Trained(state: State) -> impl IntoView {
    let way = Memo::new(move |_| state.asked(|scenario| Way::of(scenario.recipe.adapter)));
    let value = Model::new(way.into(), move |way: Way| state.change(|scenario| way.apply(scenario)));
    let all = Signal::derive(move || way.get() == Way::All);
    view! {
        <Segmented legend="What is trained" id="line-trained" options=WAYS value/>
        <span class="configuration-rank" hidden=move || all.get()>
            <span class="configuration-word" aria-hidden="true">"r"</span>
            <NumberField input=state.field(Field::Rank) id="line-rank"/>
        </span>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Choice;

    #[test]
    fn each_way_sets_what_it_says_and_keeps_a_kind_of_adapter_that_it_has_already() {
        for &(way, _) in &WAYS {
            for &adapter in Adapter::ALL {
                let mut scenario = Scenario::workshop();
                scenario.recipe.adapter = adapter;
                let with = way.apply(scenario).recipe.adapter;
                assert_eq!(Way::of(with), way);
                assert!(Way::of(adapter) != way || with == adapter, "{adapter:?} stays");
            }
        }
    }
}
