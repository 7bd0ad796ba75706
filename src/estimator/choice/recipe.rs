//! In what a step computes, and what it keeps or computes again.

choices! {
    /// The precision recipe: in what weights, activations and optimizer state are held.
    #[non_exhaustive]
    Precision {
        /// bfloat16 weights and compute with an fp32 master copy.
        Bf16 = "bf16", "bf16 with fp32 master",
            "Weights and activations take 2 bytes; the optimizer keeps an fp32 master copy and two fp32 moments, as in Megatron-LM and DeepSpeed.";
        /// IEEE half-precision weights and compute with an fp32 master copy.
        Fp16 = "fp16", "fp16 with fp32 master",
            "The same bytes as bf16; its narrower range needs loss scaling.";
        /// Weights in fp32, cast to bfloat16 module by module.
        Mixed = "mixed", "bf16 over fp32 weights (FSDP)",
            "Weights stay in fp32 and are cast to bf16 when a layer is gathered, as FSDP's mixed-precision policy does; no second master copy.";
        /// torch.autocast over an fp32 model.
        Autocast = "autocast", "autocast over fp32",
            "torch.autocast: fp32 weights, bf16 matrix products, fp32 norms and residual stream, and a bf16 copy of every weight in use.";
        /// Weights, gradients, moments and activations in bfloat16.
        PureBf16 = "bf16-pure", "pure bf16",
            "Everything in bf16, Adam's moments too: 8 bytes per parameter, at the price of coarse updates.";
        /// Everything in single precision.
        Fp32 = "fp32", "fp32",
            "Everything takes 4 bytes an element: 16 bytes per parameter with Adam, and twice the activations.";
    }

    /// In what the gradients of 16-bit weights are kept until the optimizer step.
    GradientType {
        /// Like the weights.
        Half = "16", "16 bits",
            "Gradients in the type of the weights: 16 bytes per parameter with Adam.";
        /// Added up in fp32.
        Full = "32", "fp32",
            "Gradients are added up in fp32: 18 bytes per parameter with bf16, and 20 with fp16, which keeps both.";
    }

    /// Which products run in 8-bit floating point, and what is kept of their operands.
    #[non_exhaustive]
    Fp8 {
        /// None.
        Off = "off", "off", "Products in the type of the training precision.";
        /// Transformer Engine with scales of earlier steps.
        TeDelayed = "te-delayed", "Transformer Engine, delayed scaling", "Inputs of linear layers are kept in one byte and weights have fp8 copies; one scale for a tensor, from earlier steps.";
        /// Transformer Engine with scales of now.
        TeCurrent = "te-current", "Transformer Engine, current scaling", "The same, with a scale from the tensor itself. Megatron-LM then keeps no fp8 copy of what attention puts out.";
        /// Transformer Engine with a scale for each block.
        TeBlock = "te-block", "Transformer Engine, block scaling", "One fp32 scale for 128 values of an input and for 128 × 128 of a weight.";
        /// Transformer Engine with shared exponents.
        TeMxfp8 = "te-mxfp8", "Transformer Engine, MXFP8", "One byte of scale for 32 values, in copies along rows and along columns; from Blackwell on.";
        /// torchao with a scale for each tensor.
        TorchaoTensorwise = "torchao-tensorwise", "torchao, tensorwise", "Operands are cast for each product and cast again in the backward pass: what is kept stays in 16 bits.";
        /// torchao with a scale for each row.
        TorchaoRowwise = "torchao-rowwise", "torchao, rowwise", "The same with a scale for each row.";
        /// DeepSeek-V3's recipe.
        DeepSeekV3 = "deepseek-v3", "DeepSeek-V3", "Block scaling; what attention puts out in 12 bits, inputs of SwiGLU in fp8, RMSNorm and MLA’s up-projections computed again, moments in bf16.";
    }

    /// How much of the forward pass is computed again instead of kept.
    #[non_exhaustive]
    Recomputation {
        /// Every activation is kept.
        None = "none", "None",
            "Every intermediate is kept for the backward pass: no extra work, most memory.";
        /// Attention scores are computed again.
        Selective = "selective", "Selective",
            "Attention scores are computed again in the backward pass: the S² term goes. The extra work is S/18H of a step at most: 0.9 % for GPT-3, 8 % for 7B at 8,192 tokens. Flash attention does this by itself.";
        /// Every second matrix product is kept, the rest is computed again.
        Operators = "ops", "Every 2nd product",
            "Every second matrix product and the attention output are kept and the rest is computed again, as torchtitan’s operator-level selection does.";
        /// Segments of K layers are computed again from their inputs.
        EveryK = "every-k", "Segments of K layers",
            "Layers stand in segments of K. Only the input of a segment is kept, and its K layers are computed again together: L / K + K layers’ worth instead of L.";
        /// Every K-th layer is computed again, the others keep everything.
        KthLayer = "kth-layer", "Every K-th layer alone",
            "Layers K, 2K, 3K and so on are computed again, each by itself; all other layers keep everything. torchtitan calls it selective_ac_option = K.";
        /// The first layers of each stage are computed again, the others keep everything.
        Block = "block", "First N layers of a stage",
            "The first N layers of each pipeline stage are computed again, each by itself; the others keep everything. Megatron-LM calls it --recompute-method block.";
        /// Whole layers are computed again from their inputs.
        Full = "full", "Full",
            "Only each layer's input is kept and the layer is computed again: least memory, about a third more work.";
    }

    /// The attention kernel.
    #[non_exhaustive]
    AttentionKernel {
        /// Tile by tile; nothing quadratic is kept.
        Flash = "flash", "Flash (SDPA)",
            "Keeps queries, keys, values, the output and one number per row: linear in S.";
        /// Scores, softmax and mask in full.
        Eager = "eager", "Eager",
            "Keeps scores, softmax and dropout in full: n·S² elements per layer and sequence.";
    }

    /// In what the softmax of eager attention is taken.
    #[non_exhaustive]
    Softmax {
        /// In fp32.
        Full = "fp32", "fp32", "Eager attention takes the softmax of its scores in fp32 and casts the result back.";
        /// In the type of the scores.
        Scores = "scores", "the scores’ type", "Eager attention takes the softmax in the type its scores have; autocast makes that fp32.";
    }

    /// What turns the last hidden state into a loss.
    #[non_exhaustive]
    LossHead {
        /// All logits at once.
        Plain = "plain", "Plain cross-entropy",
            "All logits at once, in fp32, with their softmax and gradient: 12 bytes and more per token and vocabulary entry.";
        /// Logits kept, the fp32 work done in chunks.
        Chunked = "chunked", "Chunked",
            "Logits are made, compared and differentiated in chunks of the tokens: only one chunk is in fp32 at a time.";
        /// Megatron's: each device its part of the vocabulary, the softmax in place of the logits.
        VocabularyParallel = "vocab-parallel", "Vocabulary-parallel",
            "Megatron-LM’s cross-entropy: the softmax takes the place of the fp32 logits and the gradient that of the softmax.";
        /// Megatron's, compiled: in a second tensor.
        VocabularyParallelFused = "vocab-parallel-fused", "Vocabulary-parallel, fused",
            "The same under --cross-entropy-loss-fusion with its native kernels: compiled, so that the exponentials take a tensor of their own.";
        /// Head, loss and their backward pass one chunk after another.
        ChunkedHead = "chunked-head", "Chunked with its head",
            "The head’s product, the loss and their backward pass run chunk by chunk: one chunk of logits at a time, and an fp32 sum of the hidden states’ gradients.";
        /// trl's own: head and log-probabilities one tile of the logits after another, again in the backward pass.
        Tiled = "tiled", "Tiled with its head",
            "trl’s own head: logits are made in tiles of 4,096 tokens and 32,768 words, and again in the backward pass, which adds up gradients of hidden states and head in fp32.";
        /// Logits in full, but one kernel for loss and gradient.
        Kernel = "kernel", "Cross-entropy kernel",
            "Logits in the computing type, and one kernel from them to the loss and to their gradient, as in flash-attn; nothing of their size in fp32.";
        /// The same, with the gradient in the place of the logits.
        KernelInPlace = "kernel-inplace", "Cross-entropy kernel, in place",
            "Logits in the computing type, and one kernel that writes their gradient over them, as in Liger.";
        /// Logits never in full.
        Fused = "fused", "Fused linear cross-entropy",
            "The head’s product and the loss are one kernel; the logits are never there in full.";
        /// Logits of masked words, in the computing type.
        MaskedLm = "masked-lm", "Masked words",
            "BERT’s head: logits of every token, which are not cast to fp32 before the loss.";
        /// One output per sequence.
        Classifier = "classifier", "Classifier",
            "A few classes per sequence instead of a vocabulary per token.";
    }

    /// Whether the training loop holds on to the logits.
    #[non_exhaustive]
    Logits {
        /// They go with the loss.
        Dropped = "dropped", "dropped with the loss", "Nothing refers to the logits once the loss is there.";
        /// They are alive until the backward pass has ended.
        Kept = "kept", "kept through the backward pass", "A variable of the training loop still holds the model’s output while the backward pass runs, as in “pred = model(x); loss = f(pred); loss.backward()”.";
        /// The same, of a model that puts them out in fp32.
        KeptFull = "kept-fp32", "kept in fp32", "The same with a model that casts its logits to fp32 itself, as transformers did before version 4.46: four bytes a logit.";
    }

    /// How many operations share a kernel.
    #[non_exhaustive]
    Kernels {
        /// One kernel per operation of the framework's code.
        Eager = "eager", "Eager framework operations",
            "Each operation of the model’s code keeps what it needs: fp32 copies in norms, both factors of every product.";
        /// Norms, activation functions and casts fused.
        Fused = "fused", "Fused (compile, Transformer Engine, Liger)",
            "Norms keep their input once, the gated product is computed again, casts are not kept.";
    }
}

