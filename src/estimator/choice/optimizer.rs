//! What updates the weights, and how.

choices! {
    /// The update rule, which decides the optimizer state.
    #[non_exhaustive]
    Optimizer {
        /// Two moments.
        AdamW = "adamw", "Adam, AdamW", "Two moments, 8 bytes per parameter in fp32.";
        /// Two moments at 8 bits.
        Adam8bit = "adam8bit", "8-bit Adam", "Two moments of one byte each, with a scale per block of 256; tensors of up to 4,096 elements stay in fp32.";
        /// Row and column sums in place of the second moment, updated in fp32.
        Adafactor = "adafactor", "Adafactor (transformers)", "One number per row and per column of each matrix, and no first moment: far below a byte per parameter. The update is worked out in fp32.";
        /// The same in the type of the parameters.
        AdafactorTorch = "adafactor-torch", "Adafactor (torch.optim)", "One number per row and per column of each matrix, and no first moment. The update is worked out in the type of the parameters.";
        /// One moment.
        Lion = "lion", "Lion", "One moment, 4 bytes per parameter in fp32.";
        /// One moment on matrices, Adam on the rest.
        Muon = "muon", "Muon", "One moment on the matrices of the blocks, Adam's two on embeddings, head and vectors.";
        /// One velocity.
        Momentum = "momentum", "SGD with momentum", "One velocity, 4 bytes per parameter in fp32.";
        /// No state.
        Sgd = "sgd", "SGD", "No state at all.";
        /// Two moments at 8 bits in memory that GPU and host share.
        PagedAdam8bit = "adam8bit-paged", "8-bit Adam, paged", "bitsandbytes’ paged AdamW: moments of 100,000 elements and more are in unified memory. The driver keeps them on the GPU while there is room and in CPU memory while there is none.";
        /// Two moments at 8 bits by torchao.
        Adam8bitTorchao = "adam8bit-torchao", "8-bit Adam (torchao)", "Two moments of one byte each, with a scale per block of 256; small tensors keep moments in their own type.";
        /// Two moments at 4 bits.
        Adam4bit = "adam4bit", "4-bit Adam (torchao)", "Two moments of half a byte each, with a scale per block of 128; small tensors keep moments in their own type.";
        /// Two moments in fp8.
        AdamFp8 = "adam-fp8", "fp8 Adam (torchao)", "Two moments of one byte each in fp8 (E4M3), with a scale per block of 256; small tensors keep moments in their own type.";
        /// Moments of a projected gradient.
        Galore = "galore", "GaLore", "The gradient of each matrix of the blocks is projected to rank r by its singular vectors, and only the projection has Adam’s moments.";
        /// The same with moments at 8 bits.
        Galore8bit = "galore-8bit", "GaLore, 8 bits", "GaLore with bitsandbytes’ 8-bit Adam for the projected gradients and for all other weights.";
        /// Moments of a gradient projected at random.
        Apollo = "apollo", "APOLLO", "Moments of a randomly projected gradient scale the gradient itself. Rank 1 is APOLLO-Mini.";
        /// Preconditioners of blocks, and Adam's second moment for their length.
        Shampoo = "shampoo", "Distributed Shampoo", "Each block of a matrix has two preconditioners and their roots in fp32, beside a first moment and Adam’s second one, which sets the length of the update.";
        /// Adam in the eigenbasis of preconditioners.
        Soap = "soap", "SOAP", "Adam’s moments in the eigenbasis of Shampoo’s preconditioners: two fp32 squares for each side of a matrix that is not too wide.";
    }

    /// How the optimizer step is carried out, which decides its temporaries.
    #[non_exhaustive]
    StepKernel {
        /// One kernel for the whole update.
        Fused = "fused", "fused", "One kernel updates in place; no temporary.";
        /// PyTorch's default on a GPU: a list of tensors at a time.
        Foreach = "foreach", "foreach (PyTorch's default)", "All tensors are updated together, and so is one temporary as large as all of them.";
        /// One tensor at a time.
        Loop = "loop", "one tensor at a time", "Temporaries for one tensor at a time; the largest one counts.";
        /// In the backward pass.
        InBackward = "in-backward", "in the backward pass", "Each weight is updated as soon as its gradient is there, which then goes: the gradient of one matrix is alive, or that of one layer under FSDP. Gradients cannot be added up or clipped.";
    }
}

impl Optimizer {
    /// Whether most training programs have it; the others come from libraries of their own.
    pub const fn is_common(self) -> bool {
        matches!(
            self,
            Self::AdamW
                | Self::Adam8bit
                | Self::Adafactor
                | Self::AdafactorTorch
                | Self::Lion
                | Self::Muon
                | Self::Momentum
                | Self::Sgd
        )
    }

    /// Whether a rank says what its state is.
    pub const fn projects(self) -> bool {
        matches!(self, Self::Galore | Self::Galore8bit | Self::Apollo)
    }

    /// Whether it keeps squares for the sides of matrices.
    pub const fn preconditions(self) -> bool {
        matches!(self, Self::Shampoo | Self::Soap)
    }

    /// Whether it works on whole matrices, which neither ZeRO nor tensor parallelism may divide.
    pub const fn needs_whole_matrices(self) -> bool {
        self.projects() || self.preconditions()
    }
}
