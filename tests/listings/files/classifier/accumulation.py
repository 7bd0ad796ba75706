from itertools import islice

import torch
import torch.nn.functional as F

K = 3  # 2 sequences x 2 GPUs x 3 = 12 sequences in a step
batches = iter(loader)
while step := list(islice(batches, K)):
    # mean loss / K is right only if every micro-batch has the same number of sequences.
    # Always right: sum the losses and divide by the sequences of the whole step.
    sequences = torch.tensor(sum(len(targets) for _, targets in step), device="cuda")
    torch.distributed.all_reduce(sequences)  # of all GPUs
    for inputs, targets in step:
        logits = model(inputs)
        loss = F.cross_entropy(logits, targets, reduction="sum")
        (loss * 2 / sequences).backward()  # DDP and FSDP divide by 2
    optimizer.step()
    optimizer.zero_grad()
