//! What links mean.

use super::decode::COMPARED;
use super::*;
use crate::*;

fn only_notice(query: &str) -> String {
    let read = decode(query);
    assert_eq!(read.notices.len(), 1, "{query}: {:?}", read.notices);
    read.notices[0].to_string()
}

#[test]
fn the_default_scenario_is_the_bare_version() {
    assert_eq!(encode(&Scenario::default()), "v=4");
    assert_eq!(decode("").scenario, Scenario::default());
    assert_eq!(decode("?v=4"), Decoded { scenario: Scenario::default(), vs: Pinned::NONE, notices: vec![] });
}

#[test]
fn only_what_differs_from_the_catalogue_row_is_written() {
    let read = decode("?layers=40&model=13b&hidden=4096&method=paper");
    assert_eq!(read.notices, []);
    assert_eq!(encode(&read.scenario), "v=4&model=13b&hidden=4096&method=paper");
}

#[test]
fn a_bad_number_names_field_and_range_and_the_rest_holds() {
    for bad in ["", "abc", "-1", "0", "NaN", "1e99", "2.5"] {
        let read = decode(&format!("?gpus=16&s={bad}&recompute=full"));
        assert_eq!(read.scenario.cluster.gpus, 16);
        assert_eq!(read.scenario.recipe.recomputation, Recomputation::Full);
        assert_eq!(read.scenario.recipe.sequence, Scenario::default().recipe.sequence);
        let message = read.notices[0].to_string();
        assert!(message.contains("Sequence length") && message.contains("1 to 4,194,304"), "{message}");
    }
}

#[test]
fn a_bad_word_names_the_parameter_and_what_it_takes() {
    let message = only_notice("?recompute=some");
    assert!(message.contains("none, selective, ops, every-k, kth-layer, block, full"), "{message}");
    let message = only_notice("?model=gpt-9");
    assert!(message.contains("gpt-9") && message.contains("Model"), "{message}");
}

#[test]
fn unknown_and_repeated_parameters_are_named() {
    assert!(only_notice("?colour=red").contains("colour"));
    assert!(only_notice("?s=1024&s=4096&s=1").contains("“s”"));
    assert_eq!(decode("?s=1024&s=4096").scenario.recipe.sequence, 1024);
}

#[test]
fn words_that_name_nothing_come_with_what_is_like_them() {
    for (query, expected) in [
        (
            "gpu=h100",
            "GPU: “h100” is not known (nearest: h100-80 of 80 GB, h100-pcie of 80 GB, h100-nvl of 94 GB); “gpu” takes a GPU of the list. It is set to h100-80.",
        ),
        ("grad=bf16", "Gradients kept in: “bf16” is not known (nearest: 16); “grad” takes 16, 32. It is set to 16."),
        ("zero=fsdp", "ZeRO stage: “fsdp” is not known (nearest: 3); “zero” takes 0, 1, 2, 3. It is set to 3."),
        ("seq_len=1", "“seq_len” is not a parameter (nearest: “s” for Sequence length); it is passed over."),
        (
            "checkpointing=on",
            "“checkpointing” is not a parameter (nearest: “recompute=full” for Activation recomputation); it is passed over.",
        ),
        ("colour=red", "“colour” is not a parameter; it is passed over."),
    ] {
        assert_eq!(only_notice(query), expected);
        assert_eq!(decode(query).scenario, Scenario::default(), "nothing that is offered is applied");
    }
    assert_eq!(
        only_notice("model=llama3-8b"),
        "Model: “llama3-8b” is not known (nearest: llama-3.1-8b); “model” takes a model of the list, and a config.json \
         says what any other is."
    );
}

#[test]
fn what_may_have_been_meant_is_offered_as_a_part_of_a_link() {
    let offers = |query: &str| decode(query).notices.iter().flat_map(Notice::offers).collect::<Vec<_>>();
    assert_eq!(offers("seqlen=4096"), ["s=4096"]);
    assert_eq!(offers("gradient_checkpointing=true"), ["recompute=full"]);
    assert_eq!(offers("model=llama3-8b"), ["model=llama-3.1-8b"]);
    assert_eq!(offers("colour=red"), [""; 0]);
}

