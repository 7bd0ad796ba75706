//! Where a run was published, as an address.

/// The address of a source, as the rows write it: an address as it is, or a repository of GitHub with a file, a commit or
/// a thread of it. A file at no commit is taken from the newest one.
pub fn address(source: &str) -> String {
    let mut words = source.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first.starts_with("https://") {
        return first.to_owned();
    }
    let repository = format!("https://github.com/{first}");
    match words.next() {
        Some("commit") => format!("{repository}/commit/{}", words.next().unwrap_or_default()),
        Some("pull") => match source.split_once('#').map(|(_, rest)| digits(rest)) {
            Some(number) if !number.is_empty() => format!("{repository}/pull/{number}"),
            _ => repository,
        },
        Some(file) => {
            let (file, commit) = match file.split_once('@') {
                Some((file, commit)) => (file, Some(commit)),
                None => (file, commit_in(words)),
            };
            format!("{repository}/blob/{}/{file}", commit.unwrap_or("HEAD"))
        }
        None => repository,
    }
}

/// The commit behind a file: “@0217d44c2”, or “(HEAD 36027d82)”.
fn commit_in<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = words.next()?;
    match word.strip_prefix('@') {
        None if word == "(HEAD" => words.next().map(|commit| commit.trim_end_matches(')')),
        commit => commit,
    }
}

fn digits(text: &str) -> &str {
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_of_its_file_at_its_commit_of_the_commit_or_of_the_thread() {
        for (source, wanted) in [
            ("https://github.com/mlc-ai/pith-train/issues/79 (2026-07-22)", "mlc-ai/pith-train/issues/79"),
            ("pytorch/torchtitan commit 83c879f18 (#165, 2024-03-28)", "pytorch/torchtitan/commit/83c879f18"),
            ("meta-llama/llama-cookbook pull request #41 (2023-07-25)", "meta-llama/llama-cookbook/pull/41"),
            (
                "huggingface/peft docs/source/deepspeed.md@5d602fd + examples/sft",
                "huggingface/peft/blob/5d602fd/docs/source/deepspeed.md",
            ),
            ("pytorch/torchtune README.md @0217d44c2", "pytorch/torchtune/blob/0217d44c2/README.md"),
            ("pytorch/ao docs/training.md (HEAD 36027d82)", "pytorch/ao/blob/36027d82/docs/training.md"),
            ("pytorch/torchtune README.md (Optimization flags table)", "pytorch/torchtune/blob/HEAD/README.md"),
            ("pytorch/torchtune", "pytorch/torchtune"),
        ] {
            assert_eq!(address(source), format!("https://github.com/{wanted}"), "{source}");
        }
    }
}
