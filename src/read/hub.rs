//! Names of models on a hub, and addresses of their pages, as rows of the catalogue.
//!
//! A row is taken only where the name is its own: without the owner, and without what fine-tuning and quantizing leave
//! as it is of a network. What a name is only like is offered, and no other model answers for it.

use crate::catalogue::{MODELS, ModelRow};
use crate::nearest::squeezed;

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
pub(super) fn is_id(text: &str) -> bool {
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
