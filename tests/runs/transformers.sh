python run_clm.py --model_name_or_path Qwen/Qwen3-8B --do_train --output_dir out \
  --per_device_train_batch_size 2 --block_size 4096 --bf16 --gradient_checkpointing
