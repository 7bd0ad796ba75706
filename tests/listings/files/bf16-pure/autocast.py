import torch
import torch.nn.functional as F

# Pure bf16 has no fp32 copy of the weights, no autocast and no GradScaler.
model.to(torch.bfloat16)
for inputs, targets in loader:
    logits = model(inputs).flatten(0, 1)
    loss = F.cross_entropy(logits, targets.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
