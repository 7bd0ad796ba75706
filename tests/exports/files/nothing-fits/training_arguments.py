# NOTHING FITS. Parameters, gradients, optimizer state and what the process takes are, with one
# sequence, 3040.25 GiB too much. With 2,446 GPUs it would fit.
# The micro-batch of 1 below is no promise: it is there to be read and edited, and runs out of memory.
#
# Llama 3.1 405B on 2 × RTX 4090 24 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=llama-3.1-405b&gpu=rtx-4090&b=3&gpus=2&chart_gpus=64
#
# Micro-batch 1 × 2 data-parallel GPUs × 128 accumulation steps = 256 sequences an optimizer step
# (target 256).
# As asked, b_max is none, for not even one sequence fits. This file runs something else where the
# list below says so, and as it runs b_max is none, for not even one sequence fits:
# https://example.org/bmax/?v=4&model=llama-3.1-405b&gpu=rtx-4090&accum=128&gpus=2&chart_gpus=64&engine=deepspeed
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# Not as asked, because it cannot be said here:
# - DeepSpeed carries out the step and not PyTorch alone: what it holds beside the tensors is counted;
#   this alone takes the peak from 3081.11 to 3064.24 GiB.
#
# To be said elsewhere, and counted on here:
# - Older versions of transformers call activation_checkpointing gradient_checkpointing.
# - ZeRO 3 keeps up to 1,000 million gathered weights that are read again soon, which is DeepSpeed’s
#   default and counted. Smaller stage3_max_live_parameters and stage3_max_reuse_distance give up to 2
#   GB back, for more communication.
# - 2 processes: torchrun or accelerate launch starts them.

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
    per_device_train_batch_size=1,
    gradient_accumulation_steps=128,
    bf16=True,
    optim="adamw_torch_fused",
    activation_checkpointing=True,
    activation_checkpointing_kwargs={"use_reentrant": False},
    deepspeed={
        "train_batch_size": 256,
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 128,
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
