//! A query string as a scenario.

use super::versus;
use super::{Change, Decoded, MAX_QUERY_BYTES, Notice, OWN, Pinned, UNKNOWN, VERSION, Words, is_parameter};
use crate::bounds::excerpt;
use crate::{
    BatchUnit, Choice, Engine, Field, Fp8, InputError, InputErrorKind, Method, Origin, Percent, Precision,
    Recomputation, Scenario, Switch,
    catalogue::{self, AsUsual},
    input::Input,
    setting::{self, Named, Setting},
};

/// How many words that name nothing are compared with what there is ([`Notice::Unknown`]).
pub(super) const COMPARED: usize = 16;

/// What stands in for an absent parameter in links of `version`.
fn defaults_of(version: u32) -> Scenario {
    if version >= 4 {
        return Scenario::default();
    }
    let mut scenario = Scenario::workshop();
    if version == 1 {
        // Version 1 knew no ledger: a link that names no method meant the workshop's. The rest is written
        // out, so that no later default changes what such a link says.
        scenario.method = Method::Workshop;
        scenario = catalogue::model("7b").map_or(scenario, |row| row.apply(scenario));
        scenario = catalogue::device("a100-80").map_or(scenario, |row| row.apply(scenario));
        let numbers = [
            (Field::Sequence, 2_048.0),
            (Field::Batch, 3.0),
            (Field::Gpus, 8.0),
            (Field::TensorParallel, 1.0),
            (Field::Headroom, 10.0),
            (Field::GlobalBatch, 256.0),
            (Field::ComparisonGpus, 64.0),
        ];
        for (field, value) in numbers {
            scenario = scenario.with_number(field, value).unwrap_or(scenario);
        }
        for (key, word) in [
            ("precision", "bf16"),
            ("recompute", "selective"),
            ("dropout", "on"),
            ("zero", "3"),
            ("sp", "off"),
            ("unit", "sequences"),
            ("chart_recompute", "full"),
        ] {
            if let Some(setting) = Setting::from_key(key) {
                scenario = setting.read(word, scenario).unwrap_or(scenario);
            }
        }
    }
    if version < 3 {
        // Until version 3 no model brought its own dropout and recomputation, and fragmentation was 5 % whatever
        // the allocator.
        scenario.recipe.dropout = Switch::On;
        scenario.recipe.recomputation = Recomputation::Selective;
        scenario.device.fragmentation = Percent::new(5.0);
    }
    scenario
}

/// Reads a query string, with or without its question mark. It never fails: what cannot be used is
/// reported and its default stands in.
pub fn decode(query: &str) -> Decoded {
    decode_with(query, None)
}

/// Reads a query string that refines `own_model`, if there is one, instead of a row of the model list.
pub fn decode_with(query: &str, own_model: Option<AsUsual>) -> Decoded {
    decode_query(query, own_model, None)
}

/// Reads a query string that changes what it names in `scenario` and leaves the rest as it is, but that the largest
/// micro-batch stays the largest ([`Scenario::then`]); without a scenario it is the same as [`decode`].
pub fn decode_onto(scenario: Option<&Scenario>, query: &str) -> Decoded {
    decode_query(query, None, scenario)
}

// One copy for all callers: it is a large part of the page.
#[inline(never)]
fn decode_query(query: &str, own_model: Option<AsUsual>, onto: Option<&Scenario>) -> Decoded {
    let mut notices = Vec::new();
    let pairs = pairs(query.strip_prefix('?').unwrap_or(query), &mut notices);
    read(&pairs, own_model, onto, notices)
}

/// Reads parameters that came in another shape than a query, each name once, by the rules of links.
pub fn decode_pairs(pairs: &[(String, String)], own_model: Option<AsUsual>) -> Decoded {
    read(pairs, own_model, None, Vec::new())
}

