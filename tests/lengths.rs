//! What lengths that vary take, against the data loaders of transformers and trl and against training steps.

use std::collections::BTreeMap;

use bmax::course::lengths::{Spread, batched, packed_share, wrapped_share};
use bmax::{
    Batching, Bytes, Field, Lengths, Scenario, b_max, catalogue, counters, estimate, largest_micro_batch, link,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::support::any_scenario;

fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(format!("{}/tests/vectors/{path}", env!("CARGO_MANIFEST_DIR")));
    serde_json::from_str(&text.expect("a committed file")).expect("JSON")
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"))
}

fn near(found: f64, expected: f64, part: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= part, "{what}: {found} is not {expected}");
}

/// A row of the data loaders: the scenario that says it, and its lengths.
fn asked(file: &Value, row: &Value) -> (Scenario, Spread) {
    let pairs: Vec<(u32, u64)> = serde_json::from_value(file["samples"][row["name"].as_str().expect("a name")].clone())
        .expect("lengths with counts");
    let whole = |key| number(row, key) as u32;
    let mut scenario = Scenario::workshop();
    scenario.recipe.sequence = whole("s");
    scenario.recipe.batch = whole("b");
    scenario.recipe.micro_batches = whole("accum");
    scenario.lengths.multiple = whole("len_multiple");
    let sample = Spread::of(&pairs).expect("lengths");
    scenario.lengths = sample.told(scenario.lengths);
    (scenario, sample)
}

