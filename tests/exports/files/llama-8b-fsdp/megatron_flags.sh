# Llama 3.1 8B on 8 × H100 SXM 80 GB, 8,192 tokens a sequence.
# https://example.org/bmax/?v=4&s=8192&b=3&chart_gpus=64&precision=mixed
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 55.37 of 79.65 GiB usable, at “loss, forward”.
# As asked, b_max is 4. This file runs something else where the list below says so, and as it runs
# b_max is 6:
# https://example.org/bmax/?v=4&s=8192&b=4&accum=8&chart_gpus=64&grad=32&loss=vocab-parallel&kernels=fused&engine=megatron
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; this alone takes the peak from 78.63 to 78.26 GiB.
# - Megatron-LM keeps an fp32 master copy beside 16-bit weights; this alone takes the peak from 78.63
#   to 80.50 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; this alone takes the peak from
#   78.63 to 78.11 GiB.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; this alone takes the peak from 78.63 to 53.97
#   GiB.
#
# To be said elsewhere, and counted on here:
# - Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer
#   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.
#
# To be sourced by a script that goes on with
#   torchrun --nproc_per_node 8 pretrain_gpt.py "${BMAX_ARGS[@]}" …

BMAX_ARGS=(
    --micro-batch-size 4
    --global-batch-size 256
    --seq-length 8192
    --max-position-embeddings 8192
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
    --use-distributed-optimizer
    --use-megatron-fsdp
    --data-parallel-sharding-strategy optim_grads_params
    --no-gradient-accumulation-fusion
    --ckpt-format fsdp_dtensor
)
