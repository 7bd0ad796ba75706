//! Finds the `config.json` of a model that texts name on this machine, and what says how many weights it has beside: in the
//! folder that is named, or in the cache of Hugging Face’s hub. Nothing is fetched, and no path is shown.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::read::FullName;

/// The file that says what a model is: `CONFIG_NAME` in `constants.py` of huggingface_hub 2.4.0.
const CONFIG_NAME: &str = "config.json";

/// The files that say how many weights there are, the index of several files before a single one: `SAFE_WEIGHTS_INDEX_NAME` and
/// `SAFE_WEIGHTS_NAME` in `utils/__init__.py` of transformers 5.24.0.
const WEIGHTS_NAMES: [&str; 2] = ["model.safetensors.index.json", "model.safetensors"];

/// How many letters of a revision are shown: as many as the pages of the hub show.
const REVISION_SHOWN: usize = 7;

/// The longest name of a revision that is read, in bytes: the digits of SHA-1, `REGEX_COMMIT_OID` in `constants.py` of
/// huggingface_hub 2.4.0.
const MAX_REVISION_BYTES: usize = 40;

/// A `config.json` on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// The file.
    pub path: PathBuf,
    /// The index of the model’s weights, or the file of them, beside it.
    pub weights: Option<PathBuf>,
    /// How the file was found.
    pub source: Source,
}

/// The way on which a `config.json` was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The text names the folder.
    Folder,
    /// The cache of the hub has the model.
    Cache {
        /// The name on the hub.
        id: String,
        /// The revision that the cache has of the branch `main`.
        revision: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder => f.write_str("Model: read from the config.json in the folder that the text names."),
            Self::Cache { id, revision } => {
                let shown = &revision[..REVISION_SHOWN.min(revision.len())];
                write!(
                    f,
                    "Model: read from the config.json of {id}, revision {shown}, in the local Hugging Face cache."
                )
            }
        }
    }
}

/// The `config.json` of a model, if this machine has one.
pub(super) fn find(model: &FullName) -> Option<Config> {
    in_folder(model).or_else(|| in_cache(model, &hub_cache(&|name| env::var_os(name), env::home_dir())?))
}

/// The file in the folder that is named, which programs take before the hub: `cached_files` in `utils/hub.py` of
/// transformers 5.24.0 asks for `os.path.isdir` first.
fn in_folder(model: &FullName) -> Option<Config> {
    of_folder(Path::new(model.as_folder()?), Source::Folder)
}

/// The files in a folder, if it has a `config.json`. They are links into `blobs` in the cache, or files where the system has no
/// links.
fn of_folder(folder: &Path, source: Source) -> Option<Config> {
    let path = folder.join(CONFIG_NAME);
    let weights = WEIGHTS_NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    path.is_file().then_some(Config { path, weights, source })
}

/// The file in the cache of the hub, as `try_to_load_from_cache` and `repo_folder_name` in `file_download.py` of
/// huggingface_hub 2.4.0 find it: `models--OWNER--NAME/snapshots/REVISION/config.json`, the revision being what
/// `refs/main` says.
fn in_cache(model: &FullName, cache: &Path) -> Option<Config> {
    let parts = model.on_hub()?;
    let folder = cache.join(format!("models--{}", parts.join("--")));
    let mut revision = String::new();
    let file = File::open(folder.join("refs").join("main")).ok()?;
    file.take(MAX_REVISION_BYTES as u64 + 1).read_to_string(&mut revision).ok()?;
    let revision = revision.trim_end().to_owned();
    // What is no revision might lead out of the cache.
    if revision.is_empty() || revision.len() > MAX_REVISION_BYTES || !revision.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let snapshot = folder.join("snapshots").join(&revision);
    of_folder(&snapshot, Source::Cache { id: parts.join("/"), revision })
}

/// The folder of the cache by these variables: `HF_HOME` and `HF_HUB_CACHE` in `constants.py` of huggingface_hub 2.4.0.
fn hub_cache(variable: &dyn Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let expanded = |path: PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    };
    if let Some(cache) = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE")) {
        return Some(expanded(cache.into()));
    }
    let of_all = || match variable("XDG_CACHE_HOME") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => home.as_ref().map(|home| home.join(".cache")),
    };
    let own = match variable("HF_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => of_all()?.join("huggingface"),
    };
    Some(expanded(own).join("hub"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_huggingface_hub_has_it() {
        let of = |set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
            hub_cache(&variable, Some("/home/ada".into()))
        };
        let all =
            [("HF_HUB_CACHE", "/a"), ("HUGGINGFACE_HUB_CACHE", "/b"), ("HF_HOME", "/c"), ("XDG_CACHE_HOME", "/d")];
        for (set, folder) in [
            (&all[..], "/a"),
            (&all[1..], "/b"),
            (&all[2..], "/c/hub"),
            (&all[3..], "/d/huggingface/hub"),
            (&[], "/home/ada/.cache/huggingface/hub"),
            (&[("HF_HOME", "~/models")], "/home/ada/models/hub"),
            (&[("HF_HUB_CACHE", "~/hub")], "/home/ada/hub"),
            (&[("XDG_CACHE_HOME", "~/x")], "/home/ada/x/huggingface/hub"),
        ] {
            assert_eq!(of(set), Some(PathBuf::from(folder)), "{set:?}");
        }
        assert_eq!(hub_cache(&|_| None, None), None);
    }
}
