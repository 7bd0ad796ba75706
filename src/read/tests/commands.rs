//! Commands and programs as people paste them.

use super::*;

#[test]
fn a_script_with_variables_a_launcher_and_options_is_read() {
    let text = "#!/bin/bash\n\
        export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\n\
        GPUS=4\n\
        MODEL=\"meta-llama/Llama-3.1-8B\"\n\
        # two machines\n\
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torchrun --nproc_per_node=$GPUS --nnodes 2 --master_port 29500 \\\n  \
        train_sft.py --model_name_or_path ${MODEL} \\ \n  \
        --per-device-train-batch-size 4 --gradient_accumulation_steps=8 --bf16 True \\\n  \
        --deepspeed 'ds_z3.json' --max_length 4096 --use_peft --lora_target_modules q_proj v_proj --foo_bar 3 && echo done\n";
    assert_eq!(formats(&[Text::pasted(text)]), [Format::TrlSft, Format::Torchrun, Format::Environment]);
    assert_eq!(
        told_of(text),
        [
            "6 used PYTORCH_CUDA_ALLOC_CONF: segments=expandable",
            "6 no matter master_port",
            "6 used nnodes: gpus=8",
            "6 used nproc_per_node: gpus=8",
            "7 used model_name_or_path: model=llama-3.1-8b",
            "8 used bf16: precision=bf16",
            "8 used gradient_accumulation_steps: accum=8",
            "8 used per_device_train_batch_size: b=4",
            "9 used deepspeed: engine=deepspeed&zero=3",
            "9 not understood foo_bar: nearest ",
            "9 used lora_target_modules: targets=qv",
            "9 used max_length: s=4096",
            "9 used use_peft: adapter=lora",
        ]
    );
    // 4 sequences × 8 steps × 2 × 4 GPUs.
    assert_says(&[Text::pasted(text)], "gpus=8&target=256&unit=sequences");
}

#[test]
fn every_launcher_says_how_many_gpus_there_are_and_what_it_starts() {
    for (text, words, format) in [
        (
            "accelerate launch --config_file fsdp.yaml --num_processes 8 --multi_gpu dpo.py --output_dir o --per_device_train_batch_size 2",
            "gpus=8&task=dpo&b=2",
            Format::TrlDpo,
        ),
        (
            "deepspeed --num_gpus=4 --num_nodes 2 train.py --output_dir o --learning_rate 1e-5 --deepspeed z2.json --bf16",
            "gpus=8&zero=2&engine=deepspeed&precision=bf16",
            Format::Transformers,
        ),
        (
            "python -m torch.distributed.run --nproc_per_node 2 --standalone run_clm.py --block_size 1024 --per_device_train_batch_size 3",
            "gpus=2&s=1024&b=3",
            Format::Transformers,
        ),
        (
            "CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train --stage sft --cutoff_len 512 --quantization_bit 4 --model_name_or_path x/y",
            "gpus=2&s=512&adapter=qlora",
            Format::LlamaFactory,
        ),
        (
            "nohup uv run python3 -u src/grpo.py --output_dir o --num_generations 8 --max_completion_length 1024 > log 2>&1 &",
            "task=grpo&completion=1024",
            Format::TrlGrpo,
        ),
        ("--output_dir o --learning_rate 1e-4 --per_device_train_batch_size 7", "b=7", Format::Transformers),
        ("python train.py --model_name_or_path Qwen/Qwen3-8B --max_length 4096", "s=4096", Format::TrlSft),
    ] {
        assert_says(&[Text::pasted(text)], words);
        assert!(formats(&[Text::pasted(text)]).contains(&format), "{text}");
    }
}

#[test]
fn a_file_that_a_command_names_is_missing_until_it_is_given() {
    let command = "CUDA_VISIBLE_DEVICES=0,1,2,3 llamafactory-cli train examples/lora.yaml";
    let reading = read(&[Text::pasted(command)]);
    assert_eq!(reading.understood.missing.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["lora.yaml"]);
    let file = b"stage: sft\nfinetuning_type: lora\ncutoff_len: 3072\nmodel_name_or_path: x/y\n";
    let texts = [Text::pasted(command), Text::file("examples/lora.yaml", file)];
    assert_eq!(read(&texts).understood.missing, []);
    assert_says(&texts, "s=3072&gpus=4&adapter=lora");
}

#[test]
fn a_program_in_python_is_read_by_its_calls_and_never_run() {
    let text = r#"import torch
max_seq_length = 2048
model_id = "mistralai/Mistral-7B-v0.1"
bnb_config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
tokenizer = AutoTokenizer.from_pretrained("some/tokenizer", model_max_length=99)
model = AutoModelForCausalLM.from_pretrained(model_id, quantization_config=bnb_config, dtype=torch.bfloat16)
model = prepare_model_for_kbit_training(model)
peft_config = LoraConfig(r=64, lora_alpha=2 * 64, target_modules=["q_proj"] + ["v_proj"], lora_dropout=0.05)
args = trl.SFTConfig(
    output_dir="/home/rosalind/out", per_device_train_batch_size=4,  # a GPU
    optim="paged_adamw_8bit", max_length=max_seq_length, bf16=torch.cuda.is_bf16_supported(),
    gradient_checkpointing_kwargs={"use_reentrant": False}, per_gpu_batch=3, neftune_noise_alpha=5,
    torch_empty_cache_steps=4,
)
"#;
    assert_eq!(
        told_of(text),
        [
            "4 no matter bnb_4bit_compute_dtype",
            "4 used load_in_4bit: adapter=qlora",
            "6 used dtype: adapter=qlora&precision=autocast",
            "6 used pretrained_model_name_or_path: model=mistral-7b&vocab=32000",
            "6 no matter quantization_config",
            "8 no matter lora_alpha",
            "8 used lora_dropout: adapter_dropout=on",
            "8 used r: rank=64",
            "8 not understood target_modules: expression",
            "10 no matter output_dir",
            "10 used per_device_train_batch_size: b=4",
            "11 used bf16: precision=autocast",
            "11 used max_length: s=2048",
            "11 used optim: optimizer=adam8bit-paged",
            "12 no matter gradient_checkpointing_kwargs.use_reentrant",
            "12 no matter neftune_noise_alpha",
            "12 not understood per_gpu_batch: nearest per_gpu_train_batch_size, per_gpu_eval_batch_size",
            "13 not counted torch_empty_cache_steps",
        ]
    );
    // trl keeps adapters beside quantized weights in 16 bits; peft’s function casts all other weights to fp32.
    assert_says(&[Text::pasted(text)], "adapter_type=16&unquantized=32&recompute=full");
}

#[test]
fn a_notebook_of_unsloth_is_read() {
    let text = r#"model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Meta-Llama-3.1-8B-bnb-4bit", max_seq_length = 4096, dtype = None, load_in_4bit = True)
model = FastLanguageModel.get_peft_model(model, r = 32, target_modules = ["q_proj", "k_proj", "v_proj", "o_proj",
    "gate_proj", "up_proj", "down_proj",], use_gradient_checkpointing = "unsloth")
args = TrainingArguments(per_device_train_batch_size = 2, fp16 = not is_bfloat16_supported(), bf16 = is_bfloat16_supported(),
    optim = "adamw_8bit")
"#;
    assert_says(
        &[Text::pasted(text)],
        "s=4096&adapter=qlora&rank=32&targets=all&b=2&precision=autocast&optimizer=adam8bit&recompute=full&offload=activations",
    );
    let Model::Listed(row) = read(&[Text::pasted(text)]).model else { panic!("a model of the list") };
    assert_eq!(row.slug, "llama-3.1-8b");
}
