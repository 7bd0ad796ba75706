//! Known facts of adapters: what is frozen costs its own bytes and nothing more.

use bmax::{Adapter, AdapterType, AdapterWeights, Bucket, Estimate, Scenario, Weights, b_max, estimate, link};

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
            let trained = AdapterWeights::of(model, &scenario.recipe).total(model.layers.into(), 0) as f64;
            let in_fp32 = scenario.recipe.adapter_type == AdapterType::Full;
            let adapters = trained * if in_fp32 { 4.0 } else { 2.0 };
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
        let adapters =
            AdapterWeights::of(&scenario.model, &scenario.recipe).total(scenario.model.layers.into(), 0) as f64;
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

/// Mixtral 8x7B on one GPU, with adapters of rank 16: 32 layers of 8 experts of width 14,336, of which a token visits two;
/// H = n·d = 4,096, k·d = 1,024.
fn mixtral(rest: &str) -> Estimate {
    estimate(&asked(&format!(
        "model=mixtral-8x7b&gpu=b200&gpus=1&zero=0&b=1&s=512&rank=16&dropout=off&precision=bf16-pure&kernels=eager\
         &attn=flash&{rest}"
    )))
}

/// The bytes of an entry when the layers have run forward.
fn of(estimate: &Estimate, bucket: Bucket, name: &str) -> f64 {
    let then = at(estimate, "loss, backward");
    let found = estimate.entries.iter().filter(|entry| entry.bucket == bucket && entry.name == name);
    found.filter(|entry| entry.alive.contains(then)).map(|entry| entry.bytes.get()).sum()
}

/// Weights of Mixtral's experts, and of rank-16 adapters beside its attention.
const EXPERTS: f64 = 32.0 * 8.0 * 3.0 * 4096.0 * 14_336.0;
const BESIDE_ATTENTION: f64 = 32.0 * 16.0 * (2.0 * (4096.0 + 4096.0) + 2.0 * (4096.0 + 1024.0));

#[test]
fn experts_in_a_stack_are_not_quantized_and_those_that_are_linear_layers_are() {
    // transformers 5.23.0: `MixtralExperts` has its matrices as two parameters, and `replace_with_bnb_linear` looks for
    // linear layers.
    for (adapter, form, bytes) in [
        ("lora", "stacked", 2.0),
        ("qlora", "stacked", 2.0),
        ("lora-8bit", "stacked", 2.0),
        ("qlora&unquantized=32", "stacked", 4.0),
        ("lora", "linear", 2.0),
        ("qlora", "linear", 4.127 / 8.0),
        ("lora-8bit", "linear", 1.0),
        ("qlora&unquantized=32", "linear", 4.127 / 8.0),
    ] {
        let found = mixtral(&format!("recompute=none&adapter={adapter}&expert_matrices={form}&targets=attention"));
        assert_eq!(of(&found, Bucket::Parameters, "Experts"), bytes * EXPERTS, "{adapter} {form}");
        assert_eq!(of(&found, Bucket::Parameters, "Adapters"), 4.0 * BESIDE_ATTENTION, "{adapter} {form}");
        assert_eq!(of(&found, Bucket::Optimizer, "Adapters, moments"), 8.0 * BESIDE_ATTENTION, "{adapter} {form}");
    }
}

#[test]
fn adapters_on_all_matrices_are_those_that_peft_makes() {
    // `trained` of runs with transformers 5.23.0 and peft 0.21.2, “all-linear” at rank 16 (tests/vectors/cuda.json).
    for (model, trained) in
        [("mixtral-8x7b", 359_665_664), ("qwen3-30b-a3b", 996_507_648), ("deepseek-v2-lite", 358_994_944)]
    {
        let scenario = asked(&format!("model={model}&gpus=2048&zero=3&adapter=qlora&rank=16&targets=all"));
        let weights = Weights::of(&scenario.model);
        let adapters = AdapterWeights::of(&scenario.model, &scenario.recipe);
        assert_eq!(adapters.total(weights.dense_layers, weights.expert_layers), trained, "{model}");
    }
    // Each matrix of an expert by itself.
    let found = mixtral("recompute=none&adapter=lora&expert_matrices=linear&targets=all");
    let beside_experts = 32.0 * 16.0 * 8.0 * 3.0 * (4096.0 + 14_336.0);
    assert_eq!(of(&found, Bucket::Parameters, "Adapters"), 4.0 * (BESIDE_ATTENTION + beside_experts));
}

