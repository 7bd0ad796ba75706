#!/usr/bin/env python3
"""Measures the peak memory of real training steps and writes it beside the prediction.

Each run is a process of its own, so that nothing one run cached is counted in the next: a Hugging Face
model class built from a local configuration with random weights, two optimizer steps on random tokens,
and the counters of PyTorch's caching allocator. On a machine without a GPU it runs the same steps with a
tiny model, to show that the script works; there is nothing to measure then and the counters are null.

    python3 tools/measure_peak.py --grid --bmax target/release/bmax --out peaks.json
    python3 tools/measure_peak.py --model tests/config_files/gpt2.json --batch 8 --sequence 1024
    python3 tools/measure_peak.py --self-test

It needs torch and transformers, for adapters peft, for 8-bit and 4-bit weights and states bitsandbytes,
and downloads nothing. Each result carries the scenario as the query of a link, so that
`make accuracy CASES=peaks.json` reads it. The committed results in tests/vectors/cuda.json were made by
this script on a GPU that computes nothing: tools/nullcuda says what that is.
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

import recipes

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATIONS = ROOT / "tests" / "config_files"

BOTH = [False, True]
# What a run varies. Sizes are those of the published models; every combination of a row is run.
GRID = [
    # Decoders in full, by precision, kernel and recomputation.
    {"model": ["gpt2"], "batch": [4, 16], "sequence": [1024], "precision": ["fp32", "amp", "bf16"], "ckpt": BOTH},
    {"model": ["gpt2"], "batch": [8], "sequence": [1024], "precision": ["fp32", "amp", "bf16"], "attn": ["eager"], "ckpt": BOTH},
    {"model": ["gpt2"], "batch": [8], "sequence": [1024], "precision": ["amp"], "attn": ["flash", "eager"], "dropout": [0.1]},
    {"model": ["phi-1.5"], "batch": [2], "sequence": [2048], "precision": ["amp", "bf16"], "attn": ["flash", "eager"], "ckpt": BOTH},
    {"model": ["gpt-j-6b"], "batch": [1], "sequence": [1024], "precision": ["amp", "bf16"], "attn": ["eager"]},
    {"model": ["tinyllama-1.1b"], "batch": [1, 4], "sequence": [2048], "precision": ["fp32", "amp", "bf16"], "ckpt": BOTH},
    {"model": ["tinyllama-1.1b"], "batch": [2], "sequence": [2048], "precision": ["fp32", "amp", "bf16"], "attn": ["eager"], "ckpt": BOTH},
    {"model": ["llama-3.2-1b"], "batch": [1, 2], "sequence": [2048, 8192], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["llama-3.1-8b"], "batch": [1], "sequence": [2048, 8192], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["qwen2.5-0.5b"], "batch": [1, 4], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["qwen3-8b"], "batch": [1], "sequence": [4096], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["mistral-7b"], "batch": [2], "sequence": [4096], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["gemma-2-9b"], "batch": [1], "sequence": [2048], "precision": ["amp", "bf16"], "attn": ["eager"], "ckpt": BOTH},
    {"model": ["pythia-1.4b"], "batch": [1, 4], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": BOTH},
    {"model": ["pythia-1.4b"], "batch": [2], "sequence": [1024], "precision": ["amp", "bf16"], "attn": ["eager"]},
    {"model": ["opt-1.3b"], "batch": [2], "sequence": [2048], "precision": ["fp32", "amp", "bf16"], "ckpt": BOTH},
    {"model": ["falcon-7b"], "batch": [1], "sequence": [2048], "precision": ["amp", "bf16"], "attn": ["flash", "eager"]},
    {"model": ["starcoder2-7b"], "batch": [1], "sequence": [2048], "precision": ["amp", "bf16"]},
    {"model": ["mpt-7b"], "batch": [1], "sequence": [2048], "precision": ["bf16"], "attn": ["eager"]},
    {"model": ["olmo-2-7b"], "batch": [1], "sequence": [2048], "precision": ["amp", "bf16"]},
    # Encoders, with the head that predicts masked words and with one for whole sequences.
    {"model": ["bert-base"], "batch": [64], "sequence": [256, 512], "precision": ["fp32", "amp", "bf16"], "loss": ["classifier", "masked-lm"]},
    {"model": ["bert-base"], "batch": [16], "sequence": [512], "precision": ["fp32", "amp"], "attn": ["eager"], "loss": ["classifier"], "dropout": [0.0, 0.1]},
    {"model": ["roberta-base"], "batch": [64], "sequence": [512], "precision": ["fp32", "amp"], "ckpt": BOTH, "loss": ["classifier"]},
    # Optimizers, their steps, accumulation, and an output that is kept.
    {"model": ["gpt2"], "batch": [8], "sequence": [1024], "precision": ["fp32"], "optimizer": ["sgd", "momentum", "adamw-foreach", "adamw-loop", "adafactor", "adafactor-torch", "adam8bit"]},
    {"model": ["llama-3.1-8b"], "batch": [1], "sequence": [1024], "precision": ["bf16", "amp"], "ckpt": [True], "optimizer": ["adamw", "adamw-foreach", "adamw-loop", "adafactor", "adafactor-torch", "adam8bit"]},
    {"model": ["tinyllama-1.1b"], "batch": [2], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": BOTH, "accum": [4]},
    {"model": ["tinyllama-1.1b"], "batch": [4], "sequence": [2048], "precision": ["amp", "bf16"], "logits": ["kept"]},
    # Adapters: on 16-bit and fp32 bases, on queries and values or on every matrix.
    {
        "model": ["llama-2-7b", "llama-3.1-8b", "qwen2.5-7b", "mistral-7b", "gemma-7b"],
        "batch": [2], "sequence": [1024], "precision": ["amp", "bf16"], "ckpt": BOTH,
        "base": ["bf16"], "targets": ["qv", "all"], "rank": [16],
    },
    {"model": ["tinyllama-1.1b"], "batch": [4], "sequence": [2048], "precision": ["fp32", "amp"], "ckpt": BOTH, "base": ["fp32"], "targets": ["qv", "all"], "rank": [8]},
    {"model": ["phi-1.5", "pythia-1.4b", "gpt2"], "batch": [4], "sequence": [1024], "precision": ["amp", "bf16"], "base": ["bf16"], "targets": ["all"], "rank": [64]},
    {"model": ["llama-3.1-8b"], "batch": [1], "sequence": [4096], "precision": ["amp"], "ckpt": BOTH, "base": ["bf16"], "targets": ["attention"], "rank": [32], "attn": ["flash", "eager"]},
    {"model": ["llama-2-7b", "llama-3.1-8b", "qwen2.5-7b"], "batch": [1, 4], "sequence": [512, 2048], "precision": ["amp", "bf16"], "ckpt": BOTH, "base": ["nf4"], "targets": ["all"], "rank": [64]},
    {"model": ["llama-3.1-8b"], "batch": [2], "sequence": [1024], "precision": ["amp"], "ckpt": BOTH, "base": ["nf4"], "targets": ["qv"], "rank": [16], "optimizer": ["adamw", "adam8bit"]},
    # Adapters that drop parts of their inputs, and adapters in the type of the weights beside them.
    {"model": ["llama-3.1-8b", "pythia-1.4b"], "batch": [2], "sequence": [1024], "precision": ["amp", "bf16"], "ckpt": BOTH, "base": ["bf16"], "targets": ["qv", "all"], "rank": [16], "adapter_dropout": [0.05]},
    {"model": ["llama-3.1-8b"], "batch": [2], "sequence": [1024], "precision": ["amp", "bf16"], "base": ["bf16"], "targets": ["all"], "rank": [16], "adapter_type": [16], "adapter_dropout": [0.0, 0.05]},
    {"model": ["llama-3.1-8b"], "batch": [2], "sequence": [1024], "precision": ["amp"], "base": ["nf4"], "targets": ["all"], "rank": [16], "adapter_dropout": [0.05]},
    {"model": ["llama-2-7b", "llama-3.1-8b"], "batch": [2], "sequence": [2048], "precision": ["amp"], "ckpt": BOTH, "base": ["nf4"], "targets": ["qv", "all"], "rank": [16], "adapter_dropout": [0.0, 0.05], "unquantized": [32]},
    # Adapters beside experts, which transformers 5 holds in stacks: nothing quantizes those.
    {"model": ["mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite"], "batch": [2], "sequence": [1024], "precision": ["amp", "bf16"], "ckpt": BOTH, "base": ["bf16", "nf4"], "targets": ["attention", "all"], "rank": [16]},
    {"model": ["mixtral-8x7b"], "batch": [2], "sequence": [1024], "precision": ["amp"], "ckpt": BOTH, "base": ["int8"], "targets": ["all"], "rank": [16]},
    {"model": ["mixtral-8x7b"], "batch": [2], "sequence": [1024], "precision": ["amp"], "ckpt": BOTH, "base": ["nf4"], "targets": ["attention", "all"], "rank": [16], "unquantized": [32]},
    {"model": ["llama-33b", "llama-65b"], "batch": [1], "sequence": [512], "precision": ["amp"], "ckpt": [True], "base": ["nf4"], "targets": ["all"], "rank": [64]},
]

# Models that the catalogue does not list, in the words of a link.
OWN = {
    "gpt-j-6b": "hidden=4096&layers=28&heads=16&kv=16&head_dim=256&ffn=16384&vocab=50400&tied=off&mlp=gelu-tanh&norms=1&parallel=on&position=rotary-part",
    "opt-1.3b": "hidden=2048&layers=24&heads=32&kv=32&head_dim=64&ffn=8192&vocab=50272&mlp=relu&position=learned&positions=2050",
    "starcoder2-7b": "hidden=4608&layers=32&heads=36&kv=4&head_dim=128&ffn=18432&vocab=49152&position=rotary",
    "stablelm-2-1.6b": "hidden=2048&layers=24&heads=32&kv=32&head_dim=64&ffn=5632&vocab=100352&tied=off&mlp=gated&norm=layernorm&bias=qkv&position=rotary-part",
    "command-r-v01": "hidden=8192&layers=40&heads=64&kv=64&head_dim=128&ffn=22528&vocab=256000&tied=on&mlp=gated&norm=layernorm-fp32&norms=1&parallel=on&bias=none&position=rotary",
    "roberta-base": "hidden=768&layers=12&heads=12&kv=12&head_dim=64&ffn=3072&vocab=50265&softmax=scores&position=learned&positions=514&pos_spare=2",
}

# The scenario's words for what a run does, as the link and the command line take them.
PRECISION_WORDS = {"fp32": "fp32", "amp": "autocast", "bf16": "bf16-pure"}
OPTIMIZER_WORDS = {
    "adamw": ("adamw", "fused"),
    "adamw-foreach": ("adamw", "foreach"),
    "adamw-loop": ("adamw", "loop"),
    "adam8bit": ("adam8bit", "fused"),
    "adafactor": ("adafactor", "loop"),
    "adafactor-torch": ("adafactor-torch", "foreach"),
    "momentum": ("momentum", "foreach"),
    "sgd": ("sgd", "foreach"),
    **recipes.OPTIMIZERS,
}
LOSS_WORDS = {"causal": "plain", "classifier": "classifier", "masked-lm": "masked-lm"}
BASE_WORDS = {"": "none", "bf16": "lora", "fp32": "lora-fp32", "int8": "lora-8bit", "nf4": "qlora"}
DEFAULTS = {
    "attn": "flash", "precision": "bf16", "ckpt": False, "optimizer": "adamw", "dropout": 0.0, "accum": 1,
    "loss": "causal", "logits": "dropped", "base": "", "targets": "all", "rank": 16,
    "adapter_type": 32, "adapter_dropout": 0.0, "unquantized": 16, "segments": "fixed",
    # How many layers, where not those of the published model.
    "layers": 0,
    # Whether the quantized model bears the mark that loading leaves, by which peft takes its own layers for it.
    "loaded": False,
    # In elements of which type a 4-bit matrix is packed (`bnb_4bit_quant_storage`); FSDP wants that of all others.
    "storage": "uint8",
    # What takes the place of the loss of transformers, how many layers are computed again together, which layers alone are (every
    # k-th, or the first), whether layers are Liger's, and whether each weight is updated in the backward pass (tools/recipes.py).
    "head": "", "every": 0, "kth": 0, "first": 0, "liger": False, "in_backward": False, "opt_rank": 0,
}
# What a GPU that computes nothing is called (tools/nullcuda).
NOTHING = "computes nothing"

# Sizes of models that differ from a file of tests/config_files in numbers alone.
VARIANTS = {
    # The catalogue has version 0.3, whose attention has no window.
    "mistral-7b": ("mistral-7b.json", {"sliding_window": None, "vocab_size": 32768}),
    "llama-2-7b": ("llama-3.1-8b", {"num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000}),
    # The text model alone.
    "gemma-3-1b": ("gemma-7b.json", {"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144, "sliding_window": 512, "hidden_activation": "gelu_pytorch_tanh"}),
    "llama-33b": ("llama-3.1-8b", {"hidden_size": 6656, "num_hidden_layers": 60, "num_attention_heads": 52, "num_key_value_heads": 52, "intermediate_size": 17920, "vocab_size": 32000}),
    "llama-65b": ("llama-3.1-8b", {"hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 22016, "vocab_size": 32000}),
}

# The names that a family gives the matrices of attention and of the feed-forward block.
TARGETS = {
    "qv": ("q_proj", "v_proj", "query_key_value", "qkv_proj", "Wqkv", "c_attn"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj", "query_key_value", "dense", "c_attn", "c_proj"),
}


def runs_of_grid():
    """Every combination of every row of the grid."""
    for row in GRID:
        keys = list(row)
        for values in itertools.product(*row.values()):
            yield dict(zip(keys, values))


def complete(run):
    """A run with what it leaves unsaid."""
    return {**DEFAULTS, **run}


# What links call the fields of a configuration that a run may override.
FIELD_WORDS = {
    "hidden_size": "hidden", "num_hidden_layers": "layers", "num_attention_heads": "heads", "num_key_value_heads": "kv",
    "head_dim": "head_dim", "intermediate_size": "ffn", "vocab_size": "vocab", "tie_word_embeddings": "tied",
}


def question_of(run):
    """The scenario of a run as the query of a link."""
    optimizer, step = OPTIMIZER_WORDS[run["optimizer"]]
    scenario = {
        "v": 3,
        "model": run["model"],
        "gpus": 1,
        "zero": 0,
        "b": run["batch"],
        "s": run["sequence"],
        "attn": run["attn"],
        "precision": PRECISION_WORDS[run["precision"]],
        "recompute": "full" if run["ckpt"] else "none",
        "optimizer": optimizer,
        "step": step,
        "dropout": "on" if run["dropout"] else "off",
        "accum": run["accum"],
        "loss": run["head"] or LOSS_WORDS[run["loss"]],
        "logits": run["logits"],
        "segments": run["segments"],
    }
    if run["model"] in OWN:
        scenario |= {"model": "own", **dict(urllib.parse.parse_qsl(OWN[run["model"]]))}
    if run["layers"]:
        scenario["layers"] = run["layers"]
    if run["every"]:
        scenario |= {"recompute": "every-k", "every": run["every"]}
    if run["kth"]:
        scenario |= {"recompute": "kth-layer", "every": run["kth"]}
    if run["first"]:
        scenario |= {"recompute": "block", "recompute_layers": run["first"]}
    if run["liger"]:
        scenario["kernels"] = "fused"
    if run["opt_rank"]:
        scenario["opt_rank"] = run["opt_rank"]
    if run["in_backward"]:
        scenario["step"] = "in-backward"
    for field, value in run.get("override", {}).items():
        scenario[FIELD_WORDS[field]] = ("on" if value else "off") if isinstance(value, bool) else value
    if run["base"]:
        scenario |= {"adapter": BASE_WORDS[run["base"]], "targets": run["targets"], "rank": run["rank"]}
        scenario |= {"adapter_type": run["adapter_type"], "adapter_dropout": "on" if run["adapter_dropout"] else "off"}
        scenario |= {"unquantized": run["unquantized"]}
    return urllib.parse.urlencode(scenario)


def said(run):
    """A run without what it leaves unsaid."""
    keys = ["model", "batch", "sequence", *(key for key in DEFAULTS if run[key] != DEFAULTS[key])]
    return {key: run[key] for key in keys}


def name_of(*words, **said):
    """What a row is called: some words and what its run says beyond the defaults."""
    return " ".join([*words, *(key if value is True else f"{key}={value}" for key, value in said.items())])


def without_libraries(question):
    """The same scenario without cuBLAS's workspaces: PyTorch 2.15 gives them back after each multiplication."""
    return f"{question}&workspace=0"


