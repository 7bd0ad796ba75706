#!/usr/bin/env python3
"""Runs trl's DPOTrainer and RewardTrainer on one device, as they are, and the passes of its GRPOTrainer.

    python3 tools/simulate/with_trl.py --segments fixed --out tests/vectors/trl.json
    python3 tools/simulate/with_trl.py --case '{"task": "dpo", "model": "tinyllama-1.1b", "batch": 1, "sequence": 1024}'

It needs what tools/measure_peak.py needs, trl (tests/vectors/requirements.txt) and the GPU of tools/nullcuda. A case
says what a run of tools/measure_peak.py says. "precision": "amp" is the trainers' own bf16=True, and "bf16" a
model in bf16 with bf16=False. "batch" counts pairs: chosen and rejected are two sequences of "sequence" tokens.
"""

from simulate import hugging_face_scenario, last_peak, main, measure_peak

DEFAULTS = {
    "task": "dpo",
    # What stands for the reference: a copy, the model with its adapters off, or log-probabilities of an earlier run.
    "ref": "copy",
    # Tokens of each sequence that are its prompt.
    "prompt": 16,
}
TINY = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 1024}
QWEN = {"model": "qwen2.5-0.5b", "batch": 2, "sequence": 1024}
LLAMA = {"model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "ckpt": True}
ADAPTED = {"base": "bf16", "targets": "all", "rank": 16, "ref": "adapter"}
CASES = [
    *({**TINY, "precision": precision, "ckpt": ckpt} for precision in ("fp32", "amp", "bf16") for ckpt in (False, True)),
    *({**QWEN, "precision": precision, "ckpt": ckpt} for precision in ("amp", "bf16") for ckpt in (False, True)),
    *({**QWEN, "precision": precision, "ref": "none"} for precision in ("amp", "bf16")),
    {**QWEN, "precision": "amp", "ckpt": True, "accum": 4},
    *({**LLAMA, "precision": precision} for precision in ("amp", "bf16")),
    *({**LLAMA, **ADAPTED, "precision": "amp", "ckpt": ckpt} for ckpt in (False, True)),
    {**LLAMA, **ADAPTED, "precision": "amp", "ref": "none"},
    *({**QWEN, "task": "grpo", "batch": 4, "prompt": 128, "precision": precision, "ckpt": ckpt} for precision in ("amp", "bf16") for ckpt in (False, True)),
    {**QWEN, "task": "grpo", "batch": 4, "prompt": 512, "precision": "bf16", "ckpt": True, "ref": "none"},
    *({**QWEN, "task": "grpo", "batch": 1, "prompt": 128, "precision": precision, "ckpt": True, "ref": "none"} for precision in ("amp", "bf16")),
    *({**TINY, "task": "reward", "batch": 4, "precision": precision} for precision in ("amp", "bf16")),
]


def scenario(case):
    """The case in the words of a link."""
    asked, run = hugging_face_scenario(case)
    case = {**DEFAULTS, **case}
    asked |= {"task": case["task"]}
    if case["task"] != "reward":
        asked |= {"ref": case["ref"], "completion": run["sequence"] - case["prompt"]}
    if case["task"] == "grpo":
        asked |= {"rollout": "server"}
    return asked


def tokenizer(vocabulary):
    """A tokenizer that nobody asks for anything but the token that pads."""
    import tokenizers
    import transformers

    words = tokenizers.models.WordLevel({"<pad>": 0, "<eos>": 1}, unk_token="<pad>")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(words), pad_token="<pad>", eos_token="<eos>"
    )


def unpad_nothing():
    """transformers looks whether a mask hides anything, finds zeros where nobody computed ones, and gives kernels a mask."""
    import transformers.masking_utils

    transformers.masking_utils._ignore_causal_mask_sdpa = lambda *_, **__: True


def arguments_of(kind, run, case):
    """What a user would write, less what goes to the disk."""
    common = {
        "output_dir": "/nonexistent", "report_to": [], "save_strategy": "no", "disable_tqdm": True,
        "per_device_train_batch_size": run["batch"], "gradient_accumulation_steps": run["accum"],
        "max_steps": 3, "logging_strategy": "no", "max_length": run["sequence"], "learning_rate": 1e-5,
        "bf16": run["precision"] == "amp", "gradient_checkpointing": run["ckpt"],
        "gradient_checkpointing_kwargs": {"use_reentrant": False} if run["ckpt"] else None,
        "optim": "adamw_torch_fused", "dataloader_pin_memory": False, "max_grad_norm": 0.0,
    }
    if case["task"] == "dpo":
        common["precompute_ref_log_probs"] = case["ref"] == "none"
    return kind(**common)


