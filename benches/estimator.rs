//! How long the library takes: one estimate, one search, a whole chart, a link.

use std::hint::black_box;

use bmax::{
    Answer, Choice, Method, Recomputation, Scenario, b_max, catalogue, estimate,
    inverse::{self, largest_model},
    levers, link,
    range::range,
    strategy::cheapest_plan,
    sweep,
    tape::{Program, largest_micro_batch},
};
use criterion::{Criterion, criterion_group, criterion_main};

/// Eighty layers, the most of any preset.
fn large(method: Method) -> Scenario {
    let row = catalogue::model("70b").expect("a workshop preset");
    let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
    scenario.cluster.gpus = 64;
    scenario
}

fn ledger(criterion: &mut Criterion) {
    for &method in Method::ALL {
        let scenario = large(method);
        criterion.bench_function(&format!("estimate, {method:?}"), |bencher| {
            bencher.iter(|| estimate(black_box(&scenario)));
        });
    }
}

fn search(criterion: &mut Criterion) {
    for &method in Method::ALL {
        let mut fits = large(method);
        fits.recipe.recomputation = Recomputation::Full;
        assert!(matches!(b_max(&fits), Answer::Fits(_)));
        criterion.bench_function(&format!("b_max that fits, {method:?}"), |bencher| {
            bencher.iter(|| b_max(black_box(&fits)));
        });
        criterion.bench_function(&format!("range, {method:?}"), |bencher| {
            bencher.iter(|| range(black_box(&fits)));
        });
        // A refusal costs more: it also looks for the number of GPUs that would be enough.
        let mut over = fits;
        over.cluster.gpus = 1;
        assert!(matches!(b_max(&over), Answer::Infeasible(_)));
        criterion.bench_function(&format!("b_max that does not fit, {method:?}"), |bencher| {
            bencher.iter(|| b_max(black_box(&over)));
        });
    }
}

/// Five curves of 64 lengths, with the length at which each ends, as the page's chart has them.
fn chart(criterion: &mut Criterion) {
    let lengths = sweep::sequence_lengths(64);
    for &method in Method::ALL {
        let scenario = Scenario { method, ..Scenario::workshop() };
        let references = ["1b", "7b", "13b", "70b"].map(|slug| {
            let row = catalogue::model(slug).expect("a workshop preset");
            sweep::reference(&scenario, row.model)
        });
        let curves: Vec<_> = references.into_iter().chain([scenario]).collect();
        criterion.bench_function(&format!("chart of 5 × 64 points, {method:?}"), |bencher| {
            bencher.iter(|| {
                let curve =
                    |scenario| (sweep::b_max_by_sequence(scenario, &lengths), inverse::longest_sequence(scenario, 1));
                black_box(&curves).iter().map(curve).collect::<Vec<_>>()
            });
        });
    }
}

/// What a reader asks for beside b_max.
fn questions(criterion: &mut Criterion) {
    let scenario = large(Method::Ledger);
    criterion.bench_function("ranking of single changes", |bencher| {
        bencher.iter(|| levers::ranked(black_box(&scenario), &[]));
    });
    criterion.bench_function("cheapest plan", |bencher| {
        bencher.iter(|| cheapest_plan(black_box(&scenario), catalogue::speed(&scenario)));
    });
    criterion.bench_function("largest model", |bencher| bencher.iter(|| largest_model(black_box(&scenario), 1)));
}

fn links(criterion: &mut Criterion) {
    let query = "v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=1&gpus=16&headroom=7.5&method=paper&recompute=none";
    let scenario = link::decode(query).scenario;
    assert_eq!(link::encode(&scenario), query);
    criterion.bench_function("link, written", |bencher| bencher.iter(|| link::encode(black_box(&scenario))));
    criterion.bench_function("link, read", |bencher| bencher.iter(|| link::decode(black_box(query))));
}

/// A training step on the tape: eighty layers, recomputed.
fn step(criterion: &mut Criterion) {
    let query =
        "v=3&model=llama-3.1-70b&gpus=1&zero=0&s=4096&b=1&precision=bf16-pure&recompute=full&dropout=off&loss=plain";
    let scenario = link::decode(query).scenario;
    let program = Program::of(&scenario).expect("it is played");
    let steady = program.steady();
    criterion.bench_function("step, operators of a scenario", |bencher| {
        bencher.iter(|| Program::of(black_box(&scenario)).is_ok());
    });
    criterion.bench_function("step, played", |bencher| bencher.iter(|| black_box(&program).steady().peak()));
    criterion.bench_function("step, peak of one played", |bencher| bencher.iter(|| black_box(&steady).peak()));
    criterion.bench_function("step, who is alive at it", |bencher| bencher.iter(|| black_box(&steady).alive()));
    criterion.bench_function("step, largest micro-batch", |bencher| {
        bencher.iter(|| largest_micro_batch(black_box(&scenario), 200 << 30));
    });
    let whole = program.first_steps(2);
    criterion
        .bench_function("two steps, played in full", |bencher| bencher.iter(|| black_box(&program).first_steps(2)));
    criterion.bench_function("two steps, by the allocator", |bencher| {
        bencher.iter(|| black_box(&whole).replay(scenario.device.segments, u64::MAX));
    });
}

criterion_group!(benches, ledger, search, questions, chart, links, step);
criterion_main!(benches);
