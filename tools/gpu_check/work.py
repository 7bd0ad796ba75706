"""What is done with one run, in a process of its own that has touched no GPU before."""

import datetime
import gc
import importlib.metadata
import os
import platform
import time
import traceback
from types import ModuleType
from typing import Any

import device
from plan import LEAST, PEAK, TRACE, Job, Run, measure_peak

# Names of the packages whose versions are recorded.
PACKAGES = ("transformers", "peft", "accelerate")
# The least memory is found to this part of it.
WITHIN = 0.006
# So far from the least memory, a run is tried once more for a verdict; what is nearer is chance.
AWAY = 0.05
# What libraries may keep of PyTorch's memory from one run to the next, which then need not take it again.
WORKSPACES = 160 * device.MIB
# Events that one trace has at most.
EVENTS = 60_000

Answer = dict[str, Any]


def carry_out(kind: str, run: Run, before: int | None) -> Answer:
    """The result of a job, or the error that ended it. `before` are the bytes of the GPU in use before any run."""
    began = time.monotonic()
    try:
        answer = WORK[kind](run, before)
    except Exception as error:  # Whatever stops a run is its result.
        answer = {"error": message_of(error), "traceback": traceback.format_exc()[-4000:]}
    return answer | {"seconds": round(time.monotonic() - began, 2)}


def message_of(error: Exception) -> str:
    """The first line of an error, with its type."""
    line = (str(error).strip().splitlines() or ["no message"])[0]
    return f"{type(error).__name__}: {line}"[:300]


def take_segments(segments: str) -> None:
    """Sets PyTorch's allocator, which has not been used yet."""
    conf = "expandable_segments:True" if segments == "expandable" else ""
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    if conf:
        import torch

        # Where an import has read the variables already, this is heard all the same; it has had two names.
        newer = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
        (newer or torch.cuda.memory._set_allocator_settings)(conf)


def check_segments(torch: ModuleType, segments: str) -> None:
    """Stops a run whose segments are not those that were asked for."""
    growing = any(segment.get("is_expandable") for segment in torch.cuda.memory_snapshot())
    if growing != (segments == "expandable"):
        raise RuntimeError(f"PyTorch has {'growing' if growing else 'fixed'} segments, not {segments} ones")


def machine(_run: Run, _before: int | None) -> Answer:
    """What the rows say of the machine, and what its libraries take before the first tensor."""
    import torch

    if not torch.cuda.is_available():
        return {"missing": f"PyTorch {torch.__version__} sees no GPU"}
    if torch.version.cuda is None:
        return {"missing": f"PyTorch {torch.__version__} is not built for CUDA"}
    torch.cuda.init()
    gpu = device.identity(torch)
    properties = torch.cuda.get_device_properties(0)
    square = torch.ones(512, 512, device="cuda")
    alone = torch.cuda.memory_allocated()
    (square @ square).sum().item()
    workspace = torch.cuda.memory_allocated() - alone
    holds = device.process_memory(torch, None)
    return {
        "gpu": torch.cuda.get_device_name(0),
        "memory_bytes": properties.total_memory,
        "capability": f"{properties.major}.{properties.minor}",
        "driver": device.driver(gpu),
        "torch": torch.__version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "bf16": torch.cuda.is_bf16_supported(),
        "sdpa": {name: sdpa_kernel(torch, name) for name in ("float32", "bfloat16")},
        "nothing": measure_peak.computes_nothing(torch),
        # What cuBLAS keeps of PyTorch's memory for each thread that multiplies.
        "workspace_bytes": workspace,
        "context_bytes": holds["bytes"] - torch.cuda.memory_reserved(),
        "context_read_by": holds["read_by"],
    }


def sdpa_kernel(torch: ModuleType, kind: str) -> str:
    """The kernel that scaled_dot_product_attention takes here for heads of 64 numbers under a causal mask."""
    heads = torch.ones(1, 8, 128, 64, device="cuda", dtype=getattr(torch, kind), requires_grad=True)
    try:
        return torch.nn.attention.SDPBackend(torch._fused_sdp_choice(heads, heads, heads, is_causal=True)).name
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return "unknown"


