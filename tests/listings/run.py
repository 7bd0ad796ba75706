"""Runs the programs of the course with PyTorch, on a CPU.

    run.py     (tools/exports.sh calls it)

The programs are those of files/, to which a test of `make test` holds the code. What runs is what a reader
copies, but for one word: "cuda" and "mps" are replaced by "cpu". Each program gets a model of a few thousand
weights and data of random tokens, in which sequences differ in their number of targets. RESULT.md says what
was checked.
"""

import datetime
import json
import pathlib
import platform
import re
import sys
import tempfile
import traceback
import urllib.parse

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

HERE = pathlib.Path(__file__).resolve().parent
VOCABULARY, WIDTH, LAYERS, LENGTH, CLASSES = 32, 16, 7, 12, 3
# How far a gradient may be from that of fp32, as a part of the largest one.
CLOSE = {"fp32": 1e-5, "fp16": 2e-2, "bf16": 1e-1, "autocast": 1e-1, "mixed": 1e-1, "bf16-pure": 1e-1}


class Block(nn.Module):
    runs = 0

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        Block.runs += 1
        q, k, v = self.qkv(self.norm(x)).unsqueeze(1).chunk(3, dim=-1)
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1)
        return x + self.dropout(self.down(F.gelu(self.up(x))))


class Model(nn.Module):
    def __init__(self, classes=0):
        super().__init__()
        self.classes = classes
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, classes or VOCABULARY)

    def forward(self, inputs):
        x = self.embedding(inputs)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x[:, -1] if self.classes else x)


def model_of(question, seed=1):
    torch.manual_seed(seed)
    return Model(CLASSES if question.get("loss") == "classifier" else 0)


def batches(question, count, seed):
    """Micro-batches of the scenario's size, whose sequences have half to all of their targets."""
    draw = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        shape = (int(question["b"]), LENGTH)
        inputs = torch.randint(VOCABULARY, shape, generator=draw)
        if question.get("loss") == "classifier":
            made.append((inputs, torch.randint(CLASSES, shape[:1], generator=draw)))
            continue
        targets = torch.randint(VOCABULARY, shape, generator=draw)
        for row, kept in zip(targets, torch.randint(LENGTH // 2, LENGTH + 1, shape[:1], generator=draw)):
            row[kept:] = -100
        made.append((inputs, targets))
    return made


def loss_of(model, inputs, targets, **options):
    logits = model(inputs)
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), **options)


def run(text, **names):
    """Runs a program with the reader's names."""
    scope = dict(names)
    exec(compile(re.sub(r'"(cuda|mps)"', '"cpu"', text), "listing.py", "exec"), scope)
    return scope


def gradients(model):
    return [parameter.grad.detach().clone().float() for parameter in model.parameters()]


def close(found, wanted, part):
    """Whether gradients agree, up to a part of the largest element."""
    size = max(float(each.abs().max()) for each in wanted)
    return max(float((one - other).abs().max()) for one, other in zip(found, wanted, strict=True)) <= part * size


def alone(work, *arguments):
    """A process group of one, for what asks for one."""
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
        try:
            return work(*arguments)
        finally:
            dist.destroy_process_group()


# --- One check a program ------------------------------------------------------------------------------


