//! What holds for every scenario inside the declared ranges.

use bmax::compare::{Input, changes, compare};
use bmax::{
    Adapter, Answer, AttentionKernel, Bucket, Bytes, Choice, Engine, Field, LossHead, Method, Recomputation, Scenario,
    ZeroStage, b_max, catalogue, counters, estimate, largest_model, least_memory_mib, link, longest_sequence, number,
    range, search, setting,
};
use proptest::prelude::*;
use proptest::sample::select;

#[path = "support/any_scenario.rs"]
mod any_scenario;

use any_scenario::{any_scenario, within};

/// Scenarios whose sizes can be compared: no more keys than queries, no more stages than layers, every stage as
/// large as the next. What is outside is named as a conflict and counted all the same.
fn sensible() -> impl Strategy<Value = Scenario> {
    any_scenario().prop_map(|mut scenario| {
        scenario.model.kv_heads = scenario.model.kv_heads.min(scenario.model.heads);
        scenario.cluster.pipeline_parallel = scenario.cluster.pipeline_parallel.min(scenario.model.layers);
        scenario.cluster.first_stage_layers = 0;
        scenario.cluster.last_stage_layers = 0;
        scenario
    })
}

/// The same by the ledger.
fn any_counted() -> impl Strategy<Value = Scenario> {
    sensible().prop_map(|scenario| Scenario { method: Method::Ledger, ..scenario })
}

fn peak(scenario: &Scenario) -> f64 {
    estimate(scenario).peak().bytes.get()
}

/// Where dense layers and layers with experts stand beside each other, the layer that runs backward is
/// counted as one of the wider kind, and which kind that is may change as a size grows.
fn one_kind_of_layer(scenario: &Scenario) -> bool {
    scenario.model.experts.count == 0 || scenario.model.experts.dense_layers == 0
}

/// Sums of the same terms in another order may differ in the last bits.
fn at_least(larger: f64, smaller: f64) -> bool {
    larger >= smaller * (1.0 - 1e-12)
}

/// What ZeRO 3 may cost and no weaker stage does: the weights it gathers, or keeps for a group, are a copy beside
/// the shards, and they come and go, which leaves gaps. A model that is little more than one layer gathers all it has and gains nothing.
fn beside_the_shards(scenario: &Scenario) -> f64 {
    let weights = |gathered: bool| -> f64 {
        let all = estimate(scenario).entries.into_iter().filter(|entry| entry.bucket == Bucket::Parameters);
        let is_copy =
            |name: &str| ["Gathered", "Weights, resharded", "16-bit copy"].iter().any(|of| name.starts_with(of));
        all.filter(|entry| is_copy(entry.name) == gathered).map(|entry| entry.bytes.get()).sum()
    };
    let gathered = weights(true);
    let gaps = scenario.device.fragmentation.get() / 100.0;
    if gathered > 0.0 { weights(false) + gaps * gathered } else { 0.0 }
}

/// The bytes of one entry, over all instants; 0 without it.
fn entry(scenario: &Scenario, name: &str) -> f64 {
    estimate(scenario).entries.into_iter().filter(|entry| entry.name == name).map(|entry| entry.bytes.get()).sum()
}

/// A parameter's name.
fn any_key() -> impl Strategy<Value = &'static str> {
    let keys: Vec<&'static str> = link::parameters().iter().map(|parameter| parameter.key).collect();
    select(keys)
}

/// What people and programs write for a number or a word, right and wrong.
fn any_value() -> impl Strategy<Value = String> {
    let words: Vec<String> =
        setting::ALL.iter().flat_map(|word| word.options).map(|option| option.key.to_owned()).collect();
    let rows = catalogue::MODELS.iter().map(|row| row.slug).chain(catalogue::DEVICES.iter().map(|row| row.slug));
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    prop_oneof![
        4 => select(Field::ALL).prop_flat_map(within).prop_map(number::plain),
        1 => (1_u64..200_000_000).prop_map(|thousandths| number::grouped(thousandths as f64 / 1000.0)),
        1 => "[0-9]{1,20}([.][0-9]{0,20})?(e-?[0-9]{1,3})?",
        3 => select(words),
        2 => select(rows),
        1 => ".{0,12}",
    ]
}

