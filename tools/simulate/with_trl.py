#!/usr/bin/env python3
"""Runs trl's DPOTrainer, RewardTrainer, GKDTrainer and PPOTrainer on one device, as they are, and the passes of its
GRPOTrainer.

    python3 tools/simulate/with_trl.py --segments fixed --out tests/vectors/trl.json
    python3 tools/simulate/with_trl.py --case '{"task": "dpo", "model": "tinyllama-1.1b", "batch": 1, "sequence": 1024}'

It needs what tools/measure_peak.py needs, trl (tests/vectors/requirements.txt) and the GPU of tools/nullcuda. A case
says what a run of tools/measure_peak.py says. "precision": "amp" is the trainers' own bf16=True, and "bf16" a
model in bf16 with bf16=False. "batch" counts pairs: chosen and rejected are two sequences of "sequence" tokens.
"""

import os

from simulate import hugging_face_scenario, join_nobody, last_peak, main, measure_peak

DEFAULTS = {
    "task": "dpo",
    # What stands for the reference: a copy, the model with its adapters off, or log-probabilities of an earlier run.
    "ref": "copy",
    # Tokens of each sequence that are its prompt.
    "prompt": 16,
    # How many completions transformers' own generate makes at once before the step; 0 where others generate.
    "generations": 0,
    # How devices share the training (with_fsdp.py, or "deepspeed"), and how many there are.
    "impl": "", "world": 8,
}
TINY = {"model": "tinyllama-1.1b", "batch": 1, "sequence": 1024}
QWEN = {"model": "qwen2.5-0.5b", "batch": 2, "sequence": 1024}
LLAMA = {"model": "llama-3.1-8b", "batch": 1, "sequence": 1024, "ckpt": True}
GENERATED = {"task": "grpo", "ref": "none", "prompt": 384, "ckpt": True}
PPO = {"task": "ppo", "prompt": 128}
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
    *({**TINY, "task": "distil", "precision": precision, "ckpt": ckpt} for precision in ("amp", "bf16") for ckpt in (False, True)),
    *({**QWEN, "task": "distil", "precision": precision, "ckpt": True} for precision in ("amp", "bf16")),
    *({**QWEN, "task": "distil", "batch": 4, "sequence": 512, "precision": "bf16", "ckpt": ckpt} for ckpt in (False, True)),
    *({**GENERATED, **QWEN, "batch": 1, "sequence": 512, "precision": precision, "generations": many} for precision in ("amp", "bf16") for many in (512, 2048)),
    *({**GENERATED, **TINY, "sequence": 512, "precision": "bf16", "generations": many} for many in (512, 2048)),
    # Short prompts, so that the last token needs more than they do.
    *({**GENERATED, **TINY, "sequence": 384, "prompt": 32, "precision": precision, "generations": 1024} for precision in ("amp", "bf16")),
    # Chosen before any of them was compared with what is counted.
    {**PPO, **TINY, "precision": "fp32"},
    *({**PPO, **TINY, "precision": precision, "ckpt": ckpt} for precision in ("amp", "bf16") for ckpt in (False, True)),
    *({**PPO, **QWEN, "prompt": 512, "precision": precision, "ckpt": True} for precision in ("amp", "bf16")),
    {**PPO, **QWEN, "batch": 4, "sequence": 512, "prompt": 384, "precision": "bf16"},
    {**PPO, **QWEN, "batch": 1, "prompt": 512, "precision": "bf16", "ckpt": True, "accum": 4},
    {**PPO, **LLAMA, "prompt": 896, "precision": "bf16"},
    *({**PPO, **LLAMA, **ADAPTED, "prompt": 896, "precision": "amp", "ckpt": ckpt} for ckpt in (False, True)),
]


def scenario(case):
    """The case in the words of a link."""
    asked, run = hugging_face_scenario(case)
    case = {**DEFAULTS, **case}
    asked |= {"task": case["task"]}
    if case["task"] != "reward":
        asked |= {"ref": case["ref"]}
    if case["task"] in ("dpo", "grpo", "ppo"):
        asked |= {"completion": run["sequence"] - case["prompt"]}
    if case["task"] == "ppo":
        # What one update trains on is scored at once, up to 64 sequences (`local_rollout_forward_batch_size`).
        asked |= {"rollout": "model", "reward": "model"} | ({"score_b": run["batch"] * run["accum"]} if run["accum"] > 1 else {})
    if case["impl"] == "deepspeed":
        import with_deepspeed

        asked |= {key: value for key, value in with_deepspeed.scenario(case_of(case)).items() if key in ("engine", "gpus", "zero", "precision", "bucket", "grad")}
    elif case["impl"]:
        import with_fsdp

        asked |= {key: value for key, value in with_fsdp.scenario(case_of(case)).items() if key in ("gpus", "zero", "precision", "reshard")}
    if case["task"] == "grpo":
        many = case["generations"]
        asked |= {"rollout": "model", "generations": many} if many else {"rollout": "server"}
    return asked


