//! DeepSpeed's JSON configuration.
//!
//! JSON has no comments. DeepSpeed passes over keys it does not know at the top level, and so do the
//! Trainer and Lightning, so that what would be a comment is the list under `_comment`.
//! Keys as in deepspeed 0.19.8, `deepspeed/runtime/config.py` and the models it reads with.

use super::Card;
use super::run::{Planned, Run, Says, machines, shards};
use super::text::{EXPANDABLE, Spelling, Value, expandable, half_flag, half_type};
use crate::read::Format;
use crate::{
    Adapter, AdapterType, Engine, GradientType, LossHead, Optimizer, Precision, Recomputation, Scenario, StepKernel,
    Switch, Unquantized, ZeroStage, estimate,
};

/// Where DeepSpeed is called from, which decides who says the learning rate.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Caller {
    /// `deepspeed.initialize`.
    Own,
    /// The Trainer of transformers, which fills in what is “auto”.
    Trainer,
    /// Lightning, which says the accumulation itself and gets the optimizer from the module.
    Lightning,
}

pub(super) const CARD: Card = Card {
    key: "deepspeed",
    name: "DeepSpeed",
    file_name: "ds_config.json",
    media_type: "application/json",
    describe: "A DeepSpeed configuration, for deepspeed.initialize or the Trainer’s deepspeed argument.",
    readers: &[Format::DeepSpeed],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::that_says(scenario, &Says { parameters: true, ..Says::NOTHING });
    adapt(&mut run);
    let now = *run.now();
    let cluster = &now.cluster;
    if cluster.pipeline_parallel > 1 {
        let stages = cluster.pipeline_parallel;
        run.elsewhere(format!(
            "{stages} pipeline stages: PipelineModule(layers, num_stages={stages}, partition_method=\"uniform\") in your \
             code; its engine works through the accumulation steps as the micro-batches of the pipeline."
        ));
    }
    if cluster.context_parallel > 1 {
        run.elsewhere(format!(
            "{} GPUs share a sequence: UlyssesSPAttentionHF.register_with_transformers before the model is loaded, and \
             UlyssesSPDataLoaderAdapter around the data loader.",
            cluster.context_parallel
        ));
    }
    run.elsewhere(format!("Sequences of {} tokens: your data set.", now.recipe.sequence));
    loaded(&mut run, &now);
    recomputation(&mut run, &now);
    in_the_model(&mut run, &now);
    run.logits_in_the_loop("engine.backward(loss)");
    run.routing();
    if expandable(&now) {
        // The launcher hands on what begins with one of a few words (EXPORT_ENVS of launcher/runner.py).
        let far = if machines(run.plan().world).0 > 1 {
            "; on several machines a line of ~/.deepspeed_env, because the launcher does not hand it on"
        } else {
            ""
        };
        run.elsewhere(format!("Expandable segments: {EXPANDABLE} deepspeed …{far}."));
    }
    gathered_layers(&mut run, &now);
    in_one_bucket(&mut run, &now);
    if own_optimizer(now.recipe.optimizer).is_some() {
        run.elsewhere("The learning rate below is a placeholder; memory does not depend on it.");
    } else {
        run.elsewhere(format!(
            "The optimizer: pass {} to deepspeed.initialize, which knows none of that name.",
            client_optimizer(now.recipe.optimizer)
        ));
    }
    let planned = run.plan();
    let comment = run.head(page, "deepspeed 0.19.8");
    let comment = comment.into_iter().filter(|line| !line.is_empty()).map(Value::from).collect();
    let mut keys = vec![("_comment", Value::List(comment))];
    keys.extend(config(&planned, Caller::Own));
    Value::Map(keys).pretty(Spelling::Json, 0) + "\n"
}

