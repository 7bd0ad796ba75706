//! What a reader should know of settings that go together and whose memory is counted.

use super::change::Change;
use super::choice::{AttentionKernel, Engine, Method, Precision, Softmax};
use super::scenario::Scenario;
use super::setting::Word;

/// Ten times the compute capability below which no kernel of SDPA takes bf16, and one kernel takes fp16
/// (`check_flash_attention_hardware_support`, `check_cudnn_hardware_support` and `less_than_sm80_mem_efficient_dtypes` in
/// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, PyTorch 2.11 and 2.15).
const ALL_KERNELS: u32 = 80;

/// Something about a scenario that changes no answer, and what would be better or counts it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Remark {
    /// What to change, and to what, where one change does.
    pub mend: Option<Change>,
    /// One or two sentences for the reader.
    pub message: &'static str,
}

impl Scenario {
    /// What should be known of settings that do not contradict each other.
    ///
    /// ```
    /// use bmax::{Scenario, catalogue};
    /// let old = catalogue::device("v100-32").expect("listed").apply(Scenario::workshop());
    /// assert!(old.remarks()[0].message.contains("no units for bf16"));
    /// assert!(Scenario::workshop().remarks().is_empty());
    /// ```
    pub fn remarks(&self) -> Vec<Remark> {
        [self.emulated(), self.keeps_scores()].into_iter().flatten().collect()
    }

    /// Whether attention is PyTorch's SDPA as transformers calls it: other programs repeat keys and values before, and
    /// flash-attn takes neither fp32 nor GPUs as old as those that are asked about here.
    fn is_sdpa_of_transformers(&self) -> bool {
        self.recipe.attention == AttentionKernel::Flash
            && matches!(self.cluster.engine, Engine::Torch | Engine::DeepSpeed)
    }

    /// Whether the device is one of NVIDIA's without flash and cuDNN kernels.
    fn lacks_kernels(&self) -> bool {
        (1..ALL_KERNELS).contains(&self.device.capability)
    }

