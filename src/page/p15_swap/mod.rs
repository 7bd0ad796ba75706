//! Swapping to the CPU.

use bmax::course::swapping::{Lane, Layer, Swapped, TIERS, break_even, place};
use bmax::{Bytes, catalogue};

use crate::page::pickers::device_picker;
use crate::page::speeds::assumed;
use crate::site::dom::El;
use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_figure, mount_live};

/// What the table's rows and the list of tensors are called, in the order of [`Swapped::ALL`].
const WORDS: [&str; 7] = ["input", "kept", "ffn", "scores", "weights", "gradients", "optimizer"];
/// The colour of their copies.
const COLOURS: [&str; 7] = [
    "bucket-activations",
    "bucket-activations",
    "bucket-activations",
    "bucket-activations",
    "bucket-parameters",
    "bucket-gradients",
    "bucket-optimizer",
];
/// Layers in the drawing.
const LAYERS: usize = 6;

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_figure("swapping-gpu", state, gpu);
    mount_live("swapping", state, draw);
}

fn gpu(state: State) -> El {
    device_picker(state, "swapping-gpu")
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    assumed(live, &scenario);
    let chosen = live.number("link");
    let bandwidth = if chosen > 0.0 { chosen * 1e9 } else { catalogue::speed(&scenario).host_bytes_per_second };
    let layer = Layer::of(&scenario);
    let even = break_even(layer.flops_per_second, bandwidth);

    let own = catalogue::memory_bandwidth(&scenario);
    let memory = scenario.device.memory;
    let tiers = TIERS.map(|tier| (tier.bandwidth, tier.capacity)).into_iter();
    // The host's memory behind the link has no size here.
    for ((speed, size), name) in
        tiers.chain([(own, memory.get()), (bandwidth, 0.0)]).zip(["tier-0", "tier-1", "tier-2", "tier-3", "tier-4"])
    {
        live.variable(name, "--speed", &format::css_percent(place(speed, 1e9, 1e14)));
        live.variable(name, "--size", &format::css_percent(place(size, 1e6, 1e13)));
    }
    live.text("own-speed", &(format::significant(own / 1e12) + " TB/s"));
    live.text("own-size", &format::gib(memory));
    live.text("link-speed", &(format::significant(bandwidth / 1e9) + " GB/s"));

    for (what, word) in Swapped::ALL.into_iter().zip(WORDS) {
        let swap = layer.swap(what, bandwidth);
        let put = |name: &str, text: &str| live.text(&(name.to_owned() + word), text);
        let (row, verdict) = ("row-".to_owned() + word, "verdict-".to_owned() + word);
        live.show(&row, swap.bytes > Bytes::ZERO);
        live.class(&row, "is-late", swap.wait > 0.0);
        put("size-", &format::memory(swap.bytes));
        put("copy-", &format::duration(swap.copy));
        put("by-", &format::duration(swap.hidden_by));
        put("worth-", &format::digits(swap.flops_per_byte, 0));
        if swap.wait > 0.0 {
            let waits = "waits ".to_owned() + &format::duration(swap.wait) + " a layer, +";
            live.text(&verdict, &(waits + &format::percent(swap.slowdown)));
        } else {
            live.text(&verdict, "goes on");
        }
    }
    let worth = layer.swap(Swapped::Input, bandwidth).flops_per_byte;
    let even_text = format::digits(even, 0);
    live.text("even", &even_text);
    live.text("even-2", &even_text);
    live.text("worth", &format::digits(worth, 0));
    live.text("sign", if worth >= even { "≤" } else { "≰" });
    lanes(live, &layer, bandwidth);
}

/// Six layers with their copies, drawn as bands on three lanes.
fn lanes(live: &Live, layer: &Layer, bandwidth: f64) {
    let word = live.word("what");
    let position = WORDS.iter().position(|name| *name == word).unwrap_or(0);
    let schedule = layer.schedule(Swapped::ALL[position], bandwidth, LAYERS);
    let mut series = Vec::with_capacity(schedule.blocks.len());
    let mut passes = 0;
    let (mut end, mut turn) = (schedule.seconds, 0.0);
    for block in &schedule.blocks {
        end = end.max(block.end);
        let (lane, class) = match block.lane {
            Lane::Compute => {
                passes += 1;
                if passes == LAYERS {
                    turn = block.end;
                }
                (2.0, if passes > LAYERS { "swap-backward" } else { "series-own" })
            }
            Lane::ToHost => (1.0, COLOURS[position]),
            Lane::FromHost => (0.0, COLOURS[position]),
        };
        let at = |time: f64| (time * 1e3, lane + 0.15, lane + 0.85);
        series.push(Series::band(class, vec![at(block.start), at(block.end)]));
    }
    live.plot(
        "lanes",
        &Plot {
            x: Axis::linear(0.0, end * 1e3, "ms"),
            y: Axis::linear(0.0, 3.0, ""),
            series,
            marks: vec![Mark::at(turn * 1e3, "mark-soft")],
        },
    );
    let waiting = schedule.waiting();
    // Less than a thousandth is rounding.
    let late = waiting > schedule.computing * 1e-3;
    live.text("computing", &format::duration(schedule.computing));
    live.text("seconds", &format::duration(schedule.seconds));
    live.text("waiting", &format::duration(waiting));
    live.show("case-free", !late);
    live.show("case-late", late);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let layer = Layer::of(&Scenario::default());
        let [input, kept] = [Swapped::Input, Swapped::Kept].map(|what| layer.swap(what, 31.5e9));
        for number in [
            format::digits(break_even(layer.flops_per_second, 31.5e9), 0),
            format::digits(input.flops_per_byte, 0),
            format::digits(kept.flops_per_byte, 0),
            format::digits(kept.wait * 1e3, 1) + " ms",
        ] {
            assert!(text.contains(&number), "the text should print “{number}”");
        }
        assert!(input.flops_per_byte / kept.flops_per_byte > 17.0);
    }

    #[test]
    fn the_table_of_gpus_prints_the_catalogue() {
        let text = include_str!("prose.html");
        for slug in ["p100-16", "v100-16", "a100-80", "h100-80", "b200", "gh200"] {
            let scenario = catalogue::device(slug).expect("listed").apply(Scenario::default());
            let speed = catalogue::speed(&scenario);
            let peak = speed.flops_per_second / bmax::Speed::UTILIZATION;
            for number in [
                bmax::number::grouped((peak / 1e11).round() / 10.0),
                bmax::number::grouped(catalogue::memory_bandwidth(&scenario) / 1e9),
                bmax::number::grouped(speed.host_bytes_per_second / 1e9),
                format::digits(break_even(peak, speed.host_bytes_per_second), 0),
            ] {
                assert!(text.contains(&format!(">{number}</td>")), "{slug}: {number}");
            }
        }
    }
}
