//! What the figure shows: the state of every optimizer, as bars and as rows of a table.

use bmax::course::states::{self, State, states};
use bmax::{Bytes, Choice, Method, Optimizer, Scenario};

use crate::site::{Facts, format};

/// One of the optimizers that are compared.
pub struct Compared {
    /// Its setting; nothing for Adafactor with a first moment, which is no setting of the estimator.
    pub optimizer: Option<Optimizer>,
    /// What it is called.
    pub name: &'static str,
    /// What it remembers.
    pub remembers: &'static str,
}

impl Compared {
    /// A word for it that is unique.
    pub fn key(&self) -> &'static str {
        self.optimizer.map_or("both", Choice::key)
    }
}

const fn one(optimizer: Optimizer, name: &'static str, remembers: &'static str) -> Compared {
    Compared { optimizer: Some(optimizer), name, remembers }
}

/// The optimizers, from the most that is remembered to the least.
pub static COMPARED: [Compared; states::COMPARED.len() + 1] = [
    one(Optimizer::AdamW, "Adam, AdamW", "two moments in fp32"),
    one(Optimizer::Muon, "Muon", "one on the blocks’ matrices, Adam’s two on the rest"),
    one(Optimizer::Momentum, "SGD with momentum", "one velocity"),
    one(Optimizer::Lion, "Lion", "one moment"),
    Compared { optimizer: None, name: "Adafactor with momentum", remembers: "one moment, row and column sums" },
    one(Optimizer::Adam8bit, "8-bit Adam", "two moments of a byte each, a scale per 256"),
    one(Optimizer::Adafactor, "Adafactor of transformers", "row and column sums in fp32"),
    one(Optimizer::AdafactorTorch, "Adafactor of torch.optim", "the same sums in the type of the weights"),
    one(Optimizer::Sgd, "SGD", "nothing"),
];

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Weights that are trained, in billions.
    pub weights: String,
    /// What the configuration's own optimizer remembers on each GPU.
    pub own: String,
    /// The same over all GPUs.
    pub whole: String,
    /// The fp32 master copy beside it.
    pub master: String,
    /// What the bars do not say.
    pub remark: String,
    /// Each of [`COMPARED`].
    pub held: Vec<Held>,
    /// The table, in the order of [`states::COMPARED`].
    pub rows: Vec<Vec<String>>,
}

/// One optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Bytes a weight.
    pub each: String,
    /// What each GPU holds.
    pub gpu: String,
    /// That as a part of what Adam and the master copy take.
    pub moments: String,
    /// The master copy as a part of the same.
    pub master: String,
    /// The largest micro-batch with it.
    pub batch: String,
    /// Whether it is the configuration's own.
    pub own: bool,
}

impl Shown {
    /// What this scenario shows.
    pub fn of(scenario: &Scenario) -> Self {
        let states = states(scenario);
        let of = |optimizer: Optimizer| {
            // What is not compared shows as Adam, and the remark says so.
            states.iter().copied().find(|state| state.optimizer == optimizer).unwrap_or(states[0])
        };
        let (adam, own) = (of(Optimizer::AdamW), of(scenario.recipe.optimizer));
        let both = both(&of(Optimizer::Adafactor), &of(Optimizer::Momentum));
        let share = |bytes: Bytes| format::css_percent(bytes.share_of(adam.per_gpu + adam.master));
        let held = |compared: &Compared| {
            let state = compared.optimizer.map_or(both, of);
            Held {
                each: format::significant(state.per_weight),
                gpu: format::memory(state.per_gpu),
                moments: share(state.per_gpu),
                master: share(state.master),
                batch: most(state.batch),
                own: compared.optimizer == Some(scenario.recipe.optimizer),
            }
        };
        let rows = states.iter().map(|state| row(state.optimizer.label(), state));
        Self {
            weights: format::significant(adam.whole.get() / adam.per_weight / 1e9),
            own: format::memory(own.per_gpu),
            whole: format::memory(own.whole),
            master: format::memory(own.master),
            remark: remark(scenario),
            held: COMPARED.iter().map(held).collect(),
            rows: rows.chain([row("Adafactor with momentum", &both)]).collect(),
        }
    }
}

/// Adafactor with a first moment: the two together, and as much room for a batch as the larger of them leaves.
fn both(sums: &State, moment: &State) -> State {
    State {
        per_weight: sums.per_weight + moment.per_weight,
        whole: sums.whole + moment.whole,
        per_gpu: sums.per_gpu + moment.per_gpu,
        ..*moment
    }
}

