//! trl, peft, axolotl and LLaMA-Factory: the keys of each task and adapter, and what stands in.

use super::*;
use crate::{Adapter, AdapterType, Segments, TaskKind};

const LLAMA: &str = "model=llama-3.1-8b&gpu=h100-80&dropout=off";
const TRAINERS: [Target; 3] = [Target::Trl, Target::Axolotl, Target::LlamaFactory];

fn llama(query: &str) -> String {
    format!("{LLAMA}&{query}")
}

/// The scenario that a file runs: that of its last link, or where it has none but the question's the plan for it.
fn runs(target: Target, query: &str) -> crate::Scenario {
    let text = write(target, &scenario(query), PAGE);
    let links = text.lines().filter_map(|line| Some(line.split_once(PAGE)?.1.strip_prefix('?')?.to_owned()));
    let links: Vec<String> = links.collect();
    let last = link::decode(links.last().expect("a link")).scenario;
    if links.len() > 1 { last } else { planned(&last).scenario }
}

#[test]
fn each_program_calls_the_plan_by_its_own_keys() {
    let query = llama("precision=mixed&recompute=full&s=8192&zero=3");
    let plan = planned(&scenario(&query));
    let (micro, steps) = (plan.micro_batch, plan.steps);
    let of_trainer = [format!("per_device_train_batch_size: {micro}"), format!("gradient_accumulation_steps: {steps}")];
    let lines: Vec<&str> = of_trainer.iter().map(String::as_str).collect();
    assert_lines(Target::Trl, &query, &lines);
    assert_lines(Target::Trl, &query, &["max_length: 8192", "dtype: \"float32\"", "bf16: true", "fsdp: true"]);
    assert_lines(Target::LlamaFactory, &query, &lines);
    assert_lines(
        Target::LlamaFactory,
        &query,
        &["cutoff_len: 8192", "stage: \"sft\"", "finetuning_type: \"full\"", "bf16: true", "version: 2"],
    );
    assert_lines(Target::Axolotl, &query, &["sequence_len: 8192", "fsdp_version: 2", "activation_checkpointing: true"]);
}

#[test]
fn a_file_s_numbers_are_those_of_the_scenario_that_it_leads_to() {
    for task in ["train", "dpo", "grpo", "ppo", "reward", "distil"] {
        for target in TRAINERS {
            // PPO trains a value model as large as the other.
            let one = "model=llama-3.2-1b&gpu=h100-80&dropout=off&precision=autocast&zero=0&gpus=2&s=1024&adapter=lora";
            // Its trainer holds the logits of all that an update generates, so that accumulation takes memory.
            let query = format!("{one}&task={task}&target=16");
            let run = runs(target, &query);
            let (micro, steps) = match target {
                Target::Axolotl => ("micro_batch_size", "gradient_accumulation_steps"),
                _ => ("per_device_train_batch_size", "gradient_accumulation_steps"),
            };
            let (micro, steps) =
                (format!("{micro}: {}", run.recipe.batch), format!("{steps}: {}", run.recipe.micro_batches));
            assert_lines(target, &query, &[&micro, &steps]);
            assert!(estimate(&run).peak().bytes <= run.usable(), "{target:?} {task}");
        }
    }
}

#[test]
fn a_task_goes_to_the_programs_that_have_it_and_the_others_say_so() {
    let has: [(Target, &[&str]); 3] = [
        (Target::Trl, &["dpo", "grpo", "ppo", "reward", "distil"]),
        (Target::Axolotl, &["dpo", "grpo", "reward"]),
        (Target::LlamaFactory, &["dpo"]),
    ];
    for (target, tasks) in has {
        for kind in TaskKind::ALL.iter().filter(|kind| **kind != TaskKind::Train) {
            let query = llama(&format!("precision=bf16-pure&zero=3&s=1024&task={}", kind.key()));
            let has = tasks.contains(&kind.key());
            let told = told(target, &query);
            assert_eq!(!told.contains("needs a trainer of its own"), has, "{target:?} {kind}:\n{told}");
            assert_eq!(runs(target, &query).task.kind, if has { *kind } else { TaskKind::Train });
        }
    }
    assert_told(Target::Peft, &llama("adapter=lora&task=dpo"), "needs a trainer of its own");
}