#[test]
fn only_so_many_unknown_names_are_compared_with_what_there_is() {
    let query: String = (0..40).map(|i| format!("&seq_len{i}=1")).collect();
    let notices = decode(&query).notices;
    let offered = |notice: &&Notice| matches!(notice, Notice::Unknown { .. }) && !notice.nearest().is_empty();
    assert_eq!((notices.len(), notices.iter().filter(offered).count()), (40, COMPARED));
}

#[test]
fn letters_and_units_behind_a_number_are_read() {
    let read = decode("s=128k&params=8B&target=1e6 tokens&mem=81920 MiB&context=512MiB&b=2 sequences");
    assert_eq!(read.notices, []);
    let expected = "v=4&params=8&s=131072&b=2&mem=80&context=0.5&target=1000000&unit=tokens";
    assert_eq!(encode(&read.scenario), expected);
    assert_eq!(decode(expected).scenario, read.scenario);
}

#[test]
fn gigabytes_of_a_gpu_are_read_as_gibibytes_and_that_is_said() {
    assert_eq!(
        only_notice("mem=80GB"),
        "GPU memory: “80GB” is in GB, and “mem” takes GiB. It is read as 80 GiB, as GPUs are named; their drivers \
         report somewhat less."
    );
    assert_eq!(decode("mem=80 gb").scenario.number(Field::Memory), 80.0);
    assert_eq!(decode("mem=80 GiB").notices, []);
    assert!(only_notice("context=0.5GB").contains("“0.5GB” is not a number"));
}

#[test]
fn the_unit_of_a_target_is_that_of_the_number_unless_another_is_given() {
    let goal = |query: &str| {
        let read = decode(query);
        (read.scenario.goal.global_batch, setting::BATCH_UNIT.get(&read.scenario), read.notices.len())
    };
    assert_eq!(goal("target=4M tokens"), (4_000_000, "tokens", 0));
    assert_eq!(goal("target=512 sequences"), (512, "sequences", 0));
    assert_eq!(goal("target=512&unit=tokens"), (512, "tokens", 0));
    for query in ["target=4M tokens&unit=tokens", "unit=tokens&target=4M tokens"] {
        assert_eq!(goal(query), (4_000_000, "tokens", 0), "{query}");
    }
    for query in ["target=4M tokens&unit=sequences", "unit=sequences&target=4M tokens"] {
        assert_eq!(goal(query), (256, "sequences", 1), "{query}");
        assert!(only_notice(query).contains("is not in the unit that is given beside it"));
    }
    // A word that is none says nothing of the unit.
    for query in ["target=4M tokens&unit=pages", "unit=pages&target=4M tokens"] {
        assert_eq!(goal(query), (4_000_000, "tokens", 1), "{query}");
    }
}

#[test]
fn broken_percent_encoding_costs_only_its_own_parameter() {
    for broken in ["s=%", "s=%2", "s=%zz", "s=%ff%fe", "%zz=1"] {
        let read = decode(&format!("?{broken}&gpus=4"));
        assert_eq!(read.scenario.cluster.gpus, 4, "{broken}");
        assert!(matches!(read.notices[..], [Notice::Encoding(_)]), "{broken}: {:?}", read.notices);
    }
    assert_eq!(decode("?s=4%2C096").scenario.recipe.sequence, 4096);
    assert_eq!(decode("?s=4+096").scenario.recipe.sequence, 4096);
}

#[test]
fn a_hundred_kilobytes_are_cut_and_said_so() {
    let read = decode(&format!("?gpus=4&s=1{}", "0".repeat(100_000)));
    assert_eq!(read.scenario.cluster.gpus, 4);
    assert!(matches!(read.notices[..], [Notice::TooLong(_)]), "{:?}", read.notices);
    let read = decode(&format!("?gpus=4{}", "&é=1".repeat(30_000)));
    assert_eq!(read.scenario.cluster.gpus, 4);
}

#[test]
fn other_versions_are_read_with_a_warning() {
    for version in ["0", "5", "999", "one", "", "-1"] {
        let read = decode(&format!("?v={version}&gpus=4"));
        assert_eq!(read.scenario.cluster.gpus, 4);
        assert!(matches!(read.notices[..], [Notice::Version(_)]), "{version}");
        assert!(read.notices[0].to_string().contains(&format!("read as version {VERSION}")));
    }
}

