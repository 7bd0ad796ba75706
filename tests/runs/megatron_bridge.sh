torchrun --nproc_per_node 8 run_recipe.py --recipe llama32_1b_sft_config train.micro_batch_size=2 model.tensor_model_parallel_size=2