fn row(name: &str, state: &State) -> Vec<String> {
    let sizes = [state.whole, state.per_gpu, state.per_gpu + state.master].map(format::memory);
    let [whole, gpu, with_master] = sizes;
    vec![name.to_owned(), format::significant(state.per_weight), whole, gpu, with_master, most(state.batch)]
}

fn most(batch: Option<u32>) -> String {
    batch.map_or_else(|| "none fits".to_owned(), format::count)
}

/// Where the configuration and the bars differ.
fn remark(scenario: &Scenario) -> String {
    let remarks = [
        (
            !states::COMPARED.contains(&scenario.recipe.optimizer),
            " The optimizer you chose is not among them; the sizes above are Adam’s.",
        ),
        (
            scenario.recipe.offload.takes_optimizer(),
            " It is in CPU memory, as you have set it; the bars show what it takes there.",
        ),
        (
            scenario.method != Method::Ledger,
            " The method you chose counts every optimizer as Adam; here the ledger counts.",
        ),
    ];
    remarks.into_iter().filter(|(said, _)| *said).map(|(_, remark)| remark).collect()
}

/// What putting another optimizer in use has done, between the facts before it and after it.
pub fn done(optimizer: Optimizer, before: &str, after: &Facts) -> String {
    format!("{}: largest b {before} → {}", optimizer.label(), format::answer(&after.answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::Offload;
    use proptest::prelude::*;

    fn gpu(shown: &Shown, optimizer: Optimizer) -> &str {
        let at = COMPARED.iter().position(|compared| compared.optimizer == Some(optimizer)).expect("compared");
        &shown.held[at].gpu
    }

    #[test]
    fn every_optimizer_has_a_bar_and_a_row() {
        let shown = Shown::of(&Scenario::workshop());
        for optimizer in &states::COMPARED {
            assert_eq!(COMPARED.iter().filter(|compared| compared.optimizer == Some(*optimizer)).count(), 1);
            let row = shown.rows.iter().find(|row| row[0] == optimizer.label()).expect("a row");
            assert_eq!(row[3], gpu(&shown, *optimizer));
        }
        assert_eq!(shown.rows.len(), COMPARED.len());
    }

    /// 7 billion weights on eight GPUs: 8 bytes each for Adam, 4 for Lion, a byte for each of 8-bit Adam's two
    /// moments and a scale of 4 for 256 of them (bitsandbytes from 0.44 on). 56 GB over 8 GPUs are 6.5 GiB; the
    /// model's own count of weights is a little less.
    #[test]
    fn smaller_states_have_the_published_proportions_and_all_of_them_make_room_for_one_more() {
        let shown = Shown::of(&Scenario::workshop());
        let adam: f64 = gpu(&shown, Optimizer::AdamW).trim_end_matches(" GiB").parse().expect("GiB");
        for (optimizer, bytes) in [(Optimizer::Lion, 4.0), (Optimizer::Momentum, 4.0), (Optimizer::Adam8bit, 2.03125)] {
            let gib: f64 = gpu(&shown, optimizer).trim_end_matches(" GiB").parse().expect("GiB");
            assert!((gib / adam - bytes / 8.0).abs() < 0.003, "{optimizer:?}: {gib} of {adam}");
        }
        assert!(gpu(&shown, Optimizer::Adafactor).ends_with(" MiB"));
        for (compared, held) in COMPARED.iter().zip(&shown.held) {
            let most = if compared.optimizer == Some(Optimizer::AdamW) { "6" } else { "7" };
            assert_eq!(held.batch, most, "{}", compared.name);
        }
    }

    #[test]
    fn the_bar_of_adam_and_its_master_copy_is_as_long_as_the_figure() {
        let length = |text: &str| -> f64 { text.trim_end_matches('%').parse().expect("percent") };
        let adam = &Shown::of(&Scenario::workshop()).held[0];
        assert!((length(&adam.moments) + length(&adam.master) - 100.0).abs() < 0.01);
    }

    #[test]
    fn what_lies_elsewhere_or_is_counted_otherwise_is_said() {
        let mut scenario = Scenario::workshop();
        assert_eq!(remark(&scenario), "");
        scenario.recipe.offload = Offload::Optimizer;
        assert!(remark(&scenario).contains("in CPU memory"));
        scenario.method = Method::Workshop;
        assert!(remark(&scenario).ends_with("here the ledger counts."));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_size_for_every_optimizer(scenario in any_scenario()) {
            let shown = Shown::of(&scenario);
            texts_are_sound(&(&shown.weights, &shown.own, &shown.whole, &shown.master));
            texts_are_sound(&(&shown.held, &shown.rows));
            prop_assert!(shown.held.iter().filter(|held| held.own).count() <= 1);
        }
    }
}
