//! Settings that contradict each other or are not all counted, each with the nearest that have an answer.

mod encoder;
mod engine;
mod lengths;
mod outside;
mod pipeline;
mod positions;
mod recipe;
mod recipes;
mod task;
mod vision;

use super::bounds::Field;
use super::change::Change;
use super::choice::{Engine, Method, Switch};
use super::scenario::Scenario;
use super::setting::Word;
use crate::estimator::text::{counted, grouped};

/// Why settings have no answer of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictKind {
    /// They go together, but not all of what they ask for is counted.
    Uncounted,
    /// No program runs them together.
    Contradiction,
}

/// Settings that have no answer, and the nearest that have one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conflict {
    /// Whether they contradict each other or are not counted.
    pub kind: ConflictKind,
    /// What to change, and to what.
    pub mend: Change,
    /// One sentence for the reader.
    pub message: String,
}

impl Scenario {
    /// Settings that contradict each other or are not all counted, each with the nearest value that has an answer.
    /// The estimate of such a scenario is that of the nearest one it can be read as: incomplete groups of GPUs are
    /// left out, fractions of heads are counted as fractions. It is no answer, and [`b_max`](crate::b_max) says so.
    ///
    /// ```
    /// use bmax::Scenario;
    /// let mut scenario = Scenario::workshop();
    /// assert!(scenario.conflicts().is_empty());
    /// scenario.cluster.context_parallel = 3;
    /// assert!(scenario.conflicts()[0].message.contains("8 GPUs"));
    /// ```
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut found = Conflicts(Vec::new());
        found.heads(self);
        // The workshop's method reads neither groups nor stages.
        if self.method != Method::Workshop {
            found.tensor_parallel(self);
            found.groups(self);
        }
        if self.method == Method::Ledger {
            found.pipeline(self);
            found.sequence(self);
            found.experts(self);
            found.engine(self);
            found.recipe(self);
            found.recipes(self);
        }
        found.task(self);
        found.outside(self);
        found.lengths(self);
        found.positions(self);
        found.vision(self);
        found.encoder(self);
        found.0
    }

    /// The scenario with its conflicts mended one after another until there are none, and the changes that took, an
    /// input once each. Without conflicts it is the scenario itself.
    pub fn mended(&self) -> (Self, Vec<Change>) {
        // A mend may bring out a conflict that another had hidden; a property test holds that no scenario needs more.
        const MOST_MENDS: usize = 24;
        let (mut mended, mut changes) = (*self, Vec::<Change>::new());
        for _ in 0..MOST_MENDS {
            let Some(conflict) = mended.conflicts().into_iter().next() else { break };
            mended = conflict.mend.apply(mended);
            changes.retain(|earlier| earlier.input() != conflict.mend.input());
            changes.push(conflict.mend);
        }
        changes.retain(|change| !change.holds_in(self));
        (mended, changes)
    }
}

struct Conflicts(Vec<Conflict>);

impl Conflicts {
    /// Settings that contradict each other unless `field` is `nearest`.
    fn number(&mut self, field: Field, nearest: u32, message: String) {
        let mend = Change::Number(field, nearest.into());
        self.0.push(Conflict { kind: ConflictKind::Contradiction, mend, message });
    }

    /// Settings that contradict each other unless a setting has the word `nearest`.
    fn word(&mut self, nearest: Word, message: &str) {
        let message = message.to_owned();
        self.0.push(Conflict { kind: ConflictKind::Contradiction, mend: nearest.into(), message });
    }

    /// Settings of which a part is not counted; with `mend` all of it is.
    fn uncounted(&mut self, mend: impl Into<Change>, message: impl Into<String>) {
        self.0.push(Conflict { kind: ConflictKind::Uncounted, mend: mend.into(), message: message.into() });
    }

    /// What is counted on data-parallel devices alone, as `where_counted` says without its full stop.
    fn divides_data_alone(&mut self, scenario: &Scenario, where_counted: &str) {
        let cluster = &scenario.cluster;
        for (field, size, what) in [
            (Field::PipelineParallel, cluster.pipeline_parallel, "pipeline stages"),
            (Field::TensorParallel, cluster.tensor_parallel, "tensor-parallel GPUs"),
            (Field::ContextParallel, cluster.context_parallel, "context-parallel GPUs"),
        ] {
            if size > 1 {
                let message = format!("{where_counted}; it is not counted over {size} {what}.", size = grouped(size));
                self.uncounted(Change::Number(field, 1.0), message);
            }
        }
        if cluster.sequence_parallel == Switch::On && cluster.tensor_parallel > 1 {
            self.word(
                Word::SequenceParallel(Switch::Off),
                "Without tensor parallelism there is nothing for sequence parallelism to split.",
            );
        }
    }

