//! What the figure says of an error text.

use bmax::read::{self, Holder, OutOfMemory};
use bmax::{Bytes, Scenario, catalogue};

use crate::site::format;

/// A text in the words of PyTorch 2.9, with numbers of the site's first configuration: at a micro-batch of 17 its logits in
/// fp32 take 17 · 2,048 · 128,256 · 4 bytes.
pub const SAMPLE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.63 GiB. GPU 0 has a total capacity of \
    79.65 GiB of which 12.75 GiB is free. Including non-PyTorch memory, this process has 66.90 GiB memory in use. Of the allocated \
    memory 64.60 GiB is allocated by PyTorch, and 1.32 GiB is reserved by PyTorch but unallocated.";

/// A part of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Who has it, as a word of the style sheet.
    pub key: &'static str,
    /// Who has it.
    pub name: &'static str,
    /// How much.
    pub size: String,
    /// Its part of the bar, as CSS has it.
    pub share: String,
}

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// The device, and what of it is shown.
    pub capacity: String,
    /// Where the memory was; at the end what was asked for and not there.
    pub parts: Vec<Part>,
    /// Sentences.
    pub said: Vec<String>,
}

impl Shown {
    /// What a text says, read at this configuration.
    pub fn of(text: &str, scenario: &Scenario) -> Self {
        let Some(error) = read::about_memory(text) else {
            let said = if text.trim().is_empty() {
                "Here stands what the text means."
            } else {
                "No error of PyTorch about memory is in this text. It begins with “CUDA out of memory”, or with HIP, XPU or MPS."
            };
            return Self { said: vec![said.to_owned()], ..Self::default() };
        };
        let mut said = error.explained(scenario);
        said.extend(another_device(&error, scenario));
        let capacity = error.capacity.map_or_else(String::new, capacity_of(&error));
        Self { capacity, parts: parts(&error), said }
    }
}

fn capacity_of(error: &OutOfMemory) -> impl FnOnce(Bytes) -> String {
    let names: Vec<&str> = error.devices.iter().map(|row| row.name).take(3).collect();
    move |capacity| {
        let device = if names.is_empty() { "A GPU".to_owned() } else { names.join(" or ") };
        format!("{device}, {} for programs: where it was when the request came", format::memory(capacity))
    }
}

/// Every part with its share of the bar, which is as long as the memory and what was missing.
fn parts(error: &OutOfMemory) -> Vec<Part> {
    let parts = error.parts();
    let Some(capacity) = error.capacity.filter(|_| !parts.is_empty()) else { return Vec::new() };
    let free = error.free.unwrap_or(Bytes::ZERO);
    let missing = error.requested.filter(|asked| *asked > free).map(|asked| asked - free);
    let whole = capacity + missing.unwrap_or(Bytes::ZERO);
    let part = |key, name, size: Bytes| Part {
        key,
        name,
        size: format::memory(size),
        share: format::css_percent(size.share_of(whole)),
    };
    let held = parts.into_iter().map(|(holder, size)| part(key(holder), holder.words(), size));
    held.chain(missing.map(|missing| part("missing", "Asked for and not free", missing))).collect()
}

const fn key(holder: Holder) -> &'static str {
    match holder {
        Holder::Tensors => "tensors",
        Holder::Gaps => "gaps",
        Holder::Process => "process",
        Holder::Others => "others",
        Holder::Free => "free",
        _ => "unnamed",
    }
}

/// That the text is of another device than the configuration's, where its memory says so.
fn another_device(error: &OutOfMemory, scenario: &Scenario) -> Option<String> {
    let row = catalogue::device(scenario.device.origin)?;
    let is_it = error.devices.iter().any(|device| device.slug == row.slug);
    let first = error.devices.first().filter(|_| !is_it)?;
    Some(format!("The text is of another GPU ({}) than the configuration ({}).", first.name, row.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::link;
    use proptest::prelude::*;

    #[test]
    fn the_sample_is_of_the_first_configuration_and_its_parts_add_up() {
        let shown = Shown::of(SAMPLE, &Scenario::default());
        // 79.65 GiB less 66.90 and 12.75 is nothing; 66.90 less 64.60 and 1.32 are 0.98.
        let names: Vec<_> = shown.parts.iter().map(|part| (part.name, part.size.as_str())).collect();
        assert_eq!(
            names,
            [
                ("Tensors", "64.6 GiB"),
                ("Gaps of the allocator", "1.32 GiB"),
                ("Context and libraries", "0.98 GiB"),
                ("Free", "12.8 GiB"),
                ("Asked for and not free", "3.88 GiB"),
            ]
        );
        // 16.63 less 12.75 and 1.32.
        assert_eq!(
            shown.said,
            [
                "The run needs at least 2.56 GiB more than this GPU has, even if nothing lay in gaps and no other process ran.",
                "At this configuration 16.6 GiB are 34,816 tokens × 128,256 words × 4 bytes: the logits at a micro-batch of 17.",
            ]
        );
    }

    #[test]
    fn another_gpu_than_that_of_the_configuration_is_named() {
        let card = link::decode("v=4&gpu=rtx-4090&gpus=1").scenario;
        let said = Shown::of(SAMPLE, &card).said;
        assert!(said.last().is_some_and(|said| said.contains("than the configuration (RTX 4090")), "{said:?}");
    }

    #[test]
    fn a_text_without_an_error_is_answered_in_words() {
        assert!(Shown::of("Dear all", &Scenario::default()).said[0].starts_with("No error of PyTorch"));
        let driver = Shown::of("RuntimeError: CUDA error: out of memory", &Scenario::default());
        assert!(driver.said[0].starts_with("The message has no sizes"), "{driver:?}");
        assert_eq!(driver.parts, []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_scenario_and_every_size_have_sound_words(scenario in any_scenario(), size in 0.0..4_096.0_f64) {
            let text = SAMPLE.replace("16.63", &format!("{size:.2}"));
            let shown = Shown::of(&text, &scenario);
            texts_are_sound(&shown);
            prop_assert!(!shown.said.is_empty());
        }
    }
}
