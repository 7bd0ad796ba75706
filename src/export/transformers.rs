//! `TrainingArguments` of Hugging Face transformers, with what belongs to the model beside them.
//!
//! Fields as in transformers 5.23.0, `training_args.py`. What the Trainer shards it shards with FSDP,
//! or with DeepSpeed where the scenario asks for it, keeps an fp32 master copy, shards optimizer state
//! alone or keeps it on the host, none of which FSDP does.

use super::Card;
use super::deepspeed::{self, CAST_UNQUANTIZED, Caller, loaded_in, quantization};
use super::run::{Resharding, Run, Says, resharding, shards};
use super::text::{Spelling, Value, allocator_in_python, commented, half_flag, quoted};
use crate::read::Format;
use crate::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, Engine as Program, Kernels, LossHead, Optimizer, Packing,
    Precision, Recomputation, Scenario, StepKernel, Unquantized, ZeroStage,
};

/// What divides model states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Engine {
    /// Nothing: one GPU, or DistributedDataParallel.
    Replicated,
    /// Fully sharded data parallel.
    Fsdp,
    /// DeepSpeed's ZeRO.
    DeepSpeed,
}

impl Engine {
    /// The engine that comes closest to the scenario.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let master = matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16);
        let offloaded = scenario.recipe.offload.takes_optimizer();
        let stage_1 = scenario.cluster.zero == ZeroStage::Stage1;
        let asked_for = scenario.cluster.engine == Program::DeepSpeed;
        if asked_for || master || offloaded || stage_1 && shards(scenario) {
            Self::DeepSpeed
        } else if shards(scenario) {
            Self::Fsdp
        } else {
            Self::Replicated
        }
    }

    /// The program behind it.
    pub(super) const fn program(self) -> Program {
        match self {
            Self::Replicated | Self::Fsdp => Program::Torch,
            Self::DeepSpeed => Program::DeepSpeed,
        }
    }
}

/// The Trainer's: where matrices or sequences are divided it is FSDP, which alone goes with that.
fn engine(scenario: &Scenario) -> Engine {
    if scenario.cluster.group() > 1 && shards(scenario) { Engine::Fsdp } else { Engine::of(scenario) }
}

const PROGRAM: &str = "the Trainer";

/// Optimizers that `optim` has words for beside the usual ones (`OptimizerNames` in training_args.py).
const OPTIMIZERS: &[Optimizer] = &[
    Optimizer::PagedAdam8bit,
    Optimizer::Adam8bitTorchao,
    Optimizer::Adam4bit,
    Optimizer::Galore,
    Optimizer::Galore8bit,
    Optimizer::Apollo,
];

/// Takes away what the Trainer cannot do, and says what divides model states then.
pub(super) fn prepare(run: &mut Run) -> Engine {
    run.without_pipeline(PROGRAM);
    run.without_expert_parallel(PROGRAM);
    let engine = engine(run.now());
    if engine != Engine::Fsdp {
        run.without_tensor_parallel("the Trainer without FSDP");
        run.without_context_parallel("the Trainer without FSDP");
    }
    // Another number of data-parallel GPUs may be what makes sharding possible.
    let engine = if engine == Engine::Replicated { Engine::of(run.now()) } else { engine };
    debug_assert!(engine == Engine::Fsdp || run.now().cluster.group() == 1, "only FSDP keeps groups");
    adapt(run, engine);
    engine
}

