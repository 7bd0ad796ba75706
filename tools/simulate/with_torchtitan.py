#!/usr/bin/env python3
"""Runs torchtitan's own trainer with FSDP, tensor, context and pipeline parallelism, one rank at a time.

    PYTHONPATH=FOLDER_WITH_TORCHTITAN_0.2.2 python3 tools/simulate/with_torchtitan.py --out tests/vectors/cuda_parallel.json
    python3 tools/simulate/with_torchtitan.py --case '{"ac": "op", "batch": 1, "dp_shard": 8}'

It needs torch, torchtitan 0.2.2 and the GPU of tools/nullcuda. Tokens are zeros, there is no tokenizer,
no data set and no compiler. A pipeline's stages get the shapes that its schedule would send.
"""

import dataclasses
import os

from simulate import join_nobody, last_peak, main

DEFAULTS = {
    "flavor": "8B", "seq": 8192, "batch": 1, "accum": 1, "dp_shard": 8, "dp_replicate": 1, "tp": 1, "pp": 1, "cp": 1,
    "rank": 0, "ac": "none", "reshard": "default", "schedule": "1F1B", "pp_microbatch": 1, "impl": "fused", "layers": 0,
}
VOCABULARY = 128256
LAYERS = {"8B": 32, "70B": 80}
PIPELINE = [("none", 2048), ("op", 4096), ("full", 8192)]
CASES = [
    # FSDP alone, by recomputation.
    *({"ac": ac, "batch": batch, "seq": seq} for ac in ("none", "op", "full", "2") for batch, seq in ((1, 8192), (2, 4096))),
    {"ac": "op", "batch": 2},
    {"ac": "op", "dp_shard": 64},
    {"ac": "op", "reshard": "never"},
    {"ac": "full", "batch": 2, "reshard": "never"},
    {"ac": "op", "accum": 2},
    {"ac": "op", "impl": "foreach"},
    {"ac": "op", "dp_shard": 1, "layers": 8},
    {"flavor": "70B", "ac": "full", "batch": 2, "dp_shard": 64},
    # With tensor and context parallelism.
    *({"ac": ac, "batch": 2, "tp": tp} for ac in ("none", "op", "full") for tp in (2, 4, 8)),
    *({"flavor": "70B", "ac": ac, "dp_shard": 32, "tp": 8} for ac in ("op", "full")),
    {"ac": "op", "seq": 32768, "cp": 4, "dp_shard": 2},
    {"ac": "full", "seq": 65536, "cp": 8, "dp_shard": 1},
    # Pipelines: the first stage, the second and the last.
    *({"ac": ac, "batch": 8, "seq": seq, "pp": 4, "dp_shard": 2, "rank": rank} for ac, seq in PIPELINE for rank in (0, 2, 6)),
    *(
        {"ac": ac, "batch": 8, "seq": seq, "pp": 4, "dp_shard": 2, "rank": rank, "schedule": "Interleaved1F1B"}
        for ac, seq in (PIPELINE[0], PIPELINE[2]) for rank in (0, 2, 6)
    ),
]


def complete(case):
    return {**DEFAULTS, **case}


def world_of(case):
    return case["dp_shard"] * case["dp_replicate"] * case["tp"] * case["pp"] * case["cp"]


def stage(case):
    """The part of the pipeline that this rank holds; ranks of a data-parallel group follow one another."""
    case = complete(case)
    if case["pp"] == 1:
        return ""
    place = case["rank"] * case["pp"] // world_of(case)
    return {0: "first", 1: "second", case["pp"] - 1: "last"}.get(place, "other")


def layers_of_ends(case):
    """Layers of the first rank of a pipeline and of the last. torchtitan counts the embedding and the head as a layer each
    (`generate_llm_fqn_per_model_part`): 8, 9, 8 and 7 of 32 layers on four ranks."""
    chunks = 1 if case["schedule"] == "1F1B" else 2
    stages = case["pp"] * chunks
    whole, more = divmod((case["layers"] or LAYERS[case["flavor"]]) + 2, stages)
    of_stages = [whole + (stage < more) for stage in range(stages)]
    return [sum(of_stages[rank :: case["pp"]]) - 1 for rank in (0, case["pp"] - 1)]