def run(case):
    """Three optimizer steps of the trainer's own loop, of which the last counts."""
    import datasets
    import torch
    import transformers
    import trl

    run = hugging_face_scenario(case)[1]
    case = {**DEFAULTS, **case}
    measure_peak.unpack_nothing()
    unpad_nothing()
    datasets.disable_caching()
    reward = case["task"] == "reward"
    plain = {**run, "base": "", "ckpt": False, "loss": "classifier" if reward else "causal"}
    if run["base"]:
        plain["precision"] = "bf16"
    model = build(plain, reward)
    if case["task"] == "grpo":
        return log_probs(run, case, model, plain)
    length = run["sequence"] - case["prompt"]
    row = {"prompt_ids": [2] * case["prompt"], "chosen_ids": [3] * length, "rejected_ids": [4] * length}
    if reward:
        row = {"chosen_ids": [3] * run["sequence"], "rejected_ids": [4] * run["sequence"]}
    data = datasets.Dataset.from_list([row] * (run["batch"] * run["accum"] * 3))
    if case["ref"] == "none" and not reward:
        # A run before this one has found them.
        data = data.add_column("ref_chosen_logps", [0.0] * len(data)).add_column("ref_rejected_logps", [0.0] * len(data))

    kind, configuration = (trl.RewardTrainer, trl.RewardConfig) if reward else (trl.DPOTrainer, trl.DPOConfig)

    class Tokenized(kind):
        """The rows are token ids already, and log-probabilities of a reference are among them where it is asked for."""

        def _prepare_dataset(self, dataset, *_):
            return dataset

        def _precompute_ref_logps(self, dataset, *_):
            return dataset

    class LastStep(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            torch.cuda.reset_peak_memory_stats()

    more = {}
    if case["task"] == "dpo" and case["ref"] == "copy":
        more["ref_model"] = build(plain, reward)
    if run["base"]:
        import peft

        names = measure_peak.TARGETS.get(run["targets"])
        more["peft_config"] = peft.LoraConfig(
            r=run["rank"], lora_alpha=run["rank"], lora_dropout=run["adapter_dropout"],
            target_modules=names or "all-linear", task_type="CAUSAL_LM",
        )
    trainer = Tokenized(
        model=model, args=arguments_of(configuration, run, case), train_dataset=data,
        processing_class=tokenizer(model.config.vocab_size), callbacks=[LastStep()], **more,
    )
    torch.cuda.empty_cache()
    trainer.train()
    return {"peak_bytes": {"total": torch.cuda.max_memory_allocated()}, "reserved_bytes": torch.cuda.max_memory_reserved()}


def log_probs(run, case, model, plain):
    """GRPOTrainer's own pass for log-probabilities, scored by the reference and trained, in a loop of ours.

    The trainer around it reads back what it has generated, and finds no token.
    """
    import types

    import accelerate
    import torch
    from trl import GRPOTrainer

    accelerator = accelerate.Accelerator(mixed_precision="bf16" if run["precision"] == "amp" else "no")
    trainer = types.SimpleNamespace(model_kwarg_keys={"logits_to_keep"}, temperature=1.0, _entropy_bonus_enabled=False)
    reference = accelerator.prepare_model(build(plain, False), evaluation_mode=True) if case["ref"] == "copy" else None
    if run["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = accelerator.prepare_model(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    torch.cuda.empty_cache()
    tokens = torch.zeros(run["batch"], run["sequence"], dtype=torch.long, device="cuda")
    asked = (tokens, torch.ones_like(tokens), run["sequence"] - case["prompt"])
    of = GRPOTrainer._get_per_token_logps_and_entropies
    of = getattr(of, "__wrapped__", of)

    def step():
        with torch.no_grad():
            # Where others generate, the model’s own log-probabilities are computed first.
            for scoring in filter(None, (model, reference)):
                of(trainer, scoring, *asked, run["batch"])
        for _ in range(run["accum"]):
            logps, _, _ = of(trainer, model, *asked, compute_entropy=True)
            loss = -logps.mean()
            del logps
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return last_peak(step)


def build(run, reward):
    """The model of a run; a reward model puts out one number."""
    if reward:
        run = {**run, "override": {"num_labels": 1, "pad_token_id": 0}}
    return measure_peak.build(run, "cuda")


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["trl", "transformers"])
