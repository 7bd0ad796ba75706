//! What the figure shows: a number and an update in every format.

use bmax::course::formats::{FORMATS, FP16, Fate, Format, power_of_two};
use bmax::number;

use crate::components::Column;
use crate::site::format;

/// Exponents of two at the ends of the drawn ranges, as the style sheet has them.
const DRAWN: (f64, f64) = (-150.0, 130.0);
/// Updates that are added up.
const UPDATES: u32 = 1_000;
/// The number and the update that stand in for what cannot be read.
const STAND_IN: f64 = 0.001;

/// What the formats are called, in the order of [`FORMATS`], and the style sheet's names for their items.
pub const NAMES: [(&str, &str); FORMATS.len()] = [
    ("fp32", "format-item format-fp32"),
    ("bf16", "format-item format-bf16"),
    ("fp16", "format-item format-fp16"),
    ("fp8 E4M3", "format-item format-e4m3"),
    ("fp8 E5M2", "format-item format-e5m2"),
];

/// The table of updates.
pub static COLUMNS: [Column; 3] = [Column::words("Format"), Column::numbers("after 1"), Column::numbers("after 1,000")];

/// What was typed into a field, as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typed {
    /// The number, or the one that stands in for it.
    pub value: f64,
    /// Whether the text is no number that the field takes.
    pub refused: bool,
}

impl Typed {
    /// A number between −`most` and `most`.
    pub fn of(text: &str, most: f64) -> Self {
        match number::parse(text) {
            Ok(value) if value.abs() <= most => Self { value, refused: false },
            _ => Self { value: STAND_IN, refused: true },
        }
    }
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The exponent of the loss scale.
    pub k: String,
    /// What the formats get.
    pub scaled: String,
    /// Half of what fp16 keeps at least, with the scale taken off.
    pub lowest: String,
    /// From where fp16 keeps all bits.
    pub normal: String,
    /// What overflows fp16.
    pub highest: String,
    /// Where the number stands on the drawn ranges.
    pub place: String,
    /// What each format keeps, in the order of [`FORMATS`].
    pub kept: [Kept; FORMATS.len()],
    /// The weight after its updates, a row for each format.
    pub rows: Vec<Vec<String>>,
}

/// What one format makes of the number.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The bits, from the highest.
    pub bits: [String; 3],
    /// The number with the scale taken off again, in fp32.
    pub arrives: String,
    /// What happened to it.
    pub fate: String,
    /// Whether nothing of it is left.
    pub lost: bool,
}

impl Shown {
    /// A number at a loss scale of 2^`k`, an update of a weight of 1, and whether fp8 stops at its largest number.
    pub fn of(number: f64, update: f64, k: f64, saturate: bool) -> Self {
        let scale = power_of_two(k as i32);
        let given = number * scale;
        let place = (given.abs().ln() / std::f64::consts::LN_2 - DRAWN.0) / (DRAWN.1 - DRAWN.0);
        Self {
            k: number::fixed(k, 0),
            scaled: written(given),
            // Half of the smallest number still rounds to zero; anything above it survives.
            lowest: written(FP16.min_subnormal() / 2.0 / scale),
            normal: written(FP16.min_normal() / scale),
            highest: written(FP16.max() / scale),
            place: format::css_percent(place.clamp(0.0, 1.0)),
            kept: FORMATS.map(|format| Kept::of(&format, number, scale, saturate)),
            rows: FORMATS.iter().zip(NAMES).map(|(format, (name, _))| row(format, name, update)).collect(),
        }
    }
}

impl Kept {
    fn of(format: &Format, number: f64, scale: f64, saturate: bool) -> Self {
        let kept = format.keep(number * scale, format.bits() == 8 && saturate);
        let binary = |from: u32, count: u32| -> String {
            (0..count).rev().map(|bit| if kept.bits >> (from + bit) & 1 == 1 { '1' } else { '0' }).collect()
        };
        let arrives = kept.value / scale;
        let fate = match kept.fate {
            Fate::Exact => "exact",
            Fate::Rounded => "rounded",
            Fate::Subnormal => "fewer bits",
            Fate::Zero => "lost",
            Fate::Overflow => "overflow",
            Fate::Saturated => "at its largest",
        };
        let off = (arrives - number).abs() / number.abs();
        Self {
            bits: [
                binary(format.bits() - 1, 1),
                binary(format.fraction_bits, format.exponent_bits),
                binary(0, format.fraction_bits),
            ],
            arrives: written(arrives),
            fate: match off > 0.0 && off < f64::INFINITY {
                true => format!("{fate}, off by {} %", format::significant(off * 100.0)),
                false => fate.to_owned(),
            },
            lost: matches!(kept.fate, Fate::Zero | Fate::Overflow),
        }
    }
}

/// A weight of 1 after one update and after many.
fn row(format: &Format, name: &str, update: f64) -> Vec<String> {
    let after = |times| number::plain((format.after_updates(1.0, update, times) * 1e6).round() / 1e6);
    vec![name.to_owned(), after(1), after(UPDATES)]
}

