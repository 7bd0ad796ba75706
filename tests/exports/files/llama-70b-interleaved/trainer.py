# Llama 3.1 70B on 64 × H100 SXM 80 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=3&accum=8&gpus=64&tp=8&pp=4&vpp=5&grad=32&recompute=block&loss=vocab-parallel&kernels=fused&engine=megatron&zero=1&sp=on&segments=expandable&chart_recompute=full
#
# Micro-batch 32 × 8 data-parallel GPUs × 1 accumulation step = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 33.34 of 79.65 GiB usable, at “backward, last layer”.
# As asked, b_max is 10. This file runs something else where the list below says so, and as it runs
# b_max is 110:
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=32&gpus=64&tp=8&precision=mixed&grad=32&loss=vocab-parallel&kernels=fused&sp=on&segments=expandable
# Checked with lightning 2.6.6.
#
# Not as asked, because it cannot be said here:
# - Lightning has no pipeline: the 4 stages become data-parallel GPUs; this alone takes the peak from
#   66.51 to 108.92 GiB.
# - PyTorch alone carries out the step and not Megatron-LM: what it holds beside the tensors is
#   counted; this alone takes the peak from 66.51 to 97.80 GiB.
# - with a module that divides itself FSDP2 shards everything; this alone takes the peak from 66.51 to
#   61.13 GiB.
# - precision there is fp32 weights cast as they are gathered, bf16 throughout, or fp32; this alone
#   takes the peak from 66.51 to 70.53 GiB.
# - Lightning recomputes every layer or none: every layer here; this alone takes the peak from 66.51
#   to 32.37 GiB.
#
# To be said elsewhere, and counted on here:
# - The optimizer, in configure_optimizers: torch.optim.AdamW(…, fused=True).
# - Recomputation: torch’s checkpoint on every layer, in the module’s code.
# - The division itself: parallelize_module on mesh["tensor_parallel"] and fully_shard(…,
#   reshard_after_forward=True) on mesh["data_parallel"], in configure_model.
# - Sequence parallelism: SequenceParallel for the norms in that division, so that tokens are divided
#   between the matrices.
# - Weights in float32: load the model with dtype="float32".
# - Flash attention: F.scaled_dot_product_attention, attn_implementation="sdpa".
# - Fused kernels: torch.compile, or Liger kernels, on the model.
# - The loss head, “Vocabulary-parallel”: the model’s code.

import os

# PyTorch’s allocator reads this when it starts: it has to stand before the first import of torch.
os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

from lightning.pytorch import Trainer
from lightning.pytorch.strategies import ModelParallelStrategy

# For DataLoader(dataset, batch_size=micro_batch).
micro_batch = 32
# Tokens of a sequence.
max_length = 2048


def make_trainer(block, **others):
    """The trainer of this scenario; `block` is the class of the model’s layers."""
    strategy = ModelParallelStrategy(data_parallel_size=8, tensor_parallel_size=8)
    arguments = {
        "accelerator": "gpu",
        "devices": 8,
        "num_nodes": 8,
        "precision": "bf16-mixed",
        "accumulate_grad_batches": 1,
        "strategy": strategy,
        **others,
    }
    return Trainer(**arguments)
