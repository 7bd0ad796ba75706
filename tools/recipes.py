"""Loss heads, kernels, recomputation and optimizers that libraries beside PyTorch and transformers have, for measure_peak.py
and for what records traces.

It needs, for what a run names: liger-kernel, torchtune, torchtitan, torchao, galore-torch, apollo-torch and lion-pytorch, and for
the head "kernel" flash-attention's two files flash_attn/ops/triton/cross_entropy.py and flash_attn/losses/cross_entropy.py.
"""

import importlib.metadata
import types

# The scenario's words for what a run does.
HEADS = ("chunked", "chunked-head", "kernel", "kernel-inplace", "fused", "tiled")
OPTIMIZERS = {
    "lion": ("lion", "foreach"),
    "muon": ("muon", "fused"),
    "adam8bit-paged": ("adam8bit-paged", "fused"),
    "adam8bit-torchao": ("adam8bit-torchao", "fused"),
    "adam4bit": ("adam4bit", "fused"),
    "adam-fp8": ("adam-fp8", "fused"),
    "galore": ("galore", "loop"),
    "galore-8bit": ("galore-8bit", "loop"),
    "apollo": ("apollo", "loop"),
}
# Whose code each of these is.
PACKAGES = {
    "chunked": "torchtune", "chunked-head": "torchtitan", "kernel-inplace": "liger-kernel", "fused": "liger-kernel", "tiled": "trl", "liger": "liger-kernel",
    "lion": "lion-pytorch", "adam8bit-paged": "bitsandbytes", "galore": "galore-torch", "galore-8bit": "galore-torch", "apollo": "apollo-torch",
    "adam8bit-torchao": "torchao", "adam4bit": "torchao", "adam-fp8": "torchao",
}


def launch_nothing():
    """Has Triton launch nothing, where the GPU computes nothing: what functions allocate around kernels stays as it is."""
    import triton.runtime.autotuner
    import triton.runtime.jit

    for kind in (triton.runtime.jit.JITFunction, triton.runtime.autotuner.Autotuner):
        kind.run = lambda self, *_, **__: None


def with_head(model, run):
    """The model of a run with the loss head that it names. Labels are those of the next tokens."""
    head = run["head"]
    if head == "fused":
        from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN

        apply = MODEL_TYPE_TO_APPLY_LIGER_FN[model.config.model_type]
        apply(rope=False, rms_norm=False, fused_linear_cross_entropy=True, model=model, **without(apply))
    elif head in ("kernel", "kernel-inplace"):
        model.loss_function = of_next_tokens(flash if head == "kernel" else liger)
    elif head == "tiled":
        model.forward = tiled(model)
    elif head == "chunked":
        model.forward = types.MethodType(chunked, model)
    elif run["logits"] == "kept-fp32":
        model.forward = types.MethodType(kept_in_fp32, model)
    elif head == "chunked-head":
        model.forward = types.MethodType(chunked_head, model)


def with_layers(model):
    """The model with Liger's norms, rotary embedding and gated product."""
    from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN

    MODEL_TYPE_TO_APPLY_LIGER_FN[model.config.model_type](fused_linear_cross_entropy=False, model=model)


def without(apply):
    """What Liger puts in the place of other parts, off."""
    import inspect

    names = ("swiglu", "geglu", "cross_entropy")
    return {name: False for name in names if name in inspect.signature(apply).parameters}


def of_next_tokens(loss):
    """A loss of logits as they come out of the head, in the place of `ForCausalLMLoss`, which casts them to fp32 first."""
    import torch

    def loss_function(logits, labels, vocab_size, **_):
        labels = torch.nn.functional.pad(labels, (0, 1), value=-100)
        shift_labels = labels[..., 1:].contiguous()
        return loss(logits.view(-1, vocab_size), shift_labels.view(-1))

    return loss_function


def flash(logits, labels):
    """flash-attention's cross-entropy."""
    from flash_attn.losses.cross_entropy import CrossEntropyLoss

    return CrossEntropyLoss(inplace_backward=False)(logits, labels)


def liger(logits, labels):
    """Liger's cross-entropy. It asserts that labels are within the vocabulary, which nobody computes here."""
    import torch
    from liger_kernel.transformers.cross_entropy import LigerCrossEntropyLoss

    truth = torch.Tensor.__bool__
    torch.Tensor.__bool__ = lambda _: True
    try:
        return LigerCrossEntropyLoss()(logits, labels)
    finally:
        torch.Tensor.__bool__ = truth


def hidden_and_labels(model, input_ids, labels):
    """The last hidden state, and the labels of the next tokens."""
    import torch

    hidden = model.model(input_ids=input_ids)[0]
    return hidden, torch.nn.functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()


def tiled(model):
    """The forward pass with trl's own head. A mask reads as zeros here, so that the places of all tokens are picked in its stead."""
    import torch
    from trl.trainer.utils import add_fused_lm_head

    add_fused_lm_head(model)
    forward, pick = model.forward, torch.Tensor.__getitem__

    def picked(tensor, key):
        if not isinstance(key, torch.Tensor) or key.dtype != torch.bool:
            return pick(tensor, key)
        key.nonzero()
        return pick(tensor, tuple(torch.empty(2, key.numel(), dtype=torch.long, device=key.device)))

    torch.Tensor.__getitem__ = picked
    return lambda **named: forward(fused_lm_head=True, **named)


