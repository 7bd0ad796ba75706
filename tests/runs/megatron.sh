torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --bf16 \
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --use-distributed-optimizer
