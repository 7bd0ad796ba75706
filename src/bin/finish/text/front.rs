//! What stands in front of a file's text: `+++`, a few lines of TOML, `+++`.

use bmax::link::Beginning;
use serde::Deserialize;

use super::super::Result;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    heading: Option<String>,
    id: Option<String>,
    label: Option<String>,
    begins: Option<String>,
    #[serde(default)]
    former: Vec<String>,
}

/// What the first file of a page says of the page, and of itself.
pub struct Opening {
    pub name: String,
    pub title: String,
    pub description: String,
    pub heading: String,
    pub id: String,
    pub label: Option<String>,
    /// What the figures of the page begin with.
    pub begins: Beginning,
    pub former: Vec<String>,
}

fn lines(source: &str) -> Result<Lines> {
    toml::from_str(source).map_err(|error| format!("front matter: {}", error.message()))
}

/// Front matter of the first file of a page: all of it is wanted.
pub fn opening(source: &str) -> Result<Opening> {
    let lines = lines(source)?;
    let wanted = |value: Option<String>, key: &str| {
        value.filter(|text| !text.is_empty()).ok_or_else(|| {
            format!(
                "front matter: {key} is missing; the first file of a page has name, title, description, heading and id"
            )
        })
    };
    Ok(Opening {
        name: wanted(lines.name, "name")?,
        title: wanted(lines.title, "title")?,
        description: wanted(lines.description, "description")?,
        heading: wanted(lines.heading, "heading")?,
        id: wanted(lines.id, "id")?,
        label: lines.label,
        begins: match lines.begins {
            None => Beginning::Site,
            Some(word) => {
                Beginning::from_key(&word).ok_or_else(|| format!("front matter: no page begins with “{word}”"))?
            }
        },
        former: lines.former,
    })
}

/// Front matter of any other file, which may have none: the ids by which older links know its section.
pub fn former(source: &str) -> Result<Vec<String>> {
    let Lines { name, title, description, heading, id, label, begins, former } = lines(source)?;
    let of_page = [
        ("name", name),
        ("title", title),
        ("description", description),
        ("heading", heading),
        ("id", id),
        ("label", label),
        ("begins", begins),
    ];
    match of_page.into_iter().find(|(_, value)| value.is_some()) {
        Some((key, _)) => Err(format!("front matter: {key} belongs into the first file of a page")),
        None => Ok(former),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "name = \"A\"\ntitle = \"B\"\ndescription = \"C\"\nheading = \"D\"\nid = \"e\"\n";

    #[test]
    fn an_opening_that_lacks_a_line_is_refused_by_its_name() {
        assert!(opening(WHOLE).is_ok());
        for key in ["name", "title", "description", "heading", "id"] {
            let less: Vec<&str> = WHOLE.lines().filter(|line| !line.starts_with(key)).collect();
            let fault = opening(&less.join("\n")).err().expect("it is refused");
            assert!(fault.contains(&format!("{key} is missing")), "{fault}");
            let line = WHOLE.lines().find(|line| line.starts_with(key)).expect("it is there");
            assert!(former(line).expect_err("it is refused").contains(key));
        }
    }

    #[test]
    fn a_page_begins_as_most_do_or_as_it_says() {
        let begins = |line: &str| opening(&(WHOLE.to_owned() + line)).map(|opening| opening.begins);
        assert_eq!(begins(""), Ok(Beginning::Site));
        assert_eq!(begins("begins = \"workshop\""), Ok(Beginning::Workshop));
        assert!(begins("begins = \"x\"").expect_err("it is refused").contains("“x”"));
    }

    #[test]
    fn a_word_that_front_matter_does_not_know_is_refused() {
        assert!(former("lable = \"x\"").expect_err("it is refused").contains("lable"));
        assert_eq!(former("former = [\"a\", \"b\"]"), Ok(vec!["a".to_owned(), "b".to_owned()]));
    }
}
