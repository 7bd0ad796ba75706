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
//! | group norm | its input, and mean and 1/σ of each group | `native_group_norm_backward(grad, input, result1, result2, …)` |
//! | layer norm | its input, and mean and 1/σ of each row in fp32 | `native_layer_norm_backward(grad, input, normalized_shape, result1, result2, …)` |
//! | instance norm | as batch norm, for each channel of each example, and the repeated weight | `batch_norm` of `aten/src/ATen/native/Normalization.cpp`, `instance_norm` |
//! | attention | queries, keys, values, its output, and a logarithm for each row and head in fp32 | `_scaled_dot_product_flash_attention_backward`, `_scaled_dot_product_efficient_attention_backward` |
//! | GEGLU, SwiGLU | both halves of its input, and the half that went through the activation | `mul_tensor_backward(grad, other, …)`, `gelu_backward(grad, self, …)` |
//! | modulation by the time | the norm's output and 1 + scale; what is gated, and the gate | `mul_tensor_backward(grad, other, …)` |
//! | softmax with cross-entropy | its output | `_log_softmax_backward_data(grad, result, …)` |
//! | addition, concatenation, up-sampling, flattening | nothing | – |
//!
//! A tensor that two layers keep is there once, and counted at the layer that made it ([`Network::kept`]).
//! How long it and the gradients stay is followed over the whole backward pass (`walk.rs`).
//!
//! What it does not know: the workspaces of convolution algorithms, and the reserve that cuDNN's batch
//! norm keeps for some layouts.

mod list;
mod memory;
mod named;
pub mod presets;
mod put;
mod walk;

pub use list::{LayerError, LayerErrorKind, MAX_LAYERS, MAX_LINES, MAX_SIZE};
pub use memory::{Element, Fit, Instant, Need, Setup, room};
pub use named::{Again, Named};

/// The shape of what a layer hands on for one example. Counts are whole numbers held as doubles, so that
/// no product overflows; up to 2⁵³ they are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Channels of an image, or features of a row.
    pub channels: f64,
    /// Depth of a volume; 1 for images and rows.
    pub depth: f64,
    /// Height of an image, or rows.
    pub height: f64,
    /// Width of an image; 1 for rows.
    pub width: f64,
}

impl Shape {
    /// Rows of so many features.
    pub const fn rows(rows: f64, channels: f64) -> Self {
        Self { channels, depth: 1.0, height: rows, width: 1.0 }
    }

    /// Pixels of an image, voxels of a volume, or rows.
    pub fn places(self) -> f64 {
        self.depth * self.height * self.width
    }

    /// Numbers in it.
    pub fn elements(self) -> f64 {
        self.channels * self.places()
    }
}

/// What a layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A convolution in two or three dimensions.
    Conv,
    /// A transposed convolution.
    Deconv,
    /// A fully connected layer.
    Dense,
    /// Batch normalization.
    Norm,
    /// Normalization of groups of channels.
    GroupNorm,
    /// Normalization of each channel of each example.
    InstanceNorm,
    /// Normalization of each row.
    LayerNorm,
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
    /// Another shape for the same memory: an image as one row, or as a row for each pixel.
    Flatten,
    /// A part of a tensor in the same memory: one row, or half of the channels.
    Slice,
    /// The same numbers once more, in another order.
    Copy,
    /// Dropout.
    Dropout,
    /// The sum of two tensors: a residual block and its shortcut.
    Add,
    /// Two tensors behind each other.
    Concat,
    /// Each pixel several times.
    Upsample,
    /// Scaled dot-product attention by a fused kernel.
    Attention,
    /// Half of the features times an activation of the other half.
    Gate,
    /// Rows times one plus a scale, plus a shift, both made from the time.
    Modulate,
    /// Rows times a gate made from the time.
    Scale,
    /// An image plus one number a channel, made from the time.
    Shift,
    /// Division by a constant.
    Divide,
    /// A learned row before the others.
    Token,
    /// The position of each row is added.
    Position,
    /// Cross-entropy for each row or pixel.
    Softmax,
    /// The squared distance to a target in fp32.
    Mse,
}

/// Where a layer reads from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Nowhere.
    #[default]
    Nothing,
    /// The data, whose gradient nobody asks for.
    Given,
    /// The output of the layer at this position.
    Layer(usize),
}

/// One layer, with what it needs for one example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// The line of the text it is from, counted from 1.
    pub line: usize,
    /// The word that it was written as; empty inside a block that is one word.
    pub word: &'static str,
    /// What it computes.
    pub kind: Kind,
    /// What it reads first.
    pub input: Shape,
    /// What it hands on.
    pub output: Shape,
    /// Where its inputs come from.
    pub reads: [Source; 3],
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
    /// Bytes it keeps for one example beside its tensors, whatever the precision: indices, masks, statistics.
    pub beside: f64,
    /// The same where activations are in fp32 and not in 16 bits.
    pub beside_single: f64,
    /// Numbers it keeps for one example in the type of its activations, beside its tensors.
    pub aside: f64,
    /// Bytes it keeps once, however many examples there are: statistics of a batch norm.
    pub once: f64,
    /// Bytes beside the parameters that are there all the time: a batch norm's running mean and variance
    /// in fp32, and its counter; a table of positions.
    pub buffers: f64,
    /// Whether a recomputed segment may begin here: a layer with weights, a pool or a residual block.
    pub begins_unit: bool,
}

impl Layer {
    /// All its parameters.
    pub fn parameters(&self) -> f64 {
        self.matrix + self.vector
    }
}

/// A network as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// What one example is.
    pub input: Shape,
    /// Numbers of the text that comes with it.
    pub context: f64,
    /// Networks beside it that are not trained: their parameters, and numbers that are alive at once while they
    /// run, for one example.
    pub frozen: (f64, f64),
    /// Pixels of the picture that a number of the input stands for along a side: 8 where it is a latent.
    pub pixels: f64,
    /// The size of its patches, where it has any.
    pub patch: Option<f64>,
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
