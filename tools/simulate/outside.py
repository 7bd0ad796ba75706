#!/usr/bin/env python3
"""Runs what a training program does outside its step on one device: evaluation, loading, resuming, gathering, merging.

    python3 tools/simulate/outside.py --segments fixed --out tests/vectors/outside.json
    python3 tools/simulate/outside.py --case '{"outside": "merge", "model": "llama-3.1-8b", "batch": 1, "sequence": 512, "base": "bf16"}'

It needs what tools/measure_peak.py needs and the GPU of tools/nullcuda. A case says what a run of tools/measure_peak.py
says, and what is done outside the step. "peak_bytes" is the highest of PyTorch's live counter from the moment at which
that begins to the one at which it ends. "precision": "amp" is transformers' own bf16=True.
"""

import json
import os
import pathlib
import struct
import tempfile

from simulate import hugging_face_scenario, join_nobody, main, measure_peak

# What a case says beyond a run of tools/measure_peak.py, in the words of a link.
WORDS = {
    "eval": {"eval": "logits"}, "eval-loss": {"eval": "loss"}, "generate": {"eval": "loss", "eval_generate": "on"},
    "load": {"load": "cpu"}, "load-gpu": {"load": "gpu"}, "resume": {"resume": "cpu"}, "resume-gpu": {"resume": "gpu"},
    "resume-init": {"resume": "init"}, "gather": {"gather": "cpu"}, "gather-gpu": {"gather": "gpu"},
    "gather-all": {"gather": "cpu", "gather_states": "all"}, "gather-all-gpu": {"gather": "gpu", "gather_states": "all"},
    "merge": {"merge": "on"}, "merge-safe": {"merge": "safe"}, "merge-whole": {"merge": "whole"}, "save": {"save": "sync"},
}
DEFAULTS = {"world": 1, "eval_b": 2, "eval_n": 8, "eval_steps": 0, "eval_tokens": 64}
QWEN = {"model": "qwen2.5-0.5b", "batch": 1, "sequence": 1024}
TINY = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 1024}
LLAMA = {"model": "llama-3.1-8b", "batch": 1, "sequence": 512, "ckpt": True}
ADAPTED = {**LLAMA, "base": "bf16", "precision": "amp", "targets": "all", "rank": 16}
CASES = [
    *({**QWEN, "outside": "eval", "precision": precision} for precision in ("fp32", "amp", "bf16")),
    {**QWEN, "outside": "eval", "precision": "amp", "eval_n": 16, "eval_steps": 2},
    {**QWEN, "outside": "eval", "precision": "bf16", "eval_n": 16, "eval_b": 4, "eval_steps": 1},
    {**QWEN, "outside": "eval", "precision": "amp", "eval_n": 32, "eval_b": 1},
    *({**TINY, "outside": "eval-loss", "precision": precision, "eval_b": 8} for precision in ("fp32", "amp", "bf16")),
    *({**TINY, "outside": "eval-loss", "precision": precision, "eval_b": 1} for precision in ("amp", "bf16")),
    *({**ADAPTED, "outside": outside} for outside in ("eval", "eval-loss")),
    {**ADAPTED, "base": "nf4", "outside": "eval"},
    *({**QWEN, "outside": "generate", "precision": precision, "sequence": 256, "eval_b": 16} for precision in ("amp", "bf16")),
    *({**TINY, "outside": outside, "precision": precision} for outside in ("load", "load-gpu") for precision in ("fp32", "bf16")),
    {**LLAMA, "outside": "load", "precision": "bf16"},
    {**LLAMA, "outside": "load", "base": "nf4", "precision": "amp"},
    *({**TINY, "outside": outside, "precision": precision} for outside in ("resume", "resume-gpu") for precision in ("amp", "bf16")),
    {**TINY, "outside": "resume-init", "precision": "amp"},
    {**LLAMA, "outside": "resume-init", "precision": "amp", "world": 8},
    *({**QWEN, "outside": outside, "precision": "fp32", "world": 8} for outside in ("gather", "gather-gpu", "gather-all", "gather-all-gpu")),
    *({**LLAMA, "outside": outside, "precision": "bf16", "world": 8} for outside in ("gather-gpu", "gather-all-gpu")),
    {**TINY, "outside": "gather", "precision": "bf16", "world": 4},
    *({**ADAPTED, "outside": outside} for outside in ("merge", "merge-safe")),
    {**ADAPTED, "outside": "merge", "targets": "qv", "rank": 64, "adapter_type": 16},
    *({**ADAPTED, "base": "nf4", "outside": outside} for outside in ("merge", "merge-safe", "merge-whole")),
    {**ADAPTED, "base": "int8", "outside": "merge"},
    *({**TINY, "outside": "save", "precision": precision} for precision in ("amp", "bf16")),
]


