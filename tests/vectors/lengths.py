#!/usr/bin/env python3
"""Runs the data loaders of transformers and trl over sequences of different lengths, on a CPU, and counts their tokens.

    python3 tests/vectors/lengths.py tests/vectors/lengths.json

It needs what tests/vectors/requirements.txt lists and downloads nothing. Every sample comes from a generator with a seed
and is written down as lengths with their counts, so that whoever reads the file needs no generator. Collators, samplers
and packers are those of the packages, called as their trainers call them; only the tokens are zeros.
"""

import collections
import json
import math
import random
import sys

import datasets
import tokenizers
import torch
import transformers
import trl
from transformers.trainer_pt_utils import get_length_grouped_indices
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

DOCUMENTS = 8_000


def log_normal(median, p95, longest, seed):
    """A log-normal sample through a median and a 95th percentile, with what is longer at the longest."""
    draw = random.Random(seed)
    deviation = math.log(p95 / median) / 1.6448536269514722
    lengths = (round(median * math.exp(deviation * draw.gauss(0, 1))) for _ in range(DOCUMENTS))
    return [max(1, min(length, longest)) for length in lengths]


def two_kinds(seed):
    """Short questions and long documents, which no curve with one hump goes through."""
    draw = random.Random(seed)
    return [draw.randint(900, 3_000) if draw.random() < 0.2 else draw.randint(20, 120) for _ in range(DOCUMENTS)]


SAMPLES = [
    ("tail", {"len_median": 256, "len_p95": 1_024, "len_max": 4_096}, log_normal(256, 1_024, 4_096, 1)),
    ("narrow", {"len_median": 500, "len_p95": 700, "len_max": 900}, log_normal(500, 700, 900, 2)),
    ("two kinds", {}, two_kinds(3)),
]
CASES = [
    {"s": 2_048, "b": 4, "len_multiple": 1, "accum": 1},
    {"s": 2_048, "b": 16, "len_multiple": 64, "accum": 1},
    {"s": 1_024, "b": 8, "len_multiple": 8, "accum": 2},
    {"s": 4_096, "b": 1, "len_multiple": 8, "accum": 1},
]


def tokenizer():
    words = tokenizers.models.WordLevel({"<pad>": 0}, unk_token="<pad>")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words), pad_token="<pad>")


def tokens(collator, lengths, order, batch):
    """Tokens that a collator makes of all micro-batches, and of the largest of them."""
    sizes = []
    for start in range(0, len(order) - batch + 1, batch):
        rows = [{"input_ids": [0] * lengths[index]} for index in order[start : start + batch]]
        sizes.append(collator(rows)["input_ids"].numel())
    return sum(sizes), max(sizes), sizes[0]


def row(name, words, sample, case):
    lengths = [min(length, case["s"]) for length in sample]
    real = sum(lengths)
    batch = case["b"]
    padding = transformers.DataCollatorWithPadding(tokenizer(), pad_to_multiple_of=case["len_multiple"])
    seed = torch.Generator().manual_seed(0)
    mixed = torch.randperm(len(lengths), generator=seed).tolist()
    # The size that the trainer hands on: what one optimizer step takes on a GPU.
    grouped = get_length_grouped_indices(lengths, batch * case["accum"], generator=seed)
    padded, worst, _ = tokens(padding, lengths, mixed, batch)
    bucketed, worst_bucket, first_bucket = tokens(padding, lengths, grouped, batch)
    flat = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
    flattened, worst_flat, _ = tokens(flat, lengths, mixed, batch)
    documents = datasets.Dataset.from_dict({"input_ids": [[0] * sample[index] for index in mixed]})
    bfd = trl.pack_dataset(documents, case["s"], "bfd")
    cut = datasets.Dataset.from_dict({"input_ids": [[0] * lengths[index] for index in mixed]})
    wrapped = trl.pack_dataset(cut, case["s"], "wrapped")
    rows = bfd[:]["input_ids"]
    micro_batch = flat(bfd[: batch] and [bfd[index] for index in range(batch)])["input_ids"]
    return {
        "name": name, **words, **case, "real": real,
        "padded": padded, "padded_worst": worst,
        "bucketed": bucketed, "bucketed_worst": worst_bucket, "bucketed_first": first_bucket,
        "flattened": flattened, "flattened_worst": worst_flat,
        "bfd_rows": len(rows), "bfd_longest_row": max(map(len, rows)), "bfd_micro_batch": list(micro_batch.shape),
        "wrapped_rows": len(wrapped),
    }


def main():
    datasets.disable_progress_bars()
    samples = {name: sorted(collections.Counter(sample).items()) for name, _, sample in SAMPLES}
    rows = [row(name, words, sample, case) for name, words, sample in SAMPLES for case in CASES]
    program = f"transformers {transformers.__version__}, trl {trl.__version__}, datasets {datasets.__version__}"
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write('{\n"program": ' + json.dumps(program) + ',\n"samples": {\n')
        file.write(",\n".join(f"{json.dumps(name)}: {json.dumps(sample, separators=(',', ':'))}" for name, sample in samples.items()))
        file.write("\n},\n" + '"rows": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]\n}\n")


if __name__ == "__main__":
    main()
