//! What the figure shows: the tiers of memory, each tensor of a layer over the link, and a schedule of six layers.

use bmax::course::swapping::{Lane, Layer, Schedule, Swap, Swapped, TIERS, break_even, place};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bucket, Bytes, Scenario, catalogue};

use crate::site::format;

/// Layers in the drawing.
const LAYERS: usize = 6;

/// The link to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// That of the configuration's GPU.
    Own,
    /// PCI Express 3.0 with 16 lanes.
    Pcie3,
    /// PCI Express 4.0 with 16 lanes.
    Pcie4,
    /// PCI Express 5.0 with 16 lanes.
    Pcie5,
    /// The link between both halves of a GH200 (its data sheet).
    NvlinkC2c,
    /// One channel of DDR4-1600, with which the lecture counts.
    Dram,
}

/// The links with their names in the list.
pub const LINKS: [(Link, &str); 6] = [
    (Link::Own, "As your GPU has it"),
    (Link::Pcie3, "PCIe 3.0 ×16, 15.75 GB/s"),
    (Link::Pcie4, "PCIe 4.0 ×16, 31.5 GB/s"),
    (Link::Pcie5, "PCIe 5.0 ×16, 63 GB/s"),
    (Link::NvlinkC2c, "NVLink-C2C of a GH200, 450 GB/s"),
    (Link::Dram, "The lecture’s DRAM, 12.8 GB/s"),
];

impl Link {
    /// Bytes a second, each way (PCI-SIG; NVIDIA's data sheet of the GH200).
    fn bytes_per_second(self, scenario: &Scenario) -> f64 {
        match self {
            Self::Own => catalogue::speed(scenario).host_bytes_per_second,
            Self::Pcie3 => 15.75e9,
            Self::Pcie4 => 31.5e9,
            Self::Pcie5 => 63e9,
            Self::NvlinkC2c => 450e9,
            Self::Dram => TIERS[2].bandwidth,
        }
    }
}

/// A tensor as the table and the list name it.
pub struct Tensor {
    /// What it is.
    pub what: Swapped,
    /// What tests find its row by.
    pub key: &'static str,
    /// Its name in the table.
    pub name: &'static str,
    /// Its name in the list.
    pub alone: &'static str,
    /// The part of memory it belongs to, which has its colour.
    pub bucket: Bucket,
    /// The pass that a copy of it hides behind.
    pub pass: &'static str,
}

const fn tensor(
    what: Swapped,
    key: &'static str,
    [name, alone]: [&'static str; 2],
    bucket: Bucket,
    pass: &'static str,
) -> Tensor {
    Tensor { what, key, name, alone, bucket, pass }
}

const INPUT: &str = "Layer input, the checkpoint";
const KEPT: &str = "All that a layer keeps";
const OPTIMIZER: &str = "Moments and master copy";

/// The tensors, in the order of [`Swapped::ALL`].
pub static TENSORS: [Tensor; 7] = [
    tensor(Swapped::Input, "input", [INPUT, INPUT], Bucket::Activations, "forward"),
    tensor(Swapped::Kept, "kept", [KEPT, KEPT], Bucket::Activations, "forward"),
    tensor(
        Swapped::FeedForward,
        "ffn",
        ["of that, inside the feed-forward block", "Inside the feed-forward block"],
        Bucket::Activations,
        "forward",
    ),
    tensor(
        Swapped::Scores,
        "scores",
        ["of that, attention scores", "Attention scores"],
        Bucket::Activations,
        "forward",
    ),
    tensor(Swapped::Weights, "weights", ["Weights", "Weights"], Bucket::Parameters, "forward"),
    tensor(Swapped::Gradients, "gradients", ["Gradients", "Gradients"], Bucket::Gradients, "backward"),
    tensor(Swapped::Optimizer, "optimizer", [OPTIMIZER, OPTIMIZER], Bucket::Optimizer, "backward"),
];

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The tiers, from the fastest to the slowest of an A100's machine.
    pub tiers: [Tier; 5],
    /// Each of [`TENSORS`].
    pub swaps: Vec<Row>,
    /// Floating-point operations in the time of one byte.
    pub even: String,
    /// What a byte of layer input is worth.
    pub worth: String,
    /// How the two compare.
    pub sign: &'static str,
    /// What times are worked out with, where the GPU has no listed speed.
    pub assumed: Option<String>,
    /// The schedule.
    pub lanes: Lanes,
}

