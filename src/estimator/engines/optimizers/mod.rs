//! Optimizers as data: what each keeps for a weight, and what its step does with it, in order. A file an optimizer.

mod adafactor;
mod adam8bit;
mod adamw;
mod lion;
mod master;
mod muon;
mod sgd;

use super::acts::{Act, Name};
use crate::estimator::choice::{self, StepKernel};
use crate::estimator::models::NotCounted;
use crate::estimator::operators::{CUBLAS, Form, Held, Part, Place, Registry, Size, Tensor, TensorId, Weight};
use crate::estimator::units::{DType, Shape};

/// An optimizer, with what it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimizer {
    rule: Rule,
    /// Whether it works on copies in fp32 of weights in 16 bits, which it keeps.
    has_masters: bool,
}

/// An optimizer's rule, in the form in which its step is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// AdamW of PyTorch, one kernel for all.
    AdamWFused,
    /// The same for a list of tensors at a time.
    AdamWForeach,
    /// The same for one tensor at a time.
    AdamWLoop,
    /// AdamW of bitsandbytes with moments at 8 bits.
    Adam8bit,
    /// The same whose large moments are in memory that GPU and host share.
    PagedAdam8bit,
    /// Lion.
    Lion,
    /// Muon of PyTorch on matrices of layers, and AdamW of PyTorch in one kernel on the rest.
    Muon,
    /// Adafactor of transformers.
    Adafactor,
    /// Adafactor of PyTorch.
    AdafactorTorch,
    /// SGD of PyTorch without momentum.
    Sgd,
    /// The same with momentum.
    Momentum,
    /// AdamW of Transformer Engine on weights that an engine has in fp32; it takes nothing in a step.
    OfEngine,
}

/// What an optimizer does with a weight, in each of its passes over all weights.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// A list for each pass.
    pub passes: Vec<Vec<Act>>,
}

impl Optimizer {
    /// The optimizer of a recipe, unless it is not played yet.
    pub fn of(optimizer: choice::Optimizer, step: StepKernel, has_masters: bool) -> Result<Self, NotCounted> {
        Ok(Self { rule: Rule::of(optimizer, step)?, has_masters })
    }

    /// AdamW of Transformer Engine on weights that an engine has in fp32; it takes nothing in a step.
    pub const fn of_engine() -> Self {
        Self { rule: Rule::OfEngine, has_masters: false }
    }

    /// How often it goes through all weights.
    pub const fn passes(self) -> usize {
        self.rule.passes()
    }

    /// What it does with a weight; nothing with one that is frozen.
    pub fn update(self, weight: &Weight, registry: &mut Registry) -> Update {
        let (rule, passes) = (self.rule, vec![Vec::new(); self.passes()]);
        let has_master = self.has_masters && weight.form.dtype == DType::Half;
        let master = has_master.then(|| Weight { form: weight.form.with_dtype(DType::Single), ..weight.clone() });
        let mut turn =
            Turn { registry, weight: master.as_ref().unwrap_or(weight), source: rule.source(), passes, pass: 0 };
        if weight.is_trained {
            rule.update(&mut turn);
            if has_master {
                master::make(&mut turn, weight.form.dtype);
            }
        }
        Update { passes: turn.passes }
    }
}

impl Rule {
    fn of(optimizer: choice::Optimizer, step: StepKernel) -> Result<Self, NotCounted> {
        use choice::Optimizer as Chosen;
        match (optimizer, step) {
            (Chosen::AdamW, StepKernel::Fused) => Ok(Self::AdamWFused),
            // In the backward pass each weight has an optimizer of its own, as PyTorch makes it.
            (Chosen::AdamW, StepKernel::Foreach | StepKernel::InBackward) => Ok(Self::AdamWForeach),
            (Chosen::AdamW, StepKernel::Loop) => Ok(Self::AdamWLoop),
            // The others have one form, or take nothing more in any.
            (Chosen::Adam8bit, _) => Ok(Self::Adam8bit),
            (Chosen::PagedAdam8bit, _) => Ok(Self::PagedAdam8bit),
            (Chosen::Lion, _) => Ok(Self::Lion),
            (Chosen::Muon, StepKernel::Fused) => Ok(Self::Muon),
            (Chosen::Adafactor, _) => Ok(Self::Adafactor),
            (Chosen::AdafactorTorch, _) => Ok(Self::AdafactorTorch),
            (Chosen::Sgd, _) => Ok(Self::Sgd),
            (Chosen::Momentum, _) => Ok(Self::Momentum),
            _ => Err(NotCounted::Optimizer),
        }
    }

    const fn passes(self) -> usize {
        match self {
            Self::AdamWFused | Self::AdamWForeach | Self::AdamWLoop | Self::AdafactorTorch => 2,
            Self::Adam8bit | Self::PagedAdam8bit | Self::Adafactor | Self::Lion | Self::Sgd | Self::Momentum => 1,
            Self::OfEngine => 1,
            Self::Muon => 3,
        }
    }

