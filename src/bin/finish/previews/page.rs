//! The page of a folder, and what it offers to programs that put it into their own pages.

use bmax::embed::Embed;
use bmax::link::{Beginning, Pinned};
use bmax::snippet::{HEIGHT, Host, Share};
use serde_json::json;

use super::super::Result;
use super::super::address::Address;
use super::super::discovery::{About, SITE, tags};
use super::super::markup::{escaped, in_script};
use super::super::page::with_policy;
use super::PICTURE;
use super::list::Preview;

/// The name of what an oEmbed consumer asks for.
pub const OEMBED: &str = "oembed.json";

/// The way from a folder to the first page.
const ROOT: &str = "../../";

/// The width of a frame in CSS pixels, where a number has to be named: that of a column of text.
const WIDTH: u32 = 720;

/// The look of the page for those who are not led on, in the colours of `style/tokens.css`.
const STYLE: &str = "body{max-width:44rem;margin:0 auto;padding:2rem 1.25rem;background:light-dark(#fbfaf7,#14181d);\
    color:light-dark(#1d2329,#e7e4dc);font:1.0625rem/1.6 system-ui,sans-serif}h1{line-height:1.2}a{color:light-dark(#175179,#91c5ec)}\
    img{width:100%;height:auto}";

/// The page. Its script leads to the page of the site before anything is painted; without scripts it is read as it is.
pub fn written(preview: &Preview, address: &Address) -> Result<String> {
    let description = preview.description();
    let [title, sentence, more, shown, press] =
        [&preview.title, &preview.sentence, &preview.more, &preview.shown(), preview.press].map(escaped);
    let way = format!("{ROOT}{}", preview.way);
    let picture = format!("{}{PICTURE}", preview.folder);
    let about = About {
        title: &preview.title,
        description: &description,
        place: &preview.folder,
        picture: (&picture, &preview.shown()),
        root: ROOT,
    };
    let canonical = address.site().map_or_else(|| "./".to_owned(), |site| format!("{site}{}", preview.folder));
    let offered = address.site().map_or_else(String::new, |site| {
        format!(
            "<link rel=\"alternate\" type=\"application/json+oembed\" href=\"{site}{}{OEMBED}\" title=\"{title}\">\n",
            preview.folder
        )
    });
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {{{{inline-script-hashes}}}}; \
         style-src {{{{inline-style-hashes}}}}; img-src 'self'; base-uri 'none'; form-action 'none'\">\n\
         <script>document.documentElement.hidden = true; location.replace({});</script>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · {SITE}</title>\n<meta name=\"description\" content=\"{}\">\n\
         <link rel=\"canonical\" href=\"{canonical}\">\n<link rel=\"icon\" href=\"{ROOT}icons/192.png\">\n{offered}{}\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <p><a href=\"{ROOT}\">{SITE}: how many sequences fit on your GPU</a></p>\n\
         <h1>{title}</h1>\n<p><strong>{sentence}</strong> {more}</p>\n\
         <p><a href=\"{}\">{press}</a></p>\n\
         <p><img src=\"{PICTURE}\" width=\"1200\" height=\"630\" alt=\"{shown}\"></p>\n</main>\n</body>\n</html>\n",
        // A string of JSON is one of JavaScript.
        in_script(&json!(way)),
        escaped(&description),
        tags(&about, address),
        escaped(&way),
    );
    with_policy(&page)
}

/// What oEmbed answers for the folder (<https://oembed.com/>, 2.3.4.4): its figure as a frame. The frame stands in
/// somebody else’s page, so that there is none where the address of the site is not known.
pub fn oembed(preview: &Preview, address: &Address) -> Option<String> {
    let site = address.site()?;
    let share = Share {
        page: site,
        beginning: Beginning::Site,
        site,
        scenario: &preview.scenario,
        vs: &Pinned::NONE,
        title: &preview.title,
        anchor: "",
    };
    let answer = json!({
        "version": "1.0",
        "type": "rich",
        "title": preview.title,
        "provider_name": SITE,
        "provider_url": site,
        "html": Host::Html.write(&share, &Embed::of(&preview.figure), HEIGHT),
        "width": WIDTH,
        "height": HEIGHT,
        "thumbnail_url": format!("{site}{}{PICTURE}", preview.folder),
        "thumbnail_width": 1200,
        "thumbnail_height": 630,
    });
    Some(answer.to_string())
}
