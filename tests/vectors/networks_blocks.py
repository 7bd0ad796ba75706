"""Saved tensors and peaks of vision transformers, U-Nets, a diffusion transformer and a detector, by PyTorch itself.

    python3 networks_blocks.py > networks_blocks.json      (torch 2.15, torchvision 0.29, timm 1.0.31, diffusers 0.42,
                                                            dynamic-network-architectures 0.4.4, ultralytics 8.4.190)

It needs the GPU that computes nothing (tools/nullcuda/README.md), because autocast, dropout and attention take other ways
on a GPU than on a CPU. All tensors are fake (FakeTensorMode): they have a shape, a type and a device, and no numbers.

`saved` is what autograd keeps of one forward pass, by saved-tensor hooks: every storage once, without parameters, buffers
and data. `peak` is the highest moment of the second of two training steps by PyTorch's MemTracker. `parts` in the
environment names the networks to run, all without it.
"""

import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import timm
import torch
import torchvision
from diffusers import SD3Transformer2DModel, UNet2DConditionModel
from dynamic_network_architectures.architectures.unet import PlainConvUNet
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional

DEVICE = "cuda"
FULL, HALF = torch.float32, torch.bfloat16


class Classifier:
    """Images of a class; the loss is cross-entropy."""

    def __init__(self, make, size):
        self.make, self.size = make, size

    def data(self, batch, kind):
        images = torch.randn(batch, 3, self.size, self.size, device=DEVICE, dtype=kind)
        return images, torch.randint(0, 10, (batch,), device=DEVICE)

    def forward(self, model, images, _):
        return model(images)

    def loss(self, result, _, target):
        return functional.cross_entropy(result, target)


class Detector(Classifier):
    """A detector of images with no loss but the sum of its outputs: the loss of a detector depends on the boxes."""

    def forward(self, model, images, _):
        return model.train()(images)

    def loss(self, result, *_):
        tensors = result.values() if isinstance(result, dict) else result
        # The maps of features among them are inputs of the heads and get no gradient of their own.
        heads = [tensor for tensor in tensors if torch.is_tensor(tensor)]
        return sum(tensor.float().sum() for tensor in heads)


