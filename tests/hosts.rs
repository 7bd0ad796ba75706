//! The course notes in `tests/hosts/` hold what the page's own snippets say, to the letter, so that what is
//! tested on them in browsers is what a teacher pastes.

use bmax::embed::Embed;
use bmax::link;
use bmax::link::{Beginning, Pinned};
use bmax::snippet::{HEIGHT, Host, Share, Still};

/// Where the notes find the page. The tests' network has no certificates.
const PAGE: &str = "http://bmax.example/week-3/";

/// A file of the notes.
struct Notes {
    text: &'static str,
    /// How it is written.
    host: Host,
    /// Its figures as they are asked for, with the page that has them where that is not the first.
    figures: &'static [&'static str],
    /// What the still of the last figure says, where it has one.
    caption: Option<&'static str>,
    /// The file that lets the script in for a whole site.
    settings: &'static str,
}

const NOTES: [Notes; 8] = [
    Notes {
        text: include_str!("hosts/plain/index.html"),
        host: Host::Html,
        figures: &["workshop/?embed=grow&v=4", "embed=chart&v=4&model=1b&gpus=64"],
        caption: None,
        settings: include_str!("hosts/plain/index.html"),
    },
    Notes {
        text: include_str!("hosts/right-to-left/index.html"),
        host: Host::Html,
        figures: &["embed=answer&v=4&model=13b&gpus=16", "workshop/?embed=buckets&v=4&model=1b"],
        caption: None,
        settings: include_str!("hosts/right-to-left/index.html"),
    },
    Notes {
        text: include_str!("hosts/mkdocs/docs/index.md"),
        host: Host::MkDocs,
        figures: &[
            "workshop/?embed=buckets&v=4&model=13b",
            "room/?embed=recompute&controls=off&v=4&model=13b&recompute=full",
        ],
        caption: Some("Full recomputation keeps one tensor a layer."),
        settings: include_str!("hosts/mkdocs/mkdocs.yml"),
    },
    Notes {
        text: include_str!("hosts/jupyter-book/index.md"),
        host: Host::Sphinx,
        figures: &[
            "embed=answer&v=4&model=llama-3.2-3b&gpu=rtx-4090&gpus=1&adapter=lora",
            "workshop/?embed=planner&v=4&s=8192&gpus=64&target=4000000&unit=tokens",
        ],
        caption: Some("Four million tokens a step on 64 GPUs."),
        settings: include_str!("hosts/jupyter-book/_config.yml"),
    },
    Notes {
        text: include_str!("hosts/mdx/notes.mdx"),
        host: Host::Mdx,
        figures: &["memory/?embed=formats&v=4", "gpus/?embed=sharding&v=4&model=13b&gpus=64"],
        caption: Some("Each stage leaves less of the model on a GPU."),
        settings: include_str!("hosts/mdx/docusaurus.config.js"),
    },
    Notes {
        text: include_str!("hosts/reveal/index.html"),
        host: Host::Reveal,
        figures: &["workshop/?embed=grow&v=4", "memory/?embed=step&controls=off&height=500&v=4&model=1b"],
        caption: None,
        settings: include_str!("hosts/reveal/index.html"),
    },
    Notes {
        text: include_str!("hosts/myst/notes.md"),
        host: Host::Myst,
        figures: &["embed=chart&v=4&model=1b&gpus=64"],
        caption: Some("1B on 64 GPUs."),
        settings: "",
    },
    Notes {
        text: include_str!("hosts/quarto/notes.qmd"),
        host: Host::Quarto,
        figures: &["embed=chart&v=4&model=1b&gpus=64"],
        caption: Some("1B on 64 GPUs."),
        settings: include_str!("hosts/quarto/_quarto.yml"),
    },
];

/// The text of each line without what it is indented by: YAML of one place may stand deeper in another.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

/// The title that a frame of the notes carries.
fn title<'a>(notes: &'a Notes, figure: &str) -> &'a str {
    let (frames, begin, end) =
        if notes.host == Host::Myst { (":::{iframe}", ":title: ", '\n') } else { ("<iframe", "title=\"", '"') };
    let frame = notes.text.split(frames).find(|frame| frame.contains(&format!("#embed-{figure}")));
    let title = frame.and_then(|frame| frame.split(begin).nth(1)).and_then(|title| title.split(end).next());
    title.unwrap_or_else(|| panic!("no frame of {figure}"))
}

