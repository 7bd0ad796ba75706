//! The buckets of the current configuration, and the bar they fill.

mod card;

use bmax::{Bucket, Bytes, Method, line_at_peak, link};

use crate::site::views::{draw_bar, draw_legend};
use crate::site::{Facts, Live, State, format, mount_live};

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_live("buckets", state, |live| live.facts(|facts| draw(live, facts)));
}

/// A card for each bucket, which moment they show, their sum, and the bar of them all.
fn draw(live: &Live, facts: &Facts) {
    let Facts { scenario, estimate, .. } = facts;
    let asked = link::encode(&scenario.with_batch(1));
    for &bucket in Bucket::ALL {
        let absent = estimate.bucket(bucket).get() == 0.0;
        live.show(bucket.key(), !absent);
        live.show(&("no-".to_owned() + bucket.key()), absent && facts.is_ledger());
        if !absent {
            card::draw(&live.place(bucket.key()), estimate, bucket, &asked);
        }
    }
    live.show("moment", facts.is_ledger());
    live.text("instant", estimate.peak().instant.name);
    // The workshop divides sixteen bytes a parameter over all GPUs; what is fixed by the other two has no
    // such short form.
    live.show("evenly", scenario.method == Method::Workshop);
    live.show("unevenly", scenario.method != Method::Workshop);
    let line = line_at_peak(scenario);
    let growing = Bytes::new(line.per_sequence.get() * f64::from(scenario.recipe.batch));
    for (name, bytes) in [("total", estimate.peak().bytes), ("fixed", line.fixed), ("growing", growing)] {
        live.text(name, &format::memory(bytes));
    }
    draw_bar(&live.place("bar"), estimate, None);
    draw_legend(&live.place("legend"), estimate);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_every_bucket_as_the_library_does() {
        for bucket in Bucket::ALL {
            let text = include_str!("prose.html");
            for part in [format!("</span>{}</p>", bucket.name()), format!("nothing in “{}”.", bucket.name())] {
                assert!(text.contains(&part), "the text should print “{part}”");
            }
        }
    }
}