#[test]
fn stacks_with_adapters_are_there_once_more_as_long_as_the_backward_pass_needs_them() {
    // Without recomputation each of 32 layers has the sum of both of its stacks and of their adapters, in the type of the
    // stacks, and the adapters in that type; with it the layer that is computed again.
    let kept = |rest: &str| {
        let found = mixtral(&format!("adapter=qlora&targets=all&{rest}"));
        ["Stacks of experts, with their adapters", "Adapters of stacks, cast", "Gradient of a stack"]
            .map(|name| of(&found, Bucket::Temporary, name))
    };
    let cast = 32.0 * 8.0 * 16.0 * (2.0 * (4096.0 + 2.0 * 14_336.0) + 14_336.0 + 4096.0);
    assert_eq!(kept("recompute=none"), [2.0 * EXPERTS, 2.0 * cast, 0.0]);
    assert_eq!(kept("recompute=none&adapter_type=16"), [2.0 * EXPERTS, 0.0, 0.0]);
    assert_eq!(kept("recompute=none&unquantized=32"), [4.0 * EXPERTS, 0.0, 0.0]);
    assert_eq!(kept("recompute=full"), [0.0; 3]);
    let found = mixtral("adapter=qlora&targets=all&recompute=full");
    let last = at(&found, "backward, last layer");
    let there = |name: &str| {
        let alive = |entry: &&bmax::Entry| entry.name == name && entry.alive.contains(last);
        found.entries.iter().filter(alive).map(|entry| entry.bytes.get()).sum::<f64>()
    };
    assert_eq!(there("Stacks of experts, with their adapters"), 2.0 * EXPERTS / 32.0);
    // That of the last matrix, while both sums are there.
    assert_eq!(there("Gradient of a stack"), 2.0 * EXPERTS / 32.0 / 3.0);
}

#[test]
fn frozen_experts_in_a_stack_keep_nothing_that_they_read() {
    // Bytes of a layer for each token. Adapters in fp32 keep a copy of what they read: queries, keys and values of the norm,
    // the output projection of attention’s output. Where experts are linear layers, their three matrices read what two
    // experts get of each token and what is inside them. Stacks to which adapters are added keep what they read once.
    let (hidden, inner) = (4096.0, 14_336.0);
    let kept = |rest: &str, name: &str| {
        let found = mixtral(&format!("recompute=none&adapter=qlora&{rest}"));
        of(&found, Bucket::Activations, name) / (512.0 * 32.0)
    };
    let (norms, inside) = ("Outputs of the norms, inputs of the products", "Inside the experts");
    let ranks = ["Outputs of the adapters’ first matrices", "Outputs of the adapters’ first matrices, in experts"];
    let (frozen, merged, linear) = ("targets=attention", "targets=all", "targets=all&expert_matrices=linear");
    for rest in [frozen, merged, linear] {
        assert_eq!(kept(rest, norms), 3.0 * 4.0 * hidden, "{rest}");
    }
    let dispatched = [frozen, merged, linear].map(|rest| kept(rest, "Tokens dispatched to experts"));
    assert_eq!(dispatched, [0.0, 2.0 * 2.0 * hidden, 2.0 * 2.0 * 4.0 * hidden]);
    let inside = [frozen, merged, linear].map(|rest| kept(rest, inside));
    assert_eq!(inside, [2.0 * 3.0 * 2.0 * inner, 2.0 * 4.0 * 2.0 * inner, 2.0 * (3.0 * 2.0 + 4.0) * inner]);
    for (rest, in_experts) in [(frozen, 0.0), (merged, 0.0), (linear, 2.0 * 3.0 * 4.0 * 16.0)] {
        assert_eq!(ranks.map(|name| kept(rest, name)), [4.0 * 4.0 * 16.0, in_experts], "{rest}");
    }
}

