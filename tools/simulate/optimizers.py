"""State and temporaries of optimizers that PyTorch does not have, run for real on a CPU.

Each row is a small Llama of transformers whose optimizer takes two steps. `state_bytes` adds up the storages that the
optimizer holds; `step_bytes` is what PyTorch's MemTracker sees beyond weights, gradients and state at the highest point of
the second step. It is null where the tracker counts state as new once it is touched, or where a compiler would have fused
what runs here one by one. What a routine of LAPACK or cuSOLVER takes inside one operation nobody sees.

    python tools/simulate/optimizers.py SOAP_FOLDER SHAMPOO_FOLDER > tests/vectors/optimizers.json

The two folders are checkouts of nikhilvyas/SOAP and facebookresearch/optimizers, which are on no registry; torchao,
galore-torch and apollo-torch are on PyPI.
"""

import json
import sys
from importlib.metadata import version

import torch
from torch.distributed._tools.mem_tracker import MemTracker
from transformers import LlamaConfig, LlamaForCausalLM

sys.path[:0] = sys.argv[1:3]
torch.compile = lambda function, **_: function  # the arithmetic alone: states are the same

MODELS = {
    "small": {"hidden": 256, "layers": 2, "heads": 4, "kv": 4, "ffn": 688, "vocab": 1000, "tied": False},
    "wide-vocabulary": {"hidden": 192, "layers": 1, "heads": 6, "kv": 2, "ffn": 512, "vocab": 10240, "tied": True},
}


def model_of(shape, dtype):
    config = LlamaConfig(
        hidden_size=shape["hidden"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["kv"],
        intermediate_size=shape["ffn"],
        vocab_size=shape["vocab"],
        tie_word_embeddings=shape["tied"],
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    return LlamaForCausalLM(config).to(dtype)


def projected(model, **arguments):
    """The linear layers of the blocks in one group with a rank, all else in another."""
    inside = [
        module.weight
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and ("attn" in name or "mlp" in name)
    ]
    ids = {id(parameter) for parameter in inside}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in ids]
    return [{"params": rest}, {"params": inside, **arguments}]


def galore(model, rank):
    from galore_torch import GaLoreAdamW

    groups = projected(model, rank=rank, update_proj_gap=200, scale=0.25, proj_type="std")
    return GaLoreAdamW(groups, lr=1e-3)


def apollo(model, rank):
    from apollo_torch import APOLLOAdamW

    kind = "tensor" if rank == 1 else "channel"
    groups = projected(
        model, rank=rank, proj="random", scale_type=kind, scale=1, update_proj_gap=200, proj_type="std"
    )
    return APOLLOAdamW(groups, lr=1e-3)


def torchao(name):
    def make(model, _):
        import torchao.optim

        return getattr(torchao.optim, name)(model.parameters(), lr=1e-3)

    return make


def soap(model, width):
    from soap import SOAP

    return SOAP(model.parameters(), lr=1e-3, **({"max_precond_dim": width} if width else {}))


def shampoo(model, width):
    from distributed_shampoo import AdamPreconditionerConfig, DistributedShampoo

    return DistributedShampoo(
        model.parameters(),
        lr=1e-3,
        betas=(0.9, 0.999),
        max_preconditioner_dim=width or 1024,
        precondition_frequency=100,
        start_preconditioning_step=100,
        grafting_config=AdamPreconditionerConfig(beta2=0.999, epsilon=1e-8),
    )


def adamw(model, _):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)


ROWS = [
    ("adamw", adamw, 0),
    ("adam8bit-torchao", torchao("AdamW8bit"), 0),
    ("adam4bit", torchao("AdamW4bit"), 0),
    ("adam-fp8", torchao("AdamWFp8"), 0),
    ("galore", galore, 64),
    ("galore", galore, 300),
    ("apollo", apollo, 64),
    ("apollo", apollo, 1),
    ("soap", soap, 0),
    ("soap", soap, 500),
    ("shampoo", shampoo, 0),
    ("shampoo", shampoo, 256),
]


def storages(value, found):
    """The storages that a value of an optimizer's state holds."""
    if isinstance(value, torch.Tensor):
        inner = getattr(value, "tensor_attrs", None)
        if inner:
            for name in inner:
                storages(getattr(value, name), found)
        else:
            storage = value.untyped_storage()
            found[storage._cdata] = storage.nbytes()
    elif isinstance(value, dict):
        for one in value.values():
            storages(one, found)
    elif isinstance(value, (list, tuple)):
        for one in value:
            storages(one, found)
    elif hasattr(value, "__dict__") or hasattr(type(value), "__dataclass_fields__"):
        names = set(getattr(value, "__dict__", {})) | set(getattr(type(value), "__dataclass_fields__", {}))
        for name in names:
            if not name.startswith("_block_info"):
                storages(getattr(value, name, None), found)


def row(name, make, number, label, dtype):
    shape = MODELS[label]
    model = model_of(shape, dtype)
    optimizer = make(model, number)
    ids = torch.randint(0, shape["vocab"], (1, 16))

    def gradients():
        model(input_ids=ids, labels=ids).loss.backward()

    gradients()
    optimizer.step()
    optimizer.zero_grad()
    gradients()
    found = {}
    storages(dict(optimizer.state), found)
    # Scalars: steps and norms.
    state = sum(size for size in found.values() if size > 8)
    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    with tracker:
        optimizer.step()
    peak = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    of_optimizer = next(size for kind, size in peak.items() if str(kind).split(".")[-1] == "OPT")
    return {
        "optimizer": name,
        "number": number,
        "model": label,
        "dtype": str(dtype).removeprefix("torch."),
        "state_bytes": state,
        "step_bytes": of_optimizer - state if name == "adamw" else None,
    }


def in_backward(label, dtype):
    """The most gradients that are there when one is handed to its optimizer in the backward pass."""
    shape = MODELS[label]
    model = model_of(shape, dtype)
    most = 0
    optimizers = {parameter: torch.optim.AdamW([parameter], lr=1e-3) for parameter in model.parameters()}

    def hook(parameter):
        nonlocal most
        most = max(most, sum(p.grad.untyped_storage().nbytes() for p in model.parameters() if p.grad is not None))
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    ids = torch.randint(0, shape["vocab"], (1, 16))
    model(input_ids=ids, labels=ids).loss.backward()
    return {"model": label, "dtype": str(dtype).removeprefix("torch."), "gradient_bytes": most}


def main():
    rows = []
    for label in MODELS:
        for dtype in (torch.float32, torch.bfloat16):
            for name, make, number in ROWS:
                if name == "soap" and dtype == torch.bfloat16:
                    continue  # its products take gradients and fp32 preconditioners of one type
                rows.append(row(name, make, number, label, dtype))
                print(rows[-1]["optimizer"], rows[-1]["number"], label, dtype, rows[-1]["state_bytes"], file=sys.stderr)
    backward = [in_backward(label, dtype) for label in MODELS for dtype in (torch.float32, torch.bfloat16)]
    versions = {name: version(name) for name in ("torch", "transformers", "torchao", "galore-torch", "apollo-torch")}
    json.dump({"versions": versions, "models": MODELS, "rows": rows, "in_backward": backward}, sys.stdout, indent=1)
    print()


main()
