//! What the footer says of the build: which one it is, and what it is made of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{FOLDER, Page, dist};

const BILL: &str = "bmax.cdx.json";

/// The digest of the digests of the files whose names begin so, in their order, as docs/hosting.md computes it.
fn digest(start: &str) -> String {
    let files = dist().iter().filter(|(name, _)| name.starts_with(start));
    let digests: String = files.map(|(_, bytes)| STANDARD.encode(Sha256::digest(bytes))).collect();
    STANDARD.encode(Sha256::digest(digests))
}

#[tokio::test]
async fn it_has_the_digest_of_the_program_and_a_link_to_their_packages_that_no_page_follows_by_itself() {
    let page = Page::open("memory/").await;
    let said = "const part = document.querySelector('.site-footer details'); \
        return [[...part.querySelectorAll('code')].map((one) => one.textContent), part.querySelector('a').href];";
    let bill = format!("{FOLDER}{BILL}");
    let wanted = json!([[digest("program-")], page.server.origin() + &bill]);
    assert_eq!(page.script(said, vec![]).await, wanted);
    assert!(!page.server.requests().contains(&bill));
    page.close().await;
}

#[test]
fn the_list_of_packages_names_every_file_of_the_programs_with_its_digest() {
    let bill: Value = serde_json::from_slice(&dist()[BILL]).expect("JSON");
    let listed = bill["metadata"]["component"]["components"].as_array().expect("files").iter();
    let listed: Vec<_> = listed.map(|file| (file["name"].clone(), file["hashes"][0]["content"].clone())).collect();
    let is_program =
        |name: &str| name.starts_with("program-") || (name.starts_with("desk-") && !name.ends_with(".css"));
    let built = dist().iter().filter(|(name, _)| is_program(name)).map(|(name, bytes)| {
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        (json!(name), json!(digest))
    });
    let sorted = |mut files: Vec<(Value, Value)>| {
        files.sort_by_key(|(name, _)| name.to_string());
        files
    };
    assert_eq!(sorted(listed), sorted(built.collect()));
}
