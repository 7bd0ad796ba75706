//! Low-rank adapters, and the weights beside them.

choices! {
    /// Low-rank adapters beside frozen weights.
    #[non_exhaustive]
    Adapter {
        /// Every weight is trained.
        None = "none", "None: all weights", "Every weight is trained.";
        /// Frozen weights as the recipe has them.
        Lora = "lora", "LoRA", "Frozen weights in 16 bits; two thin matrices of rank r beside each target are trained.";
        /// Frozen weights in fp32.
        LoraFp32 = "lora-fp32", "LoRA on fp32 weights", "Frozen weights in fp32; under autocast each product makes a 16-bit copy of its matrix and keeps it for the backward pass.";
        /// Frozen weights in one byte.
        Lora8 = "lora-8bit", "LoRA on 8-bit weights", "Frozen matrices of the blocks in one byte an element.";
        /// Frozen weights in NormalFloat4.
        Qlora = "qlora", "QLoRA", "Frozen matrices of the blocks in 4 bits and a doubly quantized scale per block of 64.";
    }

    /// The matrices that get an adapter.
    #[non_exhaustive]
    AdapterTargets {
        /// Queries and values, as in the paper.
        QueryValue = "qv", "queries and values", "The two matrices of the LoRA paper.";
        /// The four of attention.
        Attention = "attention", "all of attention", "Queries, keys, values and the output projection.";
        /// Attention and feed-forward.
        All = "all", "all matrices", "Attention and feed-forward matrices, as in QLoRA.";
    }

    /// How the model holds the matrices of routed experts; read beside adapters.
    ///
    /// transformers 5 has two parameters for all experts of a layer (`MixtralExperts` in
    /// models/mixtral/modeling_mixtral.py, 5.23.0), and bitsandbytes quantizes linear layers
    /// (`replace_with_bnb_linear` in integrations/bitsandbytes.py there; issue 1849 of
    /// bitsandbytes-foundation/bitsandbytes). Unsloth quantizes such parameters (unslothai/unsloth-zoo, pull request 527).
    ExpertMatrices {
        /// Those of a layer in two tensors.
        Stacked = "stacked", "in stacks", "All experts of a layer in two tensors, as in transformers 5: bitsandbytes leaves them in 16 bits. Where all matrices have adapters, peft adds those of a stack to the whole of it before every use.";
        /// Each by itself.
        Linear = "linear", "as linear layers", "Each matrix of an expert a linear layer, as in transformers 4: quantized like the others, and with an adapter where all matrices have one.";
    }

    /// In what adapters beside 16-bit or quantized weights are kept.
    AdapterType {
        /// In fp32.
        Full = "32", "fp32", "Adapters in fp32, as peft keeps them beside 16-bit weights: their inputs are cast to fp32 as well, unless autocast casts them back.";
        /// Like the weights.
        Half = "16", "16 bits", "Adapters in the type of the weights beside them, as in torchtune and litgpt.";
    }

    /// In what the weights of a quantized model are kept that nothing quantizes: embedding, head, norms.
    Unquantized {
        /// As they were loaded.
        Half = "16", "16 bits", "Embedding, head and norms stay in 16 bits.";
        /// Cast before training.
        Full = "32", "fp32", "Embedding, head and norms in fp32, as peft’s prepare_model_for_kbit_training makes them: under autocast the residual stream and the inputs that recomputation keeps are in fp32, too.";
    }
}

impl Adapter {
    /// Whether the frozen matrices of the blocks have fewer than 16 bits.
    pub const fn is_quantized(self) -> bool {
        matches!(self, Self::Lora8 | Self::Qlora)
    }
}
