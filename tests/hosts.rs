//! The course notes in `tests/hosts/` hold what the page's own snippets say, to the letter, so that what is
//! tested on them in browsers is what a teacher pastes.

use bmax::embed::Embed;
use bmax::link;
use bmax::snippet::{HEIGHT, Host, Share};

/// Where the notes find the page. The tests' network has no certificates.
const PAGE: &str = "http://bmax.example/week-3/";

/// A file of the notes, how it is written, its figures as they are asked for, with the page that has them where that
/// is not the first, and the file that lets the script in for a whole site.
const NOTES: [(&str, Host, [&str; 2], &str); 3] = [
    (
        include_str!("hosts/plain/index.html"),
        Host::Html,
        ["embed=grow&v=3&model=llama-3.1-8b&gpu=h100-80", "embed=chart&v=3&model=1b&gpus=64"],
        include_str!("hosts/plain/index.html"),
    ),
    (
        include_str!("hosts/mkdocs/docs/index.md"),
        Host::MkDocs,
        ["embed=buckets&v=3&model=13b", "room/?embed=recompute&controls=off&v=3&model=13b&recompute=full"],
        include_str!("hosts/mkdocs/mkdocs.yml"),
    ),
    (
        include_str!("hosts/jupyter-book/index.md"),
        Host::Sphinx,
        [
            "embed=answer&v=3&model=llama-3.2-3b&gpu=rtx-4090&b=1&gpus=1&adapter=lora",
            "embed=planner&v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&gpus=64&target=4000000&unit=tokens",
        ],
        include_str!("hosts/jupyter-book/_config.yml"),
    ),
];

/// The text of each line without what it is indented by: YAML of one place may stand deeper in another.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

/// The title that a frame of the notes carries.
fn title<'a>(notes: &'a str, figure: &str) -> &'a str {
    let frame = notes.split("<iframe").find(|frame| frame.contains(&format!("#embed-{figure}\"")));
    let title = frame.and_then(|frame| frame.split("title=\"").nth(1)).and_then(|title| title.split('"').next());
    title.unwrap_or_else(|| panic!("no frame of {figure}"))
}

#[test]
fn the_frames_of_the_course_notes_are_the_snippets_of_the_page() {
    for (notes, host, figures, _) in NOTES {
        for asked in figures {
            let (at, query) = asked.split_once('?').unwrap_or(("", asked));
            let (embed, notices) = Embed::read(query);
            assert_eq!(notices, []);
            let (embed, scenario) = (embed.expect("a figure"), link::decode(query).scenario);
            let page = format!("{PAGE}{at}");
            let share = Share {
                page: &page,
                site: PAGE,
                scenario: &scenario,
                vs: None,
                title: title(notes, &embed.figure),
                anchor: "",
            };
            let snippet = host.write(&share, &embed, HEIGHT);
            assert!(notes.contains(&snippet), "{} should hold\n{snippet}", host.name());
        }
        assert_eq!(notes.matches("<iframe").count(), figures.len());
    }
}

#[test]
fn what_is_said_once_for_a_site_is_in_its_settings() {
    let scenario = bmax::Scenario::default();
    let share = Share { page: PAGE, site: PAGE, scenario: &scenario, vs: None, title: "", anchor: "" };
    for (_, host, _, settings) in NOTES {
        let (_, once) = host.once(&share).expect("these tools let a script in");
        // Other settings may stand between the lines, as long as their order is kept.
        let settings = lines(settings);
        let mut rest = settings.iter();
        for line in lines(&once) {
            assert!(rest.any(|setting| *setting == line), "the settings of {} lack “{line}”", host.name());
        }
    }
}

#[test]
fn the_document_for_teachers_shows_the_same_frame_and_the_same_lines() {
    let document = include_str!("../docs/course-notes.md").replace("BMAX", PAGE);
    let query = NOTES[0].2[0];
    let (embed, scenario) = (Embed::read(query).0.expect("a figure"), link::decode(query).scenario);
    let share =
        Share { page: PAGE, site: PAGE, scenario: &scenario, vs: None, title: "What this figure shows", anchor: "" };
    assert!(document.contains(&Host::Html.write(&share, &embed, HEIGHT)));
    for (_, host, _, _) in NOTES {
        let (file, once) = host.once(&share).expect("these tools let a script in");
        let last = once.lines().last().expect("a line").trim();
        let row = document.lines().find(|row| row.starts_with('|') && row.contains(last) && row.contains(file));
        assert!(row.is_some(), "docs/course-notes.md has no recipe with “{last}” in “{file}”");
    }
}
