#!/usr/bin/env python3
"""Runs training steps on the GPU of this machine and writes their memory as rows for `make accuracy`.

Called by tools/gpu_check.sh; docs/measurements.md says what for. The runs are those of plan.json, or of another file
(--plan). What is finished is kept in the output folder ($OUT, or target/gpu_check), so that a second call goes on where the
first one stopped:

    runs.jsonl      a line for each job that was done, with its figures or its error
    rows.json       the rows
    traces.json.gz  what PyTorch's allocator did in some of the runs
    log.txt         what was printed
"""

import argparse
import contextlib
import gc
import gzip
import importlib.util
import json
import os
import pathlib
import select
import signal
import sys
import time
from typing import Any, NoReturn

import device
import rows
import work
from plan import PEAK, PLAN, Job, jobs, measure_peak

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("torch", "transformers", "peft", "accelerate")
# Seconds after which no further job begins, and after which one is ended.
BUDGET = 450
LONGEST_JOB = 90
# What must be the same for runs that stand in one folder.
SAME = ("gpu", "memory_bytes", "driver", "torch", "transformers", "peft")
# Exit status: something that the runs need is missing; some runs ended with an error; stopped by a signal.
MISSING, FAILED, STOPPED = 2, 1, 130

Line = dict[str, Any]


def refuse(reason: str) -> NoReturn:
    """Says in one line what is missing."""
    print(f"gpu_check: {reason}", file=sys.stderr)
    raise SystemExit(MISSING)


class Stopped(Exception):
    """A signal asked for the end."""


def stop(*_: object) -> NoReturn:
    raise Stopped


class Folder:
    """The output folder."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.runs = path / "runs.jsonl"
        self.traces = path / "traces.json.gz"
        self.log = (path / "log.txt").open("a", encoding="utf-8", buffering=1)

    def say(self, text: str) -> None:
        """Prints a line and keeps it."""
        print(text, flush=True)
        self.log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    def lines(self) -> list[Line]:
        """What was done so far; the last line may be torn, where a call was ended hard."""
        if not self.runs.exists():
            return []
        read = []
        for text in self.runs.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                read.append(json.loads(text))
        return read

    def add(self, line: Line) -> None:
        """Keeps what a job gave, its trace apart, and writes the rows of all jobs anew."""
        trace = line.pop("trace", None)
        if trace is not None:
            self.add_trace(line, trace)
        torn = self.runs.exists() and not self.runs.read_bytes().endswith(b"\n")
        with self.runs.open("a", encoding="utf-8") as file:
            file.write("\n" * torn + json.dumps(line) + "\n")
        self.write_rows()

    def add_trace(self, line: Line, trace: dict[str, Any]) -> None:
        """Writes all traces anew with one more."""
        traces = {}
        if self.traces.exists():
            traces = json.loads(gzip.decompress(self.traces.read_bytes()))
        said = {key: line["result"][key] for key in ("question", "peak_bytes", "reserved_bytes")}
        traces[line["name"]] = {"machine": line["machine"], **said, **trace}
        replace(self.traces, gzip.compress(json.dumps(traces, separators=(",", ":")).encode(), mtime=0))

    def write_rows(self) -> None:
        """Writes rows.json."""
        text = ",\n".join(json.dumps(row) for row in rows.rows_of(self.lines()))
        replace(self.path / "rows.json", f"[\n{text}\n]\n".encode())


def replace(path: pathlib.Path, content: bytes) -> None:
    """Writes a file so that it is never seen half written."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(content)
    beside.replace(path)


class Processes:
    """Starts a process for each job: a copy of this one, which has imported everything and touched no GPU, where that
    can use the GPU, and else a new interpreter."""

    def __init__(self) -> None:
        self.copies = True
        self.child = 0

    def answer(self, job: Job | None, before: int | None, seconds: float) -> work.Answer | None:
        """What a job gives, or an error where its process dies; None where it is not done after `seconds`."""
        read, write = os.pipe()
        os.set_inheritable(write, True)
        self.child = self.copy(job, before, read, write) if self.copies else self.interpreter(job, before, write)
        os.close(write)
        text = read_all(read, time.monotonic() + seconds)
        if text is None:
            os.kill(self.child, signal.SIGKILL)
        _, status = os.waitpid(self.child, 0)
        self.child = 0
        if text is None:
            return None
        return json.loads(text) if text else {"error": f"its process ended with {status}"}

    @staticmethod
    def copy(job: Job | None, before: int | None, read: int, write: int) -> int:
        child = os.fork()
        if child == 0:
            os.close(read)
            quietly(job, before, write)
        return child

    @staticmethod
    def interpreter(job: Job | None, before: int | None, write: int) -> int:
        asked = json.dumps([job and job.kind, job and job.run, before, write])
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), "--job", asked]
        # Its end is waited for by its number, as that of a copy.
        return os.posix_spawn(sys.executable, command, os.environ)

    def end(self) -> None:
        """Ends the job in progress."""
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)


