//! Named models and devices: what a reader can pick instead of typing.
//!
//! Every row is data with its source and the day it was looked up. The estimator knows nothing of
//! this module: it reads the numbers of a [`Scenario`] and never asks where they came from, so a
//! row may be added or corrected without touching a formula.
//!
//! The default scenario lives here, because it is the one place that names rows.

/// One part of every row of a declared table, in the same order.
///
/// Rows and sources are declared together, because they are corrected together, and become two
/// tables, because a program that never shows a source then does not carry it.
macro_rules! column {
    ($declared:ident.$part:ident) => {
        &{
            let mut column = [$declared[0].$part; $declared.len()];
            let mut i = 1;
            while i < column.len() {
                column[i] = $declared[i].$part;
                i += 1;
            }
            column
        }
    };
}

/// The place of the row with this slug in a declared table; a slug that none has does not compile.
macro_rules! place {
    ($declared:ident, $slug:literal) => {{
        let mut at = 0;
        while !super::is_same($declared[at].row.slug, $slug) {
            at += 1;
        }
        at
    }};
}

mod agreement;
mod called;
mod devices;
mod models;
mod speeds;

pub use agreement::{Agreement, AgreementKind};
pub use called::{called, not_counted};
pub use devices::{DEFAULT_DEVICE, DEVICE_SOURCES, DEVICES, DeviceGroup, DeviceRow, DeviceSource, WORKSHOP_DEVICE};
pub use models::{
    AsUsual, DEFAULT_MODEL, MODEL_SOURCES, MODELS, ModelGroup, ModelRow, ModelSource, Usual, WORKSHOP_MODEL,
};
pub use speeds::{Peaks, assumption, memory_bandwidth, speed};

use crate::runtime::{COMMUNICATION, CUDA_CONTEXT, FIXED_FRAGMENTATION};
use crate::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Bytes, Change, ChartAxis, Cluster, Comparison,
    Device, Engine, ExpertMatrices, Fp8, Goal, GradientType, Host, Images, Kernels, Lengths, Logits, LossHead, Method,
    Model, Offload, Optimizer, Origin, Outside, Percent, Precision, Recipe, Recomputation, Scenario, Segments,
    StepKernel, Switch, Task, Unquantized, ZeroStage, estimate,
};

/// A row as it is declared, with where its numbers come from.
#[derive(Clone, Copy)]
struct Declared<Row, Source> {
    row: Row,
    source: Source,
}

/// Whether two slugs are the same, for constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The model with this slug.
pub fn model(slug: &str) -> Option<&'static ModelRow> {
    MODELS.iter().find(|row| row.slug == slug)
}

/// The row that a model's numbers come from, if they come from one.
pub fn model_of(origin: Origin) -> Option<&'static ModelRow> {
    origin.slug().and_then(model)
}

/// The row whose network has these numbers; of two with the same network, the first.
pub fn row_of_network(network: &Model) -> Option<&'static ModelRow> {
    MODELS.iter().find(|row| row.is_of(network))
}

/// The device with this slug.
pub fn device(slug: &str) -> Option<&'static DeviceRow> {
    DEVICES.iter().find(|row| row.slug == slug)
}

/// The row a scenario's model was taken from, and whether any of its numbers was edited since.
pub fn model_row_of(scenario: &Scenario) -> Option<(&'static ModelRow, bool)> {
    model_of(scenario.model.origin).map(|row| (row, scenario.model != row.model))
}

/// The row a scenario's device was taken from, and whether its memory was edited since.
///
/// Headroom is the reader's choice and no property of the device, so changing it edits nothing.
pub fn device_row_of(scenario: &Scenario) -> Option<(&'static DeviceRow, bool)> {
    device(scenario.device.origin).map(|row| (row, scenario.device.memory != row.memory()))
}

/// What the ledger counts for a device that runs no CUDA, in a sentence for wherever its answer shows; `None` for
/// all others, and for memory of nowhere.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// assert_eq!(catalogue::without_cuda(&Scenario::default()), None);
/// let amd = catalogue::device("mi300x").expect("listed").apply(Scenario::default());
/// assert!(catalogue::without_cuda(&amd).is_some_and(|text| text.contains("figures of CUDA stand in")));
/// ```
pub fn without_cuda(scenario: &Scenario) -> Option<&'static str> {
    let row = device(scenario.device.origin)?;
    (!row.runs_cuda()).then_some(
        "This GPU runs no CUDA. The figures of CUDA stand in for its context, its communication buffers, its kernels \
         and the gaps of its allocator; no run on one is among the measurements.",
    )
}

