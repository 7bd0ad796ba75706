//! A number in each format, bit by bit.

use bmax::course::formats::{FORMATS, FP16, Fate, power_of_two};
use bmax::number;

use crate::site::{Live, State, format, mount_pressed};

/// Exponents of two at the ends of the drawn ranges, as the style sheet has them.
const DRAWN: (f64, f64) = (-150.0, 130.0);

/// Updates that are added up.
const UPDATES: u32 = 1_000;

pub(super) fn mount(state: State) {
    mount_pressed("formats", state, draw, |live, number| live.set("number", number));
}

fn draw(live: &Live) {
    let number = checked(live, "number", f64::MAX, 0.001);
    let update = checked(live, "update", 1.0, 0.001);
    let k = live.number("scale");
    let scale = power_of_two(k as i32);
    let given = number * scale;
    live.text("k", &number::fixed(k, 0));
    show(live, "scaled", given);
    // Half of the smallest number still rounds to zero; anything above it survives.
    show(live, "lowest", FP16.min_subnormal() / 2.0 / scale);
    show(live, "normal", FP16.min_normal() / scale);
    show(live, "highest", FP16.max() / scale);
    let at = (given.abs().ln() / std::f64::consts::LN_2 - DRAWN.0) / (DRAWN.1 - DRAWN.0);
    live.variable("list", "--at", &format::css_percent(at.clamp(0.0, 1.0)));
    for format in FORMATS {
        let text = |part: &str, text: &str| live.text(&[format.key, part].concat(), text);
        let kept = format.keep(given, format.bits() == 8 && live.on("saturate"));
        let binary = |from: u32, count: u32| -> String {
            (0..count).rev().map(|bit| if kept.bits >> (from + bit) & 1 == 1 { '1' } else { '0' }).collect()
        };
        text("-sign", &binary(format.bits() - 1, 1));
        text("-exponent", &binary(format.fraction_bits, format.exponent_bits));
        text("-fraction", &binary(0, format.fraction_bits));
        // What arrives once the scale is taken off again, in fp32.
        let arrives = kept.value / scale;
        text("-kept", &written(arrives));
        let fate = match kept.fate {
            Fate::Exact => "exact",
            Fate::Rounded => "rounded",
            Fate::Subnormal => "fewer bits",
            Fate::Zero => "lost",
            Fate::Overflow => "overflow",
            Fate::Saturated => "at its largest",
        };
        let off = (arrives - number).abs() / number.abs();
        let fate = match off > 0.0 && off < f64::INFINITY {
            true => [fate, ", off by ", &format::significant(off * 100.0), " %"].concat(),
            false => fate.to_owned(),
        };
        text("-fate", &fate);
        live.class(&[format.key, "-item"].concat(), "is-lost", matches!(kept.fate, Fate::Zero | Fate::Overflow));
        for (part, times) in [("-once", 1), ("-sum", UPDATES)] {
            text(part, &number::plain((format.after_updates(1.0, update, times) * 1e6).round() / 1e6));
        }
    }
}

#[inline(never)]
fn show(live: &Live, name: &str, value: f64) {
    live.text(name, &written(value));
}

/// The number of a field between −`most` and `most`; what cannot be read is named, and `default` stands
/// in.
fn checked(live: &Live, field: &str, most: f64, default: f64) -> f64 {
    let typed = live.number(field);
    let fits = typed.abs() <= most;
    live.class(&[field, "-help"].concat(), "field-error", !fits);
    live.control_attr(field, "aria-invalid", if fits { "false" } else { "true" });
    if fits { typed } else { default }
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
    [&number::plain(mantissa), " × 10", &digits].concat()
}

fn raised(character: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    character.to_digit(10).and_then(|digit| DIGITS.get(digit as usize)).copied().unwrap_or('⁻')
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_text_prints_what_the_formats_keep() {
        let text = include_str!("prose.html");
        for (key, digits) in [("fp32", 11), ("bf16", 8), ("fp16", 8), ("e4m3", 5), ("e5m2", 5)] {
            let format = FORMATS.iter().find(|format| format.key == key).expect("a format");
            let kept = number::fixed(format.keep(0.001, true).value, digits);
            assert!(text.contains(&kept), "the text should print {kept}");
        }
        assert_eq!(written(FP16.keep(1e-8 * 256.0, false).value / 256.0), "1.00117 × 10⁻⁸");
        assert_eq!(FP16.keep(1e-8, false).fate, Fate::Zero);
        for format in FORMATS {
            let range = [format.max(), format.min_normal(), format.min_subnormal()];
            for value in range {
                let exponent = value.log10().floor();
                let mantissa = number::fixed(value / 10_f64.powf(exponent), 2);
                let power = number::fixed(exponent, 0).replace('-', "−");
                let raised = format!("{mantissa} × 10<sup>{power}</sup>");
                let plain = [number::grouped(value), number::fixed(value, 4), number::fixed(value, 5)];
                assert!(
                    text.contains(&raised) || plain.iter().any(|plain| text.contains(&format!(">{plain}<"))),
                    "the text should print {raised}"
                );
            }
            assert!(text.contains(&format!(">{}<", number::fixed(format.digits(), 1))));
        }
    }
}
