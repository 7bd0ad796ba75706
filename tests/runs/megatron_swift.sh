NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --load_safetensors true --save_safetensors true \
  --dataset some/data --train_type lora --lora_rank 8 --lora_alpha 32 --target_modules all-linear \
  --expert_model_parallel_size 4 --pipeline_model_parallel_size 2 \
  --moe_permute_fusion true --moe_grouped_gemm true --moe_shared_expert_overlap true --moe_aux_loss_coeff 1e-3 \
  --micro_batch_size 8 --global_batch_size 64 --packing true --max_length 2048 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --max_epochs 1 --finetune true --cross_entropy_loss_fusion true --lr 1e-4 --lr_warmup_fraction 0.05 --min_lr 1e-5 \
  --save megatron_output --eval_interval 200 --save_interval 200 --num_workers 8 --dataset_num_proc 8 \
  --no_save_optim true --no_save_rng true --attention_backend flash
