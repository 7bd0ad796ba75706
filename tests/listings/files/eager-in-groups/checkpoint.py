import torch
from torch.utils.checkpoint import checkpoint


def weighted(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ v


def attention(q, k, v):
    # Keeps q, k and v, and computes scores and softmax again in the backward pass.
    return checkpoint(weighted, q, k, v, use_reentrant=False)
