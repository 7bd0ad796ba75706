//! The words of the course: its questions, its answers, and every number in them.
//!
//! The text is written by hand; what it says is computed. Here they are held
//! together.

use crate::support::printed::{numbers, prints};

use bmax::course::quiz::{self, COUNT, KEY, Options};
use bmax::course::quoted::{self, Quoted, RULE_TO_8};
use bmax::link::Beginning;
use bmax::{Bucket, Method, Precision, Recomputation, Scenario, b_max, catalogue, estimate};

const QUIZ: &str = include_str!("../src/figures/quiz/questions.html");

/// What stands between `start` and the next `end`, and what comes after.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end)
}

/// The text of a fragment: tags become spaces.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut tag = false;
    for character in html.chars() {
        match character {
            '<' => tag = true,
            '>' => {
                tag = false;
                text.push(' ');
            }
            _ if tag => {}
            _ => text.push(character),
        }
    }
    text
}

/// One question of the page.
struct Asked<'a> {
    question: &'a str,
    right: Option<&'a str>,
    options: Vec<&'a str>,
    whys: Vec<&'a str>,
    /// Nothing where the answer follows the configuration.
    worked: Option<&'a str>,
}

fn asked() -> Vec<Asked<'static>> {
    let mut found = Vec::new();
    let mut rest = QUIZ;
    while let Some((item, after)) = between(rest, "<li class=\"quiz-item\">", "</li>") {
        let (fieldset, _) = between(item, "<fieldset", ">").expect("a fieldset");
        let (question, _) = between(item, "<legend>", "</legend>").expect("a question");
        let mut options = Vec::new();
        let mut of = item;
        while let Some((option, after)) = between(of, "<label>", "</label>") {
            options.push(between(option, "</b> ", "</span>").expect("words").0);
            of = after;
        }
        let mut whys = Vec::new();
        let mut of = item;
        while let Some((why, after)) = between(of, "<p class=\"quiz-why\">", "</p>") {
            whys.push(why);
            of = after;
        }
        let worked = between(item, "<p class=\"quiz-worked\">", "</p>").map(|(worked, _)| worked);
        let right = between(fieldset, "data-right=\"", "\"").map(|(letter, _)| letter);
        found.push(Asked { question, right, options, whys, worked });
        rest = after;
    }
    found
}

#[test]
fn every_question_has_four_options_and_a_word_on_each_and_settled_ones_a_worked_answer() {
    assert_eq!(asked().len(), COUNT);
    for Asked { question, options, whys, worked, .. } in asked() {
        assert_eq!((options.len(), whys.len()), (4, 4), "{question}");
        assert!(options.iter().chain(&whys).all(|words| !words.is_empty()), "{question}");
        assert!(worked.is_none_or(|worked| worked.len() > 40), "{question}");
    }
    let worked = asked().iter().filter(|question| question.worked.is_some()).count();
    assert_eq!(worked, quiz::settled().len(), "an answer that is the same for everybody is written down");
}

#[test]
fn the_option_that_the_page_marks_right_is_the_one_that_is_computed() {
    for (place, question) in asked().iter().enumerate() {
        let letter = char::from(KEY[place]).to_string();
        assert_eq!(question.right, Some(letter.as_str()).filter(|letter| *letter != " "), "{}", question.question);
        if let Some(settled) = quiz::settled().get(place) {
            assert_eq!(settled.letter().map(|letter| char::from(letter).to_string()).as_deref(), question.right);
        }
    }
}

#[test]
fn an_option_that_is_a_quantity_prints_the_one_that_is_computed() {
    for (question, settled) in asked().iter().zip(quiz::settled()) {
        let Options::Quantities { said, .. } = settled.options else { continue };
        for (option, value) in question.options.iter().zip(said) {
            let text = plain(option);
            // The first question's options are words for sizes.
            let Some((printed, places, unit)) = numbers(&text).first().copied() else { continue };
            let size = match unit {
                "GiB" => 2_f64.powi(30),
                "MiB" => 2_f64.powi(20),
                "KiB" => 2_f64.powi(10),
                "GB" => 1e9,
                _ => 1.0,
            };
            assert!(prints(printed, places, value / size), "“{text}” should be {} {unit}", value / size);
        }
    }
}

