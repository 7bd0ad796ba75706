//! Flags of Megatron-LM's `pretrain_gpt.py`, as a fragment of a shell script.
//!
//! Flags as in commit d98e8a64ddf3 of NVIDIA/Megatron-LM (`megatron/training/arguments.py` and the
//! configuration classes that it makes flags of), of which `tests/exports/megatron_flags.json` is the
//! list.

use super::Card;
use super::run::{Run, Says, machines, sharing, stage_layers};
use super::text::{commented, expandable, with_master};
use crate::format::counted;
use crate::read::Format;
use crate::{
    Adapter, AttentionKernel, Bias, Engine, Fp8, GradientType, Kernels, LossHead, Mlp, Norm, Offload, Optimizer,
    Position, Precision, QkNorm, Recomputation, Scenario, StepKernel, Switch, ZeroStage,
};

const PROGRAM: &str = "Megatron-LM";

pub(super) const CARD: Card = Card {
    key: "megatron",
    name: "Megatron-LM",
    file_name: "megatron_flags.sh",
    media_type: "application/x-sh",
    describe: "Flags of Megatron-LM’s pretrain_gpt.py, as a fragment of a shell script.",
    readers: &[Format::Megatron],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::that_says(scenario, &Says { fp8: true, ..Says::NOTHING });
    adapt(&mut run);
    let now = *run.now();
    run.stages_have_layers(PROGRAM);
    run.routing();
    if now.model.position == Position::PartialRotary {
        run.elsewhere("--rotary-percent: the part of each head that your model rotates; memory does not depend on it.");
    }
    run.elsewhere(
        "Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer \
                   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.",
    );
    let planned = run.plan();
    let flags = flags(&now, planned.micro_batch, planned.global_batch);
    let (count, each) = machines(planned.world);
    let mut text = commented(&run.head(page, "Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026)"), "#");
    text.push_str("#\n# To be sourced by a script that goes on with\n");
    let nodes = if count > 1 { format!("--nnodes {count} ") } else { String::new() };
    text.push_str(&format!("#   torchrun {nodes}--nproc_per_node {each} pretrain_gpt.py \"${{BMAX_ARGS[@]}}\" …\n\n"));
    let fsdp = sharing(&now) > 1 && now.cluster.zero >= ZeroStage::Stage2;
    if (now.cluster.tensor_parallel > 1 || now.cluster.context_parallel > 1) && !fsdp {
        text.push_str(
            "# Megatron-LM asks for this up to Hopper, so that communication starts in the order of the code.\n",
        );
        text.push_str("export CUDA_DEVICE_MAX_CONNECTIONS=1\n\n");
    }
    if expandable(&now) {
        text.push_str("# Segments of the allocator grow. Megatron-LM’s own checks read this name.\n");
        text.push_str("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n\n");
    }
    text.push_str("BMAX_ARGS=(\n");
    for flag in flags {
        text.push_str(&format!("    {flag}\n"));
    }
    text.push_str(")\n");
    text
}

/// Whether every stage has equal chunks, and those between the first and the last the same number of
/// layers (`TransformerConfig.__post_init__` in megatron/core/transformer).
fn divides(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    let Some(layers) = stage_layers(scenario) else { return false };
    if layers.len() < 2 {
        return true;
    }
    let (first, last) = (usize::from(cluster.first_stage_layers > 0), usize::from(cluster.last_stage_layers > 0));
    let between = &layers[first..layers.len() - last];
    between.windows(2).all(|pair| pair[0] == pair[1])
        && layers.iter().all(|layers| *layers > 0 && layers.is_multiple_of(cluster.virtual_stages))
}

/// The nearest scenario whose layers divide into stages: without chunks, with fewer layers in the last
/// stage, or with the first stage like the others as well.
fn divided(scenario: &Scenario) -> Scenario {
    let shorter_last = |mut at: Scenario| {
        let (cluster, layers) = (&mut at.cluster, at.model.layers);
        let others = cluster.pipeline_parallel - 1 - u32::from(cluster.first_stage_layers > 0);
        let left = layers.saturating_sub(cluster.first_stage_layers);
        let most = left.div_ceil(others + 1);
        let each = if others * most < left { most } else { left / (others + 1) };
        cluster.last_stage_layers = left - others * each;
        at
    };
    let mut whole = *scenario;
    whole.cluster.virtual_stages = 1;
    let mut like_others = whole;
    like_others.cluster.first_stage_layers = 0;
    let tries = [*scenario, whole, shorter_last(whole), shorter_last(like_others)];
    tries.into_iter().find(divides).unwrap_or(*scenario)
}

