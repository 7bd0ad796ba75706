//! The scenario as a target runs it: what it cannot express is replaced by what it does instead, and
//! the micro-batch is worked out again for that, so that no file promises what it does not keep.

use super::text::{gib, wrap};
use crate::format::{count, counted};
use crate::planner::{Accumulation, plan};
use crate::{
    Adapter, Answer, Choice, Cluster, Engine, Field, GradientType, Logits, Method, Offload, Precision, Recomputation,
    Scenario, Shortage, ZeroStage, b_max, catalogue, estimate, largest_micro_batch, link,
};

/// A scenario on its way into a file.
pub(super) struct Run {
    /// As the reader has it.
    asked: Scenario,
    /// As the target will carry it out.
    now: Scenario,
    /// What the target does instead of what was asked, a sentence each.
    changes: Vec<String>,
    /// What has to be said elsewhere than in this file.
    remarks: Vec<String>,
}

/// Micro-batch and accumulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    /// The scenario at this micro-batch and accumulation.
    pub scenario: Scenario,
    /// Whether that fits.
    pub fits: bool,
    /// Sequences a GPU processes at once.
    pub micro_batch: u32,
    /// Micro-batches of one optimizer step.
    pub steps: u32,
    /// D.
    pub data_parallel: u32,
    /// D · T · P · C: processes of the job.
    pub world: u32,
    /// Sequences an optimizer step sees.
    pub global_batch: u64,
}

/// The plan for the scenario's global batch with the largest micro-batches that fit.
///
/// The reader's own micro-batch does not count: it is what the page draws, not what fits. More
/// accumulation keeps gradients alive and a pipeline full, so that less may fit beside them; the plan
/// is made again until the micro-batch fits with its own accumulation. When nothing fits it is one
/// sequence at a time.
///
/// A pipeline is given at least as many micro-batches as it has stages: PyTorch’s 1F1B refuses fewer
/// (torch/distributed/pipelining/schedules.py, `Schedule1F1B`), and the estimate is that of a full one.
pub(super) fn planned(scenario: &Scenario) -> Planned {
    let cluster = &scenario.cluster;
    let data_parallel = cluster.data_parallel();
    let target = scenario.goal.sequences(scenario.recipe.sequence);
    let filling = target.div_ceil(data_parallel.saturating_mul(cluster.pipeline_parallel)).max(1);
    let mut limit = largest_micro_batch(scenario).unwrap_or(0);
    if cluster.pipeline_parallel > 1 {
        limit = limit.min(filling);
    }
    while limit > 0 {
        let accumulation = in_rounds(cluster, plan(target, data_parallel, limit).preferred());
        let at = at_plan(scenario, accumulation);
        if fits(&at) {
            return told(at, accumulation, cluster.group(), true);
        }
        // What fits with this accumulation is less; one sequence less always makes an end.
        limit = largest_micro_batch(&at).unwrap_or(0).min(accumulation.micro_batch - 1);
    }
    let accumulation = in_rounds(cluster, plan(target, data_parallel, 1).preferred());
    let at = at_plan(scenario, accumulation);
    // A smaller accumulation than the scenario's own may leave room where that left none.
    told(at, accumulation, cluster.group(), fits(&at))
}

/// The same with as many micro-batches as the pipeline takes. An interleaved one takes rounds of P
/// (`forward_backward_pipelining_with_interleaving` in megatron/core/pipeline_parallel/schedules.py at
/// d98e8a64ddf3; `ScheduleInterleaved1F1B` of PyTorch).
fn in_rounds(cluster: &Cluster, accumulation: Accumulation) -> Accumulation {
    let stages = cluster.pipeline_parallel.max(1);
    let steps = match (stages, cluster.virtual_stages) {
        (1, _) => accumulation.steps,
        (_, 1) => accumulation.steps.max(stages),
        _ => accumulation.steps.checked_next_multiple_of(stages).unwrap_or(accumulation.steps),
    };
    Accumulation { steps, ..accumulation }
}

fn told(scenario: Scenario, accumulation: Accumulation, group: u32, fits: bool) -> Planned {
    Planned {
        scenario,
        fits,
        micro_batch: accumulation.micro_batch,
        steps: accumulation.steps,
        data_parallel: accumulation.data_parallel,
        world: accumulation.data_parallel.saturating_mul(group),
        global_batch: accumulation.global_batch(),
    }
}

