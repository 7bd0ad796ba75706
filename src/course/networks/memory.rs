//! What a training step of a network needs, and the largest batch that fits.
//!
//! The step is looked at layer by layer in its backward pass, because that is where both kept tensors
//! and gradients are there: while layer i runs backward, everything kept by the layers up to i, the
//! gradients of its output and of its input, and the weight gradients of the layers from i on are alive.
//! The peak is the highest of these moments, or the optimizer's step after them.

use super::{Kind, Layer, Network};
use crate::course::formats::Regime;
use crate::{Bytes, Method, Optimizer, Precision, Scenario, StepKernel};

/// In what numbers a network is trained, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Bytes per parameter of weights, gradients, master copy and one optimizer moment.
    pub regime: Regime,
    /// The type of activations and of the input.
    pub element: Element,
    /// The update rule.
    pub optimizer: Optimizer,
    /// How the update is carried out, which decides its temporaries.
    pub step: StepKernel,
}

/// In what activations are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 4 bytes.
    Single,
    /// 2 bytes, weights and input included.
    Half,
    /// 2 bytes, made from fp32 weights and an fp32 input: `torch.autocast` keeps a 16-bit copy of every
    /// kernel and matrix, and of the input, until the backward pass has used it.
    Cast,
}

impl Element {
    /// Bytes of one activation.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Single => 4.0,
            Self::Half | Self::Cast => 2.0,
        }
    }
}

impl Setup {
    /// The precision and the optimizer of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let recipe = &scenario.recipe;
        Self {
            regime: Regime::of(recipe.precision, recipe.gradients),
            element: match recipe.precision {
                Precision::Fp32 => Element::Single,
                Precision::Bf16 | Precision::Fp16 | Precision::PureBf16 => Element::Half,
                Precision::Mixed | Precision::Autocast => Element::Cast,
            },
            optimizer: recipe.optimizer,
            step: recipe.step,
        }
    }

    /// Bytes of optimizer state of a layer. Matrices and vectors as the ledger of transformers counts
    /// them: 8-bit Adam with an fp32 scale for each moment of 256 numbers and tensors of up to 4096
    /// left in fp32, Adafactor with sums over the last two dimensions, Muon with one moment on matrices.
    fn state(&self, layer: &Layer) -> f64 {
        let moment = self.regime.moment;
        match self.optimizer {
            Optimizer::AdamW => 2.0 * moment * layer.parameters(),
            Optimizer::Adam8bit => {
                let quantized = if layer.matrix > 4_096.0 { layer.matrix } else { 0.0 };
                8.0 * (layer.parameters() - quantized) + (2.0 + 8.0 / 256.0) * quantized
            }
            Optimizer::Adafactor | Optimizer::AdafactorTorch => 4.0 * (layer.factors + layer.vector),
            Optimizer::Lion | Optimizer::Momentum => moment * layer.parameters(),
            Optimizer::Muon => moment * (layer.matrix + 2.0 * layer.vector),
            Optimizer::Sgd => 0.0,
            // Optimizers of whole matrices, of paged memory and of few bits are counted for transformers alone: here they
            // stand for Adam.
            _ => 2.0 * moment * layer.parameters(),
        }
    }
}

/// Memory as a straight line in the batch: `once` + b · `each`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    once: f64,
    each: f64,
}

impl Line {
    fn at(self, batch: f64) -> f64 {
        self.once + batch * self.each
    }
}

/// When memory is highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// While this layer, by its position, runs backward.
    Backward(usize),
    /// In the optimizer's step.
    Step,
}

/// What a step needs at one batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Weights and master copy, and the running statistics of batch norms.
    pub weights: Bytes,
    /// Gradients of all weights.
    pub gradients: Bytes,
    /// Optimizer state.
    pub optimizer: Bytes,
    /// The batch: the input, and a class of 8 bytes for each example.
    pub data: Bytes,
    /// All that is kept of the layers for the backward pass without recomputation.
    pub kept: Bytes,
    /// The most that is kept at one time: with recomputation, the inputs of the segments and one segment.
    pub kept_at_once: Bytes,
    /// The highest moment of the step.
    pub peak: Bytes,
    /// That moment.
    pub instant: Instant,
    /// Work of the forward pass that is done a second time, as a part of it, from 0 to 1.
    pub again: f64,
}

