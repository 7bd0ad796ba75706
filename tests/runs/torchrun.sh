torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen3-8B --max_length 4096 --per_device_train_batch_size 2
