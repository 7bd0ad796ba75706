//! The starting points of the first page: each fits, its link says what it is, and its card says what the estimator
//! answers.

use std::collections::BTreeSet;

use bmax::course::networks::{Named, Network, Setup, presets, room};
use bmax::starts::{STARTS, Start};
use bmax::{Adapter, TaskKind, b_max, catalogue, link, range::range};

fn start(id: &str) -> &'static Start {
    STARTS.iter().find(|start| start.id == id).expect("a start of this name")
}

#[test]
fn every_start_opens_at_its_largest_micro_batch_and_fits_even_where_the_unknowns_turn_out_badly() {
    for start in &STARTS {
        let scenario = start.scenario();
        let range = range(&scenario);
        assert_eq!(range.likely.batch(), Some(scenario.recipe.batch), "{}", start.id);
        assert!(range.safe.batch() >= Some(1), "{}", start.id);
        assert_eq!(scenario.conflicts(), [], "{}", start.id);
    }
}

#[test]
fn the_link_of_a_start_is_read_without_a_notice_and_written_again_as_it_stands() {
    for start in &STARTS {
        let read = link::decode(start.query);
        assert_eq!(read.notices, [], "{}", start.id);
        assert_eq!(link::encode(&read.scenario), start.query, "{}", start.id);
        let query = start.address();
        let query = query.split_once('?').expect("a query").1;
        assert_eq!(
            link::decode(query.split('#').next().unwrap_or_default()).scenario,
            start.scenario(),
            "{}",
            start.id
        );
    }
}

#[test]
fn a_card_says_what_the_estimator_answers() {
    for start in STARTS.iter().filter(|start| start.network.is_none()) {
        let most = b_max(&start.scenario()).batch().expect("it fits");
        let least = range(&start.scenario()).safe.batch().expect("it is safe");
        let unit = start.scenario().unit();
        let counted = if most == 1 { unit.one() } else { unit.many() };
        let said = if least < most { format!("{least} to {most} {counted}") } else { format!("{most} {counted}") };
        assert_eq!(start.answer(), said, "{}", start.id);
    }
    assert!(start("grpo").answer().ends_with(" completions"));
    assert!(start("lora").answer().ends_with(" sequences"));
}

#[test]
fn the_card_of_images_says_what_the_list_of_layers_answers() {
    let start = start("images");
    // Each piece is computed again, and nothing but the U-Net is in memory.
    let network = Network::read(presets::SDXL);
    let fit = network.fit(&Setup::of(&start.scenario()), 1, room(&start.scenario()));
    assert_eq!(start.answer(), bmax::format::examples(fit.batch.expect("it fits")) + " images");
    let word = start.network.expect("a list of layers");
    assert_eq!(Named::read(word).map(|named| (named.text(), named.word())), Some((presets::SDXL.into(), word.into())));
    assert_eq!(start.address(), format!("networks/?network={word}&{}#network", start.query));
}

#[test]
fn a_card_names_the_model_and_the_gpus_of_its_link() {
    for start in &STARTS {
        let (scenario, with) = (start.scenario(), start.with.replace('\u{a0}', " "));
        let (device, edited) = catalogue::device_row_of(&scenario).expect("a GPU of the list");
        let name = with.split(", ").nth(1).expect("GPUs");
        let gpu = name.split(" × ").last().expect("a GPU");
        assert!(device.name.starts_with(gpu) && !edited, "{}: {}", start.id, device.name);
        let counted = name.split_once(" × ").map_or(1, |(count, _)| count.parse().expect("a number"));
        assert_eq!(scenario.cluster.gpus, counted, "{}", start.id);
        if start.network.is_none() {
            let (model, edited) = catalogue::model_row_of(&scenario).expect("a model of the list");
            assert_eq!((with.split(", ").next(), edited), (Some(model.name), false), "{}", start.id);
        }
    }
}

#[test]
fn each_start_is_what_its_name_says() {
    let gib = |id: &str| start(id).scenario().device.memory.gib().round();
    assert_eq!((start("lora").scenario().recipe.adapter, gib("lora")), (Adapter::Lora, 24.0));
    assert_eq!((start("qlora").scenario().recipe.adapter, gib("qlora")), (Adapter::Qlora, 48.0));
    assert_eq!((start("full").scenario().recipe.adapter, gib("full")), (Adapter::None, 80.0));
    assert_eq!(start("grpo").scenario().task.kind, TaskKind::Grpo);
    assert!(start("pretrain").scenario().recipe.adapter == Adapter::None);
    let ids: BTreeSet<&str> = STARTS.iter().map(|start| start.id).collect();
    assert_eq!(ids.len(), STARTS.len());
}
