//! What is known of adapters: runs that people have made, with the settings their sources state.

/// Everything but model and GPU that QLoRA's own scripts set: rank 64 on all matrices with dropout, adapters in
/// bf16, a sequence of 16 + 512 tokens at most, one at a time, 16 of them a step, gradient checkpointing
/// (scripts/finetune_guanaco_65b.sh in artidoro/qlora at 7f4e95a68dc0) and the paged AdamW that is its default
/// (qlora.py there), whose states go to the host when the GPU runs short.
macro_rules! as_qlora {
    ($model:literal on $gpu:literal) => {
        concat!(
            "model=",
            $model,
            "&gpu=",
            $gpu,
            "&gpus=1&zero=0&b=1&s=528&accum=16&recompute=full&adapter=qlora&rank=64&targets=all&adapter_type=16\
             &adapter_dropout=on&dropout=off&offload=optimizer"
        )
    };
}

/// Precisions under which a frozen model stays what it is: 16-bit weights, PyTorch's autocast, which is what
/// `TrainingArguments(bf16=True)` turns on, and FSDP's mixed precision.
pub const PRECISIONS: [&str; 3] = ["bf16", "autocast", "mixed"];

/// Questions of which the answer is that at least one sequence fits, under each of [`PRECISIONS`].
pub const FITS: &[&str] = &[
    // Dettmers et al. 2023 (QLoRA, arXiv 2305.14314), abstract: "finetune a 65B parameter model on a single 48GB
    // GPU". LLaMA-Factory's table of hardware says the same of 70B, 48 GB in 4 bits (README.md at ff6d4d12e).
    as_qlora!("llama-65b" on "rtx-a6000"),
    as_qlora!("llama-65b" on "a40"),
    as_qlora!("llama-65b" on "l40s"),
    as_qlora!("llama-2-70b" on "rtx-a6000"),
    as_qlora!("llama-3.1-70b" on "rtx-a6000"),
    // The same paper, appendix G: 33B does not quite fit into 24 GB, so that paged optimizers are needed.
    as_qlora!("llama-33b" on "rtx-3090"),
    as_qlora!("llama-33b" on "rtx-4090"),
    // LLaMA-Factory's table: 7B in 4 bits on 6 GB, 14B on 12 GB.
    as_qlora!("llama-7b" on "rtx-3060"),
    as_qlora!("llama-2-7b" on "rtx-3060"),
    as_qlora!("mistral-7b" on "rtx-3060"),
    as_qlora!("llama-13b" on "rtx-3060"),
    // The same with adapters in fp32, as PEFT keeps them (`autocast_adapter_dtype`), a rank of 16 and nothing on
    // the host.
    "model=llama-65b&gpu=rtx-a6000&gpus=1&zero=0&b=1&s=512&accum=16&recompute=full&adapter=qlora&rank=16&targets=all\
     &adapter_type=32&dropout=off",
    "model=llama-2-70b&gpu=rtx-a6000&gpus=1&zero=0&b=1&s=512&accum=16&recompute=full&adapter=qlora&rank=16&targets=all\
     &adapter_type=32&dropout=off",
    "model=llama-33b&gpu=rtx-3090&gpus=1&zero=0&b=1&s=512&accum=16&recompute=full&adapter=qlora&rank=16&targets=all\
     &adapter_type=32&dropout=off",
    // litgpt, config_hub/finetune/README.md at 26857050: LoRA of Llama 2 7B with micro-batches of 2 × 512 on an
    // A10G of 24 GB, 19.77 GB, nothing recomputed (llama-2-7b/lora.yaml: rank 32 on queries and values). The
    // catalogue's RTX 3090 is a card of the same size.
    "model=llama-2-7b&gpu=rtx-3090&gpus=1&zero=0&b=2&s=512&accum=4&recompute=none&adapter=lora&rank=32&targets=qv\
     &adapter_type=16&adapter_dropout=on&dropout=off",
    // tutorials/finetune_lora.md there: at least one GPU with about 24 GB (RTX 3090).
    "model=llama-2-7b&gpu=rtx-4090&gpus=1&zero=0&b=1&s=512&accum=16&recompute=none&adapter=lora&rank=8&targets=qv\
     &adapter_type=32&dropout=off",
    // LLaMA-Factory's table: LoRA of 7B in 16 bits on 16 GB; its defaults are rank 8 on all matrices, gradient
    // checkpointing, 2,048 tokens and adapters in fp32.
    "model=llama-2-7b&gpu=rtx-4080&gpus=1&zero=0&b=1&s=2048&accum=8&recompute=full&adapter=lora&rank=8&targets=all\
     &adapter_type=32&dropout=off",
    "model=llama-2-7b&gpu=rtx-4080&gpus=1&zero=0&b=1&s=512&accum=16&recompute=full&adapter=lora&rank=8&targets=all\
     &adapter_type=16&dropout=off",
];

/// Questions of which the answer is that nothing fits, because the weights alone are larger than the device:
/// 2 bytes of each of 65, 32.5 and 6.7 billion parameters are 131, 65 and 13.5 GB.
pub const FITS_NOT: &[&str] = &[
    "model=llama-65b&gpu=rtx-a6000&gpus=1&zero=0&b=1&s=512&recompute=full&adapter=lora&rank=8&targets=qv",
    "model=llama-33b&gpu=rtx-a6000&gpus=1&zero=0&b=1&s=512&recompute=full&adapter=lora&rank=8&targets=qv",
    "model=llama-7b&gpu=rtx-3060&gpus=1&zero=0&b=1&s=512&recompute=full&adapter=lora&rank=8&targets=qv",
    // And full training takes 16 bytes a parameter, 108 GB.
    "model=llama-7b&gpu=h100-80&gpus=1&zero=0&b=1&s=512&recompute=full",
];

/// A question under one of the precisions.
pub fn under(question: &str, precision: &str) -> String {
    format!("{question}&precision={precision}")
}
