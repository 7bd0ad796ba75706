deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen3-8B --max_len 2048 --micro_train_batch_size 2 \
  --train_batch_size 128 --zero_stage 2 --bf16 --gradient_checkpointing --num_gpus 8
