import torch
import torch.nn.functional as F

# PyTorch has no 16-bit weights beside an fp32 copy: autocast casts the fp32 weights.
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    with torch.amp.autocast("cuda", dtype=torch.float16):
        logits = model(inputs).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # clipping needs the gradients without the scale
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)  # skips the step if a gradient overflowed
    scaler.update()  # halves the scale after an overflow
    optimizer.zero_grad()
