//! The names that a word which names nothing may have been meant for.
//!
//! A word is looked up in a list by its spelling, and before that in a short table of what other programs
//! call the same. What is found is only ever offered: nothing is replaced by it.

/// No more names than these are offered.
const OFFERED: usize = 3;

/// A longer word is not looked up: it is the name of nothing here, and its distance to everything would
/// have to be worked out. The names of models on Hugging Face are shorter.
const MAX_WORD_BYTES: usize = 96;

/// What other programs call something that has another name here, and that does not look like it: the
/// parameter for which it is given (none where it is given as a parameter), the word in small letters without
/// anything between them, and what to offer.
const SYNONYMS: &[(&str, &str, &str)] = &[
    // AdamW keeps the same two moments; by spelling alone, 8-bit Adam would be as near.
    ("optimizer", "adam", "adamw"),
    // Data-parallel copies that share nothing are stage 0.
    ("zero", "ddp", "0"),
    ("zero", "off", "0"),
    // Products in fp8 have a parameter of their own. Such recipes keep what they store in bf16.
    ("precision", "fp8", "bf16"),
    ("precision", "float8", "bf16"),
    ("precision", "bfloat16", "bf16"),
    ("precision", "float16", "fp16"),
    ("precision", "half", "fp16"),
    ("precision", "float32", "fp32"),
    ("precision", "amp", "autocast"),
    // Frameworks have a switch, which recomputes whole layers.
    ("recompute", "on", "full"),
    ("recompute", "off", "none"),
    ("", "checkpointing", "recompute=full"),
    ("", "gradientcheckpointing", "recompute=full"),
    ("", "activationcheckpointing", "recompute=full"),
    // transformers, Megatron-LM and DeepSpeed.
    ("", "batch", "b"),
    ("", "batchsize", "b"),
    ("", "mbs", "b"),
    ("", "perdevicetrainbatchsize", "b"),
    ("", "trainmicrobatchsizepergpu", "b"),
    ("", "globalbatchsize", "target"),
    ("", "gbs", "target"),
    ("", "trainbatchsize", "target"),
    ("", "seqlen", "s"),
    ("", "contextlength", "s"),
    ("", "intermediatesize", "ffn"),
    ("", "worldsize", "gpus"),
    ("", "vram", "mem"),
    ("", "dtype", "precision"),
    ("", "lora", "adapter=lora"),
    ("", "qlora", "adapter=qlora"),
    ("", "ddp", "zero=0"),
    ("", "fsdp", "zero=3"),
];

/// What other programs call the parameter `key` or one of its words, in small letters without anything between them.
///
/// ```
/// use bmax::nearest::called;
///
/// assert!(called("recompute").any(|word| word == "checkpointing"));
/// assert!(called("zero").any(|word| word == "fsdp"));
/// ```
pub fn called(key: &str) -> impl Iterator<Item = &'static str> {
    let is_of =
        move |of: &str, offer: &str| if of.is_empty() { offer.split('=').next() == Some(key) } else { of == key };
    SYNONYMS.iter().filter(move |(of, _, offer)| is_of(of, offer)).map(|(_, word, _)| *word)
}

/// What somebody who gave `given` for the parameter `parameter` may have meant: the word of the table of
/// synonyms, or else what is [`nearest`]. With no parameter, `given` is itself one.
///
/// ```
/// use bmax::nearest::offers;
///
/// let words = [("adamw", "Adam, AdamW"), ("adam8bit", "8-bit Adam")];
/// assert_eq!(offers("optimizer", "Adam", &mut words.into_iter()), ["adamw"]);
/// assert_eq!(offers("", "seq_len", &mut [("s", "Sequence length"), ("b", "Micro-batch")].into_iter()), ["s"]);
/// ```
pub fn offers(
    parameter: &str,
    given: &str,
    known: &mut dyn Iterator<Item = (&'static str, &'static str)>,
) -> Vec<&'static str> {
    if given.len() > MAX_WORD_BYTES {
        return Vec::new();
    }
    let bare = squeezed(given);
    match SYNONYMS.iter().find(|(of, word, _)| *of == parameter && *word == bare) {
        Some((_, _, offer)) => vec![*offer],
        // Another memory is another GPU, however alike their names are, and one in a laptop has less.
        None if parameter == "gpu" && bare.contains("laptop") => Vec::new(),
        None => match gigabytes(given).filter(|_| parameter == "gpu") {
            Some(size) => nearest(given, &mut known.filter(|(_, name)| name.contains(&format!(" {size} GB")))),
            None => nearest(given, known),
        },
    }
}

