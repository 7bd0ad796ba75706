#!/usr/bin/env python3
"""Runs Hugging Face models, with adapters or without, under PyTorch's FSDP of either generation or its DDP, as rank 0.

    python3 tools/simulate/with_fsdp.py --segments fixed --out tests/vectors/cuda_parallel.json
    python3 tools/simulate/with_fsdp.py --case '{"model": "mistral-7b", "batch": 2, "sequence": 4096, "ckpt": true, "world": 2}'

It needs what tools/measure_peak.py needs and the GPU of tools/nullcuda. A case says what a run of
tools/measure_peak.py says; "precision": "amp" becomes FSDP's own mixed precision, and autocast under DDP. Gradients are
summed behind each micro-batch.
"""

import contextlib
import functools
import os

from simulate import hugging_face_scenario, join_nobody, last_peak, main, measure_peak

DEFAULTS = {
    "impl": "fsdp2", "world": 8,
    # The type in which gradients are summed, and whether weights stay gathered between the passes.
    "reduce": "fp32", "reshard": True,
    # Whether the forward pass runs under autocast too, and whether embedding and head are units of their own.
    "autocast": False, "apart": False,
    # Whether gradients under DDP are views of its buckets, and whether each rank updates a part of the weights.
    "views": False, "shared_optimizer": False,
    # Whether weights, gradients and the optimizer's state lie in CPU memory.
    "offload": False,
}
MISTRAL = {"model": "mistral-7b", "batch": 2, "sequence": 4096, "ckpt": True, "world": 2}
LLAMA = {"model": "llama-3.1-8b", "batch": 2, "sequence": 4096, "precision": "amp", "ckpt": True}
ADAPTED = {"base": "bf16", "targets": "attention", "adapter_dropout": 0.1}
CASES = [
    *({**MISTRAL, "impl": impl} for impl in ("fsdp2", "fsdp1")),
    *({**LLAMA, **how} for how in ({}, {"apart": True}, {"reduce": "bf16"}, {"autocast": True})),
    *({**LLAMA, "impl": "fsdp1", "autocast": autocast} for autocast in (False, True)),
    *({**LLAMA, "batch": 1, "sequence": 2048, "ckpt": False, "impl": impl} for impl in ("fsdp2", "fsdp1")),
    *({**MISTRAL, **ADAPTED, "impl": impl} for impl in ("fsdp2", "fsdp1")),
    {**LLAMA, "sequence": 2048, "world": 4, "base": "bf16"},
    # Under FSDP1 adapters in fp32 meet inputs in 16 bits, unless autocast stands between them.
    {**LLAMA, "sequence": 2048, "world": 4, "base": "bf16", "impl": "fsdp1", "autocast": True},
]


def scenario(case):
    """The case in the words of a link."""
    asked, run = hugging_face_scenario(case)
    case = {**DEFAULTS, **case}
    if case["impl"] == "ddp":
        return asked | {"gpus": case["world"], "zero": int(case["shared_optimizer"])}
    asked |= {"gpus": case["world"], "zero": 3}
    if run["precision"] == "amp":
        asked["precision"] = "mixed"
    if not case["reshard"]:
        asked["reshard"] = 1
    if case["offload"]:
        asked["offload"] = "parameters"
    return asked


def is_trained_leaf(module):
    """The condition under which peft gives a module to FSDP by itself (peft.utils.other.fsdp_auto_wrap_policy)."""
    weight = getattr(module, "weight", None)
    return not list(module.children()) and weight is not None and weight.requires_grad


def blocks_of(model):
    """The layers of a model: its first list of modules, whatever the family calls it."""
    import torch

    return next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))


def second(model, blocks, case, mixed):
    """FSDP2: a unit for each block and, inside it, for each adapter."""
    import torch
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

    sums = {"fp32": torch.float32, "bf16": torch.bfloat16}[case["reduce"]]
    half = torch.bfloat16
    policy = MixedPrecisionPolicy(half, sums, half) if mixed else MixedPrecisionPolicy()
    offload = CPUOffloadPolicy() if case["offload"] else OffloadPolicy()
    shard = functools.partial(fully_shard, mp_policy=policy, reshard_after_forward=case["reshard"], offload_policy=offload)
    for block in blocks:
        for module in block.modules():
            if is_trained_leaf(module) and case.get("base"):
                shard(module)
        shard(block)
    if case["apart"]:
        shard(model.get_input_embeddings())
        fully_shard([model.model.norm, model.get_output_embeddings()], mp_policy=policy, reshard_after_forward=False)
    return shard(model)