#[test]
fn collators_and_the_sampler_make_as_many_tokens_as_is_worked_out() {
    let file = read("lengths.json");
    let rows = file["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 12);
    for row in rows {
        let (mut scenario, sample) = asked(&file, row);
        let name = row.to_string();
        let batch = scenario.recipe.batch;
        let all = 8_000.0 / f64::from(batch);
        for (way, key) in
            [(Batching::Padded, "padded"), (Batching::Bucketed, "bucketed"), (Batching::Flattened, "flattened")]
        {
            scenario.lengths.batching = way;
            let made = batched(&scenario, &sample, way, batch);
            near(made.real * all, number(row, "real"), 1e-9, &name);
            // The sample is shuffled once: a thousand micro-batches and fewer have their chance.
            near(made.computed * all, number(row, key), 0.03, &format!("{key} of {name}"));
            assert_eq!(made.worst, scenario.tokens_at(batch) as f64, "{name}");
            assert!(number(row, &format!("{key}_worst")) <= made.worst, "{name}");
        }
        // The first micro-batch of a bucket is the worst one.
        scenario.lengths.batching = Batching::Bucketed;
        assert_eq!(number(row, "bucketed_first"), scenario.tokens_at(batch) as f64, "{name}");
    }
}

#[test]
fn documents_take_as_many_packed_rows_as_is_worked_out() {
    let file = read("lengths.json");
    for row in file["rows"].as_array().expect("rows") {
        let (scenario, sample) = asked(&file, row);
        let (cut, real) = (scenario.recipe.sequence, number(row, "real"));
        let sample = sample.cut(cut);
        let name = row.to_string();
        near(real / packed_share(&sample, cut) / f64::from(cut), number(row, "bfd_rows"), 0.015, &name);
        near(real / wrapped_share(&sample, cut) / f64::from(cut), number(row, "wrapped_rows"), 0.015, &name);
        assert!(number(row, "bfd_longest_row") <= f64::from(cut));
        // One row of all of them, which no padding makes longer.
        let shape = row["bfd_micro_batch"].as_array().expect("a shape");
        assert!(shape[0] == 1 && shape[1].as_f64() <= Some(f64::from(cut * scenario.recipe.batch)), "{name}");
    }
}

#[test]
fn a_curve_through_three_numbers_is_near_the_sample_that_it_stands_for() {
    let file = read("lengths.json");
    let rows = file["rows"].as_array().expect("rows");
    let curves: Vec<_> = rows.iter().filter(|row| row.get("len_median").is_some()).collect();
    assert_eq!(curves.len(), 8);
    for row in curves {
        let (scenario, _) = asked(&file, row);
        let [median, p95, longest] = ["len_median", "len_p95", "len_max"].map(|key| number(row, key) as u32);
        let curve = Spread::through(median, p95, longest);
        let made = batched(&scenario, &curve, Batching::Padded, scenario.recipe.batch);
        let all = 8_000.0 / f64::from(scenario.recipe.batch);
        near(made.computed * all, number(row, "padded"), 0.06, &row.to_string());
        near(made.real * all, number(row, "real"), 0.04, &row.to_string());
    }
}

/// What a case of the training steps has beside how its lengths are handled.
fn case(row: &Value) -> String {
    let keys = ["model", "batch", "sequence", "precision", "ckpt", "attn", "base"];
    keys.map(|key| row[key].to_string()).join(" ")
}

/// Bytes that steps took, by their case, with the scenario of each.
fn steps(lengths: &str) -> BTreeMap<String, (f64, Scenario)> {
    let rows = read("lengths_cuda.json");
    let of = |row: &&Value| row["lengths"] == lengths;
    let found = rows.as_array().expect("rows").iter().filter(of).map(|row| {
        let read = link::decode(row["question"].as_str().expect("a question"));
        assert!(read.notices.is_empty() && read.scenario.conflicts().is_empty(), "{row}");
        (case(row), (number(&row["peak_bytes"], "total"), read.scenario))
    });
    found.collect()
}

#[test]
fn what_padding_and_packing_add_to_a_step_is_what_simulated_steps_add() {
    let equal = steps("equal");
    let mut counted = 0;
    for lengths in ["padded", "unpadded", "packed"] {
        for (name, (bytes, scenario)) in steps(lengths) {
            let (without, plain) = &equal[&name];
            let added = counters(&scenario).allocated - counters(plain).allocated;
            let gap = (added.get() - (bytes - without)).abs();
            // Rotary tables of every position and places of random numbers are not counted.
            assert!(gap <= 10.0 * 1024.0 * 1024.0, "{lengths} {name}: {} MiB beside it", gap / 1_048_576.0);
            near(counters(&scenario).allocated.get(), bytes, 0.02, &name);
            counted += 1;
        }
    }
    assert_eq!(counted, 14 * 3 + 2);
}

/// Llama 3.2 1B has 16 layers, 32 heads and 8 of keys and values, 64 wide.
#[test]
fn a_mask_costs_each_layer_a_copy_of_it_and_keys_and_values_for_every_head() {
    let scenario = |query: &str| {
        let query = format!(
            "model=llama-3.2-1b&gpus=1&zero=0&precision=bf16-pure&recompute=none&dropout=off&s=1024&b=2{query}"
        );
        link::decode(&query).scenario
    };
    let at = |query: &str, entry: &str| -> f64 {
        let estimate = estimate(&scenario(query));
        let named = estimate.entries.iter().filter(|found| found.name == entry && found.alive.contains(0));
        named.map(|found| found.bytes.get()).sum()
    };
    let padded = "&lengths=padded";
    assert_eq!(at(padded, "Attention mask in the type of the queries"), 16.0 * 2.0 * 1024.0 * 1024.0 * 2.0);
    for kind in ["Keys", "Values"] {
        let repeated = at(padded, &format!("{kind}, repeated to n heads"));
        assert_eq!((repeated, at(padded, kind)), (16.0 * 2.0 * 1024.0 * 2048.0 * 2.0, 0.0));
        assert_eq!(at("&lengths=padded&len_attn=varlen", kind), 16.0 * 2.0 * 1024.0 * 512.0 * 2.0);
    }
    assert_eq!(at(padded, "Padding mask"), 8.0 * 2.0 * 1024.0);
    assert_eq!(at("&lengths=packed", "Positions within documents"), 8.0 * 2.0 * 1024.0);
    assert_eq!(at("&lengths=packed", "Attention mask in the type of the queries"), 0.0);
}

#[test]
fn the_longest_sequence_decides_and_s_cuts_it() {
    let most = |query: &str| b_max(&link::decode(query).scenario).batch();
    let plain = most("model=llama-3.1-8b&gpu=h100-80&s=1000&attn=eager");
    assert_eq!(most("model=llama-3.1-8b&gpu=h100-80&s=4000&attn=eager&lengths=padded&len_max=1000&len_p95=900"), plain);
    assert_eq!(most("model=llama-3.1-8b&gpu=h100-80&s=1000&attn=eager&lengths=padded&len_max=4000"), plain);
    // The older methods know the length alone.
    for method in ["workshop", "paper"] {
        let equal = most(&format!("model=7b&s=1000&method={method}"));
        assert_eq!(most(&format!("model=7b&s=2000&method={method}&lengths=padded&len_max=1000&len_p95=900")), equal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lengths_that_are_equal_read_nothing_of_how_they_would_vary(scenario in any_scenario::any_scenario()) {
        let mut equal = scenario;
        equal.lengths.batching = Batching::Equal;
        let mut plain = equal;
        plain.lengths = Lengths::EQUAL;
        prop_assert_eq!(estimate(&equal).entries, estimate(&plain).entries);
        prop_assert_eq!(equal.tokens_at(3), 3 * u64::from(equal.recipe.sequence));
    }

    /// Whoever says that lengths vary and no more has said nothing that makes the longest shorter than S.
    #[test]
    fn lengths_that_nobody_gave_never_leave_more_room_than_equal_ones(
        model in select(catalogue::MODELS),
        device in select(catalogue::DEVICES),
        way in select(vec!["padded", "bucketed", "flattened", "packed"]),
        sequence in 1_u32..=131_072,
    ) {
        let query = format!("model={}&gpu={}&s={sequence}&adapter=lora", model.slug, device.slug);
        let equal = link::decode(&query).scenario;
        let varied = link::decode(&format!("{query}&lengths={way}")).scenario;
        prop_assert!(varied.longest() == sequence);
        prop_assert!(largest_micro_batch(&varied) <= largest_micro_batch(&equal));
    }

    #[test]
    fn a_longer_longest_sequence_never_leaves_more_room(
        scenario in any_scenario::any_scenario(),
        way in select(vec![Batching::Padded, Batching::Bucketed, Batching::Flattened, Batching::Packed]),
        lengths in (1_u32..=65_536, 1_u32..=65_536),
    ) {
        let with = |longest: u32| {
            let mut varied = scenario;
            varied.lengths = Lengths { batching: way, longest, ..scenario.lengths };
            varied
        };
        let (short, long) = (lengths.0.min(lengths.1), lengths.0.max(lengths.1));
        prop_assert!(largest_micro_batch(&with(short)) >= largest_micro_batch(&with(long)));
        prop_assert!(estimate(&with(short)).peak().bytes <= estimate(&with(long)).peak().bytes + Bytes::new(1.0));
        prop_assert!(with(long).longest() <= Field::Sequence.bound().max as u32 + 1_024);
    }

    #[test]
    fn b_max_of_lengths_that_vary_fits_and_one_more_does_not(scenario in any_scenario::any_scenario()) {
        let mut scenario = scenario;
        scenario.host.ram = Bytes::new(0.0);
        if let Some(most) = largest_micro_batch(&scenario) {
            prop_assert!(estimate(&scenario.with_batch(most)).peak().bytes <= scenario.usable() + Bytes::new(64.0));
            if most < Field::Batch.bound().max as u32 {
                prop_assert!(estimate(&scenario.with_batch(most + 1)).peak().bytes > scenario.usable() - Bytes::new(64.0));
            }
        }
    }
}
