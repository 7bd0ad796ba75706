# Qwen3 30B-A3B on 32 × H200 SXM 141 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=qwen3-30b-a3b&gpu=h200&b=3&gpus=32&ep=8&chart_gpus=64
#
# Micro-batch 8 × 32 data-parallel GPUs × 1 accumulation step = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 36.15 of 140.40 GiB usable, at “loss, forward”.
# As asked, b_max is 30. This file runs something else where the list below says so, and as it runs
# b_max is 54:
# https://example.org/bmax/?v=4&model=qwen3-30b-a3b&gpu=h200&b=8&gpus=32&ep=8&chart_gpus=64&loss=vocab-parallel&kernels=fused&engine=megatron
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; this alone takes the peak from 49.00 to 50.89 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; this alone takes the peak from
#   49.00 to 48.86 GiB.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; this alone takes the peak from 49.00 to 34.39
#   GiB.
#
# To be said elsewhere, and counted on here:
# - Data, tokenizer, learning rate and iterations: --mock-data --tokenizer-type NullTokenizer
#   --vocab-size as below --lr 1e-4 --train-iters 10 tries these flags without any data.
#
# To be sourced by a script that goes on with
#   torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py "${BMAX_ARGS[@]}" …

BMAX_ARGS=(
    --micro-batch-size 8
    --global-batch-size 256
    --seq-length 2048
    --max-position-embeddings 2048
    --num-layers 48
    --hidden-size 2048
    --ffn-hidden-size 6144
    --num-attention-heads 32
    --kv-channels 128
    --vocab-size 151936
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 1
    --context-parallel-size 1
    --group-query-attention
    --num-query-groups 4
    --normalization RMSNorm
    --position-embedding-type rope
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --qk-layernorm
    --num-experts 128
    --moe-router-topk 8
    --moe-ffn-hidden-size 768
    --moe-grouped-gemm
    --expert-model-parallel-size 8
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
