def forward(self, inputs):
    x = self.embedding(inputs)
    for block in self.blocks:
        # x = checkpoint(block, x, use_reentrant=False) would keep x alone.
        x = block(x)  # keeps all that is inside, and computes nothing again
    return self.head(self.norm(x))
