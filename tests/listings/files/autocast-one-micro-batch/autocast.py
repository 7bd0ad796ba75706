import torch
import torch.nn.functional as F

# What is trained stays in fp32; autocast casts it to 16 bits for each product.
# bf16 has the range of fp32: it needs no GradScaler.
for inputs, targets in loader:
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        logits = model(inputs).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
