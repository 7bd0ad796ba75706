//! The numbers that the text quotes from papers and other works, each as it is printed there, with its place.
//!
//! The text writes `{{quoted:goyal-error-gradual}}` for [`GOYAL_ERROR_GRADUAL`], and the build puts the value there as a
//! link to its source; figures and tests take the number from the same row. What the library computes is not quoted, and
//! has no row. `/catalogue.html` lists all rows.

use super::sources;

/// A number out of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The name of its constant; the text writes it small, with `-` for `_`.
    pub name: &'static str,
    /// The number as the text prints it, with its unit where that is a sign. TeX stands between `$`.
    pub value: &'static str,
    /// What it is a number of.
    pub of: &'static str,
    /// The work, by its id in [`sources`].
    pub source: &'static str,
    /// Where in the work.
    pub place: &'static str,
}

impl Quoted {
    /// The row that the text writes with this key.
    ///
    /// ```
    /// use bmax::course::quoted::Quoted;
    /// assert_eq!(Quoted::find("goyal-batch").map(|row| row.value), Some("8,192"));
    /// assert_eq!(Quoted::find("GOYAL_BATCH"), None);
    /// ```
    pub fn find(key: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|row| row.key() == key)
    }

    /// What the text writes for it.
    pub fn key(&self) -> String {
        self.name.to_lowercase().replace('_', "-")
    }

    /// The work and the place in it, in a few words.
    ///
    /// ```
    /// use bmax::course::quoted::GOYAL_ERROR_GRADUAL;
    /// assert_eq!(GOYAL_ERROR_GRADUAL.cited(), "Goyal et al. 2017, table 1");
    /// ```
    pub fn cited(&self) -> String {
        let work = sources::find(self.source).map(sources::CourseSource::short).unwrap_or_default();
        format!("{work}, {}", self.place)
    }

    /// The number for computing with: the first of the value.
    ///
    /// ```
    /// use bmax::course::quoted::{GOYAL_BATCH, GOYAL_ERROR_GRADUAL};
    /// assert_eq!((GOYAL_BATCH.number(), GOYAL_ERROR_GRADUAL.number()), (8192.0, 23.74));
    /// ```
    pub const fn number(&self) -> f64 {
        self.nth(0)
    }

    /// The second number of the value, the end of a range.
    ///
    /// ```
    /// use bmax::course::quoted::RULE_TO_8;
    /// assert_eq!((RULE_TO_8.number(), RULE_TO_8.end()), (90.0, 95.0));
    /// ```
    pub const fn end(&self) -> f64 {
        self.nth(1)
    }

    /// The number at a place among those of the value, counted from 0: digits with commas between thousands, and a point.
    const fn nth(&self, place: usize) -> f64 {
        let text = self.value.as_bytes();
        let (mut at, mut found) = (0, 0);
        while at < text.len() {
            if !text[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            // Whole numbers of this size and their quotients by powers of ten are those that a literal would be.
            let (mut digits, mut decimals, mut after_point) = (0_u64, 1_u64, false);
            while at < text.len() {
                match text[at] {
                    digit @ b'0'..=b'9' => {
                        digits = 10 * digits + (digit - b'0') as u64;
                        decimals *= if after_point { 10 } else { 1 };
                    }
                    b'.' if at + 1 < text.len() && text[at + 1].is_ascii_digit() => after_point = true,
                    b',' => {}
                    _ => break,
                }
                at += 1;
            }
            if found == place {
                return digits as f64 / decimals as f64;
            }
            found += 1;
        }
        panic!("a row has as many numbers as it is asked for")
    }
}

macro_rules! quoted {
    ($($source:literal { $($name:ident $value:literal $of:literal $place:literal)+ })+) => {
        $($(
            #[doc = concat!($value, ": ", $of, ".")]
            pub const $name: Quoted =
                Quoted { name: stringify!($name), value: $value, of: $of, source: $source, place: $place };
        )+)+

        /// Every row, by its work.
        pub static ALL: &[&Quoted] = &[$($(&$name,)+)+];
    };
}