/// One tier of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// What tests find it by.
    pub key: &'static str,
    /// What it is.
    pub name: &'static str,
    /// The style sheet's names: the reader's own are told apart.
    pub class: &'static str,
    /// Bandwidth in words.
    pub speed: String,
    /// Capacity in words.
    pub size: String,
    /// Bandwidth on a scale of powers of ten.
    pub speed_along: String,
    /// Capacity on such a scale.
    pub size_along: String,
}

/// One tensor of a layer over the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whether there is none of it.
    pub absent: bool,
    /// Whether the GPU waits for it.
    pub late: bool,
    /// Its size.
    pub size: String,
    /// The time of its copy.
    pub copy: String,
    /// The time of the pass that the copy hides behind.
    pub by: String,
    /// Operations of that pass for each byte.
    pub worth: String,
    /// What the GPU does.
    pub verdict: String,
}

/// Six layers with their copies.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// Passes and copies as bands on three lanes.
    pub plot: Plot,
    /// Time of computing.
    pub computing: String,
    /// Time of all.
    pub seconds: String,
    /// What the GPU waits for, up to how long.
    pub waits: &'static str,
    /// How long; nothing where it does not wait.
    pub waiting: String,
    /// What follows that.
    pub where_seen: &'static str,
}

impl Shown {
    /// What this scenario shows over a link, with one tensor of each layer swapped in the schedule.
    pub fn of(scenario: &Scenario, link: Link, what: Swapped) -> Self {
        let bandwidth = link.bytes_per_second(scenario);
        let layer = Layer::of(scenario);
        let even = break_even(layer.flops_per_second, bandwidth);
        let worth = layer.swap(Swapped::Input, bandwidth).flops_per_byte;
        Self {
            tiers: tiers(scenario, bandwidth),
            swaps: TENSORS.iter().map(|tensor| Row::of(&layer.swap(tensor.what, bandwidth))).collect(),
            even: format::digits(even, 0),
            worth: format::digits(worth, 0),
            sign: if worth >= even { "≤" } else { "≰" },
            assumed: catalogue::assumption(scenario),
            lanes: Lanes::of(&layer.schedule(what, bandwidth, LAYERS), what),
        }
    }
}

fn tiers(scenario: &Scenario, link: f64) -> [Tier; 5] {
    const OWN: &str = "tier is-own";
    let (own, memory) = (catalogue::memory_bandwidth(scenario), scenario.device.memory);
    let [sram, hbm, dram] = TIERS.map(|tier| (tier.bandwidth, tier.capacity));
    let own_texts = [format::significant(own / 1e12) + " TB/s", format::gib(memory)];
    // The CPU memory behind the link has no size here.
    let link_texts = [format::significant(link / 1e9) + " GB/s", "CPU memory".to_owned()];
    let listed = |speed: &str, size: &str| [speed.to_owned(), size.to_owned()];
    [
        ("sram", "SRAM of an A100", "tier", sram, listed("19 TB/s", "20 MB")),
        ("own", "Your GPU’s memory", OWN, (own, memory.get()), own_texts),
        ("hbm", "HBM of an A100 40 GB", "tier", hbm, listed("1.5 TB/s", "40 GB")),
        ("link", "Your link", OWN, (link, 0.0), link_texts),
        ("dram", "DRAM, one channel", "tier", dram, listed("12.8 GB/s", "over 1 TB")),
    ]
    .map(|(key, name, class, (bandwidth, capacity), [speed, size])| Tier {
        key,
        name,
        class,
        speed,
        size,
        speed_along: format::css_percent(place(bandwidth, 1e9, 1e14)),
        size_along: format::css_percent(place(capacity, 1e6, 1e13)),
    })
}