pub(super) const CARD: Card = Card {
    key: "transformers",
    name: "Hugging Face Trainer",
    file_name: "training_arguments.py",
    media_type: "text/x-python",
    describe: "TrainingArguments of Hugging Face transformers, as a Python file to import.",
    readers: &[Format::Transformers],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::that_says(scenario, &Says { optimizers: OPTIMIZERS, ..Says::NOTHING });
    let engine = prepare(&mut run);
    let now = *run.now();
    if now.recipe.dropout.is_on() {
        run.elsewhere("Dropout: the model’s configuration; its masks are counted.");
    }
    if now.model.origin.slug().is_none() {
        run.elsewhere("The model is your own: build it from your configuration.");
    }
    if now.recipe.recomputation == Recomputation::Full && engine != Engine::Fsdp {
        run.elsewhere("Older versions of transformers call activation_checkpointing gradient_checkpointing.");
    }
    if engine == Engine::DeepSpeed {
        deepspeed::gathered_layers(&mut run, &now);
    }
    let planned = run.plan();
    if planned.world > 1 {
        run.elsewhere(format!("{} processes: torchrun or accelerate launch starts them.", planned.world));
    }
    let head = commented(&run.head(page, "transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2"), "#");

    let mut imports = vec!["from transformers import TrainingArguments"];
    if now.recipe.adapter.is_quantized() {
        imports[0] = "from transformers import BitsAndBytesConfig, TrainingArguments";
    }
    let parallel = now.cluster.tensor_parallel > 1 || now.cluster.context_parallel > 1;
    if parallel {
        imports.insert(0, "from accelerate.parallelism_config import ParallelismConfig");
    }
    if now.recipe.adapter != Adapter::None {
        imports.insert(usize::from(parallel), "from peft import LoraConfig");
    }
    let own_optimizer = now.recipe.optimizer == Optimizer::AdafactorTorch;
    let torch = if own_optimizer { "import torch\n" } else { "" };
    let mut text = format!("{head}\n{}{torch}{}\n\n", allocator_in_python(&now), imports.join("\n"));
    text.push_str(&format!("# For {}.from_pretrained(name, **model_kwargs), or from_config.\n", model_class(&now)));
    text.push_str(&format!("model_kwargs = {}\n\n", model_kwargs(&now)));
    text.push_str("# Tokens of a sequence: what the tokenizer truncates and the collator pads to.\n");
    text.push_str(&format!("max_length = {}\n\n", now.recipe.sequence));
    if now.recipe.adapter != Adapter::None {
        text.push_str(&format!("{}\n\n", lora(&now)));
    }
    let mut arguments = vec![
        ("output_dir".to_owned(), "\"bmax-run\"".to_owned()),
        ("per_device_train_batch_size".to_owned(), planned.micro_batch.to_string()),
        ("gradient_accumulation_steps".to_owned(), planned.steps.to_string()),
    ];
    let mut push = |key: &str, value: String| arguments.push((key.to_owned(), value));
    match half(&now, engine) {
        "" => {}
        flag => push(flag, "True".to_owned()),
    }
    if let Some((optimizer, arguments_of_it)) = optimizer(&now) {
        push("optim", format!("\"{optimizer}\""));
        if let Some(words) = arguments_of_it {
            push("optim_args", format!("\"{words}\""));
        }
        if now.recipe.optimizer.projects() {
            push("optim_args", format!("\"rank={}\"", now.recipe.projection));
            push("optim_target_modules", "[r\".*attn.*\", r\".*mlp.*\"]".to_owned());
        }
    } else {
        // The argument of the Trainer goes before any optim.
        text.push_str(
            "# For Trainer(…, optimizer_cls_and_kwargs=optimizer_cls_and_kwargs): no optim is PyTorch’s Adafactor. The\n\
             # learning rate is a placeholder.\n",
        );
        text.push_str("optimizer_cls_and_kwargs = (torch.optim.Adafactor, {\"lr\": 1e-4})\n\n");
    }
    if now.recipe.recomputation == Recomputation::Full && engine != Engine::Fsdp {
        push("activation_checkpointing", "True".to_owned());
        push("activation_checkpointing_kwargs", "{\"use_reentrant\": False}".to_owned());
    }
    if now.recipe.kernels == Kernels::Fused {
        push("torch_compile", "True".to_owned());
    }
    if let Some(kernels) = liger(now.recipe.loss) {
        push("use_liger_kernel", "True".to_owned());
        push("liger_kernel_config", kernels.pretty(Spelling::Python, 1));
    }
    match engine {
        Engine::Replicated => {}
        Engine::Fsdp => {
            push("fsdp", "True".to_owned());
            push("fsdp_config", fsdp(&now).pretty(Spelling::Python, 1));
        }
        Engine::DeepSpeed => {
            let config = Value::Map(deepspeed::config(&planned, Caller::Trainer));
            push("deepspeed", config.pretty(Spelling::Python, 1));
        }
    }
    if parallel {
        push(
            "parallelism_config",
            format!(
                "ParallelismConfig(dp_shard_size={}, tp_size={}, cp_size={})",
                planned.data_parallel, now.cluster.tensor_parallel, now.cluster.context_parallel
            ),
        );
    }
    text.push_str("training_args = TrainingArguments(\n");
    for (key, value) in &arguments {
        text.push_str(&format!("    {key}={value},\n"));
    }
    text.push_str(")\n");
    text
}

