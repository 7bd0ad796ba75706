#!/usr/bin/env python3
# Peak memory of Llama 3.1 8B on 8 × H100 SXM 80 GB, 8,192 tokens a sequence.
# python bmax_measure.py measures a scenario of its own: one GPU that holds everything, 9 of its 32
# layers, because all of them do not fit on one GPU, micro-batch 2, two micro-batches a step, which
# stand for more. That is:
# https://example.org/bmax/?v=2&model=llama-3.1-8b&gpu=h100-80&layers=9&s=8192&b=2&accum=2&gpus=1&precision=mixed&recompute=full&dropout=off&zero=0
# torchrun --nproc_per_node 8 bmax_measure.py measures all GPUs of the scenario together, with FSDP2,
# micro-batch 4. That is:
# https://example.org/bmax/?v=2&model=llama-3.1-8b&gpu=h100-80&s=8192&b=4&accum=2&precision=mixed&recompute=full&dropout=off
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
    "qk_norm": "off",
    "bias": "none",
    "soft_cap": False,
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
    "gradients": "16",
    "optimizer": "adamw",
    "step": "fused",
    "recomputation": "full",
    "every": 4,
    "dropout": 0,
    "attention": "flash",
    "loss": "plain",
    "chunks": 8,
    "kernels": "eager",
    "offload_optimizer": False,
    "offload_activations": False,
    "adapter": "none",
    "rank": 16,
    "targets": "all",
    "zero": "0",
}