/// A number to six significant digits, with a power of ten where it is far from 1.
fn written(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if size == f64::INFINITY {
        return (if value < 0.0 { "−∞" } else { "∞" }).to_owned();
    }
    let mut exponent = number::decade(size);
    let plain = (-3..6).contains(&exponent);
    if plain {
        let scale = number::power(10.0, 5 - exponent);
        return number::grouped((value * scale).round() / scale);
    }
    let mut mantissa = value / number::power(10.0, exponent);
    mantissa = (mantissa * 1e5).round() / 1e5;
    // Rounding may carry into another digit, and the smallest doubles have no power of ten to divide by.
    if mantissa.abs() >= 10.0 {
        mantissa /= 10.0;
        exponent += 1;
    }
    let digits: String = number::fixed(exponent.into(), 0).chars().map(raised).collect();
    format!("{} × 10{digits}", number::plain(mantissa))
}

fn raised(character: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    character.to_digit(10).and_then(|digit| DIGITS.get(digit as usize)).copied().unwrap_or('⁻')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(shown: &Shown, key: &str) -> Kept {
        let at = FORMATS.iter().position(|format| format.key == key).expect("a format");
        shown.kept[at].clone()
    }

    #[test]
    fn numbers_are_written_to_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (65504.0, "65,504"),
            (-0.001, "-0.001"),
            (1.0 / 3.0, "0.333333"),
            (2_f64.powi(-24), "5.96046 × 10⁻⁸"),
            (-3.4e38, "-3.4 × 10³⁸"),
            (999_999.96, "1,000,000"),
            (9.999_999e-9, "1 × 10⁻⁸"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(written(value), text);
        }
    }

    /// What PyTorch's casts make of 0.001.
    #[test]
    fn a_thousandth_becomes_what_the_casts_of_pytorch_make_of_it() {
        for (key, digits, text) in [
            ("fp32", 11, "0.00100000005"),
            ("bf16", 8, "0.00099945"),
            ("fp16", 8, "0.00100040"),
            ("e4m3", 5, "0.00195"),
            ("e5m2", 5, "0.00098"),
        ] {
            let format = FORMATS.iter().find(|format| format.key == key).expect("a format");
            assert_eq!(number::fixed(format.keep(0.001, true).value, digits), text);
        }
    }

    #[test]
    fn scaling_the_loss_brings_back_what_fp16_loses_until_it_is_too_large() {
        let at = |number, k| kept(&Shown::of(number, 0.001, k, true), "fp16");
        let lost = at(1e-8, 0.0);
        assert_eq!((lost.arrives.as_str(), lost.fate.as_str(), lost.lost), ("0", "lost, off by 100 %", true));
        assert_eq!(at(1e-8, 8.0).arrives, "1.00117 × 10⁻⁸");
        let over = at(500.0, 8.0);
        assert_eq!((over.arrives.as_str(), over.fate.as_str(), over.lost), ("∞", "overflow", true));
        assert_eq!(kept(&Shown::of(500.0, 0.001, 8.0, true), "bf16").arrives, "500");
    }

    #[test]
    fn fp8_stops_at_its_largest_number_or_overflows() {
        for (saturate, [e4m3, e5m2]) in [(true, ["448", "57,344"]), (false, ["NaN", "∞"])] {
            let shown = Shown::of(65_520.0, 0.001, 0.0, saturate);
            assert_eq!([kept(&shown, "e4m3").arrives, kept(&shown, "e5m2").arrives], [e4m3, e5m2]);
        }
    }

    #[test]
    fn small_updates_stall_without_an_fp32_copy() {
        let rows = Shown::of(0.001, 0.001, 0.0, true).rows;
        assert_eq!(rows[0][..2], ["fp32", "1.001"]);
        assert_eq!(rows[0][2], "2.000047");
        assert_eq!(rows[1], ["bf16", "1", "1"]);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_default_stands_in() {
        assert_eq!(Typed::of("-0.1", 1.0), Typed { value: -0.1, refused: false });
        for text in ["ten", "", "1.01", "-2"] {
            assert_eq!(Typed::of(text, 1.0), Typed { value: STAND_IN, refused: true }, "{text}");
        }
    }

    #[test]
    fn the_text_prints_the_ranges_of_the_formats() {
        let text = include_str!("../../pages/memory/03_precision.md");
        for format in FORMATS {
            let range = [format.max(), format.min_normal(), format.min_subnormal()];
            for value in range {
                let exponent = value.log10().floor();
                let mantissa = number::fixed(value / 10_f64.powf(exponent), 2);
                let power = number::fixed(exponent, 0);
                let raised = format!("${mantissa} \\times 10^{{{power}}}$");
                let plain = [number::grouped(value), number::fixed(value, 4), number::fixed(value, 5)];
                assert!(
                    text.contains(&raised) || plain.iter().any(|plain| text.contains(&format!("| {plain} |"))),
                    "the text should print {raised}"
                );
            }
            assert!(text.contains(&format!("| {} |", number::fixed(format.digits(), 1))));
        }
    }

    proptest! {
        #[test]
        fn any_number_has_all_bits_of_every_format(number: f64, update in -1.0..=1.0, k in 0_u8..=24, saturate: bool) {
            let shown = Shown::of(number, update, k.into(), saturate);
            prop_assert_eq!(shown.rows.len(), FORMATS.len());
            for (kept, format) in shown.kept.iter().zip(FORMATS) {
                prop_assert!(!kept.arrives.is_empty() && !kept.fate.contains("NaN"), "{kept:?}");
                let lengths = kept.bits.each_ref().map(String::len);
                prop_assert_eq!(lengths, [1, format.exponent_bits, format.fraction_bits].map(|bits| bits as usize));
                prop_assert!(kept.bits.concat().chars().all(|bit| "01".contains(bit)));
            }
        }
    }
}