def peak(run: Run, before: int | None) -> Answer:
    """The three counters of a run."""
    import torch

    result = measure_peak.measure(run)
    check_segments(torch, run["segments"])
    # No segment was given back since the last step, so that the driver still counts all that was held.
    return {"result": result, "process": device.process_memory(torch, before)}


def trace(run: Run, _before: int | None) -> Answer:
    """What PyTorch's allocator was asked and did, from the first weight to the end of the second step."""
    import torch

    steps: list[int] = []
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=10 * EVENTS)
    result = measure_peak.measure(run, on_step=lambda: steps.append(time.time_ns() // 1000))
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    check_segments(torch, run["segments"])
    return {"result": result, "trace": compact(snapshot["device_traces"][0], steps)}


def compact(events: list[dict[str, Any]], steps: list[int]) -> Answer:
    """A trace as short lists: what was done, where (from the lowest address on) and with how many bytes."""
    actions = sorted({event["action"] for event in events if "addr" in event})
    lowest = min(event["addr"] for event in events if "addr" in event)
    kept = [event for event in events if "addr" in event][:EVENTS]
    return {
        "actions": actions,
        "columns": ["action", "address", "bytes"],
        "lowest_address": lowest,
        # The first event of each step, where the events say when they were.
        "steps": [sum(event.get("time_us", 0) < at for event in kept) for at in steps],
        "left_out": len(events) - len(kept),
        "events": [[actions.index(event["action"]), event["addr"] - lowest, event["size"]] for event in kept],
    }


def least(run: Run, _before: int | None) -> Answer:
    """The least memory of PyTorch's allocator with which a run comes to its end, and a try on either side of it."""
    import torch

    result = measure_peak.measure(run)
    check_segments(torch, run["segments"])
    tries: list[tuple[int, bool]] = []

    def runs(limit: float) -> bool:
        ran = runs_within(torch, run, int(limit))
        tries.append((int(limit), ran))
        return ran

    low, high = result["peak_bytes"]["total"], result["reserved_bytes"] + 2 * device.MIB
    # Building the model may have taken more than a step, and what is enough has to be seen.
    while not runs(high):
        low, high = high, high * 1.1
    while high - low > WITHIN * high:
        middle = (low + high) / 2
        low, high = (low, middle) if runs(middle) else (middle, high)
    for limit in (high * (1 - AWAY), high * (1 + AWAY)):
        runs(limit)
    return {"result": result, "least_bytes": int(high), "tries": tries}


def runs_within(torch: ModuleType, run: Run, limit: int) -> bool:
    """Whether a run comes to its end where PyTorch may take so many bytes and no more."""
    give_back(torch)
    left = torch.cuda.memory_allocated()
    if left > WORKSPACES:
        raise RuntimeError(f"{left} bytes of the run before are still held")
    total = torch.cuda.get_device_properties(0).total_memory
    if limit >= total:
        raise RuntimeError("the GPU is too small to search the least memory")
    torch.cuda.set_per_process_memory_fraction(limit / total)
    try:
        measure_peak.measure(run)
    except RuntimeError as error:
        if not out_of_memory(torch, error):
            raise
        return False
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return True


def out_of_memory(torch: ModuleType, error: RuntimeError) -> bool:
    """Whether an error says that memory was too little. Where the driver's management library cannot list processes, as in
    some containers, PyTorch 2.11 stops over that while it words the message (reportProcessMemoryInfo in
    c10/cuda/CUDACachingAllocator.cpp, which nothing else calls)."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or "NVML_SUCCESS == r" in str(error)


def give_back(torch: ModuleType) -> None:
    """Frees what a run has left: tensors in reference cycles, cuBLAS's workspaces, cached blocks."""
    # An error on its way out of `build` leaves the type of new tensors changed.
    torch.set_default_dtype(torch.float32)
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


MACHINE = "machine"
WORK = {MACHINE: machine, PEAK: peak, TRACE: trace, LEAST: least}


def work_of(job: Job | None, before: int | None) -> Answer:
    """Carries out a job of the plan, or with none of them asks what machine this is."""
    if job is None:
        return carry_out(MACHINE, {}, before)
    take_segments(job.run["segments"])
    return carry_out(job.kind, job.run, before)
