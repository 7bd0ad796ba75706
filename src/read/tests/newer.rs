//! Short files of LLaMA-Factory v1, NeMo AutoModel and NeMo-RL. What each says is worked out from the code of its program.

use super::*;

/// Holds that each text says its words, and that none of its keys is left not understood.
fn each(recipes: &[(&str, &str)]) {
    for (text, words) in recipes {
        assert_says(&[Text::pasted(text)], words);
        assert_eq!(not_understood(text), [""; 0], "{text}");
    }
}

/// The keys of a text that are not counted.
fn not_counted(text: &str) -> Vec<String> {
    told_of(text).into_iter().filter_map(|line| Some(line.split_once(" not counted ")?.1.to_owned())).collect()
}

#[test]
fn arguments_of_llama_factory_v1_are_read_key_by_key() {
    let text = "model: Qwen/Qwen3-8B\n\
        model_class: llm\n\
        dist_config:\n  name: fsdp2\n  reshard_after_forward: false\n\
        optim_config:\n  name: muon\n  momentum: 0.95\n\
        train_dataset: data/own.yaml\n\
        micro_batch_size: 2\n\
        global_batch_size: 64\n\
        cutoff_len: 4096\n\
        flash_attn: flash_attention_2\n\
        batching_strategy: padding_free\n\
        cp_size: 2\n\
        micro_batch_sizes: 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::LlamaFactoryV1]);
    assert_eq!(
        told_of(text),
        [
            "1 used model: model=qwen3-8b",
            "2 no matter model_class",
            "4 used dist_config.name: engine=torch&zero=2",
            "5 used dist_config.reshard_after_forward: zero=2",
            "7 used optim_config.name: optimizer=muon",
            "8 no matter optim_config.momentum",
            "9 no matter train_dataset",
            "10 used micro_batch_size: b=2",
            "11 used global_batch_size: target=64",
            "12 used cutoff_len: s=4096",
            "13 used flash_attn: attn=flash",
            "14 used batching_strategy: lengths=flattened",
            "15 not counted cp_size",
            "16 not understood micro_batch_sizes: nearest micro_batch_size",
        ]
    );
    // All weights are trained, so that they are cast to fp32; FSDP casts what it gathers to bf16.
    assert_says(&[Text::pasted(text)], "precision=mixed&recompute=full&adapter=none");
}

#[test]
fn every_kind_of_recipe_of_llama_factory_v1_is_read() {
    let lora = "model: Qwen/Qwen3-8B\ntrain_dataset: own.yaml\ncutoff_len: 1024\npeft_config:\n  name: lora\n  r: 32\n  \
        target_modules: [q_proj, v_proj]\n";
    let fsdp = "dist_config:\n  name: fsdp2\n";
    let bits = |bits: &str| format!("{lora}{fsdp}quant_config:\n  name: bnb\n{bits}");
    each(&[
        // Nothing is cast without FSDP: weights in the checkpoint’s bf16, adapters in peft’s fp32.
        (lora, "adapter=lora&adapter_type=32&rank=32&targets=qv&adapter_dropout=on&precision=bf16-pure&zero=0&s=1024"),
        (&format!("{lora}{fsdp}"), "adapter=lora&adapter_type=32&precision=mixed&zero=3&engine=torch&step=foreach"),
        // Four bits where nobody says how many.
        (&bits(""), "adapter=qlora&precision=mixed"),
        (&bits("  quantization_bit: 8\n"), "adapter=lora-8bit"),
        ("model: a/b\nmodel_class: llm\n", "precision=fp32&zero=0&recompute=full&b=1&s=2048&adapter=none"),
        (&format!("model: a/b\nbf16: false\n{fsdp}"), "precision=fp32&zero=3"),
        (
            "model: a/b\ndist_config:\n  name: deepspeed\n  config_file: ds_z2_config.json\n",
            "engine=deepspeed&zero=2&precision=bf16",
        ),
        (&format!("model: a/b\n{fsdp}batching_strategy: dynamic_batching\n"), "lengths=equal"),
    ]);
    assert_eq!(not_counted(&format!("{lora}pref_loss: sigmoid\npref_beta: 0.1\n")), ["pref_loss", "pref_beta"]);
    let command = "llamafactory-cli sft run.yaml --cutoff_len 512";
    assert_eq!(formats(&[Text::pasted(command)]), [Format::LlamaFactoryV1]);
}

