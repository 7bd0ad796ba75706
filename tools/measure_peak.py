#!/usr/bin/env python3
"""Measures the peak memory of real training steps and writes it beside the prediction.

Each run is a process of its own, so that nothing one run cached is counted in the next: a Hugging Face
model class built from a local configuration with random weights, two optimizer steps on random tokens,
and the counters of PyTorch's caching allocator. On a machine without a GPU it runs the same steps with a
tiny model, to show that the script works; there is nothing to measure then and the counters are null.

    python3 tools/measure_peak.py --grid --bmax target/release/bmax --out peaks.json
    python3 tools/measure_peak.py --model tests/config_files/gpt2.json --batch 8 --sequence 1024
    python3 tools/measure_peak.py --self-test

It needs torch and transformers, and downloads nothing. The output has the fields of
tests/vectors/memtracker.json and of tests/vectors/measured.json that concern one device, so that
`make accuracy CASES=peaks.json` reads it.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATIONS = ROOT / "tests" / "config_files"

# What a run varies. Sizes are those of the published models; every combination of a row is run.
GRID = [
    {"model": ["gpt2"], "batch": [4, 16], "sequence": [1024], "precision": ["fp32", "amp", "bf16"], "ckpt": [False, True]},
    {"model": ["tinyllama-1.1b"], "batch": [1, 4], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": [False, True]},
    {"model": ["qwen2.5-0.5b"], "batch": [1, 4], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": [False, True]},
    {"model": ["llama-3.2-1b"], "batch": [1, 2], "sequence": [2048, 8192], "precision": ["bf16"], "ckpt": [False, True]},
    {"model": ["pythia-1.4b"], "batch": [1, 4], "sequence": [2048], "precision": ["amp", "bf16"], "ckpt": [False]},
    {"model": ["gpt2"], "batch": [8], "sequence": [1024], "precision": ["amp"], "attn": ["eager"], "ckpt": [False, True]},
    {"model": ["tinyllama-1.1b"], "batch": [2], "sequence": [1024], "precision": ["bf16"], "attn": ["eager"], "ckpt": [False]},
    {"model": ["gpt2"], "batch": [8], "sequence": [1024], "precision": ["fp32"], "optimizer": ["sgd", "momentum", "adamw-foreach", "adamw-loop"]},
]

# The scenario's words for what a run does, as the link and the command line take them.
PRECISION_WORDS = {"fp32": "fp32", "amp": "autocast", "bf16": "bf16-pure"}
OPTIMIZER_WORDS = {
    "adamw": ("adamw", "fused"),
    "adamw-foreach": ("adamw", "foreach"),
    "adamw-loop": ("adamw", "loop"),
    "momentum": ("momentum", "foreach"),
    "sgd": ("sgd", "foreach"),
}


def runs_of_grid():
    """Every combination of every row of the grid."""
    for row in GRID:
        keys = list(row)
        for values in itertools.product(*row.values()):
            yield dict(zip(keys, values))


def complete(run):
    """A run with what it leaves unsaid."""
    return {"attn": "flash", "precision": "bf16", "ckpt": False, "optimizer": "adamw", **run}


def configuration_of(name):
    """The configuration behind a slug or a path."""
    path = pathlib.Path(name)
    if not path.suffix:
        path = CONFIGURATIONS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def build(run, device):
    """The model of a run, in its precision, on the device, with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = configuration_of(run["model"])
    fields.update(run.get("override", {}))
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    config.use_cache = False
    for name in [name for name in vars(config) if name.endswith(("dropout", "pdrop"))]:
        setattr(config, name, 0.0)
    config._attn_implementation = "eager" if run["attn"] == "eager" else "sdpa"
    dtype = torch.bfloat16 if run["precision"] == "bf16" else torch.float32
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    model.train()
    if run["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def optimizer_of(run, parameters, device):
    """The optimizer of a run; the fused one exists on every device."""
    import torch

    name = run["optimizer"]
    if name.startswith("adamw"):
        foreach = {"adamw-foreach": True, "adamw-loop": False}.get(name)
        fused = name == "adamw" and device == "cuda"
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=None if fused else foreach, fused=fused or None)
    momentum = 0.9 if name == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=1e-5, momentum=momentum)