quoted! {
    "workshop" {
        WORKSHOP_FULL_SAVED "90 %" "what checkpointing saves of the activations, at most" "Activation Checkpointing"
    }
    "survival-kit" {
        SURVIVAL_FULL_SAVED "90 %+" "what full recomputation saves of the activations" "table of the two strategies"
        SURVIVAL_FULL_WORK "30–40 %" "what full recomputation adds to the operations" "table of the two strategies"
    }
    "playbook" {
        PLAYBOOK_BATCH "4 to 60 million" "tokens of a batch of recent language models" "First steps: training on one GPU"
    }
    "lecture" {
        LECTURE_LAYER "78" "GB of one layer boundary of GPT-3 at 16 bits, rounded" "section 9.3.1"
        LECTURE_LAYER_FULL "156" "GB of the same in fp32, rounded" "section 9.3.1"
        LECTURE_LAYERS "7,488" "GB of all 96 boundaries of GPT-3 at 16 bits" "section 11"
        LECTURE_LAYERS_FULL "14,976" "GB of the same in fp32" "section 11"
        LECTURE_ANSWER "152.59 GB" "the boundaries of GPT-3 2.7B, with the unit it prints" "section 17.3"
    }
    "optimizer-page" {
        RULE_TO_8 "90 to 95 %" "what 2 to 8 GPUs keep of perfect scaling" "Multi-GPU Scaling Considerations"
        RULE_TO_64 "80 to 90 %" "what 8 to 64 GPUs keep of perfect scaling" "Multi-GPU Scaling Considerations"
        RULE_TWO "1.8 to 1.95" "the speed-up by two GPUs" "How does multi-GPU training scale with batch size?"
        RULE_CHECKPOINTING_SAVED "60–80 %" "what checkpointing saves of the activations" "The Memory Budget"
        RULE_CHECKPOINTING_WORK "20–30 %" "what checkpointing adds to the computing" "The Memory Budget"
        RULE_ADAFACTOR "50 %" "the state of Adafactor as a part of Adam’s" "The Memory Budget"
        RULE_CIFAR "256" "the critical batch of CIFAR-10, in images" "The Batch Size Convergence Tradeoff"
        RULE_IMAGENET "2,048" "the critical batch of ImageNet, in images" "The Batch Size Convergence Tradeoff"
        RULE_LANGUAGE "65,536" "the critical batch of a language model, without a unit" "The Batch Size Convergence Tradeoff"
        RULE_NORM "16" "images of a micro-batch below which the statistics of batch normalization get noisy" "Gradient Accumulation"
    }

    "korthikanti" {
        KORTHIKANTI_ATTENTION "11" "bytes that attention keeps, for each S·b·H, without its scores" "section 4.1"
        KORTHIKANTI_MLP "19" "bytes that the feed-forward block keeps, for each S·b·H" "section 4.1"
        KORTHIKANTI_NORMS "4" "bytes that the two layer norms keep, for each S·b·H" "section 4.1"
        KORTHIKANTI_SCORES "80" "5·n·S/H of GPT-3, bytes for each S·b·H" "section 5"
        KORTHIKANTI_SELECTIVE_SAVED "70 %" "what selective recomputation saves of GPT-3’s activations" "section 5"
        KORTHIKANTI_SELECTIVE_WORK "2.7 %" "what it adds to the operations of GPT-3" "section 5"
        KORTHIKANTI_SELECTIVE_TIME "7 %" "what it adds to the time of a layer of the 22B model, measured" "table 4"
        KORTHIKANTI_FULL_TIME "39 %" "what full recomputation adds to that time, measured" "table 4"
    }
    "rajbhandari" {
        ZERO_PARAMETERS "7.5 billion" "parameters of the example" "figure 1"
        ZERO_GPUS "64" "GPUs of the example" "figure 1"
        ZERO_STAGE_0 "120 GB" "model states on each of them, without ZeRO" "figure 1"
        ZERO_STAGE_1 "31.4 GB" "the same at stage 1" "figure 1"
        ZERO_STAGE_2 "16.6 GB" "the same at stage 2" "figure 1"
        ZERO_STAGE_3 "1.9 GB" "the same at stage 3" "figure 1"
    }
    "brown-gpt3" {
        GPT_3_BATCH "3.2 million" "tokens of a batch of GPT-3 175B" "table 2.1"
        GPT_3_BATCH_2_7B "1 million" "tokens of a batch of GPT-3 2.7B, “1M”" "table 2.1"
    }
    "dao-flash" {
        DAO_SRAM_SPEED "19 TB/s" "bandwidth of the SRAM of an A100" "figure 1"
        DAO_SRAM_SIZE "20 MB" "size of that SRAM" "figure 1"
        DAO_HBM_SPEED "1.5 TB/s" "bandwidth of the HBM of an A100 of 40 GB" "figure 1"
        DAO_HBM_SIZE "40 GB" "size of that HBM" "figure 1"
        DAO_DRAM_SPEED "12.8 GB/s" "bandwidth of the DRAM of the CPU" "figure 1"
    }
    "ren-offload" {
        OFFLOAD_MODEL "13 billion" "parameters that one GPU trains with ZeRO-Offload, and more" "abstract"
        OFFLOAD_TIMES "10" "times as large a model as PyTorch alone" "abstract"
    }
    "dettmers-qlora" {
        QLORA_CONSTANTS "0.127" "bits a weight for doubly quantized constants" "section 3"
    }
    "micikevicius" {
        MICIKEVICIUS_LEAST "$2^{-27}$" "below it gradients did not matter" "section 3.2"
        MICIKEVICIUS_ZERO "$2^{-24}$" "below it fp16 makes zeros of them" "section 3.2"
        MICIKEVICIUS_SCALE "8" "the factor that was enough" "section 3.2"
    }
    "deepseek-v3" {
        DEEPSEEK_ROW "1 × 128" "activations that share a scale" "section 3.3.2"
        DEEPSEEK_BLOCK "128 × 128" "weights that share a scale" "section 3.3.2"
    }
    "ocp-mx" {
        MX_BLOCK "32" "elements that share a scale in the MX formats" "table 1"
    }
    "ocp-fp8" {
        E4M3_LARGEST "448" "the largest number of E4M3" "table 2"
    }
    "micikevicius-fp8" {
        E4M3_IEEE "240" "the largest number that E4M3 would have with IEEE 754’s infinities" "section 3"
    }
    "nvfp4" {
        NVFP4_BLOCK "16" "elements that share a scale" "section 2"
        NVFP4_MODEL "12 billion" "parameters of the model that was trained" "abstract"
        NVFP4_TOKENS "10 trillion" "tokens that it was trained with" "abstract"
    }
    "dettmers-8bit" {
        DETTMERS_BLOCK "2,048" "moments that share a scale" "section 2.1"
    }
    "chen-lion" {
        LION_TIMES "3 to 10" "times lower a learning rate than AdamW’s, and higher a weight decay" "section 5"
    }
    "jordan-muon" {
        MUON_SMALL "0.7 %" "what Muon adds to the operations of a small GPT" "Runtime analysis"
        MUON_LARGE "0.5 %" "what it adds to those of Llama 405B" "Runtime analysis"
    }
    "kaplan" {
        KAPLAN_SCALE "200 million" "tokens of the critical batch at a loss of 1, B*" "equation 5.3"
        KAPLAN_EXPONENT "0.21" "α_B: the critical batch grows with the loss to the power −1/α_B" "equation 5.3"
        KAPLAN_CONVERGED "1 to 2 million" "tokens of the critical batch at convergence, for its largest models" "section 1.1"
    }
    "goyal" {
        GOYAL_BATCH "8,192" "images in a step" "abstract"
        GOYAL_GPUS "256" "GPUs" "abstract"
        GOYAL_RATE_BASE "0.1" "the learning rate for 256 images" "table 1"
        GOYAL_RATE "3.2" "the learning rate for 8,192 images" "table 1"
        GOYAL_WARM_UP "5" "epochs of the warm-up" "section 2.2"
        GOYAL_FIRST_FALL "30" "the epoch at which the rate first falls to a tenth" "section 5.1"
        GOYAL_SECOND_FALL "60" "the epoch of its second fall" "section 5.1"
        GOYAL_THIRD_FALL "80" "the epoch of its third fall" "section 5.1"
        GOYAL_EPOCHS "90" "epochs in all" "section 5.1"
        GOYAL_ERROR_BASE "23.60 %" "error with 256 images in a step" "table 1"
        GOYAL_ERROR_NONE "24.84 %" "error with 8,192 and no warm-up" "table 1"
        GOYAL_ERROR_CONSTANT "25.88 %" "error with 8,192 and a warm-up at a constant low rate" "table 1"
        GOYAL_ERROR_GRADUAL "23.74 %" "error with 8,192 and a gradual warm-up" "table 1"
    }
    "nado" {
        NADO_BATCH "32,768" "the batch at which momentum and Adam were as good as LARS and LAMB" "sections 3 and 4"
    }
    "wu-groupnorm" {
        WU_BATCH "23.6 %" "error of batch normalization with 32 images per GPU" "table 2"
        WU_BATCH_2 "34.7 %" "error of batch normalization with 2 images per GPU" "table 2"
        WU_GROUP "24 %" "error of group normalization with either, 24.1 %" "table 2"
        WU_IMAGES "32" "images per GPU of the first of these errors" "table 2"
        WU_IMAGES_2 "2" "images per GPU of the second" "table 2"
    }
    "chowdhery" {
        PEAK_LEAST "21.3 %" "part of the peak that GPT-3 reached in training" "table 3"
        PEAK_MOST "46.2 %" "part of the peak that PaLM reached in training" "table 3"
    }
    "llama-3" {
        PEAK_LLAMA "38 to 43 %" "part of the peak that Llama 3 405B reached in training" "table 4"
    }

    "pytorch" {
        GRAD_SCALER "$2^{16}$" "the factor that GradScaler begins with" "torch/amp/grad_scaler.py"
    }
    "deepspeed" {
        DEEPSPEED_BUCKET "500 million" "elements of a reduction bucket, by default" "zero/config.py, reduce_bucket_size"
    }
    "bitsandbytes" {
        BITSANDBYTES_BLOCK "256" "moments that share a scale" "optim/optimizer.py at 95f9af3, since version 0.44"
    }
    "nvidia-matmul" {
        MULTIPLE "8" "elements at 16 bits of which sizes should be multiples for tensor cores" "section 2.2"
        MULTIPLE_A100 "64" "the same on an A100" "section 2.2"
        MATMUL_TILE "128 × 128" "a tile of a matrix product" "section 3.1"
        MATMUL_UNITS "108" "multiprocessors of an A100" "section 3.2"
    }
    "bekman" {
        CONTEXT_LEAST "0.47" "GiB of the CUDA context with lazily loaded kernels" "Anatomy of Model's Memory Usage"
        CONTEXT_MOST "0.92" "GiB of the CUDA context with all kernels" "Anatomy of Model's Memory Usage"
        BUFFERS "1 to 1.5" "GiB of NCCL after the first collective" "Anatomy of Model's Memory Usage"
    }
    "finders" {
        ACCELERATE_FACTOR "0.9" "what a batch size is multiplied with after a failure" "find_executable_batch_size"
    }
    "lightning" {
        LIGHTNING_MARGIN "5 %" "what binsearch takes off the batch that it found" "margin"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue;
    use crate::runtime::{COMMUNICATION, CUDA_CONTEXT};
    use crate::{Method, Recomputation, Scenario, cost, estimate, formula::Symbol};

    #[test]
    fn every_row_has_a_name_of_its_own_and_says_of_what_and_where() {
        let names: BTreeSet<&str> = ALL.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ALL.len());
        for row in ALL {
            assert!(!row.value.is_empty() && !row.of.is_empty() && !row.place.is_empty(), "{}", row.name);
            assert!(sources::find(row.source).is_some(), "{}: no work has the id {}", row.name, row.source);
            assert_eq!(Quoted::find(&row.key()), Some(*row));
        }
    }

    #[test]
    fn numbers_are_read_as_a_literal_would_be() {
        let row = |value| Quoted { value, ..GOYAL_BATCH };
        for (value, expected) in [("0.127", 0.127), ("14,976", 14_976.0), ("23.74 %", 23.74), ("152.59 GB", 152.59)] {
            assert_eq!(row(value).number(), expected, "{value}");
        }
        assert_eq!(row("1.8 to 1.95").end(), 1.95);
        assert_eq!(row("30–40 %").end(), 40.0);
    }

    /// What the library computes by a paper's formula is what the paper prints.
    #[test]
    fn the_library_agrees_with_what_is_quoted() {
        let mut paper = Scenario { method: Method::Paper, ..Scenario::workshop() };
        paper.recipe.recomputation = Recomputation::None;
        let linear = estimate(&paper).values.get(Symbol::Linear);
        assert_eq!(KORTHIKANTI_ATTENTION.number() + KORTHIKANTI_MLP.number() + KORTHIKANTI_NORMS.number(), linear);

        let mut gpt3 = catalogue::model("gpt-3-175b").expect("listed").apply(paper);
        gpt3.recipe.sequence = 2_048;
        let model = gpt3.model;
        let scores = 5.0 * f64::from(model.heads) * 2_048.0 / f64::from(model.hidden);
        assert_eq!(KORTHIKANTI_SCORES.number(), scores);
        assert_eq!(KORTHIKANTI_SELECTIVE_SAVED.number(), (100.0 * scores / (linear + scores)).round());
        gpt3.recipe.recomputation = Recomputation::Selective;
        // The paper counts the products of attention three times, of which they run again once.
        let once = 100.0 * cost::extra_work(&gpt3);
        assert!((3.0 * once - KORTHIKANTI_SELECTIVE_WORK.number()).abs() < 0.06, "{once}");

        for (stage, row) in [ZERO_STAGE_0, ZERO_STAGE_1, ZERO_STAGE_2, ZERO_STAGE_3].into_iter().enumerate() {
            let (n, d) = (ZERO_PARAMETERS.number(), ZERO_GPUS.number());
            let bytes = [16.0, 4.0 + 12.0 / d, 2.0 + 14.0 / d, 16.0 / d][stage];
            assert_eq!(row.number(), (10.0 * n * bytes).round() / 10.0, "{}", row.name);
        }
        assert_eq!(GOYAL_RATE.number(), GOYAL_RATE_BASE.number() * GOYAL_BATCH.number() / 256.0);
        assert_eq!(
            [CONTEXT_LEAST, CONTEXT_MOST].map(|row| row.number()),
            [CUDA_CONTEXT.optimistic.gib(), CUDA_CONTEXT.safe.gib()]
        );
        assert_eq!([BUFFERS.number(), BUFFERS.end()], [COMMUNICATION.optimistic.gib(), COMMUNICATION.safe.gib()]);
        let part = 100.0 * cost::Speed::UTILIZATION;
        assert!((PEAK_LEAST.number()..PEAK_MOST.number()).contains(&part));
        assert!((PEAK_LLAMA.number()..=PEAK_LLAMA.end()).contains(&part));
        assert_eq!(DEEPSPEED_BUCKET.number(), f64::from(Scenario::workshop().cluster.reduce_bucket));
    }
}
