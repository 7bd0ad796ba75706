//! One input of the form: its control, and whether anything reads it.

use bmax::{Adapter, Field, LossHead, Method, Position, Precision, Recomputation, Scenario, Setting, setting};

use crate::site::State;
use crate::site::controls::{number_field_with_help, select_field};
use crate::site::dom::El;

/// A number or a word of the scenario.
#[derive(Clone, Copy)]
pub enum Input {
    Number(Field),
    Word(&'static Setting),
}

use Input::{Number, Word};

impl Input {
    /// Its control, with a note in place of the explanation while nothing reads it. It is hidden while
    /// nothing can come of it, unless it was changed: a changed value is never out of sight.
    pub fn control(self, state: State) -> El {
        let idle = move || state.read(|facts| self.idle(&facts.scenario));
        let or_idle = move |help: &'static str| if idle().is_empty() { help } else { idle() };
        let control = match self {
            Number(field) => {
                let bound = field.bound();
                let id = format!("calculator-{}", bound.key);
                number_field_with_help(state.field(field), &id, Box::new(move || or_idle(bound.help)))
            }
            Word(word) => {
                let handle = state.setting(word);
                select_field(handle, &format!("calculator-{}", word.key), Box::new(move || or_idle(handle.effect())))
            }
        };
        let hidden = move || {
            state.read(|facts| !self.needs(&facts.scenario).is_empty() && !self.differs(&facts.scenario, &facts.base))
        };
        control.toggle_class("field-idle", move || !idle().is_empty()).toggle("hidden", hidden)
    }

    /// Whether two scenarios differ in it.
    pub fn differs(self, one: &Scenario, other: &Scenario) -> bool {
        match self {
            Number(field) => one.number(field) != other.number(field),
            Word(word) => (word.get)(one) != (word.get)(other),
        }
    }

    /// Why it changes nothing as things stand; empty when it does.
    pub fn idle(self, scenario: &Scenario) -> &'static str {
        let unread = self.unread(scenario.method);
        if unread.is_empty() { self.needs(scenario) } else { unread }
    }

    /// Why the method does not read it; empty when it does.
    fn unread(self, method: Method) -> &'static str {
        use Field::{
            Batch, ContextParallel, Gpus, Headroom, Heads, Hidden, Layers, Memory, Parameters, PipelineParallel,
            Sequence, TensorParallel,
        };
        let everywhere = match self {
            Number(field) => {
                matches!(field, Parameters | Hidden | Layers | Heads | Sequence | Batch | Gpus | Memory | Headroom)
            }
            Word(word) => [&setting::PRECISION, &setting::RECOMPUTATION].contains(&word),
        };
        let in_paper = match self {
            Number(field) => matches!(field, TensorParallel | PipelineParallel | ContextParallel),
            Word(word) => [&setting::ZERO, &setting::SEQUENCE_PARALLEL, &setting::DROPOUT].contains(&word),
        };
        match (method, self) {
            (Method::Ledger, Number(Parameters)) => {
                "Not read by the ledger, which counts the weights of every matrix: see below."
            }
            (Method::Ledger, Number(Headroom)) => {
                "Not read by the ledger: what it stands for is counted in the entries beside it."
            }
            (Method::Ledger, _) => "",
            _ if everywhere || (in_paper && method == Method::Paper) => "",
            _ if in_paper => "Not read by the workshop’s method; the paper’s and the ledger read it.",
            _ => "Read by the ledger only.",
        }
    }

    /// What it needs to change anything, where that is missing; empty otherwise.
    fn needs(self, scenario: &Scenario) -> &'static str {
        use Field::{
            ActiveExperts, Chunks, Communication, DenseLayers, Every, ExpertParallel, ExpertWidth, Positions,
            QueryRank, Rank, RopeDim, SharedWidth,
        };
        let Scenario { model, recipe, cluster, .. } = scenario;
        let no_adapter = recipe.adapter == Adapter::None;
        let (missing, reason) = match self {
            Number(ActiveExperts | ExpertWidth | SharedWidth | DenseLayers | ExpertParallel) => {
                (model.experts.count == 0, "No effect without experts.")
            }
            Number(QueryRank | RopeDim) => (model.latent.kv_rank == 0, "No effect without a key/value rank."),
            Number(Positions) => (model.position != Position::Learned, "No effect without a learned table."),
            Number(Every) => (recipe.recomputation != Recomputation::EveryK, "No effect on other recomputation."),
            Number(Chunks) => (recipe.loss != LossHead::Chunked, "No effect on other loss heads."),
            Number(Rank) => (no_adapter, "No effect without an adapter."),
            Word(word) if *word == setting::TARGETS => (no_adapter, "No effect without an adapter."),
            Word(word) if *word == setting::SEQUENCE_PARALLEL => {
                (cluster.tensor_parallel == 1, "No effect without tensor parallelism.")
            }
            Word(word) if *word == setting::GRADIENTS => (
                matches!(recipe.precision, Precision::Fp32 | Precision::Mixed | Precision::Autocast),
                "No effect: gradients of fp32 weights are in fp32.",
            ),
            Number(Communication) => (cluster.gpus == 1, "No effect on one GPU."),
            _ => (false, ""),
        };
        if missing { reason } else { "" }
    }
}
