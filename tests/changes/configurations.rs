//! The configurations of the table, as links.

/// The configurations: one of each way to train that the estimator knows, and what goes with it.
pub const ALL: &[(&str, &str)] = &[
    ("the workshop's example", ""),
    ("the workshop's method", "method=workshop"),
    ("the paper's method", "method=paper&zero=2&recompute=full"),
    (
        "a small model on one GPU of a desk, evaluated and saved",
        "model=qwen2.5-0.5b&gpu=rtx-4090&gpus=1&zero=0&s=1024&precision=autocast&recompute=none&attn=eager&eval=logits\
         &eval_b=4&eval_n=64&eval_steps=8&save=sync&load=gpu&resume=gpu&ram=64",
    ),
    (
        "an 8B model over eight GPUs, states in CPU memory",
        "model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=8192&precision=mixed&recompute=full&dropout=off&offload=both\
         &engine=deepspeed&ram=512&node_gpus=8&gather=cpu&gather_states=all",
    ),
    (
        "QLoRA on one GPU, merged and generated from",
        "model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&s=2048&precision=autocast&recompute=full&dropout=off&adapter=qlora\
         &eval=loss&eval_generate=on&eval_tokens=256&merge=on&step=loop",
    ),
    (
        "70B in a pipeline of uneven stages",
        "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&pp=4&vpp=2&pp_first=8&pp_last=12&sp=on&zero=1&accum=8&recompute=block\
         &recompute_layers=1&dropout=off&kernels=fused&loss=vocab-parallel&grad=32&engine=megatron",
    ),
    (
        "experts in fp8",
        "model=deepseek-v3&gpu=h200&gpus=1024&pp=16&ep=32&zero=1&accum=32&imbalance=1.5&engine=megatron&dropout=off\
         &fp8=deepseek-v3&precision=mixed",
    ),
    (
        "8B in fp8 with torchao",
        "model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=8192&precision=mixed&recompute=every-k&every=2&dropout=off&fp8=torchao-tensorwise\
         &engine=torchtitan&cp=2",
    ),
    (
        "PPO with a value model of another size",
        "model=llama-3.2-1b&gpu=a100-80&gpus=4&zero=2&s=1024&completion=512&precision=bf16-pure&recompute=full&dropout=off\
         &task=ppo&ref=copy&reward=model&generations=32",
    ),
    (
        "GRPO with an engine beside it",
        "model=qwen3-8b&gpu=h100-80&gpus=8&s=4096&precision=mixed&recompute=full&dropout=off&task=grpo&rollout=asleep\
         &engine_share=40&completion=3072&segments=expandable",
    ),
    (
        "DPO of QLoRA against its own base",
        "model=llama-3.1-8b&gpu=rtx-4090&gpus=1&zero=0&s=1024&precision=autocast&recompute=full&dropout=off&adapter=qlora\
         &task=dpo&ref=adapter&target=64",
    ),
    (
        "a vision model with its tower",
        "model=qwen2.5-vl-7b&gpu=a100-80&gpus=8&zero=3&s=4096&precision=mixed&recompute=ops&dropout=off&tower=trained\
         &projector=trained&images=2",
    ),
    (
        "a vision model with adapters in its tower",
        "model=qwen2.5-vl-7b&gpu=a100-80&gpus=1&zero=0&s=2048&precision=autocast&recompute=full&dropout=off&adapter=qlora\
         &tower=adapters&images=1",
    ),
    (
        "an encoder with a decoder",
        "model=t5-base&gpu=a100-40&gpus=1&zero=0&s=512&source=1024&precision=autocast&recompute=none&step=foreach",
    ),
    (
        "an encoder that classifies",
        "model=bert-base&gpu=rtx-4090&gpus=1&zero=0&s=512&precision=autocast&recompute=none&loss=classifier&dropout=on",
    ),
    (
        "lengths that differ",
        "model=tinyllama-1.1b&gpu=a100-80&gpus=2&zero=1&s=2048&precision=bf16&recompute=selective&lengths=padded\
         &len_median=300&len_p95=1500&len_max=4000&accum=4",
    ),
    (
        "GaLore, update in the backward pass",
        "model=llama-2-7b&gpu=rtx-4090&gpus=1&zero=0&s=1024&precision=bf16-pure&recompute=full&dropout=off&optimizer=galore\
         &step=in-backward&opt_rank=128",
    ),
    (
        "logits kept over steps, on eight GPUs",
        "model=llama-3.2-1b&gpu=a100-80&gpus=8&zero=3&s=1024&precision=autocast&recompute=full&dropout=off&loss=fused&eval=logits\
         &eval_b=0&eval_n=64&eval_steps=3&engine=deepspeed&step=foreach&bucket=100",
    ),
    (
        "logits of a small evaluation set, on two GPUs",
        "model=llama-3.2-1b&gpu=a100-80&gpus=2&zero=0&s=1024&precision=mixed&recompute=none&dropout=off&eval=logits&eval_b=2\
         &eval_n=12&eval_steps=0&gather=gpu&resume=init&load=cpu&save=async",
    ),
    (
        "distillation from a teacher in CPU memory",
        "model=llama-3.2-1b&gpu=a100-80&gpus=4&zero=3&s=1024&precision=autocast&recompute=full&dropout=off&task=distil&teacher=8\
         &ref=offloaded&ram=256&node_gpus=4",
    ),
    (
        "distillation from a sharded teacher",
        "model=llama-3.2-1b&gpu=a100-80&gpus=4&zero=3&s=1024&precision=mixed&recompute=full&dropout=off&task=distil&teacher=8\
         &ref=sharded",
    ),
    (
        "distillation from a copy of what it trains",
        "model=llama-3.2-1b&gpu=a100-80&gpus=4&zero=2&s=1024&precision=autocast&recompute=full&dropout=off&task=distil&teacher=3\
         &ref=copy&frozen=policy",
    ),
    (
        "a reward model",
        "model=qwen2.5-0.5b&gpu=rtx-4090&gpus=1&zero=0&s=1024&precision=mixed&recompute=none&task=reward",
    ),
    (
        "PPO under autocast, nothing recomputed",
        "model=qwen2.5-0.5b&gpu=a100-80&gpus=1&zero=0&s=1024&completion=512&precision=autocast&recompute=none&dropout=off\
         &task=ppo&ref=copy&generations=16",
    ),
    (
        "PPO with latent attention",
        "model=deepseek-v2-lite&gpu=h200&gpus=8&zero=3&s=1024&completion=256&precision=mixed&recompute=none&dropout=off&task=ppo\
         &ref=copy&generations=16",
    ),
    (
        "PPO with adapters",
        "model=llama-3.2-1b&gpu=a100-80&gpus=2&zero=1&s=1024&completion=512&precision=bf16-pure&recompute=none&dropout=off\
         &task=ppo&adapter=lora&ref=adapter&generations=8&grad=32",
    ),
    (
        "GRPO that generates with the trained model",
        "model=llama-3.2-1b&gpu=a100-80&gpus=4&zero=3&s=1024&completion=512&precision=fp32&recompute=full&dropout=off&task=grpo\
         &ref=copy&reward=offloaded&rollout=model&ram=128",
    ),
    (
        "LLaVA-NeXT, nothing frozen, nothing recomputed",
        "model=llava-next-mistral-7b&gpu=a100-80&gpus=8&zero=2&s=4096&precision=autocast&recompute=none&attn=eager&tower=trained\
         &projector=trained&images=1&image_h=1000&image_w=600",
    ),
    (
        "Gemma 3 with images",
        "model=gemma-3-4b-images&gpu=a100-80&gpus=1&zero=0&s=2048&precision=bf16-pure&recompute=selective&tower=frozen\
         &projector=trained&images=2&adapter=lora",
    ),
    ("Whisper", "model=whisper-small&gpu=a100-40&gpus=1&zero=0&s=448&precision=autocast&recompute=full&step=foreach"),
    (
        "an encoder with a decoder, adapters and eager attention",
        "model=t5-base&gpu=a100-40&gpus=2&zero=2&s=512&source=512&precision=mixed&recompute=full&adapter=lora&attn=eager",
    ),
    (
        "experts with adapters",
        "model=mixtral-8x7b&gpu=h100-80&gpus=8&zero=3&s=2048&precision=mixed&recompute=full&dropout=off&adapter=lora&targets=all",
    ),
    (
        "ZeRO-1 of DeepSpeed, weights in CPU memory, tensor parallel",
        "model=llama-2-7b&gpu=a100-40&gpus=8&tp=2&zero=1&s=2048&precision=fp16&recompute=full&dropout=off&engine=deepspeed\
         &offload=everything&accum=4&ram=256&node_gpus=4&host_load=every",
    ),
    (
        "Shampoo",
        "model=gpt2-xl&gpu=h100-80&gpus=4&zero=0&s=1024&precision=fp32&recompute=none&optimizer=shampoo&precond_dim=2048",
    ),
];