def autocast(text, question):
    precision = question.get("precision", "bf16")
    loader = batches(question, 3, seed=2)
    model, plain = model_of(question), model_of(question)
    rate, seen, types, norms = 0.5, [], set(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    # FSDP's program makes an optimizer of its own; the hook is on every one.
    make = torch.optim.AdamW
    torch.optim.AdamW = lambda parameters: torch.optim.SGD(parameters, lr=rate)
    hook = register_optimizer_step_pre_hook(
        lambda optimizer, *_: seen.append([
            getattr(p.grad, "full_tensor", lambda p=p: p.grad)().detach().float().clone()
            for group in optimizer.param_groups for p in group["params"]
        ])
    )
    model.head.register_forward_hook(lambda _module, _inputs, output: types.add(str(output.dtype)))
    try:
        scope = run(text, model=model, optimizer=optimizer, loader=loader)
    finally:
        torch.optim.AdamW = make
        hook.remove()
    wanted = {"fp32": "torch.float32", "fp16": "torch.float16"}.get(precision, "torch.bfloat16")
    # Adapters under pure bf16 go with a model that was loaded in bf16, which this one is not.
    loaded = precision == "bf16-pure" and "model.to" not in text
    assert types == {"torch.float32" if loaded else wanted}, types
    optimizer = torch.optim.SGD(plain.parameters(), lr=rate)
    assert len(seen) == len(loader)
    for found, (inputs, targets) in zip(seen, loader):
        loss_of(plain, inputs, targets).backward()
        norms.append(float(nn.utils.clip_grad_norm_(plain.parameters(), max_norm=1.0)))
        assert close(found, gradients(plain), CLOSE[precision]), precision
        assert sum(float(each.square().sum()) for each in found) <= 1.01, "the gradients are clipped"
        optimizer.step()
        optimizer.zero_grad()
    assert max(norms) > 1.0, "clipping had something to do"
    assert ("scaler" in scope) == (precision == "fp16")
    if precision == "fp16":
        overflow(text, question)
        return "gradients of fp32, clipped without their scale; a step that overflows is left out"
    return "gradients of fp32, clipped"


def overflow(text, question):
    """An infinite gradient in the second of three batches."""
    model, steps, calls = model_of(question), [], []

    def spoil(gradient):
        calls.append(gradient)
        return gradient * float("inf") if len(calls) == 2 else gradient

    model.head.bias.register_hook(spoil)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: steps.append(1))
    scaler = run(text, model=model, optimizer=optimizer, loader=batches(question, 3, seed=2))["scaler"]
    assert len(calls) == 3 and len(steps) == 2, (len(calls), len(steps))
    assert scaler.get_scale() == 2.0**15, scaler.get_scale()
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def accumulation(text, question):
    K = int(re.search(r"^K = (\d+)", text, re.M)[1])
    many = re.search(r"\(loss \* (\d+) / ", text)
    ranks = int(many[1]) if many else 1
    if "accum" in question:
        assert K == int(question["accum"])
    assert ("all_reduce" in text) == (ranks > 1)
    if ranks == 1:
        found = accumulated(text, question, K, 0, None)
    else:
        context = processes.get_context("fork")
        with tempfile.TemporaryDirectory() as folder:
            queue = context.SimpleQueue()
            arguments = (text, question, K, ranks, folder, queue)
            started = [context.Process(target=on_rank, args=(rank, *arguments)) for rank in range(ranks)]
            for process in started:
                process.start()
            found = as_tensors(queue.get())
            for process in started:
                process.join()
            assert all(process.exitcode == 0 for process in started) and not isinstance(found, str), found
    # Two full steps, and one of what is left of the data: all of it as one batch on one GPU.
    plain = model_of(question)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    data = [batches(question, several(K), seed=10 + rank) for rank in range(ranks)]
    precision, differs = question.get("precision", "bf16"), False
    starts = range(0, several(K), K)
    assert len(found) == len(starts)
    for start, own in zip(starts, found):
        step = [micro for rank in data for micro in rank[start : start + K]]
        means = [torch.autograd.grad(loss_of(plain, *micro), list(plain.parameters())) for micro in step]
        naive = [sum(parts) / len(step) for parts in zip(*means)]
        inputs, targets = (torch.cat(parts) for parts in zip(*step))
        loss_of(plain, inputs, targets).backward()
        wanted = gradients(plain)
        assert close(own, wanted, CLOSE[precision])
        differs = differs or not close(naive, wanted, 10 * CLOSE["fp32"])
        optimizer.step()
        optimizer.zero_grad()
    if question.get("loss") != "classifier" and K * ranks > 1:
        assert differs, "with these data a mean of means is another gradient"
    where = f" on each of {ranks} processes with DDP" if ranks > 1 else ""
    return f"K = {K}{where}: the gradients of one large batch"


def several(K):
    """Micro-batches of two full steps, and of a third that is short where it can be."""
    return 2 * K + min(1, K - 1)


def accumulated(text, question, K, rank, group):
    """Gradients at every optimizer step."""
    model, seen = model_of(question), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_pre_hook(lambda *_: seen.append(gradients(model)))
    called = model if group is None else nn.parallel.DistributedDataParallel(model)
    loader = batches(question, several(K), seed=10 + rank)
    run(text, model=called, optimizer=optimizer, loader=loader, data_group=group)
    return seen


def as_tensors(steps):
    """What a process hands over: gradients as lists, or what went wrong."""
    return steps if isinstance(steps, str) else [[torch.tensor(each) for each in step] for step in steps]


def on_rank(rank, text, question, K, ranks, folder, queue):
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
        seen = accumulated(text, question, K, rank, dist.group.WORLD)
        dist.barrier()
        dist.destroy_process_group()
        if rank == 0:
            # Plain lists: tensors would be handed over as files.
            queue.put([[each.tolist() for each in step] for step in seen])
    except BaseException:
        queue.put(traceback.format_exc())
        raise


