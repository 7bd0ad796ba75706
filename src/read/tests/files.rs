//! A short file of every format, read whole: what each key becomes is what the programs' documentation says of it.

use super::*;

#[test]
fn a_file_of_axolotl_is_read_key_by_key() {
    let text = "base_model: meta-llama/Llama-3.1-8B\n\
        load_in_4bit: true\n\
        adapter: qlora\n\
        lora_r: 32\n\
        lora_target_linear: true\n\
        sequence_len: 4096\n\
        sample_packing: true\n\
        micro_batch_size: 2\n\
        gradient_accumulation_steps: 4\n\
        optimizer: paged_adamw_32bit\n\
        bf16: auto\n\
        gradient_checkpointing: true\n\
        attn_implementation: flash_attention_2\n\
        learning_rate: 0.0002\n\
        lora_modules_to_save: [embed_tokens]\n\
        sequence_length: 2048\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Axolotl]);
    assert_eq!(
        told_of(text),
        [
            "1 used base_model: model=llama-3.1-8b",
            "2 used load_in_4bit: adapter=qlora",
            "3 used adapter: adapter=qlora",
            "4 used lora_r: rank=32",
            "5 used lora_target_linear: targets=all",
            "6 used sequence_len: s=4096",
            "7 used sample_packing: lengths=packed",
            "8 used micro_batch_size: b=2",
            "9 used gradient_accumulation_steps: accum=4",
            "10 not counted optimizer",
            "11 used bf16: precision=autocast",
            "12 used gradient_checkpointing: recompute=full",
            "13 used attn_implementation: attn=flash",
            "14 no matter learning_rate",
            "15 not counted lora_modules_to_save",
            "16 not understood sequence_length: nearest sequence_len, pad_to_sequence_len",
        ]
    );
    // Nothing divides the model where no file says so, and axolotl makes segments grow.
    assert_says(&[Text::pasted(text)], "zero=0&engine=torch&segments=expandable&adapter_type=32");
}

#[test]
fn arguments_of_llama_factory_are_read_key_by_key() {
    let text = "### model\n\
        model_name_or_path: Qwen/Qwen3-8B\n\
        stage: dpo\n\
        finetuning_type: lora\n\
        lora_rank: 64\n\
        lora_target: q_proj,v_proj\n\
        quantization_bit: 4\n\
        double_quantization: false\n\
        cutoff_len: 8192\n\
        per_device_train_batch_size: 1\n\
        gradient_accumulation_steps: 8\n\
        bf16: true\n\
        flash_attn: fa2\n\
        deepspeed: examples/deepspeed/ds_z3_config.json\n\
        num_train_epochs: 3.0\n\
        per_device_train_batch: 2\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::LlamaFactory]);
    assert_eq!(
        told_of(text),
        [
            "2 used model_name_or_path: model=qwen3-8b",
            "3 used stage: frozen=16&task=dpo",
            "4 used finetuning_type: adapter=qlora",
            "5 used lora_rank: rank=64",
            "6 used lora_target: targets=qv",
            "7 used quantization_bit: adapter=qlora",
            "8 not counted double_quantization",
            "9 used cutoff_len: s=8192",
            "10 used per_device_train_batch_size: b=1",
            "11 used gradient_accumulation_steps: accum=8",
            "12 used bf16: precision=bf16",
            "13 used flash_attn: attn=flash",
            "14 used deepspeed: engine=deepspeed&zero=3",
            "15 no matter num_train_epochs",
            "16 not understood per_device_train_batch: nearest per_device_train_batch_size",
        ]
    );
    // Its own defaults: every layer is computed again, by reentrant autograd; the reference is the model without adapters.
    let reading = read(&[Text::pasted(text)]);
    assert_says(&[Text::pasted(text)], "recompute=full&ref=adapter&optimizer=adamw&step=fused&adapter_dropout=off");
    assert_eq!(
        reading.understood.missing.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
        ["ds_z3_config.json"]
    );
    // The same as JSON.
    let json = r#"{"model_name_or_path": "some/model", "finetuning_type": "full", "cutoff_len": 8192, "bf16": true}"#;
    assert_says(&[Text::pasted(json)], "adapter=none&s=8192&precision=autocast&b=8&accum=1");
}

#[test]
fn arguments_of_trl_are_read_with_the_defaults_of_their_class() {
    let text = "model_name_or_path: google/gemma-2-9b\n\
        dataset_name: some/data\n\
        output_dir: out\n\
        learning_rate: 2e-5\n\
        per_device_train_batch_size: 2\n\
        packing: true\n\
        max_length: 2048\n\
        use_peft: true\n\
        use_dora: true\n\
        dtype: bfloat16\n\
        lora_rank_of_all: 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::TrlSft]);
    assert_eq!(
        told_of(text),
        [
            "1 used model_name_or_path: model=gemma-2-9b",
            "2 no matter dataset_name",
            "3 no matter output_dir",
            "4 no matter learning_rate",
            "5 used per_device_train_batch_size: b=2",
            "6 used packing: lengths=packed",
            "7 used max_length: s=2048",
            "8 used use_peft: adapter=lora",
            "9 not counted use_dora",
            "10 used dtype: adapter=lora&precision=autocast",
            "11 not understood lora_rank_of_all: nearest lora_rank",
        ]
    );
    // trl’s classes take bf16 and recompute every layer where nobody says otherwise, and the Trainer does neither.
    assert_says(&[Text::pasted(text)], "recompute=full&precision=autocast&accum=1");
    let trainer = "output_dir: out\nlearning_rate: 2e-5\nper_device_train_batch_size: 2\n";
    assert_eq!(formats(&[Text::pasted(trainer)]), [Format::Transformers]);
    assert_says(&[Text::pasted(trainer)], "recompute=none&b=2&accum=1&optimizer=adamw&step=fused&precision=bf16-pure");
    let whole = read(&[Text::pasted("output_dir: out\nlearning_rate: 2e-5\n")]);
    let silent = whole.understood.silent.iter().find(|silent| silent.key == "per_device_train_batch_size");
    let silent = silent.expect("the Trainer’s own number");
    assert_eq!((silent.value, silent.became.as_slice()), ("8", &["b=8".to_owned()][..]));
    assert_eq!(silent.source, "transformers 5.24.0, training_args.py, TrainingArguments");
}

