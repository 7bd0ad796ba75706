//! How far off the ledger was, written by `make accuracy`.

use super::Study;
use crate::Field;

/// A sentence for each of [`super::Setting::ALL`].
pub static SAID: [&str; 7] = [
    "Only 19 real runs on one GPU: median error 2.1 %, nine of ten within 10.9 %.",
    "80 real runs with FSDP, ZeRO or DDP: median error 3.8 %, nine of ten within 13.4 %.",
    "33 real runs with tensor parallelism: median error 4.5 %, nine of ten within 20.6 %.",
    "51 real runs with pipelines: median error 2.0 %, nine of ten within 13.0 %.",
    "38 real runs with DeepSpeed: median error 6.3 %, nine of ten within 20.3 %.",
    "86 real runs with LoRA or QLoRA: median error 8.8 %, nine of ten within 39.0 %.",
    "Only 12 real runs of encoders: median error 13.1 %, nine of ten within 23.6 %.",
];

/// Runs that differ in one input alone.
#[rustfmt::skip]
pub static STUDIES: [Study; 7] = [
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
