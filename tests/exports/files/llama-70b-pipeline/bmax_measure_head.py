#!/usr/bin/env python3
# Peak memory of Llama 3.1 70B on 64 × H100 SXM 80 GB, 2,048 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 2 of its 80
# layers, because all of them do not fit on one GPU, micro-batch 1, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=4&model=llama-3.1-70b&layers=2&b=1&accum=2&every=2&gpus=1&chart_gpus=64&grad=32&recompute=selective&loss=vocab-parallel&kernels=fused&zero=0&chart_recompute=full
# Tensor, pipeline, context and expert parallelism and ZeRO 1 are not divided by this script.
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
    "name": "Llama 3.1 70B, 2 of its 80 layers",
    "hidden": 8192,
    "layers": 2,
    "heads": 64,
    "kv_heads": 8,
    "head_dim": 128,
    "feed_forward": 28672,
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
    "gradients": "32",
    "optimizer": "adamw",
    "step": "fused",
    "recomputation": "selective",
    "every": 2,
    "recompute_layers": 1,
    "dropout": 0,
    "attention": "flash",
    "loss": "vocab-parallel",
    "chunks": 8,
    "logits": "dropped",
    "kernels": "fused",
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
    1: (71463321600, 73085024993),
    2: (74231595008, 76102443008),
    5: (82536415232, 84401559962),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = None