class Volumes:
    """Volumes with a class of each voxel, of which patches are cut (nnU-Net)."""

    def __init__(self, sides, stages, features, kernels, strides):
        self.sides, self.outputs = sides, [sides]
        for stride in strides[1:-1]:
            self.outputs.append([side // step for side, step in zip(self.outputs[-1], stride)])
        self.make = lambda: PlainConvUNet(
            input_channels=1, n_stages=stages, features_per_stage=features, conv_op=nn.Conv3d, kernel_sizes=kernels,
            strides=strides, n_conv_per_stage=[2] * stages, num_classes=3, n_conv_per_stage_decoder=[2] * (stages - 1),
            conv_bias=True, norm_op=nn.InstanceNorm3d, norm_op_kwargs={"eps": 1e-5, "affine": True},
            nonlin=nn.LeakyReLU, nonlin_kwargs={"inplace": True}, deep_supervision=True,
        )

    def data(self, batch, kind):
        volumes = torch.randn(batch, 1, *self.sides, device=DEVICE, dtype=kind)
        return volumes, *[torch.randint(0, 3, (batch, *sides), device=DEVICE) for sides in self.outputs]

    def forward(self, model, volumes, *_):
        return model(volumes)

    def loss(self, result, _, *targets):
        # Deep supervision: an output of each stage of the decoder (nnU-Net weighs them, which keeps nothing more).
        return sum(functional.cross_entropy(output, target) for output, target in zip(result, targets))


class Denoiser:
    """Noisy latents, a text and a time; the loss is the squared distance to the noise (diffusers, train_text_to_image)."""

    def __init__(self, make, side, channels, context, extra):
        self.make, self.side, self.channels, self.context, self.extra = make, side, channels, context, extra

    def data(self, batch, kind):
        latents = torch.randn(batch, self.channels, self.side, self.side, device=DEVICE, dtype=kind)
        given = {
            "timestep": torch.randint(0, 1000, (batch,), device=DEVICE),
            "encoder_hidden_states": torch.randn(batch, *self.context, device=DEVICE, dtype=self.text(kind)),
            **{key: torch.randn(batch, *shape, device=DEVICE, dtype=kind) for key, shape in self.extra.items()},
        }
        return latents, given, torch.randn(batch, self.channels, self.side, self.side, device=DEVICE)

    def text(self, kind):
        # Frozen text encoders run in 16 bits wherever the model's matrices do.
        return HALF if self.cast else kind

    def forward(self, model, latents, given, _):
        given = dict(given)
        if "text_embeds" in given:
            given["added_cond_kwargs"] = {key: given.pop(key) for key in ("text_embeds", "time_ids")}
        return model(latents, return_dict=False, **given)[0]

    def loss(self, result, *data):
        return functional.mse_loss(result.float(), data[-1])


def sdxl():
    # stabilityai/stable-diffusion-xl-base-1.0, unet/config.json
    return UNet2DConditionModel(
        sample_size=128, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), block_out_channels=(320, 640, 1280),
        attention_head_dim=(5, 10, 20), cross_attention_dim=2048, transformer_layers_per_block=(1, 2, 10),
        use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=2816,
    )


def sd3():
    # stabilityai/stable-diffusion-3-medium-diffusers, transformer/config.json
    return SD3Transformer2DModel(
        sample_size=128, patch_size=2, in_channels=16, num_layers=24, attention_head_dim=64, num_attention_heads=24,
        joint_attention_dim=4096, caption_projection_dim=1536, pooled_projection_dim=2048, out_channels=16,
        pos_embed_max_size=192,
    )


def yolo():
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel("yolov8m.yaml", verbose=False)
    # Sixteen fixed weights that training does not use, and that MemTracker cannot watch.
    model.model[-1].dfl = nn.Identity()
    return model


CUBES = ([32, 64, 128, 256, 320, 320], [[3, 3, 3]] * 6, [[1, 1, 1]] + [[2, 2, 2]] * 5)
FLAT = ([32, 64, 128, 256, 320, 320], [[1, 3, 3]] + [[3, 3, 3]] * 5, [[1, 1, 1], [1, 2, 2]] + [[2, 2, 2]] * 4)
# The others are the same at another size, which only what is kept is made of.
BASE = ("vit-b-16", "sd-1.5", "sdxl", "sd3-medium", "nnunet-3d", "yolov8m")
SIZE_IDS = {"text_embeds": (1280,), "time_ids": (6,)}
# It reads numbers of a tensor, which the meta device has none of; all of these networks drop no path.
timm.models.vision_transformer.calculate_drop_path_rates = lambda rate, depth, **_: [rate] * depth
NETWORKS = {
    "vit-b-16": Classifier(lambda: timm.create_model("vit_base_patch16_224"), 224),
    "vit-b-16-384": Classifier(lambda: timm.create_model("vit_base_patch16_224", img_size=384), 384),
    "vit-b-32": Classifier(lambda: timm.create_model("vit_base_patch32_224"), 224),
    "vit-l-16": Classifier(lambda: timm.create_model("vit_large_patch16_224"), 224),
    # runwayml/stable-diffusion-v1-5, unet/config.json: diffusers' own defaults but for the width of the text.
    "sd-1.5": Denoiser(lambda: UNet2DConditionModel(sample_size=64, cross_attention_dim=768), 64, 4, (77, 768), {}),
    "sd-1.5-768": Denoiser(lambda: UNet2DConditionModel(sample_size=64, cross_attention_dim=768), 96, 4, (77, 768), {}),
    "sdxl": Denoiser(sdxl, 128, 4, (77, 2048), SIZE_IDS),
    "sdxl-512": Denoiser(sdxl, 64, 4, (77, 2048), SIZE_IDS),
    # 77 tokens of CLIP and 256 of T5 (diffusers, train_dreambooth_sd3.py, --max_sequence_length 77 by default: 154).
    "sd3-medium": Denoiser(sd3, 128, 16, (154, 4096), {"pooled_projections": (2048,)}),
    "sd3-medium-512": Denoiser(sd3, 64, 16, (154, 4096), {"pooled_projections": (2048,)}),
    "nnunet-3d": Volumes((128, 128, 128), 6, *CUBES),
    "nnunet-3d-flat": Volumes((32, 192, 160), 6, *FLAT),
    "yolov8m": Detector(yolo, 640),
    "yolov8m-320": Detector(yolo, 320),
}


def model_of(network, kind):
    """The network with fake parameters: made outside the mode, because some look at numbers while they are made."""
    model = network.made
    for module in model.modules():
        for held, wrap in ((module._parameters, nn.Parameter), (module._buffers, lambda tensor, **_: tensor)):
            for name, tensor in held.items():
                if tensor is not None:
                    own = kind if tensor.is_floating_point() else tensor.dtype
                    fake = torch.empty(tensor.shape, dtype=own, device=DEVICE)
                    held[name] = wrap(fake, requires_grad=tensor.requires_grad)
    return model.train()


def run(name, batch, precision, work):
    network = NETWORKS[name]
    kind = HALF if precision == "bf16" else FULL
    network.cast = precision == "autocast"
    with torch.device("cpu" if name.startswith("yolo") else "meta"):
        network.made = network.make()
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = model_of(network, kind)
        data = network.data(batch, kind)
        casts = torch.autocast(DEVICE, dtype=HALF, enabled=network.cast)
        return work(network, model, data, casts)


def tensors(data):
    for part in data:
        yield from part.values() if isinstance(part, dict) else (part,)


def saved(network, model, data, casts, tell=None):
    # The text's one vector belongs to the embedding of the time, which keeps it.
    pooled = data[1].get("pooled_projections") if isinstance(data[1], dict) else None
    mine = [*model.parameters(), *model.buffers(), *[part for part in tensors(data) if part is not pooled]]
    own = {tensor.untyped_storage()._cdata for tensor in mine}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            if tell and storage._cdata not in kept:
                tell(tensor, storage.nbytes())
            kept[storage._cdata] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), casts:
        result = network.forward(model, *data)
    del result
    # The seed and the offset of an attention without dropout are one number each.
    return sum(size for size, tensor in kept.values() if tensor.numel() * tensor.element_size() > 16)


