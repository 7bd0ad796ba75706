"""The rows that record.py records: those of tests/traces."""

import random

LLAMA = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 2048, "layers": 3}
EAGER = {**LLAMA, "batch": 2, "attn": "eager"}
GPT2 = {"model": "gpt2", "batch": 4, "sequence": 1024, "layers": 3}
LARGE = {"model": "llama-3.1-8b", "batch": 2, "sequence": 1024, "layers": 2}
SMALL = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 512, "layers": 2}
BERT = {"model": "bert-base", "batch": 4, "sequence": 256, "layers": 2, "loss": "classifier"}
TITAN = {"layers": 3, "batch": 2, "seq": 4096}
TITAN_STAGE = {"layers": 10, "batch": 6, "seq": 2048, "pp": 4, "dp_shard": 2}
TITAN_CHUNKS = {"layers": 10, "batch": 8, "seq": 2048, "pp": 2, "dp_shard": 2, "schedule": "Interleaved1F1B"}
SHARDED = {"model": "llama-3.1-8b", "batch": 1, "sequence": 2048, "layers": 3, "precision": "amp", "ckpt": True}
STAGE = {"stages": 4, "microbatches": 8, "model": "llama-3.1-8b", "batch": 1, "sequence": 2048, "layers": 2}
RECIPE = {"model": "tinyllama-1.1b", "batch": 2, "sequence": 512, "layers": 2}
WIDE = {"sequence": 1024, "batch": 3, "precision": "amp", "accum": 2}
# Names and what they run, in the words of tools/measure_peak.py. "with" names a function of programs.py.
# An evaluation behind a step, of which the last batch is not full.
EVALUATED = {"batch": 1, "sequence": 128, "layers": 2, "eval_n": 5}
SEEN = {"with": "images", "model": "gemma-3-4b", "batch": 1, "layers": 2, "tower_layers": 2}
PACKED = {"base": "nf4", "loaded": True, "storage": "bfloat16"}
ROWS = {
    "llama": LLAMA,
    "llama-ckpt": {**LLAMA, "ckpt": True},
    "llama-fp32-ckpt": {**LLAMA, "precision": "fp32", "ckpt": True},
    "llama-amp": {**LLAMA, "precision": "amp"},
    "llama-amp-ckpt": {**LLAMA, "precision": "amp", "ckpt": True},
    "llama-eager": EAGER,
    "llama-eager-amp-ckpt": {**EAGER, "precision": "amp", "ckpt": True},
    "qwen2.5-amp-ckpt": {"model": "qwen2.5-0.5b", "batch": 4, "sequence": 2048, "layers": 2, "precision": "amp", "ckpt": True},
    "qwen3-tied-amp": {
        "model": "qwen3-8b", "batch": 1, "sequence": 4096, "layers": 2, "precision": "amp", "override": {"tie_word_embeddings": True},
    },
    "gpt2-fp32-ckpt": {**GPT2, "precision": "fp32", "ckpt": True},
    "gpt2-amp-dropout": {**GPT2, "precision": "amp", "dropout": 0.1},
    "lora-qv": {**LARGE, "base": "bf16", "targets": "qv"},
    "lora-all-amp-dropout-ckpt": {**LARGE, "base": "bf16", "precision": "amp", "adapter_dropout": 0.05, "ckpt": True},
    "qlora-loaded-amp-ckpt": {**LARGE, "base": "nf4", "rank": 64, "precision": "amp", "ckpt": True, "loaded": True},
    "llama-accum": {**LLAMA, "batch": 2, "layers": 2, "accum": 4},
    "llama-foreach": {**LLAMA, "optimizer": "adamw-foreach"},
    "llama-loop": {**LLAMA, "optimizer": "adamw-loop"},
    "mixtral": {"model": "mixtral-8x7b", "batch": 1, "sequence": 1024, "layers": 2},
    "qwen3-moe-amp-ckpt": {"model": "qwen3-30b-a3b", "batch": 1, "sequence": 1024, "layers": 2, "precision": "amp", "ckpt": True},
    "mixtral-lora": {"model": "mixtral-8x7b", "batch": 2, "sequence": 1024, "layers": 2, "base": "bf16"},
    "deepseek-v2": {"model": "deepseek-v2-lite", "batch": 1, "sequence": 1024, "layers": 3},
    "deepseek-v2-lora-amp-ckpt": {
        "model": "deepseek-v2-lite", "batch": 2, "sequence": 777, "layers": 3, "base": "bf16", "precision": "amp", "ckpt": True,
    },
    "bert-amp": {"model": "bert-base", "batch": 16, "sequence": 512, "layers": 2, "precision": "amp", "loss": "masked-lm"},
    "bert-eager-amp-dropout": {**BERT, "attn": "eager", "precision": "amp", "dropout": 0.1},
    "bert-dropout": {**BERT, "batch": 3, "sequence": 511, "loss": "masked-lm", "dropout": 0.1},
    "roberta-amp-ckpt": {**BERT, "model": "roberta-base", "batch": 8, "sequence": 512, "precision": "amp", "ckpt": True},
    "llama-adafactor": {**SMALL, "optimizer": "adafactor"},
    "llama-adafactor-torch": {**SMALL, "optimizer": "adafactor-torch"},
    "gpt2-fp32-adam8bit": {"model": "gpt2", "batch": 2, "sequence": 512, "layers": 2, "precision": "fp32", "optimizer": "adam8bit"},
    "qwen2.5-accum-momentum": {"model": "qwen2.5-0.5b", "batch": 3, "sequence": 257, "layers": 2, "accum": 2, "optimizer": "momentum"},
    "pythia": {"model": "pythia-1.4b", "batch": 2, "sequence": 2048, "layers": 3},
    "pythia-eager-amp": {"model": "pythia-1.4b", "batch": 2, "sequence": 1024, "layers": 2, "attn": "eager", "precision": "amp"},
    "pythia-lora-fp32-dropout": {
        "model": "pythia-1.4b", "batch": 1, "sequence": 3000, "layers": 2, "precision": "fp32", "base": "fp32", "rank": 4, "adapter_dropout": 0.05,
    },
    "phi-amp-ckpt": {"model": "phi-1.5", "batch": 2, "sequence": 2048, "layers": 2, "precision": "amp", "ckpt": True},
    "phi-tied-accum": {
        "model": "phi-1.5", "batch": 5, "sequence": 1000, "layers": 2, "accum": 2, "optimizer": "adamw-loop", "override": {"tie_word_embeddings": True},
    },
    "falcon-lora-amp-dropout-ckpt": {
        "model": "falcon-7b", "batch": 1, "sequence": 511, "layers": 2, "precision": "amp", "ckpt": True,
        "base": "bf16", "rank": 8, "adapter_dropout": 0.05,
    },
    "falcon-eager-fp32-ckpt": {"model": "falcon-7b", "batch": 3, "sequence": 777, "layers": 2, "attn": "eager", "precision": "fp32", "ckpt": True},
    "gptj-amp-ckpt": {"model": "gpt-j-6b", "batch": 2, "sequence": 511, "layers": 2, "attn": "eager", "precision": "amp", "ckpt": True},
    "gemma-2-eager": {"model": "gemma-2-9b", "batch": 1, "sequence": 2048, "layers": 2, "attn": "eager"},
    "gemma-lora-amp-ckpt": {"model": "gemma-7b", "batch": 3, "sequence": 511, "layers": 2, "base": "bf16", "precision": "amp", "ckpt": True},
    "gemma-2-eager-ckpt": {"model": "gemma-2-9b", "batch": 2, "sequence": 777, "layers": 3, "attn": "eager", "ckpt": True},
    "olmo-amp-ckpt": {"model": "olmo-7b", "batch": 2, "sequence": 511, "layers": 2, "precision": "amp", "ckpt": True},
    "olmo-2-eager-amp": {"model": "olmo-2-7b", "batch": 2, "sequence": 511, "layers": 2, "attn": "eager", "precision": "amp"},
    "gpt2-eager-dropout-ckpt": {**GPT2, "batch": 3, "sequence": 777, "attn": "eager", "dropout": 0.1, "ckpt": True},
    "gpt2-fp32-dropout": {**GPT2, "batch": 1, "precision": "fp32", "dropout": 0.1},
    "opt-eager-accum": {"model": "opt-1.3b", "batch": 2, "sequence": 300, "layers": 2, "attn": "eager", "accum": 2},
    "opt-lora-dropout-ckpt": {"model": "opt-1.3b", "batch": 1, "sequence": 600, "layers": 2, "base": "bf16", "dropout": 0.1, "ckpt": True},
    "starcoder2-amp": {"model": "starcoder2-7b", "batch": 1, "sequence": 2048, "layers": 2, "precision": "amp"},
    "mpt-ckpt": {"model": "mpt-7b", "batch": 2, "sequence": 511, "layers": 2, "attn": "eager", "ckpt": True},
    "phi-3-ckpt": {"model": "phi-3-mini", "batch": 2, "sequence": 1000, "layers": 2, "ckpt": True},
    "stablelm-2-amp": {"model": "stablelm-2-1.6b", "batch": 2, "sequence": 1024, "layers": 2, "precision": "amp"},
    "command-r-ckpt": {"model": "command-r-v01", "batch": 1, "sequence": 1024, "layers": 2, "ckpt": True},
    "gemma-3-amp": {"model": "gemma-3-1b", "batch": 3, "sequence": 500, "layers": 7, "precision": "amp"},
    "gemma-3-window": {"model": "gemma-3-1b", "batch": 2, "sequence": 777, "layers": 7},
    "gemma-3-eager": {"model": "gemma-3-1b", "batch": 2, "sequence": 777, "layers": 7, "attn": "eager"},
    "pythia-amp-dropout": {"model": "pythia-1.4b", "batch": 2, "sequence": 1024, "layers": 2, "precision": "amp", "dropout": 0.1},
    "phi-eager-dropout-ckpt": {"model": "phi-1.5", "batch": 2, "sequence": 777, "layers": 2, "attn": "eager", "dropout": 0.1, "ckpt": True},
    # Sequences of several lengths.
    "llama-padded-amp-ckpt": {**LLAMA, "lengths": "padded", "batch": 3, "sequence": 1021, "precision": "amp", "ckpt": True},
    "qwen2.5-padded-eager": {"lengths": "padded", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 777, "layers": 2, "attn": "eager"},
    "phi-packed": {"lengths": "packed", "model": "phi-1.5", "batch": 2, "sequence": 1024, "layers": 2},
    "llama-packed-lora-amp-ckpt": {**LARGE, "lengths": "packed", "precision": "amp", "base": "bf16", "ckpt": True},
    # One rank of several, and a trainer.
    "dpo-amp": {"with": "dpo", "model": "tinyllama-1.1b", "batch": 1, "sequence": 1024, "layers": 2, "precision": "amp"},
    "dpo-lora-amp-ckpt": {
        "with": "dpo", "model": "llama-3.1-8b", "batch": 1, "sequence": 512, "layers": 2, "base": "bf16", "targets": "all", "rank": 16,
        "ref": "adapter", "precision": "amp", "ckpt": True,
    },
    "reward-amp": {"with": "reward", "model": "tinyllama-1.1b", "batch": 2, "sequence": 1024, "layers": 2, "precision": "amp"},
    "grpo-ckpt": {"with": "grpo", "model": "qwen2.5-0.5b", "batch": 4, "sequence": 1024, "prompt": 128, "layers": 2, "precision": "bf16", "ckpt": True},
    "grpo-fsdp2": {"with": "grpo", "impl": "fsdp2", "model": "qwen3-8b", "batch": 1, "sequence": 512, "prompt": 128, "layers": 3, "precision": "amp", "ckpt": True},
    "grpo-ddp": {"with": "grpo", "impl": "ddp", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 512, "prompt": 128, "layers": 2, "precision": "amp", "ckpt": True},
    "dpo-ddp-lora-amp-ckpt": {
        "with": "dpo", "impl": "ddp", "model": "tinyllama-1.1b", "batch": 1, "sequence": 256, "layers": 2, "precision": "amp", "ckpt": True,
        "base": "bf16", "targets": "all", "rank": 8, "ref": "adapter",
    },
    "grpo-zero2": {
        "with": "grpo", "impl": "deepspeed", "stage": 2, "model": "tinyllama-1.1b", "batch": 1, "sequence": 512, "prompt": 128, "layers": 2,
        "precision": "bf16", "ckpt": True,
    },
    "grpo-generate": {
        "with": "grpo", "model": "qwen2.5-0.5b", "batch": 1, "sequence": 512, "prompt": 506, "layers": 3, "precision": "bf16", "ckpt": True,
        "ref": "none", "generations": 8,
    },
    "grpo-generate-amp": {
        "with": "grpo", "model": "tinyllama-1.1b", "batch": 1, "sequence": 40, "prompt": 32, "layers": 3, "precision": "amp", "ckpt": True,
        "ref": "none", "generations": 16,
    },
    "ppo": {"with": "ppo", "model": "tinyllama-1.1b", "batch": 2, "sequence": 136, "prompt": 128, "layers": 3, "precision": "bf16"},
    "ppo-ckpt-accum": {
        "with": "ppo", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 72, "prompt": 64, "layers": 3, "precision": "bf16", "ckpt": True, "accum": 2,
    },
    "ppo-lora-amp-ckpt": {
        "with": "ppo", "model": "llama-3.1-8b", "batch": 2, "sequence": 136, "prompt": 128, "layers": 3, "base": "bf16", "targets": "all", "rank": 16,
        "ref": "adapter", "precision": "amp", "ckpt": True,
    },
    "eval-loss": {"with": "outside", "outside": "eval-loss", **EVALUATED, "model": "qwen2.5-0.5b", "precision": "bf16", "eval_b": 2},
    "eval-logits": {"with": "outside", "outside": "eval", **EVALUATED, "model": "qwen2.5-0.5b", "precision": "bf16", "eval_b": 2},
    "eval-logits-steps": {
        "with": "outside", "outside": "eval", **EVALUATED, "model": "tinyllama-1.1b", "precision": "amp", "eval_b": 1, "eval_steps": 2,
    },
    "fsdp2-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "world": 8, **SHARDED},
    "fsdp1-amp-ckpt": {"with": "fsdp", "impl": "fsdp1", "world": 8, **SHARDED},
    "ddp-amp": {"with": "fsdp", "impl": "ddp", "world": 8, **LLAMA, "precision": "amp"},
    "ddp-bf16-view-accum": {"with": "fsdp", "impl": "ddp", "world": 8, **LARGE, "views": True, "accum": 2},
    "fsdp2-amp-apart": {"with": "fsdp", "model": "llama-3.1-8b", "layers": 3, "batch": 2, "sequence": 4096, "precision": "amp", "ckpt": True, "apart": True},
    "torchtitan": {"with": "torchtitan", **TITAN},
    "torchtitan-full": {"with": "torchtitan", **TITAN, "ac": "full"},
    "torchtitan-ops": {"with": "torchtitan", **TITAN, "ac": "op"},
    "torchtitan-second": {"with": "torchtitan", **TITAN, "ac": "2"},
    "torchtitan-accum": {"with": "torchtitan", "layers": 2, "batch": 1, "seq": 8192, "accum": 2},
    "torchtitan-ops-kept": {"with": "torchtitan", "layers": 2, "batch": 1, "seq": 8192, "ac": "op", "reshard": "never"},
    "torchtitan-foreach": {"with": "torchtitan", "layers": 2, "batch": 1, "seq": 8192, "impl": "foreach"},
    "torchtitan-alone-ops": {"with": "torchtitan", "layers": 2, "batch": 1, "seq": 4096, "dp_shard": 1, "ac": "op"},
    "torchtitan-tensor": {"with": "torchtitan", "layers": 2, "batch": 2, "seq": 4096, "tp": 2},
    "torchtitan-tensor-ops": {"with": "torchtitan", "layers": 2, "batch": 2, "seq": 4096, "tp": 2, "ac": "op"},
    "torchtitan-tensor-full": {"with": "torchtitan", "layers": 2, "batch": 2, "seq": 4096, "tp": 4, "ac": "full"},
    "torchtitan-pipeline-first-ops": {"with": "torchtitan", **TITAN_STAGE, "rank": 0, "ac": "op"},
    "torchtitan-pipeline-second-full": {"with": "torchtitan", **TITAN_STAGE, "rank": 2, "ac": "full"},
    "torchtitan-pipeline-interleaved-first": {"with": "torchtitan", **TITAN_CHUNKS, "rank": 0},
    "torchtitan-pipeline-interleaved-last": {"with": "torchtitan", **TITAN_CHUNKS, "rank": 2},
    "torchtitan-pipeline-last": {"with": "torchtitan", **TITAN_STAGE, "rank": 6},
    "megatron": {"with": "megatron", "kv": 4, "ffn": 5632},
    "megatron-parts": {"with": "megatron", "kv": 4, "ffn": 5632, "batch": 1, "seq": 4096, "dist": True, "dp": 8, "layers": 3},
    "megatron-full-accum": {"with": "megatron", "kv": 4, "ffn": 5632, "recompute": "full", "accum": 2, "dist": True, "dp": 4, "grad": 16},
    "megatron-fused-tied": {"with": "megatron", "ffn": 5632, "fused_loss": True, "tied": True},
    "megatron-tensor": {"with": "megatron", "kv": 4, "ffn": 5632, "tp": 2, "sp": True, "dp": 2, "dist": True},
    "held-megatron-fused": {
        "with": "megatron", "layers": 2, "hidden": 1536, "heads": 12, "head_dim": 80, "kv": 1, "ffn": 6912, "vocab": 32000, "seq": 1024,
        "batch": 3, "accum": 2, "dp": 2, "dist": False, "grad": 32, "recompute": "none", "fused_loss": True, "tied": False,
    },
    "deepspeed-2": {"with": "deepspeed", "stage": 2, "world": 8, **LLAMA},
    "deepspeed-3-ckpt": {"with": "deepspeed", "stage": 3, "world": 8, **LLAMA, "ckpt": True},
    "pipeline-first": {"with": "pipeline", "rank": 0, **STAGE},
    "pipeline-second": {"with": "pipeline", "rank": 1, **STAGE},
    "pipeline-last": {"with": "pipeline", "rank": 3, **STAGE},
    "pipeline-second-ckpt": {
        "with": "pipeline", "rank": 1, "stages": 3, "microbatches": 5, "model": "tinyllama-1.1b", "batch": 2, "sequence": 777, "layers": 3,
        "ckpt": True,
    },
    "pipeline-interleaved-last": {
        "with": "pipeline", "rank": 3, "stages": 4, "chunks": 2, "microbatches": 8, "model": "tinyllama-1.1b", "batch": 1, "sequence": 1024,
        "layers": 2,
    },
    "pipeline-interleaved-second-ckpt": {
        "with": "pipeline", "rank": 1, "stages": 3, "chunks": 4, "microbatches": 8, "model": "tinyllama-1.1b", "batch": 2, "sequence": 500,
        "layers": 1, "ckpt": True,
    },
    # Losses, recomputation in segments and optimizers of other libraries, of tools/recipes.py.
    "loss-kernel": {**RECIPE, "head": "kernel"},
    "loss-kernel-amp-accum": {**RECIPE, **WIDE, "head": "kernel"},
    "loss-inplace": {**RECIPE, "head": "kernel-inplace"},
    "loss-inplace-amp-accum": {**RECIPE, **WIDE, "head": "kernel-inplace"},
    "loss-fused-amp-accum": {**RECIPE, **WIDE, "head": "fused"},
    "loss-fused-tied-fp32": {"model": "qwen2.5-0.5b", "batch": 2, "sequence": 1000, "layers": 2, "head": "fused", "precision": "fp32"},
    "loss-fused-lora": {**RECIPE, "sequence": 1024, "batch": 3, "head": "fused", "base": "bf16"},
    "loss-chunked": {**RECIPE, "head": "chunked"},
    "loss-chunked-amp-accum": {**RECIPE, **WIDE, "head": "chunked"},
    "loss-chunked-head-amp-accum": {**RECIPE, **WIDE, "head": "chunked-head"},
    "loss-chunked-head-one": {**RECIPE, "sequence": 1024, "batch": 1, "head": "chunked-head", "accum": 2},
    "loss-chunked-head-lora": {**RECIPE, "sequence": 1024, "batch": 3, "head": "chunked-head", "base": "bf16"},
    "logits-kept-fp32": {**RECIPE, "logits": "kept-fp32"},
    "logits-kept-fp32-amp-one": {**RECIPE, "batch": 1, "logits": "kept-fp32", "precision": "amp", "accum": 2},
    "segments-amp-accum": {**RECIPE, "layers": 6, "every": 3, "precision": "amp", "accum": 2},
    "segments-lora": {**RECIPE, "layers": 4, "every": 2, "base": "bf16"},
    "segments-rest": {**RECIPE, "layers": 5, "every": 2},
    "held-mixtral-adam8bit": {"model": "mixtral-8x7b", "batch": 1, "sequence": 512, "layers": 2, "optimizer": "adam8bit"},
    "held-qwen3-moe-adafactor": {"model": "qwen3-30b-a3b", "batch": 1, "sequence": 777, "layers": 2, "optimizer": "adafactor"},
    "liger-mixtral": {"model": "mixtral-8x7b", "batch": 1, "sequence": 512, "layers": 2, "liger": True},
    "liger-qwen3-moe-amp-ckpt": {"model": "qwen3-30b-a3b", "batch": 2, "sequence": 511, "layers": 2, "liger": True, "precision": "amp", "ckpt": True},
    "held-padded-loss-inplace": {"lengths": "padded", "model": "qwen2.5-0.5b", "batch": 1, "sequence": 1024, "layers": 2, "precision": "bf16", "ckpt": True, "head": "kernel-inplace", "liger": False},
    # Liger's layers, libraries' losses and checkpoints of some layers on several devices, and lengths with adapters.
    "liger": {**RECIPE, "liger": True},
    "liger-amp": {**RECIPE, "precision": "amp", "liger": True},
    "liger-ckpt": {**RECIPE, "ckpt": True, "liger": True},
    "liger-loss-fused": {"model": "qwen2.5-0.5b", "batch": 1, "sequence": 512, "ckpt": True, "layers": 2, "head": "fused", "liger": True},
    "held-liger-lora-amp-ckpt": {"model": "mistral-7b", "batch": 4, "sequence": 1024, "layers": 2, "liger": True, "precision": "amp", "ckpt": True, "attn": "flash", "base": "bf16", "targets": "attention", "rank": 8, "adapter_dropout": 0.0},
    "held-liger-gemma-2-fp32": {"model": "gemma-2-9b", "batch": 1, "sequence": 511, "layers": 3, "liger": True, "precision": "fp32", "ckpt": True, "attn": "eager"},
    "held-liger-gemma-3-eager-amp": {"model": "gemma-3-1b", "batch": 2, "sequence": 511, "layers": 3, "liger": True, "precision": "amp", "ckpt": False, "attn": "eager"},
    "held-liger-olmo-2-fp32": {"model": "olmo-2-7b", "batch": 4, "sequence": 1024, "layers": 2, "liger": True, "precision": "fp32", "ckpt": True, "attn": "flash"},
    "held-liger-fsdp2": {"with": "fsdp", "model": "tinyllama-1.1b", "batch": 1, "sequence": 777, "layers": 3, "world": 8, "ckpt": True, "liger": True, "impl": "fsdp2", "precision": "bf16"},
    "held-liger-deepspeed-2": {"with": "deepspeed", "model": "qwen3-8b", "batch": 1, "sequence": 777, "layers": 3, "world": 8, "ckpt": False, "liger": True, "stage": 2},
    "held-fsdp2-loss-fused": {"with": "fsdp", "model": "mistral-7b", "batch": 2, "sequence": 511, "layers": 2, "world": 4, "impl": "fsdp2", "precision": "bf16", "head": "fused"},
    "held-fsdp1-loss-inplace": {"with": "fsdp", "model": "mistral-7b", "batch": 1, "sequence": 256, "layers": 2, "world": 4, "impl": "fsdp1", "precision": "amp", "head": "kernel-inplace", "ckpt": True},
    "held-ddp-loss-kernel-amp": {"with": "fsdp", "model": "mistral-7b", "batch": 3, "sequence": 256, "layers": 2, "world": 8, "impl": "ddp", "precision": "amp", "head": "kernel"},
    "held-fsdp1-loss-kernel": {"with": "fsdp", "model": "llama-3.2-1b", "batch": 1, "sequence": 511, "layers": 2, "world": 2, "impl": "fsdp1", "precision": "bf16", "head": "kernel", "ckpt": True},
    "held-ddp-first-amp": {"with": "fsdp", "model": "tinyllama-1.1b", "batch": 1, "sequence": 256, "layers": 4, "world": 8, "impl": "ddp", "precision": "amp", "first": 2},
    "held-fsdp1-kth": {"with": "fsdp", "model": "tinyllama-1.1b", "batch": 3, "sequence": 1024, "layers": 3, "world": 4, "impl": "fsdp1", "precision": "amp", "kth": 2},
    "held-fsdp2-segments": {"with": "fsdp", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 256, "layers": 4, "world": 3, "impl": "fsdp2", "precision": "amp", "every": 2},
    "held-lora-padded": {"lengths": "padded", "model": "llama-3.2-1b", "batch": 2, "sequence": 1024, "layers": 2, "precision": "amp", "ckpt": True, "base": "bf16", "targets": "qv", "rank": 16, "adapter_dropout": 0.05},
    "held-qlora-packed": {"lengths": "packed", "model": "qwen2.5-0.5b", "batch": 3, "sequence": 512, "layers": 2, "precision": "amp", "ckpt": True, "base": "nf4", "targets": "all", "rank": 16, "adapter_dropout": 0.05, "loaded": True},
    "llama-lion": {**RECIPE, "optimizer": "lion"},
    "llama-muon": {**RECIPE, "optimizer": "muon"},
    "llama-adam8bit-paged": {**RECIPE, "optimizer": "adam8bit-paged"},
    "llama-in-backward": {**RECIPE, "in_backward": True},
    "qwen2.5-in-backward-amp": {**RECIPE, "model": "qwen2.5-0.5b", "in_backward": True, "precision": "amp", "ckpt": True},
    # The same with settings that were drawn at random.
    "t5": {"with": "encoders", "model": "t5-base", "batch": 2, "sequence": 96, "source": 128, "layers": 2, "precision": "bf16"},
    "t5-eager-amp": {"with": "encoders", "model": "t5-base", "batch": 2, "sequence": 96, "source": 130, "layers": 3, "precision": "amp", "attn": "eager"},
    "t5-amp-ckpt": {"with": "encoders", "model": "t5-base", "batch": 3, "sequence": 97, "source": 64, "layers": 2, "precision": "amp", "ckpt": True},
    "t5-dropout": {"with": "encoders", "model": "t5-base", "batch": 2, "sequence": 96, "source": 100, "layers": 2, "precision": "amp", "dropout": 0.1},
    "flan-t5-lora": {
        "with": "encoders", "model": "flan-t5-xl", "batch": 2, "sequence": 96, "source": 128, "layers": 2, "precision": "amp", "base": "bf16", "rank": 16,
        "targets": "all", "ckpt": True,
    },
    "bart": {"with": "encoders", "model": "bart-large", "batch": 2, "sequence": 96, "source": 128, "layers": 2, "precision": "amp"},
    "bart-eager-ckpt": {
        "with": "encoders", "model": "bart-large", "batch": 2, "sequence": 96, "source": 128, "layers": 3, "precision": "bf16", "attn": "eager", "ckpt": True,
        "dropout": 0.1,
    },
    "bart-lora": {
        "with": "encoders", "model": "bart-large", "batch": 2, "sequence": 96, "source": 128, "layers": 2, "precision": "bf16", "base": "bf16", "rank": 16,
        "targets": "all",
    },
    "whisper-amp-ckpt": {"with": "encoders", "model": "whisper-small", "batch": 1, "sequence": 96, "source": 1500, "layers": 2, "precision": "amp", "ckpt": True},
    "whisper-dropout": {"with": "encoders", "model": "whisper-small", "batch": 1, "sequence": 96, "source": 1500, "layers": 2, "precision": "bf16", "dropout": 0.1},
    "images-gemma3": {**SEEN, "sequence": 512, "tower": "trained"},
    "images-gemma3-amp-ckpt": {**SEEN, "sequence": 1024, "layers": 6, "precision": "amp", "ckpt": True},
    "images-gemma3-eager": {**SEEN, "sequence": 700, "projector": "frozen", "attn": "eager"},
    "images-gemma3-lora-amp": {**SEEN, "sequence": 700, "base": "bf16", "projector": "frozen", "precision": "amp"},
    "held-fsdp1-tied": {"with": "fsdp", "impl": "fsdp1", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 1536, "layers": 3, "world": 8, "precision": "amp", "ckpt": True},
    "held-fsdp1-accum": {"with": "fsdp", "impl": "fsdp1", "model": "tinyllama-1.1b", "batch": 1, "sequence": 3000, "layers": 3, "world": 8, "precision": "amp", "ckpt": True, "accum": 3},
    "held-fsdp2-one-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "layers": 2, "world": 1, "precision": "amp", "ckpt": True},
    "held-fsdp2-one-amp-stays": {"with": "fsdp", "impl": "fsdp2", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 512, "layers": 3, "world": 1, "precision": "amp", "reshard": False},
    "held-fsdp2-stays": {"with": "fsdp", "impl": "fsdp2", "model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "layers": 3, "world": 8, "ckpt": True, "reshard": False},
    "held-ddp-shared-amp-ckpt": {"with": "fsdp", "impl": "ddp", "model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "layers": 3, "world": 8, "precision": "amp", "ckpt": True, "shared_optimizer": True},
    "held-ddp-shared": {"with": "fsdp", "impl": "ddp", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 700, "layers": 4, "world": 3, "shared_optimizer": True},
    "fsdp2-qlora-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "layers": 2, "world": 8, "ckpt": True, **PACKED, "targets": "all", "rank": 16},
    "held-fsdp2-qlora-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "qwen3-8b", "batch": 2, "sequence": 777, "layers": 3, "world": 3, "precision": "amp", "ckpt": True, **PACKED, "targets": "attention", "rank": 8, "adapter_dropout": 0.05},
    "held-fsdp2-qlora-tied": {"with": "fsdp", "impl": "fsdp2", "model": "qwen2.5-0.5b", "batch": 3, "sequence": 300, "layers": 4, "world": 2, **PACKED, "targets": "all", "rank": 4},
    "fsdp2-offload-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "layers": 3, "world": 8, "precision": "amp", "ckpt": True, "offload": True},
    "held-fsdp2-offload-accum": {"with": "fsdp", "impl": "fsdp2", "model": "qwen2.5-0.5b", "batch": 2, "sequence": 300, "layers": 4, "world": 3, "accum": 2, "offload": True},
    "held-fsdp2-offload-lora-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "qwen3-8b", "batch": 1, "sequence": 777, "layers": 2, "world": 4, "precision": "amp", "ckpt": True, "base": "bf16", "targets": "all", "rank": 8, "offload": True},
    "held-fsdp2-tied": {"with": "fsdp", "impl": "fsdp2", "model": "qwen2.5-0.5b", "batch": 1, "sequence": 256, "layers": 3, "world": 24, "precision": "amp", "ckpt": True},
    "held-fsdp2-accum": {"with": "fsdp", "impl": "fsdp2", "model": "mistral-7b", "batch": 1, "sequence": 3000, "layers": 2, "world": 2, "precision": "amp", "ckpt": True, "accum": 2},
    "held-fsdp1-lora-ckpt": {"with": "fsdp", "impl": "fsdp1", "model": "tinyllama-1.1b", "batch": 3, "sequence": 1024, "layers": 3, "world": 8, "ckpt": True, "base": "bf16", "targets": "qv", "rank": 32, "adapter_dropout": 0.05},
    "held-fsdp1-lora-all-amp": {"with": "fsdp", "impl": "fsdp1", "model": "tinyllama-1.1b", "batch": 2, "sequence": 511, "layers": 3, "world": 4, "precision": "amp", "base": "bf16", "targets": "all", "rank": 4, "adapter_dropout": 0.05, "autocast": True},
    "held-fsdp2-lora-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "llama-3.1-8b", "batch": 4, "sequence": 777, "layers": 2, "world": 64, "ckpt": True, "base": "bf16", "targets": "attention", "rank": 4, "adapter_dropout": 0.05},
    "held-fsdp2-lora-all-amp-ckpt": {"with": "fsdp", "impl": "fsdp2", "model": "qwen3-8b", "batch": 1, "sequence": 1024, "layers": 4, "world": 3, "precision": "amp", "ckpt": True, "base": "bf16", "targets": "all", "rank": 16, "adapter_dropout": 0.05},
    "held-fsdp2-lora-amp": {"with": "fsdp", "impl": "fsdp2", "model": "llama-2-7b", "batch": 1, "sequence": 511, "layers": 2, "world": 24, "precision": "amp", "base": "bf16", "targets": "attention", "rank": 8},
    "held-ddp-views": {"with": "fsdp", "impl": "ddp", "model": "qwen2.5-0.5b", "batch": 4, "sequence": 511, "layers": 2, "world": 32, "precision": "amp", "ckpt": True, "views": True},
    "held-ddp-accum": {"with": "fsdp", "impl": "ddp", "model": "mistral-7b", "batch": 2, "sequence": 3000, "layers": 3, "world": 4, "precision": "amp", "accum": 3},
    "held-deepspeed-1-fp16": {"with": "deepspeed", "stage": 1, "model": "llama-3.1-8b", "batch": 1, "sequence": 1536, "layers": 3, "world": 16, "ckpt": True, "half": "fp16"},
    "held-deepspeed-3-accum": {"with": "deepspeed", "stage": 3, "model": "tinyllama-1.1b", "batch": 1, "sequence": 777, "layers": 2, "world": 2, "accum": 2},
    "held-deepspeed-3-lora": {"with": "deepspeed", "stage": 3, "model": "tinyllama-1.1b", "batch": 2, "sequence": 3000, "layers": 2, "world": 3, "base": "bf16", "targets": "all", "adapter_dropout": 0.05},
    "held-deepspeed-3-fp16-tied": {"with": "deepspeed", "stage": 3, "model": "qwen2.5-0.5b", "batch": 4, "sequence": 1536, "layers": 3, "world": 3, "half": "fp16"},
    "held-deepspeed-3-bucket": {"with": "deepspeed", "stage": 3, "model": "qwen2.5-0.5b", "batch": 3, "sequence": 2048, "layers": 2, "world": 8, "ckpt": True, "bucket": 20},
    "held-ppo-1": {"with": "ppo", "model": "llama-3.2-1b", "batch": 3, "sequence": 96, "layers": 2, "prompt": 93, "base": "bf16", "targets": "all", "rank": 4, "ref": "adapter", "precision": "amp", "ckpt": True, "accum": 2},
    "held-ppo-2": {"with": "ppo", "model": "qwen3-8b", "batch": 3, "sequence": 48, "layers": 4, "prompt": 36, "precision": "fp32"},
    "held-ppo-3": {"with": "ppo", "model": "qwen3-8b", "batch": 4, "sequence": 160, "layers": 2, "prompt": 155, "base": "bf16", "targets": "attention", "rank": 4, "ref": "adapter", "precision": "amp"},
    "held-ppo-4": {"with": "ppo", "model": "mistral-7b", "batch": 2, "sequence": 160, "layers": 4, "prompt": 151, "precision": "fp32", "ckpt": True},
}


def random_rows(seed, count):
    """Runs of four models with dimensions and settings drawn at random."""
    draw = random.Random(seed)
    for number in range(count):
        head, heads = draw.choice([32, 64, 80, 96, 128, 256]), draw.choice([2, 3, 4, 6, 7, 8, 12, 16])
        shared = draw.choice([few for few in range(1, heads + 1) if heads % few == 0])
        model, width = draw.choice(["tinyllama-1.1b", "qwen2.5-0.5b", "qwen3-8b", "llama-3.2-1b"]), head * heads
        shape = {
            "hidden_size": width, "num_attention_heads": heads, "num_key_value_heads": shared, "head_dim": head,
            "intermediate_size": draw.choice([2 * width, 3 * width + 8, 1000, 2752, 4096]), "num_hidden_layers": draw.choice([1, 2, 3]),
            "vocab_size": draw.choice([1000, 32000, 50257, 100008]), "tie_word_embeddings": draw.random() < 0.5,
        }
        run = {
            "model": model, "batch": draw.choice([1, 2, 3, 5, 8]), "sequence": draw.choice([17, 100, 511, 777, 1000, 1024, 1536, 3000]),
            "override": shape, "precision": draw.choice(["bf16", "bf16", "amp", "fp32"]), "ckpt": draw.random() < 0.5,
            "attn": draw.choice(["flash", "flash", "eager"]), "optimizer": draw.choice(["adamw", "adamw", "adamw-foreach", "adamw-loop"]),
        }
        if run["batch"] * run["sequence"] > 9000:
            run["batch"] = 1
        if draw.random() < 0.4:
            run |= {"base": draw.choice(["bf16", "fp32"]), "targets": draw.choice(["qv", "all", "attention"])}
            run |= {"rank": draw.choice([4, 8, 16]), "adapter_dropout": draw.choice([0.0, 0.05])}
        # Adapters on fp32 weights have no 16-bit inputs without autocast, and the other way round.
        pair = (run.get("base"), run["precision"])
        run["precision"] = {("fp32", "bf16"): "amp", ("bf16", "fp32"): "bf16"}.get(pair, run["precision"])
        yield f"held-{number + 1}", run


# Rows that nobody has looked at while what replays them was written.
ROWS |= random_rows(6, 4)
