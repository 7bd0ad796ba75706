//! Known facts of adapters: what is frozen costs its own bytes and nothing more.

use bmax::{Adapter, AdapterType, Bucket, Estimate, Scenario, Weights, b_max, estimate, link};

use crate::support::adapter_facts::{FITS, FITS_NOT, PRECISIONS, under};

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

/// What one layer keeps for its backward pass, in bytes for each token: what a second layer adds.
fn kept_by_a_layer(question: &str) -> f64 {
    let with_layers = |layers| {
        let estimate = estimate(&asked(&format!("{question}&layers={layers}")));
        estimate.bucket_at(Bucket::Activations, at(&estimate, "loss, backward")).get()
    };
    let scenario = asked(question);
    (with_layers(3) - with_layers(2)) / f64::from(scenario.recipe.batch * scenario.recipe.sequence)
}

#[test]
fn products_in_8_bits_keep_what_they_read_and_those_in_4_bits_do_not() {
    // `ctx.tensors = (CAt, subA, A)` in `MatMul8bitLt`, and `ctx.tensors = (None, B)` in `MatMul4Bit`, of
    // bitsandbytes/autograd/_functions.py at 95f9af309d4d. Adapters on queries and values keep the input of
    // attention anyway, and flash attention its output; the inputs of the feed-forward block, H and f wide, in
    // 16 bits, are what LLM.int8 adds. With adapters on all matrices everything is kept already.
    let question = |adapter: &str, targets: &str| {
        format!(
            "model=llama-2-7b&gpus=1&zero=0&b=1&s=512&recompute=none&precision=bf16-pure&dropout=off&attn=flash\
             &kernels=eager&adapter={adapter}&adapter_type=16&targets={targets}&rank=8"
        )
    };
    let kept = |adapter: &str, targets: &str| kept_by_a_layer(&question(adapter, targets));
    assert_eq!(kept("lora-8bit", "qv") - kept("lora", "qv"), 2.0 * (4096.0 + 11_008.0));
    assert_eq!(kept("qlora", "qv"), kept("lora", "qv"));
    assert_eq!(kept("lora-8bit", "all"), kept("lora", "all"));
}

#[test]
fn only_a_matrix_that_a_stage_holds_is_brought_back_on_it() {
    // DeepSeek-MoE 16B has one dense layer, of width 10,944, before 27 with experts of width 1,408 and two shared
    // ones of 2,816 together; hidden states are 2,048 wide. The last of four stages has no dense layer.
    let scenario = asked(
        "model=deepseek-moe-16b&gpus=4&pp=4&accum=4&zero=0&adapter=qlora&precision=bf16&kernels=eager&recompute=full",
    );
    let estimate = estimate(&scenario);
    let brought_back = |instant: &str| -> f64 {
        let position = at(&estimate, instant);
        let found = estimate.entries.iter().filter(|entry| entry.name == "One matrix, dequantized");
        found.filter(|entry| entry.alive.contains(position)).map(|entry| entry.bytes.get()).sum()
    };
    assert_eq!(brought_back("first stage: backward, first layer"), 2.0 * 2048.0 * 10_944.0);
    assert_eq!(brought_back("last stage: backward, first layer"), 2.0 * 2048.0 * 2816.0);
}