def computes_nothing(torch):
    """Whether the GPU is the one of tools/nullcuda."""
    return torch.cuda.is_available() and NOTHING in torch.cuda.get_device_name()


def unpack_nothing():
    """transformers looks at positions, would find zeros where nobody computed them, and take them for packed sequences."""
    import transformers.masking_utils

    transformers.masking_utils.find_packed_sequence_indices = lambda *_, **__: None


def packages_of(run):
    """The packages whose code a run is."""
    names = ["transformers"] + ["peft"] * bool(run["base"])
    if run["base"] in ("int8", "nf4") or run["optimizer"] == "adam8bit":
        names.append("bitsandbytes")
    return names + recipes.packages_of(run)


def program_of(run):
    """The packages whose code a run is, with their versions."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages_of(run))


def configuration_of(name):
    """The configuration behind a slug or a path."""
    if name in VARIANTS:
        base, fields = VARIANTS[name]
        return {**configuration_of(base), **fields}
    path = pathlib.Path(name)
    if not path.suffix or not path.exists():
        path = CONFIGURATIONS / (name if name.endswith(".json") else f"{name}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def config_of(run):
    """The configuration of a run's model, as transformers reads it."""
    import transformers

    fields = configuration_of(run["model"])
    kind = fields.pop("model_type")
    if run["layers"]:
        # GPT-2 has a name of its own for it.
        layers = "num_hidden_layers"
        fields[transformers.CONFIG_MAPPING[kind].attribute_map.get(layers, layers)] = run["layers"]
    return transformers.AutoConfig.for_model(kind, **{**fields, **run.get("override", {})})


