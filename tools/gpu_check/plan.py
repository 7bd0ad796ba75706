"""The plans: which runs are made, chosen and committed before any of them is counted.

A plan has a run of tools/measure_peak.py on each line, in the order in which they are made. Of plan.json the first 79 were
chosen before there was any row of a GPU, the 29 after them when those had been compared: whole models, longer sequences and
bitsandbytes. plan_2.json was chosen when those 108 had been compared: families without a row, adapters on whole models, and
optimizers, lengths and batches that plan.json leaves out. What a run leaves unsaid is that script's default.
"also" names what else is done with the run: "trace" records what the allocator does, "least" searches the least memory with
which it runs.
"""

import dataclasses
import json
import pathlib
import sys
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
PLAN = HERE / "plan.json"

sys.path.insert(0, str(HERE.parent))
import measure_peak  # noqa: E402

Run = dict[str, Any]
# What is done with a run, in the order of the kinds: first every peak, then the rest.
PEAK, TRACE, LEAST = KINDS = ("peak", "trace", "least")


@dataclasses.dataclass(frozen=True)
class Job:
    """One run and what is done with it."""

    kind: str
    run: Run

    @property
    def name(self) -> str:
        """What the run is called, as tools/measure_peak.py calls it."""
        return measure_peak.name_of(**measure_peak.said(self.run))

    @property
    def needs_bitsandbytes(self) -> bool:
        """Whether the run has 8-bit or 4-bit weights or states."""
        return "bitsandbytes" in measure_peak.packages_of(self.run)

    @property
    def key(self) -> str:
        """What tells it from every other job."""
        return f"{self.kind} {self.name}"


def jobs(path: pathlib.Path = PLAN) -> list[Job]:
    """Every job, in the order in which they are done."""
    lines = json.loads(path.read_text(encoding="utf-8"))
    all_jobs = [
        Job(kind, measure_peak.complete({key: value for key, value in line.items() if key != "also"}))
        for kind in KINDS
        for line in lines
        if kind == PEAK or kind in line.get("also", [])
    ]
    keys = [job.key for job in all_jobs]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{path.name} has the same run twice")
    return all_jobs
