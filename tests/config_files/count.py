"""Prints how many weights transformers allocates for each file of this folder.

    pip install torch transformers==5.23.0
    python tests/config_files/count.py [--write]

Models are made on the meta device, so nothing is downloaded and no memory is needed; those that also see
are counted by their language model alone. With --write the counts of variants.json are written anew.
"""

import json
import pathlib
import sys

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

sys.dont_write_bytecode = True
from every_type import CLASSES, distinct, made  # noqa: E402

# Text models inside of others, which no automatic class makes.
INNER = {"mllama_text_model": transformers.MllamaForCausalLM}


def stacks(fields):
    """An encoder with a decoder, which the class for speech or for sequences makes."""
    config = CONFIG_MAPPING[fields.pop("model_type")](**fields)
    kind = transformers.AutoModelForSpeechSeq2Seq if "num_mel_bins" in fields else transformers.AutoModelForSeq2SeqLM
    with torch.device("meta"):
        model = kind.from_config(config)
    model.tie_weights()
    count = distinct(model.parameters())
    # T5's configuration forgets that its head is a matrix of its own, which the published checkpoints hold.
    return count if fields.get("tie_word_embeddings", True) else count + config.vocab_size * config.d_model


def weights(fields):
    fields = dict(fields)
    if fields.get("is_encoder_decoder"):
        return stacks(fields)
    # How weights are stored says nothing of how many there are.
    fields.pop("quantization_config", None)
    kind = fields.pop("model_type")
    if kind not in CONFIG_MAPPING:
        return None
    config = CONFIG_MAPPING[kind](**fields).get_text_config()
    if config.model_type in INNER:
        with torch.device("meta"):
            model = INNER[config.model_type](config)
        model.tie_weights()
    else:
        model = made(config, config.model_type if any(config.model_type in types for _, types in CLASSES) else kind)
    return distinct(model.parameters())


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    folder = pathlib.Path(__file__).resolve().parent
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        if path.stem != "variants":
            print(path.stem, weights(content))
            continue
        for variant in content:
            count = weights(variant["config"])
            print(variant["config"]["model_type"], count, "" if count == variant["weights"] else "is not what is written")
            variant["weights"] = count
        if "--write" in sys.argv:
            path.write_text("[\n" + ",\n".join("  " + json.dumps(variant) for variant in content) + "\n]\n")
