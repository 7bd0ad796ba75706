//! Medians and percentiles of relative errors.

/// With fewer rows than this, nine of ten is the word of one or two of them.
pub const FEW: usize = 20;

/// A few figures about many errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// Without signs.
    pub median: f64,
    /// Without signs.
    pub ninetieth: f64,
    /// The largest, with its sign: above zero, the prediction is high.
    pub worst: f64,
    /// The median with signs.
    pub bias: f64,
}

impl Summary {
    /// The figures about these errors; zeros where there are none.
    pub fn of(errors: impl Iterator<Item = f64>) -> Self {
        let mut signed: Vec<f64> = errors.collect();
        signed.sort_by(f64::total_cmp);
        let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        Self {
            count: sizes.len(),
            median: quantile(&sizes, 0.5),
            ninetieth: quantile(&sizes, 0.9),
            worst: signed.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0),
            bias: quantile(&signed, 0.5),
        }
    }
}

/// The value below which a part of the sorted values lies, with straight lines between neighbours.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: sizes 1, 2, 3, 4, 10. The middle one is 3; nine tenths of the way over four gaps is 3.6, and so 4 and six
    /// tenths of the 6 to the next. With signs the middle one of −4, −2, 1, 3, 10 is 1.
    #[test]
    fn quantiles_lie_on_straight_lines_between_neighbours() {
        let summary = Summary::of([3.0, -2.0, 10.0, 1.0, -4.0].into_iter());
        assert_eq!((summary.count, summary.median, summary.worst, summary.bias), (5, 3.0, 10.0, 1.0));
        assert!((summary.ninetieth - 7.6).abs() < 1e-12);
        assert_eq!(Summary::of(std::iter::empty()).count, 0);
    }
}
