//! What is trained for, and the models that stand beside the trained one.

choices! {
    /// What is trained for: it decides which models, passes and instants stand beside the training step.
    #[non_exhaustive]
    TaskKind {
        /// The next token.
        Train = "train", "Next token",
            "Each sequence is read once and its next tokens are learned: pre-training and supervised fine-tuning.";
        /// Pairs of a chosen and a rejected answer.
        Dpo = "dpo", "DPO",
            "Pairs of a chosen and a rejected answer in one pass, and the same pairs through a reference model while the pass is kept. The micro-batch counts pairs.";
        /// A policy, a value model, a reference and a reward model.
        Ppo = "ppo", "PPO",
            "The model generates, a reference, a value and a reward model score, and policy and value model are trained together.";
        /// Groups of completions, and no value model.
        Grpo = "grpo", "GRPO",
            "The model generates a group of completions for each prompt, they are scored, and it is trained on them; there is no value model.";
        /// A model with one output for a sequence.
        Reward = "reward", "Reward model",
            "Pairs of a chosen and a rejected answer through a model with a single output in place of the vocabulary. The micro-batch counts pairs.";
        /// The distribution of a teacher.
        Distil = "distil", "Distillation",
            "The distribution of a frozen teacher is learned: the logits of both are there together.";
    }

    /// Where the frozen model is that a task compares with: the reference, or the teacher.
    #[non_exhaustive]
    Reference {
        /// Beside the trained model and divided like it.
        Copy = "copy", "a copy, divided like the model",
            "A second model on the GPU, whole or divided over the GPUs as ZeRO or FSDP divides the weights of the first.";
        /// Divided over all data-parallel devices.
        Sharded = "sharded", "a copy, sharded",
            "A second model, divided over all data-parallel GPUs at every ZeRO stage.";
        /// In CPU memory.
        Offloaded = "offloaded", "in CPU memory",
            "A second model in CPU memory; two layers of it and its embedding are on the GPU while it runs.";
        /// The model itself without its adapters.
        Adapter = "adapter", "the model, adapters off",
            "The model without its adapters is the reference: it takes no memory of its own.";
        /// There is none.
        None = "none", "none",
            "Log-probabilities of the reference were computed before, or the loss has no use for them.";
    }

    /// In what the frozen models of a task are kept.
    FrozenType {
        /// As the trained model was loaded.
        Policy = "policy", "as the trained model", "Frozen models are loaded like the trained one: in fp32 where that keeps fp32 weights, in 16 bits otherwise.";
        /// In 16 bits.
        Half = "16", "16 bits", "Frozen models in 16 bits, also where the trained one has 32.";
    }

    /// What scores completions.
    RewardModel {
        /// What the task usually has.
        Usual = "usual", "as usual for the task", "A reward model for PPO, a function for GRPO.";
        /// A model beside the others.
        Model = "model", "a model on the GPU", "A frozen model of the same shape with one output, divided like the trained one.";
        /// A model in CPU memory.
        Offloaded = "offloaded", "a model in CPU memory", "A frozen model of the same shape in CPU memory; two layers of it are on the GPU while it runs.";
        /// A function.
        Function = "function", "a function, or elsewhere", "A function, or a model on other machines: nothing here.";
    }

    /// What generates completions.
    #[non_exhaustive]
    Rollout {
        /// The model that is trained.
        Model = "model", "the trained model", "The trained model generates token by token with a cache of keys and values, as transformers’ generate does.";
        /// An engine beside it that keeps its memory.
        Awake = "awake", "an engine, always awake", "vLLM or SGLang in the same GPU: its share of the memory is taken from the start to the end.";
        /// An engine beside it that gives its memory back.
        Asleep = "asleep", "an engine that sleeps", "vLLM or SGLang in the same GPU, which lets go of its weights and its cache while others score and train.";
        /// Other devices.
        Server = "server", "other GPUs", "Other GPUs generate; nothing of it is here.";
    }
}

impl TaskKind {
    /// Whether completions are generated.
    pub const fn generates(self) -> bool {
        matches!(self, Self::Ppo | Self::Grpo)
    }

    /// Whether trl has a head that works in tiles for it (trl/trainer/dpo_trainer.py and grpo_trainer.py, 1.16.0).
    pub const fn has_tiled_head(self) -> bool {
        matches!(self, Self::Dpo | Self::Grpo)
    }

    /// Whether the frozen model runs while the pass of the trained one is kept.
    pub const fn scores_in_the_step(self) -> bool {
        matches!(self, Self::Dpo | Self::Distil)
    }
}