/// Takes away what DeepSpeed cannot do, wherever it is called from.
pub(super) fn adapt(run: &mut Run) {
    run.carried_out_by(Engine::DeepSpeed);
    run.without_interleaving("DeepSpeed");
    run.with_even_stages("DeepSpeed’s PipelineModule divides layers evenly, or by their weights");
    run.reshards_always("DeepSpeed");
    run.casts_frozen_weights("DeepSpeed’s bf16 or fp16");
    run.change("DeepSpeed does not cast fp32 weights as it gathers them: torch_autocast casts for each product", |s| {
        if s.recipe.precision == Precision::Mixed {
            s.recipe.precision = Precision::Autocast;
        }
    });
    run.change("DeepSpeed swaps optimizer state to the host, adds gradients up in fp32 and drops the master copy from ZeRO 1 on", |s| {
        let offloaded = s.recipe.offload.takes_optimizer();
        let master = matches!(s.recipe.precision, Precision::Bf16 | Precision::Fp16);
        let added_up = master && s.recipe.gradients == GradientType::Full;
        let pure = s.recipe.precision == Precision::PureBf16;
        if s.cluster.zero == ZeroStage::Stage0 && (offloaded || added_up || pure) {
            s.cluster.zero = ZeroStage::Stage1;
        }
    });
    run.change("DeepSpeed’s pipeline goes with ZeRO 1 at most", |s| {
        if s.cluster.pipeline_parallel > 1 && s.cluster.zero > ZeroStage::Stage1 {
            s.cluster.zero = ZeroStage::Stage1;
        }
    });
    run.change(
        "DeepSpeed’s tensor parallelism goes with ZeRO 2 at most in versions before 0.19.4: stage 2 here",
        |s| {
            // `_configure_tensor_parallel_states` in runtime/engine.py.
            if s.cluster.tensor_parallel > 1 && s.cluster.zero == ZeroStage::Stage3 {
                s.cluster.zero = ZeroStage::Stage2;
            }
        },
    );
    run.change(
        "DeepSpeed divides sequences beside neither tensor parallelism nor a pipeline: these GPUs become data-parallel",
        |s| {
            // `self.mpu = groups` in runtime/engine.py, and `assert mpu is None` in deepspeed/__init__.py.
            if s.cluster.tensor_parallel > 1 || s.cluster.pipeline_parallel > 1 {
                s.cluster.context_parallel = 1;
            }
        },
    );
    run.change("DeepSpeed divides experts or sequences under ZeRO 3: experts here", |s| {
        // `_validate_zero3_moe_compatibility` in runtime/engine.py.
        if s.cluster.expert_parallel > 1 && s.model.experts.count > 0 && s.cluster.zero == ZeroStage::Stage3 {
            s.cluster.context_parallel = 1;
        }
    });
    run.change("DeepSpeed’s ZeRO 1 that adds bf16 gradients up in fp32 has an fp32 master copy: in bf16 here", |s| {
        // It takes BF16_Optimizer then (`_do_optimizer_sanity_check` in runtime/engine.py).
        if s.recipe.precision == Precision::PureBf16 && s.cluster.zero == ZeroStage::Stage1 {
            s.recipe.gradients = GradientType::Half;
        }
    });
    run.change("DeepSpeed keeps bf16 states on the host for Adam alone: AdamW stands in", |s| {
        // `_enforce_cpu_offload` in runtime/zero/stage_1_and_2.py, and its like in stage3.py.
        let offloaded = s.recipe.offload.takes_optimizer();
        if offloaded && s.recipe.precision == Precision::PureBf16 {
            s.recipe.optimizer = Optimizer::AdamW;
        }
    });
    run.change("DeepSpeed’s tensor parallelism does not divide what lies between the matrices", |s| {
        s.cluster.sequence_parallel = Switch::Off;
    });
    run.change("DeepSpeed’s own optimizers update in one kernel", |s| {
        let has_choice = matches!(s.recipe.optimizer, Optimizer::AdamW);
        if s.recipe.step == StepKernel::Loop && own_optimizer(s.recipe.optimizer).is_some()
            || s.recipe.step == StepKernel::Foreach && own_optimizer(s.recipe.optimizer).is_some() && !has_choice
        {
            s.recipe.step = StepKernel::Fused;
        }
    });
}

