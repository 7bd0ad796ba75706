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
const ENDINGS: [&str; 26] = [
    "instruct",
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

/// The row of a model by its name on a hub.
pub(super) fn row(name: &str) -> Option<&'static ModelRow> {
    let name = id(name);
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut word = squeezed(last);
    loop {
        if let Some(row) = of(&word) {
            return Some(row);
        }
        let shorter = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending)).min_by_key(|rest| rest.len())?;
        // An ending of a name that has nothing else in it names no model.
        if shorter.len() < 4 {
            return None;
        }
        word = shorter.to_owned();
    }
}

fn of(word: &str) -> Option<&'static ModelRow> {
    let is = |row: &&ModelRow, word: &str| squeezed(row.slug) == word || squeezed(row.name) == word;
    let with = |word: &str| MODELS.iter().find(|row| is(row, word));
    with(word).or_else(|| BEGINNINGS.iter().find_map(|beginning| with(word.strip_prefix(beginning)?)))
}

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
    fn no_folder_is_on_another_machine_and_no_full_name_is_shown() {
        for name in ["//host/share", "\\\\host\\share", "https://host/x", "s3://bucket/x", ""] {
            assert_eq!(FullName::new(name).as_folder(), None, "{name}");
        }
        let name = FullName::new("/home/rosalind/odd-7b");
        assert_eq!(name.as_folder(), Some("/home/rosalind/odd-7b"));
        assert!(!format!("{name:?}").contains("rosalind"));
    }
}
