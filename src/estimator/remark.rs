//! What a reader should know of settings that go together and whose memory is counted.

use super::change::Change;
use super::choice::Precision;
use super::scenario::Scenario;
use super::setting::Word;

/// Something about a scenario that changes no answer, and what would be better.
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
    /// let old = catalogue::device("v100-32").expect("listed").apply(Scenario::default());
    /// assert!(old.remarks()[0].message.contains("no units for bf16"));
    /// assert!(Scenario::default().remarks().is_empty());
    /// ```
    pub fn remarks(&self) -> Vec<Remark> {
        self.emulated().into_iter().collect()
    }

    /// PyTorch computes in bf16 on every GPU, and `torch.cuda.is_bf16_supported` counts emulation by default
    /// (`including_emulation` in torch/cuda/__init__.py, 2.4 and later; with ROCm it is true of every GPU), which
    /// transformers asks (`is_torch_bf16_gpu_available` in utils/import_utils.py, 5.23.0): no program stops.
    fn emulated(&self) -> Option<Remark> {
        if !self.device.emulates_bf16 {
            return None;
        }
        let message = match self.recipe.precision {
            Precision::Fp32 | Precision::Fp16 => return None,
            Precision::Bf16 => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 takes the same \
                 memory, and needs loss scaling."
            }
            Precision::PureBf16 => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 needs loss \
                 scaling, and with it an fp32 copy of the weights."
            }
            Precision::Mixed | Precision::Autocast => {
                "This GPU has no units for bf16: PyTorch emulates it, and says that bf16 is supported. fp16 in its place \
                 takes the same memory, needs loss scaling, and is what files for this GPU say."
            }
        };
        let to: Change = Word::Precision(Precision::Fp16).into();
        let keeps_weights = matches!(self.recipe.precision, Precision::Bf16 | Precision::PureBf16);
        let goes = keeps_weights && to.apply(*self).conflicts().len() <= self.conflicts().len();
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
                let mut scenario = row.apply(Scenario::default());
                scenario.recipe.precision = precision;
                let in_bf16 = !matches!(precision, Precision::Fp32 | Precision::Fp16);
                assert_eq!(scenario.remarks().len(), usize::from(is_old && in_bf16), "{} {precision}", row.slug);
            }
        }
    }

    #[test]
    fn fp16_is_one_change_away_and_takes_the_same_memory() {
        let scenario = catalogue::device("t4").expect("listed").apply(Scenario::default());
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
}
