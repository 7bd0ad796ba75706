//! Known facts of adapters: what is frozen costs its own bytes and nothing more.

use bmax::{Adapter, AdapterType, Bucket, Estimate, Scenario, Weights, b_max, estimate, link};

#[path = "support/adapter_facts.rs"]
mod adapter_facts;

use adapter_facts::{FITS, FITS_NOT, PRECISIONS, under};

/// The scenario of a question that has nothing wrong with it.
fn asked(question: &str) -> Scenario {
    let read = link::decode(question);
    assert_eq!(read.notices, [], "{question}");
    assert_eq!(read.scenario.conflicts(), [], "{question}");
    read.scenario
}

fn at(estimate: &Estimate, instant: &str) -> usize {
    estimate.instants.iter().position(|found| found.name == instant).expect("an instant of the ledger")
}

#[test]
fn what_people_have_fine_tuned_on_one_gpu_fits_on_it_whatever_the_precision_is_called() {
    for question in FITS {
        for precision in PRECISIONS {
            let scenario = asked(&under(question, precision));
            let answer = b_max(&scenario);
            assert!(answer.batch() >= Some(scenario.recipe.batch), "{precision}, {question}: {answer:?}");
        }
    }
}

#[test]
fn what_is_larger_than_the_gpu_by_its_weights_alone_does_not_fit() {
    for question in FITS_NOT {
        for precision in PRECISIONS {
            assert_eq!(b_max(&asked(&under(question, precision))).batch(), None, "{precision}, {question}");
        }
    }
}

#[test]
fn frozen_weights_are_the_same_bytes_under_autocast_and_mixed_precision_as_in_16_bits() {
    // QLoRA: 4 bits and 0.127 bits of constants for each weight of a matrix inside a block (Dettmers et al.
    // 2023, section 3), 16 bits for the others; LoRA: 16 bits for all.
    for question in FITS {
        for precision in PRECISIONS {
            let scenario = asked(&under(question, precision));
            let model = &scenario.model;
            let weights = Weights::of(model);
            let blocks = ((weights.attention + weights.dense_mlp) * u64::from(model.layers)) as f64;
            let others = model.derived_parameters() as f64 - blocks;
            let matrix = if scenario.recipe.adapter == Adapter::Qlora { 4.127 / 8.0 } else { 2.0 };
            let trained = Weights::adapter(model, scenario.recipe.targets, scenario.recipe.rank.into()) as f64;
            let in_fp32 = scenario.recipe.adapter_type == AdapterType::Full;
            let adapters = trained * f64::from(model.layers) * if in_fp32 { 4.0 } else { 2.0 };
            let expected = blocks * matrix + others * 2.0 + adapters;
            let estimate = estimate(&scenario);
            let found = estimate.bucket_at(Bucket::Parameters, at(&estimate, "optimizer step")).get();
            assert!((found - expected).abs() <= 1e-9 * expected, "{precision}, {question}: {found} {expected}");
        }
    }
}

#[test]
fn nothing_that_is_frozen_has_a_gradient_a_master_copy_or_a_moment() {
    for question in FITS {
        for precision in PRECISIONS {
            let scenario = asked(&under(question, precision));
            for entry in estimate(&scenario).entries {
                let of_training = matches!(entry.bucket, Bucket::Gradients | Bucket::Optimizer);
                let of_adapters = entry.name.starts_with("Adapters") || entry.name == "Gradients of one layer";
                assert!(!of_training || of_adapters, "{precision}, {question}: {}", entry.name);
            }
        }
    }
}

#[test]
fn autocast_and_mixed_precision_copy_no_more_than_the_adapters() {
    // Frozen 16-bit and quantized weights are not cast by autocast, whose cache is of fp32 leaves that require a
    // gradient (aten/src/ATen/autocast_mode.cpp, `cached_cast`), nor by FSDP, which casts what is wider. What
    // they may copy is the adapters, 2 bytes of each weight, and once more for the layer that runs.
    for question in FITS {
        let weights_and_copies = |precision: &str| {
            let scenario = asked(&under(question, precision));
            let copied = |name: &str| name.starts_with("16-bit") || name.starts_with("Gathered");
            let found = estimate(&scenario);
            let copies = (0..found.instants.len()).map(|position| {
                let alive = found.entries.iter().filter(|entry| entry.alive.contains(position) && copied(entry.name));
                alive.map(|entry| entry.bytes.get()).sum::<f64>()
            });
            copies.fold(0.0, f64::max)
        };
        let scenario = asked(question);
        let trained = Weights::adapter(&scenario.model, scenario.recipe.targets, scenario.recipe.rank.into()) as f64;
        let adapters = trained * f64::from(scenario.model.layers);
        for precision in PRECISIONS {
            let copies = weights_and_copies(precision);
            assert!(copies <= 2.0 * adapters, "{precision}, {question}: {copies} {adapters}");
        }
    }
}
