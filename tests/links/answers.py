#!/usr/bin/env python3
"""What old links mean, and what the workshop's and the paper's method answer to them.

This is the contract of links told a second time, in another language and from other sources, so that the
program cannot agree with itself by mistake: the defaults of each version as its README listed them, rows
of models as their released files state them, and the two methods as exact fractions. Only the memory of
devices is copied, from the table in src/catalogue/devices.rs, which names who measured it. The file that it
writes was read and is committed:

    python3 tests/links/answers.py > tests/links/links.json

Nothing that is in links.json may ever change; README.md says why, and what is to be done instead.
"""

import json
import sys
from fractions import Fraction
from urllib.parse import parse_qsl

# --- What stands in for an absent parameter -----------------------------------------------------------

# Version 1, as its README listed it. It knew these parameters and no others.
VERSION_1 = {
    "model": "7b", "gpu": "a100-80",
    "params": "7", "hidden": "4096", "layers": "32", "heads": "32", "kv": "32", "head_dim": "128",
    "ffn": "16384", "vocab": "32000", "s": "2048", "b": "3", "gpus": "8", "tp": "1", "mem": "80",
    "headroom": "10", "target": "256", "chart_gpus": "64", "method": "workshop", "mlp": "gelu",
    "tied": "on", "precision": "bf16", "recompute": "selective", "dropout": "on", "zero": "3", "sp": "off",
    "unit": "sequences", "chart_recompute": "full",
}

# Version 2, as its README listed it.
VERSION_2 = VERSION_1 | {
    "norms": "2", "positions": "0", "experts": "0", "active": "1", "expert_ffn": "0", "shared_ffn": "0",
    "dense_layers": "0", "q_rank": "0", "kv_rank": "0", "rope_dim": "0", "accum": "1", "every": "4",
    "chunks": "8", "rank": "16", "pp": "1", "cp": "1", "ep": "1", "driver": "0.8505859375",
    "context": "0.6", "comm": "1.25", "frag": "5", "method": "ledger", "norm": "layernorm",
    "qk_norm": "off", "bias": "all", "softcap": "off", "position": "none", "grad": "16",
    "optimizer": "adamw", "step": "fused", "attn": "flash", "loss": "plain", "kernels": "eager",
    "offload": "none", "adapter": "none", "targets": "all",
}

# Version 3, as its README listed it. A model brings its own dropout and recomputation, a GPU the workspaces
# of its libraries, and segments that grow their own fragmentation.
VERSION_3 = VERSION_2 | {
    "parallel": "off", "qkv": "separate", "softmax": "fp32", "engine": "torch", "bucket": "500", "reshard": "0",
    "imbalance": "1", "vpp": "1", "pp_first": "0", "pp_last": "0", "recompute_layers": "1", "logits": "dropped",
    "adapter_type": "32", "adapter_dropout": "off", "expert_matrices": "stacked", "unquantized": "16", "segments": "fixed", "workspace": "8",
    "chart_axis": "sequence",
    "task": "train", "ref": "copy", "frozen": "policy", "teacher": "0", "reward": "usual", "rollout": "model",
    "engine_share": "30", "completion": "0", "generations": "0", "score_b": "0",
    "eval": "off", "eval_generate": "off", "eval_b": "8", "eval_n": "128", "eval_steps": "0", "eval_tokens": "0",
    "gather": "off", "gather_states": "weights", "save": "off", "load": "off", "resume": "off", "merge": "off",
    "lengths": "equal", "len_attn": "mask", "len_median": "256", "len_p95": "640", "len_max": "0", "len_multiple": "1",
    "fp8": "off", "opt_rank": "128", "precond_dim": "0", "ram": "0", "node_gpus": "8", "host_load": "off",
    "vision": "none", "vision_layers": "0", "vision_hidden": "0", "vision_heads": "0", "vision_ffn": "0", "patch": "0",
    "image_side": "0", "images": "1", "image_h": "1024", "image_w": "1024", "max_pixels": "12845056", "tiles": "0",
    "tower": "frozen", "projector": "trained",
    "enc_layers": "0", "enc_positions": "0", "mels": "0", "source": "0", "pos_spare": "0",
}

