//! How far off the ledger was, written by `make accuracy`.

use super::Study;
use crate::Field;

/// A sentence for each of [`super::Setting::ALL`].
pub static SAID: [&str; 7] = [
    "Likely memory is 2.1 % off in the median of only 19 real runs on one GPU, and nine of ten are within 10.9 %.",
    "Likely memory is 3.8 % off in the median of 80 real runs with FSDP, ZeRO or DDP alone, and nine of ten are within 13.4 %.",
    "Likely memory is 4.5 % off in the median of 33 real runs with tensor parallelism, and nine of ten are within 20.6 %.",
    "Likely memory is 2.0 % off in the median of 51 real runs with pipelines, and nine of ten are within 13.0 %.",
    "Likely memory is 6.9 % off in the median of 38 real runs with DeepSpeed, and nine of ten are within 20.3 %.",
    "Likely memory is 8.8 % off in the median of 86 real runs with LoRA or QLoRA, and nine of ten are within 39.0 %.",
    "Likely memory is 13.1 % off in the median of only 12 real runs of encoders, and nine of ten are within 23.6 %.",
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
