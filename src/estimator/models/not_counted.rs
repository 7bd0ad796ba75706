//! What the step as a program does not count yet.

use std::fmt;

macro_rules! reasons {
    ($($(#[$meta:meta])* $name:ident = $reason:literal;)+) => {
        /// Why a configuration has no program of its step. The first that applies is named.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum NotCounted { $($(#[$meta])* $name,)+ }

        impl NotCounted {
            /// What it is that is not counted, as the end of a sentence.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)+ }
            }
        }
    };
}

reasons! {
    /// The workshop's or the paper's method.
    Method = "only the ledger’s method counts tensors";
    /// Another way of sharing a step among GPUs.
    SeveralGpus = "on several GPUs, only some steps of DDP, FSDP, DeepSpeed, torchtitan and pipelines are played yet";
    /// Pipelines of other models.
    Pipeline = "only pipelines of untied models like Llama with fused attention are played yet, all of whose weights are \
        trained without autocast, with recomputation of all layers or none, or under torchtitan of operators";
    /// Interleaved pipelines of very many chunks.
    LongPipeline = "interleaved pipelines of more than 65,536 chunks a round are not played";
    /// An engine that is not played.
    Engine = "only PyTorch’s own engine, DeepSpeed’s, torchtitan and Megatron-LM are played yet";
    /// Preference optimization and its like.
    Task = "of tasks, only training on the next token, DPO, reward models, distillation, GRPO and PPO are played yet, with frozen \
        models like the trained one on the GPU, and PPO that generates and scores in one go";
    /// A mask of padding, where a task gives one.
    MaskOfPadding = "tasks are played with fused attention, and with layers like those of Llama, Qwen, Gemma, OLMo 2, \
        StarCoder 2, Pythia and Phi-1.5";
    /// Generation with other layers.
    Generation = "generation is played with layers like those of Llama, fused attention and no experts";
    /// Lengths that vary.
    Lengths = "sequences of several lengths are played in decoders like Llama and Phi, by PyTorch’s own engine and DeepSpeed’s, alone \
        yet";
    /// What stands outside the step.
    Outside = "of what stands outside the step, evaluation without generation behind training on equal sequences, writing, gathering \
        by FSDP 2 and merging are played yet, and reading that needs no more than the step";
    /// Offloading.
    Offload = "of offloading, only that of weights, gradients and the optimizer’s state under FSDP 2 on several GPUs is played yet";
    /// A precision that its engine is not played with.
    Precision = "of DeepSpeed, only 16 bits with a master copy in fp32 are played yet";
    /// Gradients of 16-bit weights that are added up in fp32.
    GradientType = "gradients in fp32 of 16-bit weights are played under DeepSpeed alone yet";
    /// fp8.
    Fp8 = "products in fp8 are not played yet";
    /// Fused kernels.
    Kernels = "of fused kernels, Liger’s are played alone yet, in training of decoders by PyTorch’s own engine and DeepSpeed’s, \
        with experts like those of Mixtral and Qwen 3 where they have no adapters";
    /// Recomputation of parts.
    Recomputation = "only no recomputation and that of whole layers is played yet; of some layers or in segments, in training by \
        PyTorch’s own engine or DeepSpeed’s, and of some layers and of operators under torchtitan";
    /// Another loss.
    Loss = "only the plain cross-entropy, masked words and classes of BERT, and losses of libraries without soft caps are played \
        yet: some not with DeepSpeed’s stage 3, and torchtitan’s on one GPU alone";
    /// Another optimizer.
    Optimizer = "of optimizers, GaLore, APOLLO, Shampoo, SOAP and torchao’s are not played yet, nor Muon beside AdamW that \
        is not fused";
    /// An optimizer's step in the backward pass, beside what needs all gradients at once.
    UpdateInBackward = "the optimizer’s step in the backward pass is played on one GPU, without accumulation";
    /// Dropout in the blocks.
    Dropout = "dropout in the layers is not played yet";
    /// Weights of 8 bits.
    Quantized = "weights of 8 bits are not played yet";
    /// Mixtures of experts of other kinds.
    Experts = "experts with biases or without a gate, or of which a token visits one, are not played yet";
    /// An optimizer that stacked weights do not have.
    OptimizerOfExperts = "Muon is not played with experts yet";
    /// Adapters on stacked weights.
    AdaptedExperts = "adapters on experts are not played with dropout, which peft refuses";
    /// Multi-head latent attention.
    LatentAttention = "only latent attention like that of DeepSeek-V2 is played yet";
    /// Images.
    Vision = "vision towers are played like Gemma 3’s, in training on one GPU by PyTorch’s own engine, on sequences of one length, \
        with AdamW, SGD or Lion, without weights of 4 bits or a projector trained beside adapters";
    /// Adapters in encoders.
    AdaptersOfEncoders = "adapters in encoders of text are not played yet";
    /// Encoders.
    Encoder = "encoders with decoders are played like those of T5, BART and Whisper, in training on one GPU by PyTorch’s own \
        engine, on sequences of one length, without weights of 4 bits";
    /// A bias on scores that is learned.
    Layer = "decoders whose scores have a learned bias for each distance, as those of T5, are not played yet";
    /// Megatron Core with other weights than a model's own, or another optimizer.
    MegatronOptimizer = "Megatron-LM is played with AdamW on all weights, without adapters";
    /// An engine that has hooks in every module.
    Modules = "DeepSpeed’s stage 3 is played with layers like Llama’s without experts alone";
}

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.reason())
    }
}

impl std::error::Error for NotCounted {}
