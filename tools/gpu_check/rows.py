"""Finished jobs as rows that `make accuracy` reads (tests/vectors/README.md).

A run has three rows, one for each counter, and two more where its least memory was searched: one with which it ran and
one with which it did not. Each carries its scenario as the query of a link.
"""

import re
import urllib.parse
from typing import Any

from plan import LEAST, PEAK, Run, measure_peak

GIB = 2**30
MIB = 2**20

# The names of GPUs that the list of bmax has, as their driver gives them.
SLUGS = {
    "NVIDIA A100-SXM4-80GB": "a100-80",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA H100 80GB HBM3": "h100-80",
    "NVIDIA H200": "h200",
}

Row = dict[str, Any]
Line = dict[str, Any]


def rows_of(lines: list[Line]) -> list[Row]:
    """Every row that the finished jobs give."""
    smallest = {line["name"]: line["least_bytes"] for line in lines if line["kind"] == LEAST and "error" not in line}
    rows = []
    for line in lines:
        if "error" in line:
            continue
        if line["kind"] == PEAK:
            rows += peak_rows(line, smallest.get(line["name"]))
        elif line["kind"] == LEAST:
            rows += verdict_rows(line)
    return rows


def peak_rows(line: Line, least: int | None) -> list[Row]:
    """The three counters of a run."""
    result, process = line["result"], line["process"]
    question = question_of(line["run"], line["machine"], line["machine"]["memory_bytes"])
    counters = [
        ("allocated", "torch.cuda.max_memory_allocated", result["peak_bytes"]["total"]),
        ("reserved", "torch.cuda.max_memory_reserved", result["reserved_bytes"]),
        ("device", process["read_by"], process["bytes"]),
    ]
    rows = [
        head(line, counter, question) | {"kind": "measured", "measured_kind": read_by, "measured_gib": bytes_ / GIB}
        for counter, read_by, bytes_ in counters
    ]
    if least is not None:
        rows[0]["least_bytes"] = least
    return rows


def verdict_rows(line: Line) -> list[Row]:
    """The last two tries of a search, on either side of the least memory, as devices of as much memory and no context."""
    rows = []
    for limit, ran in line["tries"][-2:]:
        question = question_of(line["run"], line["machine"], limit) + "&context=0&comm=0"
        kind = "fit" if ran else "oom"
        rows.append(head(line, kind, question) | {"kind": kind, "gpu_mem": limit / GIB})
    return rows


def head(line: Line, what: str, question: str) -> Row:
    """What every row of a job says: its name, its scenario, and where and with what it ran."""
    machine, run = line["machine"], line["run"]
    layers = f", {run['layers']} layers" if run["layers"] else ""
    return {
        "id": f"{slug(machine['gpu'])} {line['name']}: {what}",
        "model": run["model"] + layers,
        # A GPU that computes nothing is no measurement.
        "tier": "simulated" if machine["nothing"] else "A",
        "question": question,
        "program": line["result"]["program"],
        "source": source_of(machine),
        "gpu": machine["gpu"],
        "gpu_mem": machine["memory_bytes"] / GIB,
        **{key: machine[key] for key in ("driver", "torch", "transformers", "peft", "sdpa", "date")},
    }


def question_of(run: Run, machine: dict[str, Any], memory: int) -> str:
    """The scenario of a run on a device of so many bytes, with what cuBLAS keeps on this machine for each thread."""
    listed = {"gpu": SLUGS[machine["gpu"]]} if machine["gpu"] in SLUGS else {}
    device = listed | {"mem": memory / GIB, "headroom": 0, "workspace": round(machine["workspace_bytes"] / MIB)}
    return f"{measure_peak.question_of(run)}&{urllib.parse.urlencode(device)}"


def source_of(machine: dict[str, Any]) -> str:
    """Whose code ran, as an address, and on what it was run."""
    code = f"https://github.com/huggingface/transformers/tree/v{machine['transformers']}"
    memory = f"{machine['memory_bytes'] / GIB:.1f} GiB"
    how = [f"{machine['gpu']}, {memory}", f"driver {machine['driver']}", f"torch {machine['torch']}", machine["date"]]
    return f"{code} (run by tools/gpu_check.sh on {', '.join(how)})"


def slug(name: str) -> str:
    """A GPU's name as one word: "NVIDIA H100 80GB HBM3" is "h100-80gb-hbm3"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().removeprefix("nvidia ")).strip("-")
