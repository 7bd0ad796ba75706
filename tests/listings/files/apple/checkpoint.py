from torch.utils.checkpoint import checkpoint


def run(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def forward(self, inputs):
    x = self.embedding(inputs)
    for first in range(0, len(self.blocks), 3):
        segment = self.blocks[first : first + 3]
        # Keeps only the segment's input, and runs it again in the backward pass.
        x = checkpoint(run, segment, x, use_reentrant=False)
    return self.head(self.norm(x))
