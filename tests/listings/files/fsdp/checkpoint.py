import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint
from torch.utils.checkpoint import create_selective_checkpoint_contexts

aten = torch.ops.aten
products = {aten.mm.default, aten.addmm.default}
attention = {
    aten._scaled_dot_product_flash_attention.default,
    aten._scaled_dot_product_efficient_attention.default,
}


def keep_some():
    seen = {False: 0, True: 0}  # products, forward and when they run again

    def policy(context, op, *args, **kwargs):
        seen[context.is_recompute] += op in products
        second = op in products and seen[context.is_recompute] % 2 == 1
        keep = second or op in attention
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def forward(self, inputs):
    x = self.embedding(inputs)
    for block in self.blocks:
        x = checkpoint(block, x, use_reentrant=False, context_fn=keep_some)
    return self.head(self.norm(x))