/// The flag of the Trainer's 16-bit types; empty where none is set.
pub(super) fn half(now: &Scenario, engine: Engine) -> &'static str {
    match (now.recipe.precision, engine) {
        // DeepSpeed's autocast is its own; the Trainer's flag would be compared with "bf16".
        (Precision::Mixed | Precision::Autocast, Engine::DeepSpeed) | (Precision::Fp32, _) => "",
        (Precision::Mixed | Precision::Autocast, _) | (Precision::Bf16 | Precision::PureBf16, Engine::DeepSpeed) => {
            half_flag(now)
        }
        (Precision::Bf16 | Precision::PureBf16, _) => "",
        (Precision::Fp16, _) => "fp16",
    }
}

pub(super) fn adapt(run: &mut Run, engine: Engine) {
    run.carried_out_by(engine.program());
    run.with_experts_in_stacks();
    if engine != Engine::DeepSpeed {
        run.adds_up_as_autograd_does(PROGRAM);
        run.computes_under_autocast("the Trainer computes with frozen fp32 weights under autocast");
    }
    match engine {
        Engine::DeepSpeed => deepspeed::adapt(run),
        Engine::Fsdp => {
            run.change("FSDP casts fp32 weights as it gathers them and keeps no second master copy", |s| {
                if matches!(s.recipe.precision, Precision::Autocast | Precision::Bf16 | Precision::Fp16) {
                    s.recipe.precision = Precision::Mixed;
                }
            });
            run.change("the Trainer’s FSDP keeps optimizer state on the GPU, unless parameters leave it, too", |s| {
                if !s.recipe.offload.takes_parameters() {
                    s.recipe.offload = s.recipe.offload.without_optimizer();
                }
            });
            run.shards_gradients_with_states("FSDP");
            run.change("the Trainer’s tensor parallelism does not divide what lies between the matrices", |s| {
                s.cluster.sequence_parallel = crate::Switch::Off;
            });
            run.change("tensor and context parallelism go with full sharding", |s| {
                let parallel = s.cluster.tensor_parallel > 1 || s.cluster.context_parallel > 1;
                if parallel {
                    s.cluster.zero = ZeroStage::Stage3;
                }
            });
            run.reshards_to_no_group("the Trainer’s FSDP");
        }
        Engine::Replicated => {
            run.change("without FSDP the Trainer’s bf16 is autocast", |s| {
                if s.recipe.precision == Precision::Mixed {
                    s.recipe.precision = Precision::Autocast;
                }
            });
        }
    }
    run.recomputes_layers_only(PROGRAM);
    run.keeps_activations_on_the_gpu(PROGRAM);
    run.change("the Trainer has no optim for Muon: AdamW stands in", |s| {
        if s.recipe.optimizer == Optimizer::Muon && engine != Engine::DeepSpeed {
            s.recipe.optimizer = Optimizer::AdamW;
        }
    });
    run.change("the Trainer’s optimizers update in one kernel, or all tensors together", |s| {
        s.recipe.step = match (s.recipe.optimizer, s.recipe.step) {
            (_, StepKernel::Loop) => StepKernel::Foreach,
            (_, step) => step,
        };
    });
    run.change("the Trainer has plain, Liger’s and Liger’s fused cross-entropy: the nearest stands in", |s| {
        s.recipe.loss = match s.recipe.loss {
            LossHead::Chunked | LossHead::VocabularyParallel | LossHead::VocabularyParallelFused => LossHead::Plain,
            LossHead::Kernel => LossHead::KernelInPlace,
            LossHead::ChunkedHead | LossHead::Tiled => LossHead::Fused,
            other => other,
        };
    });
    run.lets_go_of_logits("the Trainer lets go of the logits as soon as it has the loss");
}

