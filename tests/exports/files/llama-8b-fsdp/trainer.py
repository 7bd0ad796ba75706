# Llama 3.1 8B on 8 × H100 SXM 80 GB, 8,192 tokens a sequence.
# https://example.org/bmax/?v=4&s=8192&b=3&chart_gpus=64&precision=mixed
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 78.63 of 79.65 GiB usable, at “loss, backward”.
# Checked with lightning 2.6.6.
#
# To be said elsewhere, and counted on here:
# - The optimizer, in configure_optimizers: torch.optim.AdamW(…, fused=True).
# - Weights in float32: load the model with dtype="float32".
# - Flash attention: F.scaled_dot_product_attention, attn_implementation="sdpa".

from lightning.pytorch import Trainer
from lightning.pytorch.strategies import FSDPStrategy

# For DataLoader(dataset, batch_size=micro_batch).
micro_batch = 4
# Tokens of a sequence.
max_length = 8192


def make_trainer(block, **others):
    """The trainer of this scenario; `block` is the class of the model’s layers."""
    strategy = FSDPStrategy(
        sharding_strategy="FULL_SHARD",
        auto_wrap_policy={block},
        activation_checkpointing_policy={block},
    )
    arguments = {
        "accelerator": "gpu",
        "devices": 8,
        "num_nodes": 1,
        "precision": "bf16-mixed",
        "accumulate_grad_batches": 8,
        "strategy": strategy,
        **others,
    }
    return Trainer(**arguments)
