//! What is said of an instant: claims that are made from the entries alive then, each with a sentence.
//!
//! Nothing is said of an instant because of its name alone, but for the pass that it lies in: which activations are kept,
//! whether there are logits, a cache or an engine, and how many gradients wait, are read from the ledger.

use super::estimate::{Entry, Estimate};
use super::formula::Symbol;
use super::ledger::{Bucket, Instant};

/// A stack of layers that runs backward by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stack {
    /// The layers of the model; of an encoder–decoder those of the decoder.
    Model,
    /// The layers of an encoder before a decoder.
    Encoder,
    /// The layers of a vision tower.
    Tower,
    /// The layers of PPO’s value model.
    Value,
}

impl Stack {
    /// Every stack.
    pub const ALL: [Self; 4] = [Self::Model, Self::Encoder, Self::Tower, Self::Value];

    /// Its layers within a sentence.
    const fn layers(self) -> &'static str {
        match self {
            Self::Model => "layers",
            Self::Encoder => "the encoder’s layers",
            Self::Tower => "the vision tower’s layers",
            Self::Value => "the value model’s layers",
        }
    }
}

/// What of a layer's activations an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keeps {
    /// What a layer keeps of its forward pass.
    Whole,
    /// Inputs from which layers are computed again.
    Inputs,
    /// Outputs of operators that are kept beside the inputs.
    Operators,
    /// Inputs of frozen products, which no checkpoint lets go of.
    Frozen,
    /// What has been computed again for the layer that runs backward.
    Again,
}

/// What an entry is, as far as something is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Nothing that a sentence is about.
    Other,
    /// Activations of the layers of a stack.
    Layers(Keeps, Stack),
    /// Gradients that wait for the optimizer step.
    Waiting,
    /// Gradients that are gone as soon as they are there.
    Passing,
    /// Keys and values of what is generated.
    Cache,
    /// An inference engine.
    Engine,
    /// What a pass without gradients has before the step or in it.
    Scoring,
    /// Logits of an evaluation that are kept.
    KeptLogits,
    /// Kept logits and the next ones, joined in a new tensor.
    Joined,
    /// Optimizer state that is gathered for a checkpoint.
    GatheredState,
}

/// What a program does at an instant: the pass, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The one instant of the methods that add up buckets.
    WholeStep,
    /// Prompts are read before completions are generated.
    Prompts,
    /// The last tokens of completions are generated.
    LastTokens,
    /// A pass without gradients, in a layer.
    Score,
    /// A pass without gradients, at its logits.
    ScoredLogits,
    /// A stage of a pipeline has run every micro-batch forward that it runs ahead.
    PipelineFull,
    /// The forward pass has come to the end of the model.
    Logits,
    /// The loss is being computed.
    Loss,
    /// The backward pass begins, in the loss, sequence after sequence.
    LossBegins,
    /// The loss runs backward.
    LossBackward,
    /// The last layer of a stack runs backward.
    LastLayer(Stack),
    /// The first layer of a stack runs backward.
    FirstLayer(Stack),
    /// The policy has run backward, and the value model has not.
    PolicyEnds,
    /// The backward pass ends.
    BackwardEnds,
    /// Entropies are taken from logits.
    Entropies,
    /// The optimizer step.
    Step,
    /// A vision tower runs forward.
    Tower,
    /// An evaluation is in a layer.
    Evaluation,
    /// An evaluation is at its loss.
    EvaluationLoss,
    /// An evaluation is through with a batch.
    EvaluationJoins,
    /// An evaluation reads prompts.
    EvaluationPrompts,
    /// An evaluation generates the last tokens.
    EvaluationTokens,
    /// Weights are gathered.
    GathersWeights,
    /// Optimizer state is gathered.
    GathersState,
    /// A checkpoint is written.
    Saves,
    /// Adapters are merged.
    Merges,
    /// Weights are read.
    Loads,
    /// Optimizer state is read.
    Resumes,
    /// The memory of a machine while weights are read.
    MachineLoads,
    /// The memory of a machine while the model is trained.
    MachineTrains,
}