/// The class of transformers whose head the scenario has.
const fn model_class(scenario: &Scenario) -> &'static str {
    match scenario.recipe.loss {
        LossHead::Classifier => "AutoModelForSequenceClassification",
        LossHead::MaskedLm => "AutoModelForMaskedLM",
        _ => "AutoModelForCausalLM",
    }
}

fn model_kwargs(scenario: &Scenario) -> String {
    let dtype = loaded_in(scenario);
    let attention = match scenario.recipe.attention {
        AttentionKernel::Flash => "sdpa",
        AttentionKernel::Eager => "eager",
    };
    let quantized = match quantization(scenario) {
        Some(arguments) => {
            let lines: String = arguments.iter().map(|argument| format!("        {argument},\n")).collect();
            format!("\n    \"quantization_config\": BitsAndBytesConfig(\n{lines}    ),")
        }
        None => String::new(),
    };
    format!("{{\n    \"dtype\": \"{dtype}\",\n    \"attn_implementation\": \"{attention}\",{quantized}\n}}")
}

/// How peft calls every matrix but the head.
pub(super) const ALL_LINEAR: &str = "all-linear";

/// The names of the matrices that get adapters; none where all do. peft passes over names that a model does not have.
pub(super) fn target_modules(scenario: &Scenario) -> Option<Vec<&'static str>> {
    let (queries, others) = match scenario.model.packing {
        Packing::Separate => (&["q_proj", "v_proj"][..], &["k_proj", "o_proj"][..]),
        Packing::Packed | Packing::PackedGate => (
            &["c_attn", "query_key_value", "qkv_proj"][..],
            &["attn.c_proj", "attention.dense", "self_attention.dense", "o_proj"][..],
        ),
    };
    match scenario.recipe.targets {
        AdapterTargets::All => None,
        AdapterTargets::Attention => Some([queries, others].concat()),
        AdapterTargets::QueryValue => Some(queries.to_vec()),
    }
}

