//! Names of models on a hub, and addresses of their pages, as rows of the catalogue.
//!
//! A row is taken only where the name is its own: without the owner, and without what fine-tuning and quantizing leave
//! as it is of a network. What a name is only like is offered, and no other model answers for it.

use std::fmt;

use crate::catalogue::{MODELS, ModelRow};
use crate::nearest::squeezed;

/// The name of a model in full, as the program that loads it is given it. It may be a path, and so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct FullName(String);

/// The longest part of a name on the hub, in bytes: `REPO_ID_REGEX` in `utils/_validators.py` of huggingface_hub 2.4.0.
const MAX_PART_BYTES: usize = 96;

impl FullName {
    pub(super) fn new(name: &str) -> Self {
        Self(name.trim().trim_matches(['"', '\'']).to_owned())
    }

    /// The owner and the name on the hub, or the name alone of an old model; `None` for what no model there may be called,
    /// by `validate_repo_id` in `utils/_validators.py` of huggingface_hub 2.4.0. No part leads out of a folder.
    pub fn on_hub(&self) -> Option<Vec<&str>> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_part = |part: &&str| {
            part.len() <= MAX_PART_BYTES
                && part.bytes().all(|byte| is_word(byte) || b"-.".contains(&byte))
                && [part.bytes().next(), part.bytes().last()].into_iter().all(|end| end.is_some_and(is_word))
        };
        let id = id(&self.0);
        let parts: Vec<&str> = id.split('/').collect();
        let is_id = parts.len() <= 2 && parts.iter().all(is_part);
        (is_id && !id.contains("--") && !id.contains("..") && !id.ends_with(".git")).then_some(parts)
    }

    /// The folder that the name is the path of, if it is one; `None` for an address and for what may be on another
    /// machine.
    pub fn as_folder(&self) -> Option<&str> {
        let is_elsewhere = self.0.contains("://") || self.0.starts_with("//") || self.0.starts_with("\\\\");
        (!self.0.is_empty() && !is_elsewhere).then_some(&self.0)
    }
}

impl fmt::Debug for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FullName").field(&super::secrets::HIDDEN).finish()
    }
}

/// What is behind a name where the network is that of the name before it.
const ENDINGS: [&str; 29] = [
    "instruct",
    "sft",
    "dpo",
    "deduped",
    "chat",
    "it",
    "base",
    "hf",
    "pt",
    "bnb4bit",
    "unsloth",
    "unslothbnb4bit",
    "bf16",
    "fp16",
    "thinking",
    "2507",
    "2501",
    "v01",
    "v02",
    "v03",
    "preview",
    "gptq",
    "awq",
    "gptqint4",
    "gptqint8",
    "fp8",
    "qat",
    "4bit",
    "8bit",
];

/// What other owners put before a name that means the same network.
const BEGINNINGS: [&str; 2] = ["meta", "mistralai"];

/// Sizes of a model that differ from those of its row, as parameters of a link.
pub(super) type OwnSizes = &'static [(&'static str, &'static str)];

/// A network that a name on a hub stands for.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The row that has its sizes.
    pub(super) row: &'static ModelRow,
    /// The sizes that are its own.
    pub(super) own: OwnSizes,
}

/// The network of a model by its name on a hub.
pub(super) fn known(name: &str) -> Option<Known> {
    let name = id(name);
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    shortened(&squeezed(last), ENDINGS_OF_A_NAME)
}

/// No name has more endings than these: each is tried without each of those that fit.
const ENDINGS_OF_A_NAME: u32 = 4;

/// The network of a name, or of what is left of it without one of the endings, whichever has one: that of `gemma34bit` is
/// “it”, and not “4bit”.
fn shortened(word: &str, endings: u32) -> Option<Known> {
    of(word).or_else(|| {
        let endings = endings.checked_sub(1)?;
        // An ending of a name that has nothing else in it names no model.
        let mut shorter = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 4));
        shorter.find_map(|rest| shortened(rest, endings))
    })
}

