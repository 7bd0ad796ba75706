#!/usr/bin/env python3
"""Records what PyTorch's caching allocator is asked for, in order, in two training steps.

Each row is a process of its own on the GPU that computes nothing (tools/nullcuda), which makes a model and
trains it as tools/measure_peak.py does, or as the scripts of tools/simulate do for other programs. What the
allocator was asked for becomes tests/traces/NAME.trace.gz; the README there says how such a file is read.

    python3 tools/trace/record.py --all
    python3 tools/trace/record.py llama gpt2-amp-dropout
    python3 tools/trace/record.py --run '{"model": "gpt2", "batch": 8, "sequence": 1024, "layers": 2}' --out . mine

It needs what tools/measure_peak.py needs, and for some rows trl and deepspeed.
"""

import argparse
import contextlib
import gc
import gzip
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "simulate")]
import measure_peak  # noqa: E402
import recipes  # noqa: E402
import simulate  # noqa: E402
from rows import ROWS  # noqa: E402

# Optimizer steps of a row.
STEPS = 2
TRACES = ROOT / "tests" / "traces"

# Whose frames a stack is named by.
SHOWN = (
    "/transformers/", "/peft/", "/torch/optim/", "/torch/utils/checkpoint.py", "/tools/measure_peak.py", "/tools/simulate/", "/tools/trace/",
    "/trl/", "/deepspeed/", "/torch/distributed/fsdp/", "/torch/distributed/pipelining/", "/torch/nn/parallel/",
    "/torchtitan/", "/liger_kernel/", "/flash_attn/", "/torchtune/", "/torchao/", "/galore_torch/", "/apollo_torch/", "/lion_pytorch/",
    "/bitsandbytes/", "/megatron/core/", "/transformer_engine/",
)


class Recorder:
    """PyTorch's own history of its allocator, and marks between its events."""

    def __init__(self):
        import torch

        self.marks, self.peaks = [], []
        torch.cuda.init()
        torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=10_000_000)
        self.mark("build")

    def count(self):
        """How often the allocator has been asked for memory and given it back."""
        import torch

        counts = torch.cuda.memory_stats()
        return counts.get("allocation.all.allocated", 0) + counts.get("allocation.all.freed", 0)

    def mark(self, label):
        """Puts a mark behind all that the allocator has been asked for until now."""
        self.marks.append((self.count(), label))

    def begin_step(self):
        """What stands from here on counts for the peaks of a step."""
        import torch

        torch.cuda.reset_peak_memory_stats()

    def end_step(self):
        """Notes the peaks of a step. What comes after the last one, and takes the model down, is left out."""
        import torch

        self.peaks.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()])
        if len(self.peaks) == STEPS:
            self.mark("end")

    def lines(self):
        """The marks and the events, one a line."""
        import torch

        # Nothing is to be given back while the history is read.
        gc.collect()
        events = torch.cuda.memory._snapshot()["device_traces"][0]
        events = [event for event in events if event["action"] in ("alloc", "free_requested")]
        assert len(events) == self.count(), "an event lies outside of the history"
        events, marks = events[: self.marks[-1][0]], self.marks[::-1]
        numbers, frames, streams, count = {}, {}, {0: 0}, 0
        # Autocast gives its copies back in the order of a hash table of addresses, which differs from run to run: they
        # are put in the order in which they were made.
        cached = []
        for place, event in enumerate(events):
            freed = numbers.pop(event["addr"]) if event["action"] == "free_requested" else None
            if freed is not None and any("autocast_mode.py" in frame["filename"] for frame in event["frames"][:1]):
                cached.append(freed)
                continue
            yield from (f"- {number}" for number in sorted(cached))
            cached.clear()
            while marks[-1][0] <= place:
                yield f"# {marks.pop()[1]}"
            if freed is not None:
                yield f"- {freed}"
                continue
            numbers[event["addr"]] = count
            count += 1
            text = stack_of(event["frames"])
            if text not in frames:
                frames[text] = len(frames)
                yield f"f {text}".rstrip()
            stream = streams.setdefault(event["stream"], len(streams))
            yield f"+ {event['size']} {frames[text]}" + (f" {stream}" if stream else "")
        for _, label in reversed(marks):
            yield f"# {label}"


def stack_of(frames):
    """A stack by its innermost three frames that are shown. Lines of the project's own scripts come and go and are left out."""

    def named(frame):
        path = frame["filename"]
        line = "" if path.startswith(f"{ROOT}/tools/") else f":{frame['line']}"
        return f"{path.rsplit('/', 1)[-1]}{line} {frame['name']}"

    return " < ".join([named(frame) for frame in frames if any(part in frame["filename"] for part in SHOWN)][:3])