#[test]
fn the_keys_of_a_task_are_those_of_its_trainer() {
    let query = |more: &str| llama(&format!("precision=mixed&zero=3&s=2048&{more}"));
    assert_told(Target::Trl, &query("task=dpo"), "trl dpo --config trl.yaml");
    assert_lines(Target::Trl, &query("task=dpo&ref=none"), &["precompute_ref_log_probs: true"]);
    assert_lines(Target::Trl, &query("task=train"), &["loss_type: \"nll\""]);
    let grpo = query("task=grpo&completion=512&rollout=asleep&engine_share=40");
    assert_lines(
        Target::Trl,
        &grpo,
        &[
            "max_completion_length: 512",
            "num_generations: 8",
            "use_vllm: true",
            "vllm_mode: \"colocate\"",
            "vllm_gpu_memory_utilization: 0.4",
            "vllm_enable_sleep_mode: true",
        ],
    );
    assert_told(Target::Trl, &grpo, "Prompts of up to 1,536 tokens");
    assert_lines(Target::Trl, &query("task=grpo&ref=none"), &["beta: 0", "use_vllm: false"]);
    assert_lines(
        Target::Axolotl,
        &grpo,
        &["rl: \"grpo\"", "gpu_memory_utilization: 0.4", "max_completion_length: 512"],
    );
    assert_lines(Target::Axolotl, &query("task=dpo"), &["rl: \"dpo\""]);
    assert_lines(Target::Axolotl, &query("task=reward"), &["reward_model: true", "num_labels: 1"]);
    assert_lines(Target::LlamaFactory, &query("task=dpo"), &["stage: \"dpo\"", "pref_loss: \"sigmoid\""]);
    assert_lines(Target::Trl, &query("task=distil"), &["lmbda: 0", "teacher_model_name_or_path: \"your-teacher\""]);
    assert_lines(Target::Trl, &query("task=reward&adapter=lora"), &["lora_task_type: \"SEQ_CLS\""]);
    let ppo = query("task=ppo&completion=256&score_b=4");
    assert_lines(Target::Trl, &ppo, &["response_length: 256", "local_rollout_forward_batch_size: 4"]);
    assert_eq!(runs(Target::Trl, &ppo).task.generations, 4);
}

#[test]
fn a_group_of_grpo_divides_what_is_generated_at_once() {
    for target in ["target=1", "target=2", "target=22", "target=256", "target=7&gpus=1", "generations=6&gpus=1"] {
        let query = llama(&format!("precision=bf16-pure&zero=3&s=512&task=grpo&{target}"));
        for target in [Target::Trl, Target::Axolotl] {
            let settings = settings(target, &query);
            let size = settings.iter().find_map(|line| line.strip_prefix("num_generations: ")).expect("a group");
            let size: u32 = size.parse().expect("a number");
            let run = runs(target, &query);
            let each = match run.task.generations {
                0 => run.recipe.batch * run.recipe.micro_batches,
                each => each,
            };
            let all = if target == Target::Trl { each * run.cluster.data_parallel() } else { each };
            assert!(size >= 2 && all.is_multiple_of(size), "{target:?} {query}: {size} of {all}");
        }
    }
}

#[test]
fn with_adapters_the_reference_is_the_model_without_them() {
    let query = llama("precision=bf16-pure&zero=0&gpus=1&adapter=lora&s=512&task=dpo");
    for target in TRAINERS {
        assert_eq!(runs(target, &query).task.reference, crate::Reference::Adapter, "{target:?}");
        assert_told(target, &query, "the model without its adapters");
    }
    let full = llama("precision=bf16-pure&zero=3&s=512&task=dpo&ref=offloaded");
    for target in TRAINERS {
        assert_eq!(runs(target, &full).task.reference, crate::Reference::Copy, "{target:?}");
    }
}