def checkpoint(text, question):
    scope = run(text)
    if "attention" in scope and callable(scope["attention"]):
        said = attention(scope, question)
        if "forward" not in scope:
            return said
    policy, every = question.get("recompute", "selective"), int(question.get("every", 4))
    again = {"full": LAYERS, "ops": LAYERS, "every-k": LAYERS, "kth-layer": LAYERS // every}
    again["block"] = int(question.get("recompute_layers", 1))
    found, wanted = [passed(forward, text) for forward in (scope["forward"], None)]
    assert wanted[2] == LAYERS and found[2] == LAYERS + again.get(policy, 0), (policy, found[2])
    assert torch.equal(found[0], wanted[0]), "the same loss"
    assert all(torch.equal(*pair) for pair in zip(found[1], wanted[1], strict=True)), "the same gradients"
    return f"loss and gradients of the plain pass; of {LAYERS} layers {again.get(policy, 0)} run again"


def passed(forward, text):
    """Loss and gradients with a forward pass, and how many layers ran. Dropout draws the same masks again."""
    model = model_of({})
    for block in model.blocks:
        block.dropout.p = 0.2
    if forward is not None and "def forward(self, x)" in text:
        # A stage has neither embedding nor head.
        model.forward = lambda inputs: model.head(model.norm(forward(model, model.embedding(inputs))))
    elif forward is not None:
        model.forward = lambda inputs: forward(model, inputs)
    Block.runs = 0
    torch.manual_seed(7)
    loss = loss_of(model, *batches({"b": 2}, 1, seed=3)[0])
    loss.backward()
    return loss.detach(), gradients(model), Block.runs


def attention(scope, question):
    """Attention beside its formula, and how often its scores are computed."""
    causal = question.get("loss") not in ("classifier", "masked-lm")
    runs = []
    if "weighted" in scope:
        weighted = scope["weighted"]
        scope["weighted"] = lambda *tensors: runs.append(1) or weighted(*tensors)
    draw = torch.Generator().manual_seed(5)
    outcomes = []
    for kind in ("own", "formula"):
        draw.manual_seed(5)
        q, k, v = [torch.randn(2, 4, LENGTH, 8, generator=draw, requires_grad=True) for _ in range(3)]
        if kind == "own":
            out = scope["attention"](q, k, v)
        else:
            hidden = torch.full((LENGTH, LENGTH), float("-inf")).triu(1) if causal else 0.0
            out = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + hidden, dim=-1) @ v
        out.square().sum().backward()
        outcomes.append([out.detach(), q.grad, k.grad, v.grad])
    assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(*outcomes)), "attention by its formula"
    if "weighted" in scope:
        assert len(runs) == 2, "the scores are computed twice"
        return "attention and its gradients by their formula; the scores run twice"
    return ""


# --- All of it ----------------------------------------------------------------------------------------


def main():
    torch.set_num_threads(1)
    scenarios = json.loads((HERE / "scenarios.json").read_text(encoding="utf-8"))
    rows, failed = [], 0
    for name, query in scenarios.items():
        question = {"b": "3", **dict(urllib.parse.parse_qsl(query.lstrip("?")))}
        for check in (autocast, accumulation, checkpoint):
            text = (HERE / "files" / name / f"{check.__name__}.py").read_text(encoding="utf-8")
            try:
                outcome = alone(check, text, question) if "fully_shard" in text else check(text, question)
            except Exception:
                print(f"FAILED {check.__name__}, {name}\n{traceback.format_exc()}", file=sys.stderr)
                failed += 1
                continue
            rows.append(f"| {name} | {check.__name__} | {outcome} |")
            print(f"{name}, {check.__name__}: {outcome}", flush=True)
    if failed:
        print(f"{failed} of {3 * len(scenarios)} programs failed", file=sys.stderr)
        return 1
    lines = [
        "# The programs of the course, run with PyTorch",
        "",
        "Written by `make test-exports`; do not edit. A test of `make test` holds the code to the programs that ran.",
        "",
        f"{datetime.date.today().isoformat()}, Python {platform.python_version()}, torch {torch.__version__}, on a CPU.",
        "",
        "| scenario | program | what was found |",
        "| --- | --- | --- |",
    ]
    (HERE / "RESULT.md").write_text("\n".join([*lines, *rows]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