/// What the keys of ZeRO 3 are for.
pub(super) fn gathered_layers(run: &mut Run, now: &Scenario) {
    if gathers(now) {
        run.elsewhere(
            "ZeRO 3 keeps up to 1,000 million gathered weights that are read again soon, which is DeepSpeed’s default \
             and counted. Smaller stage3_max_live_parameters and stage3_max_reuse_distance give up to 2 GB back, for \
             more communication.",
        );
    }
}

/// The type that a model is loaded in; by itself transformers 5 takes that of the checkpoint.
pub(super) const fn loaded_in(scenario: &Scenario) -> &'static str {
    match (scenario.recipe.precision, scenario.recipe.adapter) {
        (Precision::Mixed | Precision::Autocast, Adapter::None) | (Precision::Fp32, _) | (_, Adapter::LoraFp32) => {
            "float32"
        }
        _ => half_type(scenario),
    }
}

/// The type of the weights, where the program leaves them in the one they were loaded in.
pub(super) fn loaded(run: &mut Run, now: &Scenario) {
    let cast = matches!(now.recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
    if !cast || now.recipe.adapter != Adapter::None {
        let what = if now.recipe.adapter == Adapter::None { "Weights" } else { "Frozen weights" };
        let dtype = loaded_in(now);
        run.elsewhere(format!("{what} in {dtype}: load the model with dtype=\"{dtype}\"."));
    }
}

/// What DeepSpeed’s pipeline does with its buckets: `setup_buckets` makes the second only where communication
/// overlaps, and `reduce_gradients` makes one for the reduction (runtime/zero/stage_1_and_2.py).
fn in_one_bucket(run: &mut Run, now: &Scenario) {
    // BF16_Optimizer has none.
    let counted = || estimate(now).entries.iter().any(|entry| entry.name == "Reduction buckets");
    if now.cluster.pipeline_parallel > 1 && now.cluster.zero == ZeroStage::Stage1 && counted() {
        run.differs(
            "DeepSpeed’s pipeline does not overlap the reduction: until the last backward pass it holds one of the two \
             buckets that are counted.",
        );
    }
}

fn recomputation(run: &mut Run, now: &Scenario) {
    let swapped = now.recipe.offload.takes_activations();
    let checkpoint = "deepspeed.checkpointing.checkpoint";
    match now.recipe.recomputation {
        Recomputation::None => {}
        Recomputation::Full if swapped => {
            run.elsewhere(format!("Recomputation: wrap every layer in {checkpoint}, which reads the keys below."));
        }
        Recomputation::Full => run
            .elsewhere("Recomputation: model.gradient_checkpointing_enable(), or torch’s checkpoint, on every layer."),
        Recomputation::EveryK => {
            let every = now.recipe.every;
            run.elsewhere(format!("Recomputation: wrap {every} layers at a time in {checkpoint}."));
        }
        Recomputation::KthLayer => {
            let every = now.recipe.every;
            run.elsewhere(format!(
                "Recomputation: wrap the layers that {every} divides in {checkpoint}, each by itself."
            ));
        }
        Recomputation::Block => {
            let layers = now.recipe.recomputed_layers;
            run.elsewhere(format!("Recomputation: wrap the first {layers} layers of each stage in {checkpoint}."));
        }
        Recomputation::Selective => run.elsewhere(
            "Recomputation of attention scores: flash attention does it by itself; with eager attention wrap the \
             scores in torch’s checkpoint.",
        ),
        Recomputation::Operators => run.elsewhere(
            "Recomputation of every second product: torch’s create_selective_checkpoint_contexts in the model’s code.",
        ),
    }
}

/// The configuration of bitsandbytes that the weights are loaded with, an argument each; none where they are
/// not quantized. Without a type to compute in bitsandbytes would make fp32 matrices of them, and a storage
/// of whole bytes is nothing that FSDP or ZeRO 3 divide.
pub(super) fn quantization(scenario: &Scenario) -> Option<Vec<String>> {
    match scenario.recipe.adapter {
        Adapter::Qlora => {
            let computed = if scenario.recipe.precision == Precision::Fp32 { "float32" } else { half_type(scenario) };
            Some(vec![
                "load_in_4bit=True".to_owned(),
                "bnb_4bit_quant_type=\"nf4\"".to_owned(),
                "bnb_4bit_use_double_quant=True".to_owned(),
                format!("bnb_4bit_compute_dtype=\"{computed}\""),
                format!("bnb_4bit_quant_storage=\"{computed}\""),
            ])
        }
        Adapter::Lora8 => Some(vec!["load_in_8bit=True".to_owned()]),
        Adapter::None | Adapter::Lora | Adapter::LoraFp32 => None,
    }
}

/// How peft casts what is not quantized to fp32. By default it would switch recomputation on as well
/// (`prepare_model_for_kbit_training` in peft 0.21.2, utils/other.py).
pub(super) const CAST_UNQUANTIZED: &str =
    "peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)";

/// What the model and not its trainer decides.
pub(super) fn in_the_model(run: &mut Run, now: &Scenario) {
    use crate::{AttentionKernel, Choice, Kernels};
    let recipe = &now.recipe;
    run.elsewhere(match now.recipe.attention {
        AttentionKernel::Flash => "Flash attention: F.scaled_dot_product_attention, attn_implementation=\"sdpa\".",
        AttentionKernel::Eager => "Eager attention: attn_implementation=\"eager\".",
    });
    if now.recipe.kernels == Kernels::Fused {
        run.elsewhere("Fused kernels: torch.compile, or Liger kernels, on the model.");
    }
    if now.recipe.dropout.is_on() {
        run.elsewhere("Dropout: the model’s configuration; its masks are counted.");
    }
    if recipe.loss != LossHead::Plain {
        let by = match recipe.loss {
            LossHead::Kernel => ", with flash-attn’s CrossEntropyLoss(inplace_backward=False)",
            LossHead::KernelInPlace => ", with Liger’s LigerCrossEntropyLoss",
            LossHead::Fused => ", with Liger’s LigerFusedLinearCrossEntropyLoss",
            LossHead::Tiled => ", with add_fused_lm_head of trl 1.16",
            LossHead::MaskedLm => ", AutoModelForMaskedLM",
            LossHead::Classifier => ", AutoModelForSequenceClassification",
            LossHead::Chunked | LossHead::ChunkedHead => &format!(", in {} chunks", recipe.chunks),
            LossHead::Plain | LossHead::VocabularyParallel | LossHead::VocabularyParallelFused => "",
        };
        run.elsewhere(format!("The loss head, “{}”: the model’s code{by}.", recipe.loss.label()));
    }
    if recipe.adapter != Adapter::None {
        let dropout = if recipe.adapter_dropout.is_on() {
            "with a lora_dropout, whose number does not matter for memory"
        } else {
            "with lora_dropout=0"
        };
        run.elsewhere(format!(
            "{} of rank {} on {}: peft’s get_peft_model before training starts, {dropout}.",
            recipe.adapter.label(),
            recipe.rank,
            recipe.targets.label()
        ));
        if recipe.precision != Precision::Fp32 {
            run.elsewhere(match (recipe.adapter_type, recipe.adapter) {
                (AdapterType::Full, _) => "Adapters in fp32: get_peft_model makes them so.",
                // `_move_adapter_to_device_of_base_layer` in peft’s tuners/tuners_utils.py casts to no whole number.
                (AdapterType::Half, Adapter::Lora8) => {
                    "Adapters in 16 bits: beside 8-bit weights peft makes them in fp32 even with \
                     autocast_adapter_dtype=False; cast every parameter with “lora_” in its name."
                }
                (AdapterType::Half, _) => "Adapters in 16 bits: get_peft_model(…, autocast_adapter_dtype=False).",
            });
        }
        if let Some(arguments) = quantization(now) {
            let bits = if recipe.adapter == Adapter::Qlora { 4 } else { 8 };
            run.elsewhere(format!(
                "Weights in {bits} bits: load the model with quantization_config=BitsAndBytesConfig({}).",
                arguments.join(", ")
            ));
            run.elsewhere(match recipe.unquantized {
                Unquantized::Half => {
                    "Embedding, head and norms in 16 bits: without peft’s prepare_model_for_kbit_training.".to_owned()
                }
                Unquantized::Full => format!(
                    "Embedding, head and norms in fp32: {CAST_UNQUANTIZED}, which would switch recomputation on otherwise."
                ),
            });
        }
    }
}

/// The optimizer’s name in DeepSpeed, where it has one of its own.
const fn own_optimizer(optimizer: Optimizer) -> Option<&'static str> {
    match optimizer {
        Optimizer::AdamW => Some("AdamW"),
        Optimizer::Lion => Some("Lion"),
        Optimizer::Muon => Some("Muon"),
        _ => None,
    }
}