impl Row {
    fn of(swap: &Swap) -> Self {
        let late = swap.wait > 0.0;
        let absent = swap.bytes == Bytes::ZERO;
        Self {
            absent,
            late,
            size: format::memory(swap.bytes),
            copy: format::duration(swap.copy),
            by: format::duration(swap.hidden_by),
            // Nothing is worth any number of operations.
            worth: if absent { "–".to_owned() } else { format::digits(swap.flops_per_byte, 0) },
            verdict: match late {
                true => {
                    format!("waits {} a layer, +{}", format::duration(swap.wait), format::percent(swap.slowdown))
                }
                false => "no wait".to_owned(),
            },
        }
    }
}

impl Lanes {
    fn of(schedule: &Schedule, what: Swapped) -> Self {
        let waiting = schedule.waiting();
        // Less than a thousandth is rounding.
        let late = waiting > schedule.computing * 1e-3;
        let (waits, waiting, where_seen) = match late {
            true => ("the GPU waits for ", format::duration(waiting), " of them, where the top lane is empty."),
            false => ("the GPU never waits for a copy.", String::new(), ""),
        };
        Self {
            plot: drawing(schedule, what),
            computing: format::duration(schedule.computing),
            seconds: format::duration(schedule.seconds),
            waits,
            waiting,
            where_seen,
        }
    }
}

