"""Rows of record.py that other programs run. Each function here takes the row and the recorder, and says its scenario in
the words of a link and its packages.

The marks of a row are put where the program itself calls what they name."""

import functools
import sys

import measure_peak
import simulate
from record import STEPS


def mark_calls(recorder, owner, name, label, counts=lambda *_, **__: True):
    """Puts a mark before each call of a method of a class or of an object that counts."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def marked(*arguments, **named):
        if counts(*arguments, **named):
            recorder.mark(label)
        return method(*arguments, **named)

    setattr(owner, name, marked)


def mark_steps(recorder):
    """The marks of steps that call PyTorch's own functions."""
    import torch

    mark_calls(recorder, torch.Tensor, "backward", "backward")
    mark_calls(recorder, torch.optim.AdamW, "step", "optimizer")
    mark_calls(recorder, torch.optim.Optimizer, "zero_grad", "zero")


def mark_empty_caches(recorder):
    """A mark behind each call of empty_cache: by a script of the project when all is loaded, or by a program in between."""
    import torch

    empty_cache = torch.cuda.empty_cache

    def marked():
        own = sys._getframe(1).f_code.co_filename.startswith(f"{measure_peak.ROOT}/tools/")
        empty_cache()
        recorder.mark("loaded" if own else "empty")

    torch.cuda.empty_cache = marked


def take_steps(recorder, step):
    """Takes the place of what measures the peaks of a simulation's steps."""
    for _ in range(STEPS):
        recorder.begin_step()
        step()
        recorder.end_step()


def watch(script, recorder):
    """Has a script of tools/simulate mark its steps. One that has micro-batches says itself where each begins."""
    says = hasattr(script, "on_forward")
    if says:
        script.on_forward = lambda: recorder.mark("forward")

    def last_peak(step, *_):
        mark_steps(recorder)

        def marked():
            if not says:
                recorder.mark("forward")
            step()

        take_steps(recorder, marked)
        return {}

    script.last_peak = last_peak


def fsdp(case, recorder):
    """tools/simulate/with_fsdp.py, FSDP of either generation and DDP."""
    import with_fsdp

    watch(with_fsdp, recorder)
    with_fsdp.run(case)
    return with_fsdp.scenario(case), ["torch"]


def lengths(case, recorder):
    """tools/simulate/with_lengths.py, sequences of several lengths."""
    import with_lengths

    watch(with_lengths, recorder)
    with_lengths.run(case)
    return with_lengths.scenario(case), ["transformers"]


def encoders(case, recorder):
    """tools/simulate/with_encoders.py, encoders with decoders."""
    import with_encoders

    watch(with_encoders, recorder)
    with_encoders.run(case)
    return with_encoders.scenario(case), ["transformers"]


def images(case, recorder):
    """tools/simulate/with_images.py, models with vision towers."""
    import with_images

    watch(with_images, recorder)
    with_images.run(case)
    return with_images.scenario(case), with_images.PACKAGES


def torchtitan(case, recorder):
    """tools/simulate/with_torchtitan.py, whose trainer moves each micro-batch to the device itself and gives gradients back
    when a step begins."""
    import with_torchtitan

    def last_peak(step, *_):
        mark_steps(recorder)
        take_steps(recorder, step)

    with_torchtitan.last_peak = last_peak
    import torchtitan.train

    mark_calls(recorder, torchtitan.train.Trainer, "forward_backward_step", "forward")
    with_torchtitan.run(case)
    return with_torchtitan.scenario(case), ["torchtitan"]


def deepspeed(case, recorder):
    """tools/simulate/with_deepspeed.py. The engine's own step gives the gradients back."""
    import with_deepspeed

    def last_peak(step):
        from deepspeed import DeepSpeedEngine

        for name in ("forward", "backward"):
            mark_calls(recorder, DeepSpeedEngine, name, name)
        # Behind the other micro-batches it steps nothing.
        mark_calls(recorder, DeepSpeedEngine, "step", "optimizer", lambda engine: engine.is_gradient_accumulation_boundary())
        take_steps(recorder, step)

    with_deepspeed.last_peak = last_peak
    with_deepspeed.run(case)
    return with_deepspeed.scenario(case), ["deepspeed"]


def megatron(case, recorder):
    """tools/simulate/with_megatron.py. Gradients go when a step begins."""
    import with_megatron

    def last_peak(step):
        from megatron.core.pipeline_parallel import schedules

        mark_calls(recorder, schedules, "backward_step", "backward")
        take_steps(recorder, step)

    with_megatron.last_peak = last_peak
    with_megatron.on_forward = lambda: recorder.mark("forward")
    with_megatron.on_optimizer = lambda: recorder.mark("optimizer")
    with_megatron.run(case)
    return with_megatron.scenario(case), ["megatron-core", "transformer-engine"]


def grpo(case, recorder):
    """tools/simulate/with_trl.py, the passes of trl's GRPOTrainer: the scoring ones and the first trained one are one part."""
    import with_trl

    case = {"task": "grpo", **case}
    watch(with_trl, recorder)
    with_trl.run(case)
    return with_trl.scenario(case), ["trl"]


def dpo(case, recorder):
    """tools/simulate/with_trl.py, trl's DPOTrainer."""
    import trl

    return trained(trl, "DPOTrainer", {"task": "dpo", **case}, recorder)


def reward(case, recorder):
    """tools/simulate/with_trl.py, trl's RewardTrainer."""
    import trl

    return trained(trl, "RewardTrainer", {"task": "reward", **case}, recorder)


def distil(case, recorder):
    """tools/simulate/with_trl.py, trl's GKDTrainer."""
    from trl.experimental import gkd

    return trained(gkd, "GKDTrainer", {"task": "distil", **case}, recorder)


