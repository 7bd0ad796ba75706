# Llama 3.1 70B on 64 × H100 SXM 80 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=3&accum=8&gpus=64&tp=8&pp=4&grad=32&recompute=selective&loss=vocab-parallel&kernels=fused&zero=1&sp=on&chart_recompute=full
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 61.28 of 79.65 GiB usable, at “backward, last layer”.
# As asked, b_max is 5. This file runs something else where the list below says so, and as it runs
# b_max is 5:
# https://example.org/bmax/?v=4&model=llama-3.1-70b&b=4&accum=8&gpus=64&tp=8&precision=mixed&grad=32&recompute=none&loss=vocab-parallel&kernels=fused&sp=on&chart_recompute=full
# Checked with lightning 2.6.6.
#
# Not as asked, because it cannot be said here:
# - Lightning has no pipeline: the 4 stages become data-parallel GPUs; this alone takes the peak from
#   68.95 to 106.92 GiB.
# - with a module that divides itself FSDP2 shards everything; this alone takes the peak from 68.95 to
#   67.47 GiB.
# - precision there is fp32 weights cast as they are gathered, bf16 throughout, or fp32; this alone
#   takes the peak from 68.95 to 82.06 GiB.
#
# To be said elsewhere, and counted on here:
# - Selective recomputation: flash attention computes its scores again by itself, so that nothing has
#   to be set.
# - The optimizer, in configure_optimizers: torch.optim.AdamW(…, fused=True).
# - The division itself: parallelize_module on mesh["tensor_parallel"] and fully_shard(…,
#   reshard_after_forward=True) on mesh["data_parallel"], in configure_model.
# - Sequence parallelism: SequenceParallel for the norms in that division, so that tokens are divided
#   between the matrices.
# - Weights in float32: load the model with dtype="float32".
# - Flash attention: F.scaled_dot_product_attention, attn_implementation="sdpa".
# - Fused kernels: torch.compile, or Liger kernels, on the model.
# - The loss head, “Vocabulary-parallel”: the model’s code.

from lightning.pytorch import Trainer
from lightning.pytorch.strategies import ModelParallelStrategy

# For DataLoader(dataset, batch_size=micro_batch).
micro_batch = 4
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
        "accumulate_grad_batches": 8,
        "strategy": strategy,
        **others,
    }
    return Trainer(**arguments)
