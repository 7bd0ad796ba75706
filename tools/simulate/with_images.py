#!/usr/bin/env python3
"""Steps of vision-language models of transformers with images, on a GPU that computes nothing (tools/nullcuda).

    python tools/simulate/with_images.py --segments fixed --out tests/vectors/vision.json

Each row is the last of three steps of a model class that transformers builds from a file of tests/config_files. Images
come as a processor puts them out, in fp32, and their sizes from its own functions. What is different from a GPU:

- cuDNN is off, because it has no device to ask. A patch embedding is a convolution whose kernels do not overlap; without
  cuDNN PyTorch unfolds its input, image by image.
- Where a model compares the number of image tokens with the number of features, it would find zeros, and is not asked.
- A mask of image tokens is read as zeros, which picks no gradients for images. They are made all the same, and so are the
  numbers of their elements.
- Grids of patches stay on the CPU, where they can be read.
"""

import contextlib
import importlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import simulate  # noqa: E402
from simulate import last_peak, measure_peak  # noqa: E402

PACKAGES = ["transformers", "peft"]
BOTH = [False, True]
DEFAULTS = {"images": 1, "height": 1024, "width": 1024, "tower": "frozen", "projector": "trained"}


def product(**fields):
    """Every combination."""
    rows = [{}]
    for key, values in fields.items():
        rows = [{**row, key: value} for row in rows for value in (values if isinstance(values, list) else [values])]
    return rows


QWEN = {"model": "qwen2.5-vl-3b", "batch": 1, "sequence": 2048}
LLAVA = {"model": "llava-1.5-7b", "batch": 4, "sequence": 1024}
GEMMA = {"model": "gemma-3-4b", "batch": 1, "sequence": 1024}
CASES = [
    *product(**QWEN, tower=["frozen", "trained"], precision=["amp", "bf16"], ckpt=BOTH),
    *product(**LLAVA, tower=["frozen", "trained"], precision=["amp", "bf16"], ckpt=BOTH),
    *product(**GEMMA, tower=["frozen", "trained"], precision=["amp", "bf16"], ckpt=BOTH),
    # The tower is what takes most.
    *product(model="qwen2.5-vl-3b", batch=1, sequence=5120, images=3, tower="trained", precision="bf16", ckpt=BOTH),
    *product(model="gemma-3-4b", batch=1, sequence=2048, images=6, tower="trained", precision="bf16", ckpt=BOTH),
    *product(model="qwen2.5-vl-3b", batch=1, sequence=2048, tower="trained", precision="fp32"),
    *product(model="qwen2-vl-7b", batch=1, sequence=2048, tower=["frozen", "trained"], precision="bf16", ckpt=True),
    *product(model="llava-next-mistral-7b", batch=1, sequence=4096, tower=["frozen", "trained"], precision="bf16", ckpt=True),
    *product(model="gemma-3-4b", batch=2, sequence=1024, tower="frozen", projector="frozen", precision="bf16", attn="eager"),
    # Adapters beside the language model alone, and beside every matrix.
    *product(model="qwen2.5-vl-7b", batch=2, sequence=2048, base="bf16", tower=["frozen", "adapters"], projector="frozen", precision=["amp", "bf16"], ckpt=BOTH),
    *product(model="llava-1.5-7b", batch=4, sequence=1024, base="bf16", tower=["frozen", "adapters"], projector="frozen", precision="amp", ckpt=BOTH),
    *product(model="gemma-3-4b", batch=2, sequence=1024, base="bf16", tower="frozen", projector="frozen", precision="amp", ckpt=BOTH),
    *product(model="qwen2.5-vl-7b", batch=1, sequence=2048, base="nf4", tower=["frozen", "adapters"], projector="frozen", precision="amp", ckpt=True),
]


def complete(case):
    return {**DEFAULTS, **case}


def scenario(case):
    words, _ = simulate.hugging_face_scenario(case)
    case = complete(case)
    # The catalogue has a row of the same name for the language model alone.
    words["model"] = {"gemma-3-4b": "gemma-3-4b-images"}.get(case["model"], case["model"])
    pictured = {"images": case["images"], "image_h": case["height"], "image_w": case["width"]}
    short = {"vision_layers": case["tower_layers"]} if "tower_layers" in case else {}
    return {**words, **pictured, **short, "tower": case["tower"], "projector": case["projector"]}


def config_of(case, run):
    """The configuration of the model, with `layers` of its language model and `tower_layers` of its tower where a case says so."""
    import transformers

    fields = measure_peak.configuration_of(run["model"])
    config = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    if run["layers"]:
        text = config.get_text_config()
        text.num_hidden_layers = run["layers"]
        if getattr(text, "layer_types", None):
            # Kinds of attention, one for each layer.
            text.layer_types = text.layer_types[: run["layers"]]
    if "tower_layers" in case:
        name = "depth" if hasattr(config.vision_config, "depth") else "num_hidden_layers"
        setattr(config.vision_config, name, case["tower_layers"])
    config.use_cache = False
    config.get_text_config().use_cache = False
    config._attn_implementation = "eager" if run["attn"] == "eager" else "sdpa"
    return config


def parts_of(model):
    """The names of the parameters of the tower, and of the projector."""
    projector = [name for name, _ in model.named_parameters() if any(part in name for part in ("merger", "projector", "newline"))]
    tower = [name for name, _ in model.named_parameters() if ("visual" in name or "vision" in name) and name not in projector]
    return set(tower), set(projector)


