#!/usr/bin/env python3
# Peak memory of 7B on 8 × A100 SXM 80 GB, 2,048 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 17 of its 32
# layers, because all of them do not fit on one GPU, micro-batch 4, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&layers=17&accum=2&gpus=1&chart_gpus=64&zero=0&chart_recompute=full
# torchrun --nproc_per_node 8 bmax_measure.py measures all GPUs of the scenario together, with FSDP2,
# micro-batch 4. That is:
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&b=4&accum=2&chart_gpus=64&chart_recompute=full
# It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. --device cpu
# --tiny tries it without a GPU.
# What the script does otherwise than the prediction:
# - There are no positions: ALiBi’s biases are small and left out.

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
    "name": "7B, 17 of its 32 layers",
    "hidden": 4096,
    "layers": 17,
    "heads": 32,
    "kv_heads": 32,
    "head_dim": 128,
    "feed_forward": 16384,
    "vocabulary": 32000,
    "tied": True,
    "mlp": "gelu",
    "norm": "layernorm",
    "norms": 2,
    "parallel": False,
    "qk_norm": "off",
    "bias": "all",
    "soft_cap": False,
    "packing": "separate",
    "softmax": "fp32",
    "position": "none",
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
    "micro_batch": 4,
    "micro_batches": 2,
    "precision": "bf16",
    "half": "bfloat16",
    "gradients": "16",
    "optimizer": "adamw",
    "step": "fused",
    "recomputation": "selective",
    "every": 4,
    "recompute_layers": 1,
    "dropout": 0.1,
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
    1: (62562467840, 63843934781),
    2: (68235558912, 70158676050),
    4: (79581741056, 82788158587),
    5: (85254832128, 89102899855),
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
        1: (23856783360, 25627145523),
        2: (33742577664, 36609400033),
        4: (53653004288, 58573909053),
        5: (63608217600, 69556163564),
        6: (73563430912, 80538418074),
    },
}

GIB = 2**30
NOTES = []


def note(text):
    """Something that is not as in the scenario; said once, beside the result."""
    if text not in NOTES:
        NOTES.append(text)


# --- The model: the operations of Hugging Face's model classes, one by one -------------------------


class Norm(nn.Module):
    """RMSNorm and LayerNorm with the copies in fp32 that the frameworks' code makes."""

    def __init__(self, width, kind):
        super().__init__()
        self.kind = kind
        self.weight = None if kind == "plain" else nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if kind == "layernorm" else None

    def forward(self, x):
        if self.kind == "layernorm":
            return F.layer_norm(x, x.shape[-1:], self.weight, self.bias)
        if self.kind == "plain":
            return F.layer_norm(x.float(), x.shape[-1:]).to(x.dtype)
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        if self.kind == "rmsnorm-fp32":
            return (self.weight.float() * wide).to(x.dtype)
        return self.weight * wide.to(x.dtype)


def rotated(x, cos, sin):
    """Queries or keys, rotated by their positions; what is wider than the angles is joined as it is."""
    width, half = cos.shape[-1], cos.shape[-1] // 2
    x, rest = x[..., :width], x[..., width:]
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    turned = x * cos + turned * sin
    return torch.cat((turned, rest), dim=-1) if rest.shape[-1] else turned


def capped(x, cap):
    return x if cap is None else torch.tanh(x / cap) * cap