def first(model, blocks, case, mixed):
    """FSDP1: the same units, as a policy."""
    import torch
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import _or_policy, lambda_auto_wrap_policy, transformer_auto_wrap_policy

    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={type(blocks[0])})
    if case.get("base"):
        leaves = functools.partial(lambda_auto_wrap_policy, lambda_fn=is_trained_leaf)
        policy = functools.partial(_or_policy, policies=[leaves, policy])
    sums = {"fp32": torch.float32, "bf16": torch.bfloat16}[case["reduce"]]
    half = torch.bfloat16
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=policy,
        mixed_precision=MixedPrecision(half, sums, half) if mixed else None,
        use_orig_params=True,
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        device_id=0,
        limit_all_gathers=True,
    )


def replicated(model, blocks, case, mixed):
    """DDP. Its reducer reads back the order of its buckets, which it has just written."""
    import torch

    os.environ["NULLCUDA_KEEP"] = "65536"
    # It compares numbers that the other ranks would have sent.
    torch.nn.parallel.distributed._verify_param_shape_across_processes = lambda *_: None
    made = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=case["views"])

    def mean(_, bucket):
        """What the reducer does itself, with a future that has the bucket: that of the fake group has no tensor."""
        future = torch.futures.Future(devices=[torch.device("cuda", 0)])
        future.set_result(bucket.buffer().div_(case["world"]))
        return future

    made.register_comm_hook(None, mean)
    return made


def wrapped(run, case, model):
    """The model of a run as devices share it, and what trl reads of accelerate's plugin to share another like it."""
    import types

    import torch
    from torch.distributed.fsdp import BackwardPrefetch, MixedPrecision, MixedPrecisionPolicy, OffloadPolicy, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    inner = model.get_base_model() if run["base"] else model
    blocks, amp = blocks_of(inner), run["precision"] == "amp"
    model = {"fsdp1": first, "fsdp2": second, "ddp": replicated}[case["impl"]](model, blocks, case, amp)
    if case["impl"] == "ddp":
        return model, None
    sums, half = {"fp32": torch.float32, "bf16": torch.bfloat16}[case["reduce"]], torch.bfloat16
    kind = MixedPrecision if case["impl"] == "fsdp1" else MixedPrecisionPolicy
    plugin = types.SimpleNamespace(
        fsdp_version=int(case["impl"][-1]), reshard_after_forward=case["reshard"], ignored_modules=None,
        mixed_precision_policy=kind(half, sums, half) if amp else None, cpu_offload=OffloadPolicy(),
    )
    if case["impl"] == "fsdp1":
        # As accelerate's plugin has them.
        vars(plugin).update(
            set_auto_wrap_policy=lambda _: None, sharding_strategy=ShardingStrategy.FULL_SHARD, cpu_offload=None,
            auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={type(blocks[0])}),
            sync_module_states=False, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=False,
            use_orig_params=True, param_init_fn=None, limit_all_gathers=True,
        )
    return model, plugin


def on_forward():
    """Called before each forward pass: for who watches a run."""


def run(case):
    """Three steps under FSDP or DDP."""
    import torch

    run = hugging_face_scenario(case)[1]
    case = {**DEFAULTS, **case}
    join_nobody(0, case["world"])
    measure_peak.unpack_nothing()
    model = measure_peak.build(run, "cuda")
    model, _ = wrapped(run, case, model)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    if case["shared_optimizer"]:
        from torch.distributed.optim import ZeroRedundancyOptimizer

        optimizer = ZeroRedundancyOptimizer(trained, torch.optim.AdamW, lr=1e-5, fused=True)
    torch.cuda.empty_cache()
    tokens = torch.zeros(run["batch"], run["sequence"], dtype=torch.long, device="cuda")
    casts = case["autocast"] or run["precision"] == "amp" and case["impl"] == "ddp"
    autocast = torch.autocast("cuda", dtype=torch.bfloat16) if casts else contextlib.nullcontext()

    def step():
        for _ in range(run["accum"]):
            # The loss would stay alive with the next pass.
            loss = None
            on_forward()
            with autocast:
                output = model(input_ids=tokens, labels=tokens)
            loss = output.loss
            del output
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return last_peak(step)


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["torch", "transformers", "peft"])
