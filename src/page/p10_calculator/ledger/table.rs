//! Everything that is alive at one instant as one table.

use bmax::Estimate;

use super::entry::{lifetime, source};
use crate::site::views::{formula_in_numbers, formula_in_symbols};
use crate::site::{Live, format};

/// The entries, largest first, and their sum, while the table is unfolded.
pub fn draw(live: &Live, estimate: &Estimate, at: usize) {
    if !live.is_open("table-fold") {
        return;
    }
    let entries = estimate.largest_at(at);
    for (row, entry) in live.copies("table", entries.len()).iter().zip(entries) {
        let values = entry.values(estimate);
        row.attr("swatch", "data-bucket", entry.bucket.key());
        let [name, bucket] = [entry.name, entry.bucket.name()].map(str::to_owned);
        row.write("", &[name, bucket, format::memory(entry.bytes), lifetime(entry, estimate)]);
        row.fill("formula", vec![formula_in_symbols(entry.formula, &values)]);
        row.fill("numbers", vec![formula_in_numbers(entry.formula, &values)]);
        source(row, entry);
    }
    live.text("total", &format::memory(estimate.total_at(at)));
}
