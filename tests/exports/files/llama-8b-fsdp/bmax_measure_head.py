#!/usr/bin/env python3
# Peak memory of Llama 3.1 8B on 8 × H100 SXM 80 GB, 8,192 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 9 of its 32
# layers, because all of them do not fit on one GPU, micro-batch 2, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=4&layers=9&s=8192&accum=2&gpus=1&chart_gpus=64&precision=mixed&zero=0
# torchrun --nproc_per_node 8 bmax_measure.py measures all GPUs of the scenario together, with FSDP2,
# micro-batch 4. That is:
# https://example.org/bmax/?v=4&s=8192&accum=2&chart_gpus=64&precision=mixed
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.

import argparse
import contextlib
import functools
import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

# What is built and how it is trained, in the page's own words.
SCENARIO = {
    "name": "Llama 3.1 8B, 9 of its 32 layers",
    "hidden": 4096,
    "layers": 9,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "feed_forward": 14336,
    "vocabulary": 128256,
    "tied": False,
    "mlp": "gated",
    "norm": "rmsnorm",
    "norms": 2,
    "parallel": False,
    "qk_norm": "off",
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
    "sequence": 8192,
    "micro_batch": 2,
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
    1: (67794067456, 72193596621),
    2: (81274691584, 84401559962),
    3: (94755315712, 105784049828),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = {
    "gpus": 8,
    "scenario": {
        "zero": "3",
        "layers": 32,
        "dense_layers": 0,
        "every": 4,
        "recompute_layers": 1,
        "reshard": 0,
        "micro_batch": 4,
    },
    "predicted": {
        1: (33689329664, 40041763164),
        2: (48713457664, 58519408988),
        4: (78761713664, 83059382682),
        5: (93785841664, 113952346460),
    },
}