def case_of(case):
    """What a case says of its run and of how devices share it."""
    return {key: value for key, value in case.items() if key not in ("task", "ref", "prompt", "generations")}


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
    if case["task"] == "distil":
        # Answers are those of the data, and nothing is drawn.
        common |= {"lmbda": 0.0, "seq_kd": False}
    return kind(**common)


def run(case):
    """Three optimizer steps of the trainer's own loop, of which the last counts."""
    import datasets
    import torch
    import transformers
    import trl

    run = hugging_face_scenario(case)[1]
    case = {**DEFAULTS, **case}
    if case["impl"]:
        join_nobody(0, case["world"])
    measure_peak.unpack_nothing()
    unpad_nothing()
    datasets.disable_caching()
    reward = case["task"] == "reward"
    plain = {**run, "base": "", "ckpt": False, "loss": "classifier" if reward else "causal"}
    if run["base"]:
        plain["precision"] = "fp32" if run["base"] == "fp32" else "bf16"
    model = build(plain, reward)
    if case["task"] == "grpo":
        return log_probs(run, case, model, plain)
    if case["task"] == "ppo":
        return policy_and_value(run, case, model, plain)
    length = run["sequence"] - case["prompt"]
    row = {"prompt_ids": [2] * case["prompt"], "chosen_ids": [3] * length, "rejected_ids": [4] * length}
    if reward:
        row = {"chosen_ids": [3] * run["sequence"], "rejected_ids": [4] * run["sequence"]}
    data = datasets.Dataset.from_list([row] * (run["batch"] * run["accum"] * 3))
    if case["ref"] == "none" and not reward:
        # A run before this one has found them.
        data = data.add_column("ref_chosen_logps", [0.0] * len(data)).add_column("ref_rejected_logps", [0.0] * len(data))

    if case["task"] == "distil":
        from trl.experimental.gkd import GKDConfig, GKDTrainer

        kind, configuration = answered_by_all(GKDTrainer), GKDConfig
        data = datasets.Dataset.from_list([{"length": run["sequence"]}] * (run["batch"] * run["accum"] * 3))
    else:
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

    if case["impl"] == "ddp":
        replicate(run, case)
    more = {}
    if case["task"] == "dpo" and case["ref"] == "copy":
        more["ref_model"] = build(plain, reward)
    if case["task"] == "distil":
        more |= {"teacher_model": build(plain, reward), "data_collator": lambda rows: collated(rows, case)}
    if run["base"]:
        more["peft_config"] = lora_of(run)
    trainer = Tokenized(
        model=model, args=arguments_of(configuration, run, case), train_dataset=data,
        processing_class=tokenizer(model.config.vocab_size), callbacks=[LastStep()], **more,
    )
    torch.cuda.empty_cache()
    trainer.train()
    return {"peak_bytes": {"total": torch.cuda.max_memory_allocated()}, "reserved_bytes": torch.cuda.max_memory_reserved()}


def replicate(run, case):
    """Has accelerate put DDP around the trained model."""
    import accelerate
    import torch
    import with_fsdp

    prepare = accelerate.Accelerator.prepare_model

    def prepared(self, model, *arguments, evaluation_mode=False, **named):
        model = prepare(self, model, *arguments, evaluation_mode=evaluation_mode, **named)
        if not evaluation_mode:
            model, _ = with_fsdp.wrapped(run, {**with_fsdp.DEFAULTS, **case}, model)
            # What it puts there is there before the first step.
            torch.cuda.empty_cache()
        return model

    accelerate.Accelerator.prepare_model = prepared


def collated(rows, case):
    """What GKD's collator makes of rows of one length: a prompt, and an answer that alone has labels."""
    import torch

    tokens = torch.full((len(rows), rows[0]["length"]), 3)
    labels = tokens.clone()
    labels[:, : case["prompt"]] = -100
    prompts = tokens[:, : case["prompt"]].clone()
    whole = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": labels}
    return {**whole, "prompts": prompts, "prompt_attention_mask": torch.ones_like(prompts)}