#[test]
fn a_change_leaves_what_it_does_not_name() {
    let before = decode("v=4&model=13b&gpu=h100-80&gpus=64&s=4096&layers=41").scenario;
    let changed = |query| {
        let read = decode_onto(Some(&before), query);
        assert_eq!(read.notices, [], "{query}");
        encode(&read.scenario)
    };
    assert_eq!(changed("?s=8192"), "v=4&model=13b&layers=41&s=8192&gpus=64");
    assert_eq!(changed("s=2048&gpus=8"), "v=4&model=13b&layers=41");
    // Another row brings all of its own numbers, and the order of the parameters does not matter.
    assert_eq!(changed("layers=42&model=7b"), "v=4&model=7b&layers=42&s=4096&gpus=64");
    assert_eq!(changed(""), encode(&before));
    assert_eq!(changed("v=1"), encode(&before), "the version only says how words are meant");
    assert!(matches!(decode_onto(Some(&before), "s=0").notices[..], [Notice::Number(..)]));
}

#[test]
fn the_short_form_of_a_notice_promises_nothing() {
    let query = "?v=9&s=0&recompute=on&seq_len=1&mem=80GB&gpus=4&gpus=5&b=%zz";
    let notices = decode(query).notices;
    assert_eq!(notices.len(), 7, "{notices:?}");
    for notice in &notices {
        let (long, short) = (notice.to_string(), format!("{notice:#}"));
        assert!(long.starts_with(short.trim_end_matches('.')) && long.len() > short.len(), "{long}\n{short}");
        for promise in ["set to", "passed over", "is used", "is read"] {
            assert!(!short.contains(promise), "{short}");
        }
    }
}

#[test]
fn links_of_version_1_keep_their_meaning() {
    // Written when version 1 was new. Nothing here may ever change.
    let scenario = decode("?v=1&model=llama-3.1-8b&gpu=h100-80&s=8192").scenario;
    assert_eq!(scenario.method, Method::Workshop);
    assert_eq!(scenario.model.hidden, 4096);
    assert_eq!(scenario.model.parameters, 8_030_261_248);
    assert_eq!(scenario.device.memory, crate::Bytes::from_mib(81_559.0));
    assert_eq!(scenario.cluster.gpus, 8);
    assert_eq!(scenario.recipe.recomputation, Recomputation::Selective);
    assert_eq!(crate::b_max(&scenario).batch(), None);

    // The answers that such links gave when they were shared.
    let b_max = |query| crate::b_max(&decode(query).scenario).batch();
    assert_eq!(b_max("?v=1"), Some(3));
    assert_eq!(b_max("?v=1&recompute=full"), Some(117));
    assert_eq!(b_max("?v=1&method=paper&recompute=none"), Some(2));
    assert_eq!(b_max("?v=1&model=70b&gpus=64&recompute=full"), Some(22));
}

#[test]
fn links_of_version_3_begin_with_the_workshop_s_example() {
    // Written when version 4 was new. Nothing here may ever change.
    assert_eq!(decode("?v=3").scenario, Scenario::workshop());
    let asked = |query| {
        let Scenario { model, recipe, cluster, device, .. } = decode(query).scenario;
        (model_word(model.origin), device.origin, recipe.sequence, recipe.batch, cluster.gpus, recipe.recomputation)
    };
    let selective = Recomputation::Selective;
    assert_eq!(asked("?v=3"), ("7b", "a100-80", 2_048, 3, 8, selective));
    assert_eq!(asked("?v=3&model=llama-3.1-8b"), ("llama-3.1-8b", "a100-80", 2_048, 3, 8, Recomputation::Full));
    // A model brought no length of its own.
    assert_eq!(asked("?v=3&model=gpt2"), ("gpt2", "a100-80", 2_048, 3, 8, Recomputation::None));
    assert_eq!(asked("?v=3&gpus=1&vs=model:gpt2"), ("7b", "a100-80", 2_048, 3, 1, selective));
    let pinned = decode("?v=3&vs=gpus:16;s:512").vs.get(0).copied().expect("a second one");
    assert_eq!((pinned.cluster.gpus, pinned.recipe.sequence, pinned.recipe.batch), (16, 512, 3));
    assert_eq!((pinned.comparison.gpus, pinned.comparison.recomputation), (64, Recomputation::Full));
}

