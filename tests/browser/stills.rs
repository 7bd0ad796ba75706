//! A picture that stands on paper in the place of a frame, in notes of MkDocs and of MDX.

use crate::support::{COURSE, Visit};
use serde_json::json;

#[tokio::test]
async fn on_paper_a_still_stands_in_the_place_of_its_frame_and_on_screens_it_is_not_seen() {
    let page = Visit::to_notes(".blank").open().await;
    for site in ["mkdocs", "mdx"] {
        page.client.goto(&format!("{COURSE}{site}/")).await.expect("the notes load");
        // The first frame has no still and is printed itself.
        let seen = "const seen = (one) => one.checkVisibility(); \
            return [[...document.querySelectorAll('iframe')].map(seen), \
                [...document.querySelectorAll('p > a > img')].map((one) => [seen(one), one.complete && one.naturalWidth > 0])];";
        let screen = json!([[true, true], [[false, true]]]);
        let paper = json!([[true, false], [[true, true]]]);
        page.until_script(site, seen, screen.clone()).await;
        for (media, wanted) in [("print", paper), ("", screen)] {
            page.devtools("Emulation.setEmulatedMedia", json!({ "media": media })).await;
            page.until_script(&format!("{site} as {media}"), seen, wanted).await;
        }
    }
    page.close().await;
}