/// How large a batch fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Examples at once; none where not even the states fit, or not one example.
    pub batch: Option<f64>,
    /// Where one more would not fit.
    pub instant: Instant,
}

/// What the tensors of a network may take on a scenario's device: its usable memory, for the ledger less
/// what driver and context take. What an allocator wastes is not known beforehand and left out.
pub fn room(scenario: &Scenario) -> Bytes {
    let device = &scenario.device;
    let runtime = match scenario.method {
        Method::Ledger => device.driver + device.cuda_context,
        Method::Workshop | Method::Paper => Bytes::ZERO,
    };
    scenario.usable() - runtime
}

/// The largest batch that is answered; a list without activations would take any.
const MOST: f64 = 1e9;

impl Network {
    /// What the layer at this position keeps for one example, in bytes: its output where that is needed
    /// again, and indices or masks. Statistics that do not grow with the batch are [`Layer::once`].
    pub fn kept_by(&self, layer: &Layer, setup: &Setup) -> Bytes {
        Bytes::new(kept(layer, setup))
    }

    /// Bytes of one example: the input in its type, and its class.
    fn datum(&self, setup: &Setup) -> f64 {
        let bytes = if setup.element == Element::Half { 2.0 } else { 4.0 };
        bytes * self.input.elements() + 8.0
    }

    /// The 16-bit copy of one kernel or matrix under autocast. A dense layer that reads the input keeps
    /// none, because nobody asks for the gradient of the input.
    fn copy(&self, position: usize, setup: &Setup) -> f64 {
        let layer = &self.layers[position];
        let needless = position == 0 && layer.kind == Kind::Dense;
        if setup.element == Element::Cast && !needless { 2.0 * layer.matrix } else { 0.0 }
    }

    /// What is kept when each layer begins to run backward: the inputs of the segments up to its own, and
    /// what the layers of its segment up to itself keep.
    fn keeping(&self, setup: &Setup, every: usize) -> Vec<Line> {
        let (mut inputs, mut inside, mut unit) = (0.0, Line::default(), 0_usize);
        let mut keeping = Vec::with_capacity(self.layers.len());
        for (position, layer) in self.layers.iter().enumerate() {
            if layer.begins_unit {
                if unit.is_multiple_of(every.max(1)) && position > 0 {
                    inputs += setup.element.bytes() * layer.input.elements();
                    inside = Line::default();
                }
                unit += 1;
            }
            inside.once += layer.once;
            // An output that is kept for the layer after it has been used by then; a ReLU uses its own.
            let used = if layer.kind == Kind::Relu { 0.0 } else { kept(layer, setup) - layer.beside };
            inside.each += kept(layer, setup);
            keeping.push(Line { once: inside.once, each: inside.each - used + inputs });
        }
        keeping
    }

