//! What the figure shows: who is in which group, what one GPU of each stage holds, and what they send each other.

use bmax::course::splitting::{Crossing, Grid, Group, SERVER, bubble, crossing};
use bmax::stages::{StageShare, stages};
use bmax::{Bucket, Bytes, Estimate, Method, Scenario, ZeroStage, estimate, number};

use crate::site::format;

/// Boxes that the drawing has side by side, and on top of each other.
const BOXES: u32 = 8;

/// What a cell says where there is nothing to say.
const NONE: &str = "none";

/// Whose configuration is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The reader's, which splits the model.
    Split,
    /// The reader's, which does not.
    Unsplit,
    /// An example in its place.
    Example,
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Whose configuration that is.
    pub whose: Whose,
    /// GPUs of one copy of the model.
    pub copy: String,
    /// How many copies train at once.
    pub data: String,
    /// What is left over, or what is lacking.
    pub left: String,
    /// What the drawing shows.
    pub drawn: String,
    /// What a stage waits, as a part of the time in which it computes.
    pub bubble: String,
    /// The same as a part of the step.
    pub idle: String,
    /// How many micro-batches the memory is counted with.
    pub full: String,
    /// The copies that are drawn.
    pub copies: Vec<Replica>,
    /// The first stage, the fullest between and the last, as the rows of a table.
    pub held: Vec<Vec<String>>,
    /// The kinds of parallelism, as the rows of a table.
    pub crossing: Vec<Vec<String>>,
}

/// A copy of the model, as far as it is drawn: its stages with their GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    /// The rows, from the first stage.
    pub stages: Vec<Vec<Gpu>>,
}

/// One box.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Its number, where there is room for it.
    pub label: String,
    /// Whether it is in the group that is marked.
    pub lit: bool,
    /// Whether another tensor-parallel group begins with it.
    pub apart: bool,
}

/// Sixteen GPUs that two by two share each matrix, in a pipeline of four stages: the example in the text of
/// Megatron-LM's `initialize_model_parallel` (megatron/core/parallel_state.py). Eight micro-batches fill it, and a
/// pipeline goes with ZeRO 1.
pub fn example(mut scenario: Scenario) -> Scenario {
    let cluster = &mut scenario.cluster;
    (cluster.gpus, cluster.tensor_parallel, cluster.pipeline_parallel) = (16, 2, 4);
    (cluster.context_parallel, cluster.expert_parallel, cluster.virtual_stages) = (1, 1, 1);
    (cluster.first_stage_layers, cluster.last_stage_layers) = (0, 0);
    cluster.zero = ZeroStage::Stage1;
    scenario.recipe.micro_batches = 8;
    scenario
}

impl Shown {
    /// What the figure opens on: a scenario that splits nothing has nothing to show, so that the example stands for it until
    /// the reader wants their `own`.
    pub fn opened(scenario: &Scenario, own: bool, group: Group) -> Self {
        let shown = Self::of(scenario, group);
        if own || shown.whose == Whose::Split {
            return shown;
        }
        Self { whose: Whose::Example, ..Self::of(&example(*scenario), group) }
    }

    /// What a scenario shows with the groups of this kind marked.
    pub fn of(scenario: &Scenario, group: Group) -> Self {
        let grid = Grid::of(scenario);
        let is_split = grid.copy() > 1 || grid.size(Group::Expert) > 1;
        let (computing, step) = bubble(scenario);
        let (drawn, copies) = drawing(&grid, group);
        let gpus = |count: u32| format::counted(count, "GPU", "GPUs");
        let given = scenario.cluster.gpus;
        let left = match given.checked_sub(grid.gpus()) {
            None => format!("There are only {}.", gpus(given)),
            Some(0) => "No GPU is left over.".to_owned(),
            Some(1) => "1 GPU is left over.".to_owned(),
            Some(rest) => format!("{} GPUs are left over.", format::count(rest)),
        };
        Self {
            whose: if is_split { Whose::Split } else { Whose::Unsplit },
            copy: gpus(grid.copy()),
            data: if grid.data == 1 { "1 copy trains".to_owned() } else { format::count(grid.data) + " copies train" },
            left,
            drawn,
            bubble: format::percent_to(computing, 1),
            idle: format::percent_to(step, 1),
            full: full(scenario, &grid),
            copies,
            held: held(scenario),
            crossing: crossing(scenario).iter().map(|crossing| row(crossing, scenario, &grid)).collect(),
        }
    }
}

