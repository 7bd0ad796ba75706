"""What linear layers of torchao keep for their backward pass in fp8 and without, run on a CPU that emulates the products.

    python tools/simulate/torchao_float8.py > tests/vectors/float8.json
"""

import json
import sys
from importlib.metadata import version

import torch
from torchao.float8 import Float8LinearConfig, convert_to_float8_training

ROWS = [(64, 128, 256), (32, 256, 688), (128, 96, 32)]


def kept(module, tokens, width):
    """Bytes of the storages that autograd saves, without those of weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        module(torch.randn(tokens, width, dtype=torch.bfloat16, requires_grad=True))
    return sum(storages.values())


def main():
    rows = []
    for tokens, width, out in ROWS:
        for recipe in ("off", "tensorwise", "rowwise"):
            module = torch.nn.Sequential(torch.nn.Linear(width, out, bias=False, dtype=torch.bfloat16))
            if recipe != "off":
                config = Float8LinearConfig.from_recipe_name(recipe)
                object.__setattr__(config, "emulate", True)
                module = convert_to_float8_training(module, config=config)
            row = {"recipe": recipe, "tokens": tokens, "width": width, "out": out}
            rows.append(row | {"kept_bytes": kept(module, tokens, width)})
    json.dump({"versions": {name: version(name) for name in ("torch", "torchao")}, "rows": rows}, sys.stdout, indent=1)
    print()


main()