    /// The moments of the step: every layer's backward pass, last layer first, and the update.
    fn moments(&self, setup: &Setup, every: usize) -> Vec<(Instant, Line)> {
        let element = setup.element.bytes();
        let per_parameter = setup.regime.weights + setup.regime.master;
        let cast = if setup.element == Element::Cast { 2.0 } else { 0.0 };
        let (mut states, mut copies, mut largest) = (0.0, 0.0, 0.0_f64);
        for (position, layer) in self.layers.iter().enumerate() {
            states += per_parameter * layer.parameters() + setup.state(layer) + layer.buffers();
            copies += self.copy(position, setup);
            largest = largest.max(layer.matrix);
        }
        let data = self.datum(setup);
        let mut gradients = 0.0;
        let mut moments = Vec::with_capacity(self.layers.len() + 1);
        for (position, kept) in self.keeping(setup, every).iter().enumerate().rev() {
            let layer = &self.layers[position];
            gradients += setup.regime.gradients * layer.parameters();
            // The input is data: nobody asks for its gradient. A view's gradient is a view, and a sum hands
            // its gradient on as it is.
            let new = position > 0 && !matches!(layer.kind, Kind::Flatten | Kind::Add);
            let back = if new { layer.input.elements() } else { 0.0 };
            let passing = element * (layer.output.elements() + back + layer.waiting);
            // The gradient of a 16-bit copy is in 16 bits before it is cast to fp32, when the copy itself has
            // gone with the other tensors that this layer kept.
            copies -= self.copy(position, setup);
            let once = states + copies + gradients + kept.once + cast * layer.matrix;
            let each = data + cast * self.input.elements() + kept.each + passing;
            moments.push((Instant::Backward(position), Line { once, each }));
        }
        // The root of the second moment, of all weights together or twice of the largest tensor
        // (torch/optim/adam.py, `_multi_tensor_adam` and `_single_tensor_adam`).
        let temporary = match (setup.optimizer, setup.step) {
            (Optimizer::AdamW, StepKernel::Foreach) => setup.regime.moment * self.parameters(),
            (Optimizer::AdamW, StepKernel::Loop) => 2.0 * setup.regime.moment * largest,
            _ => 0.0,
        };
        moments.push((Instant::Step, Line { once: states + gradients + temporary, each: data }));
        moments
    }

    /// What a step at this batch needs. `every` is the number of units computed again together;
    /// [`Network::units`] and more recompute nothing.
    pub fn need(&self, setup: &Setup, every: usize, batch: f64) -> Need {
        let total = |part: &dyn Fn(&Layer) -> f64| Bytes::new(self.layers.iter().map(part).sum());
        let (mut peak, mut instant) = (0.0, Instant::Step);
        for (moment, line) in self.moments(setup, every) {
            if line.at(batch) > peak {
                (peak, instant) = (line.at(batch), moment);
            }
        }
        let most_kept = self.keeping(setup, every).iter().fold(0.0, |most: f64, line| most.max(line.at(batch)));
        let per_parameter = setup.regime.weights + setup.regime.master;
        Need {
            weights: total(&|layer| per_parameter * layer.parameters() + layer.buffers()),
            gradients: total(&|layer| setup.regime.gradients * layer.parameters()),
            optimizer: total(&|layer| setup.state(layer)),
            data: Bytes::new(self.datum(setup) * batch),
            kept: total(&|layer| kept(layer, setup) * batch + layer.once),
            kept_at_once: Bytes::new(most_kept),
            peak: Bytes::new(peak),
            instant,
            again: self.again(every),
        }
    }

    /// The part of the forward pass that is computed twice: all segments but the last, whose results are
    /// still there when the backward pass begins with them.
    fn again(&self, every: usize) -> f64 {
        let every = every.max(1);
        let last = self.units().saturating_sub(1) / every * every;
        let (mut unit, mut work) = (0, 0.0);
        for layer in &self.layers {
            unit += usize::from(layer.begins_unit);
            if unit <= last {
                work += layer.work;
            }
        }
        let all = self.work();
        if all > 0.0 { work / all } else { 0.0 }
    }

    /// The largest batch whose peak stays within `usable`.
    pub fn fit(&self, setup: &Setup, every: usize, usable: Bytes) -> Fit {
        let mut fit = Fit { batch: Some(MOST), instant: Instant::Step };
        let mut most = MOST;
        for (instant, line) in self.moments(setup, every) {
            let left = usable.get() - line.once;
            let batch = if left < 0.0 { 0.0 } else { (left / line.each.max(f64::MIN_POSITIVE)).floor() };
            if batch < most {
                most = batch;
                fit.instant = instant;
            }
        }
        fit.batch = (most >= 1.0).then_some(most);
        fit
    }
}

fn kept(layer: &Layer, setup: &Setup) -> f64 {
    let output = if layer.keeps_output { setup.element.bytes() * layer.output.elements() } else { 0.0 };
    output + layer.beside
}
