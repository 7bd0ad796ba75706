//! What a reader pastes elsewhere: links, and a figure as a frame, written for the tool that takes them.
//!
//! Every snippet is text that another program parses, so what stands in it is escaped by the rules of that
//! program: titles in HTML and in Markdown, addresses in both. Nothing else is done here: what a snippet
//! shows is for [`link`] and [`Embed`] to say.
//!
//! ```
//! use bmax::Scenario;
//! use bmax::embed::Embed;
//! use bmax::link::{Beginning, Pinned};
//! use bmax::snippet::{Host, Share};
//!
//! let scenario = Scenario::default();
//! let share = Share { page: "https://example.org/bmax/", beginning: Beginning::Site, site: "https://example.org/bmax/", scenario: &scenario, vs: &Pinned::NONE, title: "Memory & batch", anchor: "" };
//! assert_eq!(share.short_link(), "https://example.org/bmax/?v=4");
//! assert_eq!(share.markdown(), "[Memory &amp; batch](https://example.org/bmax/?v=4)");
//! assert!(Host::Html.write(&share, &Embed::of("chart"), 520).starts_with(
//!     "<iframe src=\"https://example.org/bmax/?embed=chart&amp;v=4#embed-chart\" title=\"Memory &amp; batch\""
//! ));
//! ```

use std::fmt::Write;

use crate::embed::Embed;
use crate::link::{Beginning, Pinned};
use crate::{Scenario, link};

/// The height of a frame of which nobody knows the height, in CSS pixels. `embed.js` corrects it.
pub const HEIGHT: u32 = 520;

/// What a frame may do: run its program, open the full page in a tab of its own, save a file. It gets no
/// origin, so that it can read nothing of the page around it.
pub const SANDBOX: &str = "allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads";

/// Hides a still that follows a frame where the frame is shown, and the frame where the page is printed.
const PRINT: &str = "@media screen{iframe[src*=\"embed=\"]+p:has(>a[href*=\"?v=\"]>img){display:none}}\
@media print{iframe[src*=\"embed=\"]:has(+p>a[href*=\"?v=\"]>img){display:none}}";

/// The height of a frame on a slide: what reveal.js’ slides of 960 × 700 leave beside a heading.
const SLIDE_HEIGHT: u32 = 600;

/// A picture of a figure, saved beside the page that shows it, for paper and for pages that take no frames.
#[derive(Clone, Debug)]
pub struct Still {
    /// The name of its file.
    pub file: String,
    /// What it says, with the answer in words.
    pub caption: String,
}

/// What is shared: a page with a configuration, or a place in it.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// The address of the page, without query and fragment.
    pub page: &'a str,
    /// What that page begins with, which says what a link to it has to name.
    pub beginning: Beginning,
    /// The address of the first page of the site, beside which `embed.js` lies.
    pub site: &'a str,
    /// The configuration that it shows.
    pub scenario: &'a Scenario,
    /// The configurations that it is compared with.
    pub vs: &'a Pinned,
    /// What the reader calls it: the caption of a figure, or the title of the page.
    pub title: &'a str,
    /// The `id` of the place in the page; empty for its beginning.
    pub anchor: &'a str,
}

impl Share<'_> {
    /// The link that names only what differs from the defaults of its version.
    pub fn short_link(&self) -> String {
        self.link(&self.beginning.link(self.scenario, self.vs))
    }

    /// The link that spells out every parameter.
    pub fn full_link(&self) -> String {
        self.link(&(link::encode_whole(self.scenario) + &link::versus_whole(self.scenario, self.vs)))
    }

    fn link(&self, query: &str) -> String {
        let fragment = if self.anchor.is_empty() { String::new() } else { format!("#{}", self.anchor) };
        address(&format!("{}?{query}{fragment}", self.page))
    }

    /// A Markdown link.
    pub fn markdown(&self) -> String {
        format!("[{}]({})", in_markdown(self.title), self.short_link())
    }

    /// Title and link as plain text, for mail and chat.
    pub fn text(&self) -> String {
        format!("{}\n{}", on_one_line(self.title), self.short_link())
    }

    /// A Markdown image of a file that was saved, which leads to the page.
    pub fn markdown_image(&self, file: &str) -> String {
        format!("[![{}]({})]({})", in_markdown(self.title), address(file), self.short_link())
    }

    /// The same in HTML.
    pub fn html_image(&self, file: &str) -> String {
        let (link, file, title) = (in_html(&self.short_link()), in_html(&address(file)), in_html(self.title));
        format!("<a href=\"{link}\"><img src=\"{file}\" alt=\"{title}\"></a>")
    }

    /// A still with its caption in Markdown; it leads to the page.
    pub fn markdown_still(&self, still: &Still) -> String {
        format!("{}\n{}", self.markdown_image(&still.file), in_markdown(&still.caption))
    }

    /// The address of one figure alone. The fragment leads readers without JavaScript to its text.
    pub fn frame_address(&self, embed: &Embed) -> String {
        let query = embed.query(self.scenario) + &link::versus(self.scenario, self.vs);
        address(&format!("{}?{query}#embed-{}", self.page, embed.figure))
    }

    /// The frame itself.
    fn frame(&self, embed: &Embed, height: u32) -> String {
        format!(
            "<iframe src=\"{}\" title=\"{}\" width=\"100%\" height=\"{height}\" loading=\"lazy\" \
             sandbox=\"{SANDBOX}\" style=\"border:0\"></iframe>",
            in_html(&self.frame_address(embed)),
            in_html(self.title),
        )
    }

    /// The script beside the first page that gives frames the height of what they show.
    fn script(&self) -> String {
        let folder = self.site.rfind('/').map_or("", |end| &self.site[..=end]);
        address(&format!("{folder}embed.js"))
    }
}

