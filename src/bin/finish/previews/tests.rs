//! What the folders of this site say, and that nothing in them leads astray.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use bmax::catalogue::MODELS;
use bmax::embed::Embed;
use bmax::starts::STARTS;
use bmax::{b_max, link, preview};
use serde_json::Value;

use super::*;
use crate::markup::{Tag, tags, unescaped};

fn site() -> Vec<Page> {
    crate::text::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages")).expect("the text can be read")
}

fn previews() -> Vec<Preview> {
    list::all(&site(), &Figures::default()).expect("every figure has a caption")
}

fn known() -> Address {
    Address::read("https://example.org/bmax/").expect("an address")
}

fn none() -> Address {
    Address::read("").expect("none")
}

/// The content of the tag with this name, without what stands for signs.
fn content(tags: &[Tag], name: &str) -> Option<String> {
    let is_named =
        |tag: &&Tag| ["property", "name"].iter().any(|key| tag.attribute(key).is_some_and(|one| one.value == name));
    let content = tags.iter().find(is_named)?.attribute("content")?.value;
    Some(unescaped(content))
}

fn link_to<'a>(tags: &'a [Tag], rel: &str) -> Option<&'a str> {
    let tag = tags.iter().find(|tag| tag.attribute("rel").is_some_and(|one| one.value == rel))?;
    Some(tag.attribute("href")?.value)
}

/// Where a relative address leads from a place of the site; nothing for one that leaves it.
fn joined(place: &str, way: &str) -> Option<String> {
    let mut folders: Vec<&str> = place.split('/').collect();
    folders.pop();
    let mut rest = way;
    while let Some(after) = rest.strip_prefix("../") {
        folders.pop()?;
        rest = after;
    }
    let folder: String = folders.iter().map(|folder| format!("{folder}/")).collect();
    Some(folder + rest.trim_start_matches("./"))
}

#[test]
fn every_figure_model_and_start_has_a_folder_of_its_own_that_a_browser_can_ask_for() {
    let folders: Vec<String> = previews().into_iter().map(|preview| preview.folder).collect();
    for row in MODELS {
        assert!(folders.contains(&format!("model/{}/", row.slug)), "{}", row.slug);
    }
    for start in &STARTS {
        assert!(folders.contains(&format!("start/{}/", start.id)), "{}", start.id);
    }
    let figures: BTreeSet<String> =
        site().iter().flat_map(|page| &page.sections).flat_map(|section| section.figures.clone()).collect();
    assert!(figures.len() > 25);
    for figure in &figures {
        assert!(folders.contains(&format!("figure/{figure}/")), "{figure}");
    }
    assert_eq!(folders.len(), figures.len() + MODELS.len() + STARTS.len());
    assert_eq!(folders.iter().collect::<BTreeSet<_>>().len(), folders.len());
    for folder in &folders {
        assert!(folder.chars().all(|sign| sign.is_ascii_alphanumeric() || "._/-".contains(sign)), "{folder}");
        assert!(is_for_crawlers(&format!("{folder}index.html")), "{folder}");
    }
}

#[test]
fn each_folder_has_a_title_a_description_and_every_tag_that_crawlers_read() {
    let (mut titles, mut descriptions) = (BTreeSet::new(), BTreeSet::new());
    for preview in previews() {
        let html = page::written(&preview, &known()).expect("it obeys the policy");
        let tags = tags(&html);
        let folder = &preview.folder;
        let title = content(&tags, "og:title").expect("a title");
        let description = content(&tags, "description").expect("a description");
        assert!((8..=140).contains(&title.chars().count()), "{folder}: “{title}”");
        assert!((80..=300).contains(&description.chars().count()), "{folder}: “{description}”");
        assert_eq!(content(&tags, "og:description").as_ref(), Some(&description));
        assert!(titles.insert(title.clone()) && descriptions.insert((title, description)), "{folder}");
        let whole = format!("https://example.org/bmax/{folder}");
        assert_eq!(content(&tags, "og:url").as_ref(), Some(&whole));
        assert_eq!(content(&tags, "og:image"), Some(format!("{whole}picture.png")));
        assert_eq!(content(&tags, "og:image:width").as_deref(), Some("1200"));
        assert_eq!(content(&tags, "og:image:height").as_deref(), Some("630"));
        assert!(content(&tags, "og:image:alt").is_some_and(|words| !words.is_empty()), "{folder}");
        assert_eq!(content(&tags, "twitter:card").as_deref(), Some("summary_large_image"));
        assert_eq!(link_to(&tags, "canonical"), Some(whole.as_str()));
        assert_eq!(link_to(&tags, "alternate"), Some(&*format!("{whole}oembed.json")));
    }
}

#[test]
fn without_the_address_of_the_site_no_address_is_whole_and_nothing_is_offered_that_needs_one() {
    for preview in previews() {
        let html = page::written(&preview, &none()).expect("it obeys the policy");
        assert!(!html.contains("://"), "{}", preview.folder);
        assert_eq!(page::oembed(&preview, &none()), None);
        let tags = tags(&html);
        assert_eq!((link_to(&tags, "canonical"), link_to(&tags, "alternate")), (Some("./"), None));
        assert_eq!(content(&tags, "og:url"), None);
        let picture = content(&tags, "og:image").expect("a picture");
        assert_eq!(joined(&preview.folder, &picture), Some(format!("{}picture.png", preview.folder)));
    }
}

