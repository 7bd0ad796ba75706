from itertools import islice

import torch
import torch.nn.functional as F

# With a pipeline schedule.step() is this loop over K micro-batches, and
# scale_grads=False leaves the division to the loss, as here.
K = 8  # 1 sequence x 2 groups of GPUs x 8 = 16 sequences in a step
batches = iter(loader)
while step := list(islice(batches, K)):
    # mean loss / K is right only if every micro-batch has the same number of tokens.
    # Always right: sum the losses and divide by the tokens of the whole step.
    tokens = sum((targets != -100).sum() for _, targets in step)  # -100: no target
    torch.distributed.all_reduce(tokens, group=data_group)  # of the ranks with other tokens
    for inputs, targets in step:
        logits = model(inputs).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        (loss * 2 / tokens).backward()  # DDP and FSDP divide by 2
    optimizer.step()
    optimizer.zero_grad()
