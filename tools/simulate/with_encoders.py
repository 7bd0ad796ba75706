#!/usr/bin/env python3
"""Trains encoders with decoders, and encoders alone, of Hugging Face transformers on one device.

    python3 tools/simulate/with_encoders.py --segments fixed --out tests/vectors/encoders.json
    python3 tools/simulate/with_encoders.py --case '{"model": "t5-base", "batch": 8, "sequence": 512, "source": 512}'

It needs what tools/measure_peak.py needs and the GPU of tools/nullcuda. A case says what a run of
tools/measure_peak.py says, and the tokens of the source in "source". Sound comes as 3,000 frames. The convolutions in
front of Whisper run without cuDNN, which has no answers where nothing is computed: PyTorch's own kernels unfold one
sequence at a time, at the beginning and the end of a step, where the peak never is.
"""

import contextlib

from simulate import hugging_face_scenario, last_peak, main, measure_peak

PRECISIONS = ("fp32", "amp", "bf16")
T5 = {"model": "t5-base", "batch": 8, "sequence": 512, "source": 512}
FLAN = {"model": "flan-t5-xl", "batch": 2, "sequence": 256, "source": 1024}
BART = {"model": "bart-large", "batch": 8, "sequence": 256, "source": 1024}
WHISPER = {"model": "whisper-small", "batch": 16, "sequence": 128, "source": 1500}
LARGE = {"model": "whisper-large-v3", "batch": 8, "sequence": 448, "source": 1500}
LORA = {"base": "bf16", "rank": 16}
BERT = {"model": "bert-base", "batch": 32, "sequence": 512, "loss": "masked-lm"}
MODERN = {"model": "modernbert-base", "batch": 8, "sequence": 1024, "loss": "masked-lm"}
CASES = [
    *({**T5, "precision": precision, "attn": attn} for precision in PRECISIONS for attn in ("flash", "eager")),
    *({**T5, "precision": precision, "ckpt": True} for precision in PRECISIONS),
    {**T5, "precision": "amp", "batch": 64, "sequence": 128},
    {**T5, "precision": "amp", "batch": 4, "sequence": 64, "source": 2048, "attn": "eager"},
    *({**FLAN, "precision": precision, "ckpt": ckpt} for precision in PRECISIONS for ckpt in (False, True)),
    {**FLAN, "precision": "amp", "attn": "eager"},
    {**FLAN, "precision": "bf16", "batch": 8, "sequence": 128, "source": 512},
    *({**BART, "precision": precision, "attn": attn} for precision in PRECISIONS for attn in ("flash", "eager")),
    *({**BART, "precision": precision, "ckpt": True} for precision in ("amp", "bf16")),
    {**BART, "precision": "amp", "dropout": 0.1},
    {**BART, "precision": "amp", "batch": 32, "sequence": 64},
    *({**WHISPER, "precision": precision} for precision in PRECISIONS),
    {**WHISPER, "precision": "amp", "attn": "eager", "batch": 4},
    *({**LARGE, "precision": precision, "ckpt": ckpt} for precision in ("amp", "bf16") for ckpt in (False, True)),
    *({**FLAN, **LORA, "precision": "amp", "targets": "all", "ckpt": ckpt} for ckpt in (False, True)),
    {**BART, **LORA, "precision": "amp", "targets": "qv"},
    {**BART, **LORA, "precision": "bf16", "targets": "all"},
    {**LARGE, **LORA, "precision": "amp", "targets": "qv"},
    {**BERT, "precision": "amp"},
    {**BERT, "precision": "bf16", "attn": "eager"},
    {**BERT, "precision": "amp", "attn": "eager", "loss": "classifier", "ckpt": True},
    *({**MODERN, "precision": precision, "attn": attn} for precision in PRECISIONS for attn in ("flash", "eager")),
    {**MODERN, "precision": "amp", "ckpt": True},
    {**MODERN, "precision": "bf16", "batch": 2, "sequence": 8192},
]
# What T5, and the others, call the layers of their two stacks.
LAYERS = ("num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")
# The rest of a question where the catalogue has no row of the model.
OWN = {
    "modernbert-base": "hidden=768&layers=22&heads=12&kv=12&head_dim=64&ffn=1152&vocab=50368&tied=on&mlp=gated&norm=layernorm&norms=2"
    "&bias=none&position=rotary&qkv=packed",
}