#[test]
fn quantized_weights_and_their_adapters_are_as_each_program_makes_them() {
    let query = llama("precision=autocast&zero=0&gpus=1&adapter=qlora&targets=qv&unquantized=32");
    assert_lines(
        Target::Trl,
        &query,
        &["load_in_4bit: true", "use_bnb_nested_quant: true", "lora_target_modules: [\"q_proj\", \"v_proj\"]"],
    );
    assert_eq!(runs(Target::Trl, &query).recipe.adapter_type, AdapterType::Half);
    assert_lines(Target::Axolotl, &query, &["adapter: \"qlora\"", "load_in_4bit: true", "lora_mlp_kernel: false"]);
    assert_lines(
        Target::LlamaFactory,
        &query,
        &["quantization_bit: 4", "lora_target: \"q_proj,v_proj\"", "finetuning_type: \"lora\""],
    );
    for target in TRAINERS {
        assert_eq!(runs(target, &query).recipe.unquantized, crate::Unquantized::Half, "{target:?}");
    }
    // All of them load models with transformers 5.
    let experts = "model=mixtral-8x7b&gpu=b200&gpus=8&zero=0&adapter=qlora&expert_matrices=linear";
    for target in TRAINERS.into_iter().chain([Target::Transformers, Target::Peft]) {
        assert_eq!(runs(target, experts).recipe.expert_matrices, crate::ExpertMatrices::Stacked, "{target:?}");
        assert_told(target, experts, "transformers 5 holds the experts of a layer in one stack");
    }
    let eight = llama("precision=mixed&zero=3&adapter=lora-8bit");
    assert_eq!(runs(Target::LlamaFactory, &eight).cluster.zero, ZeroStage::Stage0);
    assert_lines(
        Target::Trl,
        &llama("adapter=lora&zero=3&precision=mixed"),
        &["lora_target_modules: [\"all-linear\"]"],
    );
}

#[test]
fn weights_have_the_type_that_the_program_loads_them_in() {
    let one = "zero=0&gpus=1&model=llama-3.2-1b&gpu=h100-80&dropout=off";
    let autocast = format!("{one}&precision=autocast");
    // axolotl loads in bf16; LLaMA-Factory casts what is trained to fp32.
    assert_eq!(runs(Target::Axolotl, &autocast).recipe.precision, Precision::PureBf16);
    assert_lines(Target::Axolotl, &autocast, &["bf16: true", "attn_implementation: \"flash_attention_2\""]);
    assert_eq!(runs(Target::LlamaFactory, &autocast).recipe.precision, Precision::Autocast);
    assert_lines(Target::LlamaFactory, &format!("{one}&precision=bf16-pure"), &["pure_bf16: true"]);
    assert_lines(Target::Trl, &format!("{one}&precision=bf16-pure"), &["dtype: \"bfloat16\"", "bf16: false"]);
    assert_eq!(runs(Target::LlamaFactory, &format!("{autocast}&adapter=lora-fp32")).recipe.adapter, Adapter::Lora);
}

#[test]
fn the_dpo_of_llama_factory_leaves_room_for_logits_that_are_not_counted() {
    let query = llama("precision=mixed&zero=3&s=4096&task=dpo");
    let run = runs(Target::LlamaFactory, &query);
    // Two sequences a pair, 4,096 tokens, 128,256 words, four bytes more for each.
    let more = 4.0 * 2.0 * f64::from(run.recipe.batch) * 4096.0 * 128_256.0;
    assert!(estimate(&run).peak().bytes + crate::Bytes::new(more) <= run.usable());
    let gib = crate::number::fixed(more / 1024.0 / 1024.0 / 1024.0, 2);
    assert_told(Target::LlamaFactory, &query, &format!("up to {gib} GiB more"));
}

