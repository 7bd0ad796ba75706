//! Unit newtypes.
//!
//! Memory crosses module boundaries as [`Bytes`] and a part of a whole as [`Percent`], whatever unit a field is
//! typed in or a data sheet is printed in. Floating-point operations, seconds and rates are `f64` whose names say
//! which they are. Inside a [`Ledger`](super::ledger) a formula multiplies bare numbers, whose units are in the
//! meaning of their symbols.

mod dtype;
mod shape;

use std::iter::Sum;
use std::ops::{Add, Sub};

use serde::Serialize;

pub use dtype::DType;
pub use shape::{
    A, B, C, CHUNK, CQ, CR, D, D32, DK, DOCS, DR, E, EDGES, Extent, F, FE, FS, H, HV, K, LAST, MELS, N, NKV, P,
    PATCHES, PE, PIXELS, R, ROT, S, S1, S8, S16, S32, S128, SC, SC1, SE, SE8, SE16, SI, SP, Shape, T, TILES, UNROT, V,
    W, Width, Widths,
};

/// A quantity of memory, in bytes.
///
/// It is kept as `f64` because a ZeRO shard of a model is rarely a whole number of bytes; every
/// integer up to 2⁵³ (9 PB) is exact. Values are finite and may be negative only as differences.
///
/// ```
/// use bmax::Bytes;
/// assert_eq!(Bytes::from_gib(1.0).get(), 1_073_741_824.0);
/// assert_eq!(Bytes::from_gb(1.0).get(), 1_000_000_000.0);
/// assert_eq!(Bytes::from_mib(81_920.0).gib(), 80.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Bytes(f64);

impl Bytes {
    /// No memory at all.
    pub const ZERO: Self = Self(0.0);

    /// Wraps a count of bytes.
    pub const fn new(bytes: f64) -> Self {
        Self(bytes)
    }

    /// From mebibytes, 2²⁰ bytes: what `nvidia-smi` calls MiB.
    pub const fn from_mib(mib: f64) -> Self {
        Self(mib * 1_048_576.0)
    }

    /// From gibibytes, 2³⁰ bytes.
    pub const fn from_gib(gib: f64) -> Self {
        Self(gib * 1_073_741_824.0)
    }

    /// From gigabytes, 10⁹ bytes.
    pub const fn from_gb(gb: f64) -> Self {
        Self(gb * 1e9)
    }

    /// The count of bytes.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// In mebibytes, 2²⁰ bytes.
    pub const fn mib(self) -> f64 {
        self.0 / 1_048_576.0
    }

    /// In gibibytes, 2³⁰ bytes.
    pub const fn gib(self) -> f64 {
        self.0 / 1_073_741_824.0
    }

    /// In gigabytes, 10⁹ bytes.
    pub const fn gb(self) -> f64 {
        self.0 / 1e9
    }

    /// The smaller of two quantities.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The larger of two quantities.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// This quantity as a part of `whole`, from 0 to 1; 0 when `whole` is empty.
    pub fn share_of(self, whole: Self) -> f64 {
        if whole.0 > 0.0 { (self.0 / whole.0).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

/// A part of a whole in hundredths, such as the headroom kept free on a device.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Percent(f64);

impl Percent {
    /// Wraps hundredths: `Percent::new(10.0)` is a tenth.
    pub const fn new(hundredths: f64) -> Self {
        Self(hundredths)
    }

    /// The hundredths.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The same as a factor: 10 % is 0.1.
    pub const fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_nothing_is_none() {
        assert_eq!(Bytes::ZERO.share_of(Bytes::ZERO), 0.0);
        assert_eq!(Bytes::new(3.0).share_of(Bytes::new(4.0)), 0.75);
    }
}
