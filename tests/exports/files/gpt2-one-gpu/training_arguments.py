# GPT-2 124M on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# https://example.org/bmax/?v=4&model=gpt2&gpu=rtx-4090&b=3&gpus=1&chart_gpus=64&precision=autocast&step=foreach&attn=eager&zero=0&chart_recompute=full
#
# Micro-batch 8 × 1 data-parallel GPU × 32 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 22.57 of 23.99 GiB usable, at “loss, backward”.
# Checked with transformers 5.23.0, accelerate 1.15.0 and peft 0.21.2.
#
# To be said elsewhere, and counted on here:
# - Dropout: the model’s configuration; its masks are counted.

from transformers import TrainingArguments

# For AutoModelForCausalLM.from_pretrained(name, **model_kwargs), or from_config.
model_kwargs = {
    "dtype": "float32",
    "attn_implementation": "eager",
}

# Tokens of a sequence: what the tokenizer truncates and the collator pads to.
max_length = 1024

training_args = TrainingArguments(
    output_dir="bmax-run",
    per_device_train_batch_size=8,
    gradient_accumulation_steps=32,
    bf16=True,
    optim="adamw_torch",
)
