"""What the processors and classes of transformers make of images: image_tokens.json and image_weights.json.

    pip install torch torchvision transformers==5.23.0
    python tests/vectors/images.py

Processors are made without files, with the numbers of the published preprocessor_config.json; each is given an image of
the size and counts patches and tiles by itself, or says how many tokens it would put into the text. Models are made on
the meta device from tests/config_files.
"""

import json
import pathlib

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE.parent / "config_files"
SIZES = [
    (1024, 1024), (768, 1024), (1080, 1920), (1920, 1080), (336, 336), (100, 100), (14, 14), (42, 70), (28, 5000),
    (3000, 4000), (8000, 6000), (500, 333), (672, 672), (1344, 336), (640, 1700), (2339, 1654), (896, 896), (300, 900),
]
MODELS = [
    "qwen2.5-vl-3b", "qwen2.5-vl-7b", "qwen2.5-vl-72b", "qwen2-vl-7b", "llava-1.5-7b", "llava-1.5-13b",
    "llava-next-mistral-7b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b", "llama-4-scout", "llama-4-maverick",
]


def qwen(size, most):
    from transformers import Qwen2VLImageProcessor

    processor = Qwen2VLImageProcessor(size={"shortest_edge": 56 * 56, "longest_edge": most}, patch_size=14)
    grid = processor(torch.zeros(3, *size, dtype=torch.uint8), return_tensors="pt")["image_grid_thw"][0].tolist()
    patches = grid[0] * grid[1] * grid[2]
    return {"patches": patches, "tokens": patches // 4, "tiles": 1}


def llava_next(size):
    from transformers import LlavaNextImageProcessor, LlavaNextProcessor

    own = LlavaNextImageProcessor(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336})
    tiles = own(torch.zeros(3, *size, dtype=torch.uint8), return_tensors="pt")["pixel_values"].shape[1]
    processor = LlavaNextProcessor.__new__(LlavaNextProcessor)
    processor.image_processor, processor.patch_size, processor.num_additional_image_tokens = own, 14, 1
    tokens = processor._get_number_of_features(*size, 336, 336) - 1
    return {"patches": tiles * 577, "tokens": tokens, "tiles": tiles}


def gemma3(size, crops):
    from transformers import Gemma3ImageProcessor

    own = Gemma3ImageProcessor(
        size={"height": 896, "width": 896}, do_pan_and_scan=crops > 0, pan_and_scan_min_crop_size=256,
        pan_and_scan_max_num_crops=max(crops, 2), pan_and_scan_min_ratio_to_activate=1.2,
    )
    tiles = own(torch.zeros(3, *size, dtype=torch.uint8), return_tensors="pt")["pixel_values"].shape[0]
    return {"patches": tiles * 4096, "tokens": tiles * 256, "tiles": tiles}


def llama4(size, most):
    from transformers import Llama4ImageProcessor

    own = Llama4ImageProcessor(size={"height": 336, "width": 336}, max_patches=most)
    tiles = own(torch.zeros(3, *size, dtype=torch.uint8), return_tensors="pt")["pixel_values"].shape[0]
    return {"patches": tiles * 577, "tokens": tiles * 144, "tiles": tiles}


def tokens():
    for size in SIZES:
        row = {"height": size[0], "width": size[1]}
        for most in [12_845_056, 28 * 28 * 1280, 28 * 28 * 256]:
            yield {**row, "tower": "qwen2.5-vl", "max_pixels": most, **qwen(size, most)}
        yield {**row, "tower": "llava-next", **llava_next(size)}
        for crops in [0, 4]:
            yield {**row, "tower": "gemma3", "tiles_at_most": crops, **gemma3(size, crops)}
        for most in [0, 4]:
            yield {**row, "tower": "llama4", "tiles_at_most": most, **llama4(size, most or 16)}


def weights(name):
    fields = json.loads((FILES / f"{name}.json").read_text())
    config = CONFIG_MAPPING[fields.pop("model_type")](**fields)
    with torch.device("meta"):
        model = transformers.AutoModelForImageTextToText.from_config(config)
    model.tie_weights()
    sizes = {id(parameter): (name, parameter.numel()) for name, parameter in model.named_parameters()}
    projector = sum(size for name, size in sizes.values() if any(part in name for part in ("merger", "projector", "newline")))
    seeing = sum(size for name, size in sizes.values() if any(part in name for part in ("visual", "vision", "projector", "newline")))
    return {"model": name, "weights": sum(size for _, size in sizes.values()), "tower": seeing - projector, "projector": projector}


def write(name, rows):
    (HERE / name).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    write("image_tokens.json", list(tokens()))
    write("image_weights.json", [weights(name) for name in MODELS])
