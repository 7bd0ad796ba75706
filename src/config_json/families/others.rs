//! What cannot be counted: types whose layers are not attention with a feed-forward block of its own.

/// Types whose layers are of another kind, and of which.
pub(in crate::config_json) struct Other {
    /// The values of `model_type`, without “_text” at their end.
    pub types: &'static str,
    /// What the layers are, as the end of a sentence.
    pub what: &'static str,
}

/// Layers of state-space models, recurrences and convolutions.
pub(in crate::config_json) const STATES: &str = "keep a state or convolve in place of attention, all or some of them";

const fn other(types: &'static str, what: &'static str) -> Other {
    Other { types, what }
}

pub(in crate::config_json) static OTHERS: &[Other] = &[
    other(
        "mamba mamba2 falcon_mamba rwkv xlstm recurrent_gemma jamba zamba zamba2 bamba falcon_h1 nemotron_h lfm2 \
         lfm2_moe lfm3 kimi_linear bailing_hybrid olmo_hybrid minimax zaya",
        STATES,
    ),
    other("albert hrm_text", "share their weights or are passed several times"),
    other("reformer", "are reversible and attend by hashes"),
    other("fnet", "mix tokens by a Fourier transform in place of attention"),
    other("funnel perceiver canine", "change the number of tokens on their way"),
    other("gemma3n", "carry four streams side by side"),
    other("blt", "stand in several stacks over bytes and patches of them"),
    other("longcat_flash", "hold two attention blocks each"),
    other("jetmoe", "have experts in attention, too"),
    other("mobilebert squeezebert convbert", "have bottlenecks, groups or convolutions"),
];