# Bytes that the page predicts on one GPU: micro-batch, then allocated and reserved.
PREDICTED = {
    1: (67726958592, 69003726848),
    2: (81207582720, 83158382182),
    3: (94688206848, 97313037517),
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
        "micro_batch": 4,
    },
    "predicted": {
        1: (33686720512, 36859043123),
        2: (48710848512, 52634377523),
        4: (78759104512, 84185046323),
        5: (93783232512, 99960380723),
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
    """Queries or keys, rotated by their positions."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


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
        elif s["mlp"] == "gelu-tanh":
            # GPT-2's code has one matrix for the three.
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
        if s["position"] == "rotary":
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        return q, k, v

    def scores(self, q, k, v):
        """Attention with everything of size n·S² in memory."""
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = capped(scores, 50.0 if self.s["soft_cap"] else None)
        length = q.shape[-2]
        future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype)
        return F.dropout(weights, self.s["dropout"], self.training) @ v

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
        self.activation = gelu_spelt_out if s["mlp"] == "gelu-tanh" else F.gelu

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


class Block(nn.Module):
    def __init__(self, s, dense):
        super().__init__()
        self.s = s
        self.before_attention = Norm(s["hidden"], s["norm"])
        self.before_mlp = Norm(s["hidden"], s["norm"]) if s["norms"] >= 2 else None
        self.after_attention = Norm(s["hidden"], s["norm"]) if s["norms"] >= 3 else None
        self.after_mlp = Norm(s["hidden"], s["norm"]) if s["norms"] >= 4 else None
        self.attention = Attention(s)
        self.mlp = FeedForward(s, s["feed_forward"]) if dense else Experts(s)

    def forward(self, x, cos, sin):
        drop = functools.partial(F.dropout, p=self.s["dropout"], training=self.training)
        normed = self.before_attention(x)
        attended = self.attention(normed, cos, sin)
        if self.before_mlp is None:
            # One norm for both, which stand side by side, as in Phi.
            return x + drop(attended) + drop(self.mlp(normed))
        if self.after_attention is not None:
            attended = self.after_attention(attended)
        x = x + drop(attended)
        inner = self.mlp(self.before_mlp(x))
        if self.after_mlp is not None:
            inner = self.after_mlp(inner)
        return x + drop(inner)


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
        self.head = nn.Linear(s["hidden"], 2 if s["loss"] == "classifier" else s["vocabulary"], bias=False)
        if s["tied"] and s["loss"] != "classifier":
            self.head.weight = self.embedding.weight
        for weights in self.parameters():
            if weights.ndim == 2:
                nn.init.normal_(weights, std=0.02)

    def angles(self, tokens):
        width = self.s["rope_dim"] if self.s["kv_rank"] else self.s["head_dim"]
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
        x = self.through_blocks(x, cos, sin)
        return self.loss(self.norm(x), labels)

    def through_blocks(self, x, cos, sin):
        s = self.s
        kind = s["recomputation"]
        if kind not in ("full", "every-k", "ops") or not torch.is_grad_enabled():
            for block in self.blocks:
                x = block(x, cos, sin)
            return x
        together = s["every"] if kind == "every-k" else 1
        context = contextlib.nullcontext()
        options = {"use_reentrant": False}
        if s["offload_activations"]:
            # The reentrant checkpoint keeps its inputs where these hooks see them.
            context = torch.autograd.graph.save_on_cpu(pin_memory=x.is_cuda)
            options = {"use_reentrant": True}
            if not x.requires_grad:
                x.requires_grad_()
        elif kind == "ops":
            options["context_fn"] = functools.partial(create_selective_checkpoint_contexts, every_second_product())
        with context:
            for first in range(0, len(self.blocks), together):
                blocks = self.blocks[first : first + together]

                def segment(x, cos, sin, blocks=blocks):
                    for block in blocks:
                        x = block(x, cos, sin)
                    return x

                x = checkpoint(segment, x, cos, sin, **options)
        return x

    def loss(self, x, labels):
        s = self.s
        if s["loss"] == "classifier":
            return F.cross_entropy(self.head(x[:, -1]).float(), labels[:, -1] % 2)
        x, labels = x.flatten(0, 1), labels.flatten()
        if s["loss"] == "fused":
            return self.fused_loss(x, labels)
        logits = capped(self.head(x), 30.0 if s["soft_cap"] else None)
        if s["loss"] == "chunked":
            chunks = zip(logits.chunk(s["chunks"]), labels.chunk(s["chunks"]))
            parts = [F.cross_entropy(part.float(), wanted, reduction="sum") for part, wanted in chunks]
            return torch.stack(parts).sum() / labels.numel()
        if s["loss"] == "kernel":
            liger = liger_losses()
            if liger and x.is_cuda:
                return liger.LigerCrossEntropyLoss()(logits, labels)
            note("No liger_kernel for the loss: PyTorch’s cross-entropy, which keeps more.")
            return F.cross_entropy(logits, labels)
        return F.cross_entropy(logits.float(), labels)

    def fused_loss(self, x, labels):
        liger = liger_losses()
        if liger and x.is_cuda:
            return liger.LigerFusedLinearCrossEntropyLoss()(self.head.weight, x, labels)
        note("No liger_kernel for the fused loss: chunks of 1,024 tokens, computed again backward.")

        def part(x, labels):
            return F.cross_entropy(self.head(x).float(), labels, reduction="sum")

        pieces = zip(x.split(1024), labels.split(1024))
        parts = [checkpoint(part, piece, wanted, use_reentrant=False) for piece, wanted in pieces]
        return torch.stack(parts).sum() / labels.numel()


def liger_losses():
    try:
        import liger_kernel.transformers as liger
    except ImportError:
        return None
    return liger


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

    def __init__(self, linear, rank, dtype, kind):
        super().__init__()
        self.linear = quantized(linear, kind)
        self.down = nn.Parameter(torch.randn(rank, linear.in_features, dtype=dtype, device=linear.weight.device) * 0.01)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank, dtype=dtype, device=linear.weight.device))

    def forward(self, x):
        y = self.linear(x)
        return y + F.linear(F.linear(x.to(self.down.dtype), self.down), self.up).to(y.dtype)


def quantized(linear, kind):
    if kind == "lora":
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
    """Freezes the model and sets adapters beside the matrices of its blocks."""
    model.requires_grad_(False)
    dtype = {"fp32": torch.float32, "autocast": torch.float32, "mixed": torch.float32, "fp16": torch.float16}
    wanted = {"qv": ("q", "v", "qkv"), "attention": ("q", "k", "v", "o", "qkv")}.get(s["targets"])
    for name, module in list(model.blocks.named_modules()):
        if isinstance(module, nn.Linear) and not name.endswith("router"):
            parent, _, last = name.rpartition(".")
            if wanted is None or last in wanted:
                adapted = Adapted(module, s["rank"], dtype.get(s["precision"], torch.bfloat16), s["adapter"])
                setattr(model.blocks.get_submodule(parent), last, adapted)


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
        master = s["precision"] in ("bf16", "fp16")
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
    small.update(q_rank=16 if s["q_rank"] else 0, kv_rank=16 if s["kv_rank"] else 0, rank=min(s["rank"], 4))
    return dict(small, rope_dim=8 if s["rope_dim"] else 0, every=min(s["every"], 2), chunks=min(s["chunks"], 2))


def weights_dtype(s):
    if s["adapter"] == "none":
        return {"bf16": torch.bfloat16, "bf16-pure": torch.bfloat16, "fp16": torch.float16}.get(
            s["precision"], torch.float32
        )
    return {"fp32": torch.float32, "fp16": torch.float16}.get(s["precision"], torch.bfloat16)


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
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        # One process has nothing to gather from others: it keeps the 16-bit copy through the step.
        options = {"mp_policy": policy, "reshard_after_forward": world > 1 and s["zero"] == "3"}
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
    if device == "cpu" and s["precision"] == "fp16":
        s = dict(s, precision="bf16")
        note("A CPU computes in bf16 where the scenario has fp16.")
    if device == "cuda":
        torch.cuda.empty_cache()
    model, called = build(s, device, world, compiled)
    apart = s["precision"] in ("bf16", "fp16") or s["offload_optimizer"]
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
            with torch.autocast(device, dtype=torch.bfloat16, enabled=autocast):
                loss = called(tokens, labels)
            (loss * scale).backward()
            value = loss.detach().float().item()
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
