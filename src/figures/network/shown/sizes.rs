//! The largest batch at other sizes of the input and of its patches.

use bmax::course::networks::Network;
use bmax::number;
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};

use super::Counted;

/// Sides that the drawing of sizes has, as parts of the list's own.
pub(super) const FACTORS: [f64; 8] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0];

/// Patches that the drawing of sizes has, as parts of the list's own, and how they look.
pub(super) const PATCHES: [(f64, Ink); 3] = [(1.0, Ink::Own), (0.5, Ink::Series1), (2.0, Ink::Series3)];

/// Side in pixels, and the largest batch with each of [`PATCHES`].
pub(super) type Size = (f64, [Option<f64>; PATCHES.len()]);

impl Counted {
    /// The largest batch against the side of the picture, with a line for each patch size.
    pub fn sizes_plot(&self) -> Plot {
        let series = PATCHES.iter().enumerate().map(|(at, (factor, ink))| {
            let points = self.sizes.iter().map(|(side, fits)| (*side, fits[at].unwrap_or(f64::NAN))).collect();
            let name =
                self.patch.map_or_else(String::new, |patch| format!("patches of {}", number::grouped(patch * factor)));
            Series::line(*ink, points).named(name)
        });
        let series = series.take(if self.patch.is_some() { PATCHES.len() } else { 1 }).collect();
        let all = self.sizes.iter().flat_map(|(_, fits)| fits.iter().flatten());
        let most = all.fold(1.0, |most: f64, fit| most.max(*fit));
        let last = self.sizes.iter().map(|(side, _)| *side).fold(1.0, f64::max);
        Plot {
            x: Axis::linear(0.0, last, "pixels along the height"),
            y: Axis::log(1.0, most.max(10.0) * 1.2, "largest batch"),
            series,
            marks: vec![Mark::at(self.side, Rule::Soft)],
        }
    }

    /// What the drawing of sizes shows, in a sentence.
    pub fn sizes_text(&self) -> String {
        let fit = |factor: f64| {
            let near = |(side, _): &&Size| (side - self.side * factor).abs() <= self.side * 0.05;
            let found = self.sizes.iter().find(near);
            found.map(|(_, fits)| fits[0].map_or_else(|| "none".to_owned(), number::grouped))
        };
        let lines = match self.patch {
            Some(patch) => {
                let [own, half, double] = [1.0, 0.5, 2.0].map(|factor| number::grouped((patch * factor).max(1.0)));
                format!(" Solid: patches of {own} pixels; the other lines: of {half} and {double}.")
            }
            None => String::new(),
        };
        match (fit(0.5), fit(1.0), fit(2.0)) {
            (Some(half), Some(own), Some(double)) => format!(
                "At {}, {} and {} pixels along the height the largest batches that fit are {half}, {own} and {double}.{lines}",
                number::grouped(self.side * 0.5),
                number::grouped(self.side),
                number::grouped(self.side * 2.0)
            ),
            _ => "The input of this list has no height and width to change, or not all sizes go through its layers."
                .to_owned(),
        }
    }
}

/// The largest batches of a list at other sizes of its input. A size or patch that does not go through all layers
/// has none.
pub(super) fn sizes(text: &str, own: &Network, fit: impl Fn(&Network) -> Option<f64>) -> Vec<Size> {
    if own.input.height * own.input.width <= 1.0 || own.input.height.min(own.input.width) < 8.0 {
        return Vec::new();
    }
    let at = |factor: f64| {
        let fits = PATCHES.map(|(part, _)| {
            let patch = own.patch.map(|patch| (patch * part).max(1.0));
            if patch.is_none() && part != 1.0 {
                return None;
            }
            let network = Network::sized(text, factor, patch);
            if network.troubles.len() > own.troubles.len() { None } else { fit(&network) }
        });
        ((own.input.height * factor).round() * own.pixels, fits)
    };
    FACTORS.into_iter().map(at).collect()
}

pub(super) fn size_cells((side, fits): &Size, patch: Option<f64>) -> Vec<String> {
    let cell = |fit: &Option<f64>| fit.map_or_else(|| "–".to_owned(), number::grouped);
    let others = if patch.is_some() { [cell(&fits[1]), cell(&fits[2])] } else { ["–", "–"].map(str::to_owned) };
    let [half, double] = others;
    vec![number::grouped(*side), cell(&fits[0]), half, double]
}
