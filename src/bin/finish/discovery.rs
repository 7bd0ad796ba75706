//! What tells crawlers which pages there are and what each is: tags that chats and feeds read, structured data, and the
//! list of pages.

use serde_json::{Value, json};

use super::address::Address;
use super::markup::{escaped, in_script};

/// The name of the site.
pub const SITE: &str = "bmax";

/// The pages that teach, and are a course together.
const COURSE: [&str; 8] = ["workshop", "memory", "room", "batch", "gpus", "networks", "plan", "check"];

/// What a page says of itself to whoever shows a preview of it.
pub struct About<'a> {
    pub title: &'a str,
    pub description: &'a str,
    /// Seen from the first page.
    pub place: &'a str,
    /// The picture, seen from the first page, and what it shows.
    pub picture: (&'a str, &'a str),
    /// The way from the page to the first one.
    pub root: &'a str,
}

/// The tags of Open Graph (<https://ogp.me/>) and of Twitter’s cards, which take from Open Graph what they lack. The
/// address of a page has to be a whole one there, and is left out where it is not known.
pub fn tags(about: &About, address: &Address) -> String {
    let [title, description, shown] = [about.title, about.description, about.picture.1].map(escaped);
    let picture = address.of(about.picture.0, about.root);
    let url = address
        .site()
        .map_or_else(String::new, |site| format!("<meta property=\"og:url\" content=\"{site}{}\">", about.place));
    format!(
        "<meta property=\"og:type\" content=\"website\"><meta property=\"og:site_name\" content=\"{SITE}\">\
         <meta property=\"og:title\" content=\"{title}\"><meta property=\"og:description\" content=\"{description}\">{url}\
         <meta property=\"og:image\" content=\"{picture}\"><meta property=\"og:image:width\" content=\"1200\">\
         <meta property=\"og:image:height\" content=\"630\"><meta property=\"og:image:alt\" content=\"{shown}\">\
         <meta name=\"twitter:card\" content=\"summary_large_image\">"
    )
}

/// What a page of the site is, in the words of schema.org: the first is a program, a page of the course something to
/// learn from. The element is data and no script, so that no policy of scripts is about it
/// (<https://html.spec.whatwg.org/multipage/scripting.html#data-block>).
pub fn structured(slug: &str, title: &str, description: &str, address: &Address) -> String {
    let kind = match slug {
        "" => "SoftwareApplication",
        slug if COURSE.contains(&slug) => "LearningResource",
        _ => return String::new(),
    };
    let mut data = json!({
        "@context": "https://schema.org",
        "@type": kind,
        "name": title,
        "description": description,
        "inLanguage": "en",
        "isAccessibleForFree": true,
    });
    let more = if slug.is_empty() {
        json!({ "applicationCategory": "EducationalApplication", "operatingSystem": "Any" })
    } else {
        json!({ "learningResourceType": "interactive text", "educationalUse": "self-study" })
    };
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
        if let Some(site) = address.site() {
            let folder = if slug.is_empty() { String::new() } else { format!("{slug}/") };
            data.insert("url".to_owned(), format!("{site}{folder}").into());
        }
    }
    format!("<script type=\"application/ld+json\">{}</script>", in_script(&data))
}

/// The list of all pages (<https://www.sitemaps.org/protocol.html>), by their places seen from the first one. It takes
/// whole addresses alone.
pub fn sitemap(places: &[String], site: &str) -> String {
    let pages: String =
        places.iter().map(|place| format!("<url><loc>{}</loc></url>\n", escaped(&(site.to_owned() + place)))).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{pages}</urlset>\n"
    )
}

/// Names the list of pages. Crawlers read it at the root of a host alone.
pub fn robots(site: &str) -> String {
    format!("User-agent: *\nAllow: /\n\nSitemap: {site}sitemap.xml\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup;

    fn known() -> Address {
        Address::read("https://example.org/bmax/").expect("an address")
    }

    fn about() -> About<'static> {
        About {
            title: "A \"title\" & more",
            description: "What it is",
            place: "figure/step/",
            picture: ("figure/step/picture.png", "Words"),
            root: "../../",
        }
    }

    fn content<'a>(tags: &'a [markup::Tag], name: &str) -> Option<&'a str> {
        let tag = tags.iter().find(|tag| {
            ["property", "name"].iter().any(|key| tag.attribute(key).is_some_and(|one| one.value == name))
        })?;
        Some(tag.attribute("content")?.value)
    }

    #[test]
    fn tags_are_escaped_and_their_addresses_whole_where_the_site_is_known() {
        let html = tags(&about(), &known());
        let tags = markup::tags(&html);
        assert_eq!(content(&tags, "og:title"), Some("A &quot;title&quot; &amp; more"));
        assert_eq!(content(&tags, "og:url"), Some("https://example.org/bmax/figure/step/"));
        assert_eq!(content(&tags, "og:image"), Some("https://example.org/bmax/figure/step/picture.png"));
        assert_eq!(content(&tags, "twitter:card"), Some("summary_large_image"));
    }

    #[test]
    fn without_the_address_of_the_site_no_address_is_whole() {
        let none = Address::read("").expect("none");
        let html = tags(&about(), &none);
        let tags = markup::tags(&html);
        assert_eq!(content(&tags, "og:url"), None);
        assert_eq!(content(&tags, "og:image"), Some("../../figure/step/picture.png"));
        assert!(!structured("", "t", "d", &none).contains("\"url\""));
    }

    #[test]
    fn structured_data_is_json_that_nothing_in_it_ends() {
        for (slug, kind) in [("", "SoftwareApplication"), ("gpus", "LearningResource")] {
            let block = structured(slug, "</script><b>", "&", &known());
            let inner = block.split_once('>').and_then(|(_, rest)| rest.strip_suffix("</script>")).expect("one block");
            assert!(!inner.contains('<'), "{inner}");
            let data: Value = serde_json::from_str(inner).expect("JSON");
            assert_eq!((&data["@type"], &data["name"]), (&json!(kind), &json!("</script><b>")));
            let place = if slug.is_empty() { "" } else { "gpus/" };
            assert_eq!(data["url"], json!(format!("https://example.org/bmax/{place}")));
        }
        assert_eq!(structured("sources", "t", "d", &known()), "");
    }

    #[test]
    fn the_list_of_pages_has_whole_addresses_and_is_named_for_crawlers() {
        let list = sitemap(&["".to_owned(), "gpus/".to_owned()], "https://example.org/bmax/");
        assert!(
            list.contains("<loc>https://example.org/bmax/</loc>")
                && list.contains("<loc>https://example.org/bmax/gpus/</loc>")
        );
        assert!(robots("https://example.org/bmax/").ends_with("Sitemap: https://example.org/bmax/sitemap.xml\n"));
    }
}
