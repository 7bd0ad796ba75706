#!/usr/bin/env python3
# Peak memory of Llama 3.1 405B on 2 × RTX 4090 24 GB, 2,048 tokens a sequence.
# NOTHING FITS on one such GPU, not even one sequence of one layer: expect it to run out of memory.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 1 of its 126
# layers, because all of them do not fit on one GPU, micro-batch 1, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=4&model=llama-3.1-405b&gpu=rtx-4090&layers=1&accum=2&every=1&gpus=1&chart_gpus=64&zero=0
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
    "name": "Llama 3.1 405B, 1 of its 126 layers",
    "hidden": 16384,
    "layers": 1,
    "heads": 128,
    "kv_heads": 8,
    "head_dim": 128,
    "feed_forward": 53248,
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
    "sequence": 2048,
    "micro_batch": 1,
    "micro_batches": 2,
    "precision": "bf16",
    "half": "bfloat16",
    "gradients": "16",
    "optimizer": "adamw",
    "step": "fused",
    "recomputation": "full",
    "every": 1,
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
    1: (122466074624, 124174591263),
    2: (125238575104, 128247289938),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = None