def measure(run):
    """Two steps of a run. The second is the one that has optimizer state from the beginning."""
    import contextlib

    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build(run, device)
    optimizer = optimizer_of(run, model.parameters(), device)
    vocabulary = model.config.get_text_config().vocab_size
    tokens = torch.randint(vocabulary, (run["batch"], run["sequence"]), device=device)
    autocast = torch.autocast(device, dtype=torch.bfloat16) if run["precision"] == "amp" else contextlib.nullcontext()
    for step in range(2):
        if device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        with autocast:
            # Only the loss is kept: the logits would stay alive with the rest of the output.
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    result = {
        **{key: run[key] for key in ("model", "batch", "attn", "precision", "ckpt")},
        "seq": run["sequence"],
        "opt": run["optimizer"],
        "step": OPTIMIZER_WORDS[run["optimizer"]][1],
        "params": sum(parameter.numel() for parameter in model.parameters()),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "peak_bytes": None,
        "reserved_bytes": None,
    }
    if device == "cuda":
        result["peak_bytes"] = {"total": torch.cuda.max_memory_allocated()}
        result["reserved_bytes"] = torch.cuda.max_memory_reserved()
    return result


def predict(bmax, run):
    """What the command line says of the same run."""
    optimizer, step = OPTIMIZER_WORDS[run["optimizer"]]
    scenario = {
        "model": run["model"],
        "gpus": 1,
        "zero": "0",
        "b": run["batch"],
        "s": run["sequence"],
        "attn": run["attn"],
        "precision": PRECISION_WORDS[run["precision"]],
        "recompute": "full" if run["ckpt"] else "none",
        "optimizer": optimizer,
        "step": step,
        "dropout": "off",
    }
    answer = subprocess.run([bmax], input=json.dumps(scenario), capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["counters"]


def in_own_process(run):
    """Measures a run in a fresh process; an out-of-memory error is a result too."""
    command = [sys.executable, __file__, "--one", json.dumps(run)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode == 0:
        return json.loads(answer.stdout.strip().splitlines()[-1])
    error = (answer.stderr.strip().splitlines() or ["no message"])[-1]
    return {**run, "peak_bytes": None, "error": error[:200]}


def self_test():
    """Runs every branch with a model of a few thousand weights, on whatever device there is."""
    tiny = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 128, "n_positions": 64}
    for precision, ckpt, optimizer in itertools.product(PRECISION_WORDS, (False, True), OPTIMIZER_WORDS):
        run = complete({"model": "gpt2", "batch": 2, "sequence": 16, "override": tiny})
        run.update(precision=precision, ckpt=ckpt, optimizer=optimizer, attn="eager" if ckpt else "flash")
        result = measure(run)
        assert result["params"] < 100_000, result
    print(f"self-test: {len(PRECISION_WORDS) * 2 * len(OPTIMIZER_WORDS)} runs on {result['device']}, no error")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", action="store_true", help="run the whole grid")
    parser.add_argument("--model", help="a file of tests/config_files without its ending, or a path")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--precision", choices=sorted(PRECISION_WORDS), default="bf16")
    parser.add_argument("--attn", choices=["flash", "eager"], default="flash")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZER_WORDS), default="adamw")
    parser.add_argument("--ckpt", action="store_true", help="recompute every block")
    parser.add_argument("--bmax", help="the bmax binary: its prediction is written beside each figure")
    parser.add_argument("--out", help="where to write; standard output when absent")
    parser.add_argument("--self-test", action="store_true", help="a tiny model through every branch")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(json.loads(arguments.one))))
        return
    if arguments.self_test:
        self_test()
        return
    if not arguments.grid and not arguments.model:
        parser.error("say --grid, --model or --self-test")
    single = {
        key: getattr(arguments, key)
        for key in ("model", "batch", "sequence", "precision", "attn", "optimizer", "ckpt")
    }
    results = []
    for run in map(complete, runs_of_grid() if arguments.grid else [single]):
        result = in_own_process(run)
        if arguments.bmax:
            result["predicted"] = predict(arguments.bmax, run)
        results.append(result)
        print(json.dumps(result), file=sys.stderr)
    text = "[\n" + ",\n".join(json.dumps(result) for result in results) + "\n]\n"
    if arguments.out:
        pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