def scenario(case):
    """The case in the words of a link."""
    asked, _ = hugging_face_scenario(case)
    case = {**DEFAULTS, **case}
    asked |= WORDS[case["outside"]]
    if case["outside"].startswith("eval") or case["outside"] == "generate":
        asked |= {"eval_b": case["eval_b"], "eval_n": case["eval_n"], "eval_steps": case["eval_steps"]}
    if case["outside"] == "generate":
        asked |= {"eval_tokens": case["eval_tokens"]}
    if case["world"] > 1:
        asked |= {"gpus": case["world"], "zero": 3}
    return asked


def during(what):
    """The highest of the live counter while `what` runs."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    kept = what()
    peak = {"peak_bytes": {"total": torch.cuda.max_memory_allocated()}, "reserved_bytes": torch.cuda.max_memory_reserved()}
    del kept
    return peak


def run(case):
    """What the case is about."""
    own = hugging_face_scenario(case)[1]
    case = {**DEFAULTS, **case}
    measure_peak.unpack_nothing()
    outside = case["outside"]
    if outside.startswith("eval") or outside == "generate":
        return evaluation(own, case)
    if outside == "load":
        return loading(own)
    if outside.startswith("gather") or case["world"] > 1:
        return sharded(own, case)
    if outside.startswith("merge"):
        return merging(own, case)
    return checkpoint(own, case)


def evaluation(run, case):
    """Trainer.evaluate behind a step of Trainer.train, or generation with the model of a trainer behind one."""
    import datasets
    import torch
    import transformers
    import transformers.trainer_pt_utils

    # What has been brought to the host is not looked at.
    transformers.trainer_pt_utils.nested_numpify = lambda tensors: None
    transformers.trainer_pt_utils.nested_concat = keeps_nothing(transformers.trainer_pt_utils.nested_concat)
    datasets.disable_caching()
    model = measure_peak.build(run, "cuda")
    length = run["sequence"]
    row = {"input_ids": [3] * length, "labels": [3] * length}
    arguments = transformers.TrainingArguments(
        output_dir="/nonexistent", report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
        per_device_train_batch_size=run["batch"], per_device_eval_batch_size=case["eval_b"], max_steps=1,
        eval_accumulation_steps=case["eval_steps"] or None, bf16=run["precision"] == "amp",
        gradient_checkpointing=run["ckpt"], gradient_checkpointing_kwargs={"use_reentrant": False} if run["ckpt"] else None,
        optim="adamw_torch_fused", dataloader_pin_memory=False, max_grad_norm=0.0,
    )
    logits = case["outside"] == "eval"
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_list([row] * run["batch"]),
        eval_dataset=datasets.Dataset.from_list([row] * case["eval_n"]),
        compute_metrics=(lambda _: {}) if logits else None,
    )
    # Sizes would be read back from the device to see which process has the longest.
    trainer.accelerator.pad_across_processes = lambda tensors, **_: tensors
    trainer.train()
    torch.cuda.empty_cache()
    if case["outside"] == "generate":
        prompts = torch.zeros(case["eval_b"], length - case["eval_tokens"], dtype=torch.long, device="cuda")

        def generate():
            asked = {"max_new_tokens": case["eval_tokens"], "do_sample": False, "use_cache": True, "pad_token_id": 0}
            with trainer.compute_loss_context_manager():
                return model.generate(prompts, attention_mask=torch.ones_like(prompts), eos_token_id=None, **asked)

        # Whether a sequence has ended would be read back from the device.
        left = iter(range(case["eval_tokens"]))
        model._has_unfinished_sequences = lambda *_, **__: next(left, None) is not None
        trainer.model.eval()
        return during(generate)
    return during(trainer.evaluate)


def keeps_nothing(concatenate):
    """Concatenation of tensors as it is, and of what stands for arrays of the host not at all."""

    def concatenated(first, second, **more):
        return None if first is None else concatenate(first, second, **more)

    return concatenated


def loading(run):
    """from_pretrained, from a file that has a header and takes no room on the disk."""
    import torch
    import transformers

    with tempfile.TemporaryDirectory() as folder, torch.device("meta"):
        plain = {**run, "base": "", "ckpt": False}
        if run["base"]:
            plain["precision"] = "bf16"
        model = measure_peak.build(plain, "meta")
        kind, dtype, config = type(model), model.dtype, model.config
        config.save_pretrained(folder)
        header, end = {}, 0
        for name, tensor in model.state_dict().items():
            size = tensor.numel() * tensor.element_size()
            header[name] = {"dtype": {2: "BF16", 4: "F32"}[tensor.element_size()], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
            end += size
        if config.tie_word_embeddings:
            last = header.pop("lm_head.weight")
            end = last["data_offsets"][0]
        text = json.dumps({"__metadata__": {"format": "pt"}} | header).encode()
        path = pathlib.Path(folder, "model.safetensors")
        path.write_bytes(struct.pack("<Q", len(text)) + text)
        os.truncate(path, 8 + len(text) + end)
        more = {}
        if run["base"] == "nf4":
            more["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16
            )
        with torch.device("cpu"):
            return during(lambda: kind.from_pretrained(folder, dtype=dtype, device_map={"": 0}, **more))


def checkpoint(run, case):
    """A checkpoint that is read into a model and a fresh optimizer, or that torch.save writes."""
    import torch

    model = measure_peak.build(run, "cuda")
    if case["outside"] == "load-gpu":
        # What torch.load(map_location="cuda") puts there.
        read = {name: torch.empty_like(tensor) for name, tensor in model.state_dict().items()}
        return during(lambda: (read, model.load_state_dict(read)))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    if case["outside"] == "save":
        for parameter in trained:
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        return during(lambda: torch.save(states, "/dev/null"))
    if case["outside"] == "resume-init":
        from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

        join_nobody(0, 1)
        return during(lambda: get_optimizer_state_dict(model, optimizer))
    place = "cuda" if case["outside"] == "resume-gpu" else "cpu"
    moments = {
        at: {"step": torch.zeros(()), **{name: torch.empty(parameter.shape, dtype=parameter.dtype, device=place) for name in ("exp_avg", "exp_avg_sq")}}
        for at, parameter in enumerate(trained)
    }
    read = {"state": moments, "param_groups": optimizer.state_dict()["param_groups"]}
    return during(lambda: (read, optimizer.load_state_dict(read)))


def sharded(run, case):
    """FSDP as in with_fsdp.py, and state dicts of it as accelerate asks for them."""
    import torch
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
    from torch.distributed.fsdp import fully_shard

    join_nobody(0, case["world"])
    model = measure_peak.build(run, "cuda")
    for block in model.model.layers:
        fully_shard(block)
    model = fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    torch.cuda.empty_cache()
    if case["outside"] == "resume-init":
        return during(lambda: get_optimizer_state_dict(model, optimizer))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    options = StateDictOptions(full_state_dict=True, cpu_offload=not case["outside"].endswith("gpu"))
    if "all" in case["outside"]:
        return during(lambda: get_optimizer_state_dict(model, optimizer, options=options))
    return during(lambda: get_model_state_dict(model, options=options))


def merging(run, case):
    """peft's merge behind a step, with the optimizer still there."""
    import types

    import torch

    # The mark that loading leaves, by which peft takes its layers for quantized matrices; dequantized they need others.
    if case["outside"] != "merge-whole":
        torch.nn.Module.is_loaded_in_4bit = run["base"] == "nf4"
        torch.nn.Module.is_loaded_in_8bit = run["base"] == "int8"
    model = measure_peak.build(run, "cuda")
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    for parameter in trained:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    # Nothing is looked at that nobody has computed.
    torch.isfinite = lambda tensor: types.SimpleNamespace(all=lambda: True)
    if case["outside"] == "merge-whole":
        import bitsandbytes

        def whole():
            for module in list(model.modules()):
                if isinstance(module, bitsandbytes.nn.Linear4bit):
                    weight = bitsandbytes.functional.dequantize_4bit(module.weight.data, module.weight.quant_state)
                    module.weight = torch.nn.Parameter(weight, requires_grad=False)
            return model.merge_and_unload(), optimizer

        return during(whole)
    return during(lambda: (model.merge_and_unload(safe_merge=case["outside"] == "merge-safe"), optimizer))


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["transformers", "torch", "peft"])