#[test]
fn a_link_that_says_no_micro_batch_means_the_largest_one() {
    for query in ["v=4", "model=gpt2", "gpu=rtx-4090&gpus=1&adapter=lora", "s=8192&method=paper", "model=own&layers=7"]
    {
        let scenario = decode(query).scenario;
        assert_eq!(b_max(&scenario).batch(), Some(scenario.recipe.batch), "{query}");
        assert!(!encode(&scenario).contains("&b="), "{query}");
        assert_eq!(decode(&format!("{query}&b=7")).scenario, scenario.with_batch(7), "{query}");
    }
    // Where nothing fits or nobody can say, it is one.
    for query in ["gpu=rtx-4090&gpus=1", "model=gpt2&s=4096", "model=nobody-knows"] {
        assert_eq!(decode(query).scenario.recipe.batch, 1, "{query}");
    }
}

#[test]
fn the_largest_micro_batch_stays_the_largest_until_it_is_said() {
    let largest = Scenario::default();
    let changed = decode_onto(Some(&largest), "s=8192").scenario;
    assert!(changed.is_at_largest() && changed.recipe.batch < largest.recipe.batch);
    assert_eq!(decode_onto(Some(&largest.with_batch(5)), "s=8192").scenario, changed.with_batch(5));
    assert_eq!(decode_onto(Some(&largest), "s=8192&b=5").scenario, changed.with_batch(5));
    assert_eq!(decode_onto(Some(&largest), "").scenario, largest);
}

#[test]
fn the_references_of_the_chart_are_like_the_scenario_until_they_are_said() {
    let references = |query: &str| {
        let scenario = decode(query).scenario;
        (scenario.comparison.gpus, scenario.comparison.recomputation)
    };
    assert_eq!(references("gpus=2&recompute=none"), (2, Recomputation::None));
    assert_eq!(references("gpus=2&chart_gpus=64"), (64, Recomputation::Full));
    let now = decode("gpus=2&chart_gpus=64").scenario;
    let changed = decode_onto(Some(&now), "gpus=4&recompute=none").scenario;
    assert_eq!((changed.comparison.gpus, changed.comparison.recomputation), (64, Recomputation::None));
    let said = decode_onto(Some(&Scenario::default()), "gpus=4&chart_gpus=8").scenario;
    assert_eq!((said.cluster.gpus, said.comparison.gpus), (4, 8));
    assert_eq!(
        encode(&decode("gpus=2&recompute=none&vs=gpus:4").vs.get(0).copied().expect("a second one")),
        "v=4&gpus=4&recompute=none"
    );
}

#[test]
fn a_model_of_no_row_stays_the_readers_own() {
    let mut scenario = Scenario::default();
    scenario.model.origin = crate::Origin::Own;
    scenario.model.layers = 7;
    let scenario = scenario.at_largest();
    let query = encode(&scenario);
    assert_eq!(query, "v=4&model=own&layers=7");
    assert_eq!(decode(&query), Decoded { scenario, vs: Pinned::NONE, notices: vec![] });
}

#[test]
fn a_link_of_version_1_is_written_anew_with_the_same_meaning() {
    for query in ["v=1", "v=1&model=13b&gpus=64", "v=1&method=paper&precision=fp32&tp=4&s=512"] {
        let read = decode(query).scenario;
        let written = encode(&read);
        assert!(written.starts_with("v=4&"), "{written}");
        assert_eq!(decode(&written).scenario, read, "{query}");
    }
}

