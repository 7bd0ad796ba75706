//! The tensors of one linear layer Y = X·W and their sizes.

use bmax::{Bytes, Scenario};

use crate::site::format;

/// Bytes of a weight and of its gradient in fp32.
const FP32: f64 = 4.0;

/// A square linear layer: W is [H, H], X is [b, S, H].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// H.
    pub hidden: u32,
    /// S, in tokens.
    pub sequence: u32,
    /// Bytes of one element of X.
    pub element_bytes: u32,
}

impl Layer {
    /// The layer of the text: 4096 × 4096, fed with 2048 tokens at 16 bits.
    pub const WORKED: Self = Self { hidden: 4096, sequence: 2048, element_bytes: 2 };

    /// A layer as wide as the scenario's model.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            hidden: scenario.model.hidden,
            sequence: scenario.recipe.sequence,
            element_bytes: scenario.recipe.precision.element_bytes(),
        }
    }

    /// W in fp32.
    pub fn weights(self) -> Bytes {
        Bytes::new(f64::from(self.hidden) * f64::from(self.hidden) * FP32)
    }

    /// dW, which has the shape of W.
    pub fn gradient(self) -> Bytes {
        self.weights()
    }

    /// Adam's m and v, each with the shape of W.
    pub fn moments(self) -> Bytes {
        self.weights() + self.weights()
    }

    /// X for `batch` sequences.
    pub fn input(self, batch: u32) -> Bytes {
        let elements = f64::from(batch) * f64::from(self.sequence) * f64::from(self.hidden);
        Bytes::new(elements * f64::from(self.element_bytes))
    }
}

/// The size of one tensor: in MiB up to a GiB, because most tensors of one layer are that small.
pub fn size(bytes: Bytes) -> String {
    let mib = bytes.mib();
    if mib >= 1024.0 {
        return format::memory(bytes);
    }
    format!("{} MiB", format::digits(mib, if mib.fract() == 0.0 || mib >= 100.0 { 0 } else { 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_layer_takes_64_64_and_128_mib_whatever_the_batch() {
        let layer = Layer::WORKED;
        assert_eq!(layer.weights(), Bytes::from_mib(64.0));
        assert_eq!(layer.gradient(), Bytes::from_mib(64.0));
        assert_eq!(layer.moments(), Bytes::from_mib(128.0));
    }

    #[test]
    fn its_input_takes_16_mib_a_sequence() {
        for (batch, mib) in [(1, 16.0), (4, 64.0), (8, 128.0), (100, 1600.0)] {
            assert_eq!(Layer::WORKED.input(batch), Bytes::from_mib(mib));
        }
    }

    #[test]
    fn the_default_model_has_the_shape_of_the_worked_layer() {
        assert_eq!(Layer::of(&Scenario::workshop()), Layer::WORKED);
    }

    #[test]
    fn sizes_are_told_in_mib_up_to_a_gib() {
        assert_eq!(size(Bytes::from_mib(128.0)), "128 MiB");
        assert_eq!(size(Bytes::from_mib(12.5)), "12.5 MiB");
        assert_eq!(size(Bytes::from_mib(1600.0)), "1.56 GiB");
    }
}
