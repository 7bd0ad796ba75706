//! A Lightning `Trainer` with its strategy, as a Python file.
//!
//! Arguments as in lightning 2.6.6. Lightning shards with FSDP, or with DeepSpeed where the scenario
//! keeps an fp32 master copy, shards optimizer state alone or keeps it on the host; with tensor
//! parallelism the module divides itself, and the strategy only makes the groups.

use super::Card;
use super::accelerate::optimizer;
use super::deepspeed::{self, Caller, in_the_model, loaded};
use super::run::{Resharding, Run, machines, resharding};
use super::text::{Spelling, Value, allocator_in_python, commented, computes_in_fp16, with_master};
use super::transformers::Engine;
use crate::{Engine as Program, Offload, Optimizer, Precision, Recomputation, Scenario, Switch, ZeroStage};

const PROGRAM: &str = "Lightning";

#[derive(Clone, Copy, PartialEq)]
enum Strategy {
    Single,
    Ddp,
    Fsdp,
    DeepSpeed,
    /// FSDP2 and tensor parallelism that the module applies itself.
    ModelParallel,
}

pub(super) const CARD: Card = Card {
    key: "lightning",
    name: "Lightning",
    file_name: "trainer.py",
    media_type: "text/x-python",
    describe: "A Lightning Trainer with its strategy, as a Python file to import.",
    readers: &[],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::new(scenario);
    run.without_pipeline(PROGRAM);
    run.without_context_parallel(PROGRAM);
    run.without_expert_parallel(PROGRAM);
    let strategy = strategy(run.now());
    adapt(&mut run, strategy);
    let now = *run.now();
    let planned = run.plan();
    let own = if strategy == Strategy::DeepSpeed { deepspeed_optimizer(&now) } else { None };
    let optimizer = own.map_or_else(|| optimizer(&now), str::to_owned);
    run.elsewhere(format!("The optimizer, in configure_optimizers: {optimizer}."));
    match strategy {
        Strategy::Fsdp if now.recipe.recomputation == Recomputation::Full => {}
        _ if now.recipe.recomputation == Recomputation::Full => {
            run.elsewhere("Recomputation: torch’s checkpoint on every layer, in the module’s code.");
        }
        _ => {}
    }
    if strategy == Strategy::ModelParallel {
        run.elsewhere(format!(
            "The division itself: parallelize_module on mesh[\"tensor_parallel\"] and fully_shard(…, \
                 reshard_after_forward={}) on mesh[\"data_parallel\"], in configure_model.",
            match resharding(&now) {
                Resharding::All => "True".to_owned(),
                Resharding::Kept => "False".to_owned(),
                Resharding::Group(size) => size.to_string(),
            }
        ));
        run.elsewhere(if now.cluster.sequence_parallel.is_on() {
            "Sequence parallelism: SequenceParallel for the norms in that division, so that tokens are divided between \
             the matrices."
        } else {
            "No sequence parallelism: what lies between the matrices is whole on every GPU of a group."
        });
    }
    if strategy == Strategy::DeepSpeed {
        deepspeed::gathered_layers(&mut run, &now);
    }
    loaded(&mut run, &now);
    in_the_model(&mut run, &now);
    let head = commented(&run.head(page, "lightning 2.6.6"), "#");
    let (count, each) = machines(planned.world);
    let full = now.recipe.recomputation == Recomputation::Full && strategy == Strategy::Fsdp;

    let mut text = format!("{head}\n{}from lightning.pytorch import Trainer\n", allocator_in_python(&now));
    let (import, construct) = construction(strategy, &now, &planned, full);
    if let Some(import) = import {
        text.push_str(&format!("from lightning.pytorch.strategies import {import}\n"));
    }
    text.push_str("\n# For DataLoader(dataset, batch_size=micro_batch).\n");
    text.push_str(&format!("micro_batch = {}\n", planned.micro_batch));
    text.push_str("# Tokens of a sequence.\n");
    text.push_str(&format!("max_length = {}\n\n\n", now.recipe.sequence));
    text.push_str("def make_trainer(block, **others):\n");
    text.push_str("    \"\"\"The trainer of this scenario; `block` is the class of the model’s layers.\"\"\"\n");
    text.push_str(&format!("    strategy = {construct}\n"));
    text.push_str("    arguments = {\n");
    for (key, value) in [
        ("accelerator", Value::from("gpu")),
        ("devices", each.into()),
        ("num_nodes", count.into()),
        ("precision", precision(&now, strategy).into()),
        ("accumulate_grad_batches", planned.steps.into()),
    ] {
        text.push_str(&format!("        \"{key}\": {},\n", value.pretty(Spelling::Python, 0)));
    }
    text.push_str("        \"strategy\": strategy,\n        **others,\n    }\n    return Trainer(**arguments)\n");
    text
}

fn strategy(scenario: &Scenario) -> Strategy {
    if scenario.cluster.tensor_parallel > 1 {
        return Strategy::ModelParallel;
    }
    match Engine::of(scenario) {
        Engine::DeepSpeed => Strategy::DeepSpeed,
        Engine::Fsdp => Strategy::Fsdp,
        Engine::Replicated if scenario.cluster.data_parallel() > 1 => Strategy::Ddp,
        Engine::Replicated => Strategy::Single,
    }
}

