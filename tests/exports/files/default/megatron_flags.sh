# 7B on 8 × A100 SXM 80 GB, 2,048 tokens a sequence.
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&b=3&chart_gpus=64&chart_recompute=full
#
# Micro-batch 4 × 8 data-parallel GPUs × 8 accumulation steps = 256 sequences an optimizer step
# (target 256).
# Predicted peak on each GPU: 53.08 of 80.00 GiB usable, at “loss, forward”.
# As asked, b_max is 6. This file runs something else where the list below says so, and as it runs
# b_max is 6:
# https://example.org/bmax/?v=4&model=7b&gpu=a100-80&b=4&accum=8&chart_gpus=64&loss=vocab-parallel&kernels=fused&engine=megatron&chart_recompute=full
# Checked with Megatron-LM’s parser at commit d98e8a64ddf3 (22 August 2026).
#
# Not as asked, because it cannot be said here:
# - Megatron-LM carries out the step and not PyTorch alone: what it holds beside the tensors is
#   counted; this alone takes the peak from 54.60 to 54.62 GiB.
# - Megatron-LM has fused kernels, by Transformer Engine or its own; the peak stays the same.
# - Megatron-LM’s cross-entropy is vocabulary-parallel; this alone takes the peak from 54.60 to 53.06
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
    --seq-length 2048
    --max-position-embeddings 2048
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 16384
    --num-attention-heads 32
    --kv-channels 128
    --vocab-size 32000
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 1
    --context-parallel-size 1
    --normalization LayerNorm
    --position-embedding-type none
    --attention-backend flash
    --attention-dropout 0.1
    --hidden-dropout 0.1
    --bf16
    --grad-reduce-in-bf16
    --recompute-granularity selective
    --optimizer adam
    --use-distributed-optimizer
    --use-megatron-fsdp
    --data-parallel-sharding-strategy optim_grads_params
    --no-gradient-accumulation-fusion
    --ckpt-format fsdp_dtensor
)
