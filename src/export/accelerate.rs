//! A configuration of `accelerate launch`, YAML.
//!
//! Keys as in accelerate 1.15.0: `commands/config/config_args.py` for the file,
//! `utils/dataclasses.py` for FSDP. Version 2 of FSDP is written, which its documentation recommends.

use super::Card;
use super::deepspeed::in_the_model;
use super::run::{Resharding, Run, machines, resharding, shards};
use super::text::{EXPANDABLE, commented, computes_in_fp16, expandable, half_flag};
use crate::read::Format;
use crate::{Adapter, Engine, Offload, Precision, Recomputation, Scenario, Switch, ZeroStage};

const PROGRAM: &str = "Accelerate";

pub(super) const CARD: Card = Card {
    key: "accelerate",
    name: "Accelerate",
    file_name: "accelerate.yaml",
    media_type: "application/yaml",
    describe: "A configuration for accelerate launch --config_file.",
    readers: &[Format::Accelerate],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::new(scenario);
    run.without_pipeline(PROGRAM);
    run.without_expert_parallel(PROGRAM);
    adapt(&mut run);
    let now = *run.now();
    let planned = run.plan();
    let sharded = shards(&now);
    run.elsewhere(format!(
        "The micro-batch: DataLoader(…, batch_size={}), or per_device_train_batch_size of the Trainer.",
        planned.micro_batch
    ));
    run.elsewhere(format!(
        "The accumulation: Accelerator(gradient_accumulation_steps={0}), or \
         ACCELERATE_GRADIENT_ACCUMULATION_STEPS={0} in front of accelerate launch.",
        planned.steps
    ));
    run.elsewhere(format!("Sequences of {} tokens: your data set.", now.recipe.sequence));
    run.elsewhere(match (now.recipe.precision, now.recipe.adapter) {
        (Precision::Fp32, _) | (_, Adapter::LoraFp32) => "Weights in fp32: load the model with dtype=\"float32\".",
        (Precision::PureBf16, Adapter::None) => "bfloat16 throughout: load the model with dtype=\"bfloat16\".",
        (_, Adapter::None) => "Weights in fp32: load the model with dtype=\"float32\".",
        _ if computes_in_fp16(&now) => "Frozen weights in 16 bits: load the model with dtype=\"float16\".",
        _ => "Frozen weights in 16 bits: load the model with dtype=\"bfloat16\".",
    });
    run.elsewhere(format!("The optimizer: {}.", optimizer(&now)));
    if now.recipe.recomputation == Recomputation::Full && !sharded {
        run.elsewhere("Recomputation: model.gradient_checkpointing_enable().");
    }
    in_the_model(&mut run, &now);
    run.logits_in_the_loop("accelerator.backward(loss)");
    if expandable(&now) {
        run.elsewhere(format!("Expandable segments: {EXPANDABLE} accelerate launch --config_file accelerate.yaml …"));
    }
    let (count, each) = machines(planned.world);
    if count > 1 {
        run.elsewhere(format!(
            "{count} machines of {each} GPUs are assumed: set machine_rank on each, and main_process_ip and \
             main_process_port to those of the first."
        ));
    }
    let mut text = commented(&run.head(page, "accelerate 1.15.0"), "#");
    let kind = if sharded {
        "FSDP"
    } else if planned.world > 1 {
        "MULTI_GPU"
    } else {
        "NO"
    };
    let mixed = match now.recipe.precision {
        Precision::Mixed | Precision::Autocast | Precision::Bf16 | Precision::Fp16 => half_flag(&now),
        Precision::PureBf16 | Precision::Fp32 => "no",
    };
    text.push_str("compute_environment: LOCAL_MACHINE\ndebug: false\n");
    text.push_str(&format!("distributed_type: \"{kind}\"\n"));
    if sharded {
        let full = now.recipe.recomputation == Recomputation::Full;
        let swapped = full && now.recipe.offload.takes_activations();
        text.push_str("fsdp_config:\n  fsdp_version: 2\n");
        text.push_str(&format!("  fsdp_reshard_after_forward: {}\n", resharding(&now) == Resharding::All));
        text.push_str("  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n");
        text.push_str(&format!("  fsdp_activation_checkpointing: {full}\n"));
        if swapped {
            text.push_str("  fsdp_activation_checkpointing_offload: true\n");
        }
        let offloaded = now.recipe.offload.takes_optimizer();
        text.push_str(&format!("  fsdp_offload_params: {offloaded}\n"));
        text.push_str("  fsdp_cpu_ram_efficient_loading: false\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n");
    }
    text.push_str("machine_rank: 0\nmain_training_function: main\n");
    text.push_str(&format!("mixed_precision: \"{mixed}\"\n"));
    text.push_str(&format!("num_machines: {count}\nnum_processes: {}\n", planned.world));
    if sharded && (now.cluster.tensor_parallel > 1 || now.cluster.context_parallel > 1) {
        text.push_str(&format!(
            "parallelism_config:\n  parallelism_config_dp_replicate_size: 1\n  \
             parallelism_config_dp_shard_size: {}\n  parallelism_config_tp_size: {}\n  \
             parallelism_config_cp_size: {}\n",
            planned.data_parallel, now.cluster.tensor_parallel, now.cluster.context_parallel
        ));
        if now.cluster.context_parallel > 1 {
            text.push_str("  parallelism_config_cp_comm_strategy: allgather\n");
        }
    }
    text.push_str("rdzv_backend: static\nsame_network: true\nuse_cpu: false\n");
    text
}

