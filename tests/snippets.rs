//! What is pasted elsewhere says the same there, whatever stands in titles and addresses: the snippets are
//! read by parsers of HTML and Markdown that know nothing of this project.

use bmax::embed::{Embed, Theme};
use bmax::link::{Beginning, Pinned};
use bmax::snippet::{Host, SANDBOX, Share, Still};
use bmax::{Scenario, link};
use html5gum::{Token, Tokenizer};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const PAGE: &str = "https://example.org/course/bmax/";

/// Titles that would end what they stand in, were they not escaped.
const HOSTILE: &[&str] = &[
    r#""><script>alert(1)</script>"#,
    "' onload='alert(1)",
    "</iframe><img src=x onerror=alert(1)>",
    "<!-- --> ]]> &amp; &lt; &copy;",
    "a | b || c",
    "](javascript:alert(1)) [x",
    "\\](x) \\\\ `code` ``` *bold* _it_ ~~gone~~ ^up^",
    "$x$ $$y$$ @someone {{ macro }} {role}`x` :::{iframe} y",
    "first line\n\n# second\r\n::: \t```\u{0}\u{7f}\u{85}end",
    "日本語 “quoted” naïve 🙂 \u{202e}txt",
    "",
];

/// What is left of a title where lines cannot break.
fn one_line(title: &str) -> String {
    title.replace(|c: char| c.is_control(), " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn share<'a>(scenario: &'a Scenario, title: &'a str) -> Share<'a> {
    Share {
        page: PAGE,
        beginning: Beginning::Site,
        site: PAGE,
        scenario,
        vs: &Pinned::NONE,
        title,
        anchor: "chart-title",
    }
}

type Element = (String, Vec<(String, String)>);

/// The elements of a piece of HTML in their order, with their attributes; text and comments as elements of
/// those names, white space left out.
fn elements(html: &str) -> Vec<Element> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8 goes in, UTF-8 comes out");
    let mut elements = Vec::new();
    for Ok(token) in Tokenizer::new(html) {
        match token {
            Token::StartTag(tag) => {
                let attributes = tag.attributes.iter().map(|(name, value)| (text(name), text(value)));
                elements.push((text(&tag.name), attributes.collect()));
            }
            Token::EndTag(tag) => elements.push((format!("/{}", text(&tag.name)), vec![])),
            Token::String(string) if !text(&string).trim().is_empty() => {
                elements.push((format!("text {}", text(&string)), vec![]));
            }
            Token::String(_) => {}
            other => elements.push((format!("{other:?}"), vec![])),
        }
    }
    elements
}

fn attributes(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    // The parser gives them in the order of their names.
    let mut pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    pairs.sort();
    pairs
}

/// One frame of the chart and nothing else.
fn assert_is_the_frame(html: &str, address: &str, title: &str, height: &str) {
    let wanted = attributes(&[
        ("src", address),
        ("title", title),
        ("width", "100%"),
        ("height", height),
        ("loading", "lazy"),
        ("sandbox", SANDBOX),
        ("style", "border:0"),
    ]);
    assert_eq!(elements(html), [("iframe".to_owned(), wanted), ("/iframe".to_owned(), vec![])], "{html}");
}

/// Where the links of a piece of Markdown lead, each with its text.
fn links(markdown: &str) -> Vec<(String, String)> {
    let mut links: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                links.push((dest_url.into_string(), String::new()));
                inside = true;
            }
            Event::End(TagEnd::Link) => inside = false,
            Event::Text(text) if inside => {
                if let Some(link) = links.last_mut() {
                    link.1 += &text;
                }
            }
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            other => panic!("{other:?} in {markdown}"),
        }
    }
    links
}

#[test]
fn a_frame_is_one_element_with_seven_attributes_whatever_the_title() {
    let scenario = link::decode("v=4&gpus=64&recompute=none").scenario;
    let embed = Embed { theme: Theme::Dark, controls: false, title: false, ..Embed::of("chart") };
    let address =
        format!("{PAGE}?embed=chart&controls=off&title=off&theme=dark&v=4&gpus=64&recompute=none#embed-chart");
    for title in HOSTILE {
        let share = share(&scenario, title);
        for host in [Host::Html, Host::MkDocs] {
            let html = host.write(&share, &embed, 640);
            assert!(!html.contains('\n'), "an empty line would end the HTML in Markdown: {html}");
            assert_is_the_frame(&html, &address, &one_line(title), "640");
        }
    }
}