fn at_plan(scenario: &Scenario, accumulation: Accumulation) -> Scenario {
    let mut at = scenario.with_batch(accumulation.micro_batch);
    // Beyond the declared range nothing changes any more, and a link would refuse it.
    at.recipe.micro_batches = accumulation.steps.clamp(1, Field::MicroBatches.bound().max as u32);
    at
}

fn fits(scenario: &Scenario) -> bool {
    estimate(scenario).peak().bytes <= scenario.usable()
}

impl Run {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { asked: *scenario, now: *scenario, changes: Vec::new(), remarks: Vec::new() }
    }

    /// The scenario as the target runs it so far.
    pub(super) fn now(&self) -> &Scenario {
        &self.now
    }

    /// What was asked for is carried out differently. Nothing is said where nothing changes. The
    /// sentence gets the peak that this change alone leads to.
    pub(super) fn change(&mut self, what: &str, to: impl Fn(&mut Scenario)) {
        let mut after = self.now;
        to(&mut after);
        if after == self.now {
            return;
        }
        let at = planned(&self.asked).scenario;
        let mut alone = at;
        to(&mut alone);
        let (was, is) = (estimate(&at).peak().bytes, estimate(&alone).peak().bytes);
        let effect = if gib(was) == gib(is) {
            "the peak stays the same".to_owned()
        } else {
            format!("this alone takes the peak from {} to {} GiB", gib(was), gib(is))
        };
        self.changes.push(format!("{what}; {effect}."));
        self.now = after;
    }

    /// Something that the target does differently and no scenario can say.
    pub(super) fn differs(&mut self, what: impl Into<String>) {
        self.changes.push(what.into());
    }

    /// Something that belongs into another file, or into the reader's own code.
    pub(super) fn elsewhere(&mut self, what: impl Into<String>) {
        self.remarks.push(what.into());
    }

    /// What the target does instead of what was asked.
    pub(super) fn changes(&self) -> &[String] {
        &self.changes
    }

    /// The plan of the scenario as the target runs it.
    pub(super) fn plan(&self) -> Planned {
        planned(&self.now)
    }

    /// The lines at the head of a file, without comment signs. `target` is the program and the version
    /// that the file was checked with.
    pub(super) fn head(&self, page: &str, target: &str) -> Vec<String> {
        let planned = self.plan();
        let mut lines = Vec::new();
        if !planned.fits {
            for line in wrap(&format!("NOTHING FITS. {}", shortage(&planned.scenario)), "", "") {
                lines.push(line);
            }
            lines.extend(wrap(
                "The micro-batch of 1 below is no promise: it is there to be read and edited, and runs out of memory.",
                "",
                "",
            ));
            lines.push(String::new());
        }
        lines.extend(wrap(&subject(&self.asked), "", ""));
        lines.push(address(page, &self.asked));
        lines.push(String::new());
        lines.extend(self.plan_told(page, target, "file"));
        let conflicts: Vec<String> = self.asked.conflicts().into_iter().map(|conflict| conflict.message).collect();
        lines.extend(listed("Settings that contradict each other:", &conflicts));
        lines
    }

    /// The plan, what of it is not as asked, and what has to be said elsewhere. `what` is what carries it
    /// out: the file, or a part of it.
    pub(super) fn plan_told(&self, page: &str, target: &str, what: &str) -> Vec<String> {
        let planned = self.plan();
        let mut lines = Vec::new();
        lines.extend(wrap(&batches(&planned, self.asked.goal.sequences(self.asked.recipe.sequence)), "", ""));
        if planned.fits {
            lines.extend(wrap(&peak(&planned.scenario), "", ""));
        }
        if self.now != self.asked {
            let answers = format!(
                "As asked, b_max is {}. This {what} runs something else where the list below says so, and as it runs \
                 b_max is {}:",
                b_max_words(&self.asked),
                b_max_words(&self.now)
            );
            lines.extend(wrap(&answers, "", ""));
            lines.push(address(page, &planned.scenario));
        }
        lines.push(format!("Checked with {target}."));
        lines.extend(listed("Not as asked, because it cannot be said here:", &self.changes));
        lines.extend(listed("To be said elsewhere, and counted on here:", &self.remarks));
        lines
    }
}

