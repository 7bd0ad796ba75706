from itertools import islice

import torch
import torch.nn.functional as F

K = 4  # 1 sequence x 4 = 4 sequences in a step
batches = iter(loader)
while step := list(islice(batches, K)):
    # mean loss / K is right only if every micro-batch has the same number of tokens.
    # Always right: sum the losses and divide by the tokens of the whole step.
    tokens = sum((targets != -100).sum() for _, targets in step)  # -100: no target
    for inputs, targets in step:
        logits = model(inputs).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        (loss / tokens).backward()
    optimizer.step()
    optimizer.zero_grad()
