#!/usr/bin/env python3
"""Runs training steps whose sequences have different lengths, on one device.

    python3 tools/simulate/with_lengths.py --segments fixed --out tests/vectors/lengths_cuda.json

It needs what tools/measure_peak.py needs and the GPU of tools/nullcuda. A case says what a run of
tools/measure_peak.py says, and how its lengths are handled:

- "equal": no mask at all, for comparison.
- "padded": transformers gets the mask of tokens that a collator pads with. On this GPU every mask reads as one that
  hides something, as on a GPU one does whose sequences differ.
- "unpadded": the same mask with "flash_attention_2", which takes the padding out before its kernel and puts it back
  behind it. transformers' own functions do both; one token is padding, so that the sizes are those of the worst batch.
- "packed": one row of batch * sequence tokens, as trl's packing and transformers' DataCollatorWithFlattening make it,
  with the positions and the cu_seqlens of documents of a quarter of "sequence".

In the last two attention is PyTorch's own FlashAttention for variable lengths (torch.nn.attention.varlen), in the place
of the function of the package flash-attn, which computes the same from the same arguments.
"""

from simulate import hugging_face_scenario, last_peak, link_of, main, measure_peak  # noqa: F401

TINY = {"model": "tinyllama-1.1b", "batch": 4, "sequence": 2048}
QWEN = {"model": "qwen2.5-0.5b", "batch": 4, "sequence": 1024}
LONG = {"model": "qwen2.5-0.5b", "batch": 2, "sequence": 8192, "ckpt": True}
LORA = {"model": "llama-3.1-8b", "batch": 2, "sequence": 2048, "ckpt": True, "base": "bf16", "targets": "all", "rank": 16}
PHI = {"model": "phi-1.5", "batch": 2, "sequence": 2048}
CASES = [
    {"lengths": lengths, **run, "precision": precision}
    for lengths in ("equal", "padded", "unpadded", "packed")
    for run in (TINY, {**TINY, "ckpt": True}, QWEN, {**QWEN, "ckpt": True}, LONG, LORA, PHI)
    for precision in ("amp", "bf16")
] + [{"lengths": lengths, **run, "attn": "eager", "precision": "bf16"} for lengths in ("equal", "padded") for run in (QWEN, {**QWEN, "ckpt": True})]


def scenario(case):
    """The case in the words of a link: the longest sequence is as long as the cut."""
    asked, run = hugging_face_scenario(case)
    lengths = case["lengths"]
    if lengths == "equal":
        return asked
    asked |= {"lengths": "packed" if lengths == "packed" else "padded", "len_max": run["sequence"]}
    # A link leaves the default out.
    if lengths == "packed" and run["sequence"] != 4 * 256:
        asked["len_median"] = run["sequence"] // 4
    return asked | {"len_attn": "varlen"} if lengths == "unpadded" else asked


def kernel(query, key, value, borders, longest):
    """FlashAttention over tokens of documents between `borders`."""
    import torch
    from torch.nn.attention.varlen import varlen_attn

    if query.dtype == torch.float32:
        # Rotated queries and keys are in fp32 under autocast, and transformers casts all three back.
        query, key, value = (states.to(torch.bfloat16) for states in (query, key, value))
    return varlen_attn(
        query, key, value, borders, borders, longest, longest,
        window_size=(-1, 0), enable_gqa=query.shape[1] != key.shape[1],
    )


def packed(module, query, key, value, attention_mask, cu_seq_lens_q=None, max_length_q=None, **_):
    """What transformers' flash_attention_2 does with cu_seqlens."""
    states = (states.transpose(1, 2).flatten(0, 1) for states in (query, key, value))
    return kernel(*states, cu_seq_lens_q, max_length_q).unsqueeze(0), None


def unpadded(module, query, key, value, attention_mask, **_):
    """What transformers' flash_attention_2 does with a mask that hides one token."""
    import torch
    from transformers.modeling_flash_attention_utils import _index_first_axis, _pad_input

    batch, _, length, _ = query.shape
    # The mask reads as zeros here, so that its indices are made where transformers finds them.
    indices = torch.arange(batch * length - 1, device="cuda")
    borders = torch.zeros(batch + 1, dtype=torch.int32, device="cuda")
    states = (_index_first_axis(states.transpose(1, 2), indices) for states in (query, key, value))
    return _pad_input(kernel(*states, borders, length), indices, batch, length), None


def attend(model, run, lengths):
    """Gives a model the attention for variable lengths, where a case has it."""
    import transformers

    if lengths not in ("unpadded", "packed"):
        return
    transformers.AttentionInterface.register("varlen", packed if lengths == "packed" else unpadded)
    transformers.AttentionMaskInterface.register("varlen", lambda *_, **__: None)
    (model.get_base_model() if run["base"] else model).config._attn_implementation = "varlen"


def batch_of(run, lengths):
    """What a collator gives."""
    import torch

    batch, sequence = run["batch"], run["sequence"]
    shape = (1, batch * sequence) if lengths == "packed" else (batch, sequence)
    given = {name: torch.zeros(shape, dtype=torch.long, device="cuda") for name in ("input_ids", "labels")}
    if lengths == "packed":
        given["position_ids"] = torch.zeros(shape, dtype=torch.long, device="cuda")
        given["cu_seq_lens_q"] = torch.zeros(4 * batch + 1, dtype=torch.int32, device="cuda")
        given["cu_seq_lens_k"] = given["cu_seq_lens_q"]
        given["max_length_q"] = given["max_length_k"] = sequence // 4
    elif lengths != "equal":
        given["attention_mask"] = torch.zeros(shape, dtype=torch.long, device="cuda")
    return given


def run(case):
    """Three optimizer steps, of which the last counts."""
    import contextlib

    import torch

    _, run = hugging_face_scenario(case)
    model = measure_peak.build(run, "cuda")
    attend(model, run, case["lengths"])
    measure_peak.unpack_nothing()
    optimizer = measure_peak.optimizer_of(run, model, "cuda")
    amp = run["precision"] == "amp"
    torch.cuda.empty_cache()

    def step():
        cast = torch.autocast("cuda", torch.bfloat16) if amp else contextlib.nullcontext()
        given = batch_of(run, case["lengths"])
        with cast:
            loss = model(**given).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return last_peak(step)


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["transformers"])