#[test]
fn the_height_asked_for_counts_more_than_the_measured_one() {
    let scenario = Scenario::default();
    let embed = Embed { height: Some(300), ..Embed::of("chart") };
    let address = format!("{PAGE}?embed=chart&height=300&v=4#embed-chart");
    assert_is_the_frame(&Host::Html.write(&share(&scenario, "T"), &embed, 640), &address, "T", "300");
}

#[test]
fn sphinx_gets_a_raw_directive_and_quarto_a_raw_block_with_a_link_for_paper() {
    let scenario = Scenario::default();
    let address = format!("{PAGE}?embed=chart&v=4#embed-chart");
    for title in HOSTILE {
        let share = share(&scenario, title);
        let sphinx = Host::Sphinx.write(&share, &Embed::of("chart"), 520);
        let frame = sphinx.strip_prefix("```{raw} html\n").and_then(|rest| rest.strip_suffix("\n```"));
        assert_is_the_frame(frame.expect("a fence around the frame"), &address, &one_line(title), "520");

        let quarto = Host::Quarto.write(&share, &Embed::of("chart"), 520);
        let (frame, paper) = quarto.split_once("\n```\n\n").expect("a fence, an empty line and the link");
        let frame = frame.strip_prefix("```{=html}\n").expect("a raw block of HTML");
        assert_is_the_frame(frame, &address, &one_line(title), "520");
        let paper = paper.strip_prefix("::: {.content-visible unless-format=\"html\"}\n");
        let paper = paper.and_then(|rest| rest.strip_suffix("\n:::")).expect("a division around the link");
        assert_eq!(links(paper), [(format!("{PAGE}?v=4#chart-title"), one_line(title))]);
    }
}

#[test]
fn myst_gets_a_directive_of_four_lines() {
    let scenario = Scenario::default();
    for title in HOSTILE {
        let myst = Host::Myst.write(&share(&scenario, title), &Embed::of("chart"), 520);
        let lines: Vec<_> = myst.lines().collect();
        assert_eq!(lines[0], format!(":::{{iframe}} {PAGE}?embed=chart&v=4#embed-chart"));
        assert_eq!(lines[1], ":width: 100%");
        assert_eq!(lines[2].trim_end(), format!(":title: {}", one_line(title)).trim_end());
        assert_eq!(lines[3..], [":::"], "{myst}");
    }
}

/// A still whose file and caption would end what they stand in, were they not escaped.
fn hostile_still(caption: &str) -> Still {
    Still { file: "bmax (chart) \"1\".png".to_owned(), caption: caption.to_owned() }
}

const STILL_FILE: &str = "bmax%20%28chart%29%20%221%22.png";

/// The picture, what it says and where it leads, and the text behind it.
fn still_in(markdown: &str) -> [String; 4] {
    let [mut image, mut alt, mut link, mut caption] = [const { String::new() }; 4];
    let (mut in_image, mut in_link) = (false, false);
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => (link, in_link) = (dest_url.into_string(), true),
            Event::Start(Tag::Image { dest_url, .. }) => (image, in_image) = (dest_url.into_string(), true),
            Event::End(TagEnd::Image) => in_image = false,
            Event::End(TagEnd::Link) => in_link = false,
            Event::Text(text) if in_image => alt += &text,
            Event::Text(text) if !in_link => caption += &text,
            Event::SoftBreak | Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            other => panic!("{other:?} in {markdown}"),
        }
    }
    [image, alt, link, caption]
}