fn adapt(run: &mut Run) {
    run.carried_out_by(Engine::Megatron);
    run.reshards_always("Megatron’s FSDP");
    run.lets_go_of_logits("Megatron-LM’s model returns the loss of each token, and its logits go with it");
    if run.now().cluster.pipeline_parallel > 1 {
        let mended = divided(run.now());
        let layers = stage_layers(&mended).unwrap_or_default();
        let (first, last) = (layers.first().copied().unwrap_or(0), layers.last().copied().unwrap_or(0));
        let sentence = format!(
            "Megatron-LM’s stages have equal chunks, and the same number of layers but for the first and the last: here \
             {} a stage, {} in the first and {last} in the last",
            counted(mended.cluster.virtual_stages, "chunk", "chunks"),
            counted(first, "layer", "layers")
        );
        run.change(&sentence, |s| {
            s.cluster.virtual_stages = mended.cluster.virtual_stages;
            s.cluster.first_stage_layers = mended.cluster.first_stage_layers;
            s.cluster.last_stage_layers = mended.cluster.last_stage_layers;
        });
    }
    run.change("Megatron-LM keeps an fp32 master copy beside 16-bit weights", |s| {
        if matches!(s.recipe.precision, Precision::Mixed | Precision::Autocast | Precision::PureBf16) {
            s.recipe.precision = with_master(s);
            s.recipe.gradients = GradientType::Full;
        }
    });
    run.change("Megatron-LM has fused kernels, by Transformer Engine or its own", |s| {
        s.recipe.kernels = Kernels::Fused
    });
    run.change("Megatron-LM’s cross-entropy is vocabulary-parallel", |s| {
        if !matches!(s.recipe.loss, LossHead::Classifier | LossHead::VocabularyParallelFused) {
            s.recipe.loss = LossHead::VocabularyParallel;
        }
    });
    run.change("Megatron-LM has Transformer Engine’s recipes: of DeepSeek-V3’s the block scaling", |s| {
        if s.recipe.fp8 == Fp8::DeepSeekV3 {
            s.recipe.fp8 = Fp8::TeBlock;
        }
    });
    run.change("Megatron-LM updates in one kernel", |s| s.recipe.step = StepKernel::Fused);
    run.change("Megatron-LM has Adam, SGD, Lion and Muon: Adam stands in", |s| {
        if matches!(s.recipe.optimizer, Optimizer::Adam8bit | Optimizer::Adafactor | Optimizer::AdafactorTorch) {
            s.recipe.optimizer = Optimizer::AdamW;
        }
    });
    run.change("Megatron’s FSDP knows Adam and SGD: the state of others is divided, their gradients are not", |s| {
        let fsdp = s.cluster.zero >= ZeroStage::Stage2;
        if fsdp && matches!(s.recipe.optimizer, Optimizer::Lion | Optimizer::Muon) {
            s.cluster.zero = ZeroStage::Stage1;
        }
    });
    run.change("Megatron-LM recomputes whole layers or the attention scores: all layers here", |s| {
        if s.recipe.recomputation == Recomputation::Operators {
            s.recipe.recomputation = Recomputation::Full;
        }
    });
    run.recomputes_first_layers(PROGRAM);
    run.keeps_activations_on_the_gpu("Megatron-LM with recomputed layers");
    run.change("Megatron-LM trains every weight", |s| s.recipe.adapter = Adapter::None);
    run.change("Megatron-LM’s optimizer goes to the host with the distributed optimizer", |s| {
        if s.recipe.offload == Offload::Optimizer && s.cluster.zero == ZeroStage::Stage0 {
            s.cluster.zero = ZeroStage::Stage1;
        }
    });
    run.change("sequence parallelism needs tensor parallelism", |s| {
        if s.cluster.tensor_parallel == 1 {
            s.cluster.sequence_parallel = Switch::Off;
        }
    });
    run.change("Megatron-LM’s norms are LayerNorm and RMSNorm, with weights", |s| {
        s.model.norm = match s.model.norm {
            Norm::Plain | Norm::LayerNorm | Norm::LayerNormFull => Norm::LayerNorm,
            Norm::RmsNorm | Norm::RmsNormFull => Norm::RmsNorm,
        };
    });
    run.change("Megatron-LM’s layers have two norms", |s| s.model.norms = 2);
    run.change("in Megatron-LM’s layers the feed-forward block stands behind attention", |s| {
        s.model.parallel = Switch::Off;
    });
    run.change("Megatron-LM has no flag for ReLU, only for its square: GELU stands in", |s| {
        if s.model.mlp == Mlp::Relu {
            s.model.mlp = Mlp::Gelu;
        }
    });
    run.change("Megatron-LM norms queries and keys head by head", |s| {
        if s.model.qk_norm == QkNorm::Full {
            s.model.qk_norm = QkNorm::Head;
        }
    });
    run.change("Megatron-LM caps no logits", |s| s.model.soft_cap = Switch::Off);
    if run.now().recipe.loss == LossHead::Classifier {
        run.differs(format!("{PROGRAM}’s pretrain_gpt.py has a vocabulary and no classifier."));
    }
}