    /// D · T · P · C must be the number of GPUs.
    fn groups(&mut self, scenario: &Scenario) {
        let cluster = &scenario.cluster;
        let (gpus, group) = (cluster.gpus, cluster.group());
        if gpus % group != 0 {
            let parts = [
                ("tensor-parallel", cluster.tensor_parallel),
                ("pipeline-parallel", cluster.pipeline_parallel),
                ("context-parallel", cluster.context_parallel),
            ];
            let named: Vec<String> = parts
                .iter()
                .filter(|(_, size)| *size > 1)
                .map(|(name, size)| format!("{size} {name}", size = grouped(*size)))
                .collect();
            let named = named.join(" × ");
            let count = counted(gpus, "GPU", "GPUs");
            match gpus.checked_next_multiple_of(group).filter(|gpus| Field::Gpus.check((*gpus).into()).is_ok()) {
                Some(nearest) => {
                    let message = format!(
                        "Groups of {group} ({named}) cannot be made of {count}; {nearest} GPUs can.",
                        group = grouped(group),
                        nearest = grouped(nearest)
                    );
                    self.number(Field::Gpus, nearest, message);
                }
                None => {
                    let message = format!(
                        "No number of GPUs in range divides into groups of {group} ({named}).",
                        group = grouped(group)
                    );
                    let fields = [Field::TensorParallel, Field::PipelineParallel, Field::ContextParallel];
                    let widest = fields.into_iter().max_by_key(|field| scenario.number(*field) as u32);
                    self.number(widest.unwrap_or(Field::TensorParallel), 1, message);
                }
            }
        }
    }

    /// T must divide the heads, and the ledger gives no device a fraction of a key.
    fn tensor_parallel(&mut self, scenario: &Scenario) {
        let (heads, kv_heads) = (scenario.model.heads, scenario.model.kv_heads);
        let tensor = scenario.cluster.tensor_parallel;
        let counts = scenario.method == Method::Ledger;
        let shared = if counts { common_divisor(heads, kv_heads) } else { heads };
        let nearest = nearest_divisor(shared, tensor, Field::TensorParallel);
        if heads % tensor != 0 {
            let heads = counted(heads, "attention head", "attention heads");
            let message = format!(
                "{heads} cannot be split over {tensor} GPUs; {nearest} can share them.",
                tensor = grouped(tensor),
                nearest = grouped(nearest)
            );
            self.number(Field::TensorParallel, nearest, message);
        } else if counts && kv_heads % tensor != 0 {
            let heads = counted(kv_heads, "key/value head", "key/value heads");
            let message = format!(
                "{heads} cannot be split over {tensor} GPUs, which would each hold a whole one; {nearest} can share them.",
                tensor = grouped(tensor),
                nearest = grouped(nearest)
            );
            self.number(Field::TensorParallel, nearest, message);
        }
    }

    fn heads(&mut self, scenario: &Scenario) {
        let (heads, kv_heads) = (scenario.model.heads, scenario.model.kv_heads);
        if heads % kv_heads != 0 {
            let nearest = nearest_divisor(heads, kv_heads, Field::KvHeads);
            let message = format!(
                "{} cannot be divided into {kv_heads} key/value groups; {nearest} would do.",
                counted(heads, "query head", "query heads"),
                kv_heads = grouped(kv_heads),
                nearest = grouped(nearest)
            );
            self.number(Field::KvHeads, nearest, message);
        }
    }

    fn sequence(&mut self, scenario: &Scenario) {
        let cluster = &scenario.cluster;
        if cluster.sequence_parallel == Switch::On && cluster.tensor_parallel == 1 {
            let message = "Sequence parallelism splits what tensor parallelism leaves whole, and there is no \
                           tensor parallelism here.";
            self.word(Word::SequenceParallel(Switch::Off), message);
        }
        let (sequence, context) = (scenario.recipe.sequence, cluster.context_parallel);
        if sequence % context != 0 {
            let nearest = sequence.next_multiple_of(context);
            let tokens = counted(sequence, "token", "tokens");
            let message = format!(
                "{tokens} cannot be divided over {context} GPUs; {nearest} can.",
                context = grouped(context),
                nearest = grouped(nearest)
            );
            self.number(Field::Sequence, nearest, message);
        }
    }