# Version 4, as docs/links.md lists it: Llama 3.1 8B with whole layers recomputed, on eight H100, and a chart against the same. A
# link that names no micro-batch means the largest one, which the ledger has and this script has not.
VERSION_4 = {key: value for key, value in VERSION_3.items() if key != "b"} | {
    "model": "llama-3.1-8b", "gpu": "h100-80",
    "params": "8.030261248", "kv": "8", "ffn": "14336", "vocab": "128256", "mlp": "gated", "tied": "off",
    "norm": "rmsnorm", "bias": "none", "position": "rotary", "recompute": "full", "dropout": "off",
    "mem": "79.6474609375", "driver": "0.4423828125", "workspace": "32", "chart_gpus": "8", "chart_recompute": "full",
}

VERSIONS = {"1": VERSION_1, "2": VERSION_2, "3": VERSION_3, "4": VERSION_4}

# What stands for the parameters that a version did not know, in a link that names nothing which would bring another. All
# of them are what was counted when there was no such parameter.
STANDS_IN = {
    "1": {key: value for key, value in VERSION_3.items() if key not in VERSION_1},
    "2": {key: value for key, value in VERSION_3.items() if key not in VERSION_2},
    "3": {},
}


def code_before_3(pairs):
    """What was counted until version 3 for some of what a link names: adapters in the type that is computed in, experts
    beside them as linear layers, and all of GPT-2's code for a GELU that is spelt out."""
    means = {}
    if pairs.get("adapter", "none").lower() != "none":
        means |= {"adapter_type": "16", "expert_matrices": "linear"}
    if pairs.get("mlp") == "gelu-tanh" and pairs.get("model") not in MODELS:
        means |= {"qkv": "packed", "softmax": "scores"}
    return means


def changed(pairs, means):
    """The parameters that say what was counted before, where a link does not and another number is counted today."""
    ledger = means["method"] == "ledger" and means.get("adapter", "none") != "none"
    says = []
    if ledger and int(pairs["v"]) < 3 and "adapter_type" not in pairs and means["precision"] != "fp32":
        says.append("adapter_type")
    if ledger and int(pairs["v"]) < 3 and int(means["experts"]) > 0 and "expert_matrices" not in pairs:
        says.append("expert_matrices")
    return says


# --- Rows of the catalogue that the links below name --------------------------------------------------

GPT = {
    "tied": "on", "mlp": "gelu", "norm": "layernorm", "norms": "2", "qk_norm": "off", "bias": "all",
    "softcap": "off", "position": "none", "positions": "0", "experts": "0", "active": "1",
    "expert_ffn": "0", "shared_ffn": "0", "dense_layers": "0", "q_rank": "0", "kv_rank": "0", "rope_dim": "0",
}
LLAMA = GPT | {"tied": "off", "mlp": "gated", "norm": "rmsnorm", "bias": "none", "position": "rotary"}


