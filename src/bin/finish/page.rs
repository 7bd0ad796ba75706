//! The steps over the text of the page, one function each.

use super::Result;
use super::digest::sha256;
use super::markup::{Tag, tags};

/// Where the digests of the inline scripts and style sheets go, in the content security policy.
const SCRIPTS: &str = "{{inline-script-hashes}}";
const STYLES: &str = "{{inline-style-hashes}}";

/// The page with a value in place of what stands for it, which must be there.
pub fn filled(page: &str, placeholder: &str, value: &str) -> Result<String> {
    if !page.contains(placeholder) {
        return Err(format!("the page has no {placeholder}"));
    }
    Ok(page.replace(placeholder, value))
}

/// The page with the digests of its inline scripts and style sheets in its policy, so that the browser takes those
/// and no others.
pub fn with_policy(page: &str) -> Result<String> {
    obeys(page)?;
    // A block of data is none that a policy is about.
    let is_data = |tag: &Tag| tag.attribute("type").is_some_and(|kind| kind.value.ends_with("json"));
    let scripts = digests(page, |tag| tag.is("script") && tag.attribute("src").is_none() && !is_data(tag));
    let sheets = digests(page, |tag| tag.is("style"));
    let page = filled(page, SCRIPTS, &scripts)?;
    Ok(page.replace(STYLES, &sheets))
}

/// Refuses what the policy forbids: it would be without effect, and nobody would be told.
fn obeys(page: &str) -> Result<()> {
    let is_forbidden = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "style" || name.strip_prefix("on").is_some_and(|event| !event.is_empty())
    };
    let found: Vec<&str> = tags(page)
        .iter()
        .filter(|tag| tag.attributes.iter().any(|attribute| is_forbidden(attribute.name)))
        .map(|tag| &page[tag.span.clone()])
        .take(5)
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("a style attribute or an inline event handler, which the policy forbids:\n{}", found.join("\n")))
}

/// The digests of what these tags hold, as a policy lists them.
fn digests(page: &str, wanted: impl Fn(&Tag) -> bool) -> String {
    let contents = tags(page).into_iter().filter(|tag| wanted(tag)).filter_map(|tag| tag.content);
    contents.map(|content| format!("'sha256-{}'", sha256(&page[content]))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_placeholder_is_filled_and_one_that_is_missing_is_said() {
        assert_eq!(filled("a {{desk}} b {{desk}}", "{{desk}}", "x").as_deref(), Ok("a x b x"));
        assert_eq!(filled("a", "{{desk}}", "x"), Err("the page has no {{desk}}".to_owned()));
    }

    #[test]
    fn the_policy_lists_each_inline_script_and_style_sheet_and_no_other() {
        let page = "<meta content=\"script-src {{inline-script-hashes}};\"><script src=x.js></script><script>abc</script><script>abc</script>";
        let digest = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";
        let done = with_policy(page).expect("it has a place for them");
        assert!(done.contains(&format!("script-src {digest} {digest};")), "{done}");
        let data = page.replace("<script>abc</script>", "<script type=application/ld+json>abc</script>");
        assert!(with_policy(&data).is_ok_and(|done| done.contains("script-src ;")), "data is no script");
        assert!(with_policy("<script>abc</script>").is_err(), "a page without the place for digests");
        let page = "<meta content=\"script-src {{inline-script-hashes}}; style-src {{inline-style-hashes}};\"><style>abc</style>";
        let done = with_policy(page).expect("it has a place for them");
        assert!(done.contains(&format!("style-src {digest};")), "{done}");
    }

    #[test]
    fn what_the_policy_forbids_stops_the_build() {
        for tag in ["<p style=\"a: b\">", "<P STYLE=x>", "<body onload=go()>", "<a\n onclick = 'x'>"] {
            assert!(obeys(&format!("<p>{tag}")).is_err_and(|said| said.contains(tag)), "{tag}");
        }
        for page in
            ["<p data-style=x once>", "<p class=\"on style=\">", "<script>if (a<b) x = {style: 1}; c style=</script>"]
        {
            // “once” begins like the name of an event, and no element has it.
            let page = page.replace(" once", "");
            assert_eq!(obeys(&page), Ok(()), "{page}");
        }
    }
}
