//! Ways out where nothing fits or nothing can be said: changes, alone or two or three together, with which at least one
//! sequence fits.

use super::answer::{fewest_gpus, room_or_lack};
use super::bounds::Field;
use super::change::Change;
use super::choice::{Adapter, Method, Offload, Optimizer, ZeroStage};
use super::levers::open_changes;
use super::scenario::{Origin, Scenario};
use super::setting::Word;
use super::units::Bytes;

/// Changes with which at least one sequence fits, and none of which can be left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Way {
    /// The changes, the cheapest first.
    pub changes: Vec<Change>,
    /// b_max with all of them.
    pub after: u32,
}

/// The ways out of one scenario.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ways {
    /// Those that fit, the cheapest first. Empty where a sequence fits as things are.
    pub fitting: Vec<Way>,
    /// Where none does, the changes that come closest, and what one sequence still lacks with them.
    pub closest: Option<(Vec<Change>, Bytes)>,
}

/// What a change costs its user, from what is given up least to what is bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Price {
    /// It mends settings that have no answer.
    Mend,
    /// The same arithmetic by other kernels, or divided further without more communication.
    Nothing,
    /// Something else is trained: adapters beside frozen weights.
    Adapters,
    /// The same beside weights in four bits.
    QuantizedBase,
    /// Work is done twice, or devices say more to each other.
    Work,
    /// States of fewer bits, or another rule.
    FewerBits,
    /// Memory of the machine, and the link to it.
    Offload,
    /// Less is learnt from: shorter sequences, smaller images.
    LessData,
    /// More or larger devices.
    Devices,
}

impl Change {
    /// What it costs whoever makes it.
    pub const fn price(self) -> Price {
        match self {
            Self::Number(Field::Gpus | Field::TensorParallel, _) | Self::Device { .. } => Price::Devices,
            Self::Number(Field::Sequence | Field::MaxPixels, _) => Price::LessData,
            Self::Number(..) => Price::Nothing,
            Self::Word(word) => match word {
                Word::Adapter(adapter) if adapter.is_quantized() => Price::QuantizedBase,
                Word::Adapter(_) | Word::Targets(_) | Word::Tower(_) => Price::Adapters,
                Word::Recomputation(_) | Word::SequenceParallel(_) | Word::Zero(ZeroStage::Stage3) => Price::Work,
                Word::Optimizer(_) | Word::Precision(_) | Word::Frozen(_) => Price::FewerBits,
                Word::Offload(_) | Word::Gather(_) | Word::Load(_) | Word::Resume(_) => Price::Offload,
                _ => Price::Nothing,
            },
        }
    }
}

/// How many ways that need no other device are enough to look no farther.
const ENOUGH: usize = 3;

/// The ways out of a scenario of which nothing fits or that has no answer; none where it has one. `devices` are larger
/// devices worth a try, the smallest first: the estimator knows no catalogue.
///
/// Every way was asked of the exact ledger. What mends the settings of the scenario comes first in each.
pub fn ways(scenario: &Scenario, devices: &[Change]) -> Ways {
    if scenario.model.origin == Origin::Unknown {
        return Ways::default();
    }
    let (base, mends) = scenario.mended();
    let mut search = Search { base, tried: Vec::new(), ways: Ways::default() };
    if search.fits(&[]) {
        // Where something fits as things are there is no way out to show; else the mends alone are one.
        if mends.is_empty() {
            search.ways.fitting.clear();
        }
    } else {
        search.run(devices);
    }
    search.ways.with_mends(&mends)
}

struct Search {
    base: Scenario,
    /// Changes that are not enough by themselves, the cheapest first.
    tried: Vec<Change>,
    ways: Ways,
}

impl Search {
    fn run(&mut self, devices: &[Change]) {
        let mut open: Vec<Change> = candidates(&self.base);
        open.sort_by_key(|change| change.price());
        let (bought, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|change| change.price() == Price::Devices);
        self.each_alone(open);
        self.together(2);
        if self.ways.fitting.len() < ENOUGH {
            self.together(3);
        }
        let without = self.ways.fitting.len();
        let gpus = fewest_gpus(&self.base, 1).map(|gpus| Change::Number(Field::Gpus, gpus.into()));
        let wider = bought.into_iter().filter(|change| !matches!(change, Change::Number(Field::Gpus, _)));
        for change in wider.chain(gpus) {
            self.fits(&[change]);
        }
        // The smallest that is large enough says enough.
        _ = devices.iter().any(|device| self.fits(&[*device]));
        if without == 0 && self.ways.fitting.is_empty() {
            // The most that one can do at once on the largest device.
            let most: Vec<Change> = devices.last().copied().into_iter().collect();
            for change in self.tried.clone() {
                self.fits(&[&most[..], &[change]].concat());
            }
        }
        self.ways.fitting.sort_by_key(Way::rank);
    }

    fn each_alone(&mut self, open: Vec<Change>) {
        for change in open {
            if !self.fits(&[change]) {
                self.tried.push(change);
            }
        }
    }

    /// All sets of so many changes of which none fits with fewer.
    fn together(&mut self, count: usize) {
        let tried = self.tried.clone();
        let mut chosen = Vec::with_capacity(count);
        self.extend(&tried, &mut chosen, count);
    }

