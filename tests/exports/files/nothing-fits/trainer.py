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
# Checked with lightning 2.6.6.
#
# Not as asked, because it cannot be said here:
# - DeepSpeed carries out the step and not PyTorch alone: what it holds beside the tensors is counted;
#   this alone takes the peak from 3081.11 to 3064.24 GiB.
#
# To be said elsewhere, and counted on here:
# - The optimizer, in configure_optimizers: torch.optim.AdamW(…, fused=True).
# - Recomputation: torch’s checkpoint on every layer, in the module’s code.
# - ZeRO 3 keeps up to 1,000 million gathered weights that are read again soon, which is DeepSpeed’s
#   default and counted. Smaller stage3_max_live_parameters and stage3_max_reuse_distance give up to 2
#   GB back, for more communication.
# - Flash attention: F.scaled_dot_product_attention, attn_implementation="sdpa".

from lightning.pytorch import Trainer
from lightning.pytorch.strategies import DeepSpeedStrategy

# For DataLoader(dataset, batch_size=micro_batch).
micro_batch = 1
# Tokens of a sequence.
max_length = 2048


def make_trainer(block, **others):
    """The trainer of this scenario; `block` is the class of the model’s layers."""
    strategy = DeepSpeedStrategy(
        config={
            "train_micro_batch_size_per_gpu": 1,
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
            "zero_allow_untested_optimizer": True,
        },
    )
    arguments = {
        "accelerator": "gpu",
        "devices": 2,
        "num_nodes": 1,
        "precision": "bf16-true",
        "accumulate_grad_batches": 128,
        "strategy": strategy,
        **others,
    }
    return Trainer(**arguments)
