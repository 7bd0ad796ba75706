//! Medians and percentiles of relative errors.

/// A few figures about many errors.
pub struct Summary {
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