#[test]
fn a_configuration_of_nemo_automodel_is_read_key_by_key() {
    let text = "recipe: TrainFinetuneRecipeForNextTokenPrediction\n\
        step_scheduler:\n  global_batch_size: 64\n  local_batch_size: 2\n  max_steps: 10\n\
        model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  \
        pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n  torch_dtype: bfloat16\n\
        distributed:\n  strategy: fsdp2\n  dp_size: 4\n  tp_size: 2\n  sequence_parallel: true\n  \
        activation_checkpointing: true\n  dp_replicate_size: 2\n  tensor_size: 2\n\
        loss_fn:\n  _target_: nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy\n\
        dataset:\n  seq_length: 4096\n\
        packed_sequence:\n  packed_sequence_size: 0\n\
        optimizer:\n  _target_: torch.optim.AdamW\n  lr: 1.0e-5\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Automodel]);
    assert_eq!(
        told_of(text),
        [
            "1 no matter recipe",
            "3 used step_scheduler.global_batch_size: accum=8&target=64",
            "4 used step_scheduler.local_batch_size: b=2",
            "5 no matter step_scheduler.max_steps",
            "7 no matter model._target_",
            "8 used model.pretrained_model_name_or_path: model=llama-3.1-8b",
            "9 used model.torch_dtype: adapter=none&precision=bf16-pure",
            "11 used distributed.strategy: engine=torch&zero=3",
            "12 used distributed.dp_size: gpus=8&zero=3",
            "13 used distributed.tp_size: tp=2",
            "14 used distributed.sequence_parallel: sp=on",
            "15 not counted distributed.activation_checkpointing",
            "16 not counted distributed.dp_replicate_size",
            "17 not counted distributed.tensor_size",
            "19 used loss_fn._target_: loss=fused",
            "21 used dataset.seq_length: s=4096",
            "23 no matter packed_sequence.packed_sequence_size",
            "25 used optimizer._target_: optimizer=adamw",
            "26 no matter optimizer.lr",
        ]
    );
    // 64 sequences are 8 micro-batches of 2 on each of 4 data-parallel GPUs. PyTorch’s foreach does not go with tensor parallelism.
    assert_says(&[Text::pasted(text)], "step=loop&attn=flash");
}

#[test]
fn every_kind_of_recipe_of_nemo_automodel_is_read() {
    let start = "step_scheduler:\n  global_batch_size: 32\n  local_batch_size: 4\nmodel:\n  \
        pretrained_model_name_or_path: meta-llama/Llama-3.1-8B\n";
    let with = |rest: &str| format!("{start}{rest}");
    let lora = "peft:\n  _target_: nemo_automodel.components._peft.lora.PeftConfig\n  dim: 16\n  alpha: 32\n  \
        target_modules: '*_proj'\n";
    each(&[
        (
            start,
            "precision=bf16-pure&zero=3&engine=torch&b=4&recompute=none&loss=plain&step=foreach&sp=off&adapter=none",
        ),
        (&with("  torch_dtype: float32\n"), "precision=mixed&zero=3"),
        (&with("  torch_dtype: float32\ndistributed:\n  strategy: ddp\n"), "precision=fp32&zero=0"),
        // Adapters have the type of the weights beside them.
        (&with(lora), "adapter=lora&adapter_type=16&rank=16&targets=all&precision=bf16-pure"),
        (&with(&format!("  torch_dtype: float32\n{lora}")), "adapter=lora-fp32&adapter_type=32&precision=mixed"),
        (
            &with(&format!("{lora}quantization:\n  load_in_4bit: true\n  load_in_8bit: false\n")),
            "adapter=qlora&adapter_type=16&precision=bf16-pure",
        ),
        (&with("packed_sequence:\n  packed_sequence_size: 8192\n"), "s=8192&lengths=packed"),
        // 32 layers on 4 stages in chunks of 2; 4 sequences in micro-batches of 1. Layers stay gathered beside a pipeline.
        (
            &with(
                "distributed:\n  dp_size: none\n  pp_size: 4\n  pipeline:\n    pp_schedule: interleaved1f1b\n    layers_per_stage: 2\n",
            ),
            "pp=4&vpp=4&b=1&accum=4&zero=2",
        ),
        (
            &with(
                "distributed:\n  pp_size: 1\n  pipeline:\n    pp_schedule: interleaved1f1b\n    layers_per_stage: 2\n",
            ),
            "pp=1&b=4&zero=3",
        ),
        // Experts that are divided stay gathered, but where they are told not to.
        (&with("distributed:\n  ep_size: 8\n"), "ep=8&zero=2"),
        (&with("distributed:\n  ep_size: 8\n  moe:\n    reshard_after_forward: true\n"), "ep=8&zero=3"),
        (&with("distributed:\n  activation_checkpointing: selective\n"), "recompute=ops"),
        (
            &with("distributed:\n  offload_policy:\n    _target_: torch.distributed.fsdp.CPUOffloadPolicy\n"),
            "offload=parameters",
        ),
    ]);
    let one = read(&[Text::pasted(&with(
        "distributed:\n  pp_size: 1\n  pipeline:\n    layers_per_stage: 2\n    pp_schedule: interleaved1f1b\n",
    ))]);
    assert_eq!(one.inputs.get("vpp"), None);
    let all = with(&lora.replace("  target_modules: '*_proj'\n", "  match_all_linear: true\n"));
    assert_eq!(not_counted(&all), ["peft.match_all_linear"]);
    let command = "automodel run.yaml --nproc-per-node 8 --distributed.tp_size 2";
    assert_says(&[Text::pasted(command)], "gpus=8&tp=2");
}