pub(super) fn read(
    pairs: &[(String, String)],
    own_model: Option<AsUsual>,
    onto: Option<&Scenario>,
    mut notices: Vec<Notice>,
) -> Decoded {
    let value_of = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());

    let version = match value_of("v") {
        None => VERSION,
        Some(given) => {
            given.trim().parse().ok().filter(|version| (1..=VERSION).contains(version)).unwrap_or_else(|| {
                notices.push(Notice::Version(excerpt(given)));
                VERSION
            })
        }
    };
    // Catalogue rows come first, whatever the order in the link: single values refine them.
    let mut scenario = onto.copied().unwrap_or_else(|| defaults_of(version));
    if let Some(own) = own_model {
        scenario = match version {
            ..3 => Scenario { model: own.model, ..scenario },
            3 => own.apply(scenario).with_length_of(&scenario),
            _ => own.apply(scenario),
        };
        if value_of("model").is_some() {
            notices.push(Notice::OwnModel);
        }
    } else if let Some(given) = value_of("model") {
        // As words are, names are read in any case: those of the list have no capitals.
        match catalogue::model(&given.trim().to_ascii_lowercase()) {
            Some(row) if version < 3 => scenario.model = row.model,
            // Until version 4 no model brought its own length.
            Some(row) if version < 4 => scenario = row.apply(scenario).with_length_of(&scenario),
            Some(row) => scenario = row.apply(scenario),
            None if given.trim() == OWN => scenario.model.origin = Origin::Own,
            None => {
                // No other model answers for it.
                scenario.model.origin = Origin::Unknown;
                // A link says the word itself where that was said before.
                if given.trim() != UNKNOWN {
                    notices.push(Notice::UnknownModel(given.to_owned()));
                }
            }
        }
    }
    if let Some(given) = value_of("gpu") {
        match catalogue::device(given.trim()) {
            Some(row) => scenario = row.apply(scenario),
            None => {
                let (with, notice) = other_device(given, scenario);
                scenario = with;
                notices.push(notice);
            }
        }
    }
    // What brings a number comes before numbers; the loop below says what is wrong with it.
    if let Some(with) = value_of(setting::SEGMENTS.key).and_then(|given| setting::SEGMENTS.read(given, scenario).ok()) {
        scenario = with;
    }
    let row = value_of("model").is_some_and(|given| given.trim() != OWN);
    let word = |word: &Setting| value_of(word.key).and_then(|given| word.find(given.trim()));
    for before in setting::ALL.iter().filter(|word| version < word.since && value_of(word.key).is_none()) {
        if let Some(option) = before.before(&Named { row, word: &word }) {
            scenario = scenario.with_word(option);
        }
    }
    let follows = |key: &str| Input::from_key(key).is_some_and(Input::follows);
    for pair in pairs.iter().filter(|(key, _)| !follows(key)) {
        read_one(pair, value_of("unit"), &mut scenario, &mut notices);
    }
    if pairs.iter().any(|(key, value)| is_fp8(key, value, &scenario)) {
        if value_of(setting::FP8.key).is_none() {
            scenario.recipe.fp8 = usual_fp8(&scenario);
        }
        notices.push(Notice::Fp8(scenario.recipe.fp8.key()));
    }
    for &change in Change::ALL {
        let (setting, told) = (change.setting(), onto.is_some_and(|onto| change.concerns(onto)));
        let (counted, now) = (setting.get(&scenario), setting.get(&Scenario::default()));
        let stands_in = version < setting.since && value_of(setting.key).is_none() && counted != now;
        if stands_in && !told && change.concerns(&scenario) {
            notices.push(Notice::CountedAsBefore(change, counted));
        }
    }
    // What follows from the rest is read last, so that what stands in for it is known.
    if version >= 4 {
        scenario = onto.map_or_else(|| scenario.as_unsaid(), |before| before.then(scenario));
    }
    for pair in pairs.iter().filter(|(key, _)| follows(key)) {
        read_one(pair, value_of("unit"), &mut scenario, &mut notices);
    }
    let vs = pinned(pairs, version, &scenario, &mut notices);
    Decoded { scenario, vs, notices }
}

/// The scenarios to compare with. Each is read onto the whole of the first one, which nothing that is wrong in it can
/// change. Until version 4 a link had one.
fn pinned(pairs: &[(String, String)], version: u32, first: &Scenario, notices: &mut Vec<Notice>) -> Pinned {
    let most = if version < 4 { 1 } else { Pinned::MOST };
    let mut pinned = Pinned::NONE;
    for (at, (_, given)) in pairs.iter().filter(|(key, _)| key == versus::VS).enumerate() {
        if at == most {
            notices.push(Notice::TooManyVs(most));
            break;
        }
        pinned = pinned.with(versus::read(given, version, first, notices));
    }
    pinned
}

