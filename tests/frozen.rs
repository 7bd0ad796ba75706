//! More frozen, more quantized, fewer adapters: never more memory.

use bmax::{
    Adapter, AdapterTargets, AdapterType, Engine, ExpertMatrices, Method, Norm, Optimizer, Precision, Scenario, Switch,
    TaskKind, Unquantized, estimate, link,
};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;
use crate::support::peaks;

use peaks::peak;

/// Scenarios of the ledger whose sizes can be compared: no more keys than queries, no more stages than layers.
fn comparable() -> impl Strategy<Value = Scenario> {
    any_scenario().prop_map(|mut scenario| {
        scenario.method = Method::Ledger;
        scenario.model.kv_heads = scenario.model.kv_heads.min(scenario.model.heads);
        scenario.cluster.pipeline_parallel = scenario.cluster.pipeline_parallel.min(scenario.model.layers);
        scenario.cluster.first_stage_layers = 0;
        scenario.cluster.last_stage_layers = 0;
        // Where dense layers and layers with experts stand beside each other, the layer that runs is counted as one of
        // the wider kind, and which kind that is may change.
        scenario.model.experts.dense_layers = 0;
        // Merging brings quantized weights back to 16 bits, and a full state dict gathers what only some divide.
        scenario.outside = bmax::Outside::OFF;
        scenario
    })
}

/// What adapters add that full training has no part of, at most at one instant: themselves, what the first of their matrices
/// puts out for the second, the stacks of experts to which they are added, and what 8-bit products beside them keep of
/// layers that are computed again, with the gaps between such tensors. It is
/// little beside what full training keeps, unless optimizer states are divided so often that nothing is left of them.
fn own_of_adapters(scenario: &Scenario) -> f64 {
    let estimate = estimate(scenario);
    let others = [
        "Outputs of the adapters",
        "Outputs of first matrices",
        "Stacks of experts",
        "Gradient of a stack",
        "8-bit products’ inputs",
    ];
    let own = |name: &str| name.starts_with("Adapters") || others.iter().any(|start| name.starts_with(start));
    let at = |position| {
        let alive = estimate.entries.iter().filter(|entry| own(entry.name) && entry.alive.contains(position));
        alive.map(|entry| entry.bytes.get()).sum::<f64>()
    };
    let highest = (0..estimate.instants.len()).map(at).fold(0.0, f64::max);
    highest * (1.0 + scenario.device.fragmentation.fraction())
}

fn with(scenario: &Scenario, adapter: Adapter) -> Scenario {
    let mut with = *scenario;
    with.recipe.adapter = adapter;
    with
}

/// Sums of the same terms in another order may differ in the last bits.
fn at_least(more: &Scenario, less: &Scenario) -> Result<(), TestCaseError> {
    let (larger, smaller) = (peak(more), peak(less));
    prop_assert!(
        peaks::at_least(larger, smaller),
        "{} < {}:\n{}\n{}",
        larger,
        smaller,
        link::encode(more),
        link::encode(less)
    );
    Ok(())
}

/// Whether two LayerNorms read the same tensor under autocast, where they run in fp32: they read an fp32 residual
/// stream as it is, and a 16-bit one, which comes from a 16-bit embedding, as a copy for each
/// (aten/src/ATen/autocast_mode.h, the fp32 list).
fn copies_for_norms(scenario: &Scenario) -> bool {
    let model = &scenario.model;
    let autocast = scenario.recipe.precision == Precision::Autocast;
    // T5 has no table of positions to make its stream fp32, and its norms keep what they read in fp32.
    let copies = model.position == bmax::Position::Relative;
    autocast
        && (copies
            || model.norm == Norm::LayerNorm && model.parallel.is_on() && (model.norms > 1 || model.encoder.is_there()))
}

/// Whether PPO holds copies of what the policy puts out in 16 bits: under autocast accelerate copies it to fp32, and an fp32
/// residual stream comes back as it is (`convert_outputs_to_fp32` in accelerate/accelerator.py).
fn copies_for_ppo(scenario: &Scenario) -> bool {
    scenario.recipe.precision == Precision::Autocast && scenario.task.kind == TaskKind::Ppo
}

