//! The number formats of training: bit layout, range, digits, rounding; and bytes per parameter by
//! training regime.

use crate::{GradientType, Precision};

/// A binary floating-point format: one sign, exponent and fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// The word for it in the page.
    pub key: &'static str,
    /// Bits of the exponent; its bias is 2^(bits − 1) − 1 in all five formats.
    pub exponent_bits: u32,
    /// Stored bits of the fraction.
    pub fraction_bits: u32,
    /// Whether the largest exponent stands for infinities and NaN, as in IEEE 754. E4M3 has no infinity
    /// and gives up only its last bit pattern.
    pub has_infinity: bool,
}

/// What a format makes of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// The bit pattern, in the lowest bits.
    pub bits: u32,
    /// The number that it stands for.
    pub value: f64,
    /// What happened.
    pub fate: Fate,
}

/// What happens to a number in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is a number of the format.
    Exact,
    /// It goes to the nearest number of the format.
    Rounded,
    /// It is kept with fewer bits, below the smallest normal number.
    Subnormal,
    /// It is so small that it becomes zero.
    Zero,
    /// It is too large: infinity, or NaN where there is no infinity.
    Overflow,
    /// It is too large and becomes the largest number.
    Saturated,
}

/// IEEE 754 binary32.
pub const FP32: Format = Format { key: "fp32", exponent_bits: 8, fraction_bits: 23, has_infinity: true };
/// IEEE 754 binary16.
pub const FP16: Format = Format { key: "fp16", exponent_bits: 5, fraction_bits: 10, has_infinity: true };
/// The upper half of binary32 (Kalamkar et al. 2019, arXiv:1905.12322).
pub const BF16: Format = Format { key: "bf16", exponent_bits: 8, fraction_bits: 7, has_infinity: true };
/// OCP 8-bit floating point, E4M3 (specification 1.0, 2023, table 1; Micikevicius et al. 2022, arXiv:2209.05433).
pub const E4M3: Format = Format { key: "e4m3", exponent_bits: 4, fraction_bits: 3, has_infinity: false };
/// OCP 8-bit floating point, E5M2 (the same).
pub const E5M2: Format = Format { key: "e5m2", exponent_bits: 5, fraction_bits: 2, has_infinity: true };

/// Every format, widest first.
pub const FORMATS: [Format; 5] = [FP32, BF16, FP16, E4M3, E5M2];

/// 2 to a whole power from −1022 to 1023.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

