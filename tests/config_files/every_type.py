"""Writes every_type.jsonl: the default configuration of every model_type of transformers, and its weights.

    every_type.py [model_type ...]     (tools/configs.sh calls it; with types it prints their lines)

A line is a model_type that has a class for language, for images with language, or a bare network:

    auto      the automatic class that made the model
    class     the class itself
    weights   what it allocates on the meta device, weights used twice counted once
    language  the weights of its language model and output head, where the class has more than that
    config    the config.json that `save_pretrained` writes, without token numbers, labels and dropout
    changed   for text models: other values of single fields, and the weights that the class has with
              them; a null is a field that is not written then
    reason    why there are no weights

Nothing is downloaded, and no memory is needed.
"""

import concurrent.futures
import json
import multiprocessing
import pathlib
import re
import signal
import sys
import tempfile
import warnings

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = pathlib.Path(__file__).resolve().parent
# Seconds for one model; the slowest takes a few.
LIMIT = 120
# The first of these that has the type makes its model.
CLASSES = [
    ("AutoModelForCausalLM", modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
    ("AutoModelForMaskedLM", modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    ("AutoModelForImageTextToText", modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES),
    ("AutoModelForSeq2SeqLM", modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ("AutoModel", modeling_auto.MODEL_MAPPING_NAMES),
]
TEXT = {"AutoModelForCausalLM", "AutoModelForMaskedLM"}
# Classes that cannot be made of their own defaults: the fewest fields that let them be made.
HELPED = {
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "dbrx": {
        "attn_config": {"rope_theta": 10000.0},
        "ffn_config": {"hidden_size": 2048},
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    },
    "dots1": {"n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6},
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 16},
    "hunyuan_vl": {"text_config": {"model_type": "hunyuan_vl_text", "head_dim": 128}},
    "hunyuan_vl_text": {"head_dim": 128},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "reformer": {"is_decoder": True},
}
# Fields on which no count depends, and which would only make the file long.
DROPPED = re.compile(r"transformers_version|.*_token_ids?|id2label|label2id|.*dropout(_prob|_rate)?|.*_pdrop")
# Fields that are left as they are: none of them is a size or a switch of a matrix.
KEPT = re.compile(r".*(_eps|_std|_factor|_range|theta|token|coef|scaling|multiplier|cache|jitter|layerdrop).*|dtype|seed")


def distinct(parameters):
    """How many weights there are; a matrix that is used twice is there once."""
    return sum({id(parameter): parameter.numel() for parameter in parameters}.values())


def auto_of(config, kind):
    """The automatic class of a type; an encoder with a decoder is asked for as one first."""
    order = CLASSES
    if getattr(config, "is_encoder_decoder", False):
        order = sorted(CLASSES, key=lambda row: row[0] != "AutoModelForSeq2SeqLM")
    return next(name for name, types in order if kind in types)


def made(config, kind):
    """The model of a configuration, without memory."""
    with torch.device("meta"):
        model = getattr(transformers, auto_of(config, kind)).from_config(config)
    model.tie_weights()
    return model


def language(model):
    """The weights of the language model in a larger one; None when it is all there is."""
    text = model.config.get_text_config(decoder=True)
    if text is model.config:
        return None
    models = (module for module in model.modules() if isinstance(module, transformers.PreTrainedModel))
    parts = [module for module in models if module.config is text]
    if not parts:
        return None
    head = model.get_output_embeddings()
    parameters = [parameter for part in parts for parameter in part.parameters()]
    return distinct(parameters + ([head.weight] if head is not None else []))


def written(config):
    """The config.json of a configuration."""
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        content = json.loads((pathlib.Path(folder) / "config.json").read_text())
    return {key: value for key, value in content.items() if not DROPPED.fullmatch(key)}


def told(error):
    """An error in a line, without the paths of this machine."""
    lines = [re.sub(r"(?:\S*/)+\S*", "…", line.strip()) for line in str(error).split("\n") if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:120].strip(": ")


def other(value):
    """Another value of a switch or a size; None for anything else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value * 2 if value <= 2 else value // 2
    return None


def changes(kind, config, weights):
    """Single fields with other values, where the class takes them and has other weights then."""
    found = []
    for key, value in config.items():
        new = other(value)
        if new is None or KEPT.fullmatch(key):
            continue
        try:
            signal.alarm(LIMIT)
            changed = CONFIG_MAPPING[kind].from_dict({**config, key: new})
            model = made(changed, kind)
            count = distinct(model.parameters())
            model.config.architectures = config["architectures"]
            content = written(model.config)
        except Exception:
            # Sizes that do not go together are refused by most classes.
            continue
        finally:
            signal.alarm(0)
        differing = {key: content.get(key) for key in {**config, **content} if content.get(key) != config.get(key)}
        if count != weights and all(not isinstance(value, (list, dict)) for value in differing.values()):
            found.append([differing, count])
    return found


def row(kind):
    """One line of the file."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    line = {"type": kind}
    try:
        signal.alarm(LIMIT)
        config = CONFIG_MAPPING[kind](**HELPED.get(kind, {}))
        line["type"] = config.model_type or kind
        line["auto"] = auto_of(config, kind)
        model = made(config, kind)
        line["class"] = type(model).__name__
        line["weights"] = distinct(model.parameters())
        alone = language(model)
        if alone is not None and alone != line["weights"]:
            line["language"] = alone
        config = model.config
        config.architectures = [line["class"]]
    except Exception as error:
        line["reason"] = told(error)
    finally:
        signal.alarm(0)
    try:
        line["config"] = written(config)
    except Exception as error:
        line.setdefault("reason", told(error))
    if "weights" in line and line["auto"] in TEXT and config.get_text_config() is config:
        line["changed"] = changes(kind, line["config"], line["weights"])
    return line


def expired(*_):
    raise TimeoutError(f"not made in {LIMIT} seconds")


def main(only):
    signal.signal(signal.SIGALRM, expired)
    kinds = [kind for kind in CONFIG_MAPPING if any(kind in types for _, types in CLASSES)]
    kinds = [kind for kind in kinds if not only or kind in only]
    lines = {}
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for at, line in enumerate(pool.map(row, kinds), 1):
            # Two names may stand for one type.
            lines.setdefault(line["type"], line)
            print(f"\r{at} of {len(kinds)} {line['type']:40}", end="", file=sys.stderr)
    print(file=sys.stderr)
    text = f'{{"transformers": "{transformers.__version__}"}}\n'
    text += "".join(json.dumps(lines[kind], ensure_ascii=False) + "\n" for kind in sorted(lines))
    if only:
        print(text, end="")
    else:
        (HERE / "every_type.jsonl").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