fn listed(title: &str, items: &[String]) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), title.to_owned()];
    for item in items {
        lines.extend(wrap(item, "- ", "  "));
    }
    lines
}

/// Model, GPUs and length in one sentence.
pub(super) fn subject(scenario: &Scenario) -> String {
    format!(
        "{} on {} × {}, {} a sequence.",
        model_name(scenario),
        count(scenario.cluster.gpus),
        device_name(scenario),
        counted(scenario.recipe.sequence, "token", "tokens")
    )
}

pub(super) fn model_name(scenario: &Scenario) -> String {
    match catalogue::model_row_of(scenario) {
        Some((row, false)) => row.name.to_owned(),
        Some((row, true)) => format!("{} (edited)", row.name),
        None => "A model of your own".to_owned(),
    }
}

pub(super) fn device_name(scenario: &Scenario) -> String {
    match catalogue::device_row_of(scenario) {
        Some((row, false)) => row.name.to_owned(),
        Some((row, true)) => format!("{} (edited)", row.name),
        None => format!("a GPU with {} GiB", gib(scenario.device.memory)),
    }
}

/// The page at a scenario.
pub(super) fn address(page: &str, scenario: &Scenario) -> String {
    format!("{page}?{}", link::encode(scenario))
}

/// Micro-batch times GPUs times steps.
fn batches(planned: &Planned, target: u32) -> String {
    format!(
        "Micro-batch {} × {} × {} = {} an optimizer step (target {}).",
        count(planned.micro_batch),
        counted(planned.data_parallel, "data-parallel GPU", "data-parallel GPUs"),
        counted(planned.steps, "accumulation step", "accumulation steps"),
        plural(planned.global_batch, "sequence", "sequences"),
        count(target)
    )
}

fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::number::grouped(number as f64), if number == 1 { one } else { many })
}

fn peak(scenario: &Scenario) -> String {
    let estimate = estimate(scenario);
    let peak = estimate.peak();
    let by = match scenario.method {
        Method::Ledger => String::new(),
        Method::Workshop | Method::Paper => format!(" by the {}’s method", scenario.method.label().to_lowercase()),
    };
    format!(
        "Predicted peak on each GPU{by}: {} of {} GiB usable, at “{}”.",
        gib(peak.bytes),
        gib(estimate.usable()),
        peak.instant.name
    )
}

pub(super) fn b_max_words(scenario: &Scenario) -> String {
    match b_max(scenario) {
        Answer::Fits(room) if room.capped => format!("at least {}", count(room.batch)),
        Answer::Fits(room) => count(room.batch),
        Answer::Infeasible(_) => "none, for not even one sequence fits".to_owned(),
    }
}

/// Why one sequence does not fit, and what mends it.
pub(super) fn shortage(scenario: &Scenario) -> String {
    let Answer::Infeasible(reason) = b_max(scenario) else {
        return format!("{} would fit.", b_max_words(scenario));
    };
    let over = gib(reason.over);
    let why = match reason.shortage {
        Shortage::ModelStates => {
            format!(
                "Parameters, gradients, optimizer state and what the process takes are, with one sequence, {over} GiB too much."
            )
        }
        Shortage::FirstSequence => {
            format!("The model states fit, but the activations of one sequence are {over} GiB too much.")
        }
    };
    match reason.fewest_gpus {
        Some(gpus) => format!("{why} With {} it would fit.", counted(gpus, "GPU", "GPUs")),
        None => format!("{why} More GPUs of this kind alone do not help."),
    }
}

/// What several targets have in common. Each names the program that cannot do it.
impl Run {
    /// Divisions of the work that a program does not have.
    pub(super) fn without_pipeline(&mut self, program: &str) {
        let stages = self.now.cluster.pipeline_parallel;
        if stages > 1 {
            self.change(&format!("{program} has no pipeline: the {stages} stages become data-parallel GPUs"), |s| {
                one_stage(&mut s.cluster);
            });
        }
    }

