//! What a training program does with a micro-batch, as data: passes of networks and functions between them, over names.

use super::acts::{Name, Round};
use super::data_parallel::DataParallel;
use super::optimizers::Optimizer;
use super::pipeline::Pipeline;
use super::tensor_parallel::TensorParallel;
use super::torchtitan::{self, HeldPart};
use crate::estimator::choice::Engine;
use crate::estimator::models::{Block, Model};
use crate::estimator::operators::{Form, Owner, Registry, Tensor, Types};
use crate::estimator::units::{DType, Extent, Width, Widths};

/// A network of a training program.
#[derive(Clone, Debug)]
pub struct Network {
    /// What it computes.
    pub model: Model,
    /// In what types.
    pub types: Types,
    /// Whose its tensors are.
    pub owner: Owner,
    /// An earlier network whose weights it has, by its number: the same model called otherwise.
    pub shared_with: Option<usize>,
    /// Whether the optimizer updates its weights.
    pub is_updated: bool,
    /// In what type devices hold it, where they divide it as one unit.
    pub unit: Option<DType>,
}

impl Network {
    /// The trained one.
    pub fn trained(model: Model, types: Types) -> Self {
        Self { model, types, owner: Owner::Trained, shared_with: None, is_updated: true, unit: None }
    }

    /// Gives a form of the trained network's output the type that this network puts out: that of its weights, or of autocast.
    pub fn out(&self, form: Form) -> Form {
        form.with_dtype(self.types.autocast.unwrap_or(self.model.dtype))
    }

    /// The first one of a task, called otherwise.
    pub fn again(model: Model, types: Types) -> Self {
        Self { shared_with: Some(0), is_updated: false, ..Self::trained(model, types) }
    }

    /// A frozen one.
    pub fn frozen(model: Model, types: Types, owner: Owner, unit: Option<DType>) -> Self {
        Self { model, types, owner, shared_with: None, is_updated: false, unit }
    }
}

/// A name of the training program. Its value lives until the name gets another one or is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local(pub usize);

/// One thing that a training program does.
#[derive(Clone, Debug)]
pub enum Pass {
    /// A network runs forward.
    Forward {
        /// The network, by its number.
        network: usize,
        /// What it is given.
        given: Vec<Local>,
        /// What its class is given for what comes behind the layers.
        given_last: Vec<Local>,
        /// Names of what it puts out.
        into: Vec<Local>,
        /// Names of what every layer was given, and of the keys and values that it kept, where it puts these out.
        beside: Option<[Local; 2]>,
        /// Whether a graph is kept of it.
        is_recorded: bool,
    },
    /// A function is called.
    Call {
        /// The function, by its number.
        function: usize,
        /// What it is given.
        given: Vec<Local>,
        /// Names of what it puts out.
        into: Vec<Local>,
        /// Whether a graph is kept of it.
        is_recorded: bool,
    },
    /// A function is called so many times, and its first result is an item of a list each time.
    Each {
        /// The function, by its number.
        function: usize,
        /// How often.
        times: u32,
        /// What it is given each time.
        given: Vec<Local>,
        /// Names that it is given behind that, as it left them the time before, and sets anew.
        carried: Vec<Local>,
        /// The list.
        list: Local,
        /// Whether a graph is kept of it.
        is_recorded: bool,
    },
    /// A function is called for each item of a list, and a second list gets the results.
    ForItems {
        /// The function, by its number.
        function: usize,
        /// The list.
        of: Local,
        /// The second list.
        list: Local,
    },
    /// The second name gets the value of the first, which goes.
    Move(Local, Local),
    /// A name of the program around the passes gets the value of a name as well, which goes.
    Keep(Local, Name),
    /// Names go.
    Forget(Vec<Local>),
    /// The graph goes, and the values from which derivation started, where names of the program keep it.
    ForgetGraph,
    /// What follows is given other tokens than a micro-batch has, or no longer.
    Extent(Option<Extent>),
    /// Rounds that are given more each time than the last.
    Rounds {
        /// What was there before.
        extent: Extent,
        /// What each round has more.
        grows: Extent,
        /// How many rounds.
        times: u32,
        /// A list of which each round makes an item, and a function that makes it of nothing.
        leaves: Option<(usize, Local)>,
        /// What is done in each.
        passes: Vec<Pass>,
        /// What is done between one and the next.
        between: Vec<Pass>,
    },
    /// What follows is given what its round is.
    OfRound,
    /// Passes come so many times.
    Times(u32, Vec<Pass>),
    /// Training is over: micro-batches go, and what is cached, and what stands outside the steps begins.
    EndTraining,
    /// Micro-batches go, and a checkpoint is made of what is there.
    BeginCheckpoint,
    /// Devices that divide weights gather one after another, or states of them, which stay until all are there or go at once.
    Gather {
        /// Tensors of each weight.
        each: u32,
        /// Whether a tied head is gathered by its own name, too.
        names_head: bool,
        /// Whether they stay until all are there.
        stays: bool,
    },
    /// Adapters are added to the matrices beside them, one after another, or in a copy of each.
    Merge {
        /// Whether each is copied.
        is_copied: bool,
    },
    /// The optimizer updates the weights and their gradients go, if the micro-batch is the last one before an update.
    Update,
    /// Keys and values that a network kept go.
    DropCache(usize),
    /// What the allocator has cached is given back (`torch.cuda.empty_cache`).
    EmptyCache,
    /// An engine beside the networks generates, and has a tensor while it does. It empties the cache before it wakes up and when it
    /// sleeps.
    Engine(Tensor),
    /// The gradients of a loss of this type are computed.
    Backward(Local, DType),
    /// The norm of all gradients is computed (`clip_grad_norm_` with `foreach`) and has a name.
    Norm(Local),
}