class Attention(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        heads, kv_heads, width = s["heads"], s["kv_heads"], s["head_dim"]
        qkv_bias = s["bias"] in ("qkv", "all")
        self.packed = self.latent = False
        if s["kv_rank"]:
            self.latent = True
            rope = s["rope_dim"]
            if s["q_rank"]:
                self.q_down = nn.Linear(s["hidden"], s["q_rank"], bias=False)
                self.q_norm_down = Norm(s["q_rank"], "rmsnorm")
                self.q = nn.Linear(s["q_rank"], heads * (width + rope), bias=False)
            else:
                self.q_down = None
                self.q = nn.Linear(s["hidden"], heads * (width + rope), bias=False)
            self.kv_down = nn.Linear(s["hidden"], s["kv_rank"] + rope, bias=False)
            self.kv_norm_down = Norm(s["kv_rank"], "rmsnorm")
            self.kv_up = nn.Linear(s["kv_rank"], heads * 2 * width, bias=False)
        elif s["packing"] == "packed":
            self.packed = True
            self.qkv = nn.Linear(s["hidden"], (heads + 2 * kv_heads) * width, bias=qkv_bias)
        else:
            self.q = nn.Linear(s["hidden"], heads * width, bias=qkv_bias)
            self.k = nn.Linear(s["hidden"], kv_heads * width, bias=qkv_bias)
            self.v = nn.Linear(s["hidden"], kv_heads * width, bias=qkv_bias)
        self.o = nn.Linear(heads * width, s["hidden"], bias=s["bias"] == "all")
        widths = {"head": (width, width), "full": (heads * width, kv_heads * width)}.get(s["qk_norm"])
        kind = "rmsnorm" if s["norm"] in ("layernorm", "plain") else s["norm"]
        self.q_norm, self.k_norm = [Norm(each, kind) for each in widths] if widths else (None, None)

    def heads_of(self, x, count):
        return x.view(x.shape[0], x.shape[1], count, -1).transpose(1, 2)

    def latent_heads(self, x, cos, sin):
        s = self.s
        q = self.q(x if self.q_down is None else self.q_norm_down(self.q_down(x)))
        q_plain, q_turned = self.heads_of(q, s["heads"]).split([s["head_dim"], s["rope_dim"]], dim=-1)
        low, k_turned = self.kv_down(x).split([s["kv_rank"], s["rope_dim"]], dim=-1)
        kv = self.heads_of(self.kv_up(self.kv_norm_down(low)), s["heads"])
        k_plain, v = kv.split([s["head_dim"], s["head_dim"]], dim=-1)
        k_turned = self.heads_of(k_turned, 1)
        if s["rope_dim"]:
            q_turned, k_turned = rotated(q_turned, cos, sin), rotated(k_turned, cos, sin)
        q = torch.cat((q_plain, q_turned), dim=-1)
        k = torch.cat((k_plain, k_turned.expand(-1, s["heads"], -1, -1)), dim=-1)
        return q, k, v

    def plain_heads(self, x, cos, sin):
        s = self.s
        if self.packed:
            width = s["head_dim"]
            parts = [s["heads"] * width, s["kv_heads"] * width, s["kv_heads"] * width]
            q, k, v = self.qkv(x).split(parts, dim=-1)
        else:
            q, k, v = self.q(x), self.k(x), self.v(x)
        if s["qk_norm"] == "full":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = self.heads_of(q, s["heads"]), self.heads_of(k, s["kv_heads"]), self.heads_of(v, s["kv_heads"])
        if s["qk_norm"] == "head":
            q, k = self.q_norm(q), self.k_norm(k)
        if s["position"].startswith("rotary"):
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        return q, k, v

    def scores(self, q, k, v):
        """Attention with everything of size n·S² in memory."""
        shape, length = q.shape, q.shape[-2]
        groups = q.shape[1] // k.shape[1]
        in_fp32 = self.s["softmax"] == "fp32"
        if groups > 1 and in_fp32:
            k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        elif groups > 1:
            # Falcon's code has the queries of a group share their keys instead.
            q = q.reshape(shape[0], k.shape[1], groups * length, shape[-1])
        scores = (q @ k.transpose(-1, -2) / math.sqrt(shape[-1])).view(*shape[:3], length)
        scores = capped(scores, 50.0 if self.s["soft_cap"] else None)
        future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
        # In the scores' own type autocast makes it fp32 all the same.
        weights = F.softmax(scores, dim=-1, dtype=torch.float32 if in_fp32 else None).to(v.dtype)
        weights = F.dropout(weights, self.s["dropout"], self.training)
        return (weights.view(*q.shape[:3], length) @ v).view(*shape[:3], v.shape[-1])

    def forward(self, x, cos, sin):
        s = self.s
        q, k, v = self.latent_heads(x, cos, sin) if self.latent else self.plain_heads(x, cos, sin)
        if s["attention"] == "flash":
            grouped = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
            dropout = s["dropout"] if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout, **grouped)
        elif s["recomputation"] == "selective":
            y = checkpoint(self.scores, q, k, v, use_reentrant=False)
        else:
            y = self.scores(q, k, v)
        return self.o(y.transpose(1, 2).flatten(2))


