import torch.nn.functional as F


def attention(q, k, v):
    # A flash kernel recomputes the scores by itself: this is selective recomputation.
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def forward(self, inputs):
    x = self.embedding(inputs)
    for block in self.blocks:
        # Full recomputation would be x = checkpoint(block, x, use_reentrant=False).
        x = block(x)
    return self.head(self.norm(x))