impl Event {
    /// Whether it is outside the training step: evaluation, saving, loading and the like.
    pub const fn is_outside(self) -> bool {
        matches!(
            self,
            Self::Evaluation
                | Self::EvaluationLoss
                | Self::EvaluationJoins
                | Self::EvaluationPrompts
                | Self::EvaluationTokens
                | Self::GathersWeights
                | Self::GathersState
                | Self::Saves
                | Self::Merges
                | Self::Loads
                | Self::Resumes
        )
    }

    /// A sentence that is true of it whatever the entries are.
    const fn sentence(self) -> &'static str {
        match self {
            Self::WholeStep => "All buckets are counted as if they were alive together.",
            Self::Prompts => "Completions are generated, and their prompts are being read.",
            Self::LastTokens => "The last tokens of the completions are being generated.",
            Self::Score => "A pass without gradients is in a layer, or at its head.",
            Self::ScoredLogits => "A pass without gradients has come to its logits.",
            Self::PipelineFull => "The stage has run every micro-batch forward that it runs ahead.",
            Self::Logits => "The forward pass has come to the end of the model.",
            Self::Loss => "The loss is being computed.",
            Self::LossBegins => "The loss begins to run backward.",
            Self::LossBackward => "The loss runs backward.",
            Self::LastLayer(Stack::Model) => "The last layer runs backward.",
            Self::LastLayer(Stack::Encoder) => "The encoder’s last layer runs backward.",
            Self::LastLayer(Stack::Tower) => "The vision tower’s last layer runs backward.",
            Self::LastLayer(Stack::Value) => "The value model’s last layer runs backward.",
            Self::FirstLayer(Stack::Model) => "The first layer runs backward.",
            Self::FirstLayer(Stack::Encoder) => "The encoder’s first layer runs backward.",
            Self::FirstLayer(Stack::Tower) => "The vision tower’s first layer runs backward.",
            Self::FirstLayer(Stack::Value) => "The value model’s first layer runs backward.",
            Self::PolicyEnds => "The policy has run backward, and the value model comes next.",
            Self::BackwardEnds => "The backward pass ends.",
            Self::Entropies => "The entropies of a micro-batch are taken from its logits.",
            Self::Step => "The optimizer updates what is trained.",
            Self::Tower => "The vision tower runs, before the language model.",
            Self::Evaluation => "An evaluation batch runs through a layer without gradients.",
            Self::EvaluationLoss => "The loss of an evaluation batch is being computed.",
            Self::EvaluationJoins => "The evaluation is through with a batch.",
            Self::EvaluationPrompts => "An evaluation generates, and its prompts are being read.",
            Self::EvaluationTokens => "An evaluation is generating its last tokens.",
            Self::GathersWeights => "The parts of the weights that other GPUs have are gathered for a full state dict.",
            Self::GathersState => "The optimizer’s part of a full state dict is made.",
            Self::Saves => "A checkpoint is written, tensor after tensor.",
            Self::Merges => "The adapters of one matrix are multiplied and added to it.",
            Self::Loads => "Weights are read into the model.",
            Self::Resumes => "What the optimizer saved is read.",
            Self::MachineLoads => "The weights are read.",
            Self::MachineTrains => "The machine holds what the GPUs have handed over.",
        }
    }
}

/// Which activations of a stack are kept for its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// Those of every layer.
    All,
    /// Those of every layer, but for some that are computed again for one layer at a time.
    AllButSome,
    /// Those of some layers, and the inputs of the others.
    SomeLayers,
    /// The input of every group of so many layers.
    Inputs(u32),
    /// The input of every layer, and the outputs of some of its operators.
    InputsAndOperators,
    /// The input of every layer, and those of its frozen 8-bit products.
    InputsAndFrozen,
}

/// How many of the gradients are in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gradients {
    /// All that this GPU has for the optimizer step.
    All,
    /// So many percent of them, between 1 and 99.
    Part(u32),
    /// None waits: each is used as soon as it is there.
    Used,
    /// None waits: they go to CPU memory as they come.
    HandedOver,
    /// None at all.
    None,
}