fn of(word: &str) -> Option<Known> {
    let is = |row: &&ModelRow, word: &str| squeezed(row.slug) == word || squeezed(row.name) == word;
    let with = |word: &str| {
        let row = MODELS.iter().find(|row| is(row, word)).map(|row| Known { row, own: &[] });
        row.or_else(|| published(word))
    };
    with(word).or_else(|| BEGINNINGS.iter().find_map(|beginning| with(word.strip_prefix(beginning)?)))
}

/// The network of a name that no row has as its own.
fn published(word: &str) -> Option<Known> {
    let (_, slug, own) = PUBLISHED.iter().find(|(name, ..)| *name == word)?;
    MODELS.iter().find(|row| row.slug == *slug).map(|row| Known { row, own })
}

/// The vocabulary of Mistral 7B before version 0.3.
const OLD_MISTRAL: OwnSizes = &[("vocab", "32000")];
/// The vocabulary of Code Llama with what fills in the middle.
const INFILLING: OwnSizes = &[("vocab", "32016")];
/// The head is a matrix of its own.
const OWN_HEAD: OwnSizes = &[("tied", "off")];
/// All sizes are those of the row.
const SAME: OwnSizes = &[];

/// Published names in small letters without anything between them, with the row that has their network and the sizes that
/// are their own. All widths, heads, layers and vocabularies were compared with the configurations of litgpt 26857050fe3f
/// (2026-06-29), litgpt/config.py, but for these: Qwen2 (arXiv 2407.10671, table 1), what was distilled into Qwen
/// (deepseek-ai/DeepSeek-R1, README.md, and the 1.78 billion parameters of the smallest, which is its head more than
/// Qwen2.5’s), Vicuna (lm-sys/FastChat, README.md), Zephyr (huggingface/alignment-handbook, README.md) and Gemma 1.1, whose model
/// cards name what they were trained of.
const PUBLISHED: &[(&str, &str, OwnSizes)] = &[
    ("llama38b", "llama-3.1-8b", SAME),
    ("llama370b", "llama-3.1-70b", SAME),
    ("llama31nemotron70b", "llama-3.1-70b", SAME),
    ("codellama7b", "llama-2-7b", INFILLING),
    ("codellama7bpython", "llama-2-7b", SAME),
    ("codellama13b", "llama-2-13b", INFILLING),
    ("codellama13bpython", "llama-2-13b", SAME),
    ("codellama70b", "llama-2-70b", INFILLING),
    ("codellama70bpython", "llama-2-70b", INFILLING),
    ("openllama7b", "llama-7b", SAME),
    ("openllama7bv2", "llama-7b", SAME),
    ("openllama13b", "llama-13b", SAME),
    ("vicuna7bv13", "llama-7b", SAME),
    ("vicuna13bv13", "llama-13b", SAME),
    ("vicuna7bv15", "llama-2-7b", SAME),
    ("vicuna13bv15", "llama-2-13b", SAME),
    ("tinyllama11bchatv10", "tinyllama-1.1b", SAME),
    ("tinyllama11bintermediatestep1431k3t", "tinyllama-1.1b", SAME),
    ("mistral7bv01", "mistral-7b", OLD_MISTRAL),
    ("mistral7bv02", "mistral-7b", OLD_MISTRAL),
    ("mistral7binstructv01", "mistral-7b", OLD_MISTRAL),
    ("mistral7binstructv02", "mistral-7b", OLD_MISTRAL),
    ("zephyr7balpha", "mistral-7b", OLD_MISTRAL),
    ("zephyr7bbeta", "mistral-7b", OLD_MISTRAL),
    ("mathstral7b", "mistral-7b", SAME),
    ("qwen205b", "qwen2.5-0.5b", SAME),
    ("qwen215b", "qwen2.5-1.5b", SAME),
    ("qwen27b", "qwen2.5-7b", SAME),
    ("qwen272b", "qwen2.5-72b", SAME),
    ("qwen25coder05b", "qwen2.5-0.5b", SAME),
    ("qwen25coder15b", "qwen2.5-1.5b", SAME),
    ("qwen25coder3b", "qwen2.5-3b", SAME),
    ("qwen25coder7b", "qwen2.5-7b", SAME),
    ("qwen25coder14b", "qwen2.5-14b", SAME),
    ("qwen25coder32b", "qwen2.5-32b", SAME),
    ("qwen25math15b", "qwen2.5-1.5b", SAME),
    ("qwen25math7b", "qwen2.5-7b", SAME),
    ("qwen25math72b", "qwen2.5-72b", SAME),
    ("qwen257binstruct1m", "qwen2.5-7b", SAME),
    ("qwen2514binstruct1m", "qwen2.5-14b", SAME),
    ("qwq32b", "qwen2.5-32b", SAME),
    ("deepseekr1distillqwen15b", "qwen2.5-1.5b", OWN_HEAD),
    ("deepseekr1distillqwen7b", "qwen2.5-7b", SAME),
    ("deepseekr1distillqwen14b", "qwen2.5-14b", SAME),
    ("deepseekr1distillqwen32b", "qwen2.5-32b", SAME),
    ("deepseekr10528qwen38b", "qwen3-8b", SAME),
    ("deepseekr1distillllama8b", "llama-3.1-8b", SAME),
    ("deepseekr1distillllama70b", "llama-3.3-70b", SAME),
    ("phi3mini4k", "phi-3-mini", SAME),
    ("phi3mini128k", "phi-3-mini", SAME),
    ("phi35mini", "phi-3-mini", SAME),
    ("phi4reasoning", "phi-4", SAME),
    ("phi4reasoningplus", "phi-4", SAME),
    ("gemma112b", "gemma-2b", SAME),
    ("gemma117b", "gemma-7b", SAME),
    ("codegemma7b", "gemma-7b", SAME),
    ("olmo211247b", "olmo-2-7b", SAME),
    ("olmo2112413b", "olmo-2-13b", SAME),
];