def trained(package, name, case, recorder):
    """A trainer of trl, in the place of which its package gets one that marks its steps."""
    import transformers
    import with_trl

    kind = getattr(package, name)

    class Steps(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            recorder.begin_step()

        def on_optimizer_step(self, *_, **__):
            recorder.mark("zero")

        def on_step_end(self, *_, **__):
            recorder.end_step()

    class Trainer(kind):
        def train(self):
            self.args.max_steps = STEPS
            self.add_callback(Steps())
            return super().train()

    # Scripts read what else is defined beside it.
    Trainer.__module__ = kind.__module__
    mark_steps(recorder)
    mark_calls(recorder, Trainer, "compute_loss", "forward")
    setattr(package, name, Trainer)
    with_trl.run(case)
    return with_trl.scenario(case), ["trl"]


def pipeline(case, recorder):
    """One rank of a pipeline of PyTorch: Schedule1F1B, or with several `chunks` ScheduleInterleaved1F1B.

    Stages have `layers` layers each: the first embeds, the last has the head."""
    import torch
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B

    rank, ranks, chunks = case["rank"], case["stages"], case.get("chunks", 1)
    stages = ranks * chunks
    asked, run = simulate.hugging_face_scenario(case)
    each = run["layers"]
    asked |= {"gpus": ranks, "pp": ranks, "layers": stages * each, "accum": case["microbatches"]} | ({"vpp": chunks} if chunks > 1 else {})
    simulate.join_nobody(rank, ranks)
    whole = measure_peak.build({**run, "layers": each * chunks}, "cuda")

    class Stage(torch.nn.Module):
        def __init__(self, index):
            super().__init__()
            first, last, place = index == 0, index == stages - 1, index // ranks * each
            self.embedding = whole.model.embed_tokens if first else None
            self.rotary, self.layers = whole.model.rotary_emb, whole.model.layers[place : place + each]
            self.norm, self.head = (whole.model.norm, whole.lm_head) if last else (None, None)

        def forward(self, hidden):
            if self.embedding is not None:
                hidden = self.embedding(hidden)
            places = torch.arange(hidden.shape[1], device=hidden.device).unsqueeze(0)
            rotated = self.rotary(hidden, places)
            for layer in self.layers:
                hidden = layer(hidden, position_ids=places, position_embeddings=rotated)
            return hidden if self.head is None else self.head(self.norm(hidden))

    def loss_of(logits, labels):
        return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten())

    size, vocabulary, width = (run["batch"], run["sequence"]), whole.config.vocab_size, whole.config.hidden_size

    def example(size, dtype=torch.bfloat16):
        """What a stage is told of a tensor, which it would run once to learn."""
        return torch.empty(size, dtype=dtype, device="meta", requires_grad=dtype.is_floating_point)

    hidden = example((*size, width))

    def stage(index):
        first, last = index == 0, index == stages - 1
        return PipelineStage(
            Stage(index), index, stages, torch.device("cuda"), input_args=example(size, torch.long) if first else hidden,
            output_args=example((*size, vocabulary)) if last else hidden, output_grads=(None,) if last else hidden,
            input_grads=(None,) if first else hidden,
        )

    parts = [stage(index) for index in range(rank, stages, ranks)]
    # What of the model belongs to other stages.
    del whole
    first, last = rank == 0, rank == ranks - 1
    loss = loss_of if last else (lambda *_: None)
    if chunks > 1:
        schedule = ScheduleInterleaved1F1B(parts, case["microbatches"], loss)
    else:
        schedule = Schedule1F1B(parts[0], case["microbatches"], loss)
    optimizer = measure_peak.optimizer_of(run, torch.nn.ModuleList(part.submod for part in parts), "cuda")
    torch.cuda.empty_cache()
    for part in parts:
        mark_calls(recorder, part, "forward_one_chunk", "forward")
        mark_calls(recorder, part, "backward_one_chunk", "backward")
    mark_steps(recorder)
    tokens = torch.zeros(run["batch"] * case["microbatches"], run["sequence"], dtype=torch.long, device="cuda")

    def step():
        schedule.step(*[tokens] * first, **{"target": tokens, "losses": []} if last else {})
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    take_steps(recorder, step)
    return asked, ["torch"]


def ppo(case, recorder):
    """tools/simulate/with_trl.py, trl's PPOTrainer: a `forward` begins what it generates and scores, and each pass that is
    trained."""
    import transformers
    import with_trl
    from trl.experimental.ppo import PPOTrainer, ppo_trainer

    class Steps(transformers.TrainerCallback):
        def on_step_end(self, *_, **__):
            recorder.end_step()
            recorder.begin_step()

    train = PPOTrainer.train

    def counted(trainer):
        trainer.args.num_total_batches = STEPS
        trainer.add_callback(Steps())
        recorder.begin_step()
        recorder.mark("loaded")
        train(trainer)

    PPOTrainer.train = counted
    mark_steps(recorder)
    mark_calls(recorder, ppo_trainer, "batch_generation", "forward")
    mark_calls(recorder, ppo_trainer.PolicyAndValueWrapper, "forward", "forward")
    case = {"task": "ppo", **case}
    with_trl.run(case)
    return with_trl.scenario(case), ["trl"]


def outside(case, recorder):
    """tools/simulate/outside.py: a training step, and what stands outside it, which counts for the peaks of the second."""
    import outside as script
    import torch

    during = script.during

    def measured(what):
        recorder.end_step()
        recorder.mark("outside")
        recorder.begin_step()
        peaks = during(what)
        recorder.end_step()
        return peaks

    script.during = measured
    mark_steps(recorder)
    recorder.begin_step()
    script.run(case)
    return script.scenario(case), ["transformers", "torch", "peft"]