fn adapt(run: &mut Run, strategy: Strategy) {
    run.carried_out_by(if strategy == Strategy::DeepSpeed { Program::DeepSpeed } else { Program::Torch });
    run.casts_frozen_weights("Lightning’s 16-bit precision");
    if strategy != Strategy::DeepSpeed {
        run.adds_up_as_autograd_does(PROGRAM);
    }
    if strategy == Strategy::Fsdp {
        run.reshards_to_no_group("Lightning’s FSDP");
    }
    run.lets_go_of_logits(
        "Lightning runs the backward pass when training_step has returned and its variables are gone",
    );
    match strategy {
        Strategy::DeepSpeed => {
            deepspeed::adapt(run);
            run.change(
                "Lightning’s DeepSpeed has weights in 16 bits, or in fp32 without autocast: 16 bits here",
                |s| {
                    if matches!(s.recipe.precision, Precision::Mixed | Precision::Autocast) {
                        s.recipe.precision = with_master(s);
                    }
                },
            );
        }
        Strategy::Fsdp => run.change("FSDP casts weights as it gathers them", |s| {
            if s.recipe.precision == Precision::Autocast {
                s.recipe.precision = Precision::Mixed;
            }
        }),
        Strategy::ModelParallel => {
            run.change("with a module that divides itself FSDP2 shards everything", |s| {
                s.cluster.zero = ZeroStage::Stage3;
            });
            run.change("nothing is swapped to the host there", |s| s.recipe.offload = Offload::None);
            run.change("precision there is fp32 weights cast as they are gathered, bf16 throughout, or fp32", |s| {
                if !matches!(s.recipe.precision, Precision::PureBf16 | Precision::Fp32) {
                    s.recipe.precision = Precision::Mixed;
                }
            });
            run.keeps_bf16();
        }
        Strategy::Single | Strategy::Ddp => {
            run.change("without FSDP Lightning’s mixed precision is autocast", |s| {
                if s.recipe.precision == Precision::Mixed {
                    s.recipe.precision = Precision::Autocast;
                }
            });
        }
    }
    if strategy != Strategy::ModelParallel {
        run.change("there is no sequence parallelism without tensor parallelism", |s| {
            s.cluster.sequence_parallel = Switch::Off;
        });
    }
    run.recomputes_layers_only(PROGRAM);
    // DeepSpeed swaps what its own checkpoint function keeps, which the module would have to call.
    run.keeps_activations_on_the_gpu(PROGRAM);
}

/// The optimizer where DeepSpeed wants one of its own: on the host, and for Muon, which has to be one
/// optimizer (`_setup_model_and_optimizers` of the strategy refuses two).
fn deepspeed_optimizer(scenario: &Scenario) -> Option<&'static str> {
    let recipe = &scenario.recipe;
    match (recipe.optimizer, recipe.offload) {
        (Optimizer::AdamW, Offload::Optimizer | Offload::Both) if recipe.precision == Precision::PureBf16 => {
            Some("deepspeed.ops.adam.DeepSpeedCPUAdam(…, fp32_optimizer_states=False)")
        }
        (Optimizer::AdamW, Offload::Optimizer | Offload::Both) => Some("deepspeed.ops.adam.DeepSpeedCPUAdam(…)"),
        (Optimizer::Lion, Offload::Optimizer | Offload::Both) => Some("deepspeed.ops.lion.DeepSpeedCPULion(…)"),
        (Optimizer::Muon, _) => {
            Some("deepspeed.runtime.zero.muon.muon_optimizer.MuonWithAuxAdam(…), with use_muon on the blocks’ matrices")
        }
        _ => None,
    }
}

fn precision(scenario: &Scenario, strategy: Strategy) -> &'static str {
    match scenario.recipe.precision {
        Precision::Fp32 => "32-true",
        // `ModelParallelStrategy` takes no “16-mixed” (`supported_precision` in fabric/connector.py, lightning 2.6.6).
        Precision::Mixed | Precision::Autocast if computes_in_fp16(scenario) && strategy != Strategy::ModelParallel => {
            "16-mixed"
        }
        Precision::Mixed | Precision::Autocast => "bf16-mixed",
        Precision::PureBf16 | Precision::Bf16 => "bf16-true",
        Precision::Fp16 if strategy == Strategy::DeepSpeed => "16-true",
        Precision::Fp16 => "16-mixed",
    }
}

fn construction(
    strategy: Strategy,
    scenario: &Scenario,
    planned: &super::run::Planned,
    full: bool,
) -> (Option<&'static str>, String) {
    match strategy {
        Strategy::Single => (None, "\"auto\"".to_owned()),
        Strategy::Ddp => (Some("DDPStrategy"), "DDPStrategy()".to_owned()),
        Strategy::Fsdp => {
            let sharding = if resharding(scenario) == Resharding::All { "FULL_SHARD" } else { "SHARD_GRAD_OP" };
            let mut arguments =
                format!("\n        sharding_strategy=\"{sharding}\",\n        auto_wrap_policy={{block}},\n");
            if full {
                arguments.push_str("        activation_checkpointing_policy={block},\n");
            }
            (Some("FSDPStrategy"), format!("FSDPStrategy({arguments}    )"))
        }
        Strategy::DeepSpeed => {
            // The strategy’s arguments have other defaults than DeepSpeed, and none for the types of gradients.
            let config = Value::Map(deepspeed::config(planned, Caller::Lightning));
            let arguments = format!("\n        config={},\n", config.pretty(Spelling::Python, 2));
            (Some("DeepSpeedStrategy"), format!("DeepSpeedStrategy({arguments}    )"))
        }
        Strategy::ModelParallel => (
            Some("ModelParallelStrategy"),
            format!(
                "ModelParallelStrategy(data_parallel_size={}, tensor_parallel_size={})",
                planned.data_parallel, scenario.cluster.tensor_parallel
            ),
        ),
    }
}