/// One thing that is said of an instant. What each says of the entries is checked by a test that does not share the code
/// which makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Claim {
    /// What the program does.
    Does(Event),
    /// The loss is being computed from logits that are in memory.
    LossFromLogits,
    /// The gradient of logits that are in memory is being computed.
    GradientOfLogits,
    /// What is kept of a stack’s activations.
    Keeps(Stack, Kept),
    /// Layer inputs of the model are in CPU memory, and at most two on the GPU.
    InputsOnHost,
    /// Gradients.
    Gradients(Gradients),
    /// What is trained was updated in the backward pass.
    UpdatedBefore,
    /// Neither activations nor logits are in memory.
    NoActivations,
    /// The largest of the activations and logits that are still in memory behind the backward pass.
    StillHeld(&'static str),
    /// A cache holds keys and values.
    Cache,
    /// An inference engine has its memory on this GPU.
    Engine,
    /// Nothing on this GPU generates.
    GeneratesElsewhere,
    /// No pass without gradients runs.
    NoScoring,
    /// No gradient runs through a vision tower.
    TowerHasNoGradients,
    /// No image is there for a vision tower.
    NoImages,
    /// Logits of an evaluation are kept.
    KeptLogits,
    /// They are being joined with the next ones in a new tensor.
    JoinedLogits,
    /// There is no optimizer state to gather.
    NoStateToGather,
    /// No optimizer state is in memory.
    NoOptimizer,
}

impl Claim {
    /// The claim as a sentence.
    pub fn sentence(&self) -> String {
        let fixed = match *self {
            Self::Does(event) => event.sentence(),
            Self::LossFromLogits => "The loss is being computed from the logits.",
            Self::GradientOfLogits => "The gradient of the logits is being computed.",
            Self::Keeps(stack, kept) => return kept.sentence(stack),
            Self::InputsOnHost => "Layer inputs wait in CPU memory, and at most two are on the GPU.",
            Self::Gradients(Gradients::All) => "All gradients are in memory.",
            Self::Gradients(Gradients::Part(percent)) => {
                return format!("About {percent} % of the gradients are in memory.");
            }
            Self::Gradients(Gradients::Used) => "No gradient waits: each updates its weight as soon as it is there.",
            Self::Gradients(Gradients::HandedOver) => {
                "No gradient waits: each goes to CPU memory as soon as it is there."
            }
            Self::Gradients(Gradients::None) => "No gradient is in memory.",
            Self::UpdatedBefore => "Each weight was updated in the backward pass, as soon as its gradient was there.",
            Self::NoActivations => "No activation is left.",
            Self::StillHeld(name) => return format!("Still held: “{name}”."),
            Self::Cache => "A cache holds the keys and values of the tokens so far.",
            Self::Engine => "An inference engine on this GPU generates them.",
            Self::GeneratesElsewhere => "This GPU’s memory has no part in it.",
            Self::NoScoring => "No model scores anything here.",
            Self::TowerHasNoGradients => "No gradient runs through the vision tower.",
            Self::NoImages => "There is no image for the vision tower.",
            Self::KeptLogits => "Logits of the evaluation are kept.",
            Self::JoinedLogits => "The logits kept so far and the next ones are being joined in a new tensor.",
            Self::NoStateToGather => "No optimizer state is gathered on the GPU.",
            Self::NoOptimizer => "There is no optimizer yet.",
        };
        fixed.to_owned()
    }
}

impl Kept {
    fn sentence(self, stack: Stack) -> String {
        let layers = stack.layers();
        let all = match stack {
            Stack::Model => "Every layer’s activations are kept".to_owned(),
            _ => format!("The activations of {layers} are kept"),
        };
        let some = if stack == Stack::Model { "some" } else { "some of" };
        match self {
            Self::All => format!("{all}."),
            Self::AllButSome => format!("{all}, but for some that are computed again layer by layer."),
            Self::SomeLayers => {
                format!("The activations of {some} {layers} are kept, and of the others only the inputs.")
            }
            Self::Inputs(1) => format!("Only the inputs of {layers} are kept."),
            Self::Inputs(together) => format!("Only the inputs of {layers} are kept, one for every {together}."),
            Self::InputsAndOperators => {
                format!("Only the inputs of {layers} and the outputs of some operators are kept.")
            }
            Self::InputsAndFrozen => format!("Only the inputs of {layers} and of their 8-bit products are kept."),
        }
    }
}