impl Format {
    /// All bits: sign, exponent, fraction.
    pub const fn bits(&self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    const fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The largest finite number.
    pub fn max(&self) -> f64 {
        // IEEE 754 gives up the largest exponent; E4M3 only its fraction of ones.
        let (exponent, ulps) = if self.has_infinity { (self.bias(), 1) } else { (self.bias() + 1, 2) };
        power_of_two(exponent) * (2.0 - f64::from(ulps) * power_of_two(-(self.fraction_bits as i32)))
    }

    /// The smallest number with all its bits.
    pub fn min_normal(&self) -> f64 {
        power_of_two(1 - self.bias())
    }

    /// The smallest positive number.
    pub fn min_subnormal(&self) -> f64 {
        power_of_two(1 - self.bias() - self.fraction_bits as i32)
    }

    /// Decimal digits that a normal number carries: (fraction bits + 1) · log₁₀ 2.
    pub fn digits(&self) -> f64 {
        f64::from(self.fraction_bits + 1) * std::f64::consts::LOG10_2
    }

    /// The nearest number of this format, ties to the even fraction (IEEE 754, 4.3.1). What is too large
    /// becomes infinity or NaN, or with `saturate` the largest number, as the OCP specification offers
    /// both. Any double is answered, NaN by NaN.
    ///
    /// ```
    /// use bmax::course::formats::{BF16, FP16};
    /// assert_eq!(FP16.keep(65504.0, false).bits, 0x7bff);
    /// assert_eq!(BF16.keep(1.001, false).value, 1.0);
    /// ```
    pub fn keep(&self, number: f64, saturate: bool) -> Kept {
        let sign = u32::from(number.is_sign_negative()) << (self.bits() - 1);
        let ones = (1 << self.exponent_bits) - 1;
        let size = number.abs();
        if size.is_nan() {
            let fraction =
                if self.has_infinity { 1 << (self.fraction_bits - 1) } else { (1 << self.fraction_bits) - 1 };
            return Kept { bits: sign | ones << self.fraction_bits | fraction, value: f64::NAN, fate: Fate::Exact };
        }
        // The exponent of a double as it stands; doubles below 2⁻¹⁰²² are below every format here.
        let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(1 - self.bias());
        let ulp = power_of_two(exponent - self.fraction_bits as i32);
        // Both steps are exact but for the rounding itself: a power of two only moves the exponent.
        let units = (size / ulp).round_ties_even();
        let value = units * ulp;
        if value > self.max() {
            let (bits, value, fate) = if saturate {
                return Kept { fate: Fate::Saturated, ..self.keep(self.max().copysign(number), false) };
            } else if self.has_infinity {
                (ones << self.fraction_bits, f64::INFINITY, Fate::Overflow)
            } else {
                ((1 << (self.exponent_bits + self.fraction_bits)) - 1, f64::NAN, Fate::Overflow)
            };
            return Kept { bits: sign | bits, value: value.copysign(number), fate };
        }
        // A subnormal has no leading one, and one that rounds up to the smallest normal gets it by itself.
        let field = (exponent + self.bias() - 1) as u32;
        let bits = sign | ((field << self.fraction_bits) + units as u32);
        let fate = if value == 0.0 && size > 0.0 {
            Fate::Zero
        } else if value != 0.0 && value < self.min_normal() {
            Fate::Subnormal
        } else if value == size {
            Fate::Exact
        } else {
            Fate::Rounded
        };
        Kept { bits, value: value.copysign(number), fate }
    }

    /// Where a weight of `start` ends after `times` updates of `update`, each rounded to this format.
    ///
    /// ```
    /// use bmax::course::formats::{BF16, FP32};
    /// assert_eq!(BF16.after_updates(1.0, 0.001, 1000), 1.0);
    /// assert!((FP32.after_updates(1.0, 0.001, 1000) - 2.0).abs() < 1e-3);
    /// ```
    pub fn after_updates(&self, start: f64, update: f64, times: u32) -> f64 {
        let update = self.keep(update, false).value;
        let mut value = self.keep(start, false).value;
        for _ in 0..times {
            // The sum of two numbers of at most 24 bits is exact in a double, or far below its last bit.
            value = self.keep(value + update, false).value;
        }
        value
    }
}

/// Bytes per parameter of a training regime, with Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regime {
    /// The weights that the passes use.
    pub weights: f64,
    /// Gradients.
    pub gradients: f64,
    /// The fp32 master copy.
    pub master: f64,
    /// One of Adam's two moments.
    pub moment: f64,
}

impl Regime {
    /// The bytes of a precision recipe: fp32 4 + 4 + 8; 16-bit weights 2 + 2 + 4 + 8, with gradients in
    /// fp32 2 + 4 + 4 + 8, where fp16 keeps its own beside them and has 2 + 6 + 4 + 8; all in bf16
    /// 2 + 2 + 4 (Micikevicius et al. 2018, arXiv:1710.03740; table of Megatron Core's distributed
    /// optimizer). Autocast and FSDP's mixed precision keep fp32 weights and gradients, 4 + 4 + 8.
    pub const fn of(precision: Precision, gradients: GradientType) -> Self {
        let full = matches!(gradients, GradientType::Full);
        let (weights, gradients, master, moment) = match precision {
            Precision::Fp32 | Precision::Mixed | Precision::Autocast => (4.0, 4.0, 0.0, 4.0),
            Precision::Bf16 => (2.0, if full { 4.0 } else { 2.0 }, 4.0, 4.0),
            Precision::Fp16 => (2.0, if full { 6.0 } else { 2.0 }, 4.0, 4.0),
            Precision::PureBf16 => (2.0, if full { 4.0 } else { 2.0 }, 0.0, 2.0),
        };
        Self { weights, gradients, master, moment }
    }

    /// Bytes per parameter with Adam's two moments.
    pub const fn with_adam(&self) -> f64 {
        self.weights + self.gradients + self.master + 2.0 * self.moment
    }
}