#[test]
fn each_folder_leads_to_its_configuration_with_scripts_and_without() {
    let names: Vec<String> = site().iter().map(crate::pages::address).collect();
    let ids: BTreeSet<String> =
        site().iter().flat_map(|page| &page.sections).flat_map(|section| section.ids.clone()).collect();
    for preview in previews() {
        let html = page::written(&preview, &none()).expect("it obeys the policy");
        let folder = &preview.folder;
        let script =
            html.split_once("location.replace(").and_then(|(_, rest)| rest.split_once(");")).expect("it leads on").0;
        let way: String = serde_json::from_str(script).expect("a string");
        let pressed = format!("<a href=\"{}\">", way.replace('&', "&amp;"));
        assert!(html.contains(&pressed), "{folder} has no {pressed}");
        let there = joined(folder, &way).expect("it stays on the site");
        let place = there.split(['?', '#']).next().unwrap_or_default();
        assert!(names.iter().any(|name| name == place), "{folder} leads to {there}");
        if let Some((_, id)) = there.split_once('#') {
            assert!(ids.contains(id) || id.starts_with("network-"), "{folder} leads to {there}");
        }
        let query = there.split_once('?').map_or("", |(_, rest)| rest.split('#').next().unwrap_or_default());
        let read = link::decode(query);
        assert_eq!((read.scenario, read.notices), (preview.scenario, vec![]), "{folder}");
        // A browser takes a style sheet and scripts that are not in the policy for nobody’s.
        assert!(!html.contains("{{"), "{folder}");
    }
}

#[test]
fn the_words_of_a_model_are_the_answer_of_the_estimator() {
    for (row, preview) in MODELS.iter().zip(previews().into_iter().filter(|one| one.folder.starts_with("model/"))) {
        let scenario = preview::of_model(row);
        assert_eq!(preview.folder, preview::of_slug(row.slug));
        let words = match b_max(&scenario).batch() {
            Some(1) => "1 sequence of ".to_owned(),
            Some(most) => format!("{} sequences of ", bmax::format::count(most)),
            None => "Not even one sequence of ".to_owned(),
        };
        let description = preview.description();
        assert!(description.starts_with(row.name) && description.contains(&words), "{description}");
        // “Full training with AdamW in bf16, sharded over the GPUs.”
        let recipe = ["adapter", "optimizer", "precision", "zero"]
            .map(|key| bmax::setting::Setting::from_key(key).expect("a setting").get(&scenario));
        assert_eq!(recipe, ["none", "adamw", "bf16", "3"], "{}", row.slug);
    }
}

#[test]
fn what_is_offered_to_other_pages_is_a_frame_with_the_configuration() {
    for preview in previews() {
        let answer = page::oembed(&preview, &known()).expect("the address is known");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        // What a “rich” answer has to have, and what comes together or not at all (oEmbed 1.0, 2.3.4 and 2.3.4.4).
        assert_eq!((&answer["version"], &answer["type"]), (&"1.0".into(), &"rich".into()));
        assert!(["width", "height", "thumbnail_width", "thumbnail_height"].iter().all(|key| answer[key].is_u64()));
        assert_eq!(answer["thumbnail_url"], format!("https://example.org/bmax/{}picture.png", preview.folder));
        let html = answer["html"].as_str().expect("markup");
        let source = tags(html)[0].attribute("src").expect("a frame").value.replace("&amp;", "&");
        let query = source.strip_prefix("https://example.org/bmax/?").expect("a frame of the site");
        let query = query.split('#').next().unwrap_or_default();
        assert_eq!(Embed::read(query), (Some(Embed::of(&preview.figure)), vec![]), "{query}");
        assert_eq!(link::decode(query).scenario, preview.scenario, "{query}");
    }
}

fn scratch() -> PathBuf {
    env::temp_dir().join(format!("bmax-previews-{}", process::id()))
}

/// Some pictures show every way to draw one; the build refuses a text that the face has no letters for.
#[test]
fn every_folder_is_written_and_its_picture_is_of_the_size_that_it_names() {
    let folder = scratch();
    let folders = write_all(&folder, &site(), &Figures::default(), &known()).expect("everything can be written");
    let mut bytes = 0;
    for place in folders.iter().map(String::as_str).chain([""]) {
        let png = fs::read(folder.join(place).join(PICTURE)).expect("a picture");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((number(16), number(20)), (1_200, 630), "{place}");
        bytes += png.len();
        let files: &[&str] = if place.is_empty() { &[] } else { &["index.html", page::OEMBED] };
        assert!(files.iter().all(|name| folder.join(place).join(name).is_file()), "{place}");
    }
    println!("{} pictures, {} kB", folders.len() + 1, bytes / 1_000);
    assert!(bytes < PICTURES, "{bytes} of {PICTURES} bytes");
    fs::remove_dir_all(folder).expect("it can go");
}

/// All pictures together, in bytes. No reader loads one; they are what the folder to deploy grows by.
const PICTURES: usize = 4_000_000;