/// How many micro-batches the memory is counted with: as many as are set, or as a full pipeline needs.
fn full(scenario: &Scenario, grid: &Grid) -> String {
    let set = scenario.recipe.micro_batches.max(1);
    let counted = format::counted(set.max(grid.pipeline), "micro-batch", "micro-batches");
    let why = if set < grid.pipeline { ", the fewest that keep every stage busy" } else { "" };
    format!("Memory is counted for {counted}{why}.")
}

/// The boxes, and what they show in words.
fn drawing(grid: &Grid, group: Group) -> (String, Vec<Replica>) {
    // A row has all of a tensor-parallel group before a second one.
    let tensor = grid.tensor.min(BOXES);
    let context = grid.context.min(BOXES / tensor);
    let stages = grid.pipeline.min(BOXES);
    let room = (BOXES / (tensor * context)) * (BOXES / stages);
    let copies = grid.data.min(room);
    let lit = grid.members(group, 0);
    let gpu = |copy: u32, stage: u32, place: u32| {
        let number = grid.gpu(place % tensor, place / tensor, copy, stage);
        Gpu {
            label: if number < 1_000 { number.to_string() } else { "·".to_owned() },
            lit: lit.contains(number),
            apart: place > 0 && place.is_multiple_of(tensor),
        }
    };
    // The last stage is always there.
    let stage = |row: u32| if row + 1 == stages { grid.pipeline - 1 } else { row };
    let row = |copy: u32, at: u32| (0..tensor * context).map(|place| gpu(copy, stage(at), place)).collect();
    let replica = |copy: u32| Replica { stages: (0..stages).map(|at| row(copy, at)).collect() };

    let boxes = tensor * context * stages * copies;
    let all = format::counted(grid.gpus(), "GPU", "GPUs");
    let seen = if boxes == grid.gpus() {
        format!("Drawn: {all}")
    } else {
        format!("Drawn: {} of {all}", format::count(boxes))
    };
    let rows = if stages < grid.pipeline { ", the bottom row is the last stage" } else { "" };
    (format!("{seen}{rows}. {}", marked(grid, group)), (0..copies).map(replica).collect())
}

/// The group of GPU 0 in words.
fn marked(grid: &Grid, group: Group) -> String {
    let members = grid.members(group, 0);
    let shares = match group {
        Group::Tensor => "its part of each matrix",
        Group::Context => "its part of each sequence",
        Group::Pipeline => "its part of the layers",
        Group::Expert => "its part of the experts",
        Group::Data => "its own data",
    };
    let number = |place: u32| format::count(members.at(place));
    match members.count {
        1 if group == Group::Data => "There is no other copy of what GPU 0 holds.".to_owned(),
        1 => "Nothing is split in this way: GPU 0 is alone in its group.".to_owned(),
        2 => format!("Marked: GPUs {} and {}, each with {shares}.", number(0), number(1)),
        3 => format!("Marked: GPUs {}, {} and {}, each with {shares}.", number(0), number(1), number(2)),
        count => format!(
            "Marked: {} GPUs, {}, {} and so on to {}, each with {shares}.",
            format::count(count),
            number(0),
            number(1),
            number(count - 1)
        ),
    }
}

