//! What a training program does outside its step.

choices! {
    /// Whether the model is evaluated while it is trained.
    #[non_exhaustive]
    Evaluation {
        /// Not counted.
        Off = "off", "not counted", "No evaluation, or one on other machines.";
        /// The loss alone.
        Loss = "loss", "loss alone", "A pass without gradients over each evaluation batch, of which the loss is kept.";
        /// The logits of the evaluation set.
        Logits = "logits", "with logits kept", "The same, with the logits of every batch kept on the GPU, as transformers does for compute_metrics.";
    }

    /// Where a full state dict is gathered from GPUs that divide the weights.
    #[non_exhaustive]
    Gather {
        /// Not counted.
        Off = "off", "not counted", "Each GPU writes the part that it has.";
        /// To the memory of the host.
        Cpu = "cpu", "to CPU memory", "Tensor after tensor is whole on the GPU and goes to CPU memory.";
        /// On the device.
        Gpu = "gpu", "on the GPU", "Every tensor is whole on every GPU before anything is written.";
    }

    /// What a full state dict holds.
    Gathered {
        /// Weights.
        Weights = "weights", "weights", "The weights alone.";
        /// Weights, and the optimizer's state.
        All = "all", "weights and optimizer state", "The weights, and then the optimizer’s state.";
    }

    /// How a checkpoint is written.
    #[non_exhaustive]
    Save {
        /// Not counted.
        Off = "off", "not counted", "Writing a checkpoint is not counted.";
        /// At once.
        Sync = "sync", "at once", "Tensor after tensor goes to CPU memory and to the disk; nothing is copied on the GPU.";
        /// By way of pinned memory.
        Async = "async", "in the background", "All tensors go to pinned CPU memory, from which they are written while training goes on; nothing is copied on the GPU.";
    }

    /// How weights are read when a run begins.
    #[non_exhaustive]
    Load {
        /// Not counted.
        Off = "off", "not counted", "Reading weights is not counted.";
        /// By way of the memory of the host.
        Cpu = "cpu", "by way of CPU memory", "Tensor after tensor goes from CPU memory into the model.";
        /// To the device, beside the model.
        Gpu = "gpu", "whole, to the GPU", "The whole checkpoint is read to the GPU beside the model, as torch.load with map_location=\"cuda\" does.";
    }

    /// How the optimizer's state is read when a run goes on.
    #[non_exhaustive]
    Resume {
        /// Not counted.
        Off = "off", "not counted", "The run begins anew, or reading the optimizer’s state is not counted.";
        /// From the memory of the host.
        Cpu = "cpu", "by way of CPU memory", "Tensor after tensor goes from CPU memory to the optimizer.";
        /// From the device.
        Gpu = "gpu", "whole, to the GPU", "The whole state is read to the GPU, as transformers does with several GPUs.";
        /// Into a state that is made first.
        Init = "init", "made first, then read", "A step on gradients of zeros makes the state before it is read, as torch.distributed.checkpoint does.";
    }

    /// How adapters are merged into the weights beside them.
    #[non_exhaustive]
    Merge {
        /// Not counted.
        Off = "off", "not counted", "Adapters are saved as they are, or merged on another machine.";
        /// In place.
        On = "on", "in place", "merge_and_unload of peft: one matrix after another.";
        /// In a copy.
        Safe = "safe", "in a copy", "The same with safe_merge: each matrix is merged in a copy, and looked at before it counts.";
        /// The model in 16 bits first.
        Whole = "whole", "dequantized first", "The whole quantized model is brought back to 16 bits on the GPU, and then merged in place.";
    }
}