pub(super) const fn client_optimizer(optimizer: Optimizer) -> &'static str {
    match optimizer {
        Optimizer::Adam8bit => "bitsandbytes.optim.AdamW8bit",
        Optimizer::Adafactor => "transformers.Adafactor",
        Optimizer::AdafactorTorch => "torch.optim.Adafactor",
        Optimizer::Momentum => "torch.optim.SGD with momentum",
        Optimizer::Sgd => "torch.optim.SGD",
        Optimizer::AdamW | Optimizer::Lion | Optimizer::Muon => "its own",
        Optimizer::PagedAdam8bit => "bitsandbytes.optim.PagedAdamW8bit",
        Optimizer::Adam8bitTorchao => "torchao.optim.AdamW8bit",
        Optimizer::Adam4bit => "torchao.optim.AdamW4bit",
        Optimizer::AdamFp8 => "torchao.optim.AdamWFp8",
        Optimizer::Galore => "galore_torch.GaLoreAdamW",
        Optimizer::Galore8bit => "galore_torch.GaLoreAdamW8bit",
        Optimizer::Apollo => "apollo_torch.APOLLOAdamW",
        Optimizer::Shampoo => "distributed_shampoo.DistributedShampoo",
        Optimizer::Soap => "soap.SOAP",
    }
}

