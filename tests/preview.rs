//! Which configurations have an address that shows a preview, and what stands there.

use bmax::catalogue::MODELS;
use bmax::link::Pinned;
use bmax::starts::STARTS;
use bmax::{Adapter, Field, Scenario, b_max, catalogue, link, preview};

const SITE: &str = "https://example.org/bmax/";

#[test]
fn every_model_has_a_configuration_without_conflicts_whose_address_is_its_own() {
    for row in MODELS {
        let scenario = preview::of_model(row);
        assert_eq!(scenario.conflicts(), [], "{}", row.slug);
        assert_eq!(preview::folder(&scenario, None), Some(format!("model/{}/", row.slug)));
        let read = link::decode(&link::encode(&scenario));
        assert_eq!((read.scenario, read.notices), (scenario, vec![]), "{}", row.slug);
    }
}

#[test]
fn every_start_of_a_language_model_has_its_address() {
    for start in &STARTS {
        let wanted = start.network.is_none().then(|| format!("start/{}/", start.id));
        assert_eq!(preview::folder(&start.scenario(), None), wanted, "{}", start.id);
    }
}

#[test]
fn a_figure_has_an_address_for_the_default_configuration_alone() {
    let default = Scenario::default();
    assert_eq!(preview::folder(&default, Some("sharding")).as_deref(), Some("figure/sharding/"));
    // Without a figure it is the first page with a model of the list.
    assert_eq!(preview::folder(&default, None).as_deref(), Some("model/llama-3.1-8b/"));
    let others = MODELS.iter().map(preview::of_model).chain(STARTS.iter().map(|start| start.scenario()));
    for scenario in others.filter(|scenario| *scenario != default) {
        assert_eq!(preview::folder(&scenario, Some("sharding")), None);
    }
}

#[test]
fn whatever_differs_in_one_input_has_no_address() {
    let llama = preview::of_model(catalogue::model("llama-3.1-8b").expect("listed"));
    for (field, value) in [(Field::Sequence, 4096.0), (Field::Batch, 1.0), (Field::Gpus, 16.0), (Field::Headroom, 5.0)]
    {
        let other = llama.with_number(field, value).expect("it is in range");
        assert_eq!(preview::folder(&other, None), None, "{field:?}");
    }
    let mut adapted = llama;
    adapted.recipe.adapter = Adapter::Lora;
    assert_eq!(preview::folder(&adapted, None), None);
}

#[test]
fn what_is_shared_from_another_page_or_beside_another_configuration_has_none() {
    let llama = preview::of_model(catalogue::model("llama-3.1-8b").expect("listed"));
    let address = |page: &str, vs: &Pinned| preview::address(SITE, page, &llama, vs, None);
    let whole = Some(format!("{SITE}model/llama-3.1-8b/"));
    assert_eq!(address(SITE, &Pinned::NONE), whole);
    assert_eq!(address(&format!("{SITE}index.html"), &Pinned::NONE), whole);
    assert_eq!(address(&format!("{SITE}gpus/"), &Pinned::NONE), None);
    assert_eq!(address(SITE, &Pinned::from(Scenario::workshop())), None);
}

/// The positions that the published configurations have; what they leave out is the default of their class.
#[test]
fn no_model_is_shown_with_longer_sequences_than_it_has_positions_for() {
    for (slug, key) in [
        ("gpt2", "n_positions"),
        ("t5-base", "n_positions"),
        ("flan-t5-xl", "n_positions"),
        ("whisper-small", "max_target_positions"),
    ] {
        let path = format!("{}/tests/config_files/{slug}.json", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_to_string(path).expect("it is committed");
        let config: serde_json::Value = serde_json::from_str(&file).expect("JSON");
        let scenario = preview::of_model(catalogue::model(slug).expect("listed"));
        assert_eq!(config[key], scenario.recipe.sequence, "{slug}");
    }
}

#[test]
fn a_sentence_counts_as_the_estimator_does() {
    let of = |query: &str| {
        let scenario = link::decode(query).scenario;
        preview::sentence(&scenario, &b_max(&scenario))
    };
    // 6 sequences is the answer that the text works out for the workshop's example.
    assert_eq!(of("v=3"), "6 sequences of 2,048 tokens fit on each GPU.");
    let scenario = link::decode("v=3&model=70b&gpus=1").scenario;
    assert_eq!(of("model=70b&gpus=1"), "Not even one sequence of 2,048 tokens fits on the GPU.");
    assert_eq!(preview::filled(&scenario).recipe.batch, 1);
    assert_eq!(preview::filled(&Scenario::workshop()).recipe.batch, 6);
}