def chunked(model, input_ids, labels, **_):
    """torchtune's loss on chunks of logits, which its decoders make one after another (`chunked_output`)."""
    import transformers.modeling_outputs

    hidden, labels = hidden_and_labels(model, input_ids, labels)
    loss = torchtune_loss()
    logits = [model.lm_head(chunk) for chunk in hidden.tensor_split(loss.num_output_chunks, dim=1)]
    # FSDP looks for tensors in what a module puts out.
    return transformers.modeling_outputs.CausalLMOutput(loss=loss(logits, labels))


def kept_in_fp32(model, input_ids, labels, **_):
    """`LlamaForCausalLM.forward` of transformers 4.45.2, which puts logits out in fp32 and shifts them."""
    import torch

    hidden_states = model.model(input_ids=input_ids)[0]
    logits = model.lm_head(hidden_states).float()
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    shift_logits = shift_logits.view(-1, model.config.vocab_size)
    shift_labels = shift_labels.view(-1)
    loss = torch.nn.CrossEntropyLoss()(shift_logits, shift_labels)
    return types.SimpleNamespace(loss=loss, logits=logits)


def torchtune_loss():
    """The loss of torchtune, by its own file: the package asks torchao for what that has no more."""
    import importlib.util
    import pathlib

    package = pathlib.Path(importlib.util.find_spec("torchtune").origin).parent
    spec = importlib.util.spec_from_file_location("chunked_loss", package / "modules" / "loss" / "ce_chunked_output_loss.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CEWithChunkedOutputLoss()


def chunked_head(model, input_ids, labels, **_):
    """torchtitan's loss, which takes head, loss and their backward pass chunk by chunk."""
    from torchtitan.components.loss import ChunkedLossWrapper

    hidden, labels = hidden_and_labels(model, input_ids, labels)
    wrapper = ChunkedLossWrapper(ChunkedLossWrapper.Config())
    wrapper.set_lm_head(model.lm_head)
    return types.SimpleNamespace(loss=wrapper(hidden, labels, float(labels.numel()))[0])


def packages_of(run):
    """The packages that a run needs for what is here."""
    named = (run["head"], run["optimizer"], "liger" if run["liger"] else "")
    return [PACKAGES[name] for name in named if name in PACKAGES]


def version_of(name):
    """The version of a package."""
    return importlib.metadata.version(name)


def of_some_layers(model, kth, first):
    """Checkpoints of every k-th layer alone, counted from 1, or of the first so many."""
    layers = [module for module in model.modules() if hasattr(module, "gradient_checkpointing") and type(module).__name__.endswith("Layer")]
    for number, layer in enumerate(layers, 1):
        layer.gradient_checkpointing = number % kth == 0 if kth else number <= first


def in_segments(model, every):
    """Layers in segments of so many, each of which is computed again as a whole."""
    import torch

    layers = model.model.layers
    whole = list(layers)

    class Segment(torch.nn.Module):
        """Layers in a row, under one checkpoint."""

        def __init__(self, members):
            super().__init__()
            self.members = torch.nn.ModuleList(members)

        def forward(self, hidden_states, **named):
            return torch.utils.checkpoint.checkpoint(self.run, hidden_states, use_reentrant=False, **named)

        def run(self, hidden_states, **named):
            for member in self.members:
                hidden_states = member(hidden_states, **named)
            return hidden_states

    model.model.layers = torch.nn.ModuleList(Segment(whole[first : first + every]) for first in range(0, len(whole), every))
    model.model.config.num_hidden_layers = len(model.model.layers)


def block_matrices(model):
    """The matrices of the layers."""
    import torch

    layers = [module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear) and ".layers." in name]
    return [module.weight for module in layers if module.weight.requires_grad]


class Both:
    """Two optimizers that update one after the other."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def step(self):
        """Updates the weights of each."""
        for optimizer in self.optimizers:
            optimizer.step()

    def zero_grad(self, **named):
        """Gives their gradients back."""
        for optimizer in self.optimizers:
            optimizer.zero_grad(**named)


def optimizer_of(run, model, parameters):
    """The optimizer of a run, where it is one of these."""
    import torch

    name = run["optimizer"]
    if name == "lion":
        from lion_pytorch import Lion

        return Lion(parameters, lr=1e-5)
    if name == "adam8bit-paged":
        import bitsandbytes

        return bitsandbytes.optim.PagedAdamW8bit(parameters, lr=1e-5)
    if name in ("adam8bit-torchao", "adam4bit", "adam-fp8"):
        import torchao.optim

        kind = {"adam8bit-torchao": "AdamW8bit", "adam4bit": "AdamW4bit", "adam-fp8": "AdamWFp8"}[name]
        return getattr(torchao.optim, kind)(parameters, lr=1e-5)
    inside = block_matrices(model)
    ids = {id(parameter) for parameter in inside}
    rest = [parameter for parameter in parameters if id(parameter) not in ids]
    if name == "muon":
        return Both(torch.optim.Muon(inside, lr=1e-5), torch.optim.AdamW(rest, lr=1e-5, fused=True))
    if name == "apollo":
        from apollo_torch import APOLLOAdamW

        group = {"params": inside, "rank": run["opt_rank"], "proj": "random", "scale_type": "channel", "scale": 1}
        return APOLLOAdamW([{"params": rest}, {**group, "update_proj_gap": 200, "proj_type": "std"}], lr=1e-5)
    raise ValueError(name)


def update_in_backward(model):
    """An optimizer for each weight, which updates it as soon as its gradient is there
    (https://docs.pytorch.org/tutorials/intermediate/optimizer_step_in_backward_tutorial.html)."""
    import torch

    optimizers = {parameter: torch.optim.AdamW([parameter], lr=1e-5) for parameter in model.parameters() if parameter.requires_grad}

    def hook(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)
    return Both()
