# GPT-2 124M on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# https://example.org/bmax/?v=4&model=gpt2&gpu=rtx-4090&b=3&gpus=1&chart_gpus=64&precision=autocast&step=foreach&attn=eager&zero=0&chart_recompute=full
#
# Micro-batch 8 × 1 data-parallel GPU × 32 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 13.95 of 23.99 GiB usable, at “loss, forward”.
# As asked, b_max is 8. This file runs something else where the list below says so, and as it runs
# b_max is 15:
# https://example.org/bmax/?v=4&model=gpt2&gpu=rtx-4090&b=8&accum=32&gpus=1&chart_gpus=64&grad=32&attn=eager&loss=vocab-parallel&kernels=fused&engine=megatron&zero=0&chart_recompute=full
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; the peak stays the same.
# - Megatron-LM keeps an fp32 master copy beside 16-bit weights; this alone takes the peak from 22.57
#   to 18.11 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; this alone takes the peak from
#   22.57 to 16.66 GiB.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; this alone takes the peak from 22.57 to 20.15
#   GiB.
# - Megatron-LM updates in one kernel; the peak stays the same.
#
# To be said elsewhere, and counted on here:
# - Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer
#   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.
#
# To be sourced by a script that goes on with
#   torchrun --nproc_per_node 1 pretrain_gpt.py "${BMAX_ARGS[@]}" …

BMAX_ARGS=(
    --micro-batch-size 8
    --global-batch-size 256
    --seq-length 1024
    --max-position-embeddings 1024
    --num-layers 12
    --hidden-size 768
    --ffn-hidden-size 3072
    --num-attention-heads 12
    --kv-channels 64
    --vocab-size 50257
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 1
    --context-parallel-size 1
    --normalization LayerNorm
    --position-embedding-type learned_absolute
    --attention-backend unfused
    --attention-dropout 0.1
    --hidden-dropout 0.1
    --bf16
    --accumulate-allreduce-grads-in-fp32
    --optimizer adam
)