#[test]
fn the_tasks_of_axolotl_leave_room_for_logits_that_autocast_casts() {
    let query = llama("precision=mixed&zero=3&s=4096&completion=2048&task=grpo");
    let run = runs(Target::Axolotl, &query);
    // Completions of 2,048 tokens, 128,256 words, eight bytes more for each.
    let more = 8.0 * f64::from(run.recipe.batch) * 2048.0 * 128_256.0;
    assert!(estimate(&run).peak().bytes + crate::Bytes::new(more) <= run.usable());
    let gib = crate::number::fixed(more / 1024.0 / 1024.0 / 1024.0, 2);
    assert_told(Target::Axolotl, &query, &format!("up to {gib} GiB more"));
    // Beside adapters they are in fp32 in the scenario, too.
    assert!(!told(Target::Axolotl, &format!("{query}&adapter=lora")).contains("GiB more than the prediction"));
}

#[test]
fn axolotl_makes_segments_grow_and_the_others_are_told() {
    let query = llama("precision=mixed&zero=3");
    assert_eq!(runs(Target::Axolotl, &query).device.segments, Segments::Expandable);
    let growing = format!("{query}&segments=expandable");
    assert_lines(Target::Trl, &growing, &["PYTORCH_ALLOC_CONF: \"expandable_segments:True\""]);
    assert_told(Target::LlamaFactory, &growing, "PYTORCH_ALLOC_CONF=expandable_segments:True FORCE_TORCHRUN=1");
    assert!(!told(Target::LlamaFactory, &query).contains("ALLOC_CONF"));
}

#[test]
fn liger_is_switched_on_as_far_as_a_program_divides_it() {
    let query = llama("precision=mixed&zero=3&loss=fused");
    assert_lines(Target::Trl, &query, &["use_liger_kernel: true", "fused_linear_cross_entropy: true", "rope: false"]);
    assert_lines(Target::Axolotl, &query, &["liger_fused_linear_cross_entropy: true"]);
    assert_lines(Target::LlamaFactory, &query, &["enable_liger_kernel: true"]);
    assert_eq!(runs(Target::LlamaFactory, &query).recipe.kernels, crate::Kernels::Fused);
    assert_told(Target::Trl, &llama("precision=mixed&zero=3&loss=fused&task=dpo"), "made of plain logits");
}

#[test]
fn peft_s_file_is_about_adapters_and_stands_in_where_there_are_none() {
    let query = llama("zero=0&gpus=1&precision=autocast&adapter=qlora&rank=32&targets=qv&adapter_dropout=on");
    let text = write(Target::Peft, &scenario(&query), PAGE);
    let read: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((read["r"].as_u64(), read["lora_alpha"].as_u64()), (Some(32), Some(64)));
    assert_eq!(read["target_modules"], serde_json::json!(["q_proj", "v_proj"]));
    assert_eq!(read["lora_dropout"].as_f64(), Some(0.05));
    assert_told(Target::Peft, &llama("zero=3&precision=mixed"), "LoRA stands in");
}

#[test]
fn dropout_that_a_trainer_switches_off_is_not_counted() {
    let query = "model=gpt2&gpus=1&zero=0&precision=bf16-pure&dropout=on&s=512&task=dpo";
    assert_lines(Target::Trl, query, &["disable_dropout: false"]);
    for target in [Target::Axolotl, Target::LlamaFactory] {
        assert_eq!(runs(target, query).recipe.dropout, crate::Switch::Off, "{target:?}");
    }
}

#[test]
fn axolotl_s_adapters_beside_weights_in_8_bits_are_in_fp32() {
    // peft casts adapters to the type of the weights beside them where that is a floating one, which int8 is not.
    for (adapter, word, kept) in [("lora-8bit", "true", AdapterType::Full), ("qlora", "false", AdapterType::Half)] {
        let query = llama(&format!("adapter={adapter}&adapter_type=16&precision=autocast&zero=0&gpus=1&s=1024"));
        assert_lines(Target::Axolotl, &query, &[&format!("peft_autocast_adapter_dtype: {word}")]);
        assert_eq!(runs(Target::Axolotl, &query).recipe.adapter_type, kept, "{adapter}");
    }
}