/// A larger device counts as another one when it has a tenth more memory.
const NOTICEABLY_LARGER: f64 = 1.1;
/// How many larger devices are worth a try.
const LARGER_DEVICES: usize = 3;

/// The next larger devices of the catalogue, one for each size, as changes to try.
pub fn larger_devices(memory: Bytes) -> Vec<Change> {
    sizes_above(memory).take(LARGER_DEVICES).collect()
}

/// A device of each size noticeably above `memory`, smallest first.
pub fn sizes_above(memory: Bytes) -> impl Iterator<Item = Change> {
    let next = |last: Bytes| {
        let enough = cards().filter(|row| row.memory().get() >= last.get() * NOTICEABLY_LARGER);
        enough.min_by_key(|row| row.memory_mib)
    };
    std::iter::successors(next(memory), move |row| next(row.memory())).map(DeviceRow::taken)
}

/// The device with the least memory that holds the scenario at its micro-batch; the memory a driver
/// keeps differs from device to device, so each is asked.
pub fn smallest_device(scenario: &Scenario) -> Option<&'static DeviceRow> {
    let holds = |row: &&DeviceRow| estimate(&row.apply(*scenario)).fits();
    cards().filter(holds).min_by_key(|row| row.memory_mib)
}

/// Every device but those of unified memory, which are machines of another kind.
fn cards() -> impl Iterator<Item = &'static DeviceRow> {
    DEVICES.iter().filter(|row| row.group != DeviceGroup::Unified)
}

impl DeviceRow {
    /// The same scenario on this row's device; the headroom stays what it was.
    #[must_use]
    pub fn apply(&self, scenario: Scenario) -> Scenario {
        self.taken().apply(scenario)
    }

    /// Taking this row's device, as one change.
    pub fn taken(&self) -> Change {
        Change::Device {
            origin: self.slug,
            memory: self.memory(),
            driver: self.driver(),
            workspace: self.workspace(),
            capability: self.capability(),
            emulates_bf16: self.emulates_bf16(),
        }
    }
}

impl Scenario {
    /// The workshop’s example, counted tensor by tensor: its 7B on eight A100 of 80 GB, three sequences of 2,048 tokens. Links
    /// of versions 2 and 3 begin with it.
    ///
    /// ```
    /// use bmax::{Scenario, catalogue};
    /// let scenario = Scenario::workshop();
    /// assert_eq!(scenario.model, catalogue::WORKSHOP_MODEL.model);
    /// assert_eq!(catalogue::device_row_of(&scenario), Some((catalogue::WORKSHOP_DEVICE, false)));
    /// ```
    #[must_use]
    pub fn workshop() -> Self {
        Self {
            method: Method::Ledger,
            model: WORKSHOP_MODEL.model,
            recipe: Recipe {
                sequence: USUAL_LENGTH,
                batch: 3,
                micro_batches: 1,
                precision: Precision::Bf16,
                gradients: GradientType::Half,
                optimizer: Optimizer::AdamW,
                step: StepKernel::Fused,
                recomputation: Recomputation::Selective,
                every: 4,
                recomputed_layers: 1,
                imbalance: 1.0,
                dropout: Switch::On,
                attention: AttentionKernel::Flash,
                loss: LossHead::Plain,
                chunks: 8,
                logits: Logits::Dropped,
                kernels: Kernels::Eager,
                offload: Offload::None,
                adapter: Adapter::None,
                rank: 16,
                targets: AdapterTargets::All,
                adapter_type: AdapterType::Full,
                adapter_dropout: Switch::Off,
                unquantized: Unquantized::Half,
                expert_matrices: ExpertMatrices::Stacked,
                fp8: Fp8::Off,
                projection: 128,
                preconditioner: 0,
                images: Images::ONE,
                source: 0,
            },
            cluster: Cluster {
                gpus: 8,
                engine: Engine::Torch,
                zero: ZeroStage::Stage3,
                tensor_parallel: 1,
                pipeline_parallel: 1,
                virtual_stages: 1,
                first_stage_layers: 0,
                last_stage_layers: 0,
                context_parallel: 1,
                expert_parallel: 1,
                sequence_parallel: Switch::Off,
                reshard: 0,
                reduce_bucket: 500,
            },
            device: Device {
                origin: WORKSHOP_DEVICE.slug,
                memory: WORKSHOP_DEVICE.memory(),
                headroom: Percent::new(10.0),
                driver: WORKSHOP_DEVICE.driver(),
                cuda_context: CUDA_CONTEXT.likely,
                communication: COMMUNICATION.likely,
                workspace: WORKSHOP_DEVICE.workspace(),
                segments: Segments::Fixed,
                fragmentation: FIXED_FRAGMENTATION.likely,
                capability: WORKSHOP_DEVICE.capability(),
                emulates_bf16: WORKSHOP_DEVICE.emulates_bf16(),
            },
            goal: Goal { global_batch: 256, unit: BatchUnit::Sequences },
            task: Task::TRAIN,
            outside: Outside::OFF,
            lengths: Lengths::EQUAL,
            comparison: Comparison { gpus: 64, recomputation: Recomputation::Full, against: ChartAxis::Sequence },
            host: Host::UNSAID,
        }
    }
}

