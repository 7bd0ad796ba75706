//! What is never shown of a pasted text: tokens, keys, paths and names of users. Neither a link nor a message nor an export
//! has anything of a text but what went through here.

use crate::bounds::excerpt;

/// What stands for what is not shown.
pub(crate) const HIDDEN: &str = "…";

/// How tokens and keys of services begin that people paste with their commands.
const BEGINNINGS: [&str; 20] = [
    "hf_",
    "api_",
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "akia",
    "asia",
    "aiza",
    "ya29.",
    "xoxb-",
    "xoxp-",
    "wandb_",
    "ms-",
    "npm_",
    "pypi-",
    "eyj",
    "nvapi-",
];

/// Words that may be shown of a text: what is no word of a table is shortened, and hidden where it may be a secret.
pub(crate) fn shown(text: &str) -> String {
    let text = excerpt(text);
    if is_secret(&text) { HIDDEN.to_owned() } else { text }
}

/// A key as it is shown: in full where it is no longer than any key of the formats.
pub(crate) fn key(path: &str) -> String {
    const LONGEST: usize = 80;
    // A token has digits or capitals, where words with underscores (`wandb_project`) have none.
    let is_words = path.bytes().all(|byte| byte.is_ascii_lowercase() || b"_.".contains(&byte));
    if !is_words && is_secret(path) {
        return HIDDEN.to_owned();
    }
    if path.len() <= LONGEST && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        path.to_owned()
    } else {
        excerpt(path)
    }
}

/// The name of a model that the catalogue does not have: its last part, which is no path, and no user’s name.
pub(crate) fn model(name: &str) -> String {
    let name = super::hub::id(name);
    let last = name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    shown(last)
}

/// The name of a file without the way to it.
pub(crate) fn file(path: &str) -> String {
    shown(path.trim().rsplit(['/', '\\']).next().unwrap_or_default())
}

/// Whether a word may be a secret: it begins like a token, has the place of a file or of a user in it, an address with
/// a name before its host, or so many letters and digits in a row that nobody thought of them.
pub(crate) fn is_secret(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | ';' | '"' | '\'' | ':' | '“' | '”' | '(' | ')'))
        .any(is_secret_word)
        || text.contains("://") && text.contains('@')
}

fn is_secret_word(word: &str) -> bool {
    let small = word.to_ascii_lowercase();
    let random = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let capitals = part.bytes().filter(u8::is_ascii_uppercase).count();
        part.len() >= 20 && digits > 0 && (digits + capitals >= 6 || part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    word.contains(['/', '\\', '@', '~'])
        || small.len() > 8 && BEGINNINGS.iter().any(|beginning| small.starts_with(beginning))
        || word.split(|c: char| !c.is_ascii_alphanumeric()).any(random)
        || word.len() >= 32
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && !word.contains('.')
            && word.bytes().filter(u8::is_ascii_digit).count() >= 6
}