def scenario(case):
    """The case in the words of a link."""
    import urllib.parse

    asked, _ = hugging_face_scenario(case)
    if case["model"] in OWN:
        asked |= {"model": "own", **dict(urllib.parse.parse_qsl(OWN[case["model"]]))}
    if "source" in case:
        # A T5 that is made and not loaded has one matrix for both ends, whatever its file says.
        asked |= {"source": case["source"], "tied": "on"}
        if "layers" in case:
            asked["enc_layers"] = case["layers"]
    if case["model"] == "modernbert-base":
        # Its loss casts all logits to fp32 (`ForMaskedLMLoss`), which BERT’s does not.
        asked["loss"] = "plain"
    return asked


def unpad_nothing():
    """transformers looks whether a mask hides anything, finds zeros where nobody computed ones, and gives kernels a mask."""
    import transformers.masking_utils as masks

    masks._ignore_causal_mask_sdpa = lambda *_, **__: True
    local = masks._ignore_bidirectional_mask_sdpa

    def nothing_padded(padding_mask, *rest, **more):
        return local(None, *rest, **more)

    masks._ignore_bidirectional_mask_sdpa = nothing_padded


def build(run):
    """The model of a run, in its precision, with random weights."""
    import torch
    import transformers

    fields = measure_peak.configuration_of(run["model"])
    if not fields.get("is_encoder_decoder"):
        return measure_peak.build(run, "cuda")
    kind = transformers.AutoModelForSpeechSeq2Seq if fields["model_type"] == "whisper" else transformers.AutoModelForSeq2SeqLM
    config = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    config.use_cache = False
    for name in LAYERS if run["layers"] else ():
        if hasattr(config, name):
            setattr(config, name, run["layers"])
    for name in [name for name in vars(config) if name.endswith(("dropout", "dropout_rate", "layerdrop"))]:
        setattr(config, name, 0.0 if name.endswith("layerdrop") else run["dropout"])
    config._attn_implementation = "eager" if run["attn"] == "eager" else "sdpa"
    half = run["precision"] == "bf16" or run["base"] == "bf16"
    torch.set_default_dtype(torch.bfloat16 if half else torch.float32)
    with torch.device("cuda"):
        model = kind.from_config(config, dtype=torch.bfloat16 if half else torch.float32)
    torch.set_default_dtype(torch.float32)
    if run["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if run["base"]:
        model = adapted(model, run)
    return model.train()


def adapted(model, run):
    """The model with LoRA beside the matrices of both stacks. T5 has names of its own for queries and values."""
    import peft

    if run["ckpt"]:
        model.enable_input_require_grads()
    targets = {"qv": ["q", "v", "q_proj", "v_proj"], "all": "all-linear"}[run["targets"]]
    lora = peft.LoraConfig(r=run["rank"], lora_alpha=run["rank"], lora_dropout=run["adapter_dropout"], target_modules=targets)
    return peft.get_peft_model(model, lora)


def run(case):
    """Two steps, of which the second has optimizer state from the beginning."""
    import torch

    run = hugging_face_scenario({key: value for key, value in case.items() if key != "source"})[1]
    measure_peak.unpack_nothing()
    unpad_nothing()
    torch.backends.cudnn.enabled = False
    model = build(run)
    optimizer = measure_peak.optimizer_of(run, model, "cuda")
    torch.cuda.empty_cache()
    # Zeros would be the token that pads, of which some classes make a mask.
    tokens = lambda length: torch.full((run["batch"], length), 7, device="cuda")  # noqa: E731
    labels = tokens(run["sequence"])
    dtype = torch.bfloat16 if run["precision"] == "bf16" else torch.float32
    if "source" not in case:
        given = {"input_ids": labels}
        if run["loss"] == "classifier":
            labels = torch.zeros(run["batch"], dtype=torch.long, device="cuda")
    elif "num_mel_bins" in model.config.to_dict():
        given = {"input_features": torch.zeros(run["batch"], model.config.num_mel_bins, 2 * case["source"], device="cuda", dtype=dtype)}
    else:
        given = {"input_ids": tokens(case["source"])}
    autocast = torch.autocast("cuda", dtype=torch.bfloat16) if run["precision"] == "amp" else contextlib.nullcontext()

    def step():
        with autocast:
            output = model(**given, labels=labels)
        loss = output.loss
        # The logits would stay alive with the rest of the output.
        del output
        loss.backward()
        loss = None
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return last_peak(step, 2)


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["transformers"])
