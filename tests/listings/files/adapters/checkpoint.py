from torch.utils.checkpoint import checkpoint


def forward(self, inputs):
    x = self.embedding(inputs)
    for block in self.blocks:
        # Keeps only x, and runs the block again in the backward pass.
        x = checkpoint(block, x, use_reentrant=False)
    return self.head(self.norm(x))