def word_for_type():
    """What transformers calls the type of a model's weights: `dtype` since 4.56."""
    import transformers

    version = [int(part) for part in transformers.__version__.split(".")[:2]]
    return "dtype" if version >= [4, 56] else "torch_dtype"


def class_of(run):
    """The class of transformers that makes a run's model, with the head of its loss."""
    import transformers

    return {
        "causal": transformers.AutoModelForCausalLM,
        "classifier": transformers.AutoModelForSequenceClassification,
        "masked-lm": transformers.AutoModelForMaskedLM,
    }[run["loss"]]


def build(run, device):
    """The model of a run, in its precision, on the device, with random weights."""
    import torch

    config = config_of(run)
    config.use_cache = False
    for name in [name for name in vars(config) if name.endswith(("dropout", "pdrop", "dropout_prob"))]:
        setattr(config, name, run["dropout"])
    config._attn_implementation = "eager" if run["attn"] == "eager" else "sdpa"
    kind = class_of(run)
    half = run["base"] in ("bf16", "nf4", "int8") or (run["precision"] == "bf16" and not run["base"])
    torch.set_default_dtype(torch.bfloat16 if half else torch.float32)
    with torch.device(device):
        model = kind.from_config(config, **{word_for_type(): torch.bfloat16 if half else torch.float32})
    torch.set_default_dtype(torch.float32)
    if run["base"] in ("nf4", "int8"):
        quantize(model, run["base"], device, run["storage"])
        if run["loaded"]:
            setattr(model, {"nf4": "is_loaded_in_4bit", "int8": "is_loaded_in_8bit"}[run["base"]], True)
    if run["ckpt"] or run["kth"] or run["first"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if run["kth"] or run["first"]:
        recipes.of_some_layers(model, run["kth"], run["first"])
    if run["liger"]:
        recipes.with_layers(model)
    if run["every"]:
        recipes.in_segments(model, run["every"])
    if run["head"] or run["logits"] == "kept-fp32":
        recipes.with_head(model, run)
    if run["base"]:
        model = with_adapters(model, run)
    model.train()
    return model


def quantize(model, kind, device, storage):
    """Puts bitsandbytes' layers in the place of every matrix but the head, as transformers does on loading; 4-bit matrices are
    packed in elements of a type of PyTorch."""
    import bitsandbytes
    import torch

    for name, module in list(model.named_modules()):
        if not isinstance(module, torch.nn.Linear) or name.endswith(("lm_head", "embed_out", "score")):
            continue
        parent = model.get_submodule(name.rpartition(".")[0])
        bias = module.bias is not None
        # Memory of the host that nothing touches is never taken.
        weight = torch.empty(module.weight.shape, dtype=torch.bfloat16)
        if kind == "nf4":
            how = {"quant_type": "nf4", "compress_statistics": True, "quant_storage": getattr(torch, storage)}
            new = bitsandbytes.nn.Linear4bit(
                module.in_features, module.out_features, bias, compute_dtype=torch.bfloat16, device="meta", **how
            )
            new.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, module=new, **how).to(device)
        else:
            new = bitsandbytes.nn.Linear8bitLt(module.in_features, module.out_features, bias, has_fp16_weights=False, device="meta")
            new.weight = bitsandbytes.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False).to(device)
        if bias:
            new.bias = torch.nn.Parameter(module.bias.data, requires_grad=False)
        setattr(parent, name.rpartition(".")[2], new)
        del module