def peak(optimizer):
    def work(network, model, data, casts):
        if optimizer == "adamw":
            update = torch.optim.AdamW(model.parameters(), foreach=False)
        else:
            update = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        tracker = MemTracker()
        tracker.track_external(model, update, *tensors(data))
        with tracker:
            for _ in range(2):
                with casts:
                    result = network.forward(model, *data)
                loss = network.loss(result, *data)
                del result
                loss.backward()
                update.step()
                update.zero_grad(set_to_none=True)
                del loss
                tracker.reset_mod_stats()
        return next(snapshot for device, snapshot in tracker.get_tracker_snapshot("peak").items() if device.type == DEVICE)["Total"]

    return work


def rows():
    wanted = os.environ.get("parts", "").split()
    for name, network in NETWORKS.items():
        if wanted and name not in wanted:
            continue
        with torch.device("cpu" if name.startswith("yolo") else "meta"):
            parameters = sum(parameter.numel() for parameter in network.make().parameters() if parameter.requires_grad)
        base = {"network": name, "parameters": parameters}
        variant = name not in BASE
        # Of one example alone, SD 3 keeps views of a slice where it copies two, which the count leaves out.
        other = 4 if name.startswith("sd3") else 1
        for batch, precision in ((2, "fp32"), (2, "autocast"), (other, "fp32"), (2, "bf16")):
            if not variant or batch == 2 and precision != "bf16":
                yield {**base, "batch": batch, "precision": precision, "saved": run(name, batch, precision, saved)}
        for precision, optimizer in (("fp32", "adamw"), ("autocast", "adamw"), ("fp32", "momentum")):
            if not variant and (optimizer == "adamw" or name in ("vit-b-16", "sd-1.5")):
                batch = 2 if parameters > 500_000_000 or "nnunet" in name else 16
                yield {
                    **base, "batch": batch, "precision": precision, "optimizer": optimizer,
                    "peak": run(name, batch, precision, peak(optimizer)),
                }


if __name__ == "__main__":
    first = True
    for row in rows():
        print("[" if first else ",", json.dumps(row), flush=True)
        first = False
    print("]")
    sys.stdout.flush()
