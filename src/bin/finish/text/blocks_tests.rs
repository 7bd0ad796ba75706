use super::*;

/// Blocks of a section that is called “here”.
pub fn html(source: &str) -> Result<String> {
    blocks(&tree(source), &mut Blocks::of("here"))
}

#[test]
fn paragraphs_remarks_and_formulas_are_told_apart() {
    assert_eq!(
        html("Words\nof it.\n\nRemark: small\n\n$$a$$\n\n$$b$$\n$$c$$\n").expect("it is right"),
        "<p>Words of it.</p>\n<p class=\"small soft\">small</p>\n\
         <div class=\"formula\"><math display=\"block\"><mi>a</mi></math></div>\n\
         <div class=\"formula\"><math display=\"block\"><mi>b</mi></math></div>\n\
         <div class=\"formula\"><math display=\"block\"><mi>c</mi></math></div>\n"
    );
}

#[test]
fn lists_are_plain_or_steps_and_hold_formulas() {
    assert_eq!(
        html("- **a** b\n- c\n").expect("it is right"),
        "<ul>\n<li><strong>a</strong> b</li>\n<li>c</li>\n</ul>\n"
    );
    assert_eq!(
        html("1. One\n\n   $$a$$\n\n2. Two\n").expect("it is right"),
        "<ol class=\"steps\">\n<li>One<div class=\"formula\"><math display=\"block\"><mi>a</mi></math></div></li>\n\
         <li>Two</li>\n</ol>\n"
    );
}

#[test]
fn terms_and_facts_are_lists_of_pairs() {
    let pair = "$N$\n: parameters\n\n$L$\n: layers\n";
    let list = html(pair).expect("it is right");
    assert!(list.starts_with("<dl class=\"symbols\">\n<dt><var>N</var></dt><dd>parameters</dd>\n"), "{list}");
    let facts = html(&format!("```facts\n{pair}```\n")).expect("it is right");
    assert_eq!(facts.matches("<div class=\"fact\"><dt>").count(), 2, "{facts}");
}

#[test]
fn an_alert_is_a_note_with_or_without_a_title() {
    assert_eq!(
        html("> [!NOTE]\n> Mind it.\n").expect("it is right"),
        "<div class=\"note\">\n<p>Mind it.</p>\n</div>\n"
    );
    assert_eq!(
        html("> [!CAUTION]\n> **Title**\n>\n> Mind it.\n").expect("it is right"),
        "<div class=\"note note-caution\">\n<p class=\"note-title\">Title</p>\n<p>Mind it.</p>\n</div>\n"
    );
    assert!(html("> [!TIP]\n> no\n").is_err());
}

#[test]
fn the_answer_to_a_problem_is_a_fold_of_its_own_kind() {
    let found = html("### Two {#two}\n\nWhat?\n\n#### Answer\n\nThat.\n").expect("it is right");
    assert!(
        found.ends_with(
            "<p>What?</p>\n<details class=\"answer\">\n<summary>Answer</summary>\n<p>That.</p>\n</details>\n"
        ),
        "{found}"
    );
}

#[test]
fn a_small_heading_folds_what_comes_after_it() {
    assert_eq!(
        html("### Part\n\n#### Why?\n\nBecause.\n\n#### How?\n\nSo.\n").expect("it is right"),
        "<h3>Part</h3>\n<details class=\"faq\" id=\"question-why\">\n<summary>Why?</summary>\n<p>Because.</p>\n</details>\n\
         <details class=\"faq\" id=\"question-how\">\n<summary>How?</summary>\n<p>So.</p>\n</details>\n"
    );
}

#[test]
fn what_the_dialect_does_not_have_is_refused() {
    for source in ["# Title\n", "##### Deep\n", "> quotation\n", "```rust\ncode\n```\n", "---\n", "    code\n"] {
        assert!(html(source).is_err(), "{source}");
    }
}