/// The flags, one or one and its value a line.
fn flags(now: &Scenario, micro_batch: u32, global_batch: u64) -> Vec<String> {
    let Scenario { model, recipe, cluster, .. } = now;
    let mut flags: Vec<String> = Vec::new();
    let mut number = |flag: &str, value: u64| flags.push(format!("--{flag} {value}"));
    number("micro-batch-size", micro_batch.into());
    number("global-batch-size", global_batch);
    number("seq-length", recipe.sequence.into());
    // A learned table has its own length; without one this is only a limit.
    number("max-position-embeddings", recipe.sequence.max(model.positions).into());
    number("num-layers", model.layers.into());
    number("hidden-size", model.hidden.into());
    number("ffn-hidden-size", model.feed_forward.into());
    number("num-attention-heads", model.heads.into());
    number("kv-channels", model.head_dim.into());
    number("vocab-size", model.vocabulary.into());
    number("tensor-model-parallel-size", cluster.tensor_parallel.into());
    number("pipeline-model-parallel-size", cluster.pipeline_parallel.into());
    number("context-parallel-size", cluster.context_parallel.into());
    let mut push = |flag: &str| flags.push(format!("--{flag}"));
    if cluster.pipeline_parallel > 1 {
        if cluster.virtual_stages > 1 {
            push(&format!("num-virtual-stages-per-pipeline-rank {}", cluster.virtual_stages));
        }
        if cluster.first_stage_layers > 0 {
            push(&format!("decoder-first-pipeline-num-layers {}", cluster.first_stage_layers));
        }
        if cluster.last_stage_layers > 0 {
            push(&format!("decoder-last-pipeline-num-layers {}", cluster.last_stage_layers));
        }
    }
    if model.kv_heads != model.heads && model.latent.kv_rank == 0 {
        push("group-query-attention");
        push(&format!("num-query-groups {}", model.kv_heads));
    }
    if cluster.sequence_parallel.is_on() {
        push("sequence-parallel");
    }
    if now.recipe.loss == LossHead::VocabularyParallelFused {
        push("cross-entropy-loss-fusion");
        push("cross-entropy-fusion-impl native");
    }
    push(match model.norm {
        Norm::RmsNorm | Norm::RmsNormFull => "normalization RMSNorm",
        Norm::LayerNorm | Norm::LayerNormFull | Norm::Plain => "normalization LayerNorm",
    });
    push(match model.position {
        Position::Rotary | Position::PartialRotary => "position-embedding-type rope",
        Position::Learned => "position-embedding-type learned_absolute",
        Position::None | Position::Relative => "position-embedding-type none",
    });
    if model.position == Position::PartialRotary {
        push("rotary-percent 0.5");
    }
    if model.mlp.is_gated() {
        push("swiglu");
    }
    match model.bias {
        Bias::All => {}
        Bias::Qkv => {
            push("disable-bias-linear");
            push("add-qkv-bias");
        }
        Bias::None => push("disable-bias-linear"),
    }
    if !model.tied_embeddings.is_on() {
        push("untie-embeddings-and-output-weights");
    }
    if model.qk_norm != QkNorm::Off {
        push("qk-layernorm");
    }
    if model.latent.kv_rank > 0 {
        push("multi-latent-attention");
        push(&format!("kv-lora-rank {}", model.latent.kv_rank));
        if model.latent.query_rank > 0 {
            push(&format!("q-lora-rank {}", model.latent.query_rank));
        }
        push(&format!("qk-head-dim {}", model.head_dim));
        push(&format!("v-head-dim {}", model.head_dim));
        push(&format!("qk-pos-emb-head-dim {}", model.latent.rope_dim));
    }
    if model.experts.count > 0 {
        push(&format!("num-experts {}", model.experts.count));
        push(&format!("moe-router-topk {}", model.experts.active.min(model.experts.count)));
        push(&format!("moe-ffn-hidden-size {}", model.expert_width()));
        if model.experts.shared_width > 0 {
            push(&format!("moe-shared-expert-intermediate-size {}", model.experts.shared_width));
        }
        if model.experts.dense_layers > 0 {
            let dense = model.experts.dense_layers.min(model.layers);
            push(&format!("moe-layer-freq '([0]*{dense}+[1]*{})'", model.layers - dense));
        }
        push("moe-grouped-gemm");
        push(&format!("expert-model-parallel-size {}", cluster.expert_parallel));
    }
    push(match recipe.attention {
        AttentionKernel::Flash => "attention-backend flash",
        AttentionKernel::Eager => "attention-backend unfused",
    });
    let dropout = if recipe.dropout.is_on() { "0.1" } else { "0.0" };
    push(&format!("attention-dropout {dropout}"));
    push(&format!("hidden-dropout {dropout}"));
    match recipe.precision {
        Precision::Fp32 => {}
        Precision::Fp16 => {
            push("fp16");
            if recipe.gradients == GradientType::Full {
                push("accumulate-allreduce-grads-in-fp32");
            }
        }
        _ => {
            push("bf16");
            // Without either flag it adds bf16 gradients up in fp32.
            push(match recipe.gradients {
                GradientType::Half => "grad-reduce-in-bf16",
                GradientType::Full => "accumulate-allreduce-grads-in-fp32",
            });
        }
    }
    // `fp8` and `fp8_recipe` of megatron/core/transformer/transformer_config.py.
    if let Some(scaling) = match recipe.fp8 {
        Fp8::TeDelayed => Some("delayed"),
        Fp8::TeCurrent => Some("tensorwise"),
        Fp8::TeBlock => Some("blockwise"),
        Fp8::TeMxfp8 => Some("mxfp8"),
        _ => None,
    } {
        push(if matches!(recipe.fp8, Fp8::TeBlock | Fp8::TeMxfp8) { "fp8-format e4m3" } else { "fp8-format hybrid" });
        push(&format!("fp8-recipe {scaling}"));
    }
    match recipe.recomputation {
        Recomputation::None => {}
        Recomputation::Selective => push("recompute-granularity selective"),
        Recomputation::Block => {
            push("recompute-granularity full");
            push("recompute-method block");
            push(&format!("recompute-num-layers {}", recipe.recomputed_layers));
        }
        Recomputation::Full | Recomputation::Operators | Recomputation::EveryK | Recomputation::KthLayer => {
            let together =
                if recipe.recomputation == Recomputation::EveryK { recipe.every.min(model.layers) } else { 1 };
            push("recompute-granularity full");
            push("recompute-method uniform");
            push(&format!("recompute-num-layers {together}"));
        }
    }
    match recipe.optimizer {
        Optimizer::Lion => push("optimizer lion"),
        Optimizer::Muon => push("optimizer muon"),
        Optimizer::Momentum => {
            push("optimizer sgd");
            push("sgd-momentum 0.9");
        }
        Optimizer::Sgd => {
            push("optimizer sgd");
            push("sgd-momentum 0.0");
        }
        _ => push("optimizer adam"),
    }
    if recipe.offload == Offload::Optimizer {
        push("optimizer-cpu-offload");
        push("use-precision-aware-optimizer");
    }
    if sharing(now) > 1 || recipe.offload == Offload::Optimizer {
        match cluster.zero {
            ZeroStage::Stage0 => {}
            ZeroStage::Stage1 => push("use-distributed-optimizer"),
            ZeroStage::Stage2 | ZeroStage::Stage3 => {
                push("use-distributed-optimizer");
                push("use-megatron-fsdp");
                push(match cluster.zero {
                    ZeroStage::Stage2 => "data-parallel-sharding-strategy optim_grads",
                    _ => "data-parallel-sharding-strategy optim_grads_params",
                });
                push("no-gradient-accumulation-fusion");
                push("ckpt-format fsdp_dtensor");
            }
        }
    }
    flags
}
