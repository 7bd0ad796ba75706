"""What the simulations beside this file share.

A case is what one run says that differs from the defaults of its script. It runs in a process of its own,
as one member of a group that talks to nobody (PyTorch's "fake" backend), on a GPU that computes nothing
(tools/nullcuda), and becomes a row of tests/vectors/cuda_parallel.json: the scenario as the query of a
link, and the peaks of PyTorch's caching allocator over the last of three steps.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import measure_peak  # noqa: E402

STEPS = 3


def link_of(scenario):
    """A scenario as the query of a link, as tools/measure_peak.py writes it for the same GPU."""
    return measure_peak.without_libraries(urllib.parse.urlencode(scenario))


def hugging_face_scenario(case):
    """The scenario of a run of tools/measure_peak.py, and what of it `case` leaves unsaid."""
    own = {key: case[key] for key in measure_peak.DEFAULTS | {"model": 0, "batch": 0, "sequence": 0} if key in case}
    run = measure_peak.complete(own)
    return dict(urllib.parse.parse_qsl(measure_peak.question_of(run))), run


def join_nobody(rank, world):
    """Makes this process a member of a group whose collectives return at once."""
    import torch
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not measure_peak.computes_nothing(torch):
        raise SystemExit("this needs the GPU that computes nothing: tools/nullcuda/README.md says how to build it")
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    torch.cuda.set_device(0)


def last_peak(step, steps=STEPS):
    """The counters of PyTorch's allocator over the last of a few steps."""
    import torch

    for _ in range(steps):
        torch.cuda.reset_peak_memory_stats()
        step()
    return {"peak_bytes": {"total": torch.cuda.max_memory_allocated()}, "reserved_bytes": torch.cuda.max_memory_reserved()}


def program_of(packages):
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def row_of(case, segments, run, scenario, packages, stage):
    """Runs a case in this process."""
    conf = "expandable_segments:True" if segments == "expandable" else ""
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    question = link_of({**scenario(case), "segments": segments})
    name = measure_peak.name_of(packages[0], **case, segments=segments)
    row = {"id": name, **case, "segments": segments, "question": question, "program": program_of(packages)}
    if stage(case):
        row["stage"] = stage(case)
    try:
        seen = run(case)
    except Exception as error:  # Whatever stops a run is its result.
        message = (str(error).strip().splitlines() or ["no message"])[0]
        return {**row, "peak_bytes": None, "error": f"{type(error).__name__}: {message}"[:300]}
    import torch

    return {**row, "device": torch.cuda.get_device_name(), "torch": torch.__version__, **seen}


def in_own_process(*arguments):
    """A fork of this process, which has not touched the device, runs one case."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        # Programs print on standard output, which is for rows.
        os.dup2(2, 1)
        with os.fdopen(write, "w") as pipe:
            pipe.write(json.dumps(row_of(*arguments)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {**arguments[0], "peak_bytes": None, "error": "the process ended early"}


def main(description, cases, run, scenario, packages, stage=lambda case: ""):
    """The command line of a simulation: its own cases, or those given as JSON."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", help="a case as a JSON object, in the place of the script's own")
    parser.add_argument("--segments", choices=["fixed", "expandable", "both"], default="both", help="PyTorch's expandable_segments")
    parser.add_argument("--out", help="where to write; standard output when absent. Rows of other programs there are kept")
    arguments = parser.parse_args()
    kinds = ["fixed", "expandable"] if arguments.segments == "both" else [arguments.segments]
    rows = []
    for case in [json.loads(case) for case in arguments.case] if arguments.case else cases:
        for segments in kinds:
            rows.append(in_own_process(case, segments, run, scenario, packages, stage))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if arguments.out and pathlib.Path(arguments.out).exists():
        others = json.loads(pathlib.Path(arguments.out).read_text(encoding="utf-8"))
        rows = [row for row in others if row.get("program") != program_of(packages)] + rows
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    if arguments.out:
        pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