/// The id in the address of a page of a hub; any other name as it is.
pub(super) fn id(name: &str) -> &str {
    let name = name.trim().trim_matches(['"', '\'']);
    let rest = ["https://", "http://"].iter().find_map(|scheme| name.strip_prefix(scheme));
    let Some(path) = rest.and_then(|rest| rest.split_once('/')).map(|(_, path)| path) else {
        return name.trim_end_matches('/');
    };
    let path = path.strip_prefix("models/").unwrap_or(path);
    // The owner, a stroke and the name; what follows are pages of the model.
    let owner = path.find('/').map_or(path.len(), |at| at + 1);
    let name = path[owner..].find(['/', '?', '#']).unwrap_or(path.len() - owner);
    &path[..owner + name]
}

/// Whether a text is the id of a model on a hub, or the address of its page, and nothing else.
pub fn is_id(text: &str) -> bool {
    let text = text.trim();
    if text.contains(char::is_whitespace) || text.len() > 200 {
        return false;
    }
    if let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        let hosts = [
            "huggingface.co/",
            "hf.co/",
            "www.huggingface.co/",
            "modelscope.cn/",
            "www.modelscope.cn/",
            "hf-mirror.com/",
        ];
        return hosts.iter().any(|host| rest.starts_with(host)) && id(text).contains('/');
    }
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    text.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_the_hub_has_one_or_two_parts_that_lead_out_of_no_folder() {
        let parts = |name: &str| FullName::new(name).on_hub().map(|parts| parts.join("+"));
        assert_eq!(parts("acme/odd-7b").as_deref(), Some("acme+odd-7b"));
        assert_eq!(parts("\"acme/odd-7b\"").as_deref(), Some("acme+odd-7b"));
        assert_eq!(parts("odd_7.1b").as_deref(), Some("odd_7.1b"));
        assert_eq!(parts("https://huggingface.co/acme/odd-7b/tree/main").as_deref(), Some("acme+odd-7b"));
        // Of the docstring of `validate_repo_id`, and what would leave the folder.
        for name in [
            "datasets/foo/bar",
            ".repo_id",
            "foo--bar",
            "foo.git",
            "foo-",
            "-foo",
            "foo.",
            "..",
            "../x",
            "x/..",
            "a/../b",
            "a..b/c",
            "/etc",
            "acme//odd",
            "./odd",
            "acme\\odd",
            "C:\\odd",
            "",
            "a b/c",
            "é/c",
            "https://huggingface.co/../../x",
        ] {
            assert_eq!(parts(name), None, "{name}");
        }
        assert_eq!(parts(&"a".repeat(96)), Some("a".repeat(96)));
        assert_eq!(parts(&"a".repeat(97)), None);
    }

    #[test]
    fn every_published_name_has_a_row_and_sizes_that_their_inputs_take_and_differ_from_it() {
        for (at, (name, slug, own)) in PUBLISHED.iter().enumerate() {
            let known = known(name).unwrap_or_else(|| panic!("{name} has no row"));
            assert_eq!(known.row.slug, *slug, "{name}: a row’s own name");
            assert!(!PUBLISHED[..at].iter().any(|(other, ..)| other == name), "{name} twice");
            assert_eq!(squeezed(name), *name);
            let link = |words: &str| crate::link::decode(&format!("v=4&model={slug}{words}"));
            for (key, value) in *own {
                let changed = link(&format!("&{key}={value}"));
                assert!(changed.notices.is_empty(), "{name}: {:?}", changed.notices);
                assert_ne!(changed.scenario.model, link("").scenario.model, "{name}: {key}={value} says nothing");
            }
        }
    }

    #[test]
    fn names_as_hubs_have_them_are_the_networks_that_they_were_made_of() {
        // The sizes of each by its own config.json.
        for (name, slug, own) in [
            ("google/gemma-3-4b-it", "gemma-3-4b", SAME),
            ("unsloth/gemma-3-4b-it-unsloth-bnb-4bit", "gemma-3-4b", SAME),
            ("unsloth/llama-3-8b-bnb-4bit", "llama-3.1-8b", SAME),
            ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3.1-8b", SAME),
            ("Qwen/Qwen2-7B-Instruct", "qwen2.5-7b", SAME),
            ("unsloth/Qwen2.5-Coder-7B-Instruct-bnb-4bit", "qwen2.5-7b", SAME),
            ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "qwen2.5-1.5b", OWN_HEAD),
            ("unsloth/DeepSeek-R1-Distill-Llama-8B-unsloth-bnb-4bit", "llama-3.1-8b", SAME),
            ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b", OLD_MISTRAL),
            ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b", SAME),
            ("codellama/CodeLlama-13b-Instruct-hf", "llama-2-13b", INFILLING),
            ("EleutherAI/pythia-410m-deduped", "pythia-410m", SAME),
            ("allenai/OLMo-2-1124-7B-DPO", "olmo-2-7b", SAME),
        ] {
            let known = known(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((known.row.slug, known.own), (slug, own), "{name}");
        }
        for name in
            ["Qwen/Qwen1.5-7B", "01-ai/Yi-6B", "acme/it", "acme/bnb-4bit", "mistralai/Mistral-Nemo-Instruct-2407"]
        {
            assert!(known(name).is_none(), "{name}");
        }
    }

    #[test]
    fn no_folder_is_on_another_machine_and_no_full_name_is_shown() {
        for name in ["//host/share", "\\\\host\\share", "https://host/x", "s3://bucket/x", ""] {
            assert_eq!(FullName::new(name).as_folder(), None, "{name}");
        }
        let name = FullName::new("/home/rosalind/odd-7b");
        assert_eq!(name.as_folder(), Some("/home/rosalind/odd-7b"));
        assert!(!format!("{name:?}").contains("rosalind"));
    }
}
