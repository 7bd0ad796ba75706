from itertools import islice

import torch
import torch.nn.functional as F

scaler = torch.amp.GradScaler("cuda")
K = 3  # 2 sequences x 2 groups of GPUs x 3 = 12 sequences in a step
batches = iter(loader)
while step := list(islice(batches, K)):
    # mean loss / K is right only if every micro-batch has the same number of tokens.
    # Always right: sum the losses and divide by the tokens of the whole step.
    tokens = sum((targets != -100).sum() for _, targets in step)  # -100: no target
    torch.distributed.all_reduce(tokens, group=data_group)  # of the ranks with other tokens
    for inputs, targets in step:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            logits = model(inputs).flatten(0, 1)
            loss = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        scaler.scale(loss * 4 / tokens).backward()  # DDP and FSDP divide by 4
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