def gelu_spelt_out(x):
    """GPT-2's formula, each operation of which keeps what it needs."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class FeedForward(nn.Module):
    def __init__(self, s, width):
        super().__init__()
        bias = s["bias"] == "all"
        self.up = nn.Linear(s["hidden"], width, bias=bias)
        self.gate = nn.Linear(s["hidden"], width, bias=bias) if s["mlp"] == "gated" else None
        self.down = nn.Linear(width, s["hidden"], bias=bias)
        self.activation = {"gelu-tanh": gelu_spelt_out, "relu": F.relu}.get(s["mlp"], F.gelu)

    def forward(self, x):
        if self.gate is not None:
            return self.down(F.silu(self.gate(x)) * self.up(x))
        return self.down(self.activation(self.up(x)))


class Experts(nn.Module):
    """Every token goes to `active` experts, chosen by a router, and to the shared one."""

    def __init__(self, s):
        super().__init__()
        self.active = min(s["active"], s["experts"])
        self.router = nn.Linear(s["hidden"], s["experts"], bias=False)
        self.experts = nn.ModuleList(FeedForward(s, s["expert_width"]) for _ in range(s["experts"]))
        self.shared = FeedForward(s, s["shared_width"]) if s["shared_width"] else None

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(tokens).float().softmax(-1).topk(self.active, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            rows, places = (chosen == number).nonzero(as_tuple=True)
            out = out.index_add(0, rows, (expert(tokens[rows]) * weights[rows, places, None]).to(out.dtype))
        if self.shared is not None:
            out = out + self.shared(tokens)
        return out.view_as(x)


def is_encoder(s):
    """BERT's models have their norms behind the blocks, and one behind the embedding."""
    return s["loss"] in ("classifier", "masked-lm")


class Block(nn.Module):
    def __init__(self, s, dense):
        super().__init__()
        self.s = s
        self.before_attention = Norm(s["hidden"], s["norm"])
        self.before_mlp = Norm(s["hidden"], s["norm"]) if s["norms"] >= 2 else None
        behind = 0 if is_encoder(s) else s["norms"]
        self.after_attention = Norm(s["hidden"], s["norm"]) if behind >= 3 else None
        self.after_mlp = Norm(s["hidden"], s["norm"]) if behind >= 4 else None
        self.attention = Attention(s)
        self.mlp = FeedForward(s, s["feed_forward"]) if dense else Experts(s)

    def forward(self, x, cos, sin):
        drop = functools.partial(F.dropout, p=self.s["dropout"], training=self.training)
        if is_encoder(self.s):
            x = self.before_attention(x + drop(self.attention(x, cos, sin)))
            return (self.before_mlp or nn.Identity())(x + drop(self.mlp(x)))
        normed = self.before_attention(x)
        attended = self.attention(normed, cos, sin)
        if self.after_attention is not None:
            attended = self.after_attention(attended)
        side_by_side = self.s["parallel"] or self.before_mlp is None
        if not side_by_side:
            x = x + drop(attended)
        # One norm serves both in Phi; GPT-NeoX has two, which read the same.
        inner = self.mlp(normed if self.before_mlp is None else self.before_mlp(x))
        if self.after_mlp is not None:
            inner = self.after_mlp(inner)
        return x + drop(attended) + drop(inner) if side_by_side else x + drop(inner)