#[test]
fn every_parameter_has_its_own_name() {
    let mut keys: Vec<_> = parameters().iter().map(|parameter| parameter.key).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

/// What a link says of the scenario to compare with, as a link of its own.
fn pinned(query: &str) -> String {
    let read = decode(query);
    assert_eq!(read.notices, [], "{query}");
    encode(&read.vs.get(0).copied().expect("a second one"))
}

#[test]
fn a_link_names_a_second_scenario_by_what_it_has_different() {
    assert_eq!(decode("?v=4&s=4096").vs, Pinned::NONE);
    assert_eq!(pinned("v=4&s=4096&vs="), "v=4&s=4096", "nothing is different");
    assert_eq!(pinned("v=4&s=4096&vs=zero:1"), "v=4&s=4096&zero=1");
    assert_eq!(pinned("vs=zero:1;s:8k&v=4&gpus=16"), "v=4&s=8192&gpus=16&zero=1", "the order does not matter");
    // Another row brings its own numbers, and single ones refine it.
    assert_eq!(pinned("model=13b&layers=50&vs=layers:12;model:7b"), "v=4&model=7b&layers=12");
    assert_eq!(pinned("segments=expandable&vs=segments:fixed"), "v=4", "the usual fragmentation comes along");
    // As a form or another program writes it.
    assert_eq!(pinned("?vs=s%3A4%2C096%3B+zero%3A1"), "v=4&s=4096&zero=1");
}

/// What a link pins, each as a link of its own, and what is said of the link.
fn all_pinned(query: &str) -> (Vec<String>, Vec<String>) {
    let read = decode(query);
    (read.vs.iter().map(encode).collect(), read.notices.iter().map(ToString::to_string).collect())
}

#[test]
fn a_link_names_up_to_three_scenarios_each_by_what_it_has_different_from_the_first() {
    let (pinned, said) = all_pinned("v=4&s=4096&vs=s:2048&vs=zero:1&vs=gpus:16");
    assert_eq!(pinned, ["v=4", "v=4&s=4096&zero=1", "v=4&s=4096&gpus=16"], "none onto another one");
    assert_eq!(said, [""; 0]);
    // What is wrong in one leaves the others.
    let (pinned, said) = all_pinned("v=4&vs=gpus:16&vs=s:-5&vs=zero:1");
    assert_eq!((pinned.len(), said.len()), (3, 1), "{said:?}");
    assert_eq!([&pinned[0], &pinned[1], &pinned[2]], ["v=4&gpus=16", "v=4", "v=4&zero=1"]);
    // The same once more is one.
    assert_eq!(all_pinned("v=4&vs=s:4096&vs=&vs=s:4k").0, ["v=4&s=4096", "v=4"]);
}

#[test]
fn more_scenarios_than_there_is_place_for_are_named_and_the_first_three_are_used() {
    let named = "“vs” is in the link more than 3 times; the first ones are used.";
    let (pinned, said) = all_pinned("v=4&vs=gpus:2&vs=gpus:4&zero=2&vs=gpus:16&vs=gpus:32&vs=gpus:64");
    assert_eq!(pinned, ["v=4&gpus=2&zero=2", "v=4&gpus=4&zero=2", "v=4&gpus=16&zero=2"]);
    assert_eq!(said, [named], "it is said once");
    let many = "&vs=".repeat(MAX_QUERY_BYTES / 4 - 1);
    assert_eq!(all_pinned(&format!("v=4{many}")), (vec!["v=4".to_owned()], vec![named.to_owned()]));
}

#[test]
fn a_link_of_an_older_version_names_one_scenario_and_says_that_a_further_one_is_not_used() {
    for version in 1..4 {
        let read = |rest: &str| decode(&format!("v={version}&gpus=4&vs=s:512{rest}"));
        let (one, two) = (read(""), read("&vs=s:1024"));
        assert_eq!((one.vs.len(), two.scenario, two.vs), (1, one.scenario, one.vs), "{version}");
        let said: Vec<_> = two.notices.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["“vs” is in the link more than once; the first value is used."], "{version}");
    }
}