def preset(billions, hidden, layers, heads):
    """A preset of the workshop, which names N, H, L and n: a GPT block with k = n, f = 4H, V = 32,000."""
    return shape(billions, hidden, layers, heads, heads, hidden // heads, 4 * hidden, 32_000) | GPT


def shape(params, hidden, layers, heads, kv, head_dim, ffn, vocab):
    names = ("params", "hidden", "layers", "heads", "kv", "head_dim", "ffn", "vocab")
    return dict(zip(names, map(str, (params, hidden, layers, heads, kv, head_dim, ffn, vocab))))


MODELS = {
    # The workshop's calculator.
    "1b": preset("1", 2048, 24, 16),
    "3b": preset("3", 3200, 26, 32),
    "7b": preset("7", 4096, 32, 32),
    "13b": preset("13", 5120, 40, 40),
    "70b": preset("70", 8192, 80, 64),
    # config.json and the number of elements in the released checkpoint of each.
    "gpt2": shape("0.124439808", 768, 12, 12, 12, 64, 3072, 50257)
    | GPT | {"mlp": "gelu-tanh", "position": "learned", "positions": "1024"},
    "llama-2-7b": shape("6.738415616", 4096, 32, 32, 32, 128, 11008, 32000) | LLAMA,
    "llama-3.1-8b": shape("8.030261248", 4096, 32, 32, 8, 128, 14336, 128256) | LLAMA,
    "llama-3.1-70b": shape("70.553706496", 8192, 80, 64, 8, 128, 28672, 128256) | LLAMA,
    # Version 0.3, whose vocabulary has 32,768 entries.
    "mistral-7b": shape("7.248023552", 4096, 32, 32, 8, 128, 14336, 32768) | LLAMA,
    "mixtral-8x7b": shape("46.702792704", 4096, 32, 32, 8, 128, 14336, 32000)
    | LLAMA | {"experts": "8", "active": "2"},
    "qwen3-8b": shape("8.19073536", 4096, 36, 32, 8, 128, 12288, 151936) | LLAMA | {"qk_norm": "head"},
    "gemma-2-9b": shape("9.241705984", 3584, 42, 16, 8, 256, 14336, 256000)
    | LLAMA | {"tied": "on", "norm": "rmsnorm-fp32", "norms": "4", "softcap": "on"},
    # The language model of Qwen2.5 7B, and a tower of 32 layers.
    "qwen2.5-vl-7b": shape("8.292166656", 3584, 28, 28, 4, 128, 18944, 152064)
    | LLAMA | {"bias": "qkv", "vision": "qwen2.5-vl", "vision_layers": "32", "vision_hidden": "1280", "vision_heads": "16",
               "vision_ffn": "3420", "patch": "14"},
    "deepseek-v2-lite": shape("15.706484224", 2048, 27, 16, 16, 128, 10944, 102400)
    | LLAMA | {"experts": "64", "active": "6", "expert_ffn": "1408", "shared_ffn": "2816",
               "dense_layers": "1", "kv_rank": "512", "rope_dim": "64"},
}

# What a model brings with it since version 4 began with another one.
OF_A_MODEL = [*GPT, "parallel", "qkv", "softmax", "recompute", "dropout", "vision", "vision_layers", "vision_hidden",
              "vision_heads", "vision_ffn", "patch"]

# What version 3 says of a model beside its shape, where it is not the default of that version. Models of a
# billion parameters and more are trained with whole layers recomputed, smaller ones without; the presets of the
# workshop selectively.
LARGE = {"recompute": "full", "dropout": "off"}
SINCE_3 = {
    "gpt2": {"recompute": "none", "qkv": "packed", "softmax": "scores"},
} | {
    model: LARGE
    for model in ("llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "mistral-7b", "mixtral-8x7b", "qwen3-8b",
                  "gemma-2-9b", "deepseek-v2-lite", "qwen2.5-vl-7b")
}
# MiB that cuBLAS takes for its workspace on Hopper; 8 before.
WORKSPACES = {"h100-80": "32", "h200": "32"}

# Total MiB as nvidia-smi prints it, and MiB that a CUDA program sees; MI300X as rocm-smi has it.
DEVICES = {
    "a100-80": (81_920, 81_049),
    "h100-80": (81_559, 81_106),
    "h200": (143_771, 143_072),
    "mi300x": (196_592, 196_592),
    "t4": (15_360, 14_909),
    "l4": (23_034, 22_478),
    "rtx-3090": (24_576, 24_154),
    "rtx-4090": (24_564, 24_210),
}

# --- The links ----------------------------------------------------------------------------------------

# Each with the parameters in it that cannot be used and are named to the reader.
LINKS = [
    # Version 1: the numbers that the workshop prints.
    ("v=1", []),
    ("v=1&recompute=none", []),
    ("v=1&recompute=full", []),
    ("v=1&model=1b&gpus=1&recompute=none", []),
    ("v=1&model=1b&gpus=1", []),
    ("v=1&model=1b&gpus=1&recompute=full", []),
    ("v=1&model=3b&gpus=1&recompute=none", []),
    ("v=1&model=3b&gpus=1", []),
    ("v=1&model=3b&gpus=1&recompute=full", []),
    ("v=1&gpus=1", []),
    ("v=1&model=13b&gpus=64&recompute=none", []),
    ("v=1&model=13b&gpus=64", []),
    ("v=1&model=13b&gpus=64&recompute=full", []),
    ("v=1&model=70b&gpus=64&recompute=none", []),
    ("v=1&model=70b&gpus=64", []),
    ("v=1&model=70b&gpus=64&recompute=full", []),
    # Version 1: the paper's method, and what only it reads.
    ("v=1&method=paper&recompute=none", []),
    ("v=1&method=paper", []),
    ("v=1&method=paper&recompute=full", []),
    ("v=1&model=1b&gpus=1&method=paper&recompute=none", []),
    ("v=1&model=1b&gpus=1&method=paper", []),
    ("v=1&method=paper&precision=fp32&tp=4&s=512", []),
    ("v=1&model=70b&gpus=64&tp=8&method=paper&dropout=off&zero=1&recompute=none", []),
    ("v=1&model=13b&gpus=16&tp=4&sp=on&zero=2&method=paper&precision=fp16", []),
    # Version 1: published models on other devices, and every other parameter.
    ("v=1&model=llama-3.1-8b&gpu=h100-80&s=8192", []),
    ("v=1&model=llama-2-7b&gpu=rtx-4090&gpus=16&recompute=full&b=1", []),
    ("v=1&model=gpt2&gpu=t4&gpus=1&s=1024&recompute=none", []),
    ("v=1&model=mistral-7b&gpu=h200&zero=0&headroom=7.5", []),
    ("v=1&model=gemma-2-9b&gpu=mi300x&target=4000000&unit=tokens&chart_gpus=8&chart_recompute=selective", []),
    ("v=1&params=6.7&hidden=4096&layers=30&heads=32&kv=8&head_dim=128&ffn=11008&vocab=50304&mlp=gated&tied=off", []),
    ("v=1&mem=141&headroom=0&s=4,096&gpus=1+024", []),
    ("recompute=full&s=4%20096&gpus=16&model=13b&v=1&method=PAPER", []),
    ("v=1&s=1024&s=4096&gpus=4", ["s"]),
    ("v=1&s=-5&recompute=some&colour=red&gpus=64", ["s", "recompute", "colour"]),
    # Version 2.
    ("v=2", []),
    ("v=2&gpus=64", []),
    ("v=2&model=13b&gpus=64&method=workshop", []),
    ("v=2&model=llama-3.1-8b&gpu=h100-80&s=8192&recompute=full", []),
    ("v=2&model=llama-3.1-8b&gpu=h100-80&s=8192&b=1&gpus=16&headroom=7.5&method=paper&recompute=none", []),
    ("v=2&model=llama-3.1-8b&gpu=h100-80&s=8192&b=1&precision=mixed&recompute=full", []),
    ("v=2&model=70b&gpus=64&recompute=full&method=workshop&target=1,024&chart_gpus=16&chart_recompute=none", []),
    ("v=2&model=llama-3.1-70b&gpu=h200&gpus=64&tp=8&sp=on&zero=1&recompute=full&dropout=off&accum=8&grad=32", []),
    ("v=2&model=llama-3.1-70b&gpu=h100-80&s=131072&gpus=256&tp=8&pp=4&cp=4&recompute=every-k&every=5", []),
    ("v=2&model=mixtral-8x7b&gpu=h100-80&s=4096&gpus=64&ep=8&recompute=ops&kernels=fused&loss=chunked&chunks=16", []),
    ("v=2&model=deepseek-v2-lite&gpu=h100-80&gpus=8&s=4096&optimizer=muon&step=foreach&attn=eager", []),
    ("v=2&model=qwen3-8b&gpu=rtx-4090&gpus=1&adapter=qlora&rank=64&targets=qv&loss=fused&zero=0", []),
    ("v=2&model=gemma-2-9b&gpu=l4&gpus=4&precision=bf16-pure&optimizer=adam8bit&offload=optimizer", []),
    ("v=2&gpu=rtx-3090&gpus=1&model=gpt2&zero=0&recompute=none&dropout=off&precision=autocast&step=loop", []),
    ("v=2&model=own&params=1.25&hidden=2048&layers=20&heads=16&kv=4&head_dim=128&ffn=5504&vocab=65536&norms=3"
     "&positions=2048&mlp=gated&tied=off&norm=rmsnorm&qk_norm=full&bias=qkv&softcap=on&position=learned", []),
    ("v=2&model=own&experts=16&active=4&expert_ffn=1024&shared_ffn=2048&dense_layers=2&q_rank=768&kv_rank=256"
     "&rope_dim=32&unit=tokens&target=2_000_000", []),
    ("v=2&mem=79.15&driver=0.5&context=0.75&comm=1.5&frag=7.25&headroom=0", []),
    ("v=2&mem=80%20GiB&frag=2.5%25&s=2%2C048&precision=FP16&gpus=1%C2%A0024", []),
    ("target=512&v=2&hidden=5120&layers=40&gpu=h200&model=13b&heads=40", []),
    # Words that came later: what was counted without them, and what a link says that has them all the same.
    ("v=2&model=mixtral-8x7b&gpu=h200&gpus=1&adapter=qlora&zero=0", []),
    ("v=2&model=deepseek-v2-lite&gpu=h100-80&gpus=8&adapter=LoRA&rank=32&s=4096", []),
    ("v=2&model=mixtral-8x7b&gpu=h200&gpus=1&adapter=qlora&zero=0&adapter_type=32&expert_matrices=stacked", []),
    ("v=2&model=mixtral-8x7b&gpu=h200&gpus=64&adapter=lora&precision=fp32", []),
    ("v=2&model=mixtral-8x7b&gpu=h200&gpus=8&adapter=lora&method=paper", []),
    ("v=2&model=mixtral-8x7b&gpu=h200&gpus=64&adapter=none", []),
    ("v=2&mlp=gelu-tanh&norms=2&s=1024", []),
    ("v=2&model=own&hidden=1280&layers=36&heads=20&kv=20&head_dim=64&ffn=5120&mlp=gelu-tanh", []),
    ("v=2&model=own&hidden=1280&layers=36&heads=20&kv=20&head_dim=64&ffn=5120&mlp=gelu-tanh&qkv=separate", []),
    ("v=2&gpus=16&gpus=4&gpus=2&%3Cb%3Ebold=1&zero=7&s=%EF%BC%91%EF%BC%92", ["gpus", "<b>bold", "zero", "s"]),
    # Version 3.
    ("v=3", []),
    ("v=3&model=70b&gpus=64&recompute=full&method=workshop", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&s=8192", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=1&method=paper&recompute=none&dropout=on", []),
    ("v=3&model=gpt2&gpu=rtx-3090&gpus=1&zero=0&s=1024&precision=autocast", []),
    ("v=3&model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&sp=on&zero=1&pp=4&vpp=5&accum=16&engine=megatron"
     "&recompute=block&recompute_layers=5&loss=vocab-parallel", []),
    ("v=3&model=llama-3.1-70b&gpu=h200&gpus=32&pp=4&pp_first=18&pp_last=18&zero=1&accum=32&recompute=kth-layer"
     "&every=2&engine=torchtitan", []),
    ("v=3&model=llama-2-7b&gpus=8&zero=2&engine=deepspeed&bucket=200", []),
    ("v=3&model=mixtral-8x7b&gpu=h200&gpus=64&ep=8&imbalance=1.5&reshard=8", []),
    ("v=3&model=qwen3-8b&gpu=rtx-4090&gpus=1&zero=0&adapter=qlora&adapter_type=16&adapter_dropout=on"
     "&unquantized=32&targets=qv&rank=8", []),
    ("v=3&model=mixtral-8x7b&gpu=h200&gpus=1&zero=0&adapter=qlora&expert_matrices=linear&targets=attention", []),
    ("v=3&model=mixtral-8x7b&gpu=h200&gpus=1&zero=0&adapter=qlora", []),
    ("v=3&model=mixtral-8x7b&gpu=h200&gpus=1&zero=0&adapter=qlora&expert_matrices=stacked", []),
    ("v=3&model=mistral-7b&gpus=4&segments=expandable&logits=kept", []),
    ("v=3&model=mistral-7b&gpus=4&segments=expandable&frag=9&logits=kept-fp32&workspace=0", []),
    ("v=3&model=own&hidden=2560&layers=32&heads=32&kv=32&head_dim=80&ffn=10240&vocab=50304&parallel=on&qkv=packed"
     "&softmax=scores&position=rotary-part&mlp=gelu&norm=layernorm", []),
    ("v=3&model=gemma-2-9b&gpu=l4&gpus=4&optimizer=adam8bit&loss=chunked-head&chunks=32", []),
    ("v=3&model=deepseek-v2-lite&gpu=h100-80&recompute=every-k&every=3&attn=eager", []),
    ("v=3&model=13b&gpus=16&chart_gpus=8&chart_recompute=none&chart_axis=memory", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&s=1024&b=2&task=dpo&ref=sharded&frozen=16", []),
    ("v=3&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&adapter=qlora&task=dpo&ref=adapter", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&task=grpo&ref=none&rollout=asleep&engine_share=40&completion=1024"
     "&generations=64&score_b=8", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&gpus=16&task=ppo&ref=offloaded&reward=offloaded&completion=256", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&task=distil&teacher=70&ref=sharded", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&task=reward&b=4", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&s=1024&eval=logits&eval_b=2&eval_n=16&eval_steps=4&eval_generate=on"
     "&eval_tokens=64", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&s=1024&gather=gpu&gather_states=all&load=gpu&resume=init&save=async", []),
    ("v=3&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&s=1024&adapter=qlora&merge=safe&eval=loss", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&lengths=padded&len_median=300&len_p95=1200&len_max=1900&len_multiple=64", []),
    ("v=3&model=qwen3-8b&gpu=rtx-4090&gpus=4&lengths=bucketed&len_attn=varlen", []),
    ("v=3&model=gpt2&gpu=rtx-3090&gpus=1&zero=0&lengths=flattened&len_max=700&len_p95=600", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&lengths=packed&s=8192", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&gpus=16&engine=megatron&zero=1&grad=32&kernels=fused&fp8=te-current", []),
    ("v=3&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&precision=bf16-pure&optimizer=galore-8bit&opt_rank=1024"
     "&step=in-backward&s=256", []),
    ("v=3&model=llama-3.1-8b&gpu=h100-80&gpus=1&zero=0&optimizer=shampoo&precond_dim=512", []),
    ("v=3&model=llama-3.1-70b&gpu=h100-80&precision=mixed&offload=parameters&ram=1024&node_gpus=4&host_load=rank0", []),
    ("v=3&model=qwen2.5-vl-7b&gpu=h100-80&s=4096&images=2&image_h=720&image_w=1280&max_pixels=1003520&tower=trained", []),
    ("v=3&model=qwen2.5-vl-7b&gpus=1&zero=0&adapter=lora&tower=adapters&projector=frozen", []),
    ("v=3&vision=llama4&vision_layers=34&vision_hidden=1408&vision_heads=16&vision_ffn=5632&patch=14&image_side=336"
     "&tiles=4", []),
    ("v=3&model=own&hidden=768&layers=12&heads=12&kv=12&head_dim=64&ffn=3072&vocab=51865&position=learned&positions=448"
     "&enc_layers=12&enc_positions=1500&mels=80&source=1024", []),
    ("v=3&model=own&hidden=768&layers=12&heads=12&kv=12&head_dim=64&ffn=3072&vocab=50265&position=learned&positions=514"
     "&pos_spare=2&s=512", []),
    ("v=3&s=4k&gpus=1e1&mem=40GB&target=1e3", ["mem"]),
    # Version 4: another beginning, and the largest micro-batch where none is named.
    ("v=4", []),
    ("v=4&b=4", []),
    ("v=4&s=8192&recompute=none", []),
    ("v=4&gpu=a100-80&gpus=1&recompute=selective&method=workshop", []),
    ("v=4&model=7b&gpu=a100-80&method=workshop", []),
    ("v=4&model=13b&gpus=64&method=paper", []),
    ("v=4&model=70b&gpu=a100-80&gpus=64&recompute=full&b=2&method=workshop", []),
    ("v=4&model=gpt2&gpu=rtx-3090&gpus=1&zero=0&precision=autocast", []),
    ("v=4&model=gpt2&s=512&gpus=2&b=8", []),
    ("v=4&model=qwen3-8b&gpu=rtx-4090&gpus=1&zero=0&adapter=qlora&rank=64", []),
    ("v=4&gpu=rtx-4090&s=1024&gpus=1&adapter=lora&zero=0", []),
    ("v=4&model=mixtral-8x7b&gpu=h200&gpus=64&ep=8", []),
    ("v=4&model=own&params=7&kv=32&ffn=16384&vocab=32000&mlp=gelu&norm=layernorm&bias=all&position=none", []),
    ("v=4&model=deepseek-v2-lite&attn=eager&chart_gpus=64&chart_axis=memory", []),
    ("v=4&model=llama-3.1-70b&gpus=64&tp=8&sp=on&zero=1&engine=megatron", []),
    ("v=4&model=qwen2.5-vl-7b&s=4096&images=2&tower=trained", []),
    ("v=4&mem=40GB&gpus=0&s=4k", ["mem", "gpus"]),
    ("v=3&model=llama-3.1-8b&gpu=h100&precision=fp8&gpus=0", ["gpu", "precision", "gpus"]),
]

# --- Reading ------------------------------------------------------------------------------------------

UNITS = {"s": "tokens", "len_median": "tokens", "len_p95": "tokens", "len_max": "tokens", "len_multiple": "tokens", "b": "sequences", "params": "billion", "mem": "GiB", "driver": "GiB",
         "context": "GiB", "comm": "GiB", "headroom": "%", "frag": "%"}
WORDS = {"method", "mlp", "tied", "norm", "qk_norm", "bias", "softcap", "position", "precision", "grad",
         "optimizer", "step", "recompute", "dropout", "attn", "loss", "kernels", "offload", "adapter",
         "targets", "zero", "sp", "unit", "chart_recompute", "parallel", "qkv", "softmax", "engine", "logits",
         "adapter_type", "adapter_dropout", "expert_matrices", "unquantized", "segments", "chart_axis", "task", "ref", "frozen", "reward", "rollout",
         "eval", "eval_generate", "gather", "gather_states", "save", "load", "resume", "merge", "lengths", "len_attn",
         "fp8", "host_load",
         "vision", "tower", "projector"}


def nearest(value, step):
    """The multiple of `step` next to a value; halves go up."""
    return (value / step + Fraction(1, 2)).__floor__() * step


def number(key, text):
    text = text.strip()
    unit = UNITS.get(key, "")
    if unit and text.lower().endswith(unit.lower()):
        text = text[: -len(unit)]
    # GPUs are named in GB and have that many GiB; contexts are counted in powers of 1,024.
    if key == "mem" and text.endswith("GB"):
        text = text[:-2]
    if key in ("s", "positions") and text.endswith("k"):
        return decimal(Fraction(text[:-1]) * 1024)
    value = Fraction("".join(c for c in text if not c.isspace() and c not in ",_'"))
    # Memory is counted in whole MiB, parameters one by one, the rest of the real numbers in hundredths.
    if key in ("mem", "driver"):
        value = nearest(value, Fraction(1, 1024))
    elif key == "params":
        value = nearest(value, Fraction(1, 10**9))
    elif key in ("headroom", "context", "comm", "frag"):
        value = nearest(value, Fraction(1, 100))
    return decimal(value)


def decimal(value):
    """An exact decimal fraction as text."""
    places = next(places for places in range(20) if (value * 10**places).denominator == 1)
    digits = f"{value * 10**places}".rjust(places + 1, "0")
    return digits if not places else f"{digits[:-places]}.{digits[-places:]}"


def meaning(link, refused):
    pairs = {}
    for key, value in parse_qsl(link, keep_blank_values=True, strict_parsing=True):
        pairs.setdefault(key, value)
    # A repeated parameter is named, and its first value counts; so is memory in GB, which is read as GiB.
    unusable = [key for key in refused if link.split("&").count(f"{key}={pairs[key]}") == 0
                or sum(part.startswith(f"{key}=") for part in link.split("&")) < 2]
    unusable = [key for key in unusable if not pairs[key].endswith("GB")]
    defaults = VERSIONS[pairs["v"]]
    means = dict(defaults)
    if int(pairs["v"]) < 3:
        means |= code_before_3(pairs)
    if "model" in pairs:
        row = MODELS.get(pairs["model"], {})
        if pairs["v"] in ("3", "4"):
            row = row | SINCE_3.get(pairs["model"], {})
        if pairs["v"] == "4" and pairs["model"] in MODELS:
            # Rows leave out what is as in version 3, and sequences are no longer than a table of positions.
            row = {key: VERSION_3[key] for key in OF_A_MODEL} | row
            if row["positions"] != "0":
                row["s"] = row["positions"]
        means |= {key: value for key, value in row.items() if key in defaults}
        means["model"] = pairs["model"]
    if pairs.get("segments") == "expandable":
        means["frag"] = "2"
    if "gpu" in pairs and "gpu" not in unusable:
        total, visible = DEVICES[pairs["gpu"]]
        device = {"mem": decimal(Fraction(total, 1024)), "driver": decimal(Fraction(total - visible, 1024)),
                  "workspace": WORKSPACES.get(pairs["gpu"], "8")}
        means |= {key: value for key, value in device.items() if key in defaults}
        means["gpu"] = pairs["gpu"]
    for key, value in pairs.items():
        if key in ("v", "model", "gpu") or key in unusable:
            continue
        means[key] = value.strip().lower() if key in WORDS else number(key, value)
    if pairs["v"] == "4":
        # The chart's references are like the scenario itself.
        for key, like in (("chart_gpus", "gpus"), ("chart_recompute", "recompute")):
            if key not in pairs or key in unusable:
                means[key] = means[like]
    return defaults, means, changed(pairs, means)


# --- The two methods that never change ----------------------------------------------------------------

LARGEST = 1_048_576


def largest(usable, fixed, one):
    """b_max, or that nothing fits."""
    exact = (usable - fixed) / one
    # Where the two sides almost meet, rounding in a program may go either way.
    assert abs(exact - round(exact)) > Fraction(1, 10**6), float(exact)
    return min(exact.__floor__(), LARGEST) if exact >= 1 else "does not fit"


def common(means):
    value = {key: Fraction(means[key]) for key in ("params", "mem", "headroom", "layers", "hidden", "heads", "s", "gpus", "tp")}
    usable = value["mem"] * 2**30 * (1 - value["headroom"] / 100)
    return value, value["params"] * 10**9, usable


def workshop(means):
    """Method 1: 16·N/D bytes of states; L·(34·S·H + 5·n·S²)·β of activations."""
    value, n, usable = common(means)
    beta = 4 if means["precision"] == "fp32" else 2
    s, h = value["s"], value["hidden"]
    layer = {
        "none": 34 * s * h + 5 * value["heads"] * s**2,
        "selective": 34 * s * h,
        "full": s * h,
    }[means["recompute"]]
    return largest(usable, 16 * n / value["gpus"], value["layers"] * layer * beta)


def paper(means):
    """Method 2: Korthikanti et al. 2022, table 2, and Rajbhandari et al. 2020, figure 1."""
    value, n, usable = common(means)
    s, h, a, t = value["s"], value["hidden"], value["heads"], value["tp"]
    single = means["precision"] == "fp32"
    dropout = means["dropout"] == "on"
    # Bytes per element of s·b·h. The masks of dropout take one byte each: two on the residual path, one
    # for the scores, where dropout also keeps its output beside the softmax.
    element = 4 if single else 2
    whole = 4 * element + (2 if dropout else 0)
    split = 12 * element
    scores = (2 * element + 1 if dropout else element) * a * s / h
    assert not dropout or (whole + split, scores * h / (a * s)) == ((66, 9) if single else (34, 5))
    if t > 1 and means["sp"] == "on":
        linear, boundary = (whole + split) / t, element / t
    else:
        linear, boundary = whole + split / t, Fraction(element)
    layer = {"none": linear + scores / t, "selective": linear, "full": boundary}[means["recompute"]]
    weights, gradients, states = (4, 4, 8) if single else (2, 2, 12)
    d = max(value["gpus"] // t, 1)
    stage = int(means["zero"])
    fixed = n / t * (
        Fraction(weights, d if stage >= 3 else 1)
        + Fraction(gradients, d if stage >= 2 else 1)
        + Fraction(states, d if stage >= 1 else 1)
    )
    return largest(usable, fixed, value["layers"] * s * h * layer)


def is_of_both(means):
    """Whether the sources of the two methods say what they answer to this."""
    return (
        means["precision"] in ("bf16", "fp16", "fp32")
        and means["recompute"] in ("none", "selective", "full")
        and means.get("pp", "1") == means.get("cp", "1") == "1"
        and means.get("task", "train") == "train"
        and means.get("lengths", "equal") == "equal"
        and means.get("enc_layers", "0") == "0"
    )


# What the workshop prints for its presets without, with selective and with full recomputation.
PRINTED = {("1b", "1"): (2, 8, 304), ("3b", "1"): (0, 2, 86), ("7b", "8"): (1, 3, 117),
           ("13b", "64"): (0, 2, 88), ("70b", "64"): (0, 0, 22)}


def check_against_print():
    for (model, gpus), row in PRINTED.items():
        for recompute, expected in zip(("none", "selective", "full"), row):
            _, means, _ = meaning(f"v=1&model={model}&gpus={gpus}&recompute={recompute}", [])
            assert workshop(means) == (expected or "does not fit"), (model, recompute)
    for model, gpus, row in (("1b", "1", (5, 17, 304)), ("7b", "8", (2, 6, 117))):
        for recompute, expected in zip(("none", "selective", "full"), row):
            _, means, _ = meaning(f"v=1&model={model}&gpus={gpus}&recompute={recompute}", [])
            assert paper(means) == expected, (model, recompute)


def main():
    check_against_print()
    links = []
    for link, refused in LINKS:
        defaults, means, says = meaning(link, refused)
        entry = {"link": link, "differs": {key: value for key, value in means.items() if value != defaults.get(key)}}
        if says:
            entry["changed"] = says
        if refused:
            entry["named"] = refused
        if is_of_both(means):
            entry |= {"workshop": workshop(means), "paper": paper(means)}
        links.append(entry)
    # One line for each version and each link.
    lines = [f'"{version}": {json.dumps(means)}' for version, means in VERSIONS.items()]
    stands_in = [f'"{version}": {json.dumps(means)}' for version, means in STANDS_IN.items()]
    lines.append('"stands_in": {\n' + ",\n".join(stands_in) + "\n}")
    rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in links)
    sys.stdout.write("{\n" + ",\n".join(lines) + ',\n"links": [\n' + rows + "\n]\n}\n")


if __name__ == "__main__":
    main()
