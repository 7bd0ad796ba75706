#!/usr/bin/env python3
# Peak memory of Qwen3 30B-A3B on 32 × H200 SXM 141 GB, 2,048 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 12 of its 48
# layers, because all of them do not fit on one GPU, micro-batch 8. That is:
# https://example.org/bmax/?v=4&model=qwen3-30b-a3b&gpu=h200&layers=12&gpus=1&chart_gpus=64&zero=0
# Tensor, pipeline, context and expert parallelism and ZeRO 1 are not divided by this script.
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.
# What the script does otherwise than the prediction:
# - Each token’s experts are chosen by random weights: how many tokens meet in one expert varies.

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
    "name": "Qwen3 30B-A3B, 12 of its 48 layers",
    "hidden": 2048,
    "layers": 12,
    "heads": 32,
    "kv_heads": 4,
    "head_dim": 128,
    "feed_forward": 6144,
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
    "experts": 128,
    "active": 8,
    "expert_width": 768,
    "shared_width": 0,
    "dense_layers": 0,
    "q_rank": 0,
    "kv_rank": 0,
    "rope_dim": 0,
    "sequence": 2048,
    "micro_batch": 8,
    "micro_batches": 1,
    "precision": "bf16",
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
    1: (129663582208, 131121542533),
    2: (129952006144, 131435924623),
    4: (130862759936, 132818823660),
    8: (144409860096, 149377620378),
    9: (148278089728, 157012324434),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = None