#[test]
fn the_frames_of_the_course_notes_are_the_snippets_of_the_page() {
    for notes in &NOTES {
        for (at, asked) in notes.figures.iter().enumerate() {
            let (folder, query) = asked.split_once('?').unwrap_or(("", asked));
            let (embed, notices) = Embed::read(query);
            assert_eq!(notices, []);
            let (embed, scenario) = (embed.expect("a figure"), link::decode(query).scenario);
            let page = format!("{PAGE}{folder}");
            let share = Share {
                page: &page,
                beginning: Beginning::Site,
                site: PAGE,
                scenario: &scenario,
                vs: &Pinned::NONE,
                title: title(notes, &embed.figure),
                anchor: "",
            };
            let caption = notes.caption.filter(|_| at + 1 == notes.figures.len());
            let still = caption.map(|caption| Still { file: "picture.png".to_owned(), caption: caption.to_owned() });
            let snippet = notes.host.write_with(&share, &embed, HEIGHT, still.as_ref());
            assert!(notes.text.contains(&snippet), "{} should hold\n{snippet}", notes.host.name());
        }
        assert_eq!(notes.text.matches("#embed-").count(), notes.figures.len());
    }
}

#[test]
fn what_is_said_once_for_a_site_is_in_its_settings() {
    let scenario = bmax::Scenario::workshop();
    let share = Share {
        page: PAGE,
        beginning: Beginning::Site,
        site: PAGE,
        scenario: &scenario,
        vs: &Pinned::NONE,
        title: "",
        anchor: "",
    };
    for notes in &NOTES {
        // MyST lets no script in.
        let Some((_, once)) = notes.host.once(&share) else { continue };
        // Other settings may stand between the lines, as long as their order is kept.
        let settings = lines(notes.settings);
        let mut rest = settings.iter();
        for line in lines(&once) {
            assert!(rest.any(|setting| *setting == line), "the settings of {} lack “{line}”", notes.host.name());
        }
    }
}

#[test]
fn the_document_for_teachers_shows_the_same_frame_and_the_same_lines() {
    let document = include_str!("../docs/course-notes.md").replace("BMAX", PAGE);
    let query = NOTES[0].figures[1];
    let (embed, scenario) = (Embed::read(query).0.expect("a figure"), link::decode(query).scenario);
    let share = Share {
        page: PAGE,
        beginning: Beginning::Site,
        site: PAGE,
        scenario: &scenario,
        vs: &Pinned::NONE,
        title: "What this figure shows",
        anchor: "",
    };
    assert!(document.contains(&Host::Html.write(&share, &embed, HEIGHT)));
    for notes in &NOTES {
        let Some((file, once)) = notes.host.once(&share) else { continue };
        let last = once.lines().last().expect("a line").trim();
        let row = document.lines().find(|row| row.starts_with('|') && row.contains(last) && row.contains(file));
        assert!(row.is_some(), "docs/course-notes.md has no recipe with “{last}” in “{file}”");
    }
}

#[test]
fn the_document_for_teachers_shows_how_each_tool_takes_a_still() {
    let document = include_str!("../docs/course-notes.md");
    let scenario = bmax::Scenario::workshop();
    let share = Share {
        page: PAGE,
        beginning: Beginning::Site,
        site: PAGE,
        scenario: &scenario,
        vs: &Pinned::NONE,
        title: "T",
        anchor: "",
    };
    let still = Still { file: "FILE.png".to_owned(), caption: "C".to_owned() };
    for (host, mark) in [
        (Host::Readme, "(FILE.png)]("),
        (Host::Quarto, "::: {.content-visible unless-format=\"html\"}"),
        (Host::Sphinx, "```{only} not html"),
        (Host::Myst, ":placeholder: FILE.png"),
    ] {
        assert!(host.write_with(&share, &Embed::of("chart"), HEIGHT, Some(&still)).contains(mark), "{}", host.name());
        let row = document.lines().find(|row| row.starts_with('|') && row.contains(mark));
        assert!(row.is_some(), "docs/course-notes.md has no row with “{mark}”");
    }
}
