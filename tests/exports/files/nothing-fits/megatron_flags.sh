# NOTHING FITS. Parameters, gradients, optimizer state and what the process takes are, with one
# sequence, 3062.88 GiB too much. More GPUs of this kind alone do not help.
# The micro-batch of 1 below is no promise: it is there to be read and edited, and runs out of memory.
#
# Llama 3.1 405B on 2 × RTX 4090 24 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=llama-3.1-405b&gpu=rtx-4090&b=3&gpus=2&chart_gpus=64
#
# Micro-batch 1 × 2 data-parallel GPUs × 128 accumulation steps = 256 sequences an optimizer step
# (target 256).
# As asked, b_max is none, for not even one sequence fits. This file runs something else where the
# list below says so, and as it runs b_max is none, for not even one sequence fits:
# https://example.org/bmax/?v=4&model=llama-3.1-405b&gpu=rtx-4090&accum=128&gpus=2&chart_gpus=64&loss=vocab-parallel&kernels=fused&engine=megatron
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; this alone takes the peak from 3081.11 to 3087.34 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; this alone takes the peak from
#   3081.11 to 3080.63 GiB.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; the peak stays the same.
#
# To be said elsewhere, and counted on here:
# - Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer
#   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.
#
# To be sourced by a script that goes on with
#   torchrun --nproc_per_node 2 pretrain_gpt.py "${BMAX_ARGS[@]}" …

BMAX_ARGS=(
    --micro-batch-size 1
    --global-batch-size 256
    --seq-length 2048
    --max-position-embeddings 2048
    --num-layers 126
    --hidden-size 16384
    --ffn-hidden-size 53248
    --num-attention-heads 128
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
    --grad-reduce-in-bf16
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
    --optimizer adam
    --use-distributed-optimizer
    --use-megatron-fsdp
    --data-parallel-sharding-strategy optim_grads_params
    --no-gradient-accumulation-fusion
    --ckpt-format fsdp_dtensor
)
