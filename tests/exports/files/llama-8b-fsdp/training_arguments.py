# Llama 3.1 8B on 8 × H100 SXM 80 GB, 8,192 tokens a sequence.
# https://example.org/bmax/?v=4&s=8192&b=3&chart_gpus=64&precision=mixed
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 78.63 of 79.65 GiB usable, at “loss, backward”.
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# To be said elsewhere, and counted on here:
# - 8 processes: torchrun or accelerate launch starts them.

from transformers import TrainingArguments

# For AutoModelForCausalLM.from_pretrained(name, **model_kwargs), or from_config.
model_kwargs = {
    "dtype": "float32",
    "attn_implementation": "sdpa",
}

# Tokens of a sequence: what the tokenizer truncates and the collator pads to.
max_length = 8192

training_args = TrainingArguments(
    output_dir="bmax-run",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=8,
    bf16=True,
    optim="adamw_torch_fused",
    fsdp=True,
    fsdp_config={
        "version": 2,
        "reshard_after_forward": True,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "activation_checkpointing": True,
        "state_dict_type": "SHARDED_STATE_DICT",
    },
)
