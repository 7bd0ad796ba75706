deepspeed --num_gpus 4 train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2 --output_dir out --bf16