impl Precision {
    /// Whether the optimizer keeps a copy in fp32 of 16-bit weights.
    pub const fn has_master(self) -> bool {
        matches!(self, Self::Bf16 | Self::Fp16)
    }

    /// Bytes of one activation element: 2 at 16 bits, 4 at 32.
    pub const fn element_bytes(self) -> u32 {
        match self {
            Self::Fp32 => 4,
            _ => 2,
        }
    }
}

impl Fp8 {
    /// Whether products run in fp8.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether torchao casts operands.
    pub const fn is_torchao(self) -> bool {
        matches!(self, Self::TorchaoTensorwise | Self::TorchaoRowwise)
    }

    /// Ten times the compute capability that its products need: 8.9 for fp8, 9.0 for scales of rows and blocks, 10.0 for
    /// MXFP8 (`_compute_fp8_support` and its like in transformer_engine/pytorch/quantization.py, d0067d0da6cb; README of
    /// torchao/float8, 36027d82d1ad).
    pub const fn capability(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::TeDelayed | Self::TeCurrent | Self::TorchaoTensorwise => 89,
            Self::TeBlock | Self::TorchaoRowwise | Self::DeepSeekV3 => 90,
            Self::TeMxfp8 => 100,
        }
    }
}

impl LossHead {
    /// Whether a library beside the model's own has it, and it divides no vocabulary among devices.
    pub const fn is_of_a_library(self) -> bool {
        matches!(self, Self::Chunked | Self::ChunkedHead | Self::Kernel | Self::KernelInPlace | Self::Fused)
    }

    /// Whether it takes hidden states in as many rows as a number of tokens asks for.
    pub const fn is_in_rows(self) -> bool {
        matches!(self, Self::Fused | Self::Tiled)
    }

    /// Whether all logits of a micro-batch are there at once.
    pub const fn makes_all_logits(self) -> bool {
        !matches!(self, Self::Fused | Self::ChunkedHead | Self::Tiled | Self::Classifier)
    }
}