/// When a training program brings micro-batches to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// One before the first step, which serves all.
    Once,
    /// Those of a step before it, when those of the step before go.
    EachStep,
    /// Each when its turn comes, by what is done around the passes of a step (`Round`).
    EachInTurn,
}

/// A task as a training program: what it has, and what it does.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its networks, the trained one first.
    pub networks: Vec<Network>,
    /// Functions between the passes of networks, in the types that they are given.
    pub functions: Vec<Block>,
    /// What is there from the beginning.
    pub kept: Vec<Tensor>,
    /// The tensors of a micro-batch, whose names come first.
    pub batch: Vec<Tensor>,
    /// When they come.
    pub batches: Batches,
    /// What is done before the micro-batches of a step.
    pub before: Vec<Pass>,
    /// What is done with a micro-batch.
    pub micro_batch: Vec<Pass>,
    /// How often a step goes through its micro-batches, and what is done behind each time, of a task whose micro-batches say
    /// when the optimizer updates ([`Pass::Update`]); none of a task that updates once, behind them all.
    pub epochs: Option<(u32, Vec<Pass>)>,
    /// What is done before the optimizer's step.
    pub before_update: Vec<Pass>,
    /// What is done behind it.
    pub after: Vec<Pass>,
    /// Names that a step leaves to the next, with what they have.
    pub left: Vec<(Local, Tensor)>,
    /// What is done behind the last step.
    pub outside: Vec<Pass>,
    /// How many names there are.
    pub names: usize,
    /// Sequences for each that a micro-batch counts.
    pub sequences: u64,
    /// Whether what is done depends on how many sequences there are.
    pub is_of_one_batch: bool,
    /// Whether the optimizer has a group of matrices and one of vectors, whose weights do not decay
    /// (`get_decay_parameter_names` in transformers/trainer.py, 5.23.0).
    pub has_groups: bool,
}

impl Task {
    /// Gives a width a value in all networks.
    pub fn set(&mut self, width: Width, value: u64) {
        self.networks.iter_mut().for_each(|network| network.model.widths = network.model.widths.with(width, value));
    }
}

/// A training program, as one of its devices runs it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is for.
    pub task: Task,
    /// How many micro-batches come before an optimizer step.
    pub micro_batches: u32,
    /// Whether each weight is updated in the backward pass, as soon as its gradient is there, which goes then.
    pub updates_in_backward: bool,
    /// Whether each thread that multiplies keeps the workspaces of cuBLAS and cuBLASLt, as before PyTorch 2.15.
    pub keeps_workspaces: bool,
    /// The optimizer that updates the weights.
    pub optimizer: Optimizer,
    /// How it shares the training with other devices.
    pub data_parallel: DataParallel,
    /// How it shares layers with other devices.
    pub tensor_parallel: Option<TensorParallel>,
    /// The rank of a pipeline that it runs on, where there is one: its networks are that rank's parts of the model, its one
    /// function the loss of the last part, and the pipeline says in what order micro-batches pass them.
    pub pipeline: Option<Pipeline>,
    /// Who trains.
    pub trainer: Engine,
}

impl Plan {
    /// What the training program does around the passes of a step, for what a device holds of its weights.
    pub fn round(&self, weights: impl FnOnce() -> Vec<Vec<HeldPart>>, registry: &mut Registry) -> Round {
        match self.trainer {
            Engine::Torchtitan => {
                let is_alone = self.data_parallel == DataParallel::Alone;
                torchtitan::round(&weights(), self.micro_batches, self.pipeline, is_alone, registry)
            }
            _ => match (self.data_parallel, self.task.networks.first()) {
                (DataParallel::Megatron(megatron), Some(network)) => megatron.round(&network.model, registry),
                _ => Round::default(),
            },
        }
    }

    /// How many of its networks engines divide: the chunks of a rank of a pipeline, or the trained network.
    pub fn divided(&self) -> usize {
        self.pipeline.map_or(1, |pipeline| pipeline.chunks as usize)
    }

    /// The widths of its networks, which are all alike.
    pub fn widths(&self) -> Widths {
        self.task.networks.first().map_or(Widths::new(1, &[]), |network| network.model.widths)
    }
}
