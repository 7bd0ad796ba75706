"""Peaks and saved tensors of dense and convolutional networks, by PyTorch itself.

    python3 networks.py > networks.json      (torch 2.15, torchvision 0.29; a CPU is enough)

`saved` is what autograd keeps of one forward pass, by saved-tensor hooks on real tensors: every storage once, without
parameters, buffers and input. `peak` is the highest moment of the second of two training steps, simulated with
PyTorch's MemTracker under FakeTensorMode. Dropout is `torch.native_dropout`, the operator that a GPU runs; the CPU's
own spells it out with a mask of four bytes.
"""

import json

import torch
import torchvision
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.checkpoint import checkpoint


class Dropout(nn.Module):
    def forward(self, x):
        return torch.native_dropout(x, 0.5, True)[0]


def with_gpu_dropout(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Dropout):
            setattr(module, name, Dropout())
        else:
            with_gpu_dropout(child)
    return module


def dense(*sizes):
    layers = []
    for inside, outside in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def equal(layers, width):
    return nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())])


NETWORKS = {
    "resnet-50": (torchvision.models.resnet50, (3, 224, 224)),
    "resnet-18": (torchvision.models.resnet18, (3, 224, 224)),
    "vgg-16": (torchvision.models.vgg16, (3, 224, 224)),
    "vgg-16-bn": (torchvision.models.vgg16_bn, (3, 224, 224)),
    "resnext-50": (torchvision.models.resnext50_32x4d, (3, 224, 224)),
    "dense": (lambda: dense(784, 4096, 4096, 10), (784,)),
    "equal-layers": (lambda: equal(12, 1024), (1024,)),
}


def units(model):
    """The pieces between which recomputation may cut: a layer with weights with what follows it, a pool, a block."""
    if isinstance(model, torchvision.models.ResNet):
        blocks = [block for layer in (model.layer1, model.layer2, model.layer3, model.layer4) for block in layer]
        stem = nn.Sequential(model.conv1, model.bn1, model.relu)
        return [stem, model.maxpool, *blocks, nn.Sequential(model.avgpool, nn.Flatten()), model.fc]
    if isinstance(model, torchvision.models.VGG):
        layers = [*model.features, model.avgpool, nn.Flatten(), *model.classifier]
    else:
        layers = list(model)
    begins = (nn.Conv2d, nn.Linear, nn.MaxPool2d, nn.AdaptiveAvgPool2d)
    pieces = []
    for layer in layers:
        pieces.append([layer]) if isinstance(layer, begins) or not pieces else pieces[-1].append(layer)
    return [nn.Sequential(*piece) for piece in pieces]


def run(model, x, every):
    if not every:
        return model(x)
    pieces = units(model)
    segments = [nn.Sequential(*pieces[at : at + every]) for at in range(0, len(pieces), every)]
    for segment in segments[:-1]:
        x = checkpoint(segment, x, use_reentrant=False)
    return segments[-1](x)


def saved(name, batch, autocast):
    make, shape = NETWORKS[name]
    model = with_gpu_dropout(make()).train()
    x = torch.randn(batch, *shape)
    own = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers(), x]}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            result = model(x)
    del result
    return sum(size for size, _ in kept.values())


def optimizer_of(name, model):
    if name == "adamw":
        return torch.optim.AdamW(model.parameters(), foreach=False)
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if name == "momentum" else 0.0, foreach=False)


def peak(name, batch, autocast, optimizer, every):
    make, shape = NETWORKS[name]
    with FakeTensorMode():
        model = with_gpu_dropout(make()).train()
        x, target = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
        update = optimizer_of(optimizer, model)
        tracker = MemTracker()
        tracker.track_external(model, update, x, target)
        with tracker:
            for _ in range(2):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                    loss = nn.functional.cross_entropy(run(model, x, every), target)
                loss.backward()
                update.step()
                update.zero_grad(set_to_none=True)
                del loss
                tracker.reset_mod_stats()
        return next(iter(tracker.get_tracker_snapshot("peak").values()))["Total"]


def rows():
    for name, (make, _) in NETWORKS.items():
        parameters = sum(parameter.numel() for parameter in make().parameters())
        for autocast in (False, True):
            for batch in (2, 4):
                yield {
                    "network": name, "parameters": parameters, "batch": batch, "autocast": autocast,
                    "saved": saved(name, batch, autocast),
                }
            for batch in (8, 64):
                for optimizer in ("adamw", "momentum"):
                    yield {
                        "network": name, "parameters": parameters, "batch": batch, "autocast": autocast,
                        "optimizer": optimizer, "peak": peak(name, batch, autocast, optimizer, 0),
                    }
        for every in (1, 2, 3, 4, 5, 8):
            yield {
                "network": name, "parameters": parameters, "batch": 64, "autocast": False, "optimizer": "momentum",
                "every": every, "peak": peak(name, 64, False, "momentum", every),
            }


if __name__ == "__main__":
    print("[\n" + ",\n".join(json.dumps(row) for row in rows()) + "\n]")
