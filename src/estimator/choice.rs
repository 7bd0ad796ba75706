//! The inputs that are picked from a list rather than typed.
//!
//! One declaration yields the enum, the word the link uses, the label the form shows and the
//! sentence that says what the setting changes.

use serde::Serialize;

/// One value of a choice, as forms and links know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// The word for it in a link.
    pub key: &'static str,
    /// Its label in a form.
    pub label: &'static str,
    /// One sentence on what it changes.
    pub effect: &'static str,
}

/// A type with a closed list of values.
pub trait Choice: Copy + PartialEq + Sized + 'static {
    /// Every value, in the order a form shows them.
    const ALL: &'static [Self];
    /// The same as words, labels and sentences.
    const OPTIONS: &'static [ChoiceOption];

    /// Word, label and sentence of this value.
    fn option(self) -> &'static ChoiceOption;

    /// The word for this value in a link.
    fn key(self) -> &'static str {
        self.option().key
    }

    /// The label of this value in a form.
    fn label(self) -> &'static str {
        self.option().label
    }

    /// The value behind a word of a link; the case of its letters does not matter.
    fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.key().eq_ignore_ascii_case(key.trim()))
    }
}

macro_rules! choices {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$value_meta:meta])* $value:ident = $key:literal, $label:literal, $effect:literal;)+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum $name {
            $($(#[$value_meta])* #[serde(rename = $key)] $value,)+
        }

        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$value,)+];
            const OPTIONS: &'static [ChoiceOption] =
                &[$(ChoiceOption { key: $key, label: $label, effect: $effect },)+];

            fn option(self) -> &'static ChoiceOption {
                // The values are numbered in the order of the list.
                &Self::OPTIONS[self as usize]
            }
        }
    )+};
}

choices! {
    /// Which accounting turns a scenario into bytes.
    Method {
        /// The workshop's four buckets, with activations counted twice at 16 bits.
        Workshop = "workshop", "Workshop",
            "Four buckets, 16 bytes per parameter over all GPUs, and activations multiplied by the element size: cautious, because its 34 is already in bytes.";
        /// Korthikanti et al. 2022 for activations, Rajbhandari et al. 2020 for model states.
        Paper = "paper", "Paper",
            "Activations as Korthikanti et al. count them, 34 bytes at 16 bits, and model states split by the ZeRO stage you choose.";
    }

    /// The element type of activations; the optimizer keeps fp32 in every case.
    Precision {
        /// bfloat16 compute with fp32 master weights.
        Bf16 = "bf16", "bf16 mixed",
            "Activations take 2 bytes an element; model states stay at 16 bytes per parameter because the optimizer keeps fp32 copies.";
        /// IEEE half-precision compute with fp32 master weights.
        Fp16 = "fp16", "fp16 mixed",
            "The same bytes as bf16; its narrower range needs loss scaling.";
        /// Everything in single precision.
        Fp32 = "fp32", "fp32",
            "Activations take 4 bytes an element; model states are still 16 bytes per parameter.";
    }

    /// How much of the forward pass is computed again instead of kept.
    Recomputation {
        /// Every activation is kept.
        None = "none", "None",
            "Every intermediate is kept for the backward pass: no extra work, most memory.";
        /// Attention scores are computed again.
        Selective = "selective", "Selective",
            "Attention scores are computed again in the backward pass: the S² term goes, for about 2.7 % more work.";
        /// Whole layers are computed again from their inputs.
        Full = "full", "Full",
            "Only each layer's input is kept and the layer is computed again: least memory, about a third more work.";
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

    /// The shape of the feed-forward block, which decides the parameter count.
    Mlp {
        /// Two matrices with biases and LayerNorm: the GPT block.
        Gelu = "gelu", "GELU, 2 matrices",
            "Two matrices, biases and LayerNorm, as in GPT.";
        /// Three matrices without biases and RMSNorm: the Llama block.
        Gated = "gated", "SwiGLU or GeGLU, 3 matrices",
            "Three matrices, no biases and RMSNorm, as in Llama.";
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

    /// A plain switch.
    Switch {
        /// Not in use.
        Off = "off", "off", "Not in use.";
        /// In use.
        On = "on", "on", "In use.";
    }
}

impl Precision {
    /// Bytes of one activation element: 2 at 16 bits, 4 at 32.
    pub const fn element_bytes(self) -> u32 {
        match self {
            Self::Bf16 | Self::Fp16 => 2,
            Self::Fp32 => 4,
        }
    }
}

impl Switch {
    /// Whether the switch is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_whatever_its_case_and_padding() {
        assert_eq!(Recomputation::from_key(" FULL "), Some(Recomputation::Full));
        assert_eq!(Recomputation::from_key("total"), None);
        assert_eq!(ZeroStage::from_key("3"), Some(ZeroStage::Stage3));
    }

    #[test]
    fn every_value_has_the_option_at_its_place() {
        for (value, option) in Recomputation::ALL.iter().zip(Recomputation::OPTIONS) {
            assert_eq!(value.option(), option);
        }
        assert_eq!(Precision::Fp32.key(), "fp32");
    }
}
