//! Runs as people paste them: one of each kind that is read, and what the address says of it.
//!
//! The command line and the page read the same texts. What each says is worked out from the text by hand, with the
//! defaults of its program where it is silent.

/// One text.
pub struct Run {
    /// What the file is called.
    pub file: &'static str,
    /// What is in it.
    pub text: &'static str,
    /// Parameters that the address has when it was read, apart by spaces.
    pub says: &'static str,
}

macro_rules! runs {
    ($($file:literal: $says:literal,)+) => {
        /// Every kind of text, each without what another has to say.
        pub const RUNS: &[Run] =
            &[$(Run { file: $file, text: include_str!($file), says: $says }),+];
    };
}

runs! {
    // Files of trainers.
    "axolotl.yaml": "model=qwen3-8b adapter=qlora rank=32 s=4096 lengths=packed b=2 accum=4 precision=autocast",
    "llama_factory.yaml": "model=qwen3-8b adapter=lora rank=64 b=2 accum=8",
    "llama_factory_v1.yaml": "model=qwen3-4b adapter=qlora rank=32 b=2 precision=mixed step=foreach",
    "llama_factory.json": "model=gemma-2-9b task=dpo adapter=lora rank=8 b=1",
    "trl.yaml": "model=gemma-2-9b adapter=lora-fp32 rank=32 b=2 loss=tiled",
    "trl.json": "model=qwen3-8b task=grpo completion=1536 b=8",
    "transformers.sh": "model=qwen3-8b b=2 s=4096",
    "ms_swift.sh": "model=qwen3-8b adapter=lora rank=32 s=4096 b=2 gpus=4",
    "torchtune.yaml": "adapter=lora rank=64 targets=qv s=4096 b=2 accum=8 precision=bf16-pure",
    // Files beside them.
    "accelerate.yaml": "gpus=16 precision=mixed offload=parameters",
    "deepspeed.json": "engine=deepspeed zero=2 offload=optimizer b=4",
    // Programs that divide a model in every way.
    "torchtitan.toml": "model=llama-3.1-70b engine=torchtitan gpus=32 tp=8 sp=on s=4096 b=2",
    "megatron.sh": "engine=megatron layers=24 hidden=2048 heads=16 gpus=16 tp=2 pp=4 zero=1 b=4 mlp=gelu",
    "megatron_bridge.sh": "engine=megatron model=llama-3.2-1b tp=2 b=2",
    "megatron_swift.sh": "engine=megatron model=qwen3-30b-a3b adapter=lora rank=8 pp=2 ep=4 b=8 accum=2 target=64 zero=1",
    "nemo.yaml": "engine=megatron ffn=16384 gpus=16 tp=4 pp=2 s=4096 b=2 accum=32",
    "nemo_automodel.yaml": "model=llama-3.2-1b adapter=lora rank=32 adapter_type=16 b=4 precision=bf16-pure accum=2 target=64",
    // Programs with several models.
    "nemo_rl.yaml": "model=qwen3-8b task=grpo ref=none completion=3072 s=4096 b=1 rollout=asleep precision=mixed gpus=16 accum=16",
    "verl.sh": "model=qwen3-8b task=grpo completion=1536 b=4 engine_share=60",
    "openrlhf.sh": "model=qwen3-8b engine=deepspeed zero=2 b=2 target=128",
    // Python.
    "trainer.py": "model=qwen3-8b adapter=qlora rank=32 s=4096 b=2 loss=tiled",
    "unsloth.py": "model=qwen3-8b adapter=qlora rank=64 offload=activations",
    // Launchers.
    "accelerate_launch.sh": "model=qwen3-8b gpus=4 s=4096",
    "torchrun.sh": "model=qwen3-8b s=4096 b=2",
    "deepspeed_launch.sh": "model=qwen3-8b gpus=4 b=2",
    // A model, and its name.
    "config.json": "model=tinyllama-1.1b",
    "name.txt": "model=qwen3-14b",
    // What is said about memory.
    "out_of_memory.txt": "gpu=rtx-4090",
    "out_of_memory_1.txt": "gpu=a100-80",
    "out_of_memory_hip.txt": "gpu=mi300x",
    "nvidia_smi.txt": "gpu=rtx-4090",
}
