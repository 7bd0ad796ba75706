"""What the driver says of the GPU: who holds how much of its memory, and which GPU and driver it is."""

import os
import subprocess
from types import ModuleType
from typing import Any

MIB = 2**20
SECONDS = 20


def asked(*query: str, gpu: str = "") -> list[list[str]]:
    """The cells of nvidia-smi's answer, a list a line; nothing where there is no answer."""
    command = ["nvidia-smi", *query, "--format=csv,noheader,nounits", *([f"--id={gpu}"] if gpu else [])]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in answer.splitlines() if line.strip()]


def whole(cell: str) -> int | None:
    """A whole number, where nvidia-smi has one and not "[N/A]"."""
    return int(cell) if cell.isdigit() else None


def held_by(process: int, gpu: str) -> int | None:
    """Bytes of the GPU's memory that a process holds, as nvidia-smi shows it."""
    for cells in asked("--query-compute-apps=pid,used_memory", gpu=gpu):
        if len(cells) == 2 and cells[0] == str(process):
            mib = whole(cells[1])
            return None if mib is None else mib * MIB
    return None


def used(gpu: str) -> int | None:
    """Bytes of the GPU's memory that are in use, by whomever."""
    cells = asked("--query-gpu=memory.used", gpu=gpu)
    mib = whole(cells[0][0]) if len(cells) == 1 else None
    return None if mib is None else mib * MIB


def driver(gpu: str) -> str:
    """The driver's version."""
    cells = asked("--query-gpu=driver_version", gpu=gpu)
    return cells[0][0] if cells else "unknown"


def keep_awake() -> "subprocess.Popen[bytes] | None":
    """A program that keeps the driver loaded between the runs, so that none of them waits for it; it holds no memory."""
    try:
        return subprocess.Popen(
            ["nvidia-smi", "--query-gpu=name", "--format=csv", "--loop=600"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def identity(torch: ModuleType) -> str:
    """The name by which nvidia-smi finds the GPU that PyTorch uses; empty where PyTorch does not say it."""
    name = str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))
    return f"GPU-{name.removeprefix('GPU-')}" if name else ""


def process_memory(torch: ModuleType, before: int | None) -> dict[str, Any]:
    """What this process holds of the GPU, context included, and how that was read.

    Where nvidia-smi does not show processes, as in some containers, it is what the GPU holds beyond what it held before
    any run. Where there is no nvidia-smi, it is what the driver says is not free, whoever holds it. A reading below what
    PyTorch itself holds is of something else and is not taken.
    """
    torch.cuda.synchronize()
    held = torch.cuda.memory_reserved()
    gpu = identity(torch)
    own = held_by(os.getpid(), gpu)
    if own is not None and own >= held:
        return {"bytes": own, "read_by": "nvidia-smi, the process"}
    now = used(gpu)
    if now is not None and before is not None and now - before >= held:
        return {"bytes": now - before, "read_by": "nvidia-smi, the GPU less what it held before"}
    free, total = torch.cuda.mem_get_info()
    return {"bytes": total - free, "read_by": "device memory that is not free, by cudaMemGetInfo"}
