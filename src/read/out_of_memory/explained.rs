//! An error text, explained: where the memory of the GPU was, why the request found none, and which tensor it was for.

use super::tensor::{tensors_of_size, tokens_of_logits};
use super::{Backend, OutOfMemory, Report};
use crate::format::memory;
use crate::number::grouped;
use crate::{Bytes, Scenario};

/// A part of the memory of a GPU, by who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// Tensors of the run.
    Tensors,
    /// PyTorch’s allocator, in gaps that nothing uses.
    Gaps,
    /// The process, beside PyTorch’s allocator: the context and the buffers of libraries.
    Process,
    /// Other processes.
    Others,
    /// Contexts, libraries and other processes, where the text does not tell them apart.
    Unnamed,
    /// Nobody.
    Free,
}

impl Holder {
    /// Who that is, in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tensors => "Tensors",
            Self::Gaps => "Gaps of the allocator",
            Self::Process => "Context and libraries",
            Self::Others => "Other processes",
            Self::Unnamed => "Context and other processes",
            Self::Free => "Free",
        }
    }
}

/// Why a request found no memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// What is held in gaps would have been enough.
    Gaps(Bytes),
    /// What other processes hold would have been enough.
    Others(Bytes),
    /// Without other processes and gaps this much would still have been missing.
    Short(Bytes),
}

impl OutOfMemory {
    /// Where the memory of the GPU was when the request came, in parts that add up to its capacity; empty where the text does
    /// not say enough.
    pub fn parts(&self) -> Vec<(Holder, Bytes)> {
        let (Some(capacity), Some(allocated)) = (self.capacity, self.allocated) else { return Vec::new() };
        let gaps = self.unallocated.unwrap_or(Bytes::ZERO);
        let mut parts = vec![(Holder::Tensors, allocated), (Holder::Gaps, gaps)];
        parts.extend(self.in_use.map(|own| (Holder::Process, super::rest(own, allocated + gaps))));
        parts.extend(self.others.map(|others| (Holder::Others, others)));
        let known = parts.iter().fold(self.free.unwrap_or(Bytes::ZERO), |sum, (_, size)| sum + *size);
        let unnamed = super::rest(capacity, known);
        match self.free {
            Some(free) => parts.extend([(Holder::Unnamed, unnamed), (Holder::Free, free)]),
            None => parts.push((Holder::Unnamed, unnamed)),
        }
        parts.retain(|(_, size)| *size > super::NOISE);
        parts
    }

    /// Why the request found no memory; nothing where the text does not say enough.
    pub fn cause(&self) -> Option<Cause> {
        let (asked, free) = (self.requested?, self.free?);
        let [gaps, others] = [self.unallocated, self.others].map(|part| part.unwrap_or(Bytes::ZERO));
        let is_enough = |part: Bytes| free + part >= asked;
        Some(match (is_enough(gaps), is_enough(others)) {
            (true, false) => Cause::Gaps(gaps),
            (false, true) => Cause::Others(others),
            (true, true) if gaps >= others => Cause::Gaps(gaps),
            (true, true) => Cause::Others(others),
            (false, false) => Cause::Short(super::rest(asked, free + gaps + others)),
        })
    }

    /// The line of a shell that lets PyTorch’s allocator grow its segments. AMD’s build reads the same variable
    /// (c10/cuda/CUDAAllocatorConfig.cpp, 2.9); Intel’s and Apple’s have none.
    pub const fn growing_segments(&self) -> Option<&'static str> {
        match self.backend {
            Backend::Cuda | Backend::Hip => Some("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
            Backend::Xpu | Backend::Mps => None,
        }
    }

    /// The micro-batch of the run, where one tensor of the configuration has the size that was asked for and has it at that
    /// micro-batch alone.
    pub fn micro_batch(&self, scenario: &Scenario) -> Option<u32> {
        match &tensors_of_size(self.requested?, scenario)[..] {
            [one] => one.batch,
            _ => None,
        }
    }

    /// What the text means at this configuration, sentence by sentence.
    pub fn explained(&self, scenario: &Scenario) -> Vec<String> {
        if self.report != Report::Error {
            return Vec::new();
        }
        let cause = self.cause().map(|cause| self.cause_words(cause));
        let asked = self.requested.map(|asked| asked_words(asked, scenario));
        let said: Vec<String> = cause.into_iter().chain(asked).collect();
        if said.is_empty() {
            return vec![
                "The message has no sizes: it comes from the driver and not from PyTorch’s allocator, mostly because another \
                 process holds the GPU. nvidia-smi lists who does."
                    .to_owned(),
            ];
        }
        said
    }

    fn cause_words(&self, cause: Cause) -> String {
        let asked = memory(self.requested.unwrap_or(Bytes::ZERO));
        match cause {
            Cause::Gaps(gaps) => {
                let way = self.growing_segments().map_or_else(String::new, |line| {
                    format!(" Set {line} before the run: segments that grow leave few gaps.")
                });
                let gaps = memory(gaps);
                format!(
                    "PyTorch holds {gaps} that no tensor uses, in gaps too small for the {asked} that were asked for.{way}"
                )
            }
            Cause::Others(others) => format!(
                "Other processes hold {} of this GPU; without them the {asked} that were asked for would have found room. \
                 nvidia-smi lists them; what an earlier run left behind can be ended.",
                memory(others)
            ),
            Cause::Short(missing) => {
                let beside = match (self.unallocated, self.others) {
                    (None, None) => "",
                    _ => ", even if nothing lay in gaps and no other process ran",
                };
                format!("The run needs at least {} more than this GPU has{beside}.", memory(missing))
            }
        }
    }
}

/// Which tensor a request was for.
fn asked_words(asked: Bytes, scenario: &Scenario) -> String {
    let found = tensors_of_size(asked, scenario);
    let size = memory(asked);
    if let [one] = &found[..] {
        return format!("At this configuration {size} are {}.", one.words());
    }
    if found.is_empty() {
        return format!(
            "No tensor of this configuration has {size}: if the model, the length or the micro-batch of the run was another \
             one, set it. Were it the logits in fp32, they would be of {} tokens.",
            grouped(tokens_of_logits(asked, scenario) as f64)
        );
    }
    let words: Vec<String> = found.iter().map(super::tensor::Tensor::words).collect();
    format!("At this configuration {size} can be {}.", words.join("; or "))
}