    fn update(self, turn: &mut Turn<'_>) {
        match self {
            Self::AdamWFused => adamw::fused(turn),
            Self::AdamWForeach => adamw::foreach(turn),
            Self::AdamWLoop => adamw::one_by_one(turn),
            Self::Adam8bit => adam8bit::step(turn, false),
            Self::PagedAdam8bit => adam8bit::step(turn, true),
            Self::Lion => lion::step(turn),
            Self::Muon => muon::step(turn),
            Self::Adafactor => adafactor::of_transformers(turn),
            Self::AdafactorTorch => adafactor::of_torch(turn),
            Self::Sgd | Self::OfEngine => {}
            Self::Momentum => sgd::momentum(turn),
        }
    }

    /// Where its rule comes from.
    const fn source(self) -> &'static str {
        match self {
            Self::AdamWFused | Self::AdamWForeach | Self::AdamWLoop => "PyTorch 2.15, torch/optim/adam.py",
            Self::Lion => "lion-pytorch 0.2.5, lion_pytorch.py Lion.step",
            Self::Muon => "PyTorch 2.15, torch/optim/_muon.py",
            Self::Adam8bit | Self::PagedAdam8bit => "bitsandbytes 0.50.2, optim/optimizer.py Optimizer2State",
            Self::Adafactor => "transformers 5.23.0, optimization.py Adafactor.step",
            Self::AdafactorTorch => "PyTorch 2.15, torch/optim/_adafactor.py",
            Self::OfEngine => "Transformer Engine 2.20, optimizers/fused_adam.py",
            Self::Sgd | Self::Momentum => "PyTorch 2.15, torch/optim/sgd.py",
        }
    }
}

/// The turn of a weight, while the optimizer's rule for it is written.
struct Turn<'t> {
    registry: &'t mut Registry,
    weight: &'t Weight,
    source: &'static str,
    passes: Vec<Vec<Act>>,
    pass: usize,
}

impl Turn<'_> {
    /// What follows is done in the next pass over all weights.
    fn next_pass(&mut self) {
        self.pass += 1;
    }

    /// As many elements as the weight has, of a type.
    fn whole(&self, dtype: DType) -> Size {
        let whole = self.weight.form.with_dtype(dtype);
        match self.weight.held {
            Held::Whole => Size::Of(whole),
            held => Size::Held(whole, held),
        }
    }

    fn add(&mut self, part: Part, size: Size, act: impl FnOnce(TensorId) -> Act) {
        let tensor = self.registry.id(Tensor { place: self.weight.place, part, size }, self.source);
        self.passes[self.pass].push(act(tensor));
    }

    /// Gives a name a new tensor while states are made.
    fn making(&mut self, name: Name, part: Part, size: Size) {
        self.add(part, size, |tensor| Act::NameFirst(name, tensor));
    }

    /// A state of the weight.
    fn state(&mut self, part: Part, size: Size) {
        self.add(part, size, Act::State);
    }

    /// A state of all weights.
    fn shared(&mut self, part: Part, size: Size) {
        let tensor = self.registry.id(Tensor { place: Place::Optimizer, part, size }, self.source);
        self.passes[self.pass].push(Act::Shared(tensor));
    }

    /// A state that every step makes anew.
    fn renewed(&mut self, part: Part, size: Size) {
        self.add(part, size, Act::Renewed);
    }

    /// A tensor that goes when all weights had their turn.
    fn listed(&mut self, part: Part, size: Size) {
        self.add(part, size, Act::Listed);
    }

    /// Gives a name a new tensor.
    fn name(&mut self, name: Name, part: Part, size: Size) {
        self.add(part, size, |tensor| Act::Name(name, tensor));
    }

    /// Gives a name the tensor of another one as well.
    fn same(&mut self, name: Name, other: Name) {
        self.passes[self.pass].push(Act::Same(name, other));
    }

    /// Gives a name what a library computes, whose workspace goes before what the name had.
    fn computed(&mut self, name: Name, part: Part, size: Size, library: Size) {
        self.name(Name::Sum, part, size);
        let tensor = Tensor { place: Place::Libraries, part: Part::Workspace, size: library };
        let tensor = self.registry.id(tensor, self.source);
        self.passes[self.pass].push(Act::Brief(tensor));
        self.take(name, Name::Sum);
    }

    /// Gives a name the tensor of another one, which has none then.
    fn take(&mut self, name: Name, other: Name) {
        self.passes[self.pass].push(Act::Move(name, other));
    }

    /// Takes the workspace of a product.
    fn product(&mut self) {
        let tensor = Tensor { place: Place::Libraries, part: Part::Workspace, size: CUBLAS };
        let tensor = self.registry.id(tensor, self.source);
        self.passes[self.pass].push(Act::Brief(tensor));
    }

    /// Names go.
    fn drop(&mut self, names: &[Name]) {
        self.passes[self.pass].extend(names.iter().map(|&name| Act::Drop(name)));
    }

    /// Gives a name sums of `inputs` elements for each of `outputs`, with the workspaces of that.
    fn sum(&mut self, name: Name, part: Part, dtype: DType, sum: [Shape; 2], fast: bool) {
        let [outputs, inputs] = sum;
        self.name(Name::Sum, part, Size::Of(Form::new(dtype, outputs)));
        let workspace = |semaphores| Size::Reduction { outputs, inputs, fast, semaphores };
        self.name(Name::Buffer, Part::Workspace, workspace(false));
        self.name(Name::Semaphores, Part::Workspace, workspace(true));
        self.same(name, Name::Sum);
        self.drop(&[Name::Semaphores, Name::Buffer, Name::Sum]);
    }
}
