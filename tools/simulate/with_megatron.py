#!/usr/bin/env python3
"""Runs Megatron Core with layers of Transformer Engine, one rank at a time: what `get_model`, `train_step` and pretrain_gpt.py of
Megatron-LM do with it, without their arguments and data.

    PYTHONPATH=FOLDER_WITH_MEGATRON_CORE python3 tools/simulate/with_megatron.py --case '{"kv": 4, "ffn": 5632}'

It needs torch, megatron-core 0.16.1, transformer-engine 2.20.2 and the GPU of tools/nullcuda. Of Transformer Engine the Python code
runs; its C++ functions are those of the folder megatron/ here, which ask for the same tensors. PyTorch compiles what Megatron Core
has compiled, and launches nothing.
"""

import os
import pathlib
import sys

from simulate import join_nobody, last_peak, main

DEFAULTS = {
    "layers": 2, "hidden": 2048, "heads": 16, "kv": 0, "head_dim": 0, "ffn": 0, "vocab": 32000, "seq": 1024, "batch": 2, "accum": 1,
    "dp": 1, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "vpp": 0, "sp": False, "rank": 0, "like": "llama", "tied": None, "bias": None,
    "dropout": 0.0, "dist": False, "grad": 32, "recompute": "none", "fused_loss": False, "experts": 0, "topk": 2, "overlap": False,
}


def complete(case):
    return {**DEFAULTS, **case}


def world_of(case):
    return case["dp"] * case["tp"] * case["pp"] * case["cp"]


def scenario(case):
    case = complete(case)
    llama = case["like"] == "llama"
    tied = not llama if case["tied"] is None else case["tied"]
    bias = not llama if case["bias"] is None else case["bias"]
    asked = {
        "v": 4, "gpu": "a100-80", "model": "own", "engine": "megatron", "layers": case["layers"], "hidden": case["hidden"], "heads": case["heads"],
        "kv": case["kv"] or case["heads"], "head_dim": case["head_dim"] or case["hidden"] // case["heads"],
        "ffn": case["ffn"], "vocab": case["vocab"], "s": case["seq"], "b": case["batch"], "accum": case["accum"],
        "gpus": world_of(case), "tp": case["tp"], "pp": case["pp"], "cp": case["cp"], "zero": int(case["dist"]),
        "sp": "on" if case["sp"] else "off",
        "norm": "rmsnorm" if llama else "layernorm", "norms": 2, "tied": "on" if tied else "off", "bias": "all" if bias else "none",
        "mlp": "gated" if llama else "gelu", "position": "rotary" if llama else "learned",
        "kernels": "fused", "attn": "flash", "step": "fused", "optimizer": "adamw", "precision": "bf16", "grad": case["grad"],
        "dropout": "on" if case["dropout"] else "off", "recompute": case["recompute"],
        "loss": "vocab-parallel-fused" if case["fused_loss"] else "vocab-parallel",
    }
    return asked


def start():
    os.environ.update(NVTE_PROJECT_BUILDING="1", TORCHINDUCTOR_COMPILE_THREADS="1", CUDA_DEVICE_MAX_CONNECTIONS="1", NVTE_FUSED_ATTN="1")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "megatron"))
    import torch
    import torch._inductor.runtime.triton_heuristics as heuristics
    import triton.runtime.jit
    triton.runtime.jit.JITFunction.run = lambda self, *_, **__: None
    heuristics.CachingAutotuner.precompile = lambda self, *_, **__: None
    heuristics.CachingAutotuner.run = lambda self, *_, **__: None
    import transformer_engine_torch
    import transformer_engine.common
    transformer_engine.common.load_framework_extension = lambda _: None
    import transformer_engine.pytorch
    import logging
    logging.disable(logging.CRITICAL)


