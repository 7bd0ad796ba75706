//! How far off the ledger was, written by `make accuracy`.

use super::Study;
use crate::Field;

/// A sentence for each of [`super::Setting::ALL`].
pub static SAID: [&str; 7] = [
    "337 figures of real runs on one GPU: median error 1.7 %, nine of ten within 9.3 %.",
    "80 figures of real runs with FSDP, ZeRO or DDP: median error 3.8 %, nine of ten within 13.4 %.",
    "33 figures of real runs with tensor parallelism: median error 4.5 %, nine of ten within 20.6 %.",
    "51 figures of real runs with pipelines: median error 2.0 %, nine of ten within 13.0 %.",
    "38 figures of real runs with DeepSpeed: median error 6.3 %, nine of ten within 20.3 %.",
    "236 figures of real runs with LoRA or QLoRA: median error 2.7 %, nine of ten within 16.7 %.",
    "57 figures of real runs of encoders: median error 1.7 %, nine of ten within 13.0 %.",
];

/// Runs that differ in one input alone.
#[rustfmt::skip]
pub static STUDIES: [Study; 10] = [
    Study {
        varied: Field::Batch,
        runs: &[
            "fms_llama3_8b_n4_liger_mb4",
            "fms_llama3_8b_n4_liger_mb8",
            "fms_l_70",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "swift_qwen7b_lora_s2048",
            "swift_qwen7b_lora_b2",
            "swift_qwen7b_lora_b4",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "fsdpqlora_7b_q_s2048",
            "fsdpqlora_7b_q_b4",
            "fsdpqlora_7b_q_b10",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "fsdpqlora_7b_l_s2048",
            "fsdpqlora_7b_l_b4",
            "fsdpqlora_7b_l_b6",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=1 sequence=2048 precision=amp layers=4: allocated",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=2 sequence=2048 precision=amp layers=4: allocated",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=4 sequence=2048 precision=amp layers=4: allocated",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=1 sequence=2048 precision=amp layers=4: reserved",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=2 sequence=2048 precision=amp layers=4: reserved",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=4 sequence=2048 precision=amp layers=4: reserved",
        ],
    },
    Study {
        varied: Field::Batch,
        runs: &[
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=1 sequence=2048 precision=amp layers=4: device",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=2 sequence=2048 precision=amp layers=4: device",
            "h100-80gb-hbm3 model=tinyllama-1.1b batch=4 sequence=2048 precision=amp layers=4: device",
        ],
    },
    Study {
        varied: Field::Sequence,
        runs: &[
            "qwen_readme_7b_lora_s512",
            "qwen_readme_7b_lora_s2048",
            "qwen_readme_7b_lora_s8192",
        ],
    },
    Study {
        varied: Field::Sequence,
        runs: &[
            "qwen_readme_7b_qlora_s512",
            "qwen_readme_7b_qlora_s2048",
            "qwen_readme_7b_qlora_s8192",
        ],
    },
    Study {
        varied: Field::Sequence,
        runs: &[
            "swift_qwen7b_lora_s512",
            "swift_qwen7b_lora_s2048",
            "swift_qwen7b_lora_s8192",
        ],
    },
];