def train_lengths(case, recorder):
    """The same of sequences whose lengths differ, as tools/simulate/with_lengths.py has them."""
    import torch
    import with_lengths

    _, run = with_lengths.hugging_face_scenario(case)
    measure_peak.unpack_nothing()
    model = measure_peak.build(run, "cuda")
    optimizer = measure_peak.optimizer_of(run, model, "cuda")
    with_lengths.attend(model, run, case["lengths"])
    torch.cuda.empty_cache()
    recorder.mark("loaded")
    given = with_lengths.batch_of(run, case["lengths"])
    steps(recorder, {**run, "logits": "dropped"}, model, optimizer, given, run["precision"] == "amp")
    return with_lengths.link_of({**with_lengths.scenario(case), "segments": "fixed"})


def train(run, recorder):
    """The steps of tools/measure_peak.py."""
    import torch

    measure_peak.unpack_nothing()
    model = measure_peak.build(run, "cuda")
    optimizer = measure_peak.optimizer_of(run, model, "cuda")
    torch.cuda.empty_cache()
    recorder.mark("loaded")
    tokens = torch.randint(model.config.get_text_config().vocab_size, (run["batch"], run["sequence"]), device="cuda")
    labels = torch.zeros(run["batch"], dtype=torch.long, device="cuda") if run["loss"] == "classifier" else tokens
    steps(recorder, run, model, optimizer, {"input_ids": tokens, "labels": labels}, run["precision"] == "amp")


def steps(recorder, run, model, optimizer, given, autocast):
    """Forward and backward pass of each micro-batch, the optimizer, and the gradients given back."""
    import torch

    for _ in range(STEPS):
        recorder.begin_step()
        for _ in range(run["accum"]):
            recorder.mark("forward")
            with torch.autocast("cuda", dtype=torch.bfloat16) if autocast else contextlib.nullcontext():
                output = model(**given)
            loss = output.loss
            if run["logits"] == "dropped":
                # The logits would stay alive with the rest of the output.
                del output
            recorder.mark("backward")
            loss.backward()
            output = loss = None
        recorder.mark("optimizer")
        optimizer.step()
        recorder.mark("zero")
        optimizer.zero_grad(set_to_none=True)
        recorder.end_step()


def record(name, row, out):
    """Runs a row in this process and writes its file."""
    import torch
    import transformers

    if not measure_peak.computes_nothing(torch):
        raise SystemExit("this needs the GPU that computes nothing: tools/nullcuda/README.md says how to build it")
    recipes.launch_nothing()
    recorder = Recorder()
    if "with" in row:
        import programs

        programs.mark_empty_caches(recorder)
        case = {key: value for key, value in row.items() if key != "with"}
        scenario, packages = getattr(programs, row["with"])(case, recorder)
        said = {**row, "program": simulate.program_of(packages)}
        question = simulate.link_of(scenario)
    elif "lengths" in row:
        question, said = train_lengths(row, recorder), row
    else:
        run = measure_peak.complete(row)
        train(run, recorder)
        said = measure_peak.said(run) | ({"override": run["override"]} if "override" in run else {})
        question = measure_peak.without_libraries(measure_peak.question_of(run))
    lines = list(recorder.lines())
    head = {
        "run": said, "question": question, "torch": torch.__version__, "transformers": transformers.__version__,
        "capability": int("%d%d" % torch.cuda.get_device_capability()), "steps": STEPS, "peaks": recorder.peaks,
    }
    assert len(recorder.peaks) == STEPS, recorder.peaks
    text = "\n".join([json.dumps(head), *lines]) + "\n"
    # Without a time in it, so that the same record is the same file.
    path = out / f"{name}.trace.gz"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{name}: {sum(line[0] in '+-' for line in lines)} events, {path.stat().st_size} bytes, peaks {recorder.peaks}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows to record")
    parser.add_argument("--all", action="store_true", help="every row")
    parser.add_argument("--run", help="a row as a JSON object, for a name that is none of the script's own")
    parser.add_argument("--out", type=pathlib.Path, default=TRACES, help="the folder of the files")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if bool(arguments.names) == arguments.all or arguments.run and len(arguments.names) != 1:
        parser.error("say names of rows, or one name and --run, or --all")
    if arguments.here:
        record(arguments.names[0], json.loads(arguments.run), arguments.out)
        return
    failed = []
    for name in ROWS if arguments.all else arguments.names:
        row = arguments.run or json.dumps(ROWS[name])
        command = [sys.executable, "-W", "ignore", __file__, "--here", "--out", arguments.out, "--run", row, name]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTORCH_ALLOC_CONF": "", "PYTORCH_CUDA_ALLOC_CONF": ""}
        if subprocess.run(command, env=environment).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {' '.join(failed)}")


if __name__ == "__main__":
    main()
