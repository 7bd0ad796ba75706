from itertools import islice

import torch
import torch.nn.functional as F

scaler = torch.amp.GradScaler("cuda")
K = 4  # 2 sequences x 2 GPUs x 4 = 16 sequences in a step
batches = iter(loader)
while step := list(islice(batches, K)):
    # mean loss / K is right only if every micro-batch has the same number of tokens.
    # Always right: sum the losses and divide by the tokens of the whole step.
    tokens = sum((targets != -100).sum() for _, targets in step)  # -100: no target
    torch.distributed.all_reduce(tokens)  # of all GPUs
    for inputs, targets in step:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            logits = model(inputs).flatten(0, 1)
            loss = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        scaler.scale(loss * 2 / tokens).backward()  # DDP and FSDP divide by 2
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