#[test]
fn what_is_wrong_with_the_second_scenario_never_touches_the_first() {
    let first = decode("gpus=16&s=4096").scenario;
    for (vs, message) in [
        ("s:-5", "In “vs”: Sequence length: “-5” is too small; it takes a whole number from 1 to 4,194,304 tokens."),
        ("zero:9", "In “vs”: ZeRO stage: “9” is not known; “zero” takes 0, 1, 2, 3. It is set to 3."),
        ("colour:red", "In “vs”: “colour” is not a parameter; it is passed over."),
        ("4096", "In “vs”: “4096” is not a parameter with its value, as in s:512;zero:3; it is passed over."),
        ("s%3D1", "In “vs”: “s=1” is not a parameter with its value"),
        ("s:4096;s:1", "In “vs”: “s” is in the link more than once; the first value is used."),
        ("vs:s", "In “vs”: “vs:s” is not a parameter with its value"),
        ("v:1", "In “vs”: “v:1” is not a parameter with its value"),
        ("embed:chart", "In “vs”: “embed:chart” is not a parameter with its value"),
    ] {
        let read = decode(&format!("gpus=16&s=4096&vs={vs}"));
        assert_eq!((read.scenario, read.vs), (first, Pinned::from(first)), "{vs}");
        let said: Vec<_> = read.notices.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].starts_with(message), "{vs}: {said:?}");
        assert!(!format!("{:#}", read.notices[0]).contains("passed over"));
    }
    // No other model stands in for one that is not known, and the first has none of it.
    let read = decode("gpus=16&s=4096&vs=model:llama3-8b");
    assert_eq!((read.scenario, read.vs.get(0).map(|vs| vs.model.origin)), (first, Some(crate::Origin::Unknown)));
    let said: Vec<_> = read.notices.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("In “vs”: Model: “llama3-8b” is not known (nearest: llama-3.1-8b)"), "{said:?}");
    // The rest of it holds.
    let read = decode("vs=gpus:4;s:x;zero:1");
    assert_eq!(encode(&read.vs.get(0).copied().expect("a second one")), "v=4&gpus=4&zero=1");
    // Broken encoding costs the parameter, and the first scenario knows nothing of it.
    let read = decode("s=4096&vs=%zz");
    assert_eq!((encode(&read.scenario), read.vs, read.notices.len()), ("v=4&s=4096".to_owned(), Pinned::NONE, 1));
}

#[test]
fn a_second_scenario_cannot_make_the_reader_slow() {
    for part in ["a;", "seq_len:1;", ";", ":", "s:1;"] {
        let read = decode(&format!("s=4096&vs={}", part.repeat(MAX_QUERY_BYTES / part.len() - 8)));
        assert_eq!(read.scenario.recipe.sequence, 4096);
        let offered = |notice: &&Notice| matches!(notice, Notice::Vs(notice) if !notice.nearest().is_empty());
        assert!(read.notices.iter().filter(offered).count() <= COMPARED, "{part}");
    }
}

#[test]
fn the_second_scenario_is_read_by_the_version_of_the_link() {
    // Until version 3 no model brought its own recomputation.
    let of = |version| {
        decode(&format!("v={version}&vs=model:llama-3.1-8b")).vs.get(0).copied().expect("a second one").recipe
    };
    assert_eq!(of(2).recomputation, Recomputation::Selective);
    assert_eq!(of(3).recomputation, Recomputation::Full);
}

#[test]
fn that_the_count_has_changed_is_said_once_and_is_no_fault() {
    let told = |query: &str| {
        let notices = decode(query).notices;
        notices.iter().map(|notice| (notice.is_fault(), notice.to_string())).collect::<Vec<_>>()
    };
    let experts = "model=mixtral-8x7b&gpus=1&zero=0";
    // A link of today is counted as today, and an older one that names the words leaves no doubt.
    let named = "v=2&adapter=qlora&adapter_type=32&expert_matrices=stacked";
    for query in ["adapter=qlora", "v=4&adapter=qlora", "v=2", "v=2&method=paper&adapter=qlora", named] {
        assert_eq!(told(&format!("{experts}&{query}")), [], "{query}");
    }
    assert_eq!(
        told("v=2&adapter=qlora&precision=fp32"),
        [],
        "adapters beside fp32 are in fp32, and there are no experts"
    );
    let said = told(&format!("v=2&{experts}&adapter=qlora&adapter_type=16"));
    assert!(matches!(&said[..], [(false, text)] if text.starts_with("Experts beside adapters")), "{said:?}");
    // The second scenario is told of by itself, and not again what holds for both.
    let said = told(&format!("v=2&{experts}&vs=adapter:qlora"));
    assert!(said.len() == 2 && said.iter().all(|(_, text)| text.starts_with("In “vs”: ")), "{said:?}");
    let vs = decode(&format!("v=2&{experts}&vs=adapter:qlora")).vs.get(0).copied().expect("a second one").recipe;
    assert_eq!((vs.adapter_type, vs.expert_matrices), (AdapterType::Half, ExpertMatrices::Linear));
    assert_eq!(told(&format!("v=2&{experts}&adapter=qlora&vs=s:512")).len(), 2);
}