def answered_by_all(trainer):
    """GKDTrainer, whose loss picks the places of the answers by a mask: what is read of it is zero where nobody computes.

    The same places are picked by their numbers, which takes what a mask takes once it is read.
    """
    import inspect
    import textwrap

    source = textwrap.dedent(inspect.getsource(trainer.generalized_jsd_loss)).replace("@staticmethod", "")
    picked = "jsd = jsd[picked(labels)]"
    if source.count("jsd = jsd[mask]") != 1:
        raise SystemExit("GKDTrainer no longer picks its places by a mask")
    scope = {**inspect.getmodule(trainer).__dict__, "picked": picked_places}
    exec(source.replace("jsd = jsd[mask]", picked), scope)
    return type("Picked", (trainer,), {"generalized_jsd_loss": staticmethod(scope["generalized_jsd_loss"])})


def picked_places(labels):
    """The numbers of rows and tokens behind the prompt of 16, which the labels' shift makes 15."""
    import torch

    batch, length = labels.shape
    behind = length - (DEFAULTS["prompt"] - 1)
    rows = torch.arange(batch, device=labels.device).repeat_interleave(behind)
    return rows, (torch.arange(behind, device=labels.device) + length - behind).repeat(batch)


def generate(model, prompts, length):
    """transformers' generate as GRPOTrainer calls it, up to the same length for all: nobody reads which token was drawn."""
    import torch
    import transformers

    settings = transformers.GenerationConfig(
        max_length=length, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, pad_token_id=0, eos_token_id=None,
        use_cache=True,
    )
    made = []
    # Whether a sequence has ended is read back, and would be zero: the number of tokens says it.
    model._has_unfinished_sequences = lambda *_, **__: len(made) < length - prompts.shape[1] and not made.append(0)
    with torch.no_grad():
        return model.generate(input_ids=prompts, attention_mask=torch.ones_like(prompts), generation_config=settings)


