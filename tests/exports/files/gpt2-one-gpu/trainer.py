# GPT-2 124M on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# https://example.org/bmax/?v=4&model=gpt2&gpu=rtx-4090&b=3&gpus=1&chart_gpus=64&precision=autocast&step=foreach&attn=eager&zero=0&chart_recompute=full
#
# Micro-batch 8 × 1 data-parallel GPU × 32 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 22.57 of 23.99 GiB usable, at “loss, backward”.
# Checked with lightning 2.6.6.
#
# To be said elsewhere, and counted on here:
# - The optimizer, in configure_optimizers: torch.optim.AdamW(…, foreach=True).
# - Weights in float32: load the model with dtype="float32".
# - Eager attention: attn_implementation="eager".
# - Dropout: the model’s configuration; its masks are counted.

from lightning.pytorch import Trainer

# For DataLoader(dataset, batch_size=micro_batch).
micro_batch = 8
# Tokens of a sequence.
max_length = 1024


def make_trainer(block, **others):
    """The trainer of this scenario; `block` is the class of the model’s layers."""
    strategy = "auto"
    arguments = {
        "accelerator": "gpu",
        "devices": 1,
        "num_nodes": 1,
        "precision": "bf16-mixed",
        "accumulate_grad_batches": 32,
        "strategy": strategy,
        **others,
    }
    return Trainer(**arguments)
