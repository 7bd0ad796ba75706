"""Prints how many weights transformers allocates for each file of this folder.

    pip install torch transformers==5.23.0
    python tests/config_files/count.py

Models are made on the meta device, so nothing is downloaded and no memory is needed. BERT and its
kin are counted without pooler and head, models that also see by their language model alone.
"""

import json
import pathlib

import torch
from transformers import AutoModel, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ENCODERS = {"bert", "roberta", "xlm-roberta"}


def weights(fields):
    fields = dict(fields)
    # How weights are stored says nothing of how many there are.
    fields.pop("quantization_config", None)
    kind = fields.pop("model_type")
    if kind not in CONFIG_MAPPING:
        return None
    config = CONFIG_MAPPING[kind](**fields).get_text_config()
    with torch.device("meta"):
        if kind in ENCODERS:
            model = AutoModel.from_config(config, add_pooling_layer=False)
        else:
            model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        if path.stem == "variants":
            for variant in content:
                print(variant["config"]["model_type"], weights(variant["config"]), variant["weights"])
        else:
            print(path.stem, weights(content))