    /// The program that carries out a step, with what it holds beside the tensors.
    pub(super) fn carried_out_by(&mut self, engine: Engine) {
        let sentence = format!(
            "{} carries out the step and not {}: what it holds beside the tensors is counted",
            program_of(engine),
            program_of(self.now.cluster.engine)
        );
        self.change(&sentence, |s| s.cluster.engine = engine);
    }

    /// Stages of a pipeline that hold one chunk of layers each.
    pub(super) fn without_interleaving(&mut self, program: &str) {
        let chunks = self.now.cluster.virtual_stages;
        if self.now.cluster.pipeline_parallel > 1 {
            self.change(&format!("{program}’s stages hold one chunk of layers, not {chunks}"), |s| {
                s.cluster.virtual_stages = 1;
            });
        }
    }

    /// Stages of a pipeline that hold the same number of layers.
    pub(super) fn with_even_stages(&mut self, why: &str) {
        if self.now.cluster.pipeline_parallel > 1 {
            self.change(why, |s| {
                s.cluster.first_stage_layers = 0;
                s.cluster.last_stage_layers = 0;
            });
        }
    }

    /// Whether there is a layer for each stage.
    pub(super) fn stages_have_layers(&mut self, program: &str) {
        let (layers, stages) = (self.now.model.layers, self.now.cluster.pipeline_parallel);
        if stages > layers {
            self.differs(format!(
                "{} cannot make {} pipeline stages: {program} refuses them.",
                counted(layers, "layer", "layers"),
                count(stages)
            ));
        }
    }

    /// Weights that are divided over all GPUs again between the passes, or over none.
    pub(super) fn reshards_to_no_group(&mut self, program: &str) {
        if let Resharding::Group(group) = resharding(&self.now) {
            let sentence = format!(
                "{program} divides weights between the passes over all GPUs or keeps them whole, and knows no groups \
                 of {group}: over all of them here"
            );
            self.change(&sentence, |s| s.cluster.reshard = 0);
        }
    }

    /// Weights that are divided again as soon as a layer is through, whatever was asked.
    pub(super) fn reshards_always(&mut self, program: &str) {
        if self.now.cluster.zero == ZeroStage::Stage3 && shards(&self.now) {
            self.change(&format!("{program} divides weights over all GPUs again as soon as they are used"), |s| {
                s.cluster.reshard = 0;
            });
        }
    }

    /// A training loop that the reader does not write.
    pub(super) fn lets_go_of_logits(&mut self, why: &str) {
        self.change(why, |s| s.recipe.logits = Logits::Dropped);
    }

    /// A training loop that the reader writes. `backward` is the call that runs the backward pass there.
    pub(super) fn logits_in_the_loop(&mut self, backward: &str) {
        use crate::LossHead::{ChunkedHead, Classifier, Fused};
        let whole = !matches!(self.now.recipe.loss, Fused | ChunkedHead | Classifier);
        if whole && self.now.recipe.logits != Logits::Dropped {
            let cast =
                if self.now.recipe.logits == Logits::KeptFull { ", which a model casts to fp32 itself" } else { "" };
            self.elsewhere(format!(
                "Logits that are still held{cast}: outputs = model(…), then {backward} while outputs exists."
            ));
        } else if whole {
            self.elsewhere(format!(
                "The loop holds the loss alone: loss = model(…).loss, then {backward}. A variable with the model’s \
                 output would keep the logits."
            ));
        }
    }

    /// A program whose 16-bit types are those of all weights.
    pub(super) fn casts_frozen_weights(&mut self, program: &str) {
        self.change(&format!("{program} makes 16-bit weights of frozen ones as well"), |s| {
            if frozen_in_fp32(s) {
                s.recipe.adapter = Adapter::Lora;
            }
        });
    }

    /// Frozen fp32 weights beside products of 16 bits.
    pub(super) fn computes_under_autocast(&mut self, why: &str) {
        self.change(why, |s| {
            if frozen_in_fp32(s) {
                s.recipe.precision = Precision::Autocast;
            }
        });
    }

    /// Gradients that have the type of the weights, as autograd makes them.
    pub(super) fn adds_up_as_autograd_does(&mut self, program: &str) {
        self.change(&format!("{program} adds gradients up in the type of the weights"), |s| {
            if s.recipe.precision == Precision::PureBf16 {
                s.recipe.gradients = GradientType::Half;
            }
        });
    }

