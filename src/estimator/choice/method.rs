//! How a question is put: by which account, over which axis, in what a target counts.

choices! {
    /// Which accounting turns a scenario into bytes.
    Method {
        /// Every tensor counted, and the maximum over the instants of a step.
        Ledger = "ledger", "Ledger",
            "Every tensor is counted by name, together with the moments at which it is alive; the answer is the highest moment.";
        /// The workshop's four buckets, with activations counted twice at 16 bits.
        Workshop = "workshop", "Workshop",
            "Four buckets, 16 bytes per parameter over all GPUs, and activations multiplied by the element size: cautious, because its 34 is already in bytes.";
        /// Korthikanti et al. 2022 for activations, Rajbhandari et al. 2020 for model states.
        Paper = "paper", "Paper",
            "Activations as Korthikanti et al. count them, 34 bytes at 16 bits, and model states split by the ZeRO stage you choose.";
    }

    /// What the chart of b_max has on its horizontal axis.
    ChartAxis {
        /// The length of a sequence.
        Sequence = "sequence", "sequence length",
            "One curve for each reference model, over the length of a sequence.";
        /// The number of parameters.
        Size = "size", "model size",
            "One curve for each GPU, over the size of a model of your shape.";
        /// The memory of one device.
        Memory = "memory", "GPU memory",
            "One curve for each reference model, over the memory of one GPU.";
    }

    /// In what the target global batch is given.
    BatchUnit {
        /// Sequences of the scenario's length.
        Sequences = "sequences", "sequences",
            "The target counts sequences of your sequence length.";
        /// Tokens; the number of sequences follows from the sequence length.
        Tokens = "tokens", "tokens",
            "The target counts tokens; it is rounded up to whole sequences.";
    }
}
