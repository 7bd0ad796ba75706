# Llama 3.1 70B on 64 × H100 SXM 80 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=3&accum=8&gpus=64&tp=8&pp=4&grad=32&recompute=selective&loss=vocab-parallel&kernels=fused&zero=1&sp=on&chart_recompute=full
#
# Micro-batch 2 × 8 data-parallel GPUs × 16 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 50.01 of 79.65 GiB usable, at “backward, last layer”.
# As asked, b_max is 5. This file runs something else where the list below says so, and as it runs
# b_max is 3:
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=2&accum=16&gpus=64&tp=8&precision=mixed&grad=32&recompute=none&kernels=fused&chart_recompute=full
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# Not as asked, because it cannot be said here:
# - the Trainer has no pipeline: the 4 stages become data-parallel GPUs; this alone takes the peak
#   from 68.95 to 106.92 GiB.
# - FSDP casts fp32 weights as it gathers them and keeps no second master copy; this alone takes the
#   peak from 68.95 to 82.06 GiB.
# - FSDP divides gradients as soon as it divides optimizer state; the peak stays the same.
# - the Trainer’s tensor parallelism does not divide what lies between the matrices; this alone takes
#   the peak from 68.95 to 87.29 GiB.
# - tensor and context parallelism go with full sharding; this alone takes the peak from 68.95 to
#   67.47 GiB.
# - the Trainer has plain, Liger’s and Liger’s fused cross-entropy: the nearest stands in; the peak
#   stays the same.
#
# To be said elsewhere, and counted on here:
# - Selective recomputation: flash attention computes its scores again by itself, so that nothing has
#   to be set.
# - 64 processes: torchrun or accelerate launch starts them.

from accelerate.parallelism_config import ParallelismConfig
from transformers import TrainingArguments

# For AutoModelForCausalLM.from_pretrained(name, **model_kwargs), or from_config.
model_kwargs = {
    "dtype": "float32",
    "attn_implementation": "sdpa",
}

# Tokens of a sequence: what the tokenizer truncates and the collator pads to.
max_length = 2048

training_args = TrainingArguments(
    output_dir="bmax-run",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=16,
    bf16=True,
    optim="adamw_torch_fused",
    torch_compile=True,
    fsdp=True,
    fsdp_config={
        "version": 2,
        "reshard_after_forward": True,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "activation_checkpointing": False,
        "state_dict_type": "SHARDED_STATE_DICT",
    },
    parallelism_config=ParallelismConfig(dp_shard_size=8, tp_size=8, cp_size=1),
)