    fn extend(&mut self, open: &[Change], chosen: &mut Vec<Change>, left: usize) {
        if left == 0 {
            self.fits(chosen);
            return;
        }
        for (at, change) in open.iter().enumerate() {
            // Two values of one input are one change.
            if chosen.iter().any(|other| other.input() == change.input()) {
                continue;
            }
            chosen.push(*change);
            self.extend(&open[at + 1..], chosen, left - 1);
            chosen.pop();
        }
    }

    /// Whether one sequence fits with these changes; a way or the closest miss is written down. What holds a way
    /// already is not asked again.
    fn fits(&mut self, changes: &[Change]) -> bool {
        let holds = |way: &Way| !way.changes.is_empty() && way.changes.iter().all(|change| changes.contains(change));
        if self.ways.fitting.iter().any(holds) {
            return true;
        }
        let with = changes.iter().fold(self.base, |scenario, change| change.apply(scenario));
        match room_or_lack(&with) {
            Some(Ok(after)) => {
                self.ways.fitting.push(Way { changes: changes.to_vec(), after });
                true
            }
            Some(Err(lacking)) => {
                if self.ways.closest.as_ref().is_none_or(|(_, least)| lacking < *least) {
                    self.ways.closest = Some((changes.to_vec(), lacking));
                }
                false
            }
            // Settings that do not go together are no way.
            None => false,
        }
    }
}

impl Way {
    /// By its dearest change, then by how many there are, then by what they cost together; among equals what leads
    /// farther comes first.
    fn rank(&self) -> (Option<Price>, usize, Vec<Price>, std::cmp::Reverse<u32>) {
        let mut prices: Vec<Price> = self.changes.iter().map(|change| change.price()).collect();
        prices.sort_unstable();
        (prices.last().copied(), prices.len(), prices, std::cmp::Reverse(self.after))
    }
}

impl Ways {
    fn with_mends(mut self, mends: &[Change]) -> Self {
        let behind = |changes: &mut Vec<Change>| {
            // What a way changes again needs no mend.
            let mut all: Vec<Change> = mends.to_vec();
            all.retain(|mend| changes.iter().all(|change| change.input() != mend.input()));
            all.append(changes);
            *changes = all;
        };
        self.fitting.iter_mut().for_each(|way| behind(&mut way.changes));
        if !self.fitting.is_empty() {
            self.closest = None;
        }
        self.closest.iter_mut().for_each(|(changes, _)| behind(changes));
        self
    }
}

/// The changes worth a try where nothing fits: those that only help, and what trains something else.
fn candidates(scenario: &Scenario) -> Vec<Change> {
    let recipe = &scenario.recipe;
    let mut open = open_changes(scenario);
    if scenario.method != Method::Ledger {
        return open;
    }
    match recipe.adapter {
        Adapter::None => {
            open.extend([Adapter::Lora, Adapter::Qlora].map(|adapter| Change::from(Word::Adapter(adapter))))
        }
        Adapter::Lora | Adapter::LoraFp32 | Adapter::Lora8 => open.push(Word::Adapter(Adapter::Qlora).into()),
        Adapter::Qlora => {}
    }
    if recipe.adapter == Adapter::None && recipe.optimizer != Optimizer::Adam8bit {
        open.push(Word::Optimizer(Optimizer::Adam8bit).into());
    }
    for offload in [Offload::Optimizer, Offload::Both, Offload::Parameters, Offload::Everything] {
        let change = Word::Offload(offload).into();
        if recipe.offload == Offload::None && !open.contains(&change) {
            open.push(change);
        }
    }
    open.retain(|change| !change.holds_in(scenario));
    open.dedup();
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, largest_micro_batch, link};

    fn of(query: &str) -> (Scenario, Ways) {
        let scenario = link::decode(query).scenario;
        (scenario, ways(&scenario, &catalogue::sizes_above(scenario.device.memory).collect::<Vec<_>>()))
    }

    #[test]
    fn seven_billion_weights_on_a_24_gb_card_are_led_to_adapters_first() {
        let (scenario, ways) = of("model=qwen2.5-7b&gpu=rtx-4090&gpus=1");
        let adapter = |adapter| Change::from(Word::Adapter(adapter));
        let named: Vec<_> = ways.fitting.iter().take(2).map(|way| way.changes.clone()).collect();
        assert_eq!(named, [vec![adapter(Adapter::Lora)], vec![adapter(Adapter::Qlora)]]);
        for way in &ways.fitting {
            let with = way.changes.iter().fold(scenario, |scenario, change| change.apply(scenario));
            assert_eq!(largest_micro_batch(&with), Some(way.after), "{:?}", way.changes);
        }
        assert_eq!(ways.closest, None);
    }

    #[test]
    fn what_fits_needs_no_way_and_what_contradicts_itself_is_mended_first() {
        assert_eq!(of("gpus=8").1, Ways::default());
        let (scenario, ways) = of("model=llama-3.1-8b&gpus=8&tp=3");
        let [way] = ways.fitting.as_slice() else { panic!("{ways:?}") };
        let with = way.changes.iter().fold(scenario, |scenario, change| change.apply(scenario));
        assert!(with.conflicts().is_empty());
    }

    #[test]
    fn where_nothing_at_all_fits_the_closest_is_said_with_what_it_lacks() {
        // A gigabyte, and no larger device to take.
        let ways = ways(&link::decode("v=3&model=llama-3.1-405b&gpu=rtx-3060&gpus=1&s=8192&mem=1").scenario, &[]);
        assert!(ways.fitting.is_empty());
        assert!(ways.closest.is_some_and(|(changes, lacking)| !changes.is_empty() && lacking > Bytes::ZERO));
    }
}
