//! Element types of tensors.

/// The type of a tensor's elements, as PyTorch's `dtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// One byte: masks, packed weights, quantized scales.
    Byte,
    /// bfloat16; float16 takes the same bytes.
    Half,
    /// float32.
    Single,
    /// int32: masks that are counted, numbers of experts.
    Int,
    /// int64: token ids, labels, positions.
    Long,
}

impl DType {
    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Single | Self::Int => 4,
            Self::Long => 8,
        }
    }

    /// The type of what is made of two operands (`promoteTypes` of c10/core/ScalarType.h, for floating-point types).
    pub fn promoted(self, other: Self) -> Self {
        if self.bytes() >= other.bytes() { self } else { other }
    }
}
