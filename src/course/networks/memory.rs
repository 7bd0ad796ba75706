//! What a training step of a network needs, and the largest batch that fits.
//!
//! The step is looked at layer by layer, above all in its backward pass, because that is where both kept
//! tensors and gradients are there: while layer i runs backward, everything kept by the layers up to i, the
//! gradients of its output and of its input, and the weight gradients of the layers from i on are alive.
//! The peak is the highest of these moments, or the optimizer's step after them.

use super::walk::Walk;
use super::{Kind, Layer, Network, Source};
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
    /// Whether an average of the weights is kept beside them (`EMAModel` of diffusers 0.42,
    /// `training_utils.py`: a clone of each parameter).
    pub averages: bool,
    /// Whether the frozen networks of the list are there, in 16 bits. Cached outputs need none of them.
    pub frozen: bool,
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
            averages: false,
            frozen: false,
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
    /// While the frozen networks make the batch.
    Frozen,
    /// While this layer, by its position, runs forward.
    Forward(usize),
    /// While this layer, by its position, runs backward.
    Backward(usize),
    /// In the optimizer's step.
    Step,
}

/// What a step needs at one batch size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Weights, master copy and average, the running statistics of batch norms, and frozen networks.
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
    /// What each layer keeps for one example, in bytes: its output and 16-bit copies of its inputs where
    /// they are needed again, and indices, masks or statistics beside them. Statistics that do not grow
    /// with the batch are [`Layer::once`].
    pub fn kept(&self, setup: &Setup) -> Vec<f64> {
        Walk::of(self, setup).by_layer()
    }

    /// Bytes of one example: the input and the text in their type, and its class, time or target.
    fn datum(&self, setup: &Setup) -> f64 {
        let bytes = if setup.element == Element::Half { 2.0 } else { 4.0 };
        let mut target = 0.0;
        for layer in &self.layers {
            target += match layer.kind {
                Kind::Mse => 8.0 + 4.0 * layer.input.elements(),
                Kind::Softmax => 8.0 * layer.output.places(),
                _ => 0.0,
            };
        }
        // A text encoder runs in 16 bits wherever the matrices do.
        bytes * self.input.elements() + setup.element.bytes() * self.context + if target > 0.0 { target } else { 8.0 }
    }

    /// The 16-bit copy of one kernel or matrix under autocast. A dense layer that reads the input keeps
    /// none, because nobody asks for the gradient of the input.
    fn copy(&self, layer: &Layer, setup: &Setup) -> f64 {
        let needless = layer.reads[0] == Source::Given && layer.kind == Kind::Dense;
        if setup.element == Element::Cast && !needless { 2.0 * layer.matrix } else { 0.0 }
    }

    /// 16-bit copies of all kernels and matrices, which autocast keeps until the backward pass has used them.
    pub fn copies(&self, setup: &Setup) -> Bytes {
        Bytes::new(self.layers.iter().map(|layer| self.copy(layer, setup)).sum())
    }

    /// Bytes of a parameter that are there all the time but for gradient and optimizer.
    fn per_parameter(setup: &Setup) -> f64 {
        let regime = &setup.regime;
        regime.weights + regime.master + if setup.averages { regime.weights } else { 0.0 }
    }

    fn frozen(&self, setup: &Setup) -> f64 {
        // 16-bit weights, of which there is no gradient and no state.
        if setup.frozen { 2.0 * self.frozen.0 } else { 0.0 }
    }

    /// The moments of the step: the frozen networks' forward pass, every layer's backward pass, last layer
    /// first, and the update.
    fn moments(&self, setup: &Setup, walk: &Walk, every: usize) -> Vec<(Instant, Line)> {
        let per_parameter = Self::per_parameter(setup);
        let cast = if setup.element == Element::Cast { 2.0 } else { 0.0 };
        let (mut states, mut copies, mut largest, mut statistics) = (self.frozen(setup), 0.0, 0.0_f64, 0.0);
        for layer in &self.layers {
            states += per_parameter * layer.parameters() + setup.state(layer) + layer.buffers;
            copies += self.copy(layer, setup);
            largest = largest.max(layer.matrix);
            statistics += layer.once;
        }
        let data = self.datum(setup);
        let mut gradients = 0.0;
        let mut moments = Vec::with_capacity(self.layers.len() + 2);
        if setup.frozen {
            moments.push((Instant::Frozen, Line { once: states, each: data + 2.0 * self.frozen.1 }));
        }
        // The gradients have gone after the last step. With recomputation less is there than in the backward pass.
        if every >= self.units() {
            // Autocast holds its copies of all weights and biases to the end of the forward pass, of those too that
            // the backward pass does not need (`cached_cast`, aten/src/ATen/autocast_mode.cpp).
            let with_copies = |layer: &&Layer| matches!(layer.kind, Kind::Conv | Kind::Deconv | Kind::Dense);
            let held = self.layers.iter().filter(with_copies).map(|layer| cast * layer.parameters()).sum::<f64>();
            for (layer, bytes) in walk.forward() {
                let each = data + cast * self.input.elements() + bytes;
                moments.push((Instant::Forward(layer), Line { once: states + held + statistics, each }));
            }
        }
        for alive in walk.backward(every) {
            let layer = &self.layers[alive.layer];
            let mut matrix = 0.0;
            if alive.is_layer {
                gradients += setup.regime.gradients * layer.parameters();
                // The gradient of a 16-bit copy is in 16 bits before it is cast to fp32, when the copy itself
                // has gone with the other tensors that this layer kept.
                copies -= self.copy(layer, setup);
                matrix = cast * layer.matrix;
            }
            let once = states + copies + gradients + statistics + matrix;
            let each = data + cast * self.input.elements() + alive.kept + alive.gradients;
            moments.push((Instant::Backward(alive.layer), Line { once, each }));
            if alive.is_layer {
                statistics -= layer.once;
            }
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
        let total = |part: &dyn Fn(&Layer) -> f64| self.layers.iter().map(part).sum::<f64>();
        let walk = Walk::of(self, setup);
        let (mut peak, mut instant) = (0.0, Instant::Step);
        for (moment, line) in self.moments(setup, &walk, every) {
            if line.at(batch) > peak {
                (peak, instant) = (line.at(batch), moment);
            }
        }
        let once = total(&|layer| layer.once);
        let most_kept = walk.keeping(every).into_iter().fold(0.0, f64::max);
        let per_parameter = Self::per_parameter(setup);
        let weights = total(&|layer| per_parameter * layer.parameters() + layer.buffers) + self.frozen(setup);
        Need {
            weights: Bytes::new(weights),
            gradients: Bytes::new(total(&|layer| setup.regime.gradients * layer.parameters())),
            optimizer: Bytes::new(total(&|layer| setup.state(layer))),
            data: Bytes::new(self.datum(setup) * batch),
            kept: Bytes::new(walk.by_layer().iter().sum::<f64>() * batch + once),
            kept_at_once: Bytes::new(most_kept * batch + if most_kept > 0.0 { once } else { 0.0 }),
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
        for (instant, line) in self.moments(setup, &Walk::of(self, setup), every) {
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
