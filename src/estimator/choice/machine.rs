//! The program, how its devices share the model states, and where these lie.

choices! {
    /// The program that carries out a step: it decides which buffers stand beside the tensors.
    #[non_exhaustive]
    Engine {
        /// PyTorch alone.
        Torch = "torch", "PyTorch: DDP, FSDP", "PyTorch’s own data parallelism: gradients in buckets, or sharded by FSDP.";
        /// torchtitan's models and FSDP units.
        Torchtitan = "torchtitan", "torchtitan", "PyTorch as torchtitan puts it together: embedding, layers and head are FSDP units of their own, and norms are one operation.";
        /// Megatron-LM with Transformer Engine.
        Megatron = "megatron", "Megatron-LM", "Main gradients in one buffer, into which every product adds: one dummy gradient for each shape of matrix.";
        /// DeepSpeed.
        DeepSpeed = "deepspeed", "DeepSpeed", "Flat partitions: the step flattens gradients and casts them to fp32, and buckets of a fixed size carry the reduction.";
    }

    /// How model states are divided over data-parallel GPUs (Rajbhandari et al. 2020).
    ZeroStage {
        /// Every GPU holds everything.
        Stage0 = "0", "0: none",
            "Every GPU holds all parameters, gradients and optimizer state.";
        /// Optimizer state is sharded.
        Stage1 = "1", "1: optimizer",
            "Each GPU holds its share of the optimizer state.";
        /// Optimizer state and gradients are sharded.
        Stage2 = "2", "2: + gradients",
            "Each GPU holds its share of optimizer state and gradients.";
        /// Everything is sharded, as FSDP does.
        Stage3 = "3", "3: + parameters (FSDP)",
            "Each GPU holds its share of everything; layers are gathered as they are needed.";
    }

    /// What lies in CPU memory.
    #[non_exhaustive]
    Offload {
        /// Everything is on the device.
        None = "none", "Nothing", "Everything stays on the GPU.";
        /// Optimizer state and its step.
        Optimizer = "optimizer", "Optimizer state", "Optimizer state and master weights are in CPU memory, and the CPU does the optimizer step.";
        /// What is kept at the boundaries of recomputed layers.
        Activations = "activations", "Layer inputs", "The inputs that recomputation keeps are swapped to CPU memory and back; room for two stays on the GPU.";
        /// Both.
        Both = "both", "Both", "Optimizer state and layer inputs.";
        /// Weights, gradients and optimizer state.
        Parameters = "parameters", "Weights and optimizer state", "Weights, gradients and optimizer state are in CPU memory, as with FSDP’s CPUOffloadPolicy and DeepSpeed’s offload_param; the GPU holds the layers in use.";
        /// That and inputs of layers.
        Everything = "everything", "All of these", "Weights, gradients, optimizer state and layer inputs.";
    }

    /// How PyTorch's caching allocator gets memory.
    Segments {
        /// In segments that never grow.
        Fixed = "fixed", "fixed (PyTorch’s default)", "The allocator asks for segments that cannot grow; what does not fit into the gaps of one needs another.";
        /// In segments that grow.
        Expandable = "expandable", "expandable", "PYTORCH_ALLOC_CONF=expandable_segments:True: segments grow at their end, so that little is lost between tensors.";
    }

    /// What CPU memory holds while the model is loaded.
    #[non_exhaustive]
    HostLoad {
        /// It is not counted.
        Off = "off", "not counted", "Loading is not counted, as where the checkpoint is read piece by piece.";
        /// One copy for a machine.
        RankZero = "rank0", "one copy for the machine", "One process holds the weights and hands them out, as FSDP’s cpu_ram_efficient_loading does.";
        /// A copy for each GPU.
        Every = "every", "a copy for each GPU", "Each process holds the weights before its GPU has them.";
        /// Two copies for each GPU.
        Twice = "twice", "two copies for each GPU", "Each process holds the model and the state dict that is read into it, as torch.load without low_cpu_mem_usage does.";
    }
}

impl Engine {
    /// Whether the step is PyTorch's own: its data parallelism, its FSDP and its pipelines.
    pub const fn is_torch(self) -> bool {
        matches!(self, Self::Torch | Self::Torchtitan)
    }
}

impl Offload {
    /// Whether the optimizer's states lie in CPU memory.
    pub const fn takes_optimizer(self) -> bool {
        matches!(self, Self::Optimizer | Self::Both) || self.takes_parameters()
    }

    /// Whether inputs of layers do.
    pub const fn takes_activations(self) -> bool {
        matches!(self, Self::Activations | Self::Both | Self::Everything)
    }

    /// Whether weights and gradients do.
    pub const fn takes_parameters(self) -> bool {
        matches!(self, Self::Parameters | Self::Everything)
    }

    /// The same with weights and gradients on the device.
    #[must_use]
    pub const fn without_parameters(self) -> Self {
        match self {
            Self::Parameters => Self::Optimizer,
            Self::Everything => Self::Both,
            other => other,
        }
    }

    /// The same with the optimizer's states on the device, and with them all that is trained.
    #[must_use]
    pub const fn without_optimizer(self) -> Self {
        if self.takes_activations() { Self::Activations } else { Self::None }
    }

    /// The same with inputs of layers on the device.
    #[must_use]
    pub const fn without_activations(self) -> Self {
        match self {
            Self::Activations => Self::None,
            Self::Both => Self::Optimizer,
            Self::Everything => Self::Parameters,
            other => other,
        }
    }
}