/// The tool that makes the page in which a figure is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// A page of HTML, and whatever takes HTML.
    Html,
    /// MkDocs, with Material or without.
    MkDocs,
    /// MyST, which Jupyter Book 2 stands on.
    Myst,
    /// Sphinx with MyST-Parser, which Jupyter Book 1 stands on.
    Sphinx,
    /// Quarto.
    Quarto,
    /// MDX, which Docusaurus stands on: every tag is JSX.
    Mdx,
    /// A slide of reveal.js.
    Reveal,
    /// Markdown where frames are taken out, as in a README on GitHub.
    Readme,
    /// Programs that ask for an address and make the frame themselves, as Notion does.
    Address,
}

impl Host {
    /// Every tool, in the order in which a dialog shows them.
    pub const ALL: [Self; 9] = [
        Self::Html,
        Self::MkDocs,
        Self::Myst,
        Self::Sphinx,
        Self::Quarto,
        Self::Mdx,
        Self::Reveal,
        Self::Readme,
        Self::Address,
    ];

    /// Its word in markup.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::MkDocs => "mkdocs",
            Self::Myst => "myst",
            Self::Sphinx => "sphinx",
            Self::Quarto => "quarto",
            Self::Mdx => "mdx",
            Self::Reveal => "reveal",
            Self::Readme => "readme",
            Self::Address => "address",
        }
    }

    /// The tool with this word.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.key() == key)
    }

    /// The name shown to the reader.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::MkDocs => "MkDocs",
            Self::Myst => "MyST, Jupyter Book 2",
            Self::Sphinx => "Jupyter Book 1, Sphinx",
            Self::Quarto => "Quarto",
            Self::Mdx => "MDX, Docusaurus",
            Self::Reveal => "reveal.js",
            Self::Readme => "README",
            Self::Address => "Notion",
        }
    }

    /// What to do with it.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Html => "Paste it where the figure should stand, on any page that takes HTML.",
            Self::MkDocs => {
                "Paste it into the Markdown of a page, with an empty line before and after. No extension is needed."
            }
            Self::Myst => {
                "Paste it into a Markdown file or cell. MyST decides the height itself, six tenths of the width; \
                 a higher figure scrolls."
            }
            Self::Sphinx => "Paste it into a Markdown file or cell. Sphinx with MyST-Parser takes the same.",
            Self::Quarto => {
                "Paste it into a .qmd file. In a book or paper that is not HTML, a link stands in its place."
            }
            Self::Mdx => "Paste it into an .mdx file, with an empty line before and after.",
            Self::Reveal => "Paste it into the section of a slide. The figure is loaded when the slide is shown.",
            Self::Readme => {
                "Paste it into Markdown that takes no frames, as on GitHub. The picture leads to the live figure."
            }
            Self::Address => {
                "Type /embed in Notion and paste this address. Other tools that ask for the address of an embed take it as well."
            }
        }
    }

    /// Whether a still may stand beside the frame or in its place.
    pub const fn takes_still(self) -> bool {
        !matches!(self, Self::Reveal | Self::Address)
    }

    /// Writes a figure for this tool; `height` in CSS pixels counts where `embed` names none.
    pub fn write(self, share: &Share, embed: &Embed, height: u32) -> String {
        self.write_with(share, embed, height, None)
    }

    /// The same with a still, which stands on paper in place of the frame.
    pub fn write_with(self, share: &Share, embed: &Embed, height: u32, still: Option<&Still>) -> String {
        let frame = share.frame(embed, embed.height.unwrap_or(height));
        // Without a picture a link stands there.
        let paper = || still.map_or_else(|| share.markdown(), |still| share.markdown_still(still));
        match self {
            Self::Html => match still {
                Some(still) => {
                    let (image, caption) = (share.html_image(&still.file), in_html(&still.caption));
                    format!("{frame}\n<p>{image}<br>{caption}</p>\n<style>{PRINT}</style>")
                }
                None => frame,
            },
            Self::MkDocs => {
                still.map_or(frame.clone(), |_| format!("{frame}\n\n{}\n\n<style>{PRINT}</style>", paper()))
            }
            Self::Myst => {
                let placeholder = still.map_or_else(String::new, |still| {
                    let (file, caption) = (address(&still.file), in_markdown(&still.caption));
                    format!("\n:placeholder: {file}\n\n{caption} [Live figure]({})", share.short_link())
                });
                let title = on_one_line(share.title);
                format!(":::{{iframe}} {}\n:width: 100%\n:title: {title}{placeholder}\n:::", share.frame_address(embed))
            }
            Self::Sphinx => {
                let paper = still.map_or_else(String::new, |_| format!("\n\n```{{only}} not html\n{}\n```", paper()));
                format!("```{{raw}} html\n{frame}\n```{paper}")
            }
            Self::Quarto => format!(
                "```{{=html}}\n{frame}\n```\n\n::: {{.content-visible unless-format=\"html\"}}\n{}\n:::",
                paper()
            ),
            Self::Mdx => {
                let frame = frame.replace("style=\"border:0\"", "style={{ border: 0 }}");
                still.map_or(frame.clone(), |_| format!("{frame}\n\n{}\n\n<style>{{`{PRINT}`}}</style>", paper()))
            }
            Self::Reveal => {
                // A slide has one height, and what is higher scrolls in it.
                let height = embed.height.unwrap_or(SLIDE_HEIGHT);
                let frame = share.frame(&Embed { height: Some(height), ..embed.clone() }, height);
                frame.replacen("src=", "data-src=", 1).replacen(" loading=\"lazy\"", "", 1)
            }
            Self::Readme => paper(),
            Self::Address => share.frame_address(embed),
        }
    }

    /// What to add once, for a page or a whole site, so that frames take the height of what they show; the
    /// name of the file it belongs to, empty for the page itself. Nothing for tools that let no script in.
    pub fn once(self, share: &Share) -> Option<(&'static str, String)> {
        let script = share.script();
        let tag = format!("<script async src=\"{}\"></script>", in_html(&script));
        match self {
            Self::Html | Self::Reveal => Some(("", tag)),
            Self::Mdx => Some(("docusaurus.config.js", format!("scripts: [{{ src: '{script}', async: true }}],"))),
            Self::MkDocs => Some(("mkdocs.yml", format!("extra_javascript:\n  - {}", in_yaml(&script)))),
            Self::Sphinx => {
                Some(("_config.yml", format!("sphinx:\n  config:\n    html_js_files:\n      - {}", in_yaml(&script))))
            }
            Self::Quarto => Some((
                "_quarto.yml",
                format!("format:\n  html:\n    include-in-header:\n      - text: {}", in_yaml(&tag)),
            )),
            Self::Myst | Self::Readme | Self::Address => None,
        }
    }
}