    /// How uneven the load of experts is, which their router decides.
    pub(super) fn routing(&mut self) {
        if self.now.model.experts.count > 0 && self.now.recipe.imbalance > 1.0 {
            self.elsewhere(format!(
                "The busiest experts get {} times the mean number of tokens: the router decides that, and no setting.",
                crate::number::fixed(self.now.recipe.imbalance, 2)
            ));
        }
    }

    pub(super) fn without_tensor_parallel(&mut self, program: &str) {
        let size = self.now.cluster.tensor_parallel;
        self.change(
            &format!("{program} does not divide matrices: {size} tensor-parallel GPUs become data-parallel"),
            |scenario| {
                scenario.cluster.tensor_parallel = 1;
                scenario.cluster.sequence_parallel = crate::Switch::Off;
            },
        );
    }

    pub(super) fn without_context_parallel(&mut self, program: &str) {
        let size = self.now.cluster.context_parallel;
        self.change(
            &format!("{program} does not divide sequences: {size} context-parallel GPUs become data-parallel"),
            |scenario| scenario.cluster.context_parallel = 1,
        );
    }

    pub(super) fn without_expert_parallel(&mut self, program: &str) {
        // A GPU with all experts has the load of all of them, however uneven it is.
        let experts = self.now.model.experts.count > 0;
        self.change(&format!("{program} does not divide experts: every GPU holds all of them"), |scenario| {
            scenario.cluster.expert_parallel = 1;
            if experts {
                scenario.recipe.imbalance = 1.0;
            }
        });
    }

    /// Recomputation of whole layers or of nothing, which is what most programs have.
    pub(super) fn recomputes_layers_only(&mut self, program: &str) {
        match self.now.recipe.recomputation {
            Recomputation::None | Recomputation::Full => {}
            Recomputation::Selective if self.now.recipe.attention == crate::AttentionKernel::Flash => {
                // Flash attention computes its scores again by itself: the two words mean the same run.
                self.now.recipe.recomputation = Recomputation::None;
                self.remarks.push(
                    "Selective recomputation: flash attention computes its scores again by itself, so that nothing \
                     has to be set."
                        .to_owned(),
                );
            }
            Recomputation::Selective => self.change(
                &format!("{program} cannot recompute attention scores alone: nothing is recomputed"),
                |scenario| scenario.recipe.recomputation = Recomputation::None,
            ),
            Recomputation::Operators | Recomputation::EveryK | Recomputation::KthLayer | Recomputation::Block => {
                self.change(&format!("{program} recomputes every layer or none: every layer here"), |scenario| {
                    scenario.recipe.recomputation = Recomputation::Full;
                });
            }
        }
    }

    /// Single layers that are computed again: the first of each stage in place of every K-th, as many.
    pub(super) fn recomputes_first_layers(&mut self, program: &str) {
        let sentence = format!("{program} recomputes the first layers of each chunk in place of every K-th, as many");
        self.change(&sentence, |s| {
            if s.recipe.recomputation == Recomputation::KthLayer {
                let layers = s.model.layers / s.cluster.pipeline_parallel.max(1);
                let again = layers / s.recipe.every.max(1) / s.cluster.virtual_stages.max(1);
                s.recipe.recomputed_layers = again.max(1);
                s.recipe.recomputation = if again > 0 { Recomputation::Block } else { Recomputation::None };
            }
        });
    }

    /// Single layers that are computed again: every K-th in place of the first of each stage, at least as
    /// many.
    pub(super) fn recomputes_kth_layers(&mut self, program: &str) {
        let sentence = format!("{program} recomputes every K-th layer in place of the first, at least as many");
        self.change(&sentence, |s| {
            if s.recipe.recomputation == Recomputation::Block {
                let layers = s.model.layers / s.cluster.pipeline_parallel.max(1);
                let again = s.recipe.recomputed_layers.saturating_mul(s.cluster.virtual_stages).max(1);
                s.recipe.every = (layers / again).max(1);
                s.recipe.recomputation = if s.recipe.every > 1 { Recomputation::KthLayer } else { Recomputation::Full };
            }
        });
    }

