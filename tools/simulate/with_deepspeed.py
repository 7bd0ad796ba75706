#!/usr/bin/env python3
"""Runs Hugging Face models, with adapters or without, under DeepSpeed's engine with ZeRO 0 to 3, one rank at a time.

    python3 tools/simulate/with_deepspeed.py --segments fixed --out tests/vectors/cuda_parallel.json
    python3 tools/simulate/with_deepspeed.py --case '{"model": "llama-2-7b", "batch": 1, "sequence": 2048, "ckpt": true, "stage": 3}'

It needs what tools/measure_peak.py needs, deepspeed, and the GPU of tools/nullcuda. A case says what a run
of tools/measure_peak.py says, but for the precision, which DeepSpeed sets.
"""

import os

from simulate import hugging_face_scenario, join_nobody, last_peak, main, measure_peak

DEFAULTS = {
    "stage": 2, "world": 8, "rank": 0, "half": "bf16",
    # The bucket of reductions in millions of elements, and the type of accumulated gradients where it is set.
    "bucket": 500, "grad_accum": "",
}
SMALL = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 2048, "ckpt": True}
LARGE = {"model": "llama-2-7b", "batch": 1, "sequence": 2048, "ckpt": True}
CASES = [
    *({**SMALL, "stage": stage} for stage in (0, 1, 2, 3)),
    # The last rank owns the weights whose gradients come first, so it holds more when the buckets are full.
    *({**SMALL, "stage": stage, "rank": 7} for stage in (1, 2)),
    {**SMALL, "stage": 2, "half": "fp16"},
    {**SMALL, "stage": 1, "half": "fp16", "accum": 4},
    {**SMALL, "stage": 2, "accum": 4},
    {**SMALL, "stage": 2, "accum": 4, "rank": 7},
    {**SMALL, "stage": 2, "batch": 4, "ckpt": False},
    *({**LARGE, "stage": stage} for stage in (1, 2, 3)),
    *({**LARGE, "stage": stage, "world": 2} for stage in (2, 3)),
    *({**LARGE, "stage": stage, "accum": 4} for stage in (1, 2)),
    *({**LARGE, "stage": 3, "batch": 4, "ckpt": ckpt} for ckpt in (True, False)),
    *({**LARGE, "stage": stage, "batch": 4, "base": "bf16", "targets": "all"} for stage in (2, 3)),
    {**LARGE, "stage": 2, "grad_accum": "fp32"},
    {**LARGE, "stage": 2, "grad_accum": "fp32", "rank": 7},
]


def scenario(case):
    """The case in the words of a link."""
    asked, _ = hugging_face_scenario(case)
    case = {**DEFAULTS, **case}
    return asked | {
        "engine": "deepspeed",
        "gpus": case["world"],
        "zero": case["stage"],
        "precision": case["half"],
        "bucket": case["bucket"],
        "grad": 32 if case["grad_accum"] == "fp32" else 16,
    }


def configuration_of(case, run):
    """What deepspeed.initialize is told."""
    told = {
        "train_micro_batch_size_per_gpu": run["batch"],
        "gradient_accumulation_steps": run["accum"],
        "gradient_clipping": 1.0,
        "steps_per_print": 10**9,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {
            "stage": case["stage"],
            "reduce_bucket_size": case["bucket"] * 10**6,
            "allgather_bucket_size": 500 * 10**6,
            "overlap_comm": True,
            "contiguous_gradients": True,
        },
        case["half"]: {"enabled": True},
    }
    if case["half"] == "fp16":
        # Gradients are zeros here, which a growing scale would follow.
        told["fp16"]["loss_scale"] = 1.0
    if case["grad_accum"]:
        told["data_types"] = {"grad_accum_dtype": case["grad_accum"]}
    return told


def engine_of(run, case, model, optimizer):
    """DeepSpeed's engine around a model and an optimizer, and what it was told."""
    os.environ.update(RANK=str(case["rank"]), LOCAL_RANK="0", WORLD_SIZE=str(case["world"]), DS_SKIP_CUDA_CHECK="1")

    import logging

    logging.disable(logging.CRITICAL)
    import deepspeed
    import deepspeed.runtime.zero.partitioned_param_coordinator as coordinator

    deepspeed.comm.init_distributed(dist_backend="nccl", auto_mpi_discovery=False, verbose=False, dist_init_required=False)
    # It compares numbers that the other ranks would have sent.
    coordinator.assert_ints_same_as_other_ranks = lambda *_: None
    told = configuration_of(case, run)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=told, dist_init_required=False)
    return engine, told


def run(case):
    """Three steps of DeepSpeed's engine."""
    run = hugging_face_scenario(case)[1]
    case = {**DEFAULTS, **case}
    join_nobody(case["rank"], case["world"])
    measure_peak.unpack_nothing()

    import torch

    model = measure_peak.build(run, "cuda")
    if case["half"] == "fp16":
        model = model.half()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
    engine, _ = engine_of(run, case, model, optimizer)
    torch.cuda.empty_cache()
    tokens = torch.zeros(run["batch"], run["sequence"], dtype=torch.long, device="cuda")

    def step():
        for _ in range(run["accum"]):
            output = engine(input_ids=tokens, labels=tokens)
            loss = output.loss
            del output
            engine.backward(loss)
            loss = None
            engine.step()

    return last_peak(step)


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["deepspeed", "transformers", "peft"])