#[test]
fn a_still_stands_in_place_of_the_frame_on_paper_with_its_caption_and_leads_to_the_page() {
    let scenario = Scenario::default();
    let link = format!("{PAGE}?v=4#chart-title");
    for title in HOSTILE {
        let (share, still, text) = (share(&scenario, title), hostile_still(title), one_line(title));
        let wanted = [STILL_FILE, &text, &link, &text].map(str::to_owned);
        let write = |host: Host| host.write_with(&share, &Embed::of("chart"), 520, Some(&still));
        assert_eq!(still_in(&write(Host::Readme)), wanted);
        for (host, begin, end) in [
            (Host::MkDocs, "</iframe>\n\n", "\n\n<style>"),
            (Host::Mdx, "</iframe>\n\n", "\n\n<style>{`"),
            (Host::Sphinx, "\n```\n\n```{only} not html\n", "\n```"),
            (Host::Quarto, "::: {.content-visible unless-format=\"html\"}\n", "\n:::"),
        ] {
            let written = write(host);
            let (frame, rest) = written.split_once(begin).unwrap_or_else(|| panic!("{written}"));
            assert!(frame.contains("<iframe "), "{written}");
            let paper = rest.split_once(end).unwrap_or_else(|| panic!("{written}")).0;
            assert_eq!(still_in(paper), wanted, "{written}");
        }
        let myst = write(Host::Myst);
        let (head, caption) = myst.split_once("\n\n").expect("a caption");
        assert_eq!(head.lines().last(), Some(&*format!(":placeholder: {STILL_FILE}")));
        let caption = caption.strip_suffix("\n:::").expect("its end");
        assert_eq!(
            links(&caption.rsplit_once(" [").map(|(_, link)| format!("[{link}")).expect("a link")),
            [(link.clone(), "Live figure".to_owned())]
        );
        // In HTML the frame is followed by a paragraph, as in all that are made of Markdown.
        let html = write(Host::Html);
        let names: Vec<_> =
            elements(&html).into_iter().map(|(name, _)| name).filter(|name| !name.starts_with("text")).collect();
        assert_eq!(names, ["iframe", "/iframe", "p", "a", "img", "/a", "br", "/p", "style", "/style"], "{html}");
    }
}

#[test]
fn a_frame_in_mdx_is_jsx_in_which_a_style_is_an_object() {
    let scenario = Scenario::default();
    for title in HOSTILE {
        let share = share(&scenario, title);
        let mdx = Host::Mdx.write(&share, &Embed::of("chart"), 520);
        assert_eq!(
            mdx.replace("style={{ border: 0 }}", "style=\"border:0\""),
            Host::Html.write(&share, &Embed::of("chart"), 520)
        );
        assert_eq!(mdx.matches("style={{ border: 0 }}").count(), 1);
    }
    let (file, once) = Host::Mdx.once(&share(&scenario, "T")).expect("Docusaurus has a list of scripts");
    assert_eq!(file, "docusaurus.config.js");
    assert_eq!(once, format!("scripts: [{{ src: '{PAGE}embed.js', async: true }}],"));
}

#[test]
fn a_frame_on_a_slide_is_loaded_with_its_slide_and_asks_for_no_more_than_that_has() {
    let scenario = Scenario::default();
    for (asked, height) in [(None, "600"), (Some(480), "480")] {
        let embed = Embed { height: asked, ..Embed::of("chart") };
        let wanted = attributes(&[
            ("data-src", &format!("{PAGE}?embed=chart&height={height}&v=4#embed-chart")),
            ("title", "T"),
            ("width", "100%"),
            ("height", height),
            ("sandbox", SANDBOX),
            ("style", "border:0"),
        ]);
        let slide = Host::Reveal.write(&share(&scenario, "T"), &embed, 900);
        assert_eq!(elements(&slide), [("iframe".to_owned(), wanted), ("/iframe".to_owned(), vec![])], "{slide}");
    }
}

#[test]
fn a_markdown_link_has_the_title_as_its_text_and_leads_to_the_short_link() {
    let scenario = link::decode("v=4&gpus=64").scenario;
    for title in HOSTILE {
        let share = share(&scenario, title);
        assert_eq!(links(&share.markdown()), [(format!("{PAGE}?v=4&gpus=64#chart-title"), one_line(title))]);
    }
}

#[test]
fn a_markdown_link_stays_in_its_cell_of_a_table() {
    let scenario = Scenario::default();
    for title in HOSTILE {
        let link = share(&scenario, title).markdown();
        let table = format!("| a | b |\n| - | - |\n| {link} | last |\n");
        let cells = Parser::new_ext(&table, Options::ENABLE_TABLES)
            .filter(|event| matches!(event, Event::Start(Tag::TableCell)))
            .count();
        assert_eq!(cells, 4, "{table}");
        assert!(!link.contains('|'), "{link}");
    }
}