def run(case):
    case = complete(case)
    world = world_of(case)
    os.environ.update(RANK=str(case["rank"]), WORLD_SIZE=str(world), LOCAL_RANK="0")
    start()
    import functools
    import torch
    import torch.distributed
    from megatron.core import parallel_state as mpu, tensor_parallel
    join_nobody(case["rank"], world)
    mpu.initialize_model_parallel(case["tp"], case["pp"], case["vpp"] or None, context_parallel_size=case["cp"],
                                  expert_model_parallel_size=case["ep"], create_gloo_process_groups=False)
    from megatron.core.num_microbatches_calculator import init_num_microbatches_calculator
    from megatron.core.rerun_state_machine import initialize_rerun_state_machine, get_rerun_state_machine, RerunMode
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec, get_gpt_decoder_block_spec
    from megatron.core.transformer.transformer_config import TransformerConfig
    from megatron.core.transformer.module import Float16Module
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.utils import get_attr_wrapped_model
    initialize_rerun_state_machine(mode=RerunMode.DISABLED)
    torch.manual_seed(1)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    llama = case["like"] == "llama"
    tied = not llama if case["tied"] is None else case["tied"]
    bias = not llama if case["bias"] is None else case["bias"]
    recompute = {"none": {}, "selective": {"recompute_granularity": "selective", "recompute_modules": ["core_attn"]},
                 "full": {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}}[case["recompute"]]
    moe = {}
    if case["experts"]:
        moe = dict(num_moe_experts=case["experts"], moe_router_topk=case["topk"], moe_grouped_gemm=True, moe_token_dispatcher_type="alltoall",
                   moe_ffn_hidden_size=case["ffn"], moe_aux_loss_coeff=1e-2)
    config = TransformerConfig(
        num_layers=case["layers"], hidden_size=case["hidden"], num_attention_heads=case["heads"], num_query_groups=case["kv"] or case["heads"],
        kv_channels=case["head_dim"] or case["hidden"] // case["heads"], ffn_hidden_size=case["ffn"] or 4 * case["hidden"],
        hidden_dropout=case["dropout"], attention_dropout=case["dropout"], normalization="RMSNorm" if llama else "LayerNorm",
        gated_linear_unit=llama, activation_func=torch.nn.functional.silu if llama else torch.nn.functional.gelu, add_bias_linear=bias,
        bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, tensor_model_parallel_size=case["tp"],
        pipeline_model_parallel_size=case["pp"], virtual_pipeline_model_parallel_size=case["vpp"] or None, context_parallel_size=case["cp"],
        expert_model_parallel_size=case["ep"],
        sequence_parallel=case["sp"], gradient_accumulation_fusion=True, bias_activation_fusion=True, bias_dropout_fusion=True, apply_rope_fusion=True,
        masked_softmax_fusion=True, cross_entropy_loss_fusion=case["fused_loss"], deallocate_pipeline_outputs=True,
        batch_p2p_comm=True, overlap_p2p_comm=False, **recompute, **moe)
    chunks = []
    for stage in range(case["vpp"] or 1):
        if moe:
            spec = get_gpt_decoder_block_spec(config, use_transformer_engine=True, vp_stage=stage if case["vpp"] else None)
        else:
            spec = get_gpt_layer_with_transformer_engine_spec(None, False, False, False)
        vp = dict(vp_stage=stage) if case["vpp"] else {}
        pre = mpu.is_pipeline_first_stage(ignore_virtual=not case["vpp"], **vp)
        post = mpu.is_pipeline_last_stage(ignore_virtual=not case["vpp"], **vp)
        chunk = GPTModel(config=config, transformer_layer_spec=spec, vocab_size=case["vocab"], max_sequence_length=case["seq"], pre_process=pre,
                         post_process=post, fp16_lm_cross_entropy=False, parallel_output=True, share_embeddings_and_output_weights=tied,
                         position_embedding_type="rope" if llama else "learned_absolute", **vp)
        chunk.model_type = None
        chunks.append(chunk)
    for chunk in chunks:
        for parameter in chunk.parameters():
            tensor_parallel.set_defaults_if_not_set_tensor_model_parallel_attributes(parameter)
        chunk.cuda()
    chunks = [Float16Module(config, chunk) for chunk in chunks]
    ddp = DistributedDataParallelConfig(grad_reduce_in_fp32=case["grad"] == 32, overlap_grad_reduce=case["overlap"], overlap_param_gather=case["overlap"],
                                        use_distributed_optimizer=case["dist"], check_for_nan_in_grad=True,
                                        bucket_size=max(40000000, 1000000 * case["dp"]) if case["overlap"] else None)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        chunks = [DistributedDataParallel(config=config, ddp_config=ddp, module=chunk, disable_bucketing=place > 0) for place, chunk in enumerate(chunks)]
    torch.cuda.current_stream().wait_stream(stream)
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, weight_decay=0.01, bf16=True, params_dtype=torch.bfloat16,
        use_distributed_optimizer=case["dist"], clip_grad=1.0, overlap_param_gather=case["overlap"]), chunks, use_gloo_process_groups=False)
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    if case["overlap"]:
        config.no_sync_func = [c.no_sync for c in chunks] if len(chunks) > 1 else chunks[0].no_sync
    torch.cuda.empty_cache()

    size = (case["batch"], case["seq"])
    def tokens():
        while True:
            ids = torch.zeros(size, dtype=torch.long)
            yield {"tokens": ids, "labels": ids, "loss_mask": torch.ones(size), "position_ids": ids}

    def get_batch(data, stage):
        vp = dict(vp_stage=stage) if case["vpp"] else {}
        first = mpu.is_pipeline_first_stage(ignore_virtual=not case["vpp"], **vp)
        last = mpu.is_pipeline_last_stage(ignore_virtual=not case["vpp"], **vp)
        if not first and not last:
            return None, None, None, None, None
        data = next(data)
        batch = {key: data[key].cuda(non_blocking=True) for key in ("tokens", "labels", "loss_mask", "position_ids")}
        return batch["tokens"], batch["labels"], batch["loss_mask"], None, batch["position_ids"]

    def loss_func(loss_mask, output_tensor, model=None):
        losses = output_tensor.view(-1).float()
        loss_mask = loss_mask.view(-1).float()
        loss = torch.sum(losses * loss_mask)
        num_tokens = loss_mask.sum().clone().detach().to(torch.int)
        report = {"lm loss": torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])}
        rerun = get_rerun_state_machine()
        rerun.validate_result(result=loss, rejection_func=torch.isnan, message="nan", tolerance=0.0, fatal=True)
        rerun.validate_result(result=loss, rejection_func=torch.isinf, message="inf", tolerance=0.0, fatal=True)
        return loss, num_tokens, report

    def forward_step(data, model, return_schedule_plan=False):
        on_forward()
        tokens, labels, loss_mask, attention_mask, position_ids = get_batch(data, get_attr_wrapped_model(model, "vp_stage"))
        output_tensor = model(tokens, position_ids, attention_mask, labels=labels, loss_mask=loss_mask, packed_seq_params=None)
        return output_tensor, functools.partial(loss_func, loss_mask, model=model)

    data = [tokens() for _ in chunks] if len(chunks) > 1 else tokens()

    def step():
        for chunk in chunks:
            chunk.zero_grad_buffer()
        optimizer.zero_grad()
        losses_reduced = get_forward_backward_func()(
            forward_step_func=forward_step, data_iterator=data, model=chunks, num_microbatches=case["accum"], seq_length=case["seq"],
            micro_batch_size=case["batch"], decoder_seq_length=case["seq"], forward_only=False)
        on_optimizer()
        updated, grad_norm, _ = optimizer.step()
        if mpu.is_pipeline_last_stage(ignore_virtual=True):
            loss_reduced = {}
            for key in losses_reduced[0].keys():
                val = [x[key].view(-1) for x in losses_reduced]
                val = torch.vstack(val).sum(dim=0)
                torch.distributed.all_reduce(val, group=mpu.get_data_parallel_group(with_context_parallel=True))
                loss_reduced[key] = val[0] / val[1]
            return loss_reduced

    return last_peak(step)


def on_forward():
    """A micro-batch is about to run forward."""


def on_optimizer():
    """The optimizer is about to update."""


if __name__ == "__main__":
    main(__doc__, [], run, scenario, ["megatron-core", "transformer-engine"])