/// The keys that DeepSpeed reads, for a plan that [`adapt`] has been through.
pub(super) fn config(planned: &Planned, caller: Caller) -> Vec<(&'static str, Value)> {
    let Scenario { recipe, cluster, .. } = planned.scenario;
    let mut keys: Vec<(&'static str, Value)> = vec![("train_micro_batch_size_per_gpu", planned.micro_batch.into())];
    if caller != Caller::Lightning {
        keys.insert(0, ("train_batch_size", planned.global_batch.into()));
        keys.push(("gradient_accumulation_steps", planned.steps.into()));
    }
    keys.push(("zero_optimization", zero(&planned.scenario)));
    keys.extend(precision(&planned.scenario));
    let rate = match caller {
        Caller::Own => Some(Value::from(1e-4)),
        Caller::Trainer => Some("auto".into()),
        Caller::Lightning => None,
    };
    if let (Some(name), Some(rate)) = (own_optimizer(recipe.optimizer), rate) {
        keys.push(("optimizer", optimizer(name, &planned.scenario, rate)));
    } else {
        keys.push(("zero_allow_untested_optimizer", true.into()));
        if recipe.offload.takes_optimizer() {
            keys.push(("zero_force_ds_cpu_optimizer", false.into()));
        }
    }
    if recipe.offload.takes_activations() && caller == Caller::Own {
        let checkpointing = vec![("partition_activations", false.into()), ("cpu_checkpointing", true.into())];
        keys.push(("activation_checkpointing", Value::Map(checkpointing)));
    }
    if cluster.tensor_parallel > 1 {
        keys.push(("tensor_parallel", Value::Map(vec![("autotp_size", cluster.tensor_parallel.into())])));
    }
    if cluster.context_parallel > 1 {
        keys.push(("sequence_parallel_size", cluster.context_parallel.into()));
    }
    if cluster.expert_parallel > 1 {
        let experts = vec![("enabled", true.into()), ("autoep_size", cluster.expert_parallel.into())];
        keys.push(("expert_parallel", Value::Map(experts)));
    }
    keys
}

fn zero(scenario: &Scenario) -> Value {
    let stage = match scenario.cluster.zero {
        ZeroStage::Stage0 => 0_u32,
        ZeroStage::Stage1 => 1,
        ZeroStage::Stage2 => 2,
        ZeroStage::Stage3 => 3,
    };
    let mut keys: Vec<(&'static str, Value)> = vec![("stage", stage.into())];
    if stage > 0 {
        // One bucket fills while the other is on its way: two are counted for stages 1 and 2. A pipeline
        // switches that off with a warning (`_configure_zero_optimizer` in runtime/engine.py).
        keys.push(("overlap_comm", (scenario.cluster.pipeline_parallel == 1).into()));
        keys.push(("contiguous_gradients", true.into()));
        keys.push(("reduce_bucket_size", bucket(scenario).into()));
    }
    if scenario.cluster.zero == ZeroStage::Stage3 {
        keys.push(("sub_group_size", SUB_GROUP.into()));
    }
    if gathers(scenario) {
        keys.push(("stage3_max_live_parameters", LIVE_WEIGHTS.into()));
        keys.push(("stage3_max_reuse_distance", LIVE_WEIGHTS.into()));
        keys.push(("stage3_prefetch_bucket_size", PREFETCHED.into()));
        keys.push(("stage3_param_persistence_threshold", PERSISTENT.into()));
    }
    if scenario.recipe.offload.takes_optimizer() {
        let host = Value::Map(vec![("device", "cpu".into()), ("pin_memory", true.into())]);
        keys.push(("offload_optimizer", host));
    }
    if scenario.recipe.offload.takes_parameters() {
        let host = Value::Map(vec![("device", "cpu".into()), ("pin_memory", true.into())]);
        keys.push(("offload_param", host));
    }
    Value::Map(keys)
}

/// Elements of the reduction bucket.
pub(super) fn bucket(scenario: &Scenario) -> u64 {
    u64::from(scenario.cluster.reduce_bucket) * 1_000_000
}

/// Whether layers are gathered for their products.
fn gathers(scenario: &Scenario) -> bool {
    scenario.cluster.zero == ZeroStage::Stage3 && shards(scenario)
}

/// Weights that ZeRO 3 keeps gathered, as the ledger counts them: DeepSpeed's own default
/// (runtime/zero/config.py).
const LIVE_WEIGHTS: u64 = 1_000_000_000;
/// Weights that it gathers ahead, likewise.
const PREFETCHED: u64 = 50_000_000;
/// Weights up to which a tensor is not divided, likewise: norms and biases, which are too small to count.
const PERSISTENT: u64 = 100_000;
/// Weights that its step takes at a time, likewise.
const SUB_GROUP: u64 = 1_000_000_000;

fn precision(scenario: &Scenario) -> Vec<(&'static str, Value)> {
    let accumulated = |half: &'static str| {
        let word = if scenario.recipe.gradients == GradientType::Full { "fp32" } else { half };
        ("data_types", Value::Map(vec![("grad_accum_dtype", word.into())]))
    };
    let on = || ("enabled", Value::from(true));
    match scenario.recipe.precision {
        Precision::Bf16 | Precision::Fp16 => {
            let half = half_flag(scenario);
            vec![(half, Value::Map(vec![on()])), accumulated(half)]
        }
        Precision::PureBf16 => {
            let states = [("bf16_master_weights_and_grads", true.into()), ("bf16_optimizer_states", true.into())];
            let keys = std::iter::once(on()).chain(states).collect();
            vec![("bf16", Value::Map(keys)), accumulated("bf16")]
        }
        Precision::Mixed | Precision::Autocast => {
            vec![("torch_autocast", Value::Map(vec![on(), ("dtype", half_type(scenario).into())]))]
        }
        Precision::Fp32 => Vec::new(),
    }
}

fn optimizer(name: &'static str, scenario: &Scenario, rate: Value) -> Value {
    let mut params = vec![("lr", rate)];
    if scenario.recipe.step == StepKernel::Foreach && scenario.recipe.optimizer == Optimizer::AdamW {
        params.push(("torch_adam", true.into()));
    }
    Value::Map(vec![("type", name.into()), ("params", Value::Map(params))])
}