/// The gigabytes in the name of a GPU: 80 in “A100-SXM4-80GB”.
fn gigabytes(given: &str) -> Option<u32> {
    let given = given.to_ascii_lowercase();
    given.match_indices('g').find_map(|(end, _)| {
        let rest = given[end + 1..].trim_start_matches(['i', 'b']);
        let before = given[..end].trim_end();
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let alone = before[..before.len() - digits].ends_with(|c: char| !c.is_ascii_alphanumeric());
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        if digits > 0 && alone && ends { before[before.len() - digits..].parse().ok() } else { None }
    })
}

/// The words of a list that are most like `given`, three at most and in the order of the list; none where
/// none is like it. Each comes with what it is called in full, which `given` may be like as well.
///
/// ```
/// use bmax::nearest::nearest;
///
/// let models = [("llama-3.1-8b", "Llama 3.1 8B"), ("llama-3.1-70b", "Llama 3.1 70B"), ("llama-13b", "Llama 13B")];
/// assert_eq!(nearest("llama3-8b", &mut models.into_iter()), ["llama-3.1-8b"]);
/// assert_eq!(nearest("meta-llama/Llama-3.1-8B-Instruct", &mut models.into_iter()), ["llama-3.1-8b"]);
/// assert_eq!(nearest("abacus", &mut models.into_iter()), [""; 0]);
/// ```
pub fn nearest(given: &str, known: &mut dyn Iterator<Item = (&'static str, &'static str)>) -> Vec<&'static str> {
    let (mut found, mut least) = (Vec::new(), usize::MAX);
    if given.len() > MAX_WORD_BYTES {
        return found;
    }
    let given = Spelling::of(given);
    for (word, name) in known {
        // A word that is like it counts for more than a name that is.
        let far = (2 * given.distance(&Spelling::of(word))).min(2 * given.distance(&Spelling::of(name)) + 1);
        if far < least {
            (found, least) = (Vec::new(), far);
        }
        if far == least && far < 2 * UNLIKE && found.len() < OFFERED {
            found.push(word);
        }
    }
    found
}

/// How far apart two spellings are, by the first of these that holds. Numbers between them leave room for
/// how well it holds.
mod far {
    /// Letters and digits are the same.
    pub(super) const SAME: usize = 0;
    /// Every part of the given word is in the known one: “h100” and “h100-nvl”.
    pub(super) const PART: usize = 1;
    /// Few letters differ; as many as are added to this.
    pub(super) const LETTERS: usize = 2;
    /// Every part of the known word is in the given one, and this less its length: “falcon-7b-instruct”.
    pub(super) const WHOLE: usize = 300;
    /// The first two parts are the same: “h100-pcie”.
    pub(super) const HEAD: usize = 301;
}

/// What is as far as this is not alike.
const UNLIKE: usize = 1_000;

/// A word as it is compared: in small letters and digits.
struct Spelling {
    /// All of them, one after the other.
    bare: String,
    /// The same in parts: “llama3-8b” has “llama”, “3” and “8b”.
    parts: Vec<String>,
}

impl Spelling {
    fn of(word: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        let mut last = b' ';
        for &byte in word.as_bytes() {
            let byte = byte.to_ascii_lowercase();
            let begins =
                !last.is_ascii_alphanumeric() && last != b'.' || last.is_ascii_alphabetic() && byte.is_ascii_digit();
            // A point is part of a number, as in 3.1, and is taken off again where nothing follows.
            if byte.is_ascii_alphanumeric() || byte == b'.' && last.is_ascii_digit() {
                match parts.last_mut() {
                    Some(part) if !begins => part.push(char::from(byte)),
                    _ => parts.push(char::from(byte).to_string()),
                }
                last = byte;
            } else {
                last = b' ';
            }
        }
        for part in &mut parts {
            part.truncate(part.trim_end_matches('.').len());
        }
        Self { bare: squeezed(word), parts }
    }

    fn distance(&self, known: &Self) -> usize {
        if self.bare.is_empty() || known.bare.is_empty() {
            return UNLIKE;
        }
        if self.bare == known.bare {
            return far::SAME;
        }
        if is_in(&self.parts, &known.parts) {
            return far::PART;
        }
        // One letter in three may be wrong, but no more than two where a number is.
        let wrong = self.bare.len() / 3;
        // Words that differ in length by more differ in as many letters, which need not be counted.
        if self.bare.len().abs_diff(known.bare.len()) <= wrong {
            let letters = edits(self.bare.as_bytes(), known.bare.as_bytes());
            let numbers = |word: &Self| word.bare.chars().filter(char::is_ascii_digit).collect::<String>();
            if letters <= wrong && (letters <= 2 || numbers(self) == numbers(known)) {
                return far::LETTERS + letters;
            }
        }
        if is_in(&known.parts, &self.parts) {
            return far::WHOLE - known.bare.len().min(100);
        }
        let heads = self.parts.iter().zip(&known.parts).take(2).filter(|(given, known)| given == known).count();
        if heads == 2 { far::HEAD } else { UNLIKE }
    }
}