def with_adapters(model, run):
    """The model with LoRA beside its matrices, as peft makes it."""
    import peft
    import torch

    names = TARGETS.get(run["targets"])
    # Modules named "dense" are in both halves of some blocks; peft takes names, so the pattern says which half.
    targets = "all-linear" if names is None else [
        name for name in names if any(module.endswith(name) for module, _ in model.named_modules())
    ]
    if run["ckpt"] or run["every"] or run["kth"] or run["first"]:
        model.enable_input_require_grads()
    if run["unquantized"] == 32:
        # peft.prepare_model_for_kbit_training looks for a mark that loading leaves; this is what it does then.
        for name, parameter in model.named_parameters():
            if parameter.dtype in (torch.float16, torch.bfloat16) and type(parameter).__name__ != "Params4bit":
                parameter.data = parameter.data.to(torch.float32)
    lora = peft.LoraConfig(
        r=run["rank"], lora_alpha=run["rank"], lora_dropout=run["adapter_dropout"], target_modules=targets, task_type="CAUSAL_LM"
    )
    return peft.get_peft_model(model, lora, autocast_adapter_dtype=run["adapter_type"] == 32)


def optimizer_of(run, model, device):
    """The optimizer of a run; the fused one exists on every device."""
    import torch

    name = run["optimizer"]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if run["in_backward"]:
        return recipes.update_in_backward(model)
    if name in recipes.OPTIMIZERS:
        return recipes.optimizer_of(run, model, parameters)
    if name.startswith("adamw"):
        foreach = {"adamw-foreach": True, "adamw-loop": False}.get(name)
        fused = name == "adamw" and device == "cuda"
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=None if fused else foreach, fused=fused or None)
    if name == "adam8bit":
        import bitsandbytes

        return bitsandbytes.optim.AdamW8bit(parameters, lr=1e-5)
    if name == "adafactor":
        import transformers

        return transformers.Adafactor(parameters, lr=1e-5, relative_step=False, scale_parameter=False)
    if name == "adafactor-torch":
        return torch.optim.Adafactor(parameters, lr=1e-5)
    momentum = 0.9 if name == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=1e-5, momentum=momentum)


