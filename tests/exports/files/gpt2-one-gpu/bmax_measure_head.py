#!/usr/bin/env python3
# Peak memory of GPT-2 124M on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, all its
# layers, micro-batch 8, two micro-batches a step, which stand for more. That is:
# https://example.org/bmax/?v=4&model=gpt2&gpu=rtx-4090&accum=2&gpus=1&chart_gpus=64&precision=autocast&step=foreach&attn=eager&zero=0&chart_recompute=full
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.
# What the script does otherwise than the prediction:
# - With a master copy the optimizer goes tensor by tensor, not over a list of all of them.

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
    "name": "GPT-2 124M",
    "hidden": 768,
    "layers": 12,
    "heads": 12,
    "kv_heads": 12,
    "head_dim": 64,
    "feed_forward": 3072,
    "vocabulary": 50257,
    "tied": True,
    "mlp": "gelu-tanh",
    "norm": "layernorm",
    "norms": 2,
    "parallel": False,
    "qk_norm": "off",
    "bias": "all",
    "soft_cap": False,
    "packing": "packed",
    "softmax": "scores",
    "position": "learned",
    "positions": 1024,
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
    "step": "foreach",
    "recomputation": "none",
    "every": 4,
    "recompute_layers": 1,
    "dropout": 0.1,
    "attention": "eager",
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
    1: (4745733632, 5139871053),
    2: (7236589056, 7957829801),
    4: (12218299904, 13593747297),
    8: (22181721600, 24741779866),
    9: (24672577024, 27683541038),
}

# The same for all GPUs of the scenario, for torchrun with that many processes; None where one
# process a GPU cannot divide the work as the scenario does.
TOGETHER = None