/// Passes and copies as bands on three lanes, and where the passes turn back.
fn drawing(schedule: &Schedule, what: Swapped) -> Plot {
    let copies = TENSORS.iter().find(|tensor| tensor.what == what).map_or(Bucket::Activations, |tensor| tensor.bucket);
    let mut series = Vec::with_capacity(schedule.blocks.len());
    let mut passes = 0;
    let (mut end, mut turn) = (schedule.seconds, 0.0);
    for block in &schedule.blocks {
        end = end.max(block.end);
        let (lane, ink) = match block.lane {
            Lane::Compute => {
                passes += 1;
                if passes == LAYERS {
                    turn = block.end;
                }
                (2.0, if passes > LAYERS { Ink::OwnBack } else { Ink::Own })
            }
            Lane::ToHost => (1.0, Ink::Bucket(copies)),
            Lane::FromHost => (0.0, Ink::Bucket(copies)),
        };
        let at = |time: f64| (time * 1e3, lane + 0.15, lane + 0.85);
        series.push(Series::band(ink, vec![at(block.start), at(block.end)]));
    }
    Plot {
        x: Axis::linear(0.0, end * 1e3, "ms"),
        y: Axis::linear(0.0, 3.0, "").bare(),
        series,
        marks: vec![Mark::at(turn * 1e3, Rule::Soft)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::number;
    use proptest::prelude::*;

    fn default(link: Link, what: Swapped) -> Shown {
        Shown::of(&Scenario::workshop(), link, what)
    }

    #[test]
    fn the_tensors_are_those_of_the_library() {
        assert!(TENSORS.iter().map(|tensor| tensor.what).eq(Swapped::ALL));
        for (at, what) in Swapped::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, at);
        }
    }

    /// An A100 reaches 40 % of 312 TFLOP/s, PCIe 4.0 has 31.5 GB/s, and a byte of layer input is worth 12·H + 2·S
    /// operations, with H = 4,096 and S = 2,048.
    #[test]
    fn a_layer_input_goes_for_free_and_all_that_a_layer_keeps_does_not() {
        let shown = default(Link::Pcie4, Swapped::Kept);
        assert_eq!(shown, default(Link::Own, Swapped::Kept));
        assert_eq!(shown.even, number::grouped((312e12_f64 * 0.4 / 31.5e9).round()));
        assert_eq!(shown.worth, number::grouped(12.0 * 4_096.0 + 2.0 * 2_048.0));
        assert_eq!(shown.sign, "≤");
        let [input, kept] = [&shown.swaps[0], &shown.swaps[1]];
        assert_eq!((input.verdict.as_str(), input.late), ("no wait", false));
        assert!(kept.late && kept.verdict.starts_with("waits "), "{kept:?}");
        // Korthikanti et al. 2022: at least 34 bytes are kept for the 2 of the input.
        let worth = |row: &Row| number::parse(&row.worth).expect("a number");
        assert!(worth(input) / worth(kept) > 17.0);
        assert!(shown.swaps[3].absent, "flash attention stores no scores");
    }

    #[test]
    fn the_schedule_says_what_the_drawing_shows() {
        let kept = default(Link::Pcie4, Swapped::Kept).lanes;
        assert_eq!(kept.waits, "the GPU waits for ");
        assert!(!kept.waiting.is_empty());
        let input = default(Link::Pcie4, Swapped::Input).lanes;
        assert_eq!((input.waits, input.waiting.as_str()), ("the GPU never waits for a copy.", ""));
        // Twelve passes; the inputs of four layers leave and come back.
        assert_eq!(input.plot.series.len(), 12 + 2 * 4);
    }

    #[test]
    fn a_scale_of_the_tiers_has_five_steps_of_ten() {
        let tiers = default(Link::Own, Swapped::Kept).tiers;
        for (tier, speed) in tiers.iter().zip([19e12, 2.039e12, 1.5e12, 31.5e9, 12.8e9]) {
            let along: f64 = tier.speed_along.trim_end_matches('%').parse().expect("percent");
            assert!((along / 100.0 - (speed / 1e9_f64).log10() / 5.0).abs() < 1e-4, "{tier:?}");
        }
        assert_eq!((tiers[1].speed.as_str(), tiers[3].speed.as_str()), ("2.04 TB/s", "31.5 GB/s"));
    }

    #[test]
    fn a_link_is_as_fast_as_its_name_says() {
        for (link, name) in LINKS.into_iter().filter(|(link, _)| *link != Link::Own) {
            let gigabytes = number::plain(link.bytes_per_second(&Scenario::workshop()) / 1e9);
            assert!(name.contains(&format!(", {gigabytes} GB/s")), "{name}: {gigabytes}");
        }
    }

    #[test]
    fn the_table_of_gpus_prints_the_catalogue() {
        let text = include_str!("../../pages/room/04_swap.md");
        for slug in ["p100-16", "v100-16", "a100-80", "h100-80", "b200", "gh200"] {
            let scenario = catalogue::device(slug).expect("listed").apply(Scenario::workshop());
            let speed = catalogue::speed(&scenario);
            let peak = speed.flops_per_second / bmax::cost::Speed::UTILIZATION;
            for number in [
                number::grouped((peak / 1e11).round() / 10.0),
                number::grouped(catalogue::memory_bandwidth(&scenario) / 1e9),
                number::grouped(speed.host_bytes_per_second / 1e9),
                format::digits(break_even(peak, speed.host_bytes_per_second), 0),
            ] {
                assert!(text.contains(&format!("| {number} |")), "{slug}: {number}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_can_be_swapped_over_any_link(
            scenario in any_scenario(),
            link in prop::sample::select(LINKS.map(|(link, _)| link).to_vec()),
            what in prop::sample::select(Swapped::ALL.to_vec()),
        ) {
            let shown = Shown::of(&scenario, link, what);
            texts_are_sound(&(&shown.tiers, &shown.swaps, &shown.even, &shown.worth, &shown.assumed));
            texts_are_sound(&(&shown.lanes.computing, &shown.lanes.seconds, shown.lanes.waits));
            plot_is_sound(&shown.lanes.plot);
        }
    }
}
