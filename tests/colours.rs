//! A colour of memory means one thing, on every page: what `bmax::chart::Tint` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bmax::chart::Tint;

/// The files under a folder whose names end so, each with its text.
fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    found
}

/// The rest of a text behind each place where it says `before`, up to the first of these letters.
fn behind<'a>(text: &'a str, before: &str, ends: &[char]) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(ends).next()).collect()
}

fn tint(key: &str) -> Option<Tint> {
    Tint::ALL.into_iter().find(|tint| tint.key() == key)
}

#[test]
fn no_two_kinds_of_memory_have_one_name_or_one_colour() {
    let base = include_str!("../style/base.css");
    let tokens = include_str!("../style/tokens.css");
    let (mut names, mut colours) = (BTreeMap::new(), BTreeMap::new());
    for tint in Tint::ALL {
        assert_eq!(names.insert(tint.name(), tint), None, "{}", tint.name());
        // Where two colours take turns, the component of the bar draws both.
        if tint == Tint::Turns {
            continue;
        }
        let rules = behind(base, &format!("[data-bucket=\"{}\"] {{\n  --bucket: ", tint.key()), &[';']);
        let [rule] = rules[..] else {
            panic!("style/base.css has one colour for “{}”, not {rules:?}", tint.name())
        };
        let token = format!("var(--bucket-{})", tint.key());
        assert_eq!(rule == token, tint != Tint::Other, "“{}” is {rule}", tint.name());
        // In either scheme: the values stand once for light and twice for dark.
        let values = behind(tokens, &format!("--bucket-{}: ", tint.key()), &[';']);
        let values = if tint == Tint::Other { vec![rule] } else { values };
        assert_eq!(colours.insert(values, tint), None, "“{}” has the colour of another", tint.name());
    }
}

/// The seven kinds of memory that may stand side by side in a bar, and logits.
const SIDE_BY_SIDE: [&str; 8] =
    ["parameters", "gradients", "optimizer", "activations", "logits", "batch", "temporary", "runtime"];

/// How a colour looks to somebody: by rows, what becomes of red, green and blue.
type Sight = [[f64; 3]; 3];

/// All three cones; then protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009, “A
/// Physiologically-based Model for Simulation of Color Vision Deficiency”, table 1, severity 1.0).
const SIGHTS: [Sight; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];

/// A colour of the style sheet as somebody sees it, in CIELAB with the white of D65.
fn seen(colour: u32, sight: &Sight) -> [f64; 3] {
    let linear = [16, 8, 0].map(|shift| {
        let share = f64::from(colour >> shift & 0xff) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    let by = |row: [f64; 3], of: [f64; 3]| row.iter().zip(of).map(|(one, other)| one * other).sum::<f64>();
    let [r, g, b] = sight.map(|row| by(row, linear).clamp(0.0, 1.0));
    let to_xyz =
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]];
    let [x, y, z] = to_xyz.map(|row| by(row, [r, g, b]));
    let root = |t: f64| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
    let [x, y, z] = [x / 0.95047, y, z / 1.08883].map(root);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// How far apart two colours look: CIEDE2000, in the names of Sharma, Wu and Dalal 2005, equations 2 to 22.
fn delta_e([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let seventh = |c: f64| (c.powi(7) / (c.powi(7) + 25.0_f64.powi(7))).sqrt();
    let g = 0.5 * (1.0 - seventh((a1.hypot(b1) + a2.hypot(b2)) / 2.0));
    let [a1, a2] = [a1, a2].map(|a| a * (1.0 + g));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let [h1, h2] = [(a1, b1), (a2, b2)].map(|(a, b)| b.atan2(a).to_degrees().rem_euclid(360.0));
    // Half way around the circle, the shorter way.
    let turn = (h2 - h1 + 540.0).rem_euclid(360.0) - 180.0;
    let mean = (h1 + turn / 2.0).rem_euclid(360.0);
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let cosine = |factor: f64, offset: f64| (factor * mean + offset).to_radians().cos();
    let t =
        1.0 - 0.17 * cosine(1.0, -30.0) + 0.24 * cosine(2.0, 0.0) + 0.32 * cosine(3.0, 6.0) - 0.2 * cosine(4.0, -63.0);
    let lightness = (l2 - l1) / (1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt());
    let chroma = (c2 - c1) / (1.0 + 0.045 * c);
    let hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin() / (1.0 + 0.015 * c * t);
    let angle = 60.0 * (-((mean - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * seventh(c) * angle.to_radians().sin();
    (lightness.powi(2) + chroma.powi(2) + hue.powi(2) + rotation * chroma * hue).sqrt()
}

#[test]
fn the_difference_of_two_colours_is_the_published_one() {
    // Sharma, Wu and Dalal 2005, table 1, pairs 1, 7, 9 and 17.
    for (one, other, published) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
        ([50.0, 2.4900, -0.0010], [50.0, -2.4900, 0.0009], 7.1792),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
    ] {
        assert!((delta_e(one, other) - published).abs() < 1e-4, "{} is not {published}", delta_e(one, other));
    }
}

#[test]
fn whoever_sees_fewer_colours_still_tells_any_two_kinds_of_memory_apart() {
    let tokens = include_str!("../style/tokens.css");
    // The first value is that of the light scheme, and the second that of the dark one.
    for scheme in [0, 1] {
        let colour = |key: &str| {
            let value = behind(tokens, &format!("--bucket-{key}: #"), &[';'])[scheme];
            u32::from_str_radix(value, 16).expect("a colour")
        };
        for (at, one) in SIDE_BY_SIDE.iter().enumerate() {
            for other in &SIDE_BY_SIDE[at + 1..] {
                let apart = SIGHTS.iter().map(|sight| delta_e(seen(colour(one), sight), seen(colour(other), sight)));
                let least = apart.fold(f64::INFINITY, f64::min);
                assert!(least >= 11.95, "{one} and {other}, scheme {scheme}: {least:.2}");
            }
        }
    }
}

/// Where the look of memory is said once for all.
const SAID_ONCE: [&str; 1] = ["src/components/memory_bar/style.css"];

#[test]
fn figures_take_a_colour_of_memory_only_by_what_it_means() {
    for folder in ["src/figures", "src/components"] {
        for (path, text) in files(folder, ".css") {
            if SAID_ONCE.iter().any(|file| path.ends_with(file)) {
                continue;
            }
            for key in behind(&text, "var(--bucket-", &[')']) {
                // The colour of letters on it, and the ground of every scale.
                assert!(["ink", "free"].contains(&key), "{}: takes the colour of “{key}” by itself", path.display());
            }
        }
        for (path, text) in files(folder, ".rs") {
            let classes = [behind(&text, "\"bucket-", &['"', ' ']), behind(&text, " bucket-", &['"', ' '])].concat();
            for class in classes {
                assert!(tint(class).is_none(), "{}: “bucket-{class}” is not taken from the table", path.display());
            }
            let keys = [behind(&text, "data-bucket=\"", &['"']), behind(&text, "data-bucket=\\\"", &['\\'])].concat();
            for key in keys {
                assert!(tint(key).is_some(), "{}: no memory is called “{key}”", path.display());
            }
        }
    }
}