/// Tokens of a sequence where nobody says how many.
const USUAL_LENGTH: u32 = 2_048;

impl Scenario {
    /// Tokens of a sequence where nobody says how many: 2,048, or as many as the table of learned positions has where that
    /// ends before.
    ///
    /// ```
    /// use bmax::{Scenario, catalogue};
    /// let usual = |slug| catalogue::model(slug).expect("listed").apply(Scenario::default()).recipe.sequence;
    /// assert_eq!((usual("llama-3.1-8b"), usual("gpt2"), usual("bert-base")), (2_048, 1_024, 512));
    /// ```
    pub fn usual_length(&self) -> u32 {
        self.longest_positions().map_or(USUAL_LENGTH, |most| most.min(USUAL_LENGTH))
    }
}

/// Sequences of the default scenario: the largest micro-batch that fits.
const DEFAULT_BATCH: u32 = 16;

/// The question that a reader meets first, and the scenario that a link begins with: Llama 3.1 8B on eight H100 of 80 GB,
/// all weights trained under ZeRO 3 with whole layers recomputed, and as many sequences of 2,048 tokens as fit. It is a case
/// that people have, and each of its neighbours teaches something.
///
/// ```
/// use bmax::{Scenario, b_max, catalogue};
/// let scenario = Scenario::default();
/// assert_eq!(scenario.model, catalogue::DEFAULT_MODEL.model);
/// assert_eq!(catalogue::device_row_of(&scenario), Some((catalogue::DEFAULT_DEVICE, false)));
/// assert_eq!(b_max(&scenario).batch(), Some(scenario.recipe.batch));
/// ```
impl Default for Scenario {
    fn default() -> Self {
        DEFAULT_MODEL.apply(DEFAULT_DEVICE.apply(Self::workshop())).compared_alike().with_batch(DEFAULT_BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    /// Slugs are words of a link: they must be unique and need no escaping there.
    fn assert_slugs<'a>(slugs: impl Iterator<Item = &'a str>) {
        let mut seen = std::collections::BTreeSet::new();
        for slug in slugs {
            assert!(seen.insert(slug), "{slug} twice");
            assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b)), "{slug}");
        }
    }

    /// A day written as ISO 8601 has it.
    fn is_date(text: &str) -> bool {
        text.len() == 10
            && text.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
    }

    #[test]
    fn slugs_are_unique_words_and_lead_back_to_their_row() {
        assert_slugs(MODELS.iter().map(|row| row.slug));
        assert_slugs(DEVICES.iter().map(|row| row.slug));
        assert!(MODELS.iter().all(|row| model(row.slug) == Some(row)));
        assert!(DEVICES.iter().all(|row| device(row.slug) == Some(row)));
        assert_eq!((model("no-such"), device("no-such")), (None, None));
    }

    #[test]
    fn every_row_has_a_name_a_source_and_a_date() {
        for row in MODELS {
            let source = row.source().expect("a row of the catalogue");
            assert!(!row.name.is_empty() && !source.source.is_empty() && is_date(source.retrieved), "{}", row.slug);
        }
        for row in DEVICES {
            let source = row.source().expect("a row of the catalogue");
            assert!(!row.name.is_empty() && !source.memory.is_empty() && !source.visible.is_empty(), "{}", row.slug);
            assert!(!source.peaks.is_empty(), "{}", row.slug);
            assert!(is_date(source.retrieved) && is_date(source.peaks_retrieved), "{}", row.slug);
        }
    }

    #[test]
    fn every_number_of_every_row_is_inside_its_declared_range() {
        let scenarios = MODELS.iter().map(|row| (row.slug, row.apply(Scenario::default())));
        let scenarios = scenarios.chain(DEVICES.iter().map(|row| (row.slug, row.apply(Scenario::default()))));
        for (slug, scenario) in scenarios {
            for &field in Field::ALL {
                let value = scenario.number(field);
                assert_eq!(field.check(value), Ok(value), "{slug}: {}", field.bound().name);
            }
        }
    }

    #[test]
    fn an_applied_row_is_recognised_until_a_number_of_it_is_edited() {
        let applied = model("llama-3.1-8b").expect("listed").apply(Scenario::default());
        assert_eq!(model_row_of(&applied).map(|(row, edited)| (row.slug, edited)), Some(("llama-3.1-8b", false)));
        let edited = applied.with_number(Field::Layers, 31.0).expect("in range");
        assert_eq!(model_row_of(&edited).map(|(row, edited)| (row.slug, edited)), Some(("llama-3.1-8b", true)));

        let applied = device("h200").expect("listed").apply(Scenario::default());
        assert_eq!(device_row_of(&applied).map(|(row, edited)| (row.slug, edited)), Some(("h200", false)));
        let roomier = applied.with_number(Field::Headroom, 0.0).expect("in range");
        assert_eq!(device_row_of(&roomier).map(|(_, edited)| edited), Some(false));
        let edited = applied.with_number(Field::Memory, 100.0).expect("in range");
        assert_eq!(device_row_of(&edited).map(|(_, edited)| edited), Some(true));
    }

    #[test]
    fn larger_devices_are_larger_rising_and_few() {
        for mib in [1, 24_576, 81_920, 196_592, u32::MAX] {
            let least = Bytes::from_mib(mib.into());
            let size = |change: &Change| if let Change::Device { memory, .. } = change { Some(*memory) } else { None };
            let sizes: Vec<Bytes> = larger_devices(least).iter().filter_map(size).collect();
            assert!(sizes.is_sorted_by(|a, b| a < b) && sizes.iter().all(|size| *size > least), "{mib}: {sizes:?}");
            assert!(sizes.len() <= LARGER_DEVICES);
        }
        assert!(larger_devices(Bytes::from_mib(u32::MAX.into())).is_empty());
    }

    #[test]
    fn the_smallest_device_holds_the_scenario_and_no_smaller_one_does() {
        let scenario = Scenario::default();
        let found = smallest_device(&scenario).expect("the default fits on its own device");
        assert!(found.memory() <= scenario.device.memory);
        for row in cards().filter(|row| row.memory_mib < found.memory_mib) {
            let at = row.apply(scenario);
            assert!(estimate(&at).peak().bytes > at.usable(), "{}", row.slug);
        }
        let mut huge = scenario;
        huge.recipe.batch = 1_048_576;
        assert_eq!(smallest_device(&huge), None);
    }

    #[test]
    fn numbers_from_nowhere_have_no_row() {
        let mut scenario = Scenario::default();
        scenario.model.origin = Origin::Own;
        scenario.device.origin = "";
        assert_eq!((model_row_of(&scenario), device_row_of(&scenario)), (None, None));
    }

    #[test]
    fn the_default_is_llama_8b_on_eight_h100_and_the_workshop_s_its_7b_on_eight_a100() {
        assert_eq!((DEFAULT_MODEL.slug, DEFAULT_DEVICE.slug), ("llama-3.1-8b", "h100-80"));
        assert_eq!((WORKSHOP_MODEL.slug, WORKSHOP_DEVICE.slug), ("7b", "a100-80"));
        assert_eq!(Scenario::workshop().device.memory.gib(), 80.0);
        assert!(Scenario::workshop().conflicts().is_empty());
        assert!(Scenario::default().conflicts().is_empty());
    }

    #[test]
    fn the_gigabytes_in_a_gpu_s_name_are_gibibytes_but_for_what_is_not_reported() {
        let mut named = 0;
        for row in DEVICES {
            let Some(size) = row.name.strip_suffix(" GB").and_then(|rest| rest.rsplit(' ').next()) else { continue };
            let size: f64 = size.parse().expect("a number");
            let gib = f64::from(row.memory_mib) / 1024.0;
            // Error correction takes a sixteenth of the memory of cards with GDDR6 (L4, A10, L40S, A40), and the
            // 288 GB of a B300 are decimal. No card reports less than its name says in units of 10⁹ bytes.
            assert!(gib <= size * 1.001 && gib >= size * 1e9 / f64::from(1 << 30), "{}: {gib} GiB", row.name);
            named += 1;
        }
        assert!(named > 20, "{named} names have a size");
    }
}
