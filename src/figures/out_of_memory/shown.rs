//! What the figure says of an error text.

use bmax::read::{self, Cause, Holder, OutOfMemory, Report};
use bmax::{Answer, Bytes, Scenario, catalogue, link};

use crate::components::Listed;
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
    /// The GPU that the text is of, where the configuration has another.
    pub other_device: Option<OtherDevice>,
    /// The micro-batch that ran out of memory, as far as it is known; none where there is no error, or one of another GPU.
    pub batch: Option<u32>,
}

/// A GPU that the configuration does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherDevice {
    /// A sentence that says that the text is of this GPU and the configuration of another.
    pub said: String,
    /// The name of the GPU.
    pub name: &'static str,
    /// The configuration with it, as the query of a link.
    pub query: String,
}

impl Shown {
    /// Explains a text at a configuration, of which `answer` is the answer.
    pub fn of(text: &str, scenario: &Scenario, answer: &Answer) -> Self {
        let Some(error) = read::about_memory(text) else {
            let said = if text.trim().is_empty() {
                "Here stands what the text means."
            } else {
                "No error of PyTorch about memory is in this text. It begins with “CUDA out of memory”, or with HIP, XPU or MPS."
            };
            return Self { said: vec![said.to_owned()], ..Self::default() };
        };
        if error.report != Report::Error {
            let said = "This says who holds the memory, and not what was asked for: put the text of the error here.";
            return Self { said: vec![said.to_owned()], ..Self::default() };
        }
        let batch = error.micro_batch(scenario).unwrap_or(scenario.recipe.batch);
        let mut said = error.explained(scenario);
        let other_device = other_device(&error, scenario);
        if other_device.is_none() {
            said.extend(counted(error.cause(), batch, scenario, answer));
        }
        Self {
            capacity: error.capacity.map_or_else(String::new, |capacity| capacity_of(&error, capacity)),
            parts: parts(&error),
            said,
            // What the count says of another GPU explains nothing.
            batch: other_device.is_none().then_some(batch),
            other_device,
        }
    }
}

/// Says whether the count agrees that a micro-batch of `batch` runs out of memory. Where nothing fits, the list of changes
/// says it.
fn counted(cause: Option<Cause>, batch: u32, scenario: &Scenario, answer: &Answer) -> Option<String> {
    let Answer::Fits(room) = answer else { return None };
    let [batch_words, most] = [batch, room.batch].map(|batch| format::batch(batch, scenario.unit()));
    let beside = if batch == room.batch { ", and no more".to_owned() } else { format!(", and {most} at most") };
    Some(match cause {
        _ if batch > room.batch => {
            format!("The count agrees: at this configuration a micro-batch of {most} fits at most.")
        }
        Some(Cause::Gaps(_) | Cause::Others(_)) => {
            format!("Without that a micro-batch of {batch_words} fits by the count{beside}.")
        }
        _ => format!(
            "By the count a micro-batch of {batch_words} fits this configuration{beside}: something of the run is set otherwise \
             than in the bar."
        ),
    })
}

fn capacity_of(error: &OutOfMemory, capacity: Bytes) -> String {
    let names: Vec<&str> = error.devices.iter().map(|row| row.name).take(3).collect();
    let device = if names.is_empty() { "A GPU".to_owned() } else { names.join(" or ") };
    format!("{device}, {} for programs. Where it was when the request came:", format::memory(capacity))
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

/// The GPU that the text is of, where its memory says that it is another than the configuration's.
fn other_device(error: &OutOfMemory, scenario: &Scenario) -> Option<OtherDevice> {
    let own = catalogue::device(scenario.device.origin)?;
    let is_it = error.devices.iter().any(|device| device.slug == own.slug);
    let first = error.devices.first().filter(|_| !is_it)?;
    Some(OtherDevice {
        said: format!("The text is of another GPU ({}) than the configuration ({}).", first.name, own.name),
        name: first.name,
        query: format!("?{}", link::encode(&scenario.then(Listed::Gpu.apply(*scenario, first.slug)))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use proptest::prelude::*;

    fn shown(text: &str, scenario: Scenario) -> Shown {
        Shown::of(text, &scenario, &facts_of(scenario).answer)
    }

    #[test]
    fn the_sample_is_of_the_first_configuration_and_its_parts_add_up() {
        let shown = shown(SAMPLE, Scenario::default());
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
                "The count agrees: at this configuration a micro-batch of 16 sequences fits at most.",
            ]
        );
    }

    #[test]
    fn another_gpu_than_that_of_the_configuration_is_named() {
        let card = link::decode("v=4&gpu=rtx-4090&gpus=1").scenario;
        let other = shown(SAMPLE, card).other_device.expect("it has 80 GB");
        assert!(other.said.contains("than the configuration (RTX 4090"), "{}", other.said);
        let with = link::decode(&other.query).scenario;
        assert_eq!(shown(SAMPLE, with).other_device, None, "{}", other.query);
    }

    #[test]
    fn what_the_count_says_of_the_micro_batch_follows_from_the_cause() {
        // LoRA on a 4-bit base in 24 GB has room for one sequence of 1,024 tokens many times over.
        let card = link::decode("v=4&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&adapter=qlora&s=1024&b=1").scenario;
        let said = |asked: &str, free: &str, gaps: &str| {
            let text = format!(
                "CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 23.64 GiB of which {free} GiB is \
                 free. Of the allocated memory 15.00 GiB is allocated by PyTorch, and {gaps} GiB is reserved by PyTorch but unallocated."
            );
            shown(&text, card).said.pop().expect("it says something")
        };
        let in_gaps = said("1.11", "0.50", "4.75");
        assert!(in_gaps.starts_with("Without that a micro-batch of 1 sequence fits by the count"), "{in_gaps}");
        let short = said("1.11", "0.50", "0.10");
        assert!(short.ends_with("something of the run is set otherwise than in the bar."), "{short}");
    }

    #[test]
    fn tables_without_a_request_say_what_is_missing() {
        let table = "| N/A  35C  P0  60W / 400W |  78123MiB / 81920MiB |  0%  Default |";
        let shown = shown(table, Scenario::default());
        assert!(shown.said[0].starts_with("This says who holds the memory"), "{shown:?}");
        assert_eq!(shown.batch, None);
    }

    #[test]
    fn a_text_without_an_error_is_answered_in_words() {
        assert!(shown("Dear all", Scenario::default()).said[0].starts_with("No error of PyTorch"));
        let driver = shown("RuntimeError: CUDA error: out of memory", Scenario::default());
        assert!(driver.said[0].starts_with("The message has no sizes"), "{driver:?}");
        assert_eq!(driver.parts, []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_scenario_and_every_size_have_sound_words(scenario in any_scenario(), size in 0.0..4_096.0_f64) {
            let text = SAMPLE.replace("16.63", &format!("{size:.2}"));
            let shown = shown(&text, scenario);
            texts_are_sound(&shown);
            prop_assert!(!shown.said.is_empty());
        }
    }
}
