//! Images beside text, against the processors of transformers 5.23.0, the weights of its classes, and training steps
//! that PyTorch's allocator has counted (tests/vectors/README.md).

use bmax::{
    Adapter, AdapterTargets, Change, Estimate, Field, Images, Precision, ProjectorTraining, Recomputation, Scenario,
    Switch, Tower, TowerTraining, Vision, b_max, catalogue, counters, estimate, levers::ranked, link,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::support::any_scenario;
use crate::support::held::{at, exactly};
use crate::support::peaks::{at_least, peak};

const TOKENS: &str = include_str!("vectors/image_tokens.json");
const STEPS: &str = include_str!("vectors/vision.json");

fn rows(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list")
}

fn whole(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"))
}

/// Where sizes matter and nothing else.
fn tower(name: &str) -> Vision {
    let (tower, patch, side) = match name {
        "qwen2.5-vl" => (Tower::Qwen25Vl, 14, 0),
        "llava-next" => (Tower::LlavaNext, 14, 336),
        "gemma3" => (Tower::Gemma3, 14, 896),
        "llama4" => (Tower::Llama4, 14, 336),
        other => panic!("{other}"),
    };
    Vision { tower, layers: 2, hidden: 64, heads: 4, feed_forward: 128, patch, side }
}

#[test]
fn images_become_the_patches_tiles_and_tokens_that_the_processors_make_of_them() {
    let rows = rows(TOKENS);
    assert!(rows.len() > 100);
    for row in rows {
        let number = |key: &str, usual: u32| row[key].as_u64().map_or(usual, |number| number as u32);
        let images = Images {
            height: number("height", 0),
            width: number("width", 0),
            max_pixels: number("max_pixels", 0),
            tiles: number("tiles_at_most", 0),
            ..Images::ONE
        };
        let seen = images.seen(&tower(row["tower"].as_str().unwrap_or_default()));
        let expected = (whole(&row, "tiles"), whole(&row, "patches"), whole(&row, "tokens"));
        assert_eq!((seen.tiles, seen.patches, seen.tokens), expected, "{row}");
    }
}

#[test]
fn llava_1_5_takes_576_tokens_of_every_image() {
    // 336 / 14 = 24 patches along each side (Liu et al. 2023, arXiv 2310.03744, section 3.3).
    let scenario = catalogue::model("llava-1.5-7b").expect("listed").apply(Scenario::workshop());
    assert_eq!(scenario.image_tokens(), 576);
}

/// How far the ledger may be from the allocator's live counter.
const TOLERANCE: f64 = 0.02;

/// Rows that are further off, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn simulated_steps_with_images_are_within_two_percent_of_the_live_counter() {
    let rows = rows(STEPS);
    assert!(rows.len() >= 30, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let (id, question) = (row["id"].as_str().unwrap_or_default(), row["question"].as_str().unwrap_or_default());
        let Some(seen) = row["peak_bytes"]["total"].as_f64() else { panic!("{id}: {}", row["error"]) };
        let decoded = link::decode(question);
        assert!(decoded.notices.is_empty(), "{id}: {:?}", decoded.notices);
        let scenario = decoded.scenario;
        assert_eq!(scenario.conflicts(), [], "{id}");
        let live = counters(&scenario).allocated.get();
        let off = live / seen - 1.0;
        let peak = estimate(&scenario).peak();
        println!("{:+6.2} %  {:7.2} GiB  {id}  [{}]", 100.0 * off, seen / 1_073_741_824.0, peak.instant.name);
        let named = EXCEPTIONS.iter().any(|(name, _)| *name == id);
        if (off.abs() > TOLERANCE) != named {
            wrong.push(format!("{id}: {:+.2} %", 100.0 * off));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn total(estimate: &Estimate, instant: &str) -> f64 {
    let at = estimate.instants.iter().position(|found| found.name == instant).expect("an instant");
    estimate.total_at(at).get()
}

fn qwen() -> Scenario {
    let mut scenario = catalogue::model("qwen2.5-vl-7b").expect("listed").apply(Scenario::workshop());
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = bmax::ZeroStage::Stage0;
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.recomputation = Recomputation::Full;
    scenario
}

#[test]
fn a_frozen_tower_keeps_nothing_where_no_gradient_runs_through_it() {
    let scenario = qwen();
    let kept = |scenario: &Scenario| {
        let estimate = estimate(scenario);
        estimate.entries.iter().filter(|entry| entry.name.starts_with("Tower: layer inputs")).count()
    };
    assert_eq!(kept(&scenario), 0);
    // Adapters with recomputation mark what the patch embedding puts out.
    let mut adapted = scenario;
    adapted.recipe.adapter = Adapter::Lora;
    adapted.recipe.images.projector = ProjectorTraining::Frozen;
    assert_eq!(kept(&adapted), 1);
    adapted.recipe.recomputation = Recomputation::None;
    assert_eq!(kept(&adapted), 0);
}

#[test]
fn layer_inputs_of_a_recomputed_tower_are_one_tensor_of_each_layer() {
    let mut scenario = qwen();
    scenario.recipe.images.tower = TowerTraining::Trained;
    scenario.recipe.batch = 1;
    let estimate = estimate(&scenario);
    let inputs = estimate.entries.iter().find(|entry| entry.name == "Tower: layer inputs").expect("kept");
    // 32 layers, 4 · 37² patches of a megapixel, 1,280 numbers of 2 bytes each.
    assert_eq!(inputs.bytes.get(), 32.0 * 4.0 * 37.0 * 37.0 * 1_280.0 * 2.0);
}

#[test]
fn adapters_of_a_tower_keep_a_mask_for_each_matrix_that_reads_its_width() {
    let mut scenario = catalogue::model("llava-1.5-7b").expect("listed").apply(qwen());
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.adapter = Adapter::Lora;
    scenario.recipe.targets = AdapterTargets::All;
    scenario.recipe.adapter_dropout = Switch::On;
    scenario.recipe.images.tower = TowerTraining::Adapters;
    scenario.recipe.batch = 1;
    // Queries, keys, values, output and the first matrix of the feed-forward block, a byte each, in 23 of 24 layers of CLIP,
    // over 24² + 1 vectors of 1,024 numbers.
    let masks = at(&estimate(&scenario), "Tower: masks of the adapters’ dropout", "loss, forward");
    exactly(masks, 5.0 * 23.0 * 577.0 * 1_024.0);
}

#[test]
fn the_adapter_of_llama_4_s_tower_is_kept_in_the_type_of_the_tower() {
    let mut scenario = qwen();
    scenario.model.vision = Vision { tower: Tower::Llama4, side: 336, ..tower("llama4") };
    scenario.recipe.precision = Precision::Fp32;
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.images =
        Images { tower: TowerTraining::Trained, height: 336, width: 336, ..scenario.recipe.images };
    scenario.recipe.batch = 1;
    // One tile of 24² patches is 144 tokens of 4,096 numbers: what two activations and a matrix read, 4 bytes each.
    let kept = at(&estimate(&scenario), "Tower: inside the adapter", "loss, forward");
    exactly(kept, 3.0 * 4.0 * 144.0 * 4_096.0);
}

#[test]
fn a_tower_whose_only_layer_is_not_used_has_no_entries_of_layers() {
    // LLaVA takes what goes into the last layer.
    let mut scenario = catalogue::model("llava-1.5-7b").expect("listed").apply(qwen());
    scenario.model.vision.layers = 1;
    scenario.recipe.images.tower = TowerTraining::Trained;
    scenario.recipe.recomputation = Recomputation::None;
    let estimate = estimate(&scenario);
    let empty = estimate.entries.iter().filter(|entry| entry.name.starts_with("Tower: ") && entry.bytes.get() == 0.0);
    assert_eq!(empty.map(|entry| entry.name).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn a_model_without_images_has_the_instants_of_text_and_no_tower() {
    let text = catalogue::model("qwen2.5-7b").expect("listed").apply(Scenario::workshop());
    let mut with = text;
    with.recipe.images = Images { count: 9, tower: TowerTraining::Trained, ..Images::ONE };
    assert_eq!(estimate(&text).entries, estimate(&with).entries);
    assert!(estimate(&text).instants.iter().all(|instant| !instant.name.contains("tower")));
}

#[test]
fn lower_max_pixels_are_offered_and_the_largest_that_fit() {
    let mut scenario = qwen();
    let images = &mut scenario.recipe.images;
    (images.tower, images.count) = (TowerTraining::Trained, 4);
    (images.height, images.width) = (4_000, 3_000);
    (scenario.recipe.batch, scenario.recipe.sequence) = (1, 65_536);
    // A device between what small images need and what these do.
    let peak = |scenario: &Scenario| estimate(scenario).peak().bytes.gib();
    let small = scenario.with_number(Field::MaxPixels, 1e5).expect("in range");
    let between = ((peak(&small) + peak(&scenario)) / 2.0).floor();
    scenario = scenario.with_number(Field::Memory, between).expect("in range");
    let fits = |scenario: &Scenario| estimate(scenario).peak().bytes <= scenario.usable();
    assert!(!fits(&scenario), "the case needs one that does not fit");
    let change = ranked(&scenario, &[]).into_iter().map(|lever| lever.change);
    let offered: Vec<_> = change.filter(|change| matches!(change, Change::Number(Field::MaxPixels, _))).collect();
    let [Change::Number(_, pixels)] = offered[..] else { panic!("{offered:?}") };
    let with = |pixels: f64| scenario.with_number(Field::MaxPixels, pixels).expect("in range");
    assert!(fits(&with(pixels)), "{pixels}");
    assert!(b_max(&with(pixels)).batch().is_some());
    // A tenth more pixels are no longer those that fit.
    assert!(!fits(&with((pixels * 1.1).floor())), "{pixels}");
}

/// A scenario with a tower, from rows of the catalogue.
fn any_seeing() -> impl Strategy<Value = Scenario> {
    const ROWS: &[&str] =
        &["qwen2.5-vl-7b", "qwen2-vl-7b", "llava-1.5-7b", "llava-next-mistral-7b", "gemma-3-4b-images"];
    (any_scenario::any_scenario(), select(ROWS)).prop_map(|(mut scenario, row)| {
        scenario.model = catalogue::model(row).expect("listed").model;
        scenario.method = bmax::Method::Ledger;
        scenario
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_step_with_images_is_a_straight_line_in_the_micro_batch(scenario in any_seeing()) {
        let at = |batch| {
            let mut with = scenario;
            with.recipe.batch = batch;
            let estimate = estimate(&with);
            (0..estimate.instants.len()).map(|position| estimate.total_at(position).get()).collect::<Vec<_>>()
        };
        for ((one, two), three) in at(1).into_iter().zip(at(2)).zip(at(3)) {
            prop_assert!((three - 2.0 * two + one).abs() <= 1e-9 * three, "{}", link::encode(&scenario));
        }
    }

    #[test]
    fn freezing_the_tower_never_takes_more_in_the_update(scenario in any_seeing()) {
        let mut frozen = scenario;
        frozen.recipe.images.tower = TowerTraining::Frozen;
        let update = |scenario: &Scenario| total(&estimate(scenario), "optimizer step");
        prop_assert!(at_least(update(&scenario), update(&frozen)), "{}", link::encode(&scenario));
    }

    #[test]
    fn more_images_never_take_less(scenario in any_seeing(), more in 1_u32..4) {
        let mut with = scenario;
        with.recipe.images.count = scenario.recipe.images.count.saturating_add(more).min(4_096);
        prop_assume!(scenario.recipe.images.count > 0);
        prop_assert!(at_least(peak(&with), peak(&scenario)), "{}", link::encode(&scenario));
    }

    #[test]
    fn every_mend_of_a_scenario_with_images_leads_to_one_without_conflicts(scenario in any_seeing()) {
        let mut mended = scenario;
        for _ in 0..40 {
            let Some(conflict) = mended.conflicts().first().cloned() else { break };
            mended = conflict.mend.apply(mended);
        }
        prop_assert_eq!(mended.conflicts(), []);
    }

    #[test]
    fn every_entry_of_a_step_with_images_is_finite_and_has_a_source(scenario in any_seeing()) {
        for entry in estimate(&scenario).entries {
            prop_assert!(entry.bytes.get().is_finite() && entry.bytes.get() >= 0.0, "{}", entry.name);
            prop_assert!(entry.source.url.starts_with("https://"));
        }
    }
}