/// What one GPU of the first stage, of the fullest between and of the last holds.
fn held(scenario: &Scenario) -> Vec<Vec<String>> {
    // The other methods know no stages.
    let counted = Scenario { method: Method::Ledger, ..*scenario };
    let estimate = estimate(&counted);
    let shares = stages(&counted);
    let usable = counted.usable();
    let all = estimate.stages();
    let (Some(first), Some(last)) = (shares.first(), shares.last()) else { return Vec::new() };
    if all.is_empty() {
        let only = memory(&estimate, estimate.binding().0, usable);
        let only = cells("0, the only one".to_owned(), first, only);
        return vec![only, nothing("between"), nothing("last")];
    }
    let at = |share: &StageShare, name: &str| {
        let stage = all.iter().find(|stage| stage.rank == share.rank)?;
        let position = estimate.instants.iter().position(|instant| *instant == stage.peak.instant)?;
        Some(cells(format!("{}, {name}", share.rank), share, memory(&estimate, position, usable)))
    };
    let between = all.iter().filter(|stage| stage.rank > 0 && stage.rank != last.rank);
    let fullest = between.fold(None, |fullest: Option<(u32, Bytes)>, stage| match fullest {
        Some((_, most)) if most >= stage.peak.bytes => fullest,
        _ => Some((stage.rank, stage.peak.bytes)),
    });
    let fullest = fullest.and_then(|(rank, _)| shares.get(rank as usize));
    vec![
        at(first, "first").unwrap_or_else(|| nothing("first")),
        fullest.and_then(|share| at(share, "fullest between")).unwrap_or_else(|| nothing("between")),
        at(last, "last").unwrap_or_else(|| nothing("last")),
    ]
}

/// A row for a stage that is not there, so that the table keeps its height.
fn nothing(name: &str) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.resize(10, NONE.to_owned());
    row
}

fn cells(name: String, share: &StageShare, memory: [String; 6]) -> Vec<String> {
    let mut row = vec![
        name,
        number::grouped(share.layers),
        format::billions(share.weights.round() as u64),
        format::significant(share.micro_batches),
    ];
    row.extend(memory);
    row
}

/// The memory of one GPU at an instant: model states, activations, logits, the rest, all of it, and whether it fits.
fn memory(estimate: &Estimate, position: usize, usable: Bytes) -> [String; 6] {
    let at = |bucket| estimate.bucket_at(bucket, position);
    let states: Bytes = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer].map(at).into_iter().sum();
    let [activations, logits] = [Bucket::Activations, Bucket::Logits].map(at);
    let peak = estimate.total_at(position);
    let fits = if peak <= usable && estimate.host.lacks().is_none() { "yes" } else { "no" };
    let rest = peak - states - activations - logits;
    let [states, activations, logits, rest] = [states, activations, logits, rest].map(format::memory);
    [states, activations, logits, rest, format::gib(peak), fits.to_owned()]
}

