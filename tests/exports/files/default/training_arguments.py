# 7B on 8 × A100 SXM 80 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&b=3&chart_gpus=64&chart_recompute=full
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 56.82 of 80.00 GiB usable, at “loss, backward”.
# As asked, b_max is 6. This file runs something else where the list below says so, and as it runs
# b_max is 6:
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&b=4&accum=8&chart_gpus=64&recompute=none&engine=deepspeed&chart_recompute=full
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# Not as asked, because it cannot be said here:
# - DeepSpeed carries out the step and not PyTorch alone: what it holds beside the tensors is counted;
#   this alone takes the peak from 54.60 to 56.82 GiB.
#
# To be said elsewhere, and counted on here:
# - Selective recomputation: flash attention computes its scores again by itself, so that nothing has
#   to be set.
# - Dropout: the model’s configuration; its masks are counted.
# - ZeRO 3 keeps up to 1,000 million gathered weights that are read again soon, which is DeepSpeed’s
#   default and counted. Smaller stage3_max_live_parameters and stage3_max_reuse_distance give up to 2
#   GB back, for more communication.
# - 8 processes: torchrun or accelerate launch starts them.

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
    per_device_train_batch_size=4,
    gradient_accumulation_steps=8,
    bf16=True,
    optim="adamw_torch_fused",
    deepspeed={
        "train_batch_size": 256,
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 8,
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
