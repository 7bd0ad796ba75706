//! The parts of which the blocks of a model are made.

choices! {
    /// The shape of the feed-forward block, and how its activation function is written.
    #[non_exhaustive]
    Mlp {
        /// Two matrices and one operation between them.
        Gelu = "gelu", "GELU, 2 matrices",
            "Two matrices with one activation function between them, as in GPT.";
        /// Two matrices and a function whose input can be told from its output.
        Relu = "relu", "ReLU, 2 matrices",
            "Two matrices with ReLU between them, as in OPT: its output says where its input was negative, so that only one of the two is kept.";
        /// Two matrices and a tanh formula spelt out in operations.
        GeluTanh = "gelu-tanh", "GELU by tanh, 2 matrices",
            "Two matrices, with GELU spelt out as a tanh formula of eight operations, as in GPT-2’s code; the same as GELU with fused kernels.";
        /// Three matrices.
        Gated = "gated", "SwiGLU or GeGLU, 3 matrices",
            "Three matrices: one gates another, as in Llama.";
        /// Three matrices and a tanh formula spelt out in operations.
        GatedGeluTanh = "gated-gelu-tanh", "GeGLU by tanh, 3 matrices",
            "Three matrices, of which one gates another by a GELU spelt out in operations, as in T5 1.1 and FLAN-T5; the same as GeGLU with fused kernels.";
    }

    /// The normalization.
    #[non_exhaustive]
    Norm {
        /// Mean and variance, weight and bias.
        LayerNorm = "layernorm", "LayerNorm", "Centred and scaled, with weight and bias, in one kernel.";
        /// Root mean square, weight only.
        RmsNorm = "rmsnorm", "RMSNorm", "Scaled by the root mean square; a framework’s own operations keep fp32 copies of it.";
        /// RMSNorm that multiplies its weight in fp32 too.
        RmsNormFull = "rmsnorm-fp32", "RMSNorm in fp32", "Scaled and weighted in fp32, as in Gemma and OLMo 2; the scaled copy is kept in fp32 as well.";
        /// Mean and variance, weight only, spelt out in operations in fp32.
        LayerNormFull = "layernorm-fp32", "LayerNorm in fp32", "Centred and scaled by operations of their own in fp32, with a weight and no bias, as in Cohere’s Command; the centred input is kept twice and the scaled one once.";
        /// LayerNorm without weight or bias.
        Plain = "plain", "LayerNorm without weights", "Centred and scaled, with nothing to learn, as in OLMo.";
    }

    /// Which matrices of a block carry a bias.
    #[non_exhaustive]
    Bias {
        /// None of them.
        None = "none", "none", "No biases, as in Llama.";
        /// Queries, keys and values.
        Qkv = "qkv", "queries, keys, values", "Biases on queries, keys and values, as in Qwen 2.";
        /// All of them.
        All = "all", "all", "A bias on every matrix of the block, as in GPT.";
    }

    /// Norms on queries and keys.
    #[non_exhaustive]
    QkNorm {
        /// None.
        Off = "off", "none", "Queries and keys are used as they are.";
        /// One of the head's width, shared by the heads.
        Head = "head", "per head", "Each head’s queries and keys are normalized, as in Qwen 3.";
        /// One over all heads.
        Full = "full", "over all heads", "Queries and keys are normalized over all heads, as in OLMo 2.";
    }

    /// How positions enter.
    #[non_exhaustive]
    Position {
        /// Rotation of queries and keys.
        Rotary = "rotary", "rotary", "Queries and keys are rotated; nothing to learn.";
        /// Rotation of a part of each head.
        PartialRotary = "rotary-part", "rotary, a part of each head", "A part of each head is rotated and joined with the rest again, as in GPT-NeoX; nothing to learn.";
        /// A table of vectors.
        Learned = "learned", "learned table", "A learned vector per position, added to the embedding.";
        /// A bias on scores, or nothing.
        None = "none", "ALiBi or none", "Nothing to learn and nothing to rotate.";
        /// A learned bias on scores for each distance.
        Relative = "relative", "relative, as in T5", "A learned bias for each head and range of distances, added to the scores of every layer, as in T5, whose norms keep their input in the type of the weights as well.";
    }

    /// How queries, keys and values are computed.
    #[non_exhaustive]
    Packing {
        /// By a matrix each.
        Separate = "separate", "a matrix each", "Queries, keys and values have a matrix each.";
        /// By one matrix.
        Packed = "packed", "one matrix", "One matrix makes queries, keys and values; what is cut out of its product keeps all of it alive.";
        /// By one matrix, and both halves of a gated feed-forward block by another.
        PackedGate = "packed-gate", "one matrix, and one for gate and up", "As one matrix; another makes both halves of a gated feed-forward block, so that an adapter reads once for both.";
    }
}

impl Mlp {
    /// Matrices of one feed-forward block: two, or three where one gates another.
    pub const fn matrices(self) -> u32 {
        match self {
            Self::Gelu | Self::Relu | Self::GeluTanh => 2,
            Self::Gated | Self::GatedGeluTanh => 3,
        }
    }

    /// Whether one matrix gates another.
    pub const fn is_gated(self) -> bool {
        self.matrices() == 3
    }
}

impl Position {
    /// Whether queries and keys are rotated, which makes new tensors of them.
    pub const fn rotates(self) -> bool {
        matches!(self, Self::Rotary | Self::PartialRotary)
    }
}