    /// No offload of activations.
    pub(super) fn keeps_activations_on_the_gpu(&mut self, program: &str) {
        self.change(&format!("{program} has no setting that swaps layer inputs to the host"), |scenario| {
            scenario.recipe.offload = match scenario.recipe.offload {
                Offload::Activations => Offload::None,
                Offload::Both => Offload::Optimizer,
                other => other,
            };
        });
    }

    /// Gradients are divided as soon as the optimizer state is.
    pub(super) fn shards_gradients_with_states(&mut self, program: &str) {
        self.change(&format!("{program} divides gradients as soon as it divides optimizer state"), |scenario| {
            if scenario.cluster.zero == ZeroStage::Stage1 && sharing(scenario) > 1 {
                scenario.cluster.zero = ZeroStage::Stage2;
            }
        });
    }
}

/// What a program is called where it carries out a step.
const fn program_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Torch => "PyTorch alone",
        Engine::Torchtitan => "torchtitan",
        Engine::Megatron => "Megatron-LM",
        Engine::DeepSpeed => "DeepSpeed",
    }
}

/// Frozen fp32 weights in a recipe whose weights have 16 bits.
const fn frozen_in_fp32(scenario: &Scenario) -> bool {
    let half = matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
    half && matches!(scenario.recipe.adapter, Adapter::LoraFp32)
}

/// Takes a pipeline away.
pub(super) fn one_stage(cluster: &mut Cluster) {
    cluster.pipeline_parallel = 1;
    cluster.virtual_stages = 1;
    cluster.first_stage_layers = 0;
    cluster.last_stage_layers = 0;
}

/// Layers of every pipeline stage; none where those of the first and the last stage leave the others
/// nothing, or too much. What does not divide is one layer more on the first of them.
pub(super) fn stage_layers(scenario: &Scenario) -> Option<Vec<u32>> {
    let (cluster, layers) = (&scenario.cluster, scenario.model.layers);
    let (first, last) = (cluster.first_stage_layers, cluster.last_stage_layers);
    let stages = cluster.pipeline_parallel.max(1);
    if stages == 1 {
        return Some(vec![layers]);
    }
    let between = stages - u32::from(first > 0) - u32::from(last > 0);
    let left = layers.checked_sub(first.checked_add(last)?)?;
    if left < between || (between == 0 && left > 0) {
        return None;
    }
    let share = |position: u32| left / between + u32::from(position < left % between);
    let mut all = Vec::with_capacity(stages as usize);
    all.extend((first > 0).then_some(first));
    all.extend((0..between).map(share));
    all.extend((last > 0).then_some(last));
    Some(all)
}

/// What FSDP does with the weights of a layer between its forward and its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resharding {
    /// Divides them over all GPUs again.
    All,
    /// Keeps them whole. This is ZeRO 2, too.
    Kept,
    /// Divides them over groups of so many.
    Group(u32),
}

pub(super) fn resharding(scenario: &Scenario) -> Resharding {
    match (scenario.cluster.zero, scenario.cluster.reshard) {
        (ZeroStage::Stage3, 1) => Resharding::Kept,
        (ZeroStage::Stage3, 0) => Resharding::All,
        (ZeroStage::Stage3, group) if group >= sharing(scenario) => Resharding::All,
        (ZeroStage::Stage3, group) => Resharding::Group(group),
        _ => Resharding::Kept,
    }
}

/// Devices over which ZeRO divides: those that hold the same weights.
pub(super) fn sharing(scenario: &Scenario) -> u32 {
    scenario.cluster.data_parallel().saturating_mul(scenario.cluster.context_parallel.max(1))
}

/// Whether anything is divided over data-parallel devices.
pub(super) fn shards(scenario: &Scenario) -> bool {
    scenario.cluster.zero != ZeroStage::Stage0 && sharing(scenario) > 1
}

/// Machines and GPUs of each: eight GPUs to a machine, as they are mostly built, where the number
/// divides; otherwise one.
pub(super) fn machines(world: u32) -> (u32, u32) {
    if world > 8 && world.is_multiple_of(8) { (world / 8, 8) } else { (1, world) }
}
