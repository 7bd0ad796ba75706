def forward(self, inputs):
    x = self.embedding(inputs)
    for block in self.blocks:
        # x = checkpoint(block, x, use_reentrant=False) would keep only x.
        x = block(x)  # keeps everything inside, recomputes nothing
    return self.head(self.norm(x))
