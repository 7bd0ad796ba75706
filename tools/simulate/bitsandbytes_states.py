"""State of bitsandbytes' 8-bit Adam, plain and paged, as its own code allocates it.

Each row is a small model of transformers, and `init_state` of the optimizer has run for each of its weights: what a
step would do first. `state_bytes` adds up what lies on the device and `paged_bytes` what is paged, both without the two
tables of codes, which all weights share. Weights are on PyTorch's device without memory: sizes and types are all that
is asked for, and on a CPU bitsandbytes pages nothing. Pages are memory of a GPU's driver; here they are tensors too.

    python tools/simulate/bitsandbytes_states.py > tests/vectors/bitsandbytes.json

torch, transformers and bitsandbytes are on PyPI.
"""

import json
import sys
from importlib.metadata import version

import bitsandbytes
import bitsandbytes.functional
import torch
from transformers import (
    MixtralConfig,
    MixtralForCausalLM,
    WhisperConfig,
    WhisperForConditionalGeneration,
)

OPTIMIZERS = {"adam8bit": bitsandbytes.optim.AdamW8bit, "adam8bit-paged": bitsandbytes.optim.PagedAdamW8bit}


def mixtral(experts, hidden=512):
    """Routers of experts × hidden elements beside norms of hidden ones."""
    config = MixtralConfig(
        hidden_size=hidden, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=8, head_dim=hidden // 8,
        intermediate_size=256, num_local_experts=experts, num_experts_per_tok=2, vocab_size=1000,
    )
    question = (
        f"v=3&model=mixtral-8x7b&hidden={hidden}&layers=2&heads=8&kv=8&head_dim={hidden // 8}&ffn=256&vocab=1000"
        f"&experts={experts}"
    )
    return MixtralForCausalLM(config), question


def whisper():
    """Two convolutions: one of too few elements for a page, and one of enough."""
    config = WhisperConfig(
        d_model=384, encoder_layers=2, decoder_layers=2, encoder_attention_heads=6, decoder_attention_heads=6,
        encoder_ffn_dim=1536, decoder_ffn_dim=1536, vocab_size=1000, num_mel_bins=80, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
    )
    question = (
        "v=3&model=whisper-small&hidden=384&layers=2&enc_layers=2&heads=6&kv=6&head_dim=64&ffn=1536&vocab=1000"
    )
    return WhisperForConditionalGeneration(config), question


MODELS = [
    ("few experts", lambda: mixtral(4)),
    ("experts", lambda: mixtral(16)),
    ("many experts", lambda: mixtral(256)),
    ("wide norms", lambda: mixtral(2, 4096)),
    ("convolutions", whisper),
]


def row(optimizer, label, model, question):
    trained = [(key, p) for key, p in model.named_parameters() if p.requires_grad]
    made = OPTIMIZERS[optimizer]([p for _, p in trained], lr=1e-3)
    paged = set()

    def page(*shape, dtype, device):
        buffer = torch.zeros(*shape, dtype=dtype, device=device)
        paged.add(buffer.untyped_storage()._cdata)
        return buffer

    bitsandbytes.functional.get_paged = page
    bitsandbytes.functional.fill = lambda tensor, value, **_: tensor.fill_(value)
    group = made.param_groups[0]
    sums = {"state_bytes": 0, "paged_bytes": 0}
    kinds = {}
    for index, (key, p) in enumerate(trained):
        made.init_state(group, p, 0, index)
        state = made.state[p]
        for part in ("state1", "state2", "absmax1", "absmax2"):
            if part in state:
                storage = state[part].untyped_storage()
                sums["paged_bytes" if storage._cdata in paged else "state_bytes"] += storage.nbytes()
        is_paged = state["state1"].untyped_storage()._cdata in paged
        kinds.setdefault(str(state["state1"].dtype).removeprefix("torch.") + (", paged" if is_paged else ""), []).append(p.numel())
    # The fewest and the most elements of the tensors of each kind.
    told = {kind: [min(sizes), max(sizes)] for kind, sizes in sorted(kinds.items())}
    return {
        "optimizer": optimizer, "model": label, "question": question + f"&gpus=1&zero=0&precision=bf16-pure&optimizer={optimizer}",
        "weights": sum(p.numel() for _, p in trained), **sums, "elements": told,
    }


def main():
    rows = []
    for label, make in MODELS:
        with torch.device("meta"):
            model, question = make()
        model = model.to(torch.bfloat16)
        for optimizer in OPTIMIZERS:
            rows.append(row(optimizer, label, model, question))
            print(rows[-1], file=sys.stderr)
    versions = {name: version(name) for name in ("torch", "transformers", "bitsandbytes")}
    json.dump({"versions": versions, "rows": rows}, sys.stdout, indent=1)
    print()


main()
