//! Addresses that show a preview where somebody pastes them: the site has a folder for each figure, for each model of the
//! catalogue and for each [starting point](crate::starts) with a title, the answer in words and a picture of it. Whoever
//! opens one is led to the page with that configuration. The folders are written while the site is built.
//!
//! ```
//! use bmax::{catalogue, link, preview};
//!
//! let qwen = catalogue::model("qwen2.5-7b").expect("listed");
//! let scenario = preview::of_model(qwen);
//! assert_eq!(link::encode(&scenario), "v=4&model=qwen2.5-7b");
//! assert_eq!(preview::folder(&scenario, None), Some("model/qwen2.5-7b/".to_owned()));
//! ```

use crate::catalogue::{self, ModelRow};
use crate::link::Pinned;
use crate::starts::STARTS;
use crate::{Answer, Scenario, b_max, format, link};

/// The GPU of the previews of models. There are eight of them, as in the default configuration: what one node of a cloud
/// has, whichever cloud it is.
pub const DEVICE: &str = "h100-80";

/// The models whose sequences are shorter than those of the default configuration, by the beginning of their slugs, with
/// the positions that their `config.json` on huggingface.co has: `n_positions` of GPT-2 and T5,
/// `max_position_embeddings` of BERT and BART, `max_target_positions` of Whisper.
const SHORT: [(&str, u32); 6] =
    [("gpt2", 1_024), ("bert", 512), ("t5", 512), ("flan-t5", 512), ("bart", 1_024), ("whisper", 448)];

/// Name and link of each starting point. That of a list of layers has none here, because no configuration says the list.
/// The desk carries these and nothing else of the starting points.
const QUERIES: [(&str, &str); STARTS.len()] = {
    let mut queries = [("", ""); STARTS.len()];
    let mut at = 0;
    while at < queries.len() {
        if STARTS[at].network.is_none() {
            queries[at] = (STARTS[at].id, STARTS[at].query);
        }
        at += 1;
    }
    queries
};

/// What the preview of a model shows: its weights trained on eight GPUs, with the defaults for the rest.
#[must_use]
pub fn of_model(row: &ModelRow) -> Scenario {
    let scenario = Scenario::default();
    let mut scenario = row.apply(catalogue::device(DEVICE).map_or(scenario, |device| device.apply(scenario)));
    if let Some((_, positions)) = SHORT.iter().find(|(name, _)| row.slug.starts_with(name)) {
        scenario.recipe.sequence = *positions;
    }
    // Where what the model sees does not go into the sequence, one that holds it.
    scenario.conflicts().first().map_or(scenario, |conflict| conflict.mend.apply(scenario)).as_unsaid()
}

/// The folder of a model, seen from the first page.
#[must_use]
pub fn of_slug(slug: &str) -> String {
    format!("model/{slug}/")
}

/// The folder that shows this configuration, seen from the first page: that of a figure with the default configuration, or
/// without a figure that of a starting point or a model. There is none for most.
#[must_use]
pub fn folder(scenario: &Scenario, figure: Option<&str>) -> Option<String> {
    if let Some(name) = figure {
        return (*scenario == Scenario::default()).then(|| format!("figure/{name}/"));
    }
    let query = link::encode(scenario);
    let start = QUERIES.iter().find(|(_, start)| *start == query);
    let model = || catalogue::model_of(scenario.model.origin).filter(|row| of_model(row) == *scenario);
    start.map(|(id, _)| format!("start/{id}/")).or_else(|| Some(of_slug(model()?.slug)))
}

/// The address of that folder, for what is shared from `page`, a page of the site whose first page is at `site`. What is
/// not about a figure is about the first page, and what is compared has no folder.
///
/// ```
/// use bmax::{Scenario, link::Pinned, preview};
/// let (site, page) = ("https://example.org/bmax/", "https://example.org/bmax/gpus/");
/// let address = preview::address(site, page, &Scenario::default(), &Pinned::NONE, Some("sharding"));
/// assert_eq!(address.as_deref(), Some("https://example.org/bmax/figure/sharding/"));
/// assert_eq!(preview::address(site, page, &Scenario::default(), &Pinned::NONE, None), None);
/// ```
#[must_use]
pub fn address(site: &str, page: &str, scenario: &Scenario, vs: &Pinned, figure: Option<&str>) -> Option<String> {
    let is_first = page == site || page.strip_prefix(site) == Some("index.html");
    if !vs.is_empty() || (figure.is_none() && !is_first) {
        return None;
    }
    Some(site.to_owned() + &folder(scenario, figure)?)
}

/// The answer as a sentence: “12 sequences of 2,048 tokens fit on each GPU.”
#[must_use]
pub fn sentence(scenario: &Scenario, answer: &Answer) -> String {
    let (unit, length) = (scenario.unit(), format::length(scenario));
    let one = scenario.cluster.gpus == 1;
    let place = if one { "on the GPU" } else { "on each GPU" };
    match answer {
        Answer::Fits(room) => {
            let verb = if room.batch == 1 { "fits" } else { "fit" };
            let least = if room.capped { "At least " } else { "" };
            format!("{least}{} of {length} {verb} {place}.", format::batch(room.batch, unit))
        }
        Answer::Infeasible(_) if answer.by_host() => {
            format!("Not even one {} of {length} fits into the CPU memory of a machine.", unit.one())
        }
        Answer::Infeasible(_) => {
            format!("Not even one {} of {length} fits {place}.", unit.one())
        }
        Answer::Refused(refusal) => format::refusal(refusal, unit),
    }
}

/// The scenario with as many sequences as fit, or with one where none does: what a picture of the answer shows.
#[must_use]
pub fn filled(scenario: &Scenario) -> Scenario {
    let mut filled = *scenario;
    filled.recipe.batch = b_max(scenario).batch().unwrap_or(1).max(1);
    filled
}