def quietly(job: Job | None, before: int | None, write: int) -> NoReturn:
    """Does a job in this process, hands over what it gives, and ends without cleaning up what is not this process's."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.dup2(2, 1)
    with os.fdopen(write, "w", encoding="utf-8") as pipe:
        pipe.write(json.dumps(work.work_of(job, before)))
    os._exit(0)


def read_all(read: int, until: float) -> str | None:
    """Everything that comes out of a pipe, or None where it is still open at a time."""
    parts = []
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            part = pipe.read(1 << 20)
            if not part:
                return b"".join(parts).decode()
            parts.append(part)


def needs() -> None:
    """Checks what can be checked without a GPU."""
    if not hasattr(os, "fork"):
        refuse("Linux is needed")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        refuse(f"{sys.executable} has no {', '.join(missing)}")
    if not measure_peak.CONFIGURATIONS.is_dir():
        refuse(f"{measure_peak.CONFIGURATIONS} is not there: the command runs in the whole repository")


def preload(planned: list[Job]) -> None:
    """Imports what the jobs need, and nothing that touches a GPU."""
    try:
        import peft  # noqa: F401
        import torch  # noqa: F401
        import transformers
    except Exception as error:  # A package that does not go with another one ends in any kind of error.
        refuse(f"{sys.executable} cannot import what is needed: {work.message_of(error)}")
    transformers.utils.logging.set_verbosity_error()
    for run in (job.run for job in planned if job.kind == PEAK):
        # A class is imported when it is first asked for; one that cannot be is the error of its own run.
        with contextlib.suppress(Exception):
            measure_peak.class_of(run)._model_mapping[type(measure_peak.config_of(run))]
    # Collections of garbage need not look at all that again, in each of the copies.
    gc.freeze()


def machine_of(processes: Processes) -> dict[str, Any]:
    """The machine, or the end where it has no GPU."""
    answer = processes.answer(None, None, LONGEST_JOB)
    if answer is None or "error" in answer:
        # An import may have asked for the GPU already, and then no copy of this process can use it.
        processes.copies = False
        answer = processes.answer(None, None, LONGEST_JOB)
    if answer is None:
        refuse(f"the GPU does not answer in {LONGEST_JOB} s")
    if "error" in answer:
        refuse(f"the GPU cannot be used: {answer['error']}")
    if "missing" in answer:
        refuse(answer["missing"])
    del answer["seconds"]
    return answer


def done_before(folder: Folder, machine: dict[str, Any]) -> set[str]:
    """The jobs that the folder has already. Another machine's are not added to."""
    lines = folder.lines()
    for line in lines:
        for key in SAME:
            if line["machine"][key] != machine[key]:
                refuse(f"{folder.path} has runs of {key} {line['machine'][key]}, this is {machine[key]}: empty it or set OUT")
    return {f"{line['kind']} {line['name']}" for line in lines if "error" not in line}


def told(answer: work.Answer) -> str:
    """A result in a few words."""
    if "error" in answer:
        return answer["error"]
    result = answer["result"]
    words = [f"{result['peak_bytes']['total'] / rows.GIB:.2f} GiB allocated", f"{result['reserved_bytes'] / rows.GIB:.2f} reserved"]
    if "process" in answer:
        words.append(f"{answer['process']['bytes'] / rows.GIB:.2f} of the device")
    if "least_bytes" in answer:
        words.append(f"{answer['least_bytes'] / rows.GIB:.2f} at least, after {len(answer['tries'])} tries")
    if "trace" in answer:
        words.append(f"{len(answer['trace']['events'])} events")
    return ", ".join(words)


def run_all(planned: list[Job], folder: Folder, processes: Processes, until: float) -> int:
    """Does what is left of the plan, as far as the time goes; the exit status."""
    machine = machine_of(processes)
    done = done_before(folder, machine)
    wanted = [job for job in planned if job.key not in done]
    if importlib.util.find_spec("bitsandbytes") is None:
        without = [job for job in wanted if not job.needs_bitsandbytes]
        if len(without) < len(wanted):
            folder.say(f"{sys.executable} has no bitsandbytes: {len(wanted) - len(without)} jobs are left out")
        wanted = without
    folder.say(f"{machine['gpu']}, {machine['memory_bytes'] / rows.GIB:.1f} GiB, driver {machine['driver']}, torch {machine['torch']}, "
               f"transformers {machine['transformers']}, peft {machine['peft']}: {len(wanted)} of {len(planned)} jobs to do")
    before = device.used("")
    failed = 0
    for number, job in enumerate(wanted):
        left = until - time.monotonic()
        answer = processes.answer(job, before, min(LONGEST_JOB, left)) if left > 0 else None
        if answer is None and left < LONGEST_JOB:
            folder.say(f"the time is over; {len(wanted) - number} jobs are left for another call")
            break
        answer = answer or {"error": f"it was not done after {LONGEST_JOB} s"}
        failed += "error" in answer
        folder.log.write(answer.pop("traceback", ""))
        folder.say(f"{number + 1}/{len(wanted)} {job.key}: {told(answer)} ({answer.get('seconds', '?')} s)")
        folder.add({"kind": job.kind, "name": job.name, "run": job.run, "machine": machine, **answer})
    else:
        folder.say("the plan is done")
    if failed:
        folder.say(f"{failed} jobs ended with an error; another call tries them again")
    return FAILED if failed else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=BUDGET, help=f"stop after so many, {BUDGET} if not said; another call goes on")
    parser.add_argument("--plan", type=pathlib.Path, default=PLAN, help=f"the plan, {PLAN.name} beside this script if not said")
    parser.add_argument("--list", action="store_true", help="print the plan, and do nothing")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    until = time.monotonic()
    arguments = parsed()
    if arguments.job:
        kind, run, before, write = json.loads(arguments.job)
        quietly(kind and Job(kind, run), before, write)
    planned = jobs(arguments.plan)
    if arguments.list:
        print("\n".join(job.key for job in planned))
        return 0
    needs()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    folder = Folder(pathlib.Path(os.environ.get("OUT") or ROOT / "target" / "gpu_check"))
    processes, awake = Processes(), device.keep_awake()
    try:
        preload(planned)
        return run_all(planned, folder, processes, until + arguments.seconds)
    except Stopped:
        folder.say("stopped; another call goes on from here")
        return STOPPED
    finally:
        processes.end()
        if awake:
            awake.terminate()
            awake.wait()


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Taking down all that was imported takes seconds, up to a minute on a busy machine, and gives nothing back.
    os._exit(status)
