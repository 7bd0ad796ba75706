accelerate launch --num_processes 4 --mixed_precision bf16 sft.py --model_name_or_path Qwen/Qwen3-8B --max_length 4096
