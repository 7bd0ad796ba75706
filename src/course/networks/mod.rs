//! Dense and convolutional networks as lists of layers: shapes, parameters, what the backward pass
//! needs, and how large a batch fits.
//!
//! A network is written as a text, one layer or block a line ([`Network::read`]), and counted layer by
//! layer. What each kind of layer keeps is what PyTorch's autograd saves, read from the formulas of its
//! gradients (`tools/autograd/derivatives.yaml`, PyTorch 2.15):
//!
//! | layer | keeps | formula there |
//! | --- | --- | --- |
//! | convolution, dense | its input | `convolution_backward(grad, input, weight, …)`, `linear_backward(input, grad, weight, …)` |
//! | batch norm | its input, and mean and 1/σ of each channel in fp32 | `native_batch_norm_backward(grad, input, weight, …, result1, result2, …)` |
//! | ReLU, sigmoid, tanh | its output, in place or not | `threshold_backward(grad, result, 0)` |
//! | GELU, SiLU | its input | `gelu_backward(grad, self, …)` |
//! | max pooling | its input, and an int64 index per output | `max_pool2d_with_indices_backward(grad, self, …, result1)` |
//! | average pooling | its input; nothing when it is a mean over everything | `avg_pool2d_backward(grad, self, …)`, `mean_backward(grad, self.sym_sizes(), …)` |
//! | dropout | a mask of one byte an element | `native_dropout_backward(grad, result1, …)` |
//! | residual addition, flatten | nothing | – |
//!
//! A tensor that two layers keep is there once. It is counted at the layer that made it, so that
//! [`Layer::keeps_output`] says of each output whether anything needs it again.
//!
//! What it does not know: the workspaces of convolution algorithms, and the reserve that cuDNN's batch
//! norm keeps for some layouts.

mod list;
mod memory;
pub mod presets;

pub use list::{LayerError, LayerErrorKind, MAX_LAYERS, MAX_LINES, MAX_SIZE};
pub use memory::{Element, Fit, Instant, Need, Setup, room};

/// The shape of what a layer hands on for one example. Counts are whole numbers held as doubles, so that
/// no product overflows; up to 2⁵³ they are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Channels of an image, or features of a row.
    pub channels: f64,
    /// Height of an image, or rows.
    pub height: f64,
    /// Width of an image; 1 for rows.
    pub width: f64,
}

impl Shape {
    /// Numbers in it.
    pub fn elements(self) -> f64 {
        self.channels * self.height * self.width
    }
}

/// What a layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 2-D convolution.
    Conv,
    /// A fully connected layer.
    Dense,
    /// Batch normalization.
    Norm,
    /// An activation function whose gradient is made from its output: ReLU, sigmoid, tanh.
    Relu,
    /// An activation function whose gradient is made from its input: GELU, SiLU.
    Gelu,
    /// Maximum over windows.
    MaxPool,
    /// Mean over windows.
    AvgPool,
    /// Mean over the whole image.
    GlobalPool,
    /// An image as one row; the same memory under another shape.
    Flatten,
    /// Dropout.
    Dropout,
    /// The sum of a residual block and its shortcut.
    Add,
}

/// One layer, with what it needs for one example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// The line of the text it is from, counted from 1.
    pub line: usize,
    /// What it computes.
    pub kind: Kind,
    /// What it reads.
    pub input: Shape,
    /// What it hands on.
    pub output: Shape,
    /// Numbers in its kernel or matrix.
    pub matrix: f64,
    /// Numbers in its vectors: bias, or weight and bias of a norm.
    pub vector: f64,
    /// Sums over rows and columns of its matrix, by which Adafactor replaces the second moment: of the
    /// last two dimensions of the tensor, as its implementations take them.
    pub factors: f64,
    /// Multiplications of the forward pass for one example; those of convolutions and matrix products,
    /// as papers count them.
    pub work: f64,
    /// Whether the backward pass needs its output: its own gradient, or that of the layers after it.
    pub keeps_output: bool,
    /// Bytes it keeps for one example beside its output, whatever the precision: indices, masks.
    pub beside: f64,
    /// Bytes it keeps once, however many examples there are: statistics of a batch norm.
    pub once: f64,
    /// Elements of the gradient that waits at the other side of a residual block while this layer runs
    /// backward.
    pub waiting: f64,
    /// Whether a recomputed segment may begin here: a layer with weights, a pool or a residual block.
    pub begins_unit: bool,
}

impl Layer {
    /// All its parameters.
    pub fn parameters(&self) -> f64 {
        self.matrix + self.vector
    }

    /// Bytes beside the parameters that are there all the time: a batch norm's running mean and variance
    /// in fp32, and its counter.
    pub fn buffers(&self) -> f64 {
        if self.kind == Kind::Norm { self.once + 8.0 } else { 0.0 }
    }
}

/// A network as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// What one example is.
    pub input: Shape,
    /// The layers, in the order in which they run.
    pub layers: Vec<Layer>,
    /// What was wrong with the text; the lines with a trouble are left out.
    pub troubles: Vec<LayerError>,
}

impl Network {
    /// All parameters.
    ///
    /// ```
    /// use bmax::course::networks::{Network, presets};
    /// assert_eq!(Network::read(presets::RESNET_50).parameters(), 25_557_032.0);
    /// ```
    pub fn parameters(&self) -> f64 {
        self.layers.iter().map(Layer::parameters).sum()
    }

    /// Multiplications of one forward pass over one example.
    pub fn work(&self) -> f64 {
        self.layers.iter().map(|layer| layer.work).sum()
    }

    /// Numbers that the layers with neurons hand on: Σ channels · height · width over convolutions and
    /// dense layers. L·H for L layers of H neurons; what a sum over layers calls the activations.
    pub fn outputs(&self) -> f64 {
        let with_neurons = |layer: &&Layer| matches!(layer.kind, Kind::Conv | Kind::Dense);
        self.layers.iter().filter(with_neurons).map(|layer| layer.output.elements()).sum()
    }

    /// Pieces that recomputation can tell apart: no segment begins inside a residual block, or between a
    /// layer and the norm and activation function after it.
    pub fn units(&self) -> usize {
        self.layers.iter().filter(|layer| layer.begins_unit).count()
    }

    /// √L, the interval that makes N / K + K smallest for N equal units, rounded and at least 1.
    pub fn root_of_units(&self) -> usize {
        ((self.units() as f64).sqrt().round() as usize).max(1)
    }
}
