#!/usr/bin/env python3
# Peak memory of Qwen3 8B on 8 × H100 SXM 80 GB, 4,096 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 8 of its 36
# layers, because all of them do not fit on one GPU, micro-batch 4, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=4&model=qwen3-8b&layers=8&s=4096&accum=2&completion=3072&engine_share=40&gpus=1&chart_gpus=64&precision=mixed&rollout=asleep&zero=0&segments=expandable
# torchrun --nproc_per_node 8 bmax_measure.py measures all GPUs of the scenario together, with FSDP2,
# micro-batch 4. That is:
# https://example.org/bmax/?v=4&model=qwen3-8b&s=4096&b=4&accum=2&completion=3072&engine_share=40&chart_gpus=64&precision=mixed&rollout=asleep&segments=expandable
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.
# Not as asked, with peaks of the scenario on its 8 GPUs:
# - GRPO needs a trainer of its own: this file trains on the next token alone; this alone takes the
#   peak from 76.95 to 87.32 GiB.

import argparse
import contextlib
import functools
import math
import os
import sys

# PyTorch’s allocator reads this when it starts.
os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

# What is built and how it is trained, in the page's own words.
SCENARIO = {
    "name": "Qwen3 8B, 8 of its 36 layers",
    "hidden": 4096,
    "layers": 8,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "feed_forward": 12288,
    "vocabulary": 151936,
    "tied": False,
    "mlp": "gated",
    "norm": "rmsnorm",
    "norms": 2,
    "parallel": False,
    "qk_norm": "head",
    "bias": "none",
    "soft_cap": False,
    "packing": "separate",
    "softmax": "fp32",
    "position": "rotary",
    "positions": 0,
    "experts": 0,
    "active": 1,
    "expert_width": 0,
    "shared_width": 0,
    "dense_layers": 0,
    "q_rank": 0,
    "kv_rank": 0,
    "rope_dim": 0,
    "sequence": 4096,
    "micro_batch": 4,
    "micro_batches": 2,
    "precision": "mixed",
    "half": "bfloat16",
    "gradients": "16",
    "optimizer": "adamw",
    "step": "fused",
    "recomputation": "full",
    "every": 4,
    "recompute_layers": 1,
    "dropout": 0,
    "attention": "flash",
    "loss": "plain",
    "chunks": 8,
    "logits": "dropped",
    "kernels": "eager",
    "offload_optimizer": False,
    "offload_activations": False,
    "adapter": "none",
    "rank": 16,
    "targets": "all",
    "adapter_type": "32",
    "adapter_dropout": False,
    "zero": "0",
    "reshard": 0,
}

# Bytes that the page predicts on one GPU: micro-batch, then allocated and reserved.
PREDICTED = {
    1: (58126020608, 59941388861),
    2: (65996697600, 69292845875),
    4: (81738051584, 84401559962),
    5: (89608728576, 97347216916),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = {
    "gpus": 8,
    "scenario": {
        "zero": "3",
        "layers": 36,
        "dense_layers": 0,
        "every": 4,
        "recompute_layers": 1,
        "reshard": 0,
        "micro_batch": 4,
    },
    "predicted": {
        1: (28133992960, 32641015127),
        2: (36944194048, 42960181960),
        4: (54564596224, 63598515625),
        5: (63374797312, 73917682458),
        7: (80995199488, 83059382682),
    },
}
