//! Worked problems. Below a heading `### Title {#problem-ID}` the library's numbers for the problem of this id
//! (`src/course/problems/`) stand in the text as `{{name}}` or, with so many digits after the point, `{{name 1}}`;
//! `{{configuration}}` is the query of its configuration.

use bmax::course::problems::{self, Problem};
use bmax::{format, link};

use super::super::Result;

/// How the id of a problem's heading begins.
const ID: &str = "{#problem-";

/// The source of a section with every number of its problems in its place.
pub fn filled(source: &str) -> Result<String> {
    let mut filled = String::with_capacity(source.len());
    let mut problem = None;
    for line in source.split_inclusive('\n') {
        if line.starts_with("## ") || line.starts_with("### ") {
            problem =
                line.split_once(ID).and_then(|(_, rest)| rest.split_once('}')).map(|(id, _)| found(id)).transpose()?;
        }
        match problem {
            Some(problem) => filled += &with_numbers(line, problem)?,
            None => filled += line,
        }
    }
    Ok(filled)
}

fn found(id: &str) -> Result<&'static Problem> {
    problems::find(id).ok_or_else(|| format!("the library has no problem {id}; they are in src/course/problems/"))
}

fn with_numbers(line: &str, problem: &Problem) -> Result<String> {
    let mut parts = line.split("{{");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part
            .split_once("}}")
            .ok_or_else(|| format!("problem {}: “{{{{{}” is not closed on its line", problem.id, part.trim_end()))?;
        written += &number(name, problem)?;
        written += rest;
    }
    Ok(written)
}

/// What stands for a name, with the digits that are asked for behind it.
fn number(name: &str, problem: &Problem) -> Result<String> {
    if name == "configuration" {
        return Ok(link::encode(&problem.scenario));
    }
    let (name, places) = name.split_once(' ').unwrap_or((name, "0"));
    let places = places.parse().map_err(|_| format!("problem {}: “{places}” are no digits of {name}", problem.id))?;
    let value = problem.number(name).ok_or_else(|| format!("problem {} has no number {name}", problem.id))?;
    Ok(format::digits(value, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "### Four GPUs {#problem-four-gpus}\n\n";

    #[test]
    fn a_number_stands_with_the_digits_that_are_asked_for_and_the_configuration_as_its_query() {
        // 16 · 7·10⁹ / 4 bytes are 28 GB or 26.08 GiB.
        let source = format!("{HEADING}{{{{states-gb}}}} GB, {{{{states 1}}}} GiB, [x](?{{{{configuration}}}}#a)\n");
        assert_eq!(
            filled(&source),
            Ok(format!(
                "{HEADING}28 GB, 26.1 GiB, [x](?v=4&model=7b&gpu=a100-80&b=3&gpus=4&chart_gpus=64&method=workshop&chart_recompute=full#a)\n"
            ))
        );
    }

    #[test]
    fn text_that_belongs_to_no_problem_is_left_alone() {
        let source = format!("{{{{figure:x}}}}\n{HEADING}\n### Another part\n\n{{{{fits}}}}\n");
        assert_eq!(filled(&source), Ok(source));
    }

    #[test]
    fn what_the_library_does_not_know_is_refused_by_its_name() {
        for (source, name) in [
            ("### X {#problem-nobody-has}\n".to_owned(), "nobody-has"),
            (format!("{HEADING}{{{{speed}}}}\n"), "speed"),
            (format!("{HEADING}{{{{fits one}}}}\n"), "one"),
            (format!("{HEADING}{{{{fits\n}}}}\n"), "fits"),
        ] {
            assert!(filled(&source).expect_err("it is refused").contains(name), "{source}");
        }
    }
}