#[test]
fn stacks_of_experts_compute_in_the_type_of_their_weights_under_autocast() {
    // “not autocast-enabled”, says `_grouped_mm` in transformers/integrations/moe.py, 5.23.0. Trained weights are in fp32
    // there, and so are the three tensors inside an expert, what its matrices read, and what it puts out; nothing is cast.
    let question = |recipe: &str| {
        format!(
            "model=mixtral-8x7b&gpu=b200&gpus=1&zero=0&b=1&s=512&recompute=none&dropout=off&precision=autocast\
             &kernels=eager&attn=flash&{recipe}"
        )
    };
    let found = estimate(&asked(&question("optimizer=sgd")));
    let kept = |name: &str| of(&found, Bucket::Activations, name) / (512.0 * 32.0);
    assert_eq!(kept("Inside the experts"), 2.0 * 4.0 * 4.0 * 14_336.0);
    assert_eq!(kept("Tokens dispatched to experts"), 2.0 * 4.0 * 4096.0);
    assert_eq!(kept("Outputs of the experts, before they are weighted"), 2.0 * 4.0 * 4096.0);
    // Copies of the norms for queries, keys, values and the router.
    assert_eq!(kept("Outputs of the norms, inputs of the products"), 4.0 * 2.0 * 4096.0);
    let attention = 2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0;
    assert_eq!(of(&found, Bucket::Temporary, "16-bit casts of the layers’ matrices"), 32.0 * 2.0 * attention);
    // Frozen in 16 bits they compute in 16.
    let found = estimate(&asked(&question("adapter=lora&targets=attention")));
    assert_eq!(of(&found, Bucket::Activations, "Inside the experts") / (512.0 * 32.0), 2.0 * 3.0 * 2.0 * 14_336.0);
}

#[test]
fn products_in_8_bits_keep_what_they_read_and_a_stack_of_experts_is_none_of_them() {
    // With adapters of 16 bits on queries and values, attention keeps the norm’s output in any case. DeepSeek-MoE 16B has a
    // dense layer and 27 with experts: its two shared ones are linear layers and read the second norm.
    let kept = |model: &str, rest: &str| {
        let question = format!(
            "model={model}&gpu=b200&gpus=1&zero=0&b=1&s=512&recompute=none&precision=bf16-pure&dropout=off&kernels=eager\
             &adapter=lora-8bit&adapter_type=16&targets=qv&rank=8&{rest}"
        );
        let name = "Outputs of the norms, inputs of the products";
        of(&estimate(&asked(&question)), Bucket::Activations, name) / (512.0 * 2.0)
    };
    assert_eq!(kept("mixtral-8x7b", "expert_matrices=stacked"), 32.0 * 4096.0);
    // Its router is a linear layer as well, where experts are.
    assert_eq!(kept("mixtral-8x7b", "expert_matrices=linear"), 32.0 * 2.0 * 4096.0);
    assert_eq!(kept("deepseek-moe-16b", "expert_matrices=stacked"), 28.0 * 2.0 * 2048.0);
}

#[test]
fn adapters_stand_beside_both_matrices_of_latent_attention_and_beside_shared_experts() {
    // DeepSeek-V3 (DeepSeek-AI 2024b, section 4.2): H = 7,168, 128 heads of width 128 with 64 more for positions, ranks of
    // 1,536 and 512; three dense layers of width 18,432, 58 with one shared expert of width 2,048 and 256 routed ones.
    let adapters = |rest: &str| {
        let scenario = asked(&format!("model=deepseek-v3&gpus=2048&zero=3&adapter=lora&rank=16&{rest}"));
        let weights = AdapterWeights::of(&scenario.model, &scenario.recipe);
        [weights.dense_layer, weights.expert_layer, weights.routed]
    };
    let queries = (7168 + 1536) + (1536 + 128 * (128 + 64));
    let keys_and_values = (7168 + 512 + 64) + (512 + 128 * (128 + 128));
    let attention = 16 * (queries + keys_and_values + 128 * 128 + 7168);
    let [dense, expert] = [18_432, 2048].map(|width| 16 * 3 * (7168 + width));
    assert_eq!(adapters("targets=all&expert_matrices=linear"), [attention + dense, attention + expert, 256 * expert]);
    // The names of feed-forward matrices are taken for those of stacks, the router’s for its one.
    let stacks = 256 * 16 * (2 * (7168 + 2 * 2048) + 2048 + 7168);
    assert_eq!(adapters("targets=all"), [attention, attention + 16 * (7168 + 256), stacks]);
    assert_eq!(adapters("targets=attention"), [attention, attention, 0]);
    let expanded = 16 * ((1536 + 128 * (128 + 64)) + (512 + 128 * (128 + 128)));
    assert_eq!(adapters("targets=qv"), [expanded, expanded, 0]);
}

#[test]
fn dropout_before_adapters_of_a_stack_is_refused_with_a_way_out() {
    // “lora.ParamWrapper does not work with lora_dropout != 0.”, says peft 0.21.2.
    let question = "model=mixtral-8x7b&gpus=8&adapter=lora&targets=all&adapter_dropout=on";
    let conflicts = link::decode(question).scenario.conflicts();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert!(conflicts[0].message.contains("no dropout can stand before"), "{}", conflicts[0].message);
    asked(&format!("{question}&expert_matrices=linear"));
}