    /// PyTorch computes in bf16 on every GPU, and `torch.cuda.is_bf16_supported` counts emulation by default
    /// (`including_emulation` in torch/cuda/__init__.py, 2.4 and later; with ROCm it is true of every GPU), which
    /// transformers asks (`is_torch_bf16_gpu_available` in utils/import_utils.py, 5.23.0): no program stops.
    fn emulated(&self) -> Option<Remark> {
        if !self.device.emulates_bf16 {
            return None;
        }
        let message = match (self.recipe.precision, self.is_sdpa_of_transformers() && self.lacks_kernels()) {
            (Precision::Fp32 | Precision::Fp16, _) => return None,
            (Precision::Bf16, false) => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 takes the same \
                 memory, and needs loss scaling."
            }
            (Precision::Bf16, true) => {
                "This GPU has no units for bf16: PyTorch emulates it, and its SDPA falls back to keeping the scores of each \
                 layer. What is counted is fp16, which needs loss scaling."
            }
            (Precision::PureBf16, false) => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 needs loss \
                 scaling, and with it an fp32 copy of the weights."
            }
            (Precision::PureBf16, true) => {
                "This GPU has no units for bf16: PyTorch emulates it, and its SDPA falls back to keeping the scores of each \
                 layer, which are not counted. fp16 needs loss scaling, and with it an fp32 copy of the weights."
            }
            (Precision::Mixed | Precision::Autocast, false) => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 in its place \
                 takes the same memory, needs loss scaling, and is what files for this GPU say."
            }
            (Precision::Mixed | Precision::Autocast, true) => {
                "This GPU has no units for bf16: PyTorch emulates it, and its SDPA falls back to keeping the scores of each \
                 layer. fp16 in its place is what is counted, needs loss scaling, and is what files for this GPU say."
            }
        };
        let to: Change = Word::Precision(Precision::Fp16).into();
        let keeps_weights = matches!(self.recipe.precision, Precision::Bf16 | Precision::PureBf16);
        let goes = keeps_weights && to.apply(*self).conflicts().len() <= self.conflicts().len();
        Some(Remark { mend: goes.then_some(to), message })
    }

    /// Where SDPA of a PyTorch older than the one that is counted has no kernel but its fallback
    /// (`_scaled_dot_product_attention_math` in aten/src/ATen/native/transformers/attention.cpp), which keeps the scores.
    ///
    /// The memory-efficient kernel is the only one for fp32, and before capability 8.0 the only one at all. It takes fewer
    /// key heads than query heads from PyTorch 2.14 on (pytorch/pytorch#191085; `supports_mqa` in sdp_utils_cpp.h is in 2.14.0
    /// and not in 2.13.0). transformers hands them over as they are where no mask is (`use_gqa_in_sdpa` in
    /// integrations/sdpa_attention.py, 5.17.0 and 5.23.0). Falcon's code gives its one key head without `enable_gqa`
    /// (models/falcon/modeling_falcon.py), which before 2.14 no kernel takes. An H100 with 2.11 needed 13.07 GiB where the
    /// kernel needs 7.4 and eager attention 13.2 (tests/vectors/README.md).
    fn keeps_scores(&self) -> Option<Remark> {
        let model = &self.model;
        let is_counted = self.method == Method::Ledger && self.is_sdpa_of_transformers();
        if !is_counted || model.kv_heads >= model.heads || self.masks_padding() {
            return None;
        }
        let precision = self.recipe.precision;
        let message = if model.softmax == Softmax::Scores && model.kv_heads == 1 {
            "Before PyTorch 2.14, SDPA has no kernel for the one key head of Falcon’s code: it falls back to keeping the scores \
             of each layer in fp32, which is more than eager attention keeps and is not counted."
        } else if precision == Precision::Fp32 {
            "Before PyTorch 2.14, SDPA has no kernel for grouped heads in fp32: it falls back to keeping the scores of each \
             layer. Eager attention counts about what that takes."
        } else if precision == Precision::Fp16 && self.lacks_kernels() {
            "Before PyTorch 2.14, SDPA has no kernel for grouped heads on this GPU: it falls back to keeping the scores of each \
             layer. Eager attention counts about what that takes."
        } else {
            return None;
        };
        let to: Change = Word::Attention(AttentionKernel::Eager).into();
        let goes = !message.contains("Falcon") && to.apply(*self).conflicts().len() <= self.conflicts().len();
        Some(Remark { mend: goes.then_some(to), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, catalogue};

    /// Ampere, CDNA and RDNA 3 brought bf16; of Apple's, the M3.
    const WITHOUT: [&str; 11] =
        ["V100", "P100", "P40", "T4", "Titan", "GTX", "RTX 206", "RTX 208", "Quadro", "MI50", "RX 6"];

    #[test]
    fn bf16_is_remarked_on_where_a_gpu_has_no_units_for_it_and_nowhere_else() {
        for row in catalogue::DEVICES {
            let is_old = WITHOUT.iter().any(|name| row.name.contains(name))
                || ["M1", "M2", "MI60"].iter().any(|name| row.name.split(' ').any(|word| word == *name));
            for &precision in Precision::ALL {
                let mut scenario = row.apply(Scenario::workshop());
                scenario.recipe.precision = precision;
                let in_bf16 = !matches!(precision, Precision::Fp32 | Precision::Fp16);
                let of_bf16 =
                    scenario.remarks().iter().filter(|remark| remark.message.contains("no units for bf16")).count();
                assert_eq!(of_bf16, usize::from(is_old && in_bf16), "{} {precision}", row.slug);
            }
        }
    }

    #[test]
    fn fp16_is_one_change_away_and_takes_the_same_memory() {
        let scenario = catalogue::device("t4").expect("listed").apply(Scenario::workshop());
        let mend = scenario.remarks()[0].mend.expect("a change");
        let half = mend.apply(scenario);
        assert_eq!((half.recipe.precision, half.remarks().len()), (Precision::Fp16, 0));
        assert_eq!(crate::estimate(&half).peak().bytes, crate::estimate(&scenario).peak().bytes);
        // A step in the backward pass cannot scale.
        let mut scenario = scenario;
        scenario.recipe.step = crate::StepKernel::InBackward;
        assert_eq!(scenario.conflicts(), []);
        assert_eq!(scenario.remarks()[0].mend, None);
    }

    /// The rows of PyTorch 2.11 on an H100 and on the device of tools/nullcuda (tests/vectors/README.md).
    #[test]
    fn older_versions_that_keep_the_scores_are_remarked_on_where_one_was_seen_and_nowhere_else() {
        let keeps = |query: &str| {
            let scenario = crate::link::decode(&format!("gpus=1&zero=0&dropout=off&{query}")).scenario;
            scenario.remarks().iter().any(|remark| remark.message.contains("the scores of each layer"))
        };
        for seen in [
            "model=tinyllama-1.1b&precision=fp32&gpu=h100-80",
            "model=qwen2.5-0.5b&precision=fp32&gpu=a100-80",
            "model=falcon-7b&precision=bf16-pure&gpu=h100-80",
            "model=tinyllama-1.1b&precision=fp16&gpu=t4",
            "model=gpt2&precision=autocast&gpu=v100-32",
        ] {
            assert!(keeps(seen), "{seen}");
        }
        for spared in [
            "model=tinyllama-1.1b&precision=autocast&gpu=h100-80",
            "model=tinyllama-1.1b&precision=fp32&gpu=h100-80&attn=eager",
            "model=tinyllama-1.1b&precision=fp32&gpu=h100-80&engine=torchtitan",
            "model=gpt2&precision=fp32&gpu=h100-80",
            "model=gpt2&precision=fp16&gpu=t4",
        ] {
            assert!(!keeps(spared), "{spared}");
        }
    }

    #[test]
    fn eager_attention_counts_what_grouped_heads_in_fp32_took() {
        let query = "v=3&model=tinyllama-1.1b&gpus=1&zero=0&b=2&s=2048&attn=flash&precision=fp32&recompute=none&dropout=off\
                     &step=fused&logits=dropped&layers=4&gpu=h100-80&headroom=0&workspace=32";
        let scenario = crate::link::decode(query).scenario;
        let eager = scenario.remarks()[0].mend.expect("a change").apply(scenario);
        // `max_memory_allocated` of an H100 with PyTorch 2.11.
        let measured = 13.07;
        assert!((crate::counters(&eager).allocated.gib() / measured - 1.0).abs() < 0.02);
    }
}