#[test]
fn trl_s_other_classes_are_told_by_their_keys() {
    let dpo = "output_dir: out\nper_device_train_batch_size: 1\nprecompute_ref_log_probs: true\nbeta: 0.1\n";
    assert_eq!(formats(&[Text::pasted(dpo)]), [Format::TrlDpo]);
    assert_says(&[Text::pasted(dpo)], "task=dpo&ref=none&s=1024&dropout=off");
    let grpo = "output_dir: out\nnum_generations: 8\nmax_prompt_length: 512\nmax_completion_length: 3584\nuse_vllm: true\n\
        vllm_gpu_memory_utilization: 0.4\nvllm_enable_sleep_mode: true\n";
    assert_eq!(formats(&[Text::pasted(grpo)]), [Format::TrlGrpo]);
    // 512 + 3,584 tokens; trl’s β is 0 by itself, and then there is no reference.
    assert_says(&[Text::pasted(grpo)], "task=grpo&s=4096&completion=3584&rollout=asleep&engine_share=40&ref=none");
}

#[test]
fn a_configuration_of_accelerate_is_read_key_by_key() {
    let text = "compute_environment: LOCAL_MACHINE\n\
        debug: false\n\
        distributed_type: FSDP\n\
        fsdp_config:\n  \
        fsdp_version: 1\n  \
        fsdp_sharding_strategy: SHARD_GRAD_OP\n  \
        fsdp_offload_params: true\n  \
        fsdp_backward_prefetch: BACKWARD_PRE\n  \
        fsdp_activation_checkpointing: true\n\
        mixed_precision: bf16\n\
        num_machines: 2\n\
        num_processes: 16\n\
        number_of_processes: 16\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Accelerate]);
    assert_eq!(
        told_of(text),
        [
            "1 no matter compute_environment",
            "2 no matter debug",
            "3 used distributed_type: engine=torch&zero=2",
            "5 no matter fsdp_config.fsdp_version",
            "6 used fsdp_config.fsdp_sharding_strategy: zero=2",
            "7 used fsdp_config.fsdp_offload_params: offload=parameters",
            "8 not counted fsdp_config.fsdp_backward_prefetch",
            "9 used fsdp_config.fsdp_activation_checkpointing: recompute=full",
            "10 used mixed_precision: precision=mixed",
            "11 no matter num_machines",
            "12 used num_processes: gpus=16",
            "13 not understood number_of_processes: nearest num_processes",
        ]
    );
}

#[test]
fn a_configuration_of_deepspeed_is_read_key_by_key() {
    let text = r#"{
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": 1.0,
        "bf16": {"enabled": true},
        "zero_optimization": {
            "stage": 2,
            "reduce_bucket_size": 2e8,
            "offload_optimizer": {"device": "cpu", "pin_memory": true},
            "zero_hpz_partition_size": 8,
            "offload_parameters": {"device": "cpu"}
        }
    }"#;
    assert_eq!(formats(&[Text::pasted(text)]), [Format::DeepSpeed]);
    assert_eq!(
        told_of(text),
        [
            "2 used train_micro_batch_size_per_gpu: b=4",
            "3 no matter gradient_accumulation_steps",
            "4 no matter gradient_clipping",
            "5 used bf16.enabled: precision=bf16",
            "7 used zero_optimization.stage: zero=2",
            "8 used zero_optimization.reduce_bucket_size: bucket=200",
            "9 used zero_optimization.offload_optimizer.device: offload=optimizer",
            "9 no matter zero_optimization.offload_optimizer.pin_memory",
            "10 not counted zero_optimization.zero_hpz_partition_size",
            "11 not understood zero_optimization.offload_parameters.device: nearest zero_optimization.offload_param.device",
        ]
    );
}

#[test]
fn an_adapter_s_file_is_read_key_by_key() {
    let text = "{\n\"base_model_name_or_path\": \"mistralai/Mistral-7B-v0.1\",\n\"peft_type\": \"LORA\",\n\"r\": 64,\n\
        \"lora_alpha\": 16,\n\"lora_dropout\": 0.05,\n\"target_modules\": [\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\"],\n\
        \"modules_to_save\": [\"lm_head\"],\n\"rang\": 3\n}";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Peft]);
    assert_eq!(
        told_of(text),
        [
            "2 used base_model_name_or_path: model=mistral-7b&vocab=32000",
            "3 no matter peft_type",
            "4 used r: rank=64",
            "5 no matter lora_alpha",
            "6 used lora_dropout: adapter_dropout=on",
            "7 used target_modules: targets=attention",
            "8 not counted modules_to_save",
            "9 not understood rang: nearest ",
        ]
    );
    assert_says(&[Text::pasted(text)], "adapter=lora&adapter_type=32");
}

