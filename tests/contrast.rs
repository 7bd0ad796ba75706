//! Colours of the page that can be read and seen, as style/tokens.css has them: WCAG 2.2, success criteria 1.4.6
//! (contrast of text, level AAA) and 1.4.11 (contrast of graphics, level AA).

use std::collections::BTreeMap;

const TOKENS: &str = include_str!("../style/tokens.css");

/// Names and colours of a scheme. The dark values stand twice, the first time under the system's preference.
fn scheme(dark: bool) -> BTreeMap<&'static str, f64> {
    let (light, rest) = TOKENS.split_once("@media screen and (prefers-color-scheme: dark)").expect("a dark scheme");
    let part = if dark { rest.split("\n  }\n").next().expect("a block") } else { light };
    part.lines()
        .filter_map(|line| {
            let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
            Some((name, luminance(u32::from_str_radix(value.strip_suffix(';')?, 16).ok()?)))
        })
        .collect()
}

/// Relative luminance (WCAG 2.2, definitions).
fn luminance(colour: u32) -> f64 {
    let channel = |shift: u32| {
        let share = f64::from(colour >> shift & 0xff) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
}

/// Contrast ratio (WCAG 2.2, definitions).
fn contrast(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn is_held(dark: bool, ink: &str, ground: &str, least: f64) {
    let colours = scheme(dark);
    let of = |name: &str| *colours.get(name).unwrap_or_else(|| panic!("no colour {name}, dark: {dark}"));
    let found = contrast(of(ink), of(ground));
    assert!(found >= least, "{ink} on {ground}, dark: {dark}: {found:.2}, wanted {least}");
}

#[test]
fn black_on_white_has_the_highest_contrast_there_is() {
    assert!((contrast(luminance(0), luminance(0xff_ff_ff)) - 21.0).abs() < 1e-9);
}

#[test]
fn every_ink_is_readable_on_every_surface() {
    for dark in [false, true] {
        for ink in ["ink", "ink-soft", "accent", "good", "warn", "bad"] {
            for ground in ["paper", "panel", "raised", "accent-soft"] {
                is_held(dark, ink, ground, 7.0);
            }
        }
        for verdict in ["good", "warn", "bad"] {
            is_held(dark, verdict, &format!("{verdict}-soft"), 7.0);
        }
        is_held(dark, "accent-ink", "accent", 7.0);
    }
}

#[test]
fn what_is_drawn_and_what_is_pressed_can_be_seen_on_every_surface() {
    for dark in [false, true] {
        for ground in ["paper", "panel", "raised"] {
            for one in ["control", "focus", "series-1", "series-2", "series-3", "series-4", "series-own"] {
                is_held(dark, one, ground, 3.0);
            }
            for bucket in
                ["parameters", "gradients", "optimizer", "activations", "logits", "batch", "temporary", "runtime"]
            {
                is_held(dark, &format!("bucket-{bucket}"), ground, 3.0);
            }
        }
    }
}