def build(case, run):
    import torch
    import transformers

    config = config_of(case, run)
    half = run["base"] in ("bf16", "nf4", "int8") or (run["precision"] == "bf16" and not run["base"])
    kind = torch.bfloat16 if half else torch.float32
    torch.set_default_dtype(kind)
    with torch.device("cuda"):
        model = transformers.AutoModelForImageTextToText.from_config(config, dtype=kind)
    torch.set_default_dtype(torch.float32)
    if run["base"] in ("nf4", "int8"):
        measure_peak.quantize(model, run["base"], "cuda", run["storage"])
    if run["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    tower, projector = parts_of(model)
    if run["base"]:
        model = with_adapters(model, case, run)
    else:
        for name, parameter in model.named_parameters():
            frozen = (name in tower and case["tower"] == "frozen") or (name in projector and case["projector"] == "frozen")
            parameter.requires_grad_(not frozen)
    model.train()
    return model, config


def with_adapters(model, case, run):
    """As measure_peak.with_adapters; "frozen" means that no adapter stands in the tower or the projector."""
    import peft

    if run["ckpt"]:
        model.enable_input_require_grads()
    language = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"
    targets = "all-linear" if case["tower"] == "adapters" else language
    lora = peft.LoraConfig(
        r=run["rank"], lora_alpha=run["rank"], lora_dropout=run["adapter_dropout"], target_modules=targets,
        modules_to_save=[MODULE[case["model"]]] if case["projector"] == "trained" else None,
    )
    return peft.get_peft_model(model, lora, autocast_adapter_dtype=run["adapter_type"] == 32)


MODULE = {"qwen2.5-vl-7b": "merger", "llava-1.5-7b": "multi_modal_projector", "gemma-3-4b": "multi_modal_projector"}


def without_questions():
    """Takes out what would read numbers of the device."""
    for kind in ["qwen2_5_vl", "qwen2_vl", "llava", "llava_next", "gemma3", "llama4"]:
        module = importlib.import_module(f"transformers.models.{kind}.modeling_{kind}")
        module.torch_compilable_check = lambda *_, **__: None
        if hasattr(module, "get_vision_position_ids"):
            places = module.get_vision_position_ids
            module.get_vision_position_ids = lambda *given, _places=places, **named: _places(*given, **named).cuda()


def scatter_as_if_all_were_there():
    """`Tensor.masked_scatter`, whose derivative has as many elements as there are (`masked_scatter_backward_symint` in
    torch/csrc/autograd/FunctionsManual.cpp), though a device that computes nothing picks none and would fill up zeros."""
    import torch

    scatter = torch.Tensor.masked_scatter

    class Scattered(torch.autograd.Function):
        @staticmethod
        def forward(context, x, mask, source):
            context.save_for_backward(mask)
            context.size = source.shape
            return scatter(x, mask, source)

        @staticmethod
        def backward(context, gradient):
            (mask,) = context.saved_tensors
            of_x = gradient.masked_fill(mask, 0) if context.needs_input_grad[0] else None
            of_source = None
            if context.needs_input_grad[2]:
                # The numbers of the elements in each dimension, which `masked_select` lists.
                numbers = torch.empty(3 * context.size.numel(), dtype=torch.long, device="cuda")  # noqa: F841
                gradient.masked_select(mask)
                of_source = gradient.new_empty(context.size)
            return of_x, None, of_source

    torch.Tensor.masked_scatter = lambda x, mask, source: Scattered.apply(x, mask, source)


def inputs_of(case, run, config):
    """Tokens and images as a processor puts them out."""
    import torch

    batch, images = run["batch"], case["images"]
    tokens = torch.zeros((batch, run["sequence"]), dtype=torch.long, device="cuda")
    inputs = {"input_ids": tokens, "labels": tokens}
    vision = config.vision_config
    size = (case["height"], case["width"])
    if config.model_type in ("qwen2_vl", "qwen2_5_vl"):
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

        height, width = smart_resize(*size, factor=vision.patch_size * vision.spatial_merge_size, max_pixels=12_845_056)
        grid = [1, height // vision.patch_size, width // vision.patch_size]
        numbers = 3 * vision.temporal_patch_size * vision.patch_size**2
        inputs["pixel_values"] = torch.zeros((batch * images * grid[1] * grid[2], numbers), device="cuda")
        inputs["image_grid_thw"] = torch.tensor([grid] * batch * images)
        inputs["position_ids"] = torch.zeros((3, batch, run["sequence"]), dtype=torch.long, device="cuda")
        return inputs
    shape = (3, vision.image_size, vision.image_size)
    if config.model_type == "llava_next":
        from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches

        tiles = image_size_to_num_patches(size, config.image_grid_pinpoints, vision.image_size)
        inputs["pixel_values"] = torch.zeros((batch * images, tiles, *shape), device="cuda")
        inputs["image_sizes"] = torch.tensor([size] * batch * images)
        return inputs
    inputs["pixel_values"] = torch.zeros((batch * images, *shape), device="cuda")
    if config.model_type == "gemma3":
        inputs["token_type_ids"] = torch.zeros_like(tokens)
    return inputs


def run(case):
    import torch

    torch.backends.cudnn.enabled = False
    measure_peak.unpack_nothing()
    without_questions()
    scatter_as_if_all_were_there()
    _, said = simulate.hugging_face_scenario(case)
    case = complete(case)
    model, config = build(case, said)
    optimizer = measure_peak.optimizer_of(said, model, "cuda")
    torch.cuda.empty_cache()
    inputs = inputs_of(case, said, config)
    autocast = torch.autocast("cuda", dtype=torch.bfloat16) if said["precision"] == "amp" else contextlib.nullcontext()

    def step():
        with autocast:
            output = model(**inputs)
        loss = output.loss
        del output
        loss.backward()
        loss = None
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    counted = {
        "params": sum(parameter.numel() for parameter in model.parameters()),
        "trained": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
    }
    return {**counted, **last_peak(step)}


if __name__ == "__main__":
    simulate.main(__doc__.splitlines()[0], CASES, run, scenario, PACKAGES)