def log_probs(run, case, model, plain):
    """GRPOTrainer's own pass for log-probabilities, scored by the reference and trained, in a loop of ours.

    The trainer around it reads back what it has generated, and finds no token.
    """
    import types

    import accelerate
    import torch
    from trl import GRPOTrainer
    from trl.models import unwrap_model_for_generation

    # Where devices divide models, FSDP and DeepSpeed have types of their own.
    casts = run["precision"] == "amp" and case["impl"] in ("", "ddp")
    accelerator = accelerate.Accelerator(mixed_precision="bf16" if casts else "no")
    trainer = types.SimpleNamespace(model_kwarg_keys={"logits_to_keep"}, temperature=1.0, _entropy_bonus_enabled=False)
    reference = accelerator.prepare_model(build(plain, False), evaluation_mode=True) if case["ref"] == "copy" else None
    if run["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = accelerator.prepare_model(model)
    model, reference, optimizer = shared(run, case, model, reference)
    backward, update = torch.Tensor.backward, lambda: (optimizer.step(), optimizer.zero_grad(set_to_none=True))
    if case["impl"] == "deepspeed":
        backward, update = model.backward, lambda: None
    torch.cuda.empty_cache()
    tokens = torch.zeros(run["batch"], run["sequence"], dtype=torch.long, device="cuda")
    asked = (tokens, torch.ones_like(tokens), run["sequence"] - case["prompt"])
    of = GRPOTrainer._get_per_token_logps_and_entropies
    of = getattr(of, "__wrapped__", of)

    prompts = torch.zeros(case["generations"], case["prompt"], dtype=torch.long, device="cuda")

    def step():
        if case["generations"]:
            # As GRPOTrainer enters it: without checkpointing, under which there is no cache.
            with unwrap_model_for_generation(model, accelerator) as generating:
                generate(generating, prompts, run["sequence"])
            if run["ckpt"]:
                generating.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        with torch.no_grad():
            # Where others generate, the model’s own log-probabilities are computed first.
            own = model.module if case["impl"] == "ddp" else model
            for scoring in filter(None, (own if not case["generations"] else None, reference)):
                of(trainer, scoring, *asked, run["batch"])
        for _ in range(run["accum"]):
            logps, _, _ = of(trainer, model, *asked, compute_entropy=True)
            loss = -logps.mean()
            del logps
            backward(loss)
            if case["impl"] == "deepspeed":
                model.step()
        update()

    return last_peak(step)


def shared(run, case, model, reference):
    """The trained model as with_fsdp.py and with_deepspeed.py wrap it, the reference as trl's trainers do, and the optimizer."""
    import types

    import torch
    from trl.models import prepare_deepspeed, prepare_fsdp

    def optimizer_of(model):
        return torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    if case["impl"] == "deepspeed":
        import with_deepspeed

        model, reference_of = with_deepspeed.engine_of(run, {**with_deepspeed.DEFAULTS, **case}, model, optimizer_of(model))
        if reference:
            plugin = types.SimpleNamespace(deepspeed_config=reference_of)
            reference = prepare_deepspeed(reference, types.SimpleNamespace(state=types.SimpleNamespace(deepspeed_plugin=plugin)))
        return model, reference, None
    if case["impl"]:
        import with_fsdp

        told = {**with_fsdp.DEFAULTS, **case}
        model, plugin = with_fsdp.wrapped(run, told, model)
        if reference and plugin:
            asked = types.SimpleNamespace(state=types.SimpleNamespace(fsdp_plugin=plugin), device=torch.device("cuda", 0))
            reference = prepare_fsdp(reference, asked)
    return model, reference, optimizer_of(model)


def policy_and_value(run, case, policy, plain):
    """Three updates of PPOTrainer's own loop, of which the last counts.

    Two things in it look at numbers: how many tokens are generated, which their number says, and whether a mask over
    which advantages are whitened is empty. They are a few bytes a token, and are left as they are.
    """
    import datasets
    import torch
    import transformers
    from trl.experimental.ppo import PPOConfig, PPOTrainer, ppo_trainer

    ppo_trainer.masked_whiten = lambda values, *_, **__: values
    # The trainer asks accelerate for autocast, and accelerate asks how it was launched.
    os.environ["ACCELERATE_MIXED_PRECISION"] = "bf16" if run["precision"] == "amp" else "no"
    value, reward = (build({**plain, "loss": "classifier"}, True) for _ in range(2))
    reference = build(plain, False) if case["ref"] == "copy" else None
    for model in filter(None, (policy, value, reward, reference)):
        # As in the files of these models; the trainer leaves it so.
        model.config.use_cache = True
        if model.can_generate():
            model.generation_config.use_cache = True
    if run["ckpt"]:
        # The wrapper around both models passes it on to the policy alone.
        policy.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    length = run["sequence"] - case["prompt"]
    generated_by_number(length)
    peaks = []

    class LastUpdate(transformers.TrainerCallback):
        def on_step_end(self, *_, **__):
            peaks.append((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
            torch.cuda.reset_peak_memory_stats()

    together = run["batch"] * run["accum"]
    # More than is read: behind the last batch of an epoch accelerate steps after every micro-batch.
    data = datasets.Dataset.from_list([{"input_ids": [2] * case["prompt"]}] * (together * 4))
    arguments = PPOConfig(
        output_dir="/tmp", report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
        per_device_train_batch_size=run["batch"], gradient_accumulation_steps=run["accum"], total_episodes=3 * together,
        num_sample_generations=0, response_length=length, bf16=run["precision"] == "amp",
        gradient_checkpointing=run["ckpt"], optim="adamw_torch_fused", learning_rate=1e-5,
    )
    PPOTrainer(
        args=arguments, processing_class=tokenizer(policy.config.vocab_size), model=policy, ref_model=reference,
        reward_model=reward, value_model=value, train_dataset=data, eval_dataset=data, callbacks=[LastUpdate()],
        peft_config=lora_of(run),
    ).train()
    allocated, reserved = peaks[-1]
    return {"peak_bytes": {"total": allocated}, "reserved_bytes": reserved}


def generated_by_number(length):
    """transformers' generate stops at the length, which it would read back as zero."""
    import transformers

    made = []

    def unfinished(*_, **__):
        if len(made) == length:
            made.clear()
            return False
        made.append(0)
        return True

    transformers.GenerationMixin._has_unfinished_sequences = unfinished


def lora_of(run):
    """The adapters of a run, where it has any."""
    if not run["base"]:
        return None
    import peft

    return peft.LoraConfig(
        r=run["rank"], lora_alpha=run["rank"], lora_dropout=run["adapter_dropout"],
        target_modules=measure_peak.TARGETS.get(run["targets"]) or "all-linear", task_type="CAUSAL_LM",
    )


def build(run, reward):
    """The model of a run; a reward model puts out one number."""
    if reward:
        run = {**run, "override": {"num_labels": 1, "pad_token_id": 0}}
    return measure_peak.build(run, "cuda")


if __name__ == "__main__":
    main(__doc__, CASES, run, scenario, ["trl", "transformers"])