fn row(crossing: &Crossing, scenario: &Scenario, grid: &Grid) -> Vec<String> {
    let sequence_parallel = scenario.cluster.sequence_parallel.is_on() && grid.tensor > 1;
    let (name, what) = match crossing.group {
        Group::Tensor if sequence_parallel => ("tensor and sequence", "all-gathers and reduce-scatters of activations"),
        Group::Tensor => ("tensor", "all-reduces of activations"),
        Group::Context => ("context", "keys and values around a ring"),
        Group::Pipeline => ("pipeline", "activations on and gradients back, between two stages"),
        Group::Expert => ("expert", "tokens to their experts and back"),
        Group::Data => ("data", "gradients"),
    };
    let size = grid.size(crossing.group);
    let place = if size == 1 {
        "not used".to_owned()
    } else if grid.inside_a_server(crossing.group) {
        format!("inside a server of {SERVER}")
    } else {
        "between servers".to_owned()
    };
    let exchanges = number::grouped(crossing.exchanges);
    vec![format!("{name}, {}", format::count(size)), what.to_owned(), place, exchanges, format::memory(crossing.bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;

    const GROUPS: [Group; 5] = [Group::Tensor, Group::Context, Group::Pipeline, Group::Expert, Group::Data];

    fn boxes(shown: &Shown) -> Vec<&Gpu> {
        shown.copies.iter().flat_map(|copy| &copy.stages).flatten().collect()
    }

    fn lit(shown: &Shown) -> Vec<&str> {
        boxes(shown).into_iter().filter(|gpu| gpu.lit).map(|gpu| gpu.label.as_str()).collect()
    }

    #[test]
    fn the_default_is_one_whole_model_on_each_gpu_that_sends_nothing_of_it() {
        let shown = Shown::of(&Scenario::workshop(), Group::Tensor);
        assert_eq!((shown.copy.as_str(), shown.data.as_str()), ("1 GPU", "8 copies train"));
        assert_eq!((shown.bubble.as_str(), shown.copies.len(), lit(&shown)), ("0.0 %", 8, vec!["0"]));
        assert!(shown.crossing.iter().all(|row| row[2..] == ["not used", "0", "0 GiB"]));
        assert_eq!(shown.held[1], nothing("between"));
    }

    #[test]
    fn what_splits_nothing_opens_on_the_example_and_gives_way_to_the_reader_s_own() {
        let mut scenario = Scenario::workshop();
        let opened = |scenario: &Scenario, own| Shown::opened(scenario, own, Group::Data);
        let shown = opened(&scenario, false);
        assert_eq!((shown.whose, shown.copy.as_str()), (Whose::Example, "8 GPUs"));
        assert_eq!(opened(&scenario, true), Shown::of(&scenario, Group::Data));
        assert_eq!(opened(&scenario, true).whose, Whose::Unsplit);
        for split in [
            |scenario: &mut Scenario| scenario.cluster.tensor_parallel = 2,
            |scenario: &mut Scenario| scenario.cluster.pipeline_parallel = 2,
            |scenario: &mut Scenario| scenario.cluster.context_parallel = 2,
        ] {
            scenario = Scenario::workshop();
            split(&mut scenario);
            let shown = opened(&scenario, false);
            assert_eq!((shown.whose, &shown.copies), (Whose::Split, &Shown::of(&scenario, Group::Data).copies));
        }
    }

    /// The groups that Megatron-LM's own text lists for this example, and the sums of Narayanan et al. 2021.
    #[test]
    fn the_example_has_megatrons_groups_and_waits_three_elevenths_of_a_step() {
        let scenario = example(Scenario::workshop());
        let shown = Shown::of(&scenario, Group::Pipeline);
        assert_eq!((shown.copy.as_str(), shown.data.as_str()), ("8 GPUs", "2 copies train"));
        assert_eq!(lit(&shown), ["0", "4", "8", "12"]);
        assert_eq!(lit(&Shown::of(&scenario, Group::Data)), ["0", "2"]);
        assert_eq!((shown.bubble.as_str(), shown.idle.as_str()), ("37.5 %", "27.3 %"));
        assert_eq!(shown.full, "Memory is counted for 8 micro-batches.");
        let mut few = scenario;
        few.recipe.micro_batches = 3;
        let few = Shown::of(&few, Group::Tensor);
        assert!(few.full.contains("4 micro-batches, the fewest"), "{}", few.full);
        assert_eq!(shown.held.iter().map(|row| row[3].as_str()).collect::<Vec<_>>(), ["4", "3", "1"]);
        assert!(shown.crossing[0][2].starts_with("inside a server") && shown.crossing[2][2] == "between servers");
    }

    #[test]
    fn too_few_gpus_for_one_copy_are_said() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.tensor_parallel = 16;
        assert_eq!(Shown::of(&scenario, Group::Tensor).left, "There are only 8 GPUs.");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_as_many_rows_and_boxes_that_have_room(scenario in any_scenario(), group in 0..5_usize) {
            let shown = Shown::opened(&scenario, group % 2 == 0, GROUPS[group]);
            texts_are_sound(&shown);
            prop_assert_eq!((shown.held.len(), shown.crossing.len()), (3, 4));
            prop_assert!(shown.held.iter().all(|row| row.len() == 10));
            let boxes = boxes(&shown);
            prop_assert!(!boxes.is_empty() && boxes.len() <= 64 && boxes[0].lit);
            // Side by side and on top of each other there is room for eight.
            let copy = &shown.copies[0].stages;
            let side_by_side = 8 / copy[0].len();
            let rows = shown.copies.len().div_ceil(side_by_side) * copy.len();
            prop_assert!(copy[0].len() <= 8 && rows <= 8);
        }
    }
}
