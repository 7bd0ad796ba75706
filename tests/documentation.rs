//! The README is a contract too: what it says of links must be what the codec does.

use bmax::catalogue::{DEVICES, MODELS};
use bmax::{Field, link};

const README: &str = include_str!("../README.md");

#[test]
fn the_readme_lists_every_model_and_gpu_by_its_slug() {
    for slug in MODELS.iter().map(|row| row.slug).chain(DEVICES.iter().map(|row| row.slug)) {
        assert!(README.contains(&format!("`{slug}`")), "README.md lacks `{slug}`");
    }
}

#[test]
fn the_example_link_of_the_readme_is_read_without_a_complaint() {
    let start = README.find("?v=3&").expect("an example link");
    let query: String = README[start..].chars().take_while(|c| !c.is_whitespace() && *c != '`').collect();
    assert_eq!(link::decode(&query).notices, []);
}

#[test]
fn the_readme_shows_only_letters_and_units_that_are_read() {
    let quoted = |cell: &'static str| cell.split('`').skip(1).step_by(2);
    let rows = README.split("| number | may be written | and is |").nth(1).expect("a table").lines().skip(2);
    let mut shown = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.split('|').collect();
        for key in quoted(cells[1]) {
            let field = Field::from_key(key).unwrap_or_else(|| panic!("{key} is no number"));
            for example in quoted(cells[2]) {
                assert!(field.typed(example).is_ok(), "{key}={example}");
                shown += 1;
            }
        }
    }
    assert!(shown > 10, "{shown} examples");
}

/// The markup of every section.
fn sections() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page");
    let files = std::fs::read_dir(folder).expect("the sections").map(|entry| entry.expect("an entry").path());
    files.filter_map(|folder| std::fs::read_to_string(folder.join("prose.html")).ok()).collect()
}

#[test]
fn the_readme_names_every_figure_and_each_can_be_linked_by_that_name() {
    let html = sections();
    let names: Vec<&str> = html.split("data-figure=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        assert!(README.contains(&format!("`{name}`")), "README.md lacks the figure `{name}`");
        assert_eq!(html.matches(&format!(" id=\"{name}\"")).count(), 1, "one element with the id {name}");
        let figure = format!("<figure class=\"figure\" id=\"embed-{name}\"");
        assert_eq!(html.matches(&figure).count(), 1, "{name} can be embedded without JavaScript");
    }
}

#[test]
fn the_readme_lists_every_parameter_of_embeds() {
    for key in bmax::embed::KEYS {
        assert!(README.contains(&format!("| `{key}` | ")), "README.md lacks `{key}`");
    }
    let (least, most) = bmax::embed::HEIGHTS;
    assert!(README.contains(&format!("from {least} to {most}, in CSS pixels")));
}

#[test]
fn the_frame_of_the_readme_shows_a_figure_with_and_without_javascript() {
    let start = README.find("?embed=").expect("an example");
    let (query, fragment) =
        README[start..].split('"').next().and_then(|address| address.split_once('#')).expect("both");
    let (embed, notices) = bmax::embed::Embed::read(query);
    let figure = embed.expect("an embed").figure;
    assert_eq!((notices, link::decode(query).notices), (vec![], vec![]));
    assert_eq!(fragment, format!("embed-{figure}"));
    assert!(sections().contains(&format!(" id=\"{fragment}\"")));
}