def measure(run, on_step=lambda: None):
    """Two steps of a run. The second is the one that has optimizer state from the beginning. Calls `on_step` before each."""
    import contextlib

    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    nothing = computes_nothing(torch)
    if nothing:
        unpack_nothing()
    model = build(run, device)
    optimizer = optimizer_of(run, model, device)
    if device == "cuda":
        # What building the model cached is not the step's.
        torch.cuda.empty_cache()
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.randint(vocabulary, (run["batch"], run["sequence"]), device=device)
    labels = torch.zeros(run["batch"], dtype=torch.long, device=device) if run["loss"] == "classifier" else tokens
    autocast = torch.autocast(device, dtype=torch.bfloat16) if run["precision"] == "amp" else contextlib.nullcontext()
    for step in range(2):
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        on_step()
        for _ in range(run["accum"]):
            with autocast:
                output = model(input_ids=tokens, labels=labels)
            loss = output.loss
            if run["logits"] == "dropped":
                # The logits would stay alive with the rest of the output.
                del output
            loss.backward()
            output = loss = None
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    result = {
        "id": name_of(**said(run)),
        **said(run),
        "question": without_libraries(question_of(run)) if nothing else question_of(run),
        "program": program_of(run),
        "params": sum(parameter.numel() for parameter in model.parameters()),
        "trained": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "peak_bytes": None,
        "reserved_bytes": None,
    }
    if device == "cuda":
        result["peak_bytes"] = {"total": torch.cuda.max_memory_allocated()}
        result["reserved_bytes"] = torch.cuda.max_memory_reserved()
    return result