class Model(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embedding = nn.Embedding(s["vocabulary"], s["hidden"])
        learned = s["position"] == "learned"
        self.positions = nn.Embedding(max(s["positions"], s["sequence"]), s["hidden"]) if learned else None
        sparse = s["experts"] > 0
        self.blocks = nn.ModuleList(
            Block(s, dense=not sparse or number < s["dense_layers"]) for number in range(s["layers"])
        )
        self.norm = Norm(s["hidden"], s["norm"])
        self.held = None
        self.transform = None
        if s["loss"] == "masked-lm":
            parts = [nn.Linear(s["hidden"], s["hidden"]), nn.GELU(), Norm(s["hidden"], s["norm"])]
            self.transform = nn.Sequential(*parts)
        self.head = nn.Linear(s["hidden"], 2 if s["loss"] == "classifier" else s["vocabulary"], bias=False)
        if s["tied"] and s["loss"] != "classifier":
            self.head.weight = self.embedding.weight
        for weights in self.parameters():
            if weights.ndim == 2:
                nn.init.normal_(weights, std=0.02)

    def angles(self, tokens):
        width = self.s["rope_dim"] if self.s["kv_rank"] else self.s["head_dim"]
        if self.s["position"] == "rotary-part" and not self.s["kv_rank"]:
            # Models rotate a quarter to a half of a head; memory does not depend on it.
            width = max(2, width // 4 * 2)
        if width < 2:
            return None, None
        places = torch.arange(tokens.shape[1], device=tokens.device).float()
        rates = 10000.0 ** (-torch.arange(0, width, 2, device=tokens.device).float() / width)
        angles = torch.outer(places, rates)
        angles = torch.cat((angles, angles), dim=-1)[:, :width]
        return angles.cos(), angles.sin()

    def forward(self, tokens, labels):
        s = self.s
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        cos, sin = self.angles(tokens)
        if cos is not None:
            cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        if is_encoder(s):
            return self.loss(self.through_blocks(self.norm(x), cos, sin), labels)
        return self.loss(self.norm(self.through_blocks(x, cos, sin)), labels)

    def segments(self):
        """Blocks that run together, each time with whether they are computed again."""
        kind, every, first = self.s["recomputation"], self.s["every"], self.s["recompute_layers"]
        together = every if kind == "every-k" else 1
        for number in range(0, len(self.blocks), together):
            again = kind in ("full", "ops", "every-k")
            again = again or kind == "kth-layer" and (number + 1) % every == 0
            again = again or kind == "block" and number < first
            yield self.blocks[number : number + together], again and torch.is_grad_enabled()

    def through_blocks(self, x, cos, sin):
        s = self.s
        kind = s["recomputation"]
        context = contextlib.nullcontext()
        options = {"use_reentrant": False}
        if s["offload_activations"] and any(again for _, again in self.segments()):
            # The reentrant checkpoint keeps its inputs where these hooks see them.
            context = torch.autograd.graph.save_on_cpu(pin_memory=x.is_cuda)
            options = {"use_reentrant": True}
            if not x.requires_grad:
                x.requires_grad_()
        elif kind == "ops":
            options["context_fn"] = functools.partial(create_selective_checkpoint_contexts, every_second_product())
        for blocks, again in self.segments():

            def segment(x, cos, sin, blocks=blocks):
                for block in blocks:
                    x = block(x, cos, sin)
                return x

            if again:
                with context:
                    x = checkpoint(segment, x, cos, sin, **options)
            else:
                x = segment(x, cos, sin)
        return x

    def loss(self, x, labels):
        s = self.s
        if s["loss"] == "classifier":
            return F.cross_entropy(self.head(x[:, -1]).float(), labels[:, -1] % 2)
        x, labels = x.flatten(0, 1), labels.flatten()
        if s["loss"] == "fused":
            return self.fused_loss(x, labels)
        if s["loss"] == "chunked-head":
            return self.chunked_head(x, labels)
        if self.transform is not None:
            x = self.transform(x)
        logits = capped(self.head(x), 30.0 if s["soft_cap"] else None)
        if s["logits"] == "kept-fp32":
            logits = logits.float()
        if s["logits"] != "dropped":
            self.held = logits
        if s["loss"] == "chunked":
            chunks = zip(logits.chunk(s["chunks"]), labels.chunk(s["chunks"]))
            parts = [F.cross_entropy(part.float(), wanted, reduction="sum") for part, wanted in chunks]
            return torch.stack(parts).sum() / labels.numel()
        if s["loss"] in ("vocab-parallel", "kernel", "kernel-inplace"):
            return OwnLoss.apply(logits, labels, s["loss"])
        return F.cross_entropy(logits if s["loss"] == "masked-lm" else logits.float(), labels)

    def chunked_head(self, x, labels):
        """torchtitan's loss: head, loss and their backward pass, one chunk of the tokens after another."""
        gradient = torch.zeros_like(x, dtype=torch.float32)
        total = torch.zeros((), device=x.device)
        chunks = self.s["chunks"]
        pieces = zip(x.detach().chunk(chunks), labels.chunk(chunks), gradient.chunk(chunks))
        for piece, wanted, into in pieces:
            piece = piece.contiguous().requires_grad_(x.requires_grad)
            logits = capped(self.head(piece), 30.0 if self.s["soft_cap"] else None)
            loss = F.cross_entropy(logits.float(), wanted, reduction="sum") / labels.numel()
            total += loss.detach()
            if piece.requires_grad:
                loss.backward()
                into.copy_(piece.grad)
        return Handed.apply(x, gradient.to(x.dtype), total)

    def fused_loss(self, x, labels):
        try:
            from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss as fused
        except ImportError:
            fused = None
        if fused and x.is_cuda:
            return fused()(self.head.weight, x, labels)
        note("No liger_kernel for the fused loss: chunks of 1,024 tokens, computed again backward.")

        def part(x, labels):
            return F.cross_entropy(self.head(x).float(), labels, reduction="sum")

        pieces = zip(x.split(1024), labels.split(1024))
        parts = [checkpoint(part, piece, wanted, use_reentrant=False) for piece, wanted in pieces]
        return torch.stack(parts).sum() / labels.numel()


class Handed(torch.autograd.Function):
    """A loss whose gradient is there already."""

    @staticmethod
    def forward(ctx, x, gradient, loss):
        ctx.save_for_backward(gradient)
        return loss.clone()

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0], None, None


class OwnLoss(torch.autograd.Function):
    """Cross-entropy that makes its gradient itself.

    "vocab-parallel" has the softmax in the place of the fp32 logits, as in Megatron-LM. The kernels go over a
    few tokens at a time, so that nothing of the logits' size is in fp32: flash-attn's writes the gradient beside
    the logits, Liger's over them.
    """

    @staticmethod
    def forward(ctx, logits, labels, kind):
        ctx.kind, ctx.dtype = kind, logits.dtype
        if kind == "vocab-parallel":
            wide = logits.float()
            wide.sub_(wide.amax(-1, keepdim=True))
            chosen = wide.gather(-1, labels[:, None]).squeeze(-1)
            sums = wide.exp_().sum(-1, keepdim=True)
            kept, losses = wide.div_(sums), sums.log().squeeze(-1) - chosen
        else:
            kept, losses = logits, torch.empty(labels.shape, device=logits.device)
            for rows in OwnLoss.few(logits):
                losses[rows] = F.cross_entropy(logits[rows].float(), labels[rows], reduction="none")
                if kind == "kernel-inplace":
                    logits[rows] = OwnLoss.gradient(logits[rows], labels[rows], labels.numel())
        ctx.save_for_backward(kept, labels)
        return losses.mean()

    @staticmethod
    def few(logits):
        """Rows of at most 4 MiB in fp32."""
        size = max(1, 2**20 // logits.shape[-1])
        return [slice(first, first + size) for first in range(0, logits.shape[0], size)]

    @staticmethod
    def gradient(logits, labels, tokens):
        softmax = logits.float().softmax(-1)
        softmax[torch.arange(labels.numel(), device=labels.device), labels] -= 1.0
        return (softmax / tokens).to(logits.dtype)

    @staticmethod
    def backward(ctx, outer):
        kept, labels = ctx.saved_tensors
        if ctx.kind == "vocab-parallel":
            kept[torch.arange(labels.numel(), device=labels.device), labels] -= 1.0
            return kept.mul_(outer / labels.numel()).to(ctx.dtype), None, None
        if ctx.kind == "kernel-inplace":
            return kept.mul_(outer), None, None
        gradient = torch.empty_like(kept)
        for rows in OwnLoss.few(kept):
            gradient[rows] = OwnLoss.gradient(kept[rows], labels[rows], labels.numel()).mul_(outer)
        return gradient, None, None


def every_second_product():
    """torchtitan's operator-level selection: every second matrix product and attention's output stay."""
    ops = torch.ops.aten
    kept = {
        ops._scaled_dot_product_flash_attention.default,
        ops._scaled_dot_product_efficient_attention.default,
        ops._scaled_dot_product_flash_attention_for_cpu.default,
    }
    counts = {}

    def policy(context, op, *args, **kwargs):
        if op in (ops.mm.default, ops.addmm.default):
            mode = "again" if context.is_recompute else "first"
            counts[mode] = counts.get(mode, 0) + 1
            keep = counts[mode] % 2 == 1
        else:
            keep = op in kept
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


# --- Adapters ---------------------------------------------------------------------------------------


class Adapted(nn.Module):
    """A frozen matrix and two thin ones beside it."""

    def __init__(self, linear, s):
        super().__init__()
        self.s = s
        dtype = getattr(torch, s["half"])
        if s["precision"] == "fp32" or s["adapter_type"] == "32":
            dtype = torch.float32
        new = functools.partial(torch.zeros, dtype=dtype, device=linear.weight.device)
        self.down = nn.Parameter(new(s["rank"], linear.in_features).normal_(std=0.01))
        self.up = nn.Parameter(new(linear.out_features, s["rank"]))
        self.linear = quantized(linear, s["adapter"])

    def forward(self, x):
        y, down, up = self.linear(x), self.down, self.up
        if self.s["precision"] in ("bf16", "fp16"):
            # Where weights have a master copy the products are of 16 bits.
            down, up = down.to(x.dtype), up.to(x.dtype)
        x = x.to(down.dtype)
        if self.s["adapter_dropout"]:
            x = F.dropout(x, 0.05, self.training)
        return y + F.linear(F.linear(x, down), up).to(y.dtype)


def quantized(linear, kind):
    if kind in ("lora", "lora-fp32"):
        return linear
    try:
        import bitsandbytes as bnb
    except ImportError:
        note("No bitsandbytes: the frozen matrices stay in 16 bits, which is more than the scenario has.")
        return linear
    small = {"bias": linear.bias is not None}
    if kind == "qlora":
        made = bnb.nn.Linear4bit(
            linear.in_features, linear.out_features, quant_type="nf4", compress_statistics=True,
            compute_dtype=linear.weight.dtype, **small,
        )
    else:
        made = bnb.nn.Linear8bitLt(linear.in_features, linear.out_features, has_fp16_weights=False, **small)
    device = linear.weight.device
    made.load_state_dict({name: value.cpu() for name, value in linear.state_dict().items()})
    return made.to(device)


def adapt(model, s):
    """Freezes the model, quantizes the matrices of its blocks and sets adapters beside them."""
    model.requires_grad_(False)
    wanted = {"qv": ("q", "v", "qkv"), "attention": ("q", "k", "v", "o", "qkv")}.get(s["targets"])
    for name, module in list(model.blocks.named_modules()):
        if isinstance(module, nn.Linear) and not name.endswith("router"):
            parent, _, last = name.rpartition(".")
            is_adapted = wanted is None or last in wanted
            made = Adapted(module, s) if is_adapted else quantized(module, s["adapter"])
            setattr(model.blocks.get_submodule(parent), last, made)


# --- Optimizers ---------------------------------------------------------------------------------------


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023: one moment, whose sign is the step."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                moment = self.state[p].setdefault("moment", torch.zeros_like(p))
                step = moment.lerp(p.grad, 0.1).sign_()
                p.add_(step, alpha=-group["lr"])
                moment.lerp_(p.grad, 0.01)


class Adafactor(torch.optim.Optimizer):
    """That of transformers (Shazeer and Stern 2018): means of rows and columns, and the update, in fp32.
    PyTorch's own works in the type of the parameters."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(*(getattr(t, "_local_tensor", t) for t in (p, p.grad)), self.state[p], group["lr"])

    def update(self, p, grad, state, rate):
        grad = grad.float()
        update = grad.square().add_(1e-30)
        if p.ndim >= 2:
            means = {"row": update.mean(-1), "column": update.mean(-2)}
        else:
            means = {"whole": update}
        for name, mean in means.items():
            state.setdefault(name, torch.zeros_like(mean)).lerp_(mean, 0.2)
        if p.ndim >= 2:
            rows = (state["row"] / state["row"].mean(-1, keepdim=True)).rsqrt().unsqueeze(-1)
            torch.mul(rows, state["column"].rsqrt().unsqueeze(-2), out=update)
        else:
            torch.rsqrt(state["whole"], out=update)
        update.mul_(grad)
        p.copy_(p.float().add_(update, alpha=-rate))


def rule(s, params):
    """The update rule on these parameters."""
    name, rate = s["optimizer"], 1e-5
    on_gpu = params[0].is_cuda
    kernel = {"foreach": {"foreach": True}, "loop": {"foreach": False}}.get(s["step"], {})
    if s["step"] == "fused" and on_gpu:
        kernel = {"fused": True}
    if name == "adamw":
        return torch.optim.AdamW(params, lr=rate, **kernel)
    if name in ("sgd", "momentum"):
        return torch.optim.SGD(params, lr=rate, momentum=0.9 if name == "momentum" else 0.0, **kernel)
    if name == "adafactor":
        return Adafactor(params, lr=rate)
    if name == "adafactor-torch":
        return torch.optim.Adafactor(params, lr=rate)
    if name == "lion":
        return Lion(params, lr=rate)
    if name == "adam8bit":
        try:
            import bitsandbytes as bnb

            if on_gpu:
                return bnb.optim.AdamW8bit(params, lr=rate)
        except ImportError:
            pass
        note("No bitsandbytes on this device: AdamW with moments in full, which are larger than 8-bit Adam’s.")
        return torch.optim.AdamW(params, lr=rate)
    raise ValueError(name)


class Together:
    """The update rule on the parameters themselves."""

    def __init__(self, s, model):
        trained = [p for p in model.parameters() if p.requires_grad]
        if s["optimizer"] == "muon":
            inside = {id(p) for p in model.blocks.parameters() if p.ndim == 2}
            matrices = [p for p in trained if id(p) in inside]
            others = [p for p in trained if id(p) not in inside]
            self.rules = [torch.optim.Muon(matrices, lr=1e-5)] if matrices else []
            self.rules += [rule({**s, "optimizer": "adamw"}, others)] if others else []
        else:
            self.rules = [rule(s, trained)]

    def step(self):
        for each in self.rules:
            each.step()
            each.zero_grad(set_to_none=True)


class Apart:
    """A copy of every parameter, in fp32 where weights have 16 bits, on the host where that is wanted;
    updated one by one, so that only one gradient is converted at a time."""

    def __init__(self, s, model):
        self.pairs = []
        inside = {id(p) for p in model.blocks.parameters() if p.ndim == 2}
        master = has_master(s)
        for p in model.parameters():
            if not p.requires_grad:
                continue
            copy = p.detach().clone()
            copy = copy.float() if master else copy
            copy = copy.cpu() if s["offload_optimizer"] else copy
            copy = copy.requires_grad_()
            muon = s["optimizer"] == "muon"
            if muon and id(p) in inside:
                own = torch.optim.Muon([copy], lr=1e-5)
            else:
                own = rule({**s, "optimizer": "adamw"} if muon else s, [copy])
            if master and s["gradients"] == "32":
                p.main_grad = torch.zeros_like(p, dtype=torch.float32)
                p.register_post_accumulate_grad_hook(self.add_up)
            self.pairs.append((p, copy, own))

    @staticmethod
    def add_up(p):
        p.main_grad.add_(p.grad)
        p.grad = None

    @torch.no_grad()
    def step(self):
        for p, copy, own in self.pairs:
            grad = getattr(p, "main_grad", p.grad)
            if grad is None:
                continue
            copy.grad = grad.to(device=copy.device, dtype=copy.dtype)
            p.grad = None
            own.step()
            copy.grad = None
            p.copy_(copy)
            if hasattr(p, "main_grad"):
                p.main_grad.zero_()


# --- The measurement ------------------------------------------------------------------------------------


def tiny(s):
    """The same kinds of everything with a few thousand weights, to try the script without a GPU."""
    small = dict(s, hidden=32, layers=min(s["layers"], 3), head_dim=8, feed_forward=48, vocabulary=128, sequence=16)
    small.update(heads=4, kv_heads=4 if s["heads"] == s["kv_heads"] else 2, positions=16 if s["positions"] else 0)
    small.update(experts=min(s["experts"], 4), active=min(s["active"], 2), expert_width=24)
    small.update(shared_width=16 if s["shared_width"] else 0, dense_layers=min(s["dense_layers"], 1))
    small.update(recompute_layers=min(s["recompute_layers"], 1))
    small.update(q_rank=16 if s["q_rank"] else 0, kv_rank=16 if s["kv_rank"] else 0, rank=min(s["rank"], 4))
    return dict(small, rope_dim=8 if s["rope_dim"] else 0, every=min(s["every"], 2), chunks=min(s["chunks"], 2))


def has_master(s):
    """Whether what is trained has an fp32 copy; adapters that are in fp32 need none."""
    return s["precision"] in ("bf16", "fp16") and (s["adapter"] == "none" or s["adapter_type"] == "16")


def weights_dtype(s):
    if s["adapter"] == "lora-fp32":
        return torch.float32
    if s["adapter"] == "none":
        return getattr(torch, s["half"]) if s["precision"] in ("bf16", "bf16-pure", "fp16") else torch.float32
    return torch.float32 if s["precision"] == "fp32" else getattr(torch, s["half"])


def build(s, device, world, compiled):
    """The model in its precision, on the device, with random weights, divided if that is wanted."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(weights_dtype(s))
    try:
        with torch.device(device):
            model = Model(s)
    finally:
        torch.set_default_dtype(before)
    model.train()
    if s["adapter"] != "none":
        adapt(model, s)
    if compiled:
        for block in model.blocks:
            block.compile()
    if s["precision"] == "mixed" or world > 1 and s["zero"] in ("2", "3"):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy()
        if s["precision"] == "mixed":
            policy = MixedPrecisionPolicy(param_dtype=getattr(torch, s["half"]), reduce_dtype=torch.float32)
        # One process has nothing to gather from others: it keeps the 16-bit copy through the step.
        reshard = world > 1 and s["zero"] == "3" and s["reshard"] != 1
        if reshard and 1 < s["reshard"] < world and world % s["reshard"] == 0:
            reshard = s["reshard"]
        options = {"mp_policy": policy, "reshard_after_forward": reshard}
        for block in model.blocks:
            fully_shard(block, **options)
        fully_shard(model, **options)
        return model, model
    if world > 1:
        return model, nn.parallel.DistributedDataParallel(model)
    return model, model


def measure(s, arguments, device, world):
    """Trains two steps and returns the peak of the second, which has all optimizer state from its start."""
    compiled = s["kernels"] == "fused" and device == "cuda" and not arguments.no_compile
    if s["kernels"] == "fused" and not compiled:
        note("Kernels are not fused here: torch.compile is for GPUs, and --no-compile leaves it out.")
    if device == "cpu" and s["half"] == "float16":
        s = dict(s, half="bfloat16", precision={"fp16": "bf16"}.get(s["precision"], s["precision"]))
        note("A CPU computes in bf16 where the scenario has fp16.")
    if device == "cuda":
        torch.cuda.empty_cache()
    model, called = build(s, device, world, compiled)
    apart = has_master(s) or s["offload_optimizer"]
    optimizer = Apart(s, model) if apart else Together(s, model)
    shape = (arguments.micro_batch, s["sequence"])
    tokens = torch.randint(s["vocabulary"], shape, device=device)
    labels = torch.randint(s["vocabulary"], shape, device=device)
    autocast = s["precision"] == "autocast"
    scale = 1024.0 if s["precision"] == "fp16" else 1.0
    for _ in range(2):
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        for _ in range(s["micro_batches"]):
            with torch.autocast(device, dtype=getattr(torch, s["half"]), enabled=autocast):
                loss = called(tokens, labels)
            (loss * scale).backward()
            value = loss.detach().float().item()
            model.held = None
            del loss
        optimizer.step()
    weights = sum(p.numel() for p in model.parameters())
    if device != "cuda":
        return weights, value, None
    torch.cuda.synchronize()
    return weights, value, (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())


def table(predicted, measured):
    print(f"{'':10}{'predicted':>14}{'measured':>14}{'measured is':>14}")
    for row, name in enumerate(("allocated", "reserved")):
        cells = ["–", "–", ""]
        if predicted:
            cells[0] = f"{predicted[row] / GIB:.2f} GiB"
        if measured:
            cells[1] = f"{measured[row] / GIB:.2f} GiB"
        if predicted and measured:
            cells[2] = f"{100.0 * (measured[row] / predicted[row] - 1.0):+.1f} %"
        print(f"{name:10}{cells[0]:>14}{cells[1]:>14}{cells[2]:>14}")


def main():
    parser = argparse.ArgumentParser(description="Measures the peak memory of two training steps beside its prediction.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="a model of a few thousand weights, to try the script")
    parser.add_argument("--micro-batch", type=int, help=f"sequences at once; {SCENARIO['micro_batch']} if not given")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out where kernels are fused")
    arguments = parser.parse_args()
    if arguments.device == "cpu" and not arguments.tiny:
        sys.exit("There is no GPU here, and nothing to measure without one. --tiny tries the script on the CPU.")

    s, together = dict(SCENARIO), False
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if world > 1:
        if TOGETHER is None:
            sys.exit("This scenario divides the work in more ways than this script can: run it as one process.")
        s.update(TOGETHER["scenario"])
        together = world == TOGETHER["gpus"]
        if not together:
            note(f"There are {world} processes, and the scenario has {TOGETHER['gpus']} GPUs: nothing is predicted.")
    if arguments.micro_batch is None:
        arguments.micro_batch = 2 if arguments.tiny else s["micro_batch"]
    if arguments.micro_batch < 1:
        sys.exit("--micro-batch takes a whole number from 1.")
    predicted = None
    if not arguments.tiny:
        source = (TOGETHER["predicted"] if together else {}) if world > 1 else PREDICTED
        predicted = source.get(arguments.micro_batch)
        if predicted is None and not NOTES:
            known = ", ".join(str(batch) for batch in sorted(source))
            note(f"For micro-batch {arguments.micro_batch} this file has no prediction; it has for {known}.")
    if arguments.tiny:
        s = tiny(s)
    if world > 1 or s["precision"] == "mixed":
        defaults = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
        for name, value in defaults.items():
            os.environ.setdefault(name, value)
        if arguments.device == "cuda":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        torch.distributed.init_process_group("nccl" if arguments.device == "cuda" else "gloo")

    name = torch.cuda.get_device_name() if arguments.device == "cuda" else "the CPU"
    if rank == 0:
        print(f"{SCENARIO['name']}, micro-batch {arguments.micro_batch}, on {name}, torch {torch.__version__}")
    try:
        weights, loss, measured = measure(s, arguments, arguments.device, world)
    except torch.OutOfMemoryError as error:
        print(f"\nOUT OF MEMORY with micro-batch {arguments.micro_batch}: it does not fit on {name}.")
        if predicted:
            print(f"Predicted were {predicted[0] / GIB:.2f} GiB allocated and {predicted[1] / GIB:.2f} GiB reserved.")
        print(str(error).splitlines()[0])
        print(f"Try --micro-batch {max(1, arguments.micro_batch // 2)}, and tell the page that this one does not fit.")
        return 3
    finally:
        for each in NOTES if rank == 0 else []:
            print(f"note: {each}")
    if measured and world > 1:
        most = torch.tensor(measured, dtype=torch.float64, device="cuda")
        torch.distributed.all_reduce(most, op=torch.distributed.ReduceOp.MAX)
        measured = tuple(most.tolist())
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if rank == 0:
        print(f"{weights:,} weights{' on this process' if world > 1 else ''}, two steps, loss {loss:.3f}\n")
        table(predicted, measured)
        if measured:
            gib = [f"{value / GIB:.3f}" for value in measured]
            print(f"\nTo type into the page: micro-batch {arguments.micro_batch}, allocated {gib[0]} GiB, reserved {gib[1]} GiB")
        else:
            print("\nTo type into the page: nothing, because a CPU has no counters to measure with.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