    fn experts(&mut self, scenario: &Scenario) {
        let (experts, cluster) = (&scenario.model.experts, &scenario.cluster);
        if experts.count == 0 {
            if cluster.expert_parallel > 1 {
                let message = "A dense model has no experts to divide over GPUs.".to_owned();
                self.number(Field::ExpertParallel, 1, message);
            }
            return;
        }
        let (active, count) = (experts.active, experts.count);
        if active > count {
            let all = counted(count, "expert", "experts");
            let message = format!(
                "A token cannot visit {active} of {all}; {count} at most.",
                active = grouped(active),
                count = grouped(count)
            );
            self.number(Field::ActiveExperts, count, message);
        }
        if experts.dense_layers > scenario.model.layers {
            let layers = scenario.model.layers;
            let message = format!(
                "{} of {} cannot be dense; {layers} can.",
                grouped(experts.dense_layers),
                counted(layers, "layer", "layers"),
                layers = grouped(layers)
            );
            self.number(Field::DenseLayers, layers, message);
        }
        if scenario.recipe.adapts_stacks(&scenario.model) && scenario.recipe.adapter_dropout.is_on() {
            let message = "peft adds the adapters of a stack of experts to the stack, which no dropout can stand before; \
                           adapters of attention alone have one.";
            self.word(Word::AdapterDropout(Switch::Off), message);
        }
        let shared_by = cluster.data_parallel().saturating_mul(cluster.context_parallel);
        let parallel = cluster.expert_parallel;
        if shared_by % parallel != 0 || count % parallel != 0 {
            let nearest = nearest_divisor(common_divisor(shared_by, count), parallel, Field::ExpertParallel);
            // `expert_tensor_parallel_size` in megatron/core/model_parallel_config.py, Megatron Core 0.16.1.
            let is_of_megatron = cluster.engine == Engine::Megatron
                && count % parallel == 0
                && shared_by.saturating_mul(cluster.tensor_parallel) % parallel == 0;
            let otherwise = if is_of_megatron {
                " Megatron-LM can also take its tensor-parallel GPUs for that (--expert-tensor-parallel-size 1), which is \
                 not counted."
            } else {
                ""
            };
            let message = format!(
                "{} on {} cannot be divided {parallel} ways; {nearest} would do.{otherwise}",
                counted(count, "expert", "experts"),
                counted(shared_by, "data-parallel GPU", "data-parallel GPUs"),
                parallel = grouped(parallel),
                nearest = grouped(nearest)
            );
            self.number(Field::ExpertParallel, nearest, message);
        }
    }
}

/// The largest number that divides both.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The divisor of `whole` within the range of `field` that is nearest to `wanted`; the smaller one of
/// two as near.
fn nearest_divisor(whole: u32, wanted: u32, field: Field) -> u32 {
    let limit = (field.bound().max as u32).min(whole);
    (1..=limit).filter(|part| whole.is_multiple_of(*part)).min_by_key(|part| part.abs_diff(wanted)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ZeroStage, catalogue};

    /// The only conflict, which its mend resolves.
    pub(super) fn only(scenario: Scenario) -> Conflict {
        let found = scenario.conflicts();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].mend.apply(scenario).conflicts().is_empty(), "{found:?}");
        found[0].clone()
    }

    pub(super) fn ledger() -> Scenario {
        Scenario { method: Method::Ledger, ..Scenario::workshop() }
    }

    #[test]
    fn groups_that_do_not_divide_the_gpus_are_named_with_the_nearest_that_do() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        scenario.cluster.gpus = 10;
        scenario.cluster.tensor_parallel = 4;
        assert_eq!(only(scenario).mend, Change::Number(Field::Gpus, 12.0));
        scenario.cluster.gpus = 12;
        scenario.cluster.tensor_parallel = 3;
        assert_eq!(scenario.conflicts()[0].mend.key(), "tp");
        let mut scenario = ledger();
        scenario.cluster.zero = ZeroStage::Stage1;
        scenario.cluster.gpus = 12;
        scenario.cluster.pipeline_parallel = 8;
        scenario.recipe.micro_batches = 8;
        let conflict = only(scenario);
        assert_eq!(conflict.mend, Change::Number(Field::Gpus, 16.0));
        assert!(conflict.message.contains("of 8 (8 pipeline-parallel) cannot"), "{}", conflict.message);
        let mut scenario = ledger();
        scenario.cluster.gpus = 1;
        scenario.cluster.tensor_parallel = 2;
        assert!(only(scenario).message.contains("made of 1 GPU; 2 GPUs can"), "{}", only(scenario).message);
    }

    #[test]
    fn more_active_experts_than_there_are_is_led_to_all_of_them() {
        let mut scenario = ledger();
        scenario.model.experts = crate::Experts { count: 8, active: 9, ..crate::Experts::NONE };
        assert_eq!(only(scenario).mend, Change::Number(Field::ActiveExperts, 8.0));
        scenario.model.experts.active = 2;
        scenario.cluster.expert_parallel = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::ExpertParallel, 2.0));
    }

    #[test]
    fn heads_that_do_not_divide_are_named() {
        let mut scenario = ledger();
        scenario.model.kv_heads = 5;
        assert_eq!(only(scenario).mend.key(), "kv");
        let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(ledger());
        scenario.cluster.gpus = 16;
        scenario.cluster.tensor_parallel = 16;
        assert_eq!(only(scenario).mend, Change::Number(Field::TensorParallel, 8.0));
    }

    #[test]
    fn the_workshop_reads_no_groups_and_complains_of_none() {
        let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        scenario.cluster.tensor_parallel = 3;
        scenario.cluster.pipeline_parallel = 5;
        assert_eq!(scenario.conflicts(), []);
    }
}