impl Estimate {
    /// What is said of the instant with this position, most important first.
    ///
    /// ```
    /// use bmax::meaning::{Claim, Kept, Stack};
    /// use bmax::{Recomputation, Scenario, estimate};
    /// let mut scenario = Scenario::workshop();
    /// scenario.recipe.recomputation = Recomputation::Full;
    /// let estimate = estimate(&scenario);
    /// assert!(estimate.claims(0).contains(&Claim::Keeps(Stack::Model, Kept::Inputs(1))));
    /// ```
    pub fn claims(&self, position: usize) -> Vec<Claim> {
        let event = self.instants[position].event;
        if event == Event::WholeStep {
            return vec![Claim::Does(event)];
        }
        let here = |part: Part| self.has(position, |entry| entry.part == part);
        let mut claims = vec![match event {
            Event::Loss if self.has_logits(position) => Claim::LossFromLogits,
            Event::LossBackward if self.has_logits(position) => Claim::GradientOfLogits,
            Event::Score | Event::ScoredLogits if !here(Part::Scoring) => Claim::NoScoring,
            Event::LastLayer(Stack::Tower) | Event::FirstLayer(Stack::Tower)
                if !self.has(position, |entry| matches!(entry.part, Part::Layers(_, Stack::Tower))) =>
            {
                Claim::TowerHasNoGradients
            }
            Event::Tower if !self.has(position, |entry| entry.formula.contains(Symbol::Patches)) => Claim::NoImages,
            _ => Claim::Does(event),
        }];
        claims.extend(Stack::ALL.iter().filter_map(|&stack| self.kept(position, stack)));
        if claims.iter().any(|claim| matches!(claim, Claim::Keeps(Stack::Model, _))) && self.inputs_are_on_host() {
            claims.push(Claim::InputsOnHost);
        }
        match event {
            Event::Prompts | Event::LastTokens if here(Part::Engine) => claims.push(Claim::Engine),
            // Without a prompt the cache is empty.
            Event::Prompts | Event::LastTokens if !self.entries.iter().any(|entry| entry.part == Part::Cache) => {
                claims.push(Claim::GeneratesElsewhere);
            }
            Event::Prompts | Event::LastTokens | Event::EvaluationPrompts | Event::EvaluationTokens
                if here(Part::Cache) =>
            {
                claims.push(Claim::Cache);
            }
            Event::FirstLayer(_) | Event::BackwardEnds | Event::Step => claims.extend(self.gradients(position)),
            Event::Entropies if self.bucket_at(Bucket::Gradients, position).get() == 0.0 => {
                claims.push(Claim::Gradients(Gradients::None));
            }
            Event::EvaluationLoss | Event::EvaluationJoins if here(Part::Joined) => claims.push(Claim::JoinedLogits),
            Event::EvaluationLoss | Event::EvaluationJoins if here(Part::KeptLogits) => claims.push(Claim::KeptLogits),
            Event::GathersState if !here(Part::GatheredState) => claims.push(Claim::NoStateToGather),
            Event::Loads if self.bucket_at(Bucket::Optimizer, position).get() == 0.0 => {
                claims.push(Claim::NoOptimizer);
            }
            _ => {}
        }
        if event == Event::Step {
            if claims.contains(&Claim::Gradients(Gradients::Used)) {
                claims = vec![Claim::UpdatedBefore];
            }
            let passes = [Bucket::Activations, Bucket::Logits];
            let is_left = |entry: &&&Entry| passes.contains(&entry.bucket) && entry.bytes.get() > 0.0;
            claims.push(match self.largest_at(position).iter().find(is_left) {
                Some(entry) => Claim::StillHeld(entry.name),
                None => Claim::NoActivations,
            });
        }
        claims
    }