/// Reads one parameter into the scenario; what cannot be used is told. `unit` is that of the global batch, where it is given.
fn read_one((key, value): &(String, String), unit: Option<&str>, scenario: &mut Scenario, notices: &mut Vec<Notice>) {
    if let Some(field) = Field::from_key(key) {
        let read = field.typed(value).and_then(|typed| {
            beside(field, value, typed.unit, unit)?;
            Ok((scenario.with_typed(field, typed)?, typed))
        });
        match read {
            Ok((with, typed)) => {
                *scenario = with;
                if typed.in_gb {
                    notices.push(Notice::Gigabytes(field, excerpt(value.trim()), typed.value));
                }
            }
            Err(problem) => notices.push(Notice::Number(problem, scenario.number(field))),
        }
    } else if is_fp8(key, value, scenario) {
        scenario.recipe.precision = Precision::Bf16;
    } else if let Some(word) = Setting::from_key(key) {
        match word.read(value, *scenario) {
            // It was read before the numbers, some of which may be the reader's own by now.
            Ok(_) if *word == setting::SEGMENTS => {}
            Ok(with) => *scenario = with,
            Err(_) => {
                notices.push(Notice::Word { of: Words::Setting(word), given: value.clone(), used: word.get(scenario) })
            }
        }
    } else if !is_parameter(key) {
        let compared = notices.len() < COMPARED;
        notices.push(Notice::Unknown { key: key.clone(), value: excerpt(value), compared });
    }
}

/// Whether fp8 is given as a training precision, which is none: most of a step is in another type. On a GPU without fp8
/// the word goes on meaning nothing, as it did when links had no fp8.
fn is_fp8(key: &str, value: &str, scenario: &Scenario) -> bool {
    let capability = scenario.device.capability;
    let has = capability == 0 || capability >= Fp8::TeDelayed.capability();
    has && key == setting::PRECISION.key && value.trim().eq_ignore_ascii_case("fp8")
}

/// What Transformer Engine takes where nothing is said (`get_default_fp8_recipe` in
/// transformer_engine/pytorch/quantization.py, d0067d0da6cb), and torchtitan of torchao.
fn usual_fp8(scenario: &Scenario) -> Fp8 {
    match scenario.device.capability {
        _ if scenario.cluster.engine == Engine::Torchtitan => Fp8::TorchaoTensorwise,
        100..120 => Fp8::TeMxfp8,
        120.. => Fp8::TeCurrent,
        _ => Fp8::TeDelayed,
    }
}

/// Refuses a number whose unit is also given as a parameter of its own, and is another one there.
fn beside(field: Field, text: &str, unit: Option<BatchUnit>, given: Option<&str>) -> Result<(), InputError> {
    match (unit, given.and_then(BatchUnit::from_key)) {
        (Some(unit), Some(other)) if unit != other => Err(InputError {
            input: Input::Number(field),
            given: excerpt(text.trim()),
            fault: InputErrorKind::OtherUnit,
        }),
        _ => Ok(()),
    }
}

/// A GPU by a name that is no row's: that of another one with as much memory, or the one that was there before.
fn other_device(given: &str, scenario: Scenario) -> (Scenario, Notice) {
    if let Some(row) = catalogue::called(given) {
        let notice = Notice::SameMemory { given: excerpt(given), used: row.slug, name: row.name };
        return (row.apply(scenario), notice);
    }
    let used = scenario.device.origin;
    let notice = match catalogue::not_counted(given) {
        Some(why) => Notice::NotCounted { given: excerpt(given), why, used },
        None => Notice::Word { of: Words::Gpu, given: given.to_owned(), used },
    };
    (scenario, notice)
}

/// The decoded pairs of a query in the order of the link, each name once, but for the scenarios to compare with.
pub(crate) fn pairs(query: &str, notices: &mut Vec<Notice>) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for raw in within_limit(query, notices).split('&').filter(|raw| !raw.is_empty()) {
        let Some((key, value)) = form_urlencoded::parse(raw.as_bytes()).next() else { continue };
        if is_damaged(raw) || key.contains('\u{fffd}') || value.contains('\u{fffd}') {
            notices.push(Notice::Encoding(excerpt(&key)));
        } else if key == versus::VS || !pairs.iter().any(|(name, _)| *name == key) {
            pairs.push((key.into_owned(), value.into_owned()));
        } else if !notices.contains(&Notice::Repeated(excerpt(&key))) {
            notices.push(Notice::Repeated(excerpt(&key)));
        }
    }
    pairs
}

/// Cuts an overlong query after the last parameter that is whole.
fn within_limit<'a>(query: &'a str, notices: &mut Vec<Notice>) -> &'a str {
    if query.len() <= MAX_QUERY_BYTES {
        return query;
    }
    notices.push(Notice::TooLong(query.len()));
    let mut cut = MAX_QUERY_BYTES;
    while !query.is_char_boundary(cut) {
        cut -= 1;
    }
    let kept = &query[..cut];
    &kept[..kept.rfind('&').unwrap_or(0)]
}

/// Whether a `%` is not followed by two hexadecimal digits.
fn is_damaged(raw: &str) -> bool {
    raw.split('%').skip(1).any(|after| {
        let digits = after.as_bytes();
        digits.len() < 2 || !digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}