/// The adapters, for `peft.get_peft_model`.
fn lora(scenario: &Scenario) -> String {
    let rank = scenario.recipe.rank;
    // What peft would make fp32 of is left as it is: with 4-bit weights in the type they compute in.
    let half = scenario.recipe.adapter_type == AdapterType::Half;
    let cast = if half { ", autocast_adapter_dtype=False" } else { "" };
    let dropout = if scenario.recipe.adapter_dropout.is_on() { ", lora_dropout=0.05" } else { "" };
    let masks = match dropout {
        "" => "",
        _ => "\n# Memory depends on there being a dropout, and not on its number.",
    };
    let cast_first = match (scenario.recipe.adapter, scenario.recipe.unquantized) {
        (Adapter::Lora8 | Adapter::Qlora, Unquantized::Full) => {
            format!("\n# Before that {CAST_UNQUANTIZED},\n# which casts embedding, head and norms to fp32.")
        }
        (Adapter::Lora8 | Adapter::Qlora, Unquantized::Half) => {
            "\n# Without peft.prepare_model_for_kbit_training, which would cast embedding, head and norms to fp32."
                .to_owned()
        }
        _ => String::new(),
    };
    let by_hand = if half && scenario.recipe.adapter == Adapter::Lora8 {
        "\n# Beside 8-bit weights peft makes adapters in fp32 all the same: then cast every parameter with “lora_” in\n\
         # its name to 16 bits."
    } else {
        ""
    };
    let targets = match target_modules(scenario) {
        Some(names) => format!("[{}]", names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")),
        None => quoted(ALL_LINEAR),
    };
    let why = match (scenario.recipe.targets, scenario.model.packing) {
        (AdapterTargets::All, _) => "Every matrix but the head.",
        (_, Packing::Separate) => "The names are those of Llama’s code and of most others.",
        (_, Packing::Packed | Packing::PackedGate) => {
            "The names are those of GPT-2’s, GPT-NeoX’s, Falcon’s and Phi-3’s code."
        }
    };
    let task = match scenario.recipe.loss {
        LossHead::Classifier => ", task_type=\"SEQ_CLS\"",
        // peft has no type for masked words, and needs none.
        LossHead::MaskedLm => "",
        _ => ", task_type=\"CAUSAL_LM\"",
    };
    format!(
        "# For peft.get_peft_model(model, peft_config{cast}).\n# {why}{masks}{by_hand}{cast_first}\n\
         peft_config = LoraConfig(r={rank}, lora_alpha={}, target_modules={targets}{dropout}{task})",
        rank.saturating_mul(2)
    )
}

/// The Trainer's word for the optimizer, and what it needs beside it; none where it has no word.
pub(super) fn optimizer(scenario: &Scenario) -> Option<(&'static str, Option<&'static str>)> {
    Some(match (scenario.recipe.optimizer, scenario.recipe.step) {
        (Optimizer::AdamW | Optimizer::Muon, StepKernel::Fused) => ("adamw_torch_fused", None),
        (Optimizer::AdamW | Optimizer::Muon, _) => ("adamw_torch", None),
        (Optimizer::Adam8bit, _) => ("adamw_bnb_8bit", None),
        (Optimizer::Adafactor, _) => ("adafactor", None),
        (Optimizer::AdafactorTorch, _) => return None,
        (Optimizer::Lion, _) => ("lion_32bit", None),
        (Optimizer::Momentum, _) => ("sgd", Some("momentum=0.9")),
        (Optimizer::Sgd, _) => ("sgd", None),
        (Optimizer::PagedAdam8bit, _) => ("paged_adamw_8bit", None),
        (Optimizer::Adam8bitTorchao, _) => ("adamw_torch_8bit", None),
        (Optimizer::Adam4bit, _) => ("adamw_torch_4bit", None),
        (Optimizer::Galore, _) => ("galore_adamw", None),
        (Optimizer::Galore8bit, _) => ("galore_adamw_8bit", None),
        (Optimizer::Apollo, _) => ("apollo_adamw", None),
        // What it has no word for was replaced.
        (Optimizer::AdamFp8 | Optimizer::Shampoo | Optimizer::Soap, _) => ("adamw_torch", None),
    })
}

/// Liger's kernels for the loss alone, so that nothing else is fused that was not asked for.
pub(super) fn liger(loss: LossHead) -> Option<Value> {
    let with = |linear: bool| {
        Value::Map(vec![
            ("fused_linear_cross_entropy", linear.into()),
            ("cross_entropy", (!linear).into()),
            ("rope", false.into()),
            ("rms_norm", false.into()),
            ("swiglu", false.into()),
        ])
    };
    match loss {
        LossHead::Fused => Some(with(true)),
        // Its kernel writes the gradient over the logits (`cross_entropy_forward` in Liger’s ops/cross_entropy.py).
        LossHead::KernelInPlace => Some(with(false)),
        _ => None,
    }
}

pub(super) fn fsdp(scenario: &Scenario) -> Value {
    Value::Map(vec![
        ("version", 2_u32.into()),
        // With resharding it is ZeRO 3; without, layers stay gathered through the step, which is ZeRO 2.
        ("reshard_after_forward", (resharding(scenario) == Resharding::All).into()),
        ("auto_wrap_policy", "TRANSFORMER_BASED_WRAP".into()),
        ("activation_checkpointing", (scenario.recipe.recomputation == Recomputation::Full).into()),
        ("state_dict_type", "SHARDED_STATE_DICT".into()),
    ])
}
