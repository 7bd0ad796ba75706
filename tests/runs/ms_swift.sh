NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --train_type lora --lora_rank 32 \
  --dataset some/data --max_length 4096 --per_device_train_batch_size 2