/// A file of axolotl that names a file of DeepSpeed, that file, and the model’s own: one configuration.
#[test]
fn several_files_make_one_configuration_in_any_order() {
    let run =
        b"base_model: some/model\nsequence_len: 2048\nmicro_batch_size: 1\ndeepspeed: deepspeed_configs/zero2.json\n";
    let deepspeed = br#"{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}"#;
    let model = include_bytes!("../../../tests/config_files/llama-3.1-8b.json");
    let texts =
        [Text::file("run.yaml", run), Text::file("configs/zero2.json", deepspeed), Text::file("config.json", model)];
    let [a, b, c] = texts;
    let first = read(&texts);
    for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
        assert_eq!(read(&order), first);
    }
    // The file itself says stage 3, whatever its name says.
    assert_says(&texts, "engine=deepspeed&zero=3&precision=bf16&s=2048&b=1");
    assert!(first.understood.missing.is_empty());
    // 32 layers, as the file of the model says.
    assert_eq!(first.decoded.scenario.model.layers, 32);
    // Without it the name has to do, and it is said that the file is missing.
    let alone = read(&[a]);
    assert_eq!(alone.inputs.get("zero"), Some("2"));
    assert_eq!(alone.understood.missing[0].1, "zero2.json");
}

#[test]
fn of_two_texts_that_say_different_things_one_counts_and_the_other_is_told_of() {
    let texts = [
        Text::file("train.yaml", b"output_dir: o\nlearning_rate: 1e-5\nper_device_train_batch_size: 2\n"),
        Text::file("ds.json", br#"{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4}"#),
    ];
    let reading = read(&texts);
    assert_eq!(reading.inputs.get("b"), Some("2"));
    let overruled: Vec<&str> =
        reading.understood.used.iter().filter(|used| used.overruled).map(|used| used.place.key.as_str()).collect();
    assert_eq!(overruled, ["train_micro_batch_size_per_gpu"]);
}

#[test]
fn a_name_on_a_hub_or_its_address_is_the_model_and_no_other_model_answers_for_it() {
    for (text, slug) in [
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", "qwen3-8b"),
        ("https://huggingface.co/Qwen/Qwen3-8B\n", "qwen3-8b"),
        ("unsloth/Meta-Llama-3.1-8B-bnb-4bit", "llama-3.1-8b"),
    ] {
        let reading = read(&[Text::pasted(text)]);
        let Model::Listed(row) = reading.model else { panic!("{text}: {:?}", reading.model) };
        assert_eq!(row.slug, slug, "{text}");
    }
    for text in ["meta-llama/Llama-3.2-11B-Vision", "someone/llama-99b", "https://huggingface.co/some/thing"] {
        let reading = read(&[Text::pasted(text)]);
        assert!(matches!(reading.model, Model::Unknown { .. }), "{text}: {:?}", reading.model);
        assert_eq!(reading.texts[0].kind, Kind::Name, "{text}");
    }
}

#[test]
fn a_configuration_of_torchtitan_is_read_key_by_key() {
    let text = "# a job\n\
        [job]\n\
        dump_folder = \"./outputs\"\n\
        [model]\n\
        name = \"llama3\"\n\
        flavor = \"70B\"\n\
        [optimizer]\n\
        name = \"AdamW\"\n\
        [training]\n\
        local_batch_size = 8\n\
        seq_len = 8_192\n\
        [parallelism]\n\
        data_parallel_shard_degree = 4\n\
        tensor_parallel_degree = 8\n\
        pipeline_parallel_degree = 4\n\
        pipeline_parallel_schedule = \"Interleaved1F1B\"\n\
        pipeline_parallel_layers_per_stage = 10\n\
        pipeline_parallel_microbatch_size = 2\n\
        expert_tensor_parallel_degree = 2\n\
        tensor_paralel = 2\n\
        [activation_checkpoint]\n\
        mode = \"full\"\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Torchtitan]);
    assert_eq!(
        told_of(text),
        [
            "3 no matter job.dump_folder",
            "5 no matter model.name",
            "6 used model.flavor: model=llama-3.1-70b",
            "8 used optimizer.name: optimizer=adamw",
            "10 used training.local_batch_size: b=2",
            "11 used training.seq_len: s=8192",
            "13 used parallelism.data_parallel_shard_degree: gpus=128&zero=2",
            "14 used parallelism.tensor_parallel_degree: tp=8",
            "15 used parallelism.pipeline_parallel_degree: pp=4",
            "16 used parallelism.pipeline_parallel_schedule: vpp=2",
            "17 used parallelism.pipeline_parallel_layers_per_stage: vpp=2",
            "18 used parallelism.pipeline_parallel_microbatch_size: b=2",
            "19 not counted parallelism.expert_tensor_parallel_degree",
            "20 not understood parallelism.tensor_paralel: nearest parallelism.tensor_parallel_degree",
            "22 used activation_checkpoint.mode: recompute=full",
        ]
    );
    // 80 layers over 4 stages in chunks of 10; 8 sequences in micro-batches of 2; 4 × 8 × 4 GPUs. With a pipeline FSDP keeps
    // weights gathered where nobody says otherwise, which is ZeRO 2; its fp32 weights are cast as they are gathered.
    assert_says(
        &[Text::pasted(text)],
        "vpp=2&b=2&accum=4&gpus=128&precision=mixed&sp=on&engine=torchtitan&kernels=eager",
    );
    let flags = "NGPU=8 ./run_train.sh\npython -m torchtitan.train --module qwen3 --config qwen3_14b --training.local_batch_size 4 \
        --training.seq_len 4096 --loss.num_chunks 8 --compile.enable activation-checkpoint:none";
    assert_says(
        &[Text::pasted(flags)],
        "b=4&s=4096&chunks=8&loss=chunked-head&kernels=fused&recompute=none&zero=3&gpus=8",
    );
    let Model::Listed(row) = read(&[Text::pasted(flags)]).model else { panic!("a model of the list") };
    assert_eq!(row.slug, "qwen3-14b");
}

/// GPT-3 175B as its authors ran it with Megatron-LM: 96 layers of 12,288, 96 heads.
#[test]
fn flags_of_megatron_describe_the_model_and_its_division() {
    let text = "GPUS_PER_NODE=8\n\
        DISTRIBUTED_ARGS=(\n    --nproc_per_node $GPUS_PER_NODE\n    --nnodes 16\n)\n\
        GPT_MODEL_ARGS=(\n    --num-layers 96\n    --hidden-size 12288\n    --num-attention-heads 96\n    --seq-length 2048\n    \
        --max-position-embeddings 2048\n)\n\
        torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\\n    ${GPT_MODEL_ARGS[@]} \\\n    --micro-batch-size 1 \\\n    \
        --global-batch-size 1536 --bf16 --fp8-format hybrid \\\n    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 \\\n    \
        --num-layers-per-virtual-pipeline-stage 3 --sequence-parallel --use-distributed-optimizer \\\n    \
        --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --lr 6.0e-5 --mtp-num-layers 1 --mbs 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Megatron, Format::Torchrun]);
    let told = told_of(text);
    for line in [
        "3 used nproc_per_node: gpus=128",
        "4 used nnodes: gpus=128",
        "7 used num_layers: layers=96",
        "8 used hidden_size: hidden=12288",
        "16 used fp8_format: fp8=te-delayed",
        "17 used tensor_model_parallel_size: tp=8",
        "19 no matter lr",
        "19 not counted mtp_num_layers",
        "19 used recompute_granularity: recompute=full",
        "18 used use_distributed_optimizer: zero=1",
    ] {
        assert!(told.iter().any(|one| one == line), "{line} is not among {told:#?}");
    }
    assert!(told.iter().any(|line| line.starts_with("19 not understood mbs")), "{told:#?}");
    // 96 / 16 / 3 = 2 chunks; 16 × 8 / (8 × 16) = 1 replica, so that 1,536 sequences are as many micro-batches. What no flag
    // says: GELU and four times the width, biases, a learned table, dropout, main gradients in fp32.
    assert_says(
        &[Text::pasted(text)],
        "vpp=2&accum=1536&sp=on&mlp=gelu&ffn=49152&bias=all&position=learned&positions=2048&tied=on&dropout=on&grad=32&kv=96&\
         head_dim=128&precision=bf16&loss=vocab-parallel&engine=megatron&norm=layernorm"
            .replace(char::is_whitespace, "")
            .as_str(),
    );
    let scenario = read(&[Text::pasted(text)]).decoded.scenario;
    assert_eq!((scenario.model.origin, scenario.model.layers), (crate::Origin::Own, 96));
}

#[test]
fn arguments_of_ms_swift_are_read_key_by_key() {
    let text = "NPROC_PER_NODE=4 swift rlhf \\\n\
        --rlhf_type dpo --model Qwen/Qwen3-8B \\\n\
        --train_type lora --lora_rank 32 \\\n\
        --dataset some/data --torch_dtype bfloat16 \\\n\
        --max_length 4096 --attn_impl flash_attn \\\n\
        --gradient_accumulation_steps 4 --deepspeed zero2 \\\n\
        --sequence_parallel_size 2 --lora_ranks 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::MsSwift, Format::Environment]);
    assert_eq!(
        told_of(text),
        [
            "1 used NPROC_PER_NODE: gpus=4",
            "2 used model: model=qwen3-8b",
            "2 used rlhf_type: task=dpo",
            "3 used lora_rank: rank=32",
            "3 used train_type: adapter=lora",
            "4 no matter dataset",
            "4 used torch_dtype: adapter=lora&precision=bf16",
            "5 used attn_impl: attn=flash",
            "5 used max_length: s=4096",
            "6 used deepspeed: engine=deepspeed&zero=2",
            "6 used gradient_accumulation_steps: accum=4",
            "7 not understood lora_ranks: nearest lora_rank",
            "7 not counted sequence_parallel_size",
        ]
    );
    // Its own defaults: a micro-batch of one, every layer computed again, dropout of adapters, all matrices.
    assert_says(&[Text::pasted(text)], "b=1&recompute=full&adapter_dropout=on&targets=all&ref=adapter");
}

#[test]
fn what_ms_swift_trains_by_megatron_has_that_engine_and_defaults_of_its_own() {
    let text = "NPROC_PER_NODE=8 megatron sft \\\n\
        --model Qwen/Qwen3-30B-A3B --load_safetensors true --dataset some/data \\\n\
        --train_type lora --expert_model_parallel_size 4 --pipeline_model_parallel_size 2 \\\n\
        --max_length 4096 --packing true --moe_permute_fusion true \\\n\
        --use_precision_aware_optimizer true --lora_ranks 3\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::MegatronSwift, Format::Environment]);
    assert_eq!(
        told_of(text),
        [
            "1 used NPROC_PER_NODE: gpus=8",
            "2 no matter dataset",
            "2 no matter load_safetensors",
            "2 used model: model=qwen3-30b-a3b",
            "3 used expert_model_parallel_size: ep=4",
            "3 used pipeline_model_parallel_size: pp=2",
            "3 used train_type: adapter=lora",
            "4 used max_length: s=4096",
            "4 no matter moe_permute_fusion",
            "4 no matter packing",
            "5 not understood lora_ranks: nearest lora_rank",
            "5 not counted use_precision_aware_optimizer",
        ]
    );
    // Its own defaults: micro-batches of one, 16 sequences a step over four pipelines of two GPUs, scores computed again,
    // the distributed optimizer, adapters of rank 8 in bf16 on every expert by itself, and a loss that is not fused.
    assert_says(
        &[Text::pasted(text)],
        "engine=megatron&b=1&accum=4&rank=8&recompute=selective&zero=1&precision=bf16&grad=32&adapter_type=16&\
         expert_matrices=linear&adapter_dropout=on&targets=all&loss=vocab-parallel&optimizer=adamw&attn=flash",
    );
    let whole = text.replace("--train_type lora", "--recompute_granularity none");
    assert_says(&[Text::pasted(&whole)], "adapter=none&recompute=none");
    // The same arguments as a file, without a command that names the program.
    let file = b"model: Qwen/Qwen3-8B\ntuner_type: full\nmicro_batch_size: 2\ntensor_model_parallel_size: 4\n";
    assert_eq!(formats(&[Text::file("args.yaml", file)]), [Format::MegatronSwift]);
}

#[test]
fn a_configuration_of_torchtune_is_read_key_by_key() {
    let text = "model:\n  _component_: torchtune.models.llama3_1.qlora_llama3_1_8b\n  lora_attn_modules: ['q_proj', 'v_proj']\n  \
        apply_lora_to_mlp: True\n  lora_rank: 8\n\
        tokenizer:\n  path: /tmp/tokenizer.model\n  max_seq_len: 4096\n\
        batch_size: 2\n\
        optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n  lr: 2e-5\n\
        loss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\n\
        enable_activation_checkpointing: True\n\
        dtype: bf16\n\
        ac_mode: selective\n\
        batch_sise: 4\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Torchtune]);
    assert_eq!(
        told_of(text),
        [
            "2 used model._component_: model=llama-3.1-8b&adapter=qlora",
            "3 used model.lora_attn_modules: targets=all",
            "4 used model.apply_lora_to_mlp: targets=all",
            "5 used model.lora_rank: rank=8",
            "7 no matter tokenizer.path",
            "8 used tokenizer.max_seq_len: s=4096",
            "9 used batch_size: b=2",
            "11 used optimizer._component_: optimizer=adam8bit-paged",
            "12 no matter optimizer.lr",
            "14 used loss._component_: chunks=8&loss=chunked",
            "15 used enable_activation_checkpointing: recompute=full",
            "16 used dtype: precision=bf16-pure",
            "17 not counted ac_mode",
            "18 not understood batch_sise: nearest batch_size",
        ]
    );
    // torchtune keeps adapters in the type of the weights, and its distributed recipes divide everything.
    assert_says(&[Text::pasted(text)], "adapter_type=16&accum=1");
    let launched = [
        Text::pasted(text),
        Text::file("run.sh", b"tune run --nproc_per_node 4 lora_finetune_distributed --config llama3_1/8B_lora"),
    ];
    assert_says(&launched, "gpus=4&zero=3");
}

#[test]
fn overrides_of_verl_are_read_key_by_key() {
    let text = "python3 -m verl.trainer.main_ppo \\\n\
        algorithm.adv_estimator=grpo data.max_prompt_length=512 \\\n\
        data.max_response_length=3584 actor_rollout_ref.model.path=Qwen/Qwen3-8B \\\n\
        actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.n=8 \\\n\
        actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \\\n\
        actor_rollout_ref.actor.use_kl_loss=True +actor_rollout_ref.ref.fsdp_config.param_offload=True \\\n\
        trainer.nnodes=2 trainer.project_name=x actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.use_kl_los=1\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Verl]);
    assert_eq!(
        told_of(text),
        [
            "2 used algorithm.adv_estimator: task=grpo",
            "2 used data.max_prompt_length: s=4096",
            "3 used actor_rollout_ref.model.path: model=qwen3-8b",
            "3 used data.max_response_length: completion=3584&s=4096",
            "4 used actor_rollout_ref.actor.ppo_mini_batch_size: accum=8&target=512",
            "4 used actor_rollout_ref.rollout.n: accum=8&target=512",
            "5 used actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu: b=4",
            "5 used actor_rollout_ref.rollout.gpu_memory_utilization: engine_share=60",
            "6 used actor_rollout_ref.actor.use_kl_loss: ref=offloaded",
            "6 used actor_rollout_ref.ref.fsdp_config.param_offload: ref=offloaded",
            "7 not counted actor_rollout_ref.actor.use_dynamic_bsz",
            "7 not understood actor_rollout_ref.actor.use_kl_los: nearest actor_rollout_ref.actor.use_kl_loss",
            "7 used trainer.nnodes: gpus=16",
            "7 no matter trainer.project_name",
        ]
    );
    // 64 prompts × 8 completions over 16 GPUs in micro-batches of 4; FSDP over fp32 weights; vLLM that sleeps.
    assert_says(&[Text::pasted(text)], "precision=mixed&zero=3&rollout=asleep&recompute=full");
}

#[test]
fn an_actor_of_verl_on_megatron_is_that_engine_and_not_fsdp() {
    let sizes = "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \
        actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \
        actor_rollout_ref.actor.megatron.sequence_parallel=True trainer.nnodes=2";
    let by_name = format!("python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml {sizes}");
    let by_word = format!("python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=megatron {sizes}");
    for text in [&by_name, &by_word] {
        // Two machines of eight, as verl has them (trainer/config/ppo_trainer.yaml); its distributed optimizer is on.
        assert_says(&[Text::pasted(text)], "engine=megatron&gpus=16&tp=4&pp=2&sp=on&zero=1&precision=bf16&grad=32");
        let reading = read(&[Text::pasted(text)]);
        assert!(!reading.decoded.scenario.conflicts().is_empty(), "a task on Megatron-LM is refused");
    }
    let more = "actor_rollout_ref.actor.megatron.param_offload=True \
        actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full";
    let told = told_of(&format!("{by_word} {more}"));
    // The longer name is shortened, as every long one is.
    for key in [".param_offload", "…"] {
        let said = format!("not counted actor_rollout_ref.actor.megatron{key}");
        assert!(told.iter().any(|line| line.ends_with(&said)), "{told:?}");
    }
}

#[test]
fn flags_of_openrlhf_are_read_key_by_key() {
    let text = "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --max_len 4096 \\\n\
        --train_batch_size 256 --micro_train_batch_size 2 --pretrain meta-llama/Llama-3.1-8B \\\n\
        --zero_stage 3 --bf16 --flash_attn --gradient_checkpointing --packing_samples \\\n\
        --learning_rate 5e-6 --zpg 8 --zero_stages 2\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::OpenRlhf, Format::DeepSpeedLauncher]);
    assert_eq!(
        told_of(text),
        [
            "1 used max_len: s=4096",
            "1 used num_gpus: gpus=8",
            "2 used micro_train_batch_size: b=2",
            "2 used pretrain: model=llama-3.1-8b",
            "2 used train_batch_size: accum=16&target=256",
            "3 used bf16: precision=bf16",
            "3 used flash_attn: attn=flash",
            "3 used gradient_checkpointing: recompute=full",
            "3 used packing_samples: lengths=flattened",
            "3 used zero_stage: zero=3",
            "4 no matter learning_rate",
            "4 not understood zero_stages: nearest ds.zero_stage, zero_stage",
            "4 not counted zpg",
        ]
    );
    assert_says(&[Text::pasted(text)], "engine=deepspeed&adapter=none");
}

/// `OptimizerNames` of transformers 5.24.0, training_args.py, lines 118 to 158, without the two of other devices.
#[test]
fn every_optimizer_of_transformers_for_gpus_is_counted_or_said_not_to_be() {
    let names = "adamw_torch adamw_torch_fused adafactor adamw_anyprecision adamw_torch_4bit adamw_torch_8bit ademamix sgd \
        adagrad adamw_bnb_8bit adamw_8bit ademamix_8bit lion_8bit lion_32bit paged_adamw_32bit paged_adamw_8bit \
        paged_ademamix_32bit paged_ademamix_8bit paged_lion_32bit paged_lion_8bit rmsprop rmsprop_bnb rmsprop_bnb_8bit \
        rmsprop_bnb_32bit galore_adamw galore_adamw_8bit galore_adafactor galore_adamw_layerwise \
        galore_adamw_8bit_layerwise galore_adafactor_layerwise lomo adalomo grokadamw schedule_free_radam \
        schedule_free_adamw schedule_free_sgd apollo_adamw apollo_adamw_layerwise stable_adamw";
    for name in names.split_whitespace() {
        let told = told_of(&format!("output_dir: o\nlearning_rate: 1\noptim: {name}\n"));
        let known = ["3 used optim: ", "3 not counted optim"];
        assert!(told.iter().any(|line| known.iter().any(|start| line.starts_with(start))), "{name}: {told:?}");
    }
}

/// `create_custom_optimizer` and `_create_galore_optimizer` in train/trainer_utils.py of llamafactory 0.9.5.
#[test]
fn an_optimizer_of_llama_factory_with_a_switch_of_its_own_counts_wherever_the_named_one_stands() {
    for (keys, optimizer) in [
        ("optim: adamw_8bit\nuse_galore: true\n", "galore-8bit"),
        ("use_galore: true\noptim: adamw_8bit\n", "galore-8bit"),
        ("optim: adamw_torch\nuse_galore: true\n", "galore"),
        ("optim: adamw_torch\nuse_apollo: true\n", "apollo"),
        ("optim: adamw_torch\nuse_muon: true\n", "muon"),
        ("optim: adamw_8bit\nuse_galore: false\n", "adam8bit"),
    ] {
        let text = format!("finetuning_type: full\ncutoff_len: 512\n{keys}");
        assert_says(&[Text::pasted(&text)], &format!("optimizer={optimizer}"));
        assert!(!told_of(&text).iter().any(|line| line.contains("overruled")), "{text}");
    }
}

#[test]
fn ranks_of_single_matrices_are_not_counted_and_said_so() {
    let told = told_of("config = LoraConfig(r=8, rank_pattern={'q_proj': 4}, alpha_pattern={'q_proj': 8})\n");
    assert!(told.iter().any(|line| line == "1 not counted rank_pattern.q_proj"), "{told:?}");
    assert!(told.iter().any(|line| line == "1 no matter alpha_pattern.q_proj"), "{told:?}");
}

#[test]
fn a_configuration_of_nemo_1_is_read_with_the_defaults_that_it_leaves_out() {
    let text = "name: megatron_gpt\ntrainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16-mixed\n  max_steps: 100\n\
        model:\n  mcore_gpt: True\n  micro_batch_size: 4\n  global_batch_size: 256\n  tensor_model_parallel_size: 2\n  \
        pipeline_model_parallel_size: 1\n  encoder_seq_length: 4096\n  max_position_embeddings: 4096\n  num_layers: 32\n  \
        hidden_size: 4096\n  ffn_hidden_size: 11008\n  num_attention_heads: 32\n  normalization: rmsnorm\n  bias: False\n  \
        activation: fast-swiglu\n  position_embedding_type: rope\n  share_embeddings_and_output_weights: False\n  \
        hidden_dropout: 0.0\n  megatron_amp_O2: True\n  sequence_parallel: True\n  use_flash_attention: True\n  \
        activations_checkpoint_granularity: selective\n  fp32_residual_connection: False\n  tokenizer:\n    library: megatron\n  \
        optim:\n    name: distributed_fused_adam\n    lr: 2e-4\nexp_manager:\n  name: megatron_gpt\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::Nemo]);
    assert_says(
        &[Text::pasted(text)],
        "engine=megatron&gpus=16&b=4&target=256&tp=2&sp=on&s=4096&layers=32&hidden=4096&ffn=11008&heads=32&norm=rmsnorm&bias=none&\
         mlp=gated&position=rotary&tied=off&dropout=off&precision=bf16&zero=1&recompute=selective&attn=flash&loss=vocab-parallel",
    );
    assert_eq!(not_understood(text), [""; 0]);
    // Without O2 weights stay in fp32; what is not said is that of the first GPT.
    let silent = "trainer:\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n  encoder_seq_length: 512\n  num_layers: 12\n  \
        hidden_size: 768\n  num_attention_heads: 12\n";
    assert_says(
        &[Text::pasted(silent)],
        "precision=autocast&gpus=1&norm=layernorm&bias=all&mlp=gelu&position=learned&tied=on&dropout=on&zero=0&recompute=none&ffn=3072",
    );
}

#[test]
fn lora_of_nemo_1_is_read_only_where_its_scheme_is_chosen() {
    let text = |scheme: &str| {
        format!(
            "trainer:\n  devices: 1\nmodel:\n  micro_batch_size: 1\n  peft:\n    peft_scheme: {scheme}\n    lora_tuning:\n      \
             adapter_dim: 8\n      target_modules: ['attention_qkv']\n    p_tuning:\n      virtual_tokens: 10\n"
        )
    };
    assert_says(&[Text::pasted(&text("lora"))], "adapter=lora&rank=8");
    let other = read(&[Text::pasted(&text("adapter"))]);
    assert_ne!(other.inputs.get("adapter"), Some("lora"));
}

#[test]
fn a_configuration_of_megatron_bridge_changes_its_recipe_and_takes_no_defaults_of_the_flags() {
    let text = "dataset:\n  seq_length: 4096\ntrain:\n  train_iters: 100\n  global_batch_size: 128\n  micro_batch_size: 2\n  \
        eval_iters: 10\noptimizer:\n  lr: 0.0001\n  weight_decay: 0.0\nscheduler:\n  lr_decay_style: cosine\ncheckpoint:\n  \
        save: ./checkpoints\npeft:\n  dim: 8\n  alpha: 16\nmodel:\n  seq_length: 4096\n  tensor_model_parallel_size: 2\n  \
        pipeline_model_parallel_size: 1\n  recompute_granularity: full\n  recompute_method: uniform\n  recompute_num_layers: 1\n\
        logger:\n  log_interval: 10\nrng:\n  seed: 1234\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::MegatronBridge]);
    assert_says(
        &[Text::pasted(text)],
        "engine=megatron&s=4096&b=2&target=128&tp=2&adapter=lora&rank=8&targets=all&precision=bf16&grad=32&zero=1&recompute=full&\
         loss=vocab-parallel-fused",
    );
    assert_eq!(not_understood(text), [""; 0]);
    let reading = read(&[Text::pasted(text)]);
    assert_eq!((reading.inputs.get("tied"), reading.inputs.get("mlp")), (None, None));
}

#[test]
fn the_name_of_a_recipe_says_the_model_and_its_adapters() {
    for (name, model, adapts) in [
        ("llama31_8b_peft_1gpu_h100_bf16_config", "llama-3.1-8b", true),
        ("llama32_1b_pretrain_config", "llama-3.2-1b", false),
        ("qwen3_8b_sft_config", "qwen3-8b", false),
        ("gpt_oss_20b_pretrain_16gpu_h100_fp8mx_config", "gpt-oss-20b", false),
        ("gemma2_9b_peft_1gpu_h100_bf16_config", "gemma-2-9b", true),
        ("deepseek_v3_pretrain_1024gpu_h100_bf16_config", "deepseek-v3", false),
    ] {
        let command = format!(
            "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe {name} --seq_length 8192 \
             train.micro_batch_size=1 model.context_parallel_size=2 logger.log_interval=1"
        );
        let reading = read(&[Text::pasted(&command)]);
        let told = told_of(&command);
        assert!(told.contains(&format!("1 used recipe: model={model}")), "{name}: {told:?}");
        assert_eq!(reading.inputs.get("adapter") == Some("lora"), adapts, "{name}");
        assert_says(&[Text::pasted(&command)], "gpus=8&s=8192&b=1&cp=2&engine=megatron");
    }
    let by_model = "python scripts/training/run_recipe.py --model llama32_3b --mode lora --micro_batch_size 4";
    assert!(told_of(by_model).contains(&"1 used model: model=llama-3.2-3b".to_owned()), "{:?}", told_of(by_model));
    assert_says(&[Text::pasted(by_model)], "adapter=lora&rank=32&b=4");
}

#[test]
fn what_python_unpacks_from_a_dictionary_is_read_like_other_arguments() {
    let said = |program: &str| inputs(&[Text::pasted(program)]);
    let plain = said("SFTConfig(per_device_train_batch_size=4, max_length=2048, bf16=True)");
    for program in [
        "arguments = {\"per_device_train_batch_size\": 4, \"max_length\": 2048, \"bf16\": True}\nSFTConfig(**arguments)",
        "arguments: dict = dict(\n    per_device_train_batch_size=4,\n    max_length=2048,\n)\nSFTConfig(bf16=True, **arguments)",
        "base = {\"bf16\": True, \"max_length\": 512}\nSFTConfig(**{**base, \"max_length\": 2048}, per_device_train_batch_size=4)",
        "length = 2048\nbase = dict(max_length=length)\nSFTConfig(**dict(**base, bf16=True), per_device_train_batch_size=4)",
    ] {
        assert_eq!(said(program), plain, "{program}");
    }
    // What only a run knows is no literal, and a name that is given anew means the new one.
    let open = said("arguments = {\"max_length\": 4096}\narguments = load()\nSFTConfig(**arguments, bf16=True)");
    assert_eq!(open, said("SFTConfig(bf16=True)"));
}

#[test]
fn references_within_a_file_are_followed() {
    let file = "trainer:\n  devices: ${oc.select:machine.gpus,4}\n  num_nodes: 1\n  precision: bf16\n\
                model:\n  micro_batch_size: 2\n  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n\
                \x20 tensor_model_parallel_size: ${oc.env:TP,2}\n  hidden_size: 4096\n  data:\n    seq_length: ${..encoder_seq_length}\n";
    assert_says(&[Text::pasted(file)], "tp=2&gpus=4&s=4096&b=2");
    assert_eq!(not_understood(file), [""; 0]);
    // Overrides of Hydra, and references to what is nowhere or to each other.
    let command = "python -m verl.trainer.main_ppo data.max_prompt_length=1024 \
                   data.max_response_length='${data.max_prompt_length}' actor_rollout_ref.rollout.n='${a.b}' \
                   trainer.nnodes='${trainer.n_gpus_per_node}' trainer.n_gpus_per_node='${trainer.nnodes}'";
    assert_says(&[Text::pasted(command)], "s=2048");
    assert_eq!(not_understood(command).len(), 3);
}

#[test]
fn what_files_of_weights_say_is_held_to_the_model_that_is_named() {
    let run = "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\n";
    fn with<'a>(run: &'a str, weights: &'a str) -> [Text<'a>; 2] {
        [Text::file("run.yaml", run.as_bytes()), Text::file("weights.json", weights.as_bytes())]
    }
    let of_bytes = |bytes: u64| {
        format!(
            r#"{{"metadata": {{"total_size": {bytes}}}, "weight_map": {{"lm_head.weight": "model-00004-of-00004.safetensors"}}}}"#
        )
    };
    // The index on the hub: 8,030,261,248 weights in 16 bits, and as many in fp32.
    for bytes in [16_060_522_496, 32_121_044_992] {
        let file = of_bytes(bytes);
        assert_eq!(inputs(&with(run, &file)), inputs(&[Text::pasted(run)]), "{bytes}");
        assert!(told(&with(run, &file)).contains(&"1 no matter metadata.total_size".to_owned()));
    }
    // A few more, and another model.
    let more = of_bytes(16_200_000_000);
    assert_says(&with(run, &more), "params=8.1");
    let other = of_bytes(28_000_000_000);
    assert!(told(&with(run, &other)).contains(&"1 not counted metadata.total_size".to_owned()));
    let counted = r#"{"metadata": {"total_parameters": 8100000000, "total_size": 1}, "weight_map": {}}"#;
    assert_says(&with(run, counted), "params=8.1");
    // Weights that bitsandbytes packed, by the header of one of several files.
    let packed = r#"{"model.layers.0.mlp.up_proj.weight": {"dtype": "U8", "shape": [4, 1], "data_offsets": [0, 4]},
        "model.layers.0.mlp.up_proj.weight.quant_state.bitsandbytes__nf4": {"dtype": "U8", "shape": [9], "data_offsets": [4, 13]}}"#;
    assert_eq!(formats(&with(run, packed)), [Format::Axolotl, Format::WeightHeader]);
    // The header of a whole file, as it stands on a disk.
    let json = r#"{"model.embed_tokens.weight": {"dtype": "BF16", "shape": [8100000, 1000], "data_offsets": [0, 16200000000]},
        "model.norm.weight": {"dtype": "BF16", "shape": [0], "data_offsets": [0, 0]}}"#;
    let file = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &[0xff; 64]].concat();
    let texts = [Text::file("run.yaml", run.as_bytes()), Text::file("model.safetensors", &file)];
    assert_says(&texts, "params=8.1");
    assert_eq!(formats(&[Text::file("model.safetensors", &file)]), [Format::WeightHeader]);
}