/// Letters and digits, the letters small.
pub(crate) fn squeezed(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether every one of `few` is like one of `many`, in the same order.
fn is_in(few: &[String], many: &[String]) -> bool {
    let mut many = many.iter();
    few.iter().all(|part| many.any(|other| is_like(part, other)))
}

/// Whether one is the other's beginning: “3” of “3.1” and “80” of “80gb”, but not “10” of “100”; “seq” of
/// “sequence”, but not “s”.
fn is_like(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let Some(rest) = long.strip_prefix(short) else { return false };
    let is_number = short.as_bytes().first().is_some_and(u8::is_ascii_digit);
    rest.is_empty() || if is_number { !rest.as_bytes()[0].is_ascii_digit() } else { short.len() >= 3 }
}

/// How many letters have to be put in, taken out or replaced to make one word of the other (Levenshtein 1966,
/// “Binary codes capable of correcting deletions, insertions and reversals”), by the row-by-row method of
/// Wagner and Fischer 1974, “The string-to-string correction problem”.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue, link,
        setting::{self, Setting},
    };
    use proptest::prelude::*;
    use proptest::sample::select;

    fn model(given: &str) -> Vec<&'static str> {
        offers("model", given, &mut catalogue::MODELS.iter().map(|row| (row.slug, row.name)))
    }

    fn gpu(given: &str) -> Vec<&'static str> {
        offers("gpu", given, &mut catalogue::DEVICES.iter().map(|row| (row.slug, row.name)))
    }

    fn parameter(given: &str) -> Vec<&'static str> {
        offers("", given, &mut link::names())
    }

    fn word(key: &str, given: &str) -> Vec<&'static str> {
        let setting = Setting::from_key(key).expect("a setting");
        offers(key, given, &mut setting.options.iter().map(|option| (option.key, option.label)))
    }

    #[test]
    fn models_and_gpus_are_found_as_people_write_them() {
        for (given, expected) in [
            ("llama3-8b", ["llama-3.1-8b"].as_slice()),
            ("Llama 3.1 8B", &["llama-3.1-8b"]),
            ("lama-3.1-8b", &["llama-3.1-8b"]),
            ("meta-llama/Llama-3.1-8B-Instruct", &["llama-3.1-8b"]),
            ("meta-llama/Llama-2-7b-hf", &["llama-2-7b"]),
            ("mistralai/Mistral-7B-v0.1", &["mistral-7b"]),
            ("llama-70b", &["llama-2-70b", "llama-3.1-70b", "llama-3.3-70b"]),
            ("qwen2.5-1b", &["qwen2.5-1.5b", "qwen2.5-3b", "qwen2.5-7b"]),
            ("phi-3", &["phi-3-mini"]),
            ("gpt-j", &["gpt2"]),
            ("abacus", &[]),
            ("", &[]),
            ("🦙", &[]),
        ] {
            assert_eq!(model(given), expected, "{given}");
        }
        for (given, expected) in [
            ("h100", ["h100-80", "h100-pcie", "h100-nvl"].as_slice()),
            ("H100-80GB", &["h100-80"]),
            ("NVIDIA H100 80GB HBM3", &["h100-80"]),
            ("h100-sxm", &["h100-80"]),
            ("A100-SXM4-40GB", &["a100-40"]),
            ("A100-SXM4-80GB", &["a100-80"]),
            ("RTX 3080 Laptop GPU", &[]),
            ("NVIDIA A100 80GB PCIe", &["a100-pcie"]),
            ("Tesla V100-SXM2-16GB", &["v100-16"]),
            ("4090", &["rtx-4090"]),
            ("RTX 4090", &["rtx-4090"]),
            ("m3-max", &["apple-m3-max-64"]),
            ("b100", &["b200", "b300"]),
            ("tpu-v5e", &[]),
        ] {
            assert_eq!(gpu(given), expected, "{given}");
        }
    }

    #[test]
    fn parameters_are_found_by_their_names_and_by_those_of_other_programs() {
        for (given, expected) in [
            ("sequence", ["s", "sp"].as_slice()),
            ("sequence_length", &["s"]),
            ("seq_len", &["s"]),
            ("max_seq_length", &["s"]),
            ("batch", &["b"]),
            ("micro_batch_size", &["b"]),
            ("per_device_train_batch_size", &["b"]),
            ("gradient_accumulation_steps", &["accum"]),
            ("global_batch_size", &["target"]),
            ("num_gpus", &["gpus"]),
            ("tensor_model_parallel_size", &["tp"]),
            ("pipeline-parallel", &["pp"]),
            ("hidden_size", &["hidden"]),
            ("num_key_value_heads", &["kv"]),
            ("checkpointing", &["recompute=full"]),
            ("optim", &["opt_rank", "optimizer"]),
            ("memory", &["mem"]),
            ("GPUS", &["gpus"]),
            ("colour", &[]),
            ("what is the biggest batch for llama 8b on h100?", &[]),
        ] {
            assert_eq!(parameter(given), expected, "{given}");
        }
    }

    #[test]
    fn words_are_found_by_their_labels_and_by_those_of_other_programs() {
        for (key, given, expected) in [
            ("optimizer", "adam", ["adamw"].as_slice()),
            ("optimizer", "paged_adamw_8bit", &["adam8bit"]),
            ("zero", "fsdp", &["3"]),
            ("zero", "ddp", &["0"]),
            ("zero", "none", &["0"]),
            ("zero", "stage-2", &["2"]),
            ("precision", "fp8", &["bf16"]),
            ("precision", "bfloat16", &["bf16"]),
            ("attn", "sdpa", &["flash"]),
            ("attn", "flash_attention_2", &["flash"]),
            ("recompute", "on", &["full"]),
            ("kernels", "liger", &["fused"]),
            ("optimizer", "zzyzx", &[]),
        ] {
            assert_eq!(word(key, given), expected, "{key}={given}");
        }
    }

    #[test]
    fn a_synonym_names_nothing_and_what_it_offers_does() {
        for (parameter, given, offer) in SYNONYMS {
            assert_eq!(squeezed(given), *given, "it would never be found");
            let (word, pair) = match (*parameter, offer.contains('=')) {
                ("", true) => (format!("{given}=1"), (*offer).to_owned()),
                ("", false) => (format!("{given}=1"), format!("{offer}={}", usual(offer))),
                (parameter, _) => (format!("{parameter}={given}"), format!("{parameter}={offer}")),
            };
            assert!(!link::decode(&word).notices.is_empty(), "{word} is known by now");
            assert_eq!(link::decode(&pair).notices, [], "{pair}");
        }
    }

    /// A value that a parameter takes.
    fn usual(key: &str) -> String {
        if key == "b" {
            return "1".to_owned();
        }
        link::parameters().into_iter().find(|parameter| parameter.key == key).expect("a parameter").default
    }

    #[test]
    fn the_name_of_something_is_nearest_to_itself() {
        for row in catalogue::MODELS {
            assert_eq!(model(row.slug), [row.slug]);
            assert_eq!(model(row.name).first(), Some(&row.slug), "{}", row.name);
        }
        for row in catalogue::DEVICES {
            assert_eq!(gpu(row.slug), [row.slug]);
        }
        for (key, _) in link::names() {
            assert_eq!(parameter(key), [key]);
        }
        for setting in setting::ALL {
            for option in setting.options {
                assert_eq!(word(setting.key, option.key), [option.key], "{}", setting.key);
            }
        }
    }

    #[test]
    fn edits_are_counted_as_levenshtein_counts_them() {
        // The textbook's pairs.
        for (a, b, expected) in [("kitten", "sitting", 3), ("sunday", "saturday", 3), ("", "abc", 3), ("ab", "", 2)] {
            assert_eq!(edits(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn any_word_has_three_offers_at_most_and_each_is_on_the_list(given in "(\\PC|[a-z0-9. -]){0,120}") {
            let found = model(&given);
            prop_assert!(found.len() <= OFFERED);
            prop_assert!(found.iter().all(|slug| catalogue::model(slug).is_some()));
        }

        #[test]
        fn a_name_with_one_letter_too_many_is_still_found(
            slug in select(catalogue::DEVICES.iter().map(|row| row.slug).filter(|slug| slug.len() > 4).collect::<Vec<_>>()),
            at in any::<prop::sample::Index>(),
        ) {
            let mut given = slug.to_owned();
            given.insert(at.index(given.len() + 1), 'z');
            let found = gpu(&given);
            prop_assert!(found.contains(&slug), "{}: {:?}", given, found);
        }

        #[test]
        fn edits_are_the_same_both_ways_and_no_more_than_letters(a in "[a-c]{0,8}", b in "[a-c]{0,8}") {
            let between = edits(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(between, edits(b.as_bytes(), a.as_bytes()));
            prop_assert!(between <= a.len().max(b.len()) && between >= a.len().abs_diff(b.len()));
            prop_assert_eq!(between == 0, a == b);
        }
    }
}