def predict(bmax, question):
    """What the command line says of the same run."""
    answer = subprocess.run([bmax, "--json", question], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["counters"]


def in_own_process(run):
    """Measures a run in a fresh process; an out-of-memory error is a result too."""
    conf = "expandable_segments:True" if run["segments"] == "expandable" else ""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
        try:
            answer = measure(run)
        except Exception as error:  # Whatever stops a run is its result.
            message = (str(error).strip().splitlines() or ["no message"])[0]
            answer = failed(run, f"{type(error).__name__}: {message}"[:300])
        with os.fdopen(write, "w") as pipe:
            pipe.write(json.dumps(answer))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return json.loads(text)
    return failed(run, f"the process ended with {status}")


def failed(run, error):
    """The row of a run that did not reach its end."""
    return {"id": name_of(**said(run)), **said(run), "question": question_of(run), "peak_bytes": None, "error": error}


def least_memory(run, result):
    """The least memory with which a run succeeds on the GPU that computes nothing, to 0.6 % of it."""
    before = os.environ.get("NULLCUDA_MIB")
    low, high = result["peak_bytes"]["total"] / 2**20, result["reserved_bytes"] / 2**20 + 2
    while high - low > 0.006 * high:
        middle = (low + high) / 2
        os.environ["NULLCUDA_MIB"] = str(int(middle))
        if in_own_process(run).get("error"):
            low = middle
        else:
            high = middle
    os.environ.pop("NULLCUDA_MIB")
    if before:
        os.environ["NULLCUDA_MIB"] = before
    return int(high * 2**20)


def preload():
    """Imports what every run needs before the processes part, and nothing that touches a device."""
    import torch  # noqa: F401
    import transformers  # noqa: F401


def self_test():
    """Runs every branch with a model of a few thousand weights, on whatever device there is."""
    tiny = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 128, "n_positions": 64}
    runs = 0
    for precision, ckpt, optimizer in itertools.product(PRECISION_WORDS, BOTH, ("adamw", "adamw-foreach", "adamw-loop", "momentum", "sgd")):
        run = complete({"model": "gpt2", "batch": 2, "sequence": 16, "override": tiny})
        run.update(precision=precision, ckpt=ckpt, optimizer=optimizer, attn="eager" if ckpt else "flash", accum=2)
        result = measure(run)
        assert result["params"] < 100_000, result
        runs += 1
    print(f"self-test: {runs} runs on {result['device']}, no error")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", action="store_true", help="run the whole grid")
    parser.add_argument("--only", help="only those runs of the grid whose question holds this text")
    parser.add_argument("--model", help="a file of tests/config_files without its ending, or a path")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--precision", choices=sorted(PRECISION_WORDS), default="bf16")
    parser.add_argument("--attn", choices=["flash", "eager"], default="flash")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZER_WORDS), default="adamw")
    parser.add_argument("--ckpt", action="store_true", help="recompute every block")
    parser.add_argument("--accum", type=int, default=1, help="micro-batches of one step")
    parser.add_argument("--base", choices=sorted(BASE_WORDS), default="", help="LoRA beside weights of this type")
    parser.add_argument("--targets", choices=["qv", "attention", "all"], default="all")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--adapter-type", type=int, choices=[16, 32], default=32, help="bits of the adapters")
    parser.add_argument("--adapter-dropout", type=float, default=0.0)
    parser.add_argument("--loaded", action="store_true", help="the quantized model bears the mark that loading leaves; of the grid only such runs")
    parser.add_argument("--segments", choices=["fixed", "expandable", "both"], default="both", help="PyTorch's expandable_segments")
    parser.add_argument("--least", action="store_true", help="search the least memory that is enough, where nothing is computed")
    parser.add_argument("--bmax", help="the bmax binary: its prediction is written beside each figure")
    parser.add_argument("--out", help="where to write; standard output when absent")
    parser.add_argument("--self-test", action="store_true", help="a tiny model through every branch")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return
    if not arguments.grid and not arguments.model:
        parser.error("say --grid, --model or --self-test")
    single = {
        key: getattr(arguments, key)
        for key in ("model", "batch", "sequence", "precision", "attn", "optimizer", "ckpt", "accum", "base", "targets", "rank", "adapter_type", "adapter_dropout")
    }
    preload()
    results = []
    for run in map(complete, runs_of_grid() if arguments.grid else [single]):
        if arguments.only and arguments.only not in question_of(run):
            continue
        if arguments.loaded:
            if run["base"] not in ("nf4", "int8"):
                continue
            run["loaded"] = True
        for segments in ("fixed", "expandable") if arguments.segments == "both" else (arguments.segments,):
            run = {**run, "segments": segments}
            result = in_own_process(run)
            if arguments.least and result["peak_bytes"] and NOTHING in result["device"]:
                result["least_bytes"] = least_memory(run, result)
            if arguments.bmax:
                result["predicted"] = predict(arguments.bmax, result["question"])
            results.append(result)
            print(json.dumps(result), file=sys.stderr)
    text = "[\n" + ",\n".join(json.dumps(result) for result in results) + "\n]\n"
    if arguments.out:
        pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
