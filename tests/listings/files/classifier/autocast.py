import torch
import torch.nn.functional as F

# fp32 needs neither autocast nor a GradScaler.
for inputs, targets in loader:
    logits = model(inputs)
    loss = F.cross_entropy(logits, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
