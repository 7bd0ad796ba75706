//! The answer for programs: the part of the command line's report that the page can make without
//! carrying a JSON library, under the same names and with the same meaning.
//!
//! It has `link`, `method`, `answer`, `range`, `estimate` (without the formulas of its entries),
//! `counters` and `parameters`; `schema/report.schema.json` describes them.

use super::Card;
use super::run;
use super::text::{Spelling, Value};
use crate::{
    Answer, Balance, Bucket, Choice, Scenario, Shortage, b_max, counters, estimate, format, link, range::range,
};

pub(super) const CARD: Card = Card {
    key: "json",
    name: "JSON",
    file_name: "bmax.json",
    media_type: "application/json",
    describe: "The answer for programs, with the names of the command line’s report.",
    readers: &[],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let seen = counters(scenario);
    let told = range(scenario);
    let report = Value::Map(vec![
        ("page", run::address(page, scenario).into()),
        ("link", link::encode(scenario).into()),
        ("method", scenario.method.key().into()),
        ("answer", answer(scenario)),
        (
            "range",
            Value::Map(vec![
                ("safe", outcome(&told.safe)),
                ("likely", outcome(&told.likely)),
                ("optimistic", outcome(&told.optimistic)),
            ]),
        ),
        ("estimate", estimated(scenario)),
        (
            "counters",
            Value::Map(vec![
                ("allocated_bytes", seen.allocated.into()),
                ("reserved_bytes", seen.reserved.into()),
                ("device_bytes", seen.device.into()),
                ("given_back_bytes", seen.given_back.into()),
            ]),
        ),
        (
            "parameters",
            Value::Map(vec![
                ("typed", scenario.model.parameters.into()),
                ("derived", scenario.model.derived_parameters().into()),
            ]),
        ),
    ]);
    report.pretty(Spelling::Json, 0) + "\n"
}

fn answer(scenario: &Scenario) -> Value {
    match b_max(scenario) {
        Answer::Fits(room) => Value::Map(vec![
            ("fits", true.into()),
            ("b_max", room.batch.into()),
            ("capped", room.capped.into()),
            ("instant", estimate(&scenario.with_batch(room.batch)).peak().instant.name.into()),
            ("peak_bytes", room.peak.into()),
            ("per_sequence_bytes", room.per_sequence.into()),
            ("next_lacks_bytes", room.next_lacks.into()),
            ("limited_by", if room.by_host { "ram" } else { "gpu" }.into()),
        ]),
        Answer::Infeasible(reason) => Value::Map(vec![
            ("fits", false.into()),
            ("reason", shortage(reason.shortage).into()),
            ("over_bytes", reason.over.into()),
            ("instant", reason.instant.name.into()),
            ("fewest_gpus", reason.fewest_gpus.into()),
        ]),
        Answer::Refused(refusal) => Value::Map(vec![
            ("fits", Value::Null),
            ("reason", refusal.kind.key().into()),
            ("message", format::refusal(&refusal, scenario.unit()).into()),
            ("would_be_b_max", refusal.would_be.into()),
        ]),
    }
}

const fn shortage(shortage: Shortage) -> &'static str {
    match shortage {
        Shortage::ModelStates => "model-states",
        Shortage::FirstSequence => "first-sequence",
        Shortage::Outside => "outside",
        Shortage::HostMemory => "host-memory",
    }
}

fn outcome(answer: &Answer) -> Value {
    Value::Map(vec![("b_max", answer.batch().into())])
}

fn estimated(scenario: &Scenario) -> Value {
    let estimate = estimate(scenario);
    let peak = estimate.peak();
    let (state, bytes) = match estimate.balance() {
        Balance::Free(bytes) => ("free", bytes),
        Balance::Close(bytes) => ("close", bytes),
        Balance::Over(bytes) => ("over", bytes),
        Balance::LacksHost(bytes) => ("host-memory", bytes),
    };
    let instants = estimate.instants.iter().enumerate().map(|(position, instant)| {
        let buckets =
            Bucket::ALL.iter().map(|bucket| (bucket.key(), estimate.bucket_at(*bucket, position).into())).collect();
        Value::Map(vec![
            ("name", instant.name.into()),
            ("total_bytes", estimate.total_at(position).into()),
            ("buckets", Value::Map(buckets)),
        ])
    });
    let entries = estimate.entries.iter().map(|entry| {
        let alive = estimate.instants.iter().enumerate().filter(|(position, _)| entry.alive.contains(*position));
        Value::Map(vec![
            ("name", entry.name.into()),
            ("bucket", entry.bucket.key().into()),
            ("bytes", entry.bytes.into()),
            ("alive", Value::List(alive.map(|(_, instant)| instant.name.into()).collect())),
        ])
    });
    Value::Map(vec![
        ("method", estimate.method.key().into()),
        ("micro_batch", scenario.recipe.batch.into()),
        (
            "peak",
            Value::Map(vec![
                ("instant", peak.instant.name.into()),
                ("bytes", peak.bytes.into()),
                ("gib", peak.bytes.gib().into()),
            ]),
        ),
        ("usable_bytes", estimate.usable().into()),
        ("memory_bytes", estimate.memory.into()),
        ("balance", Value::Map(vec![("state", state.into()), ("bytes", bytes.into())])),
        ("instants", Value::List(instants.collect())),
        ("entries", Value::List(entries.collect())),
    ])
}