#[test]
fn a_page_at_a_strange_address_is_still_linked_to() {
    let scenario = Scenario::default();
    let page = "https://example.org/notes (draft)/a'b|c/\"d\"/<e>/ü/bmax/";
    let share = Share { page, ..share(&scenario, "T") };
    let written = "https://example.org/notes%20%28draft%29/a%27b%7Cc/%22d%22/%3Ce%3E/%C3%BC/bmax/";
    assert_eq!(share.short_link(), format!("{written}?v=4#chart-title"));
    assert_eq!(links(&share.markdown()), [(format!("{written}?v=4#chart-title"), "T".to_owned())]);
    let address = format!("{written}?embed=chart&v=4#embed-chart");
    assert_is_the_frame(&Host::Html.write(&share, &Embed::of("chart"), 520), &address, "T", "520");
    // What is encoded already is not encoded again.
    assert_eq!(
        Share { page: "http://[::1]:8080/a%20b/", ..share }.short_link(),
        "http://[::1]:8080/a%20b/?v=4#chart-title"
    );
}

#[test]
fn the_script_lies_beside_the_first_page_wherever_the_figure_is() {
    let scenario = Scenario::default();
    for (site, script) in [
        (PAGE, "https://example.org/course/bmax/embed.js"),
        ("https://example.org/bmax/index.html", "https://example.org/bmax/embed.js"),
        ("https://example.org/it's/", "https://example.org/it%27s/embed.js"),
    ] {
        let share = Share { site, ..share(&scenario, "T") };
        let (file, tag) = Host::Html.once(&share).expect("a page of HTML may have scripts");
        assert_eq!(file, "");
        let wanted = attributes(&[("async", ""), ("src", script)]);
        assert_eq!(elements(&tag), [("script".to_owned(), wanted), ("/script".to_owned(), vec![])]);
        let yaml = Host::MkDocs.once(&share).expect("MkDocs has a list of scripts");
        assert_eq!(yaml, ("mkdocs.yml", format!("extra_javascript:\n  - '{script}'")));
    }
    assert_eq!(Host::Myst.once(&share(&scenario, "T")), None);
}

#[test]
fn an_image_says_its_title_and_leads_to_the_page() {
    let scenario = Scenario::default();
    for title in HOSTILE {
        let share = share(&scenario, title);
        let markdown = share.markdown_image("bmax (chart).svg");
        let events: Vec<_> = Parser::new(&markdown).collect();
        let link = format!("{PAGE}?v=4#chart-title");
        assert!(matches!(&events[1], Event::Start(Tag::Link { dest_url, .. }) if **dest_url == *link), "{markdown}");
        let image = "bmax%20%28chart%29.svg";
        assert!(matches!(&events[2], Event::Start(Tag::Image { dest_url, .. }) if **dest_url == *image), "{markdown}");

        let found = elements(&share.html_image("bmax-chart.svg"));
        let image = attributes(&[("src", "bmax-chart.svg"), ("alt", &one_line(title))]);
        let wanted = [("a", attributes(&[("href", &link)])), ("img", image), ("/a", vec![])];
        assert_eq!(found, wanted.map(|(name, attributes)| (name.to_owned(), attributes)));
    }
}

#[test]
fn the_full_link_says_the_same_as_the_short_one_and_more_of_it() {
    let scenario = link::decode("v=4&model=13b&gpus=64&s=8192&hidden=4096").scenario;
    let share = share(&scenario, "T");
    let query = |link: &str| {
        let (page, rest) = link.split_once('?').expect("a query");
        assert_eq!(page, PAGE);
        rest.strip_suffix("#chart-title").expect("the place in the page").to_owned()
    };
    let (short, full) = (query(&share.short_link()), query(&share.full_link()));
    assert_eq!(link::decode(&short), link::decode(&full));
    assert_eq!(short, "v=4&model=13b&hidden=4096&s=8192&gpus=64");
    for parameter in link::parameters() {
        assert!(full.split('&').any(|pair| pair.starts_with(&format!("{}=", parameter.key))), "{}", parameter.key);
    }
}
