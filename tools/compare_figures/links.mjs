// The configurations in which every figure is looked at: between them they touch every part of a scenario.
export const LINKS = {
  'default': '',
  'one newer GPU': 'v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=2&target=4M%20tokens',
  'workshop, 64 GPUs': 'v=3&model=70b&gpus=64&recompute=full&method=workshop&chart_gpus=8&chart_recompute=selective',
  'workshop, nothing fits': 'v=3&gpus=1&method=workshop&recompute=none',
  'paper': 'v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&b=1&method=paper&recompute=none&dropout=on&zero=1',
  'paper, tensor parallel in fp32': 'v=3&model=13b&gpus=16&tp=4&sp=on&zero=2&method=paper&precision=fp32&s=512',
  'autocast on one small GPU': 'v=3&model=gpt2&gpu=rtx-3090&gpus=1&zero=0&s=1024&precision=autocast&step=loop',
  'interleaved pipeline, Megatron':
    'v=3&model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&sp=on&zero=1&pp=4&vpp=5&accum=16&engine=megatron&recompute=block&recompute_layers=5&loss=vocab-parallel',
  'pipeline of unequal stages, torchtitan':
    'v=3&model=llama-3.1-70b&gpu=h200&gpus=32&pp=4&pp_first=18&pp_last=18&zero=1&accum=32&recompute=kth-layer&every=2&engine=torchtitan&grad=32',
  'experts': 'v=3&model=mixtral-8x7b&gpu=h200&gpus=64&ep=8&imbalance=1.5&reshard=8&recompute=ops&kernels=fused&loss=chunked&chunks=16',
  'experts, latent attention, a thousand GPUs':
    'v=3&model=deepseek-v3&gpu=b200&gpus=1024&ep=32&pp=8&zero=1&accum=64&engine=megatron&s=4096&target=60M%20tokens',
  'LoRA': 'v=3&model=llama-2-7b&gpu=rtx-4090&gpus=1&adapter=lora&precision=autocast&s=1024&rank=64&targets=qv',
  'QLoRA':
    'v=3&model=qwen3-8b&gpu=rtx-4090&gpus=1&zero=0&adapter=qlora&adapter_type=16&adapter_dropout=on&unquantized=32&loss=fused&optimizer=adam8bit',
  'nothing fits': 'v=3&model=llama-3.1-405b&gpu=t4&gpus=1&s=2048',
  'long sequences': 'v=3&model=llama-3.1-70b&gpu=h100-80&s=131072&gpus=256&tp=8&pp=4&cp=4&recompute=every-k&every=5&zero=1&b=1',
  'DeepSpeed, everything on the host': 'v=3&model=13b&gpus=8&zero=2&engine=deepspeed&bucket=200&offload=both&precision=fp16&b=5',
  'optimizer on the host': 'v=3&model=13b&gpu=a100-40&gpus=4&offload=optimizer&precision=mixed&segments=expandable&recompute=full',
  'pure bf16, 8-bit Adam': 'v=3&model=gemma-2-9b&gpu=l4&gpus=4&precision=bf16-pure&optimizer=adam8bit&loss=chunked-head&chunks=32',
  'Muon, eager attention, kept logits':
    'v=3&model=deepseek-v2-lite&gpu=h100-80&optimizer=muon&step=foreach&attn=eager&logits=kept-fp32&frag=9&workspace=0&b=32',
  'SGD with much to spare': 'v=3&model=pythia-70m&gpu=b300&gpus=131072&s=1&b=1048576&optimizer=sgd&target=1000000000&accum=7',
  'an encoder on unified memory': 'v=3&model=bert-large&gpu=dgx-spark&gpus=1&s=512&loss=masked-lm&optimizer=lion&zero=0&headroom=0',
  'a model of its own':
    'v=3&model=own&params=1.25&hidden=2048&layers=20&heads=16&kv=4&head_dim=128&ffn=5504&vocab=65536&norms=3&positions=2048&mlp=gated&tied=off&norm=rmsnorm&qk_norm=full&bias=qkv&softcap=on&position=learned&optimizer=adafactor&mem=79.15&driver=0.5&context=0.75&comm=1.5',
  'bad values': 'v=3&model=llama-3.1-8b&gpu=h100&precision=fp8&gpus=0&s=-5',
};

/** In these the controls are used as well: the first one after another, each from the start, the others in a row. */
export const USED = ['default', 'interleaved pipeline, Megatron', 'QLoRA'];
