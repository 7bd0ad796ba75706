#!/usr/bin/env python3
# Peak memory of Llama 3.1 8B on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, all its
# layers, micro-batch 8, two micro-batches a step, which stand for more. That is:
# https://example.org/bmax/?v=4&gpu=rtx-4090&s=1024&b=8&accum=2&gpus=1&target=64&chart_gpus=64&precision=autocast&adapter=qlora&ref=adapter&zero=0
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.
# Not as asked, with peaks of the scenario on its 1 GPU:
# - DPO needs a trainer of its own: this file trains on the next token alone; this alone takes the
#   peak from 21.66 to 14.19 GiB.

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
    "name": "Llama 3.1 8B",
    "hidden": 4096,
    "layers": 32,
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
    "sequence": 1024,
    "micro_batch": 8,
    "micro_batches": 2,
    "precision": "autocast",
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
    "adapter": "qlora",
    "rank": 16,
    "targets": "all",
    "adapter_type": "32",
    "adapter_dropout": False,
    "zero": "0",
    "reshard": 0,
}

# Bytes that the page predicts on one GPU: micro-batch, then allocated and reserved.
PREDICTED = {
    1: (8251441086, 8696720359),
    2: (10112679870, 10988138922),
    4: (13835157438, 15570976047),
    8: (21280112574, 24736650297),
    9: (23141351358, 24741779866),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = None