fn adapt(run: &mut Run) {
    run.carried_out_by(Engine::Torch);
    if !shards(run.now()) {
        run.without_tensor_parallel("Accelerate without FSDP");
        run.without_context_parallel("Accelerate without FSDP");
    }
    run.shards_gradients_with_states("FSDP");
    run.change("tensor and context parallelism go with full sharding", |s| {
        let parallel = s.cluster.tensor_parallel > 1 || s.cluster.context_parallel > 1;
        if parallel && shards(s) {
            s.cluster.zero = ZeroStage::Stage3;
        }
    });
    run.change("Accelerate’s tensor parallelism does not divide what lies between the matrices", |s| {
        s.cluster.sequence_parallel = Switch::Off;
    });
    run.adds_up_as_autograd_does(PROGRAM);
    run.computes_under_autocast("Accelerate casts frozen fp32 weights product by product");
    run.change(
        "Accelerate keeps fp32 weights and no second master copy: FSDP casts them, DDP’s autocast does",
        |s| {
            let master = matches!(s.recipe.precision, Precision::Bf16 | Precision::Fp16);
            if shards(s) && (master || s.recipe.precision == Precision::Autocast) {
                s.recipe.precision = Precision::Mixed;
            } else if !shards(s) && (master || s.recipe.precision == Precision::Mixed) {
                s.recipe.precision = Precision::Autocast;
            }
        },
    );
    run.change(
        "there is no offload without FSDP, and that of layer inputs goes with recomputation of every layer",
        |s| {
            let swaps = shards(s) && s.recipe.recomputation == Recomputation::Full;
            if !shards(s) {
                s.recipe.offload = Offload::None;
            } else if !swaps && !s.recipe.offload.takes_parameters() {
                s.recipe.offload = s.recipe.offload.without_activations();
            }
        },
    );
    if run.now().recipe.offload.takes_optimizer() {
        run.differs(
            "FSDP takes parameters and gradients to the host with the optimizer state: the GPU holds less than the \
             prediction says, and every layer crosses the link in each pass.",
        );
    }
    run.recomputes_layers_only(PROGRAM);
    run.reshards_to_no_group("Accelerate’s FSDP");
}

/// The optimizer as one writes it in Python.
pub(super) fn optimizer(scenario: &Scenario) -> String {
    use crate::{Optimizer, StepKernel};
    let kernel = match scenario.recipe.step {
        StepKernel::Fused => "fused=True",
        StepKernel::Foreach => "foreach=True",
        // No file here has a step in the backward pass.
        StepKernel::Loop | StepKernel::InBackward => "foreach=False",
    };
    match scenario.recipe.optimizer {
        Optimizer::AdamW => format!("torch.optim.AdamW(…, {kernel})"),
        Optimizer::Adam8bit => "bitsandbytes.optim.AdamW8bit(…)".to_owned(),
        Optimizer::Adafactor => "transformers.Adafactor(…)".to_owned(),
        Optimizer::AdafactorTorch => "torch.optim.Adafactor(…)".to_owned(),
        Optimizer::Lion => "bitsandbytes.optim.Lion32bit(…)".to_owned(),
        Optimizer::Muon => "torch.optim.Muon on the blocks’ matrices, torch.optim.AdamW on the rest".to_owned(),
        Optimizer::Momentum => format!("torch.optim.SGD(…, momentum=0.9, {kernel})"),
        Optimizer::Sgd => format!("torch.optim.SGD(…, {kernel})"),
        other => super::deepspeed::client_optimizer(other).to_owned(),
    }
}