#[test]
fn every_number_of_a_question_and_its_worked_answer_is_one_of_the_library_s() {
    let mut strangers = Vec::new();
    for (question, settled) in asked().iter().zip(quiz::settled()) {
        let asked = [question.question, question.worked.expect("it is written down")];
        let words = [&asked[..], &question.options, &question.whys].concat();
        for text in words.into_iter().map(plain) {
            // The year of a reference is no result.
            for (printed, places, _) in numbers(&text.replace("et al. 2018", "")) {
                if !settled.numbers.iter().any(|value| prints(printed, places, *value)) {
                    strangers.push(format!("{printed} in “{}”", text.trim()));
                }
            }
        }
    }
    assert_eq!(strangers, Vec::<String>::new());
}

const QUESTIONS: &str = include_str!("../src/pages/questions/02_questions.md");

/// Every question of the list with its answer in Markdown: each is a fold, which a heading of four signs begins.
fn items() -> Vec<(&'static str, &'static str)> {
    let folds = QUESTIONS.split("\n#### ").skip(1);
    let item = |fold: &'static str| fold.split_once('\n').expect("a question and its answer");
    folds.map(item).map(|(question, answer)| (question, answer.split("\n### ").next().unwrap_or(answer))).collect()
}

/// A text with its quoted numbers filled in.
fn filled(text: &str) -> String {
    let fill = |text: String, row: &Quoted| text.replace(&format!("{{{{quoted:{}}}}}", row.key()), row.value);
    quoted::ALL.iter().copied().fold(text.to_owned(), fill)
}

/// Every question with the words of its answer: those of a link without where it leads, and quoted numbers filled in.
fn answered() -> Vec<(&'static str, String)> {
    let words = |answer: &str| {
        let answer = filled(answer);
        let mut parts = answer.split("](");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, after)| after));
        rest.fold(first, |text, part| text + part).replace(['[', '$', '`'], " ")
    };
    items().into_iter().map(|(question, answer)| (question, words(answer))).collect()
}

/// Asserts that the answer to a question prints each of these numbers, and no other.
fn answer_prints(start: &str, expected: &[f64]) {
    let all = answered();
    let (_, answer) = all.iter().find(|(question, _)| question.starts_with(start)).expect(start);
    // Years of references and digits of names are no results.
    let words = ["2009", "2016", "2017", "2018", "2022", "2024", "A100", "H100", "7B", "PCIe 4.0"];
    let answer = words.iter().fold(answer.clone(), |text, word| text.replace(word, ""));
    let mut missing = expected.to_vec();
    for (printed, places, unit) in numbers(&answer) {
        assert!(expected.iter().any(|value| prints(printed, places, *value)), "{start}: {printed} {unit}");
        missing.retain(|value| !prints(printed, places, *value));
    }
    assert!(missing.is_empty(), "{start}: {missing:?} should be in “{answer}”");
}

fn most(change: impl Fn(&mut Scenario)) -> f64 {
    let mut scenario = Scenario::workshop();
    change(&mut scenario);
    b_max(&scenario).batch().unwrap_or(0).into()
}

#[test]
fn the_five_questions_of_the_source_and_more_are_answered() {
    let questions = answered();
    assert!((5..=12).contains(&questions.len()), "{} questions", questions.len());
    for words in [
        "batch size affect convergence",
        "calculate the largest batch for my GPU",
        "gradient accumulation, and when",
        "difference between fp32, fp16 and bf16",
        "several GPUs scale",
    ] {
        assert!(questions.iter().any(|(question, _)| question.contains(words)), "nobody answers “{words}”");
    }
    for (question, answer) in &questions {
        assert!(question.ends_with('?') && answer.split_whitespace().count() < 120, "{question} is answered shortly");
    }
}

#[test]
fn every_answer_leads_to_a_figure() {
    for (question, answer) in items() {
        assert!(answer.contains("](#") || answer.contains('`'), "{question}");
    }
}

#[test]
fn the_answers_on_memory_print_the_library_s_numbers() {
    let workshop = Scenario { method: Method::Workshop, ..Scenario::workshop() };
    let division = bmax::division::division(&workshop);
    let left = (division.usable - division.fixed).gib();
    let [fixed, sequence] = [division.fixed, division.per_sequence].map(|bytes| bytes.gib());
    let by_workshop = b_max(&workshop).batch().expect("it fits").into();
    let usable = division.usable.gib();
    answer_prints("How do I calculate", &[80.0, usable, fixed, left, sequence, by_workshop, most(|_| ())]);
    answer_prints("Why does it run out", &[]);
    answer_prints("Why does nvidia-smi", &{
        let seen = bmax::counters(&Scenario::workshop());
        [3.0, seen.allocated.gib(), seen.reserved.gib(), seen.device.gib()]
    });
}