    /// What is said of the instant with this position, in sentences.
    pub fn meaning(&self, position: usize) -> String {
        let sentences: Vec<String> = self.claims(position).iter().map(Claim::sentence).collect();
        sentences.join(" ")
    }

    /// Whether an entry that takes memory is alive at an instant.
    fn has(&self, position: usize, is: impl Fn(&Entry) -> bool) -> bool {
        self.entries.iter().any(|entry| entry.alive.contains(position) && entry.bytes.get() > 0.0 && is(entry))
    }

    /// Whether a number for every token and vocabulary entry is in memory, not only a part of the tokens at a time.
    fn has_logits(&self, position: usize) -> bool {
        self.has(position, |entry| {
            let [tokens, words, chunks] =
                [Symbol::Batch, Symbol::Vocabulary, Symbol::Chunks].map(|symbol| entry.formula.contains(symbol));
            tokens && words && !chunks
        })
    }

    /// Which activations of a stack wait for its backward pass; `None` behind it, or where the stack keeps none.
    fn kept(&self, position: usize, stack: Stack) -> Option<Claim> {
        if self.instants[position].event == Event::FirstLayer(stack) {
            return None;
        }
        let stage = self.instants[position].stage;
        let keeps = |keeps| self.has(position, |entry| entry.part == Part::Layers(keeps, stack));
        let again = self.entries.iter().filter(|entry| {
            let of_stage = |at: usize| self.instants[at].stage == stage && entry.alive.contains(at);
            entry.part == Part::Layers(Keeps::Again, stack) && (0..self.instants.len()).any(of_stage)
        });
        let together = again.fold(0.0, |most: f64, entry| most.max(entry.layers));
        let kept = match (keeps(Keeps::Whole), keeps(Keeps::Inputs), keeps(Keeps::Operators)) {
            (true, true, _) => Kept::SomeLayers,
            (true, false, _) if together > 0.0 => Kept::AllButSome,
            (true, false, _) => Kept::All,
            (false, _, true) => Kept::InputsAndOperators,
            (false, ..) if keeps(Keeps::Frozen) => Kept::InputsAndFrozen,
            (false, true, false) => Kept::Inputs((together as u32).max(1)),
            (false, false, false) => return None,
        };
        Some(Claim::Keeps(stack, kept))
    }

    fn inputs_are_on_host(&self) -> bool {
        let inputs = Part::Layers(Keeps::Inputs, Stack::Model);
        self.host.entries.iter().any(|entry| entry.part == inputs && entry.bytes.get() > 0.0)
    }

    /// How many of the gradients that the optimizer step needs are there.
    fn gradients(&self, position: usize) -> Option<Claim> {
        let stage = self.instants[position].stage;
        let of_stage = |instant: &&'static Instant| instant.event == Event::Step && instant.stage == stage;
        let step = self.instants.iter().position(of_stage)?;
        let waiting = |at: usize| {
            let there = self.entries.iter().filter(|entry| entry.part == Part::Waiting && entry.alive.contains(at));
            there.map(|entry| entry.bytes.get()).sum::<f64>()
        };
        let passing = self.entries.iter().any(|entry| entry.part == Part::Passing && entry.bytes.get() > 0.0);
        let all = waiting(step);
        let to_host =
            self.host.entries.iter().any(|entry| entry.bucket == Bucket::Gradients && entry.bytes.get() > 0.0);
        let part = waiting(position) / all;
        let gradients = match (all > 0.0, passing) {
            // The last bits of sums over sharded parts.
            (true, false) if part > 1.0 - 1e-9 => Gradients::All,
            (true, false) => Gradients::Part(((100.0 * part) as u32).clamp(1, 99)),
            (false, true) if to_host => Gradients::HandedOver,
            (false, true) => Gradients::Used,
            _ => return None,
        };
        Some(Claim::Gradients(gradients))
    }
}