/// A query of known parameters with any values, some of them several times.
fn any_query() -> impl Strategy<Value = String> {
    prop::collection::vec((any_key(), any_value()), 0..24).prop_map(|pairs| query_of(&pairs))
}

fn query_of<K: AsRef<str>, V: AsRef<str>>(pairs: &[(K, V)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The parameters of the link that a scenario is written as.
fn written(scenario: &Scenario) -> Vec<(String, String)> {
    form_urlencoded::parse(link::encode(scenario).as_bytes()).into_owned().collect()
}

/// Any number of ways to write the same text in a query.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// Every byte by its number, in capitals.
    Capitals,
    /// Every byte by its number, in small letters.
    Small,
    /// Only what has a meaning of its own in a query.
    Bare,
}

fn spelt(text: &str, spelling: Spelling) -> String {
    let byte = |byte: u8| match spelling {
        Spelling::Capitals => format!("%{byte:02X}"),
        Spelling::Small => format!("%{byte:02x}"),
        Spelling::Bare if b"&=%+#".contains(&byte) => format!("%{byte:02X}"),
        Spelling::Bare => char::from(byte).to_string(),
    };
    text.bytes().map(byte).collect()
}

/// That a link is written for a scenario which brings it back, and is written again as it was.
fn survives(scenario: &Scenario) -> Result<(), TestCaseError> {
    let query = link::encode(scenario);
    prop_assert!(query.len() < link::LONGEST);
    let read = link::decode(&query);
    prop_assert_eq!(&read.notices, &[], "{}", query);
    prop_assert_eq!(&read.scenario, scenario, "{}", query);
    prop_assert_eq!(link::encode(&read.scenario), query);
    Ok(())
}

#[test]
fn a_link_brings_back_every_model_on_every_device() {
    for model in catalogue::MODELS {
        for device in catalogue::DEVICES {
            let scenario = device.apply(model.apply(Scenario::default()));
            survives(&scenario).unwrap_or_else(|error| panic!("{} on {}: {error}", model.slug, device.slug));
        }
    }
}

#[test]
fn a_link_brings_back_every_word_and_both_ends_of_every_number_of_every_model() {
    for row in catalogue::MODELS {
        let start = row.apply(Scenario::default());
        for word in setting::ALL {
            for option in word.options {
                let mut scenario = start;
                assert!((word.set)(&mut scenario, option.key));
                survives(&scenario).unwrap_or_else(|error| panic!("{}: {error}", row.slug));
            }
        }
        for &field in Field::ALL {
            for value in [field.bound().min, field.bound().max] {
                let scenario = start.with_number(field, value).expect("the ends are in range");
                survives(&scenario).unwrap_or_else(|error| panic!("{}: {error}", row.slug));
            }
        }
    }
}

#[test]
fn words_may_be_written_in_any_case_and_what_else_is_in_another_case_is_named() {
    for word in setting::ALL {
        for option in word.options {
            let read = link::decode(&format!("{}={}", word.key, option.key.to_uppercase()));
            assert_eq!((word.get)(&read.scenario), option.key);
            assert_eq!(read.notices, []);
        }
    }
    for parameter in link::parameters() {
        let read = link::decode(&format!("{}=1", parameter.key.to_uppercase()));
        assert_eq!(read.scenario, Scenario::default(), "{}", parameter.key);
        assert_eq!(read.notices.len(), 1, "{}", parameter.key);
    }
    for slug in catalogue::MODELS.iter().map(|row| row.slug).filter(|slug| *slug != slug.to_uppercase()) {
        let read = link::decode(&format!("model={}", slug.to_uppercase()));
        assert_eq!((read.scenario, read.notices.len()), (Scenario::default(), 1), "{slug}");
    }
}

#[test]
fn digits_of_other_scripts_and_invisible_marks_are_named_and_not_guessed_at() {
    // Full-width, Arabic-Indic, Devanagari and mathematical digits; superscripts; a Roman numeral; an emoji
    // with a digit in it; a number between marks that turn the direction of writing; a soft hyphen; a minus
    // that is none of ASCII's; a number with an accent, apart from its letter and together with it.
    let texts = [
        "１２",
        "١٢",
        "१२",
        "𝟏𝟐",
        "¹²",
        "Ⅻ",
        "1️⃣",
        "🦀",
        "\u{200f}12",
        "12\u{200e}",
        "\u{202e}21\u{202c}",
        "1\u{ad}2",
        "−12",
        "12\u{301}",
        "1é2",
        "1e\u{301}2",
    ];
    for text in texts {
        for &field in Field::ALL {
            let query = query_of(&[(field.bound().key, text), ("gpus", "64")]);
            let read = link::decode(&query);
            let expected = if field == Field::Gpus { 8 } else { 64 };
            assert_eq!(read.scenario.cluster.gpus, expected, "{text:?}");
            assert_eq!(
                read.scenario.number(field),
                link::decode(if expected == 64 { "gpus=64" } else { "" }).scenario.number(field)
            );
            assert!(!read.notices.is_empty(), "{text:?} for {}", field.bound().key);
        }
        for word in setting::ALL {
            let read = link::decode(&query_of(&[(word.key, text)]));
            assert_eq!((read.scenario, read.notices.len()), (Scenario::default(), 1), "{text:?} for {}", word.key);
        }
    }
    // The same name in two forms of Unicode is two names, and neither is one of ours.
    assert_eq!(link::decode("caf%C3%A9=1&cafe%CC%81=1").notices.len(), 2);
}

#[test]
fn no_mark_in_a_link_turns_around_what_a_message_says_of_it() {
    // What switches the direction of writing would also switch that of our own words around it.
    for mark in
        ['\u{202a}', '\u{202b}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2028}', '\u{7f}']
    {
        for query in [format!("s={mark}12"), format!("zero={mark}7"), format!("colour{mark}=1"), format!("v={mark}")] {
            for notice in link::decode(&query).notices {
                assert!(!notice.to_string().contains(mark), "{notice:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_scenario_in_range_has_a_finite_answer(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert!(entry.bytes.get().is_finite() && entry.bytes >= Bytes::ZERO, "{}", entry.name);
        }
        match b_max(&scenario) {
            Answer::Fits(room) => prop_assert!(room.peak.get().is_finite() && room.batch >= 1),
            Answer::Infeasible(reason) => prop_assert!(reason.over.get().is_finite() && reason.over > Bytes::ZERO),
        }
    }

    #[test]
    fn a_link_with_every_parameter_spelled_out_says_the_same(scenario in any_scenario(), own in any::<bool>()) {
        let mut scenario = scenario;
        if own {
            scenario.model.origin = "";
        }
        let whole = link::encode_whole(&scenario);
        prop_assert!(whole.len() <= link::LONGEST, "{} bytes", whole.len());
        let read = link::decode(&whole);
        prop_assert_eq!(&read.notices, &[]);
        prop_assert_eq!(read.scenario, scenario);
        for parameter in link::parameters() {
            let given = whole.split('&').filter(|pair| pair.split('=').next() == Some(parameter.key)).count();
            prop_assert_eq!(given, 1, "{}", parameter.key);
        }
    }

    #[test]
    fn buckets_add_up_to_the_total_at_every_instant(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for position in 0..estimate.instants.len() {
            let total = estimate.total_at(position).get();
            let parts: f64 = Bucket::ALL.iter().map(|bucket| estimate.bucket_at(*bucket, position).get()).sum();
            prop_assert!((total - parts).abs() <= total * 1e-12);
            prop_assert!(at_least(estimate.peak().bytes.get(), total));
        }
    }

    #[test]
    fn an_entry_is_the_value_of_the_formula_it_shows(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert_eq!(entry.bytes.get(), entry.formula.value(&entry.values(&estimate)));
        }
    }

    #[test]
    fn b_max_fits_and_one_sequence_more_does_not(scenario in any_scenario()) {
        let usable = scenario.usable().get();
        match b_max(&scenario) {
            Answer::Fits(room) => {
                prop_assert!(peak(&scenario.with_batch(room.batch)) <= usable * (1.0 + 1e-12));
                if !room.capped {
                    prop_assert!(at_least(peak(&scenario.with_batch(room.batch + 1)), usable));
                }
            }
            Answer::Infeasible(_) => prop_assert!(at_least(peak(&scenario.with_batch(1)), usable)),
        }
    }

    #[test]
    fn the_empirical_search_ends_at_b_max(scenario in any_scenario()) {
        let probes = search::by_running_out(&scenario);
        let last = probes.last().expect("it tries at least once");
        prop_assert_eq!(last.low, b_max(&scenario).batch().unwrap_or(0));
        prop_assert!(probes.len() <= 42, "{} attempts", probes.len());
    }

    #[test]
    fn memory_rises_with_batch_sequence_hidden_layers_heads_and_parameters(
        scenario in sensible(),
        field in select(&[Field::Batch, Field::Sequence, Field::Hidden, Field::Layers, Field::Heads, Field::Parameters]),
        factor in 1.0..16.0_f64,
    ) {
        prop_assume!(one_kind_of_layer(&scenario));
        let grown = (scenario.number(field) * factor).min(field.bound().max);
        let grown = if field.bound().whole { grown.floor() } else { grown };
        let larger = scenario.with_number(field, grown).expect("in range");
        prop_assert!(at_least(peak(&larger), peak(&scenario)), "{:?} to {}, {}", field, grown, link::encode(&scenario));
    }

    #[test]
    fn memory_rises_with_vocabulary_width_and_experts(
        scenario in any_counted(),
        field in select(&[
            Field::Vocabulary, Field::FeedForward, Field::KvHeads, Field::Experts, Field::Rank, Field::Norms,
            Field::Context, Field::Fragmentation, Field::Driver, Field::MicroBatches,
        ]),
        factor in 1.0..16.0_f64,
    ) {
        prop_assume!(one_kind_of_layer(&scenario));
        // The first expert turns a dense model into another one.
        prop_assume!(field != Field::Experts || scenario.model.experts.count >= scenario.model.experts.active);
        // PyTorch's interleaved schedule takes longer rounds where P does not divide the micro-batches.
        prop_assume!(field != Field::MicroBatches || scenario.cluster.virtual_stages == 1);
        let grown = (scenario.number(field) * factor).min(field.bound().max);
        let grown = if field.bound().whole { grown.floor() } else { grown };
        let larger = scenario.with_number(field, grown).expect("in range");
        prop_assert!(at_least(peak(&larger), peak(&scenario)), "{:?} to {}, {}", field, grown, link::encode(&scenario));
    }

    #[test]
    fn memory_never_rises_with_more_gpus(mut scenario in sensible()) {
        // The second GPU brings communication buffers; from then on more of them only share.
        let two_groups = (2 * scenario.cluster.group()).min(Field::Gpus.bound().max as u32);
        scenario.cluster.gpus = scenario.cluster.gpus.max(two_groups);
        prop_assume!(scenario.cluster.data_parallel() > 1);
        // A group that shares its weights keeps them as a copy of its own, which more groups do not make smaller.
        scenario.cluster.reshard = 0;
        // An expert that is whole on its GPU is never gathered; once it is divided, it is.
        prop_assume!(scenario.cluster.expert_parallel == 1 || scenario.cluster.data_parallel() > scenario.cluster.expert_parallel);
        // Experts are shared by as many GPUs as there are, so that more of them may share more.
        let more = (scenario.number(Field::Gpus) * 2.0).min(Field::Gpus.bound().max);
        let wider = scenario.with_number(Field::Gpus, more).expect("in range");
        prop_assert!(at_least(peak(&scenario), peak(&wider)), "{}", link::encode(&scenario));
    }

    #[test]
    fn memory_never_rises_with_the_zero_stage(mut scenario in sensible()) {
        // A group that shares its weights keeps them beside the layers that are gathered, which may be all.
        scenario.cluster.reshard = 0;
        for stages in ZeroStage::ALL.windows(2) {
            let [mut weaker, mut stronger] = [scenario; 2];
            weaker.cluster.zero = stages[0];
            stronger.cluster.zero = stages[1];
            // Every stage of DeepSpeed has buffers of its own.
            if scenario.cluster.engine == Engine::DeepSpeed {
                continue;
            }
            let spare = match stages[1] {
                ZeroStage::Stage3 => beside_the_shards(&stronger),
                // A layer's whole gradient lives beside its shard until the two are reduced, and with fp32 shards
                // the 16-bit copy lives beside them.
                ZeroStage::Stage2 => {
                    beside_the_shards(&stronger) + 1.5 * entry(&stronger, "Whole gradients and their reduction")
                }
                _ => 0.0,
            };
            prop_assert!(at_least(peak(&weaker) + spare, peak(&stronger)), "{:?}, {}", stages, link::encode(&scenario));
        }
    }

    #[test]
    fn memory_never_rises_with_stronger_recomputation(scenario in sensible()) {
        use Recomputation::{EveryK, Full, None, Operators, Selective};
        for (weaker, stronger) in [(None, Selective), (Selective, Operators), (Operators, Full), (None, EveryK)] {
            // A segment of a mixture of experts may hold more than its share of layers with experts.
            if stronger == EveryK && scenario.model.experts.count > 0 {
                continue;
            }
            // The layers of a segment run backward together, and with few tokens the first is where it is highest.
            if stronger == EveryK {
                let activations = |recomputation| {
                    let mut with = scenario;
                    with.recipe.recomputation = recomputation;
                    estimate(&with).bucket_at(Bucket::Activations, 1).get()
                };
                prop_assert!(at_least(activations(weaker), activations(stronger)), "{}", link::encode(&scenario));
                continue;
            }
            // What tensor parallelism has added up is kept by the choice of operators and by nothing else. That
            // choice also keeps what a frozen product puts out, which no backward pass reads.
            let frozen = scenario.recipe.adapter != Adapter::None;
            if stronger == Operators && (scenario.cluster.tensor_parallel > 1 || frozen) {
                continue;
            }
            // The input of the layer that is computed again is one more tensor; it is a gain from two layers on.
            if scenario.model.layers == 1 {
                continue;
            }
            let [mut more, mut less] = [scenario; 2];
            more.recipe.recomputation = weaker;
            less.recipe.recomputation = stronger;
            prop_assert!(at_least(peak(&more), peak(&less)), "{:?} {:?}, {}", weaker, stronger, link::encode(&scenario));
        }
    }

    #[test]
    fn what_costs_less_memory_by_its_nature_never_costs_more(scenario in any_counted()) {
        let with = |key: &str, word: &str| {
            let mut changed = scenario;
            let setting = setting::ALL.iter().find(|setting| setting.key == key).expect("a setting");
            assert!((setting.set)(&mut changed, word));
            peak(&changed)
        };
        for (key, more, less) in [
            ("kernels", "eager", "fused"),
            ("loss", "plain", "kernel"),
            ("loss", "kernel", "kernel-inplace"),
            ("optimizer", "adamw", "lion"),
            ("optimizer", "momentum", "sgd"),
            ("step", "foreach", "fused"),
            ("step", "loop", "fused"),
            ("dropout", "on", "off"),
            ("offload", "none", "optimizer"),
            ("offload", "optimizer", "both"),
            ("grad", "32", "16"),
            ("qk_norm", "head", "off"),
        ] {
            // DeepSpeed casts 16-bit gradients to fp32 for the step, beside what they were, and its optimizer for
            // fp32 sums, which is never on the host, is the only one without buckets.
            let buffered = matches!((key, more), ("grad", _) | ("offload", "none"))
                && scenario.cluster.engine == Engine::DeepSpeed;
            // A compiled loss in chunks makes more of one chunk, and is meant for many.
            if buffered || (key == "kernels" && scenario.recipe.loss == LossHead::Chunked) {
                continue;
            }
            prop_assert!(at_least(with(key, more), with(key, less)), "{}: {} against {}, {}", key, more, less, link::encode(&scenario));
        }
    }

    #[test]
    fn grouped_queries_take_no_more_than_one_key_for_each_query(scenario in any_counted()) {
        let mut each = scenario;
        each.model.kv_heads = each.model.heads;
        prop_assert!(at_least(peak(&each), peak(&scenario)));
    }

    #[test]
    fn flash_attention_takes_no_more_than_eager(scenario in any_counted()) {
        // Its row statistics are one number where eager attention keeps a row of scores, and its backward pass
        // adds gradients of the queries up in fp32, which weigh less than scores unless heads are as wide as the
        // sequence is long.
        prop_assume!(scenario.recipe.sequence > 8.max(4 * scenario.model.head_dim));
        let [mut eager, mut flash] = [scenario; 2];
        eager.recipe.attention = AttentionKernel::Eager;
        eager.recipe.recomputation = Recomputation::None;
        flash.recipe.attention = AttentionKernel::Flash;
        flash.recipe.recomputation = Recomputation::None;
        prop_assert!(at_least(peak(&eager), peak(&flash)), "{}", link::encode(&scenario));
    }

    #[test]
    fn safe_is_at_most_likely_and_likely_at_most_optimistic(scenario in any_counted()) {
        let range = range(&scenario);
        let [safe, likely, optimistic] =
            [range.safe, range.likely, range.optimistic].map(|answer| answer.batch().unwrap_or(0));
        prop_assert!(safe <= likely && likely <= optimistic, "{} {} {}, {}", safe, likely, optimistic, link::encode(&scenario));
        prop_assert_eq!(range.likely, b_max(&scenario));
    }

    #[test]
    fn counters_see_more_the_further_out_they_are(scenario in any_scenario()) {
        let seen = counters(&scenario);
        prop_assert!(seen.allocated <= seen.reserved && seen.reserved <= seen.device);
        prop_assert!(seen.device.get().is_finite());
    }

    #[test]
    fn every_conflict_can_be_mended(scenario in any_scenario()) {
        let mut at = scenario;
        for _ in 0..24 {
            let Some(conflict) = at.conflicts().into_iter().next() else { return Ok(()) };
            prop_assert!(!conflict.message.is_empty());
            let mended = conflict.mend.apply(at);
            prop_assert!(mended != at, "{}", conflict.message);
            at = mended;
        }
        prop_assert!(at.conflicts().is_empty(), "{:?}", at.conflicts());
    }

    #[test]
    fn inverse_questions_agree_with_the_ledger(scenario in sensible()) {
        let batch = scenario.recipe.batch;
        let fits = |scenario: &Scenario| peak(scenario) <= scenario.usable().get() * (1.0 + 1e-12);
        if let Some(sequence) = longest_sequence(&scenario, batch) {
            let mut at = scenario;
            at.recipe.sequence = sequence;
            prop_assert!(fits(&at));
            // It is a multiple of the context-parallel size, and the next one is too long.
            let next = sequence + scenario.cluster.context_parallel;
            if f64::from(next) <= Field::Sequence.bound().max {
                at.recipe.sequence = next;
                prop_assert!(at_least(peak(&at), at.usable().get()));
            }
        }
        if let Some(memory) = least_memory_mib(&scenario, batch) {
            let mut at = scenario;
            at.device.memory_mib = memory;
            prop_assert!(fits(&at));
        }
        if let Some(model) = largest_model(&scenario, batch) {
            let at = Scenario { model, ..scenario };
            prop_assert!(fits(&at));
        }
    }

    #[test]
    fn the_differences_of_a_comparison_add_up((before, after) in (any_scenario(), any_scenario())) {
        let comparison = compare(&before, &after);
        // To the last bit in the order of the buckets, and nearly so in every other order.
        let by_bucket: f64 = comparison.buckets.iter().map(|bucket| bucket.delta.get()).sum();
        prop_assert_eq!(by_bucket.to_bits(), comparison.delta.get().to_bits());
        let by_entry: f64 = comparison.entries.iter().map(|entry| entry.delta.get()).sum();
        let peaks = (comparison.before.peak.bytes.get(), comparison.after.peak.bytes.get());
        let size = peaks.0.max(peaks.1);
        for sum in [by_entry, peaks.1 - peaks.0] {
            prop_assert!((sum - by_bucket).abs() <= 1e-11 * size, "{} {}", sum, by_bucket);
        }
        for (part, peak) in [(0, peaks.0), (1, peaks.1)] {
            let of = |bucket: &bmax::compare::BucketChange| if part == 0 { bucket.before } else { bucket.after };
            let sum: f64 = comparison.buckets.iter().map(|bucket| of(bucket).get()).sum();
            prop_assert!((sum - peak).abs() <= 1e-11 * peak, "{} {}", sum, peak);
        }
        // What differs most comes first.
        prop_assert!(comparison.entries.is_sorted_by(|a, b| a.delta.get().abs() >= b.delta.get().abs()));
        prop_assert_eq!(comparison.before.answer, b_max(&before));
        prop_assert_eq!(comparison.after.peak, estimate(&after).peak());
    }

    #[test]
    fn a_comparison_the_other_way_round_has_the_other_signs((before, after) in (any_scenario(), any_scenario())) {
        let (there, back) = (compare(&before, &after), compare(&after, &before));
        for entry in &there.entries {
            let same = |other: &&bmax::compare::EntryChange| (other.name, other.bucket) == (entry.name, entry.bucket);
            let other = back.entries.iter().find(same).expect("an entry of either peak is in both");
            prop_assert_eq!((other.before, other.after), (entry.after, entry.before));
            prop_assert_eq!(other.delta.get(), -entry.delta.get());
        }
        prop_assert_eq!(there.entries.len(), back.entries.len());
    }

    #[test]
    fn a_scenario_does_not_differ_from_itself(scenario in any_scenario()) {
        let comparison = compare(&scenario, &scenario);
        prop_assert_eq!(comparison.changes, vec![]);
        prop_assert_eq!(comparison.delta.get(), 0.0);
        prop_assert!(comparison.entries.iter().all(|entry| entry.delta.get() == 0.0 && entry.before == entry.after));
    }

    #[test]
    fn every_input_that_differs_is_said_once((before, after) in (any_scenario(), any_scenario())) {
        let changes = changes(&before, &after);
        let mut said: Vec<&str> = Vec::new();
        for change in changes.iter().flat_map(|change| std::iter::once(change).chain(&change.brings)) {
            prop_assert_eq!(change.before, change.input.value(&before));
            prop_assert_eq!(change.after, change.input.value(&after));
            prop_assert!(change.before != change.after && !said.contains(&change.input.key()), "{}", change.input.key());
            said.push(change.input.key());
        }
        for input in [Input::Model, Input::Gpu].into_iter().chain(Input::each()) {
            prop_assert_eq!(said.contains(&input.key()), input.value(&before) != input.value(&after), "{}", input.key());
        }
    }

    #[test]
    fn a_link_brings_back_the_same_scenario(scenario in any_scenario()) {
        survives(&scenario)?;
    }

    #[test]
    fn what_any_query_was_read_as_is_written_as_a_link_that_means_the_same(query in any_query()) {
        survives(&link::decode(&query).scenario)?;
    }

    #[test]
    fn the_order_of_parameters_does_not_matter(
        (pairs, shuffled) in any_scenario()
            .prop_map(|scenario| written(&scenario))
            .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
    ) {
        let read = link::decode(&query_of(&shuffled));
        prop_assert_eq!(&read.notices, &[]);
        prop_assert_eq!(read.scenario, link::decode(&query_of(&pairs)).scenario, "{:?}", shuffled);
    }

    #[test]
    fn of_a_repeated_parameter_the_first_counts_and_it_is_named_once(
        scenario in any_scenario(), at in any::<prop::sample::Index>(), values in prop::collection::vec(any_value(), 1..4),
    ) {
        // The sign for what could not be decoded is taken for that, and named as damage.
        prop_assume!(values.iter().all(|value| !value.contains('\u{fffd}')));
        let pairs = written(&scenario);
        let key = at.get(&pairs).0.clone();
        let mut more = pairs.clone();
        more.extend(values.into_iter().map(|value| (key.clone(), value)));
        let read = link::decode(&query_of(&more));
        prop_assert_eq!(read.scenario, scenario);
        prop_assert_eq!(read.notices, vec![link::Notice::Repeated(key)]);
    }

    #[test]
    fn however_a_link_is_percent_encoded_it_means_the_same(
        scenario in any_scenario(), spelling in select(&[Spelling::Capitals, Spelling::Small, Spelling::Bare][..]),
    ) {
        let pairs = written(&scenario);
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| spelt(key, spelling) + "=" + &spelt(value, spelling)).collect();
        let read = link::decode(&pairs.join("&"));
        prop_assert_eq!(read.notices, vec![]);
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn a_space_may_be_a_plus_or_encoded_or_itself_anywhere_around_a_value_and_between_thousands(
        scenario in any_scenario(), space in select(&["+", "%20", " ", "%C2%A0", "%E2%80%AF"][..]),
    ) {
        let pairs: Vec<_> = written(&scenario)
            .iter()
            .map(|(key, value)| match Field::from_key(key) {
                Some(_) => format!("{key}={space}{}{space}", number::with_commas(value).replace(',', space)),
                None => format!("{key}={space}{value}{space}"),
            })
            .collect();
        let read = link::decode(&pairs.join("&"));
        prop_assert_eq!(read.notices, vec![]);
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn of_a_link_that_is_too_long_everything_before_the_limit_holds(
        scenario in any_scenario(), rest in "[&=%a-z0-9é🦀]{1,8}",
    ) {
        let query = link::encode(&scenario);
        let long = format!("{query}&x={}", rest.repeat(link::LONGEST));
        let read = link::decode(&long);
        prop_assert_eq!(&read.notices[0], &link::Notice::TooLong(long.len()));
        // What follows cannot repeat a parameter with effect, and may only be unknown or damaged.
        prop_assert_eq!(read.scenario, scenario);
    }

    #[test]
    fn no_query_panics_and_every_one_gives_a_scenario_in_range(query in "(.|[&=%?+]){0,200}") {
        let read = link::decode(&query);
        for &field in Field::ALL {
            prop_assert!(field.check(read.scenario.number(field)).is_ok());
        }
    }

    #[test]
    fn no_value_of_a_known_parameter_panics(
        field in select(Field::ALL), value in "(\\PC|[0-9eE.,+-]){0,40}",
    ) {
        let read = link::decode(&format!("{}={value}", field.bound().key));
        prop_assert!(field.check(read.scenario.number(field)).is_ok());
    }

    #[test]
    fn a_number_with_a_unit_behind_it_is_that_many_of_the_unit(count in 1_u32..4_000, space in select(&["", " ", "\u{a0}"][..])) {
        let read = |field: Field, unit: &str| field.read(&format!("{count}{space}{unit}"));
        let count = f64::from(count);
        for (field, unit, one) in [
            (Field::Sequence, "k", 1024.0),
            (Field::Sequence, "K tokens", 1024.0),
            (Field::Positions, "k", 1024.0),
            (Field::GlobalBatch, "k", 1e3),
            (Field::Parameters, "B", 1.0),
            (Field::Memory, "GB", 1.0),
            (Field::Memory, "GiB", 1.0),
        ] {
            prop_assert_eq!(read(field, unit), Ok(count * one), "{:?} {}", field, unit);
        }
        // Division rounds once, and so do the digits when they are read together with the power of ten.
        prop_assert_eq!(read(Field::Parameters, "M"), Ok(count / 1e3));
        prop_assert_eq!(read(Field::GlobalBatch, "k sequences").is_err(), true);
        let with = Scenario::default().with_text(Field::GlobalBatch, &format!("{count}k tokens")).expect("in range");
        prop_assert_eq!(f64::from(with.goal.global_batch), count * 1e3);
    }

    #[test]
    fn what_is_written_for_any_value_in_any_unit_is_read_as_it_was(field in select(Field::ALL), at in 0.0..1.0_f64) {
        let bound = field.bound();
        let value = bound.min + at * (bound.max - bound.min);
        let value = if bound.whole { value.floor() } else { (value * 1024.0).floor() / 1024.0 };
        for written in [number::plain(value), number::grouped(value), format!("{} {}", number::grouped(value), bound.unit)] {
            prop_assert_eq!(field.read(&written), Ok(value), "{}", written);
        }
    }

    #[test]
    fn the_search_finds_the_last_that_fits(limit in 1_u32..100_000, guess in any::<u32>(), last in 0_u32..100_000) {
        let found = search::largest(limit, guess, |n| n <= last);
        prop_assert_eq!(found, last.min(limit));
    }
}
