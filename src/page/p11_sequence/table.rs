//! The curves as a table.

use bmax::chart::{Curves, batch_text};

use crate::site::{Live, format};

/// b_max of every curve at every power of two. It is written only while it is open: it would
/// otherwise be the largest part of every change of the page.
pub fn draw(live: &Live, curves: &Curves) {
    let known = curves.lengths.iter().enumerate().filter(|(_, length)| length.is_power_of_two());
    let known: Vec<(usize, &u32)> = known.collect();
    for (row, (position, length)) in live.copies("table", known.len()).iter().zip(known) {
        row.write("", &[format::count(*length)]);
        for (column, curve) in curves.all.iter().enumerate() {
            let batch = curve.batches.get(position).copied().flatten();
            let case = if batch.is_some() { "fits" } else { "none" };
            row.say(&column.to_string(), case, &[batch_text(batch)]);
        }
    }
}