#[test]
fn a_configuration_of_nemo_rl_is_read_key_by_key() {
    let text = "grpo:\n  num_prompts_per_step: 32\n  num_generations_per_prompt: 8\n  seed: 1\n\
        loss_fn:\n  reference_policy_kl_penalty: 0.01\n\
        policy:\n  model_name: Qwen/Qwen3-8B\n  train_global_batch_size: 256\n  train_micro_batch_size: 2\n  \
        logprob_batch_size: ${policy.train_micro_batch_size}\n  max_total_sequence_length: 4096\n  precision: bfloat16\n  \
        dtensor_cfg:\n    enabled: true\n    activation_checkpointing: true\n    tensor_parallel_size: 1\n  \
        megatron_cfg:\n    enabled: false\n    tensor_model_parallel_size: 4\n  \
        optimizer:\n    name: torch.optim.AdamW\n    kwargs:\n      foreach: false\n  \
        generation:\n    backend: vllm\n    max_new_tokens: 3072\n    colocated:\n      enabled: true\n      resources:\n        \
        num_nodes: 1\n    vllm_cfg:\n      gpu_memory_utilization: 0.5\n\
        cluster:\n  gpus_per_node: 8\n  num_nodes: 2\n\
        polices: 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::NemoRl]);
    assert_eq!(
        told_of(text),
        [
            "2 used grpo.num_prompts_per_step: lengths=equal&task=grpo",
            "3 used grpo.num_generations_per_prompt: lengths=equal&task=grpo",
            "4 no matter grpo.seed",
            "6 used loss_fn.reference_policy_kl_penalty: ref=offloaded",
            "8 used policy.model_name: model=qwen3-8b",
            "9 used policy.train_global_batch_size: accum=8&target=256",
            "10 used policy.train_micro_batch_size: b=2",
            "11 used policy.logprob_batch_size: score_b=2",
            "12 used policy.max_total_sequence_length: s=4096",
            "13 used policy.precision: precision=mixed",
            "15 used policy.dtensor_cfg.enabled: engine=torch&zero=3",
            "16 not counted policy.dtensor_cfg.activation_checkpointing",
            "17 used policy.dtensor_cfg.tensor_parallel_size: tp=1",
            "19 no matter policy.megatron_cfg.enabled",
            "20 no matter policy.megatron_cfg.tensor_model_parallel_size",
            "22 used policy.optimizer.name: optimizer=adamw",
            "24 used policy.optimizer.kwargs.foreach: step=loop",
            "26 used policy.generation.backend: rollout=asleep",
            "27 used policy.generation.max_new_tokens: completion=3072",
            "29 used policy.generation.colocated.enabled: rollout=asleep",
            "31 no matter policy.generation.colocated.resources.num_nodes",
            "33 used policy.generation.vllm_cfg.gpu_memory_utilization: engine_share=50",
            "35 used cluster.gpus_per_node: gpus=16",
            "36 used cluster.num_nodes: gpus=16",
            "37 not understood polices: nearest ",
        ]
    );
}