#[test]
fn the_answers_on_devices_print_the_catalogue() {
    let rows = ["a100-80", "h100-80"].map(|slug| catalogue::device(slug).expect("listed"));
    let [a100, h100] = rows.map(|row| bmax::Bytes::from_mib(row.memory_mib.into()));
    let [seen, seen_too] = rows.map(|row| f64::from(row.visible_mib));
    answer_prints("Is an 80 GB card", &[a100.mib(), a100.gib(), a100.gb(), h100.mib(), h100.gib(), seen, seen_too]);
    let bmax::runtime::Unknown { optimistic, safe, .. } = bmax::runtime::CUDA_CONTEXT;
    let library = bmax::runtime::COMMUNICATION;
    answer_prints(
        "How much memory should",
        &[optimistic, safe, library.optimistic, library.safe].map(bmax::Bytes::gib),
    );
}

#[test]
fn the_answers_on_batches_print_what_is_computed() {
    answer_prints("How does the batch size", &[2.0, 2.0_f64.sqrt()]);
    answer_prints("What is gradient accumulation", &[256.0, 4.0, 8.0]);
    let [smallest, largest] = [2_f64.powi(-24) * 1e8, f64::from(f32::MAX) / 1e38];
    answer_prints("What is the difference", &[4.0, largest, 10.0, 38.0, 23.0, 2.0, smallest, 8.0, 65_504.0, 7.0]);
    // The page that gives 90–95 % also says 1.8 to 1.95 for two; 95 % are 1.9.
    let [least, most] = [RULE_TO_8.number(), RULE_TO_8.end()];
    answer_prints("How does training on several", &[2.0, 1.0, least, most, 8.0, 0.02 * least, 0.02 * most]);
    answer_prints("In which order", &[]);
}

/// Asserts that a section prints a sentence, wherever its lines end.
fn says(section: &str, words: &str) {
    let flowing = filled(section);
    let flowing = flowing.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains(words), "the section should say “{words}”");
}

#[test]
fn the_sections_print_the_library_s_numbers_where_a_question_could_be_asked() {
    let fixed = bmax::number::fixed;
    let fp32 = most(|scenario| scenario.recipe.precision = Precision::Fp32);
    says(
        include_str!("../src/pages/memory/03_precision.md"),
        &format!("$b_\\max$ goes from {fp32} in fp32 to {}.", most(|_| ())),
    );
    let mut alone = Beginning::Workshop.scenario();
    alone.cluster.gpus = 1;
    let states = bmax::division::division(&alone).fixed.gib();
    says(
        include_str!("../src/pages/workshop/04_grow.md"),
        &format!("the fixed part of this model is {} GiB", fixed(states, 1)),
    );
    let link = catalogue::speed(&Scenario::workshop()).host_bytes_per_second / 1e9;
    says(
        include_str!("../src/pages/room/04_swap.md"),
        &format!("takes {} s at 12.8 GB/s and {} s at {link}", fixed(5.12 / 12.8, 1), fixed(5.12 / link, 2)),
    );
}

#[test]
fn the_sections_on_recomputation_print_what_the_methods_count() {
    let activations = |model: &str, recomputation| {
        let mut scenario = catalogue::model(model).expect("listed").apply(Scenario::workshop());
        scenario.method = Method::Paper;
        scenario.recipe.recomputation = recomputation;
        estimate(&scenario).bucket(Bucket::Activations).get()
    };
    let saves = |kind| 100.0 * (1.0 - activations("gpt-3-175b", kind) / activations("gpt-3-175b", Recomputation::None));
    let example = Scenario { method: Method::Ledger, ..Beginning::Workshop.scenario() };
    let mut full = example;
    full.recipe.recomputation = Recomputation::Full;
    let sequence = |scenario: &Scenario| bmax::division::division(scenario).per_sequence.get();
    let ledger = 100.0 * (1.0 - sequence(&full) / sequence(&example));
    let levers = include_str!("../src/pages/workshop/08_larger.md");
    says(levers, &format!("{ledger:.0} % for the workshop’s example"));
    says(levers, &format!("about {:.0} % more FLOPs", 100.0 * bmax::cost::extra_work(&full)));
    let recomputation = include_str!("../src/pages/room/03_recomputation.md");
    says(recomputation, &format!("from 114 to 2 bytes, {:.0} % less", saves(Recomputation::Full)));
    says(recomputation, &format!("Selective recomputation, {:.0} % saved.", saves(Recomputation::Selective)));
}