/// Whether quantized products compute in fp32 where others do not: they put out what they are given
/// (`.to(inp_dtype)` in bitsandbytes/nn/modules.py, `dtype=A.dtype` in bitsandbytes/autograd/_functions.py,
/// 95f9af309d4d), which behind norms in fp32 is fp32, while autocast's own products put out 16 bits. LayerNorm is always
/// in fp32 there, and so are the norms of most vision towers.
fn is_fp32_inside(scenario: &Scenario) -> bool {
    let in_fp32 = scenario.recipe.unquantized == Unquantized::Full
        || scenario.model.norm == Norm::LayerNorm
        || scenario.model.vision != bmax::Vision::NONE;
    scenario.recipe.precision == Precision::Autocast && in_fp32
}

/// The scenario with a rank that is thin beside every matrix it stands beside.
fn thin(mut scenario: Scenario) -> Scenario {
    let model = &scenario.model;
    let narrowest = model.hidden.min(model.feed_forward).min(model.kv_heads * model.head_dim);
    let narrowest = if model.experts.width > 0 { narrowest.min(model.experts.width) } else { narrowest };
    scenario.recipe.rank = scenario.recipe.rank.min((narrowest / 8).max(1));
    scenario
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_base_in_fewer_bytes_never_takes_more(scenario in comparable()) {
        use Adapter::{Lora, Lora8, LoraFp32, Qlora};
        for (more, less) in [(LoraFp32, Lora), (LoraFp32, Qlora), (Lora, Qlora), (Lora8, Qlora)] {
            // LoRA in 8 bits is above 4 bits only: LLM.int8 keeps the inputs of its products
            // (`ctx.tensors = (CAt, subA, A)` of `MatMul8bitLt` in bitsandbytes/autograd/_functions.py), so that with
            // enough tokens it takes more than frozen weights in 16 bits, which keep none.
            if more == LoraFp32 && (copies_for_norms(&scenario) || copies_for_ppo(&scenario)) {
                continue;
            }
            // Adapters in fp32 are cast to the type of a 16-bit stack before they are added to it.
            let stacks = scenario.model.experts.count > 0 && scenario.recipe.expert_matrices == ExpertMatrices::Stacked;
            if more == LoraFp32 && stacks && scenario.recipe.targets == AdapterTargets::All {
                continue;
            }
            if less == Qlora && more != Lora8 && is_fp32_inside(&scenario) {
                continue;
            }
            // DeepSpeed's gathered weights are counted up to a billion elements (`stage3_max_reuse_distance`), of which
            // one matrix should be a part, and quantized ones the most: of stacks of experts they are few.
            let model = &scenario.model;
            let query = model.heads * model.head_dim;
            let widest = model.feed_forward.max(model.experts.width).max(model.experts.shared_width).max(query);
            let matrix = f64::from(model.hidden) * f64::from(widest);
            if scenario.cluster.engine == Engine::DeepSpeed && (stacks || matrix > 2.5e8) {
                continue;
            }
            // What is quantized is brought back matrix by matrix: that takes two bytes of one matrix, and the gaps
            // between such tensors, where two layers save six bytes or more.
            if scenario.model.layers < 2 * scenario.cluster.pipeline_parallel {
                continue;
            }
            // PEFT's prepare_model_for_kbit_training puts what is not quantized into fp32, which LoRA on 16-bit
            // weights leaves in 16 bits.
            if more == Lora && scenario.recipe.unquantized == Unquantized::Full {
                continue;
            }
            at_least(&with(&scenario, more), &with(&scenario, less))?;
        }
    }

    #[test]
    fn fewer_adapted_matrices_never_take_more(scenario in comparable()) {
        let [all, attention, two] = [AdapterTargets::All, AdapterTargets::Attention, AdapterTargets::QueryValue].map(|targets| {
            let mut scenario = scenario;
            scenario.recipe.targets = targets;
            scenario
        });
        at_least(&all, &attention)?;
        at_least(&attention, &two)?;
    }

    #[test]
    fn a_smaller_rank_never_takes_more(scenario in comparable(), part in 0.0..1.0_f64) {
        let mut smaller = scenario;
        smaller.recipe.rank = ((f64::from(scenario.recipe.rank) * part) as u32).max(1);
        at_least(&scenario, &smaller)?;
    }

    #[test]
    fn adapters_in_16_bits_never_take_more_than_in_fp32(scenario in comparable()) {
        // A recipe of 16-bit weights with fp32 masters gives 16-bit adapters one as well, which fp32 adapters are
        // themselves.
        let mut scenario = scenario;
        if matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16) {
            scenario.recipe.precision = Precision::PureBf16;
        }
        let [full, half] = [AdapterType::Full, AdapterType::Half].map(|kept| {
            let mut scenario = scenario;
            scenario.recipe.adapter_type = kept;
            scenario
        });
        at_least(&full, &half)?;
    }

    #[test]
    fn training_every_weight_takes_at_least_what_frozen_weights_take_without_their_adapters(scenario in comparable()) {
        use Adapter::{Lora, LoraFp32, None, Qlora, Lora8};
        let mut scenario = thin(scenario);
        // With recomputation PEFT asks for gradients of what goes into the model, and they run through a frozen tower
        // (`enable_input_require_grads`), which keeps its layers' inputs then. Full training leaves a frozen one out.
        scenario.model.vision = bmax::Vision::NONE;
        // Adapters keep their inputs in 16 bits, where full training keeps those of its products in one byte.
        scenario.recipe.fp8 = bmax::Fp8::Off;
        // What an encoder puts out is the input of a product in every layer of the decoder, each with its adapters.
        scenario.model.encoder = bmax::Encoder::NONE;
        // PEFT casts the input of an adapter in fp32 for each adapter anew, and drops other parts of it for each
        // (`_cast_input_dtype` and `lora_dropout` in peft/tuners/lora/layer.py): copies that full training, where
        // matrices share their input, does not make.
        scenario.recipe.adapter_type = AdapterType::Half;
        scenario.recipe.adapter_dropout = Switch::Off;
        // Adapters are not trained by optimizers of whole matrices, which the page says: AdamW takes their place. It can step
        // on the CPU, which those do not, and keeps more for PPO's value model.
        if scenario.recipe.optimizer.needs_whole_matrices() {
            scenario.recipe.offload = scenario.recipe.offload.without_optimizer();
            if scenario.task.kind == bmax::TaskKind::Ppo {
                scenario.recipe.optimizer = Optimizer::AdamW;
            }
        }
        // Weights that are trained in 16 bits are smaller than frozen ones in fp32.
        let in_fp32 = matches!(scenario.recipe.precision, Precision::Fp32 | Precision::Autocast | Precision::Mixed);
        for less in [LoraFp32, Lora, Lora8, Qlora] {
            let fp32 = match less {
                LoraFp32 => true,
                Lora8 | Qlora => scenario.recipe.unquantized == Unquantized::Full,
                _ => false,
            };
            if less != LoraFp32 && (copies_for_norms(&scenario) || copies_for_ppo(&scenario)) {
                continue;
            }
            if fp32 && !in_fp32 || less.is_quantized() && is_fp32_inside(&scenario) {
                continue;
            }
            // Autocast casts frozen experts in fp32 where they are linear layers, and none in a stack, as trained ones are.
            let linear = scenario.model.experts.count > 0 && scenario.recipe.expert_matrices == ExpertMatrices::Linear;
            if fp32 && linear && scenario.recipe.precision == Precision::Autocast {
                continue;
            }
            let (all, adapted) = (with(&scenario, None), with(&scenario, less));
            let spare = own_of_adapters(&adapted);
            let (larger, smaller) = (peak(&all) + spare, peak(&adapted));
            prop_assert!(larger >= smaller * (1.0 - 1e-12), "{} < {}:\n{}\n{}", larger, smaller, link::encode(&all), link::encode(&adapted));
        }
    }
}
