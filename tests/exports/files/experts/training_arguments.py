# Qwen3 30B-A3B on 32 × H200 SXM 141 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=qwen3-30b-a3b&gpu=h200&b=3&gpus=32&ep=8&chart_gpus=64
#
# Micro-batch 8 × 32 data-parallel GPUs × 1 accumulation step = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 52.37 of 140.40 GiB usable, at “loss, backward”.
# As asked, b_max is 30. This file runs something else where the list below says so, and as it runs
# b_max is 29:
# https://example.org/bmax/?v=4&model=qwen3-30b-a3b&gpu=h200&b=8&gpus=32&chart_gpus=64&engine=deepspeed
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# Not as asked, because it cannot be said here:
# - the Trainer does not divide experts: every GPU holds all of them; this alone takes the peak from
#   49.00 to 49.98 GiB.
# - DeepSpeed carries out the step and not PyTorch alone: what it holds beside the tensors is counted;
#   this alone takes the peak from 49.00 to 52.37 GiB.
#
# To be said elsewhere, and counted on here:
# - Older versions of transformers call activation_checkpointing gradient_checkpointing.
# - ZeRO 3 keeps up to 1,000 million gathered weights that are read again soon, which is DeepSpeed’s
#   default and counted. Smaller stage3_max_live_parameters and stage3_max_reuse_distance give up to 2
#   GB back, for more communication.
# - 32 processes: torchrun or accelerate launch starts them.

from transformers import TrainingArguments

# For AutoModelForCausalLM.from_pretrained(name, **model_kwargs), or from_config.
model_kwargs = {
    "dtype": "bfloat16",
    "attn_implementation": "sdpa",
}

# Tokens of a sequence: what the tokenizer truncates and the collator pads to.
max_length = 2048

training_args = TrainingArguments(
    output_dir="bmax-run",
    per_device_train_batch_size=8,
    gradient_accumulation_steps=1,
    bf16=True,
    optim="adamw_torch_fused",
    activation_checkpointing=True,
    activation_checkpointing_kwargs={"use_reentrant": False},
    deepspeed={
        "train_batch_size": 256,
        "train_micro_batch_size_per_gpu": 8,
        "gradient_accumulation_steps": 1,
        "zero_optimization": {
            "stage": 3,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": 500000000,
            "sub_group_size": 1000000000,
            "stage3_max_live_parameters": 1000000000,
            "stage3_max_reuse_distance": 1000000000,
            "stage3_prefetch_bucket_size": 50000000,
            "stage3_param_persistence_threshold": 100000,
        },
        "bf16": {
            "enabled": True,
        },
        "data_types": {
            "grad_accum_dtype": "bf16",
        },
        "optimizer": {
            "type": "AdamW",
            "params": {
                "lr": "auto",
            },
        },
    },
)
