//! Tests hold that the texts for programs name every parameter, model, GPU and figure, and that their links lead somewhere.

use bmax::embed::{Embed, Message};
use bmax::{Scenario, link, proof};

use super::super::text;
use super::*;

fn known() -> Address {
    Address::read("https://example.org/bmax/").expect("an address")
}

fn unknown() -> Address {
    Address::read("").expect("none")
}

/// The links of a text in Markdown: what each is called, and where it leads.
fn links(text: &str) -> Vec<(&str, &str)> {
    let after = |part: &'static str, from| text[from..].find(part).map(|at| from + at);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(middle) = after("](", from) {
        let end = after(")", middle).expect("a link ends");
        let begin = text[..middle].rfind('[').expect("a link begins");
        found.push((&text[begin + 1..middle], &text[middle + 2..end]));
        from = end;
    }
    found
}

/// The files that the build writes beside the pages, by the steps of `main.rs`.
const FILES: [&str; 5] = [PROGRAMS, COMMAND_LINE, CATALOGUE, LICENCE, bill::FILE];

#[test]
fn every_link_of_the_list_leads_to_a_page_or_a_file_that_the_build_writes() {
    let pages = text::site();
    for (address, root) in [(known(), "https://example.org/bmax/"), (unknown(), "")] {
        let list = llms(&pages, &address).expect("it can be written");
        let all = links(&list);
        for (name, to) in &all {
            let to = to.strip_prefix(root).unwrap_or_else(|| panic!("{name}: {to} is not below {root}"));
            let path = to.split(['?', '#']).next().unwrap_or_default();
            let path = path.strip_prefix("./").unwrap_or(path);
            assert!(FILES.contains(&path) || pages.iter().any(|page| place(page) == path), "{name}: {to}");
        }
        for page in &pages {
            let to = address.of(&place(page), "./");
            assert!(all.contains(&(page.name.as_str(), to.as_str())), "{to} is missing");
        }
        for file in FILES {
            assert!(all.iter().any(|(_, to)| to.strip_prefix(root) == Some(file)), "{file} is missing");
        }
    }
}

/// The order of <https://llmstxt.org/>: a title, a quotation, text without headings, and sections with nothing but lists of
/// links.
#[test]
fn the_list_has_the_form_of_its_specification_and_is_small() {
    let list = llms(&text::site(), &known()).expect("it can be written");
    assert!(list.len() < 8_000, "{} bytes", list.len());
    let mut lines = list.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next(), Some("# bmax"));
    assert!(lines.next().is_some_and(|line| line.starts_with("> ")));
    let rest: Vec<&str> = lines.skip_while(|line| !line.starts_with('#')).collect();
    assert!(rest.iter().filter(|line| line.starts_with("## ")).count() >= 3);
    for line in rest {
        assert!(line.starts_with("## ") || line.starts_with("- ["), "{line}");
    }
    assert_eq!(list.matches("\n# ").count(), 0, "one title");
}

#[test]
fn the_text_names_every_parameter_model_gpu_figure_and_option_and_is_small() {
    let pages = text::site();
    let text = programs(&pages, &known()).expect("it can be written");
    assert!(text.len() < 40_000, "{} bytes", text.len());
    let names = link::parameters().into_iter().map(|parameter| parameter.key).chain(embed::KEYS);
    let names = names.chain([link::VS, link::NETWORK]);
    let slugs = MODELS.iter().map(|row| row.slug).chain(DEVICES.iter().map(|row| row.slug));
    for name in names.chain(slugs) {
        assert!(text.contains(&format!("`{name}`")), "{name} is not named");
    }
    let listed = text.split("\n## ").find(|section| section.starts_with("Figures")).expect("a section");
    for figure in pages.iter().flat_map(|page| &page.sections).flat_map(|section| &section.figures) {
        assert_eq!(listed.matches(&format!("\n- `{figure}`: ")).count(), 1, "{figure}");
    }
    for option in ["--json", "--read", "--require-fit", "--strict", "--schema"] {
        assert!(text.contains(option), "{option}");
    }
    assert!(text.contains("exit code 3") && text.contains("and 3\nwith --require-fit"));
    for word in
        ["contradiction", "uncounted", "unknown-model", "model-states", "first-sequence", "outside", "host-memory"]
    {
        assert!(text.contains(&format!("\n- `{word}`\n")), "{word}");
    }
}

#[test]
fn the_examples_are_read_without_a_complaint_and_answered_as_they_are_said_to_be() {
    let read = |example: &Example| link::decode(example.query);
    for example in [&FITS, &SHORT, &CONTRADICTION] {
        assert_eq!(read(example).notices, [], "{}", example.query);
    }
    let text = programs(&text::site(), &known()).expect("it can be written");
    let b_max = bmax::b_max(&read(&FITS).scenario).batch().expect("it fits");
    assert!(text.contains(&format!("`b_max` is {b_max} sequences per GPU")));
    assert_eq!(bmax::b_max(&read(&SHORT).scenario).batch(), None);
    let answers = [&FITS, &SHORT, &CONTRADICTION].map(|example| answer(example).expect("an answer")["answer"].clone());
    assert_eq!(answers.each_ref().map(|answer| answer["fits"].as_bool()), [Some(true), Some(false), None]);
    assert_eq!(answers[2]["reason"], "contradiction");
    let unknown = answer(&UNKNOWN).expect("an answer");
    assert_eq!((&unknown["reason"], &unknown["nearest"][0]), (&"unknown-model".into(), &"llama-3.1-8b".into()));
    // The frame and the message that are shown.
    let frame = format!("embed=answer&{}", FITS.query);
    assert!(text.contains(&format!("?{frame}\"")));
    assert_eq!(Embed::read(&frame), (Some(Embed::of("answer")), vec![]));
    assert!(text.contains("type: \"change\", scenario: \"s=8192\""));
    assert!(matches!(Message::read(Some("change"), Some("s=8192"), &Scenario::default()), Ok(Message::Scenario(_))));
    assert_eq!(link::decode("vs=recompute:full;s:4096").notices, []);
}

#[test]
fn accuracy_is_what_the_comparison_with_real_runs_says() {
    let text = programs(&text::site(), &known()).expect("it can be written");
    for said in proof::SAID {
        assert!(text.contains(&format!("\n- {said}\n")), "{said}");
    }
    let none = "No real run of this kind was compared.";
    for query in ["task=dpo", "model=qwen2-vl-7b", "model=t5-base", "lengths=padded", "fp8=te-delayed"] {
        assert_eq!(proof::said(&link::decode(query).scenario), none, "{query}");
    }
}

#[test]
fn what_nothing_fills_and_what_fills_nothing_stop_the_build() {
    let fills = [("a", "{{b}}".to_owned())];
    assert_eq!(filled("x {{a}} y", &fills).as_deref(), Ok("x {{b}} y"));
    assert!(filled("{{a}} {{c}}", &fills).is_err_and(|said| said.contains("{{c}}")));
    assert!(filled("x", &fills).is_err_and(|said| said.contains("{{a}}")));
    assert!(filled("{{a", &fills).is_err());
}
