# NOTHING FITS. Parameters, gradients, optimizer state and what the process takes are, with one
# sequence, 114.57 GiB too much. More GPUs of this kind alone do not help.
# The micro-batch of 1 below is no promise: it is there to be read and edited, and runs out of memory.
#
# Llama 3.1 8B on 1 × RTX 4090 24 GB, 1,024 tokens a sequence.
# https://example.org/bmax/?v=4&gpu=rtx-4090&s=1024&b=3&gpus=1&target=64&chart_gpus=64&precision=autocast&adapter=qlora&task=dpo&ref=adapter&zero=0
#
# Micro-batch 1 × 1 data-parallel GPU × 64 accumulation steps = 64 sequences an optimizer step (target
# 64).
# As asked, b_max is 4 pairs. This file runs something else where the list below says so, and as it
# runs b_max is none, for not even one sequence fits:
# https://example.org/bmax/?v=4&gpu=rtx-4090&s=1024&accum=64&gpus=1&target=64&chart_gpus=64&grad=32&loss=vocab-parallel&kernels=fused&ref=adapter&engine=megatron&zero=0
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - DPO needs a trainer of its own: this file trains on the next token alone; this alone takes the
#   peak from 21.66 to 14.19 GiB.
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; the peak stays the same.
# - Megatron-LM keeps an fp32 master copy beside 16-bit weights; this alone takes the peak from 21.66
#   to 17.45 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; this alone takes the peak from
#   21.66 to 21.59 GiB.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; the peak stays the same.
# - Megatron-LM trains every weight; this alone takes the peak from 21.66 to 178.43 GiB.
#
# To be said elsewhere, and counted on here:
# - Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer
#   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.
#
# To be sourced by a script that goes on with
#   torchrun --nproc_per_node 1 pretrain_gpt.py "${BMAX_ARGS[@]}" …

BMAX_ARGS=(
    --micro-batch-size 1
    --global-batch-size 64
    --seq-length 1024
    --max-position-embeddings 1024
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --kv-channels 128
    --vocab-size 128256
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 1
    --context-parallel-size 1
    --group-query-attention
    --num-query-groups 8
    --normalization RMSNorm
    --position-embedding-type rope
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-backend flash
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --bf16
    --accumulate-allreduce-grads-in-fp32
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
    --optimizer adam
)