#[test]
fn every_kind_of_recipe_of_nemo_rl_is_read() {
    let start = |section: &str, more: &str| {
        format!(
            "{section}:\n  max_num_steps: 10\npolicy:\n  model_name: meta-llama/Llama-3.1-8B\n  train_global_batch_size: 64\n  \
             train_micro_batch_size: 1\n  max_total_sequence_length: 2048\n  precision: bfloat16\n{more}"
        )
    };
    let dtensor = "  dtensor_cfg:\n    enabled: true\n";
    let megatron = "  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 2\n    pipeline_model_parallel_size: 2\n    \
        activation_checkpointing: true\n    recompute_granularity: selective\n    optimizer:\n      \
        use_precision_aware_optimizer: false\n    distributed_data_parallel_config:\n      grad_reduce_in_fp32: false\n";
    let lora =
        "    lora_cfg:\n      enabled: true\n      dim: 32\n      target_modules: []\n      match_all_linear: false\n";
    let cluster = |gpus: u32, machines: u32| format!("cluster:\n  gpus_per_node: {gpus}\n  num_nodes: {machines}\n");
    let away = "  generation:\n    backend: vllm\n    colocated:\n      enabled: false\n      resources:\n        num_nodes: 1\n        \
        gpus_per_node: 2\n";
    each(&[
        (
            &start("sft", &format!("{dtensor}{}", cluster(8, 1))),
            "precision=mixed&zero=3&gpus=8&step=foreach&b=1&accum=8",
        ),
        // On one GPU nothing is divided, and autocast casts the fp32 weights.
        (&start("sft", &format!("{dtensor}{}", cluster(1, 1))), "precision=autocast"),
        (&start("sft", &format!("{dtensor}{lora}")), "adapter=lora-fp32&adapter_type=32&rank=32&precision=mixed"),
        (&start("dpo", dtensor), "task=dpo&ref=offloaded&b=1&target=64"),
        (&start("rm", dtensor), "task=reward"),
        (&start("grpo", dtensor), "task=grpo&ref=offloaded"),
        (&format!("loss_fn:\n  reference_policy_kl_penalty: 0\n{}", start("grpo", dtensor)), "task=grpo&ref=none"),
        // What generates has GPUs of its own.
        (&start("grpo", &format!("{dtensor}{away}{}", cluster(8, 4))), "rollout=server&gpus=24"),
        (&start("grpo", &format!("{dtensor}{away}{}", cluster(8, 1))), "rollout=server&gpus=6"),
        (
            &start("sft", megatron),
            "engine=megatron&precision=bf16&grad=16&zero=1&tp=2&pp=2&recompute=selective&step=fused&kernels=fused",
        ),
        (
            &start(
                "sft",
                "  megatron_cfg:\n    enabled: true\n    activation_checkpointing: true\n    peft:\n      enabled: true\n      dim: 8\n",
            ),
            "engine=megatron&recompute=full&adapter=lora&adapter_type=16&rank=8",
        ),
    ]);
    assert_eq!(read(&[Text::pasted(&start("sft", dtensor))]).inputs.get("ref"), None);
}

#[test]
fn what_a_file_of_nemo_rl_leaves_out_the_file_says_that_it_changes() {
    let base = "grpo:\n  num_prompts_per_step: 8\npolicy:\n  model_name: Qwen/Qwen3-8B\n  train_micro_batch_size: 4\n  \
        dtensor_cfg:\n    enabled: true\n  optimizer:\n    name: torch.optim.AdamW\ncluster:\n  gpus_per_node: 8\n  num_nodes: 1\n";
    let own = "defaults: ../base.yaml\npolicy:\n  train_micro_batch_size: 1\ncluster:\n  num_nodes: 4\n";
    let alone = read(&[Text::pasted(own)]);
    assert_eq!(alone.understood.missing.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["base.yaml"]);
    assert_eq!((alone.inputs.get("gpus"), alone.inputs.get("step"), alone.inputs.get("b")), (None, None, Some("1")));
    let both = [Text::file("base.yaml", base.as_bytes()), Text::file("own.yaml", own.as_bytes())];
    assert_says(&both, "b=1&task=grpo&step=foreach&zero=3");
    assert_eq!(read(&both).understood.missing, []);
}

/// `MegatronArguments` in swift/megatron/arguments/megatron_args.py: expert_tensor_parallel_size is 1.
#[test]
fn experts_that_tensor_parallelism_does_not_divide_are_not_counted_as_if_it_did() {
    let text = |more: &str| {
        format!(
            "megatron sft --model Qwen/Qwen3-30B-A3B --dataset a --micro_batch_size 1 --tensor_model_parallel_size 2 \
             --expert_model_parallel_size 8{more}"
        )
    };
    assert_eq!(not_counted(&text("")), ["expert_model_parallel_size"]);
    assert_eq!(read(&[Text::pasted(&text(""))]).inputs.get("ep"), None);
    assert_says(&[Text::pasted(&text("").replace("parallel_size 2", "parallel_size 1"))], "ep=8&tp=1");
    let apart = not_counted(&text(" --expert_tensor_parallel_size 2"));
    assert_eq!(apart, ["expert_tensor_parallel_size"]);
}