/// A title without line breaks and control characters: a line that ends would end more than the title.
fn on_one_line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text in HTML, in an attribute with double quotes or between tags.
fn in_html(text: &str) -> String {
    let mut html = String::new();
    for c in on_one_line(text).chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            other => html.push(other),
        }
    }
    html
}

/// Text in Markdown, also between the pipes of a table. A backslash stands before what every Markdown lets
/// escape so; what only some do is written as a character reference, which all of them read.
pub(crate) fn in_markdown(text: &str) -> String {
    let mut markdown = String::new();
    for c in on_one_line(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '{' | '}' => markdown.extend(['\\', c]),
            '&' => markdown += "&amp;",
            '<' => markdown += "&lt;",
            '>' => markdown += "&gt;",
            // Tables; formulas; strike-through and subscript; superscript; mentions and citations; smart quotes.
            '|' | '$' | '~' | '^' | '@' | '"' | '\'' => _ = write!(markdown, "&#{};", u32::from(c)),
            other => markdown.push(other),
        }
    }
    markdown
}

/// Text in YAML, in single quotes.
fn in_yaml(text: &str) -> String {
    format!("'{}'", on_one_line(text).replace('\'', "''"))
}

/// An address in which nothing ends it early: not a parenthesis in Markdown, not a pipe in a table, not a quote
/// or a space in HTML. What a browser tells of a path may have all of these but the space. Square brackets
/// stay: they stand around the host where that is an IPv6 address.
pub(crate) fn address(given: &str) -> String {
    let mut address = String::new();
    for byte in given.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => address.push(byte.into()),
            b'-' | b'.' | b'_' | b'~' | b':' | b'/' | b'?' | b'#' | b'@' | b'!' | b'$' | b'&' | b'*' | b'+' | b','
            | b';' | b'=' | b'%' | b'[' | b']' => address.push(byte.into()),
            other => _ = write!(address, "%{other:02X}"),
        }
    }
    address
}