def scenario(case):
    """The case in the words of a link."""
    case = complete(case)
    sharded = case["dp_shard"] * case["cp"] > 1
    # In a pipeline torchtitan keeps gathered weights between micro-batches.
    gathers = case["reshard"] == "always" or case["reshard"] == "default" and case["pp"] == 1
    asked = {
        "v": 3, "model": {"8B": "llama-3.1-8b", "70B": "llama-3.1-70b"}[case["flavor"]], "engine": "torchtitan",
        "gpus": world_of(case), "zero": (3 if gathers else 2) if sharded else 0, "precision": "mixed" if sharded else "autocast",
        "tp": case["tp"], "pp": case["pp"], "cp": case["cp"], "sp": "on" if case["tp"] > 1 else "off",
        "b": case["batch"], "s": case["seq"], "accum": case["accum"],
        "attn": "flash", "dropout": "off", "step": case["impl"], "loss": "plain", "kernels": "eager",
        "recompute": {"none": "none", "op": "ops", "full": "full"}.get(case["ac"], "kth-layer"),
    }
    if case["ac"].isdigit():
        asked["every"] = case["ac"]
    if case["layers"]:
        asked["layers"] = case["layers"]
    if case["pp"] > 1:
        asked |= {"b": case["pp_microbatch"], "accum": case["batch"] // case["pp_microbatch"] * case["accum"]}
        asked |= dict(zip(("pp_first", "pp_last"), layers_of_ends(case)))
        if case["schedule"] != "1F1B":
            asked["vpp"] = 2
    return asked


def job_of(case):
    """torchtitan's configuration of a case."""
    from torchtitan.config import JobConfig

    job = JobConfig()
    job.comm.mode = "fake_backend"
    job.model.name, job.model.flavor = "llama3", case["flavor"]
    job.training.local_batch_size, job.training.seq_len = case["batch"], case["seq"]
    job.training.global_batch_size = case["batch"] * case["dp_shard"] * case["dp_replicate"] * case["accum"]
    parallel = job.parallelism
    parallel.data_parallel_shard_degree = case["dp_shard"]
    parallel.data_parallel_replicate_degree = case["dp_replicate"]
    parallel.tensor_parallel_degree = case["tp"]
    parallel.pipeline_parallel_degree = case["pp"]
    parallel.context_parallel_degree = case["cp"]
    parallel.fsdp_reshard_after_forward = case["reshard"]
    parallel.pipeline_parallel_schedule = case["schedule"]
    parallel.pipeline_parallel_microbatch_size = case["pp_microbatch"]
    job.optimizer.implementation = case["impl"]
    selective = case["ac"] not in ("none", "full")
    job.activation_checkpoint.mode = "selective" if selective else case["ac"]
    if selective:
        job.activation_checkpoint.selective_ac_option = case["ac"]
    job.checkpoint.enable = job.compile.enable = False
    job.metrics.log_freq = 10**6
    return job


def tell_shapes(case, width):
    """Gives each stage the shapes of what it receives and sends, which it would run once to learn."""
    import torch
    from torch.distributed.pipelining.stage import PipelineStage

    own = PipelineStage.__init__

    def init(self, submodule, index, stages, device, *_, **named):
        size = (case["pp_microbatch"], case["seq"] // case["cp"])

        def hidden(grad=False):
            return torch.empty(*size, width, dtype=torch.bfloat16, device="meta").requires_grad_(grad)

        first, last = index == 0, index == stages - 1
        received = torch.empty(*size, dtype=torch.long, device="meta") if first else hidden(True)
        sent = torch.empty(*size, VOCABULARY, dtype=torch.bfloat16, device="meta") if last else hidden()
        back = (None,) if last else hidden()
        return own(
            self, submodule, index, stages, device, received, sent.requires_grad_(), back, (None,) if first else hidden(), **named
        )

    PipelineStage.__init__ = init


def run(case):
    """Three steps of torchtitan's trainer."""
    case = complete(case)
    world = world_of(case)
    os.environ.update(RANK=str(case["rank"]), WORLD_SIZE=str(world), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", NGPU=str(world))

    import logging

    import torch
    import torchtitan.distributed.utils
    import torchtitan.models.attention
    import torchtitan.protocols.train_spec
    import torchtitan.train
    from torch.nn.attention import SDPBackend

    logging.disable(logging.CRITICAL)
    spec = torchtitan.protocols.train_spec.get_train_spec("llama3")
    arguments = spec.model_args[case["flavor"]]
    arguments.vocab_size = VOCABULARY
    arguments.n_layers = case["layers"] or arguments.n_layers
    spec = dataclasses.replace(spec, build_tokenizer_fn=None, build_dataloader_fn=None)
    torchtitan.train.train_spec_module.get_train_spec = lambda name: spec
    # cuDNN's attention asks the device for kernels; flash attention keeps the same tensors.
    torchtitan.models.attention.ScaledDotProductAttentionWrapper.sdpa_backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    # torchtitan's own simulation is always rank 0.
    torchtitan.distributed.utils.init_fake_mode = lambda *_: join_nobody(case["rank"], world)
    if case["pp"] > 1:
        tell_shapes(case, arguments.dim)
    trainer = torchtitan.train.Trainer(job_of(case))

    def tokens():
        while True:
            ids = torch.zeros(case["batch"], case["seq"], dtype=torch.long)
            yield {"input": ids}, ids

    batches = trainer.batch_generator(tokens())

    def step():
        trainer.step += 1
        trainer.train_step(batches)

    return last_peak(step)


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["torchtitan"], stage)
