//! The README is a contract too: what it says of links must be what the codec does.

use bmax::catalogue::{DEVICES, MODELS};
use bmax::link;

const README: &str = include_str!("../README.md");

#[test]
fn the_readme_lists_every_link_parameter_with_its_range_and_default() {
    for parameter in link::parameters() {
        let link::Parameter { key, name, takes, default } = parameter;
        let row = format!("| `{key}` | {name} | {takes} | `{default}` |");
        assert!(README.contains(&row), "README.md lacks the row\n{row}");
    }
}

#[test]
fn the_readme_lists_every_model_and_gpu_by_its_slug() {
    for slug in MODELS.iter().map(|row| row.slug).chain(DEVICES.iter().map(|row| row.slug)) {
        assert!(README.contains(&format!("`{slug}`")), "README.md lacks `{slug}`");
    }
}

#[test]
fn the_example_link_of_the_readme_is_read_without_a_complaint() {
    let start = README.find("?v=2&").expect("an example link");
    let query: String = README[start..].chars().take_while(|c| !c.is_whitespace() && *c != '`').collect();
    assert_eq!(link::decode(&query).notices, []);
}
