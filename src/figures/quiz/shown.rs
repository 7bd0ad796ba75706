//! What the figure says: a verdict on each question that was checked, the score, and the worked answers that
//! follow the configuration.

use bmax::course::quiz::{self, COUNT, Doubling};

use crate::site::{Facts, format};

/// What was checked in a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// Nothing.
    Open,
    /// It was to be checked before an option was chosen.
    Empty,
    /// The option with this letter.
    Chosen(u8),
}

/// What the figure says.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What is said about each question.
    pub questions: Vec<Checked>,
    /// The verdict on the question that was checked last, and how many are right.
    pub score: String,
    /// Which part is largest, worked out.
    pub parts: String,
    /// What twice the length does, worked out.
    pub doubling: String,
}

/// What is said about a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The verdict, once it was checked.
    pub verdict: Option<String>,
    /// Whether it is a good one.
    pub is_right: bool,
    /// The letter of the option that was checked.
    pub letter: Option<u8>,
}

impl Checked {
    fn of(place: usize, mark: Mark, facts: &Facts) -> Self {
        let letter = match mark {
            Mark::Open => return Self { verdict: None, is_right: false, letter: None },
            Mark::Empty => {
                let verdict = Some("Choose one of the four answers first.".to_owned());
                return Self { verdict, is_right: false, letter: None };
            }
            Mark::Chosen(letter) => letter,
        };
        let right = quiz::right(place, &facts.scenario, &facts.estimate, &facts.answer);
        let verdict = match char::from(right.to_ascii_uppercase()) {
            _ if letter == right => "Right.".to_owned(),
            right => format!("Wrong: it is {right}."),
        };
        Self { verdict: Some(verdict), is_right: letter == right, letter: Some(letter) }
    }
}

impl Shown {
    /// What these marks show under these facts; `last` is the question that was checked last.
    pub fn of(facts: &Facts, marks: &[Mark; COUNT], last: Option<usize>) -> Self {
        let questions: Vec<_> =
            marks.iter().enumerate().map(|(place, mark)| Checked::of(place, *mark, facts)).collect();
        Self {
            score: score(&questions, last),
            parts: parts(facts),
            doubling: doubling(&Doubling::of(&facts.scenario, &facts.answer)),
            questions,
        }
    }
}

fn score(questions: &[Checked], last: Option<usize>) -> String {
    let checked = questions.iter().filter(|question| question.letter.is_some()).count();
    let right = questions.iter().filter(|question| question.is_right).count();
    let score = match checked {
        0 => "None checked so far.".to_owned(),
        _ => format!("{right} of {checked} right so far."),
    };
    let verdict = last.and_then(|last| Some((last + 1, questions.get(last)?.verdict.as_ref()?)));
    verdict.map_or_else(|| score.clone(), |(number, verdict)| format!("Question {number}: {verdict} {score}"))
}

/// What both answers end with, before the place they lead to. Their words are the program's own, so that they
/// are HTML as they stand.
const FOLLOWS: &str = "It follows your configuration; so does the verdict.";

fn parts(facts: &Facts) -> String {
    let [states, activations, temporary, process] = quiz::parts(&facts.estimate).map(format::memory);
    format!(
        "At your peak, “{}”, model states take {states}, activations and batch {activations}, logits \
         and temporary tensors {temporary}, the process {process}. {FOLLOWS} <span class=\"quiz-where\"><a href=\"#calculator\">Every \
         entry</a></span>",
        facts.estimate.peak().instant.name
    )
}

fn doubling(doubling: &Doubling) -> String {
    // A bare zero would be read as a batch.
    let [now, then] =
        [doubling.now, doubling.then].map(|most| if most == 0 { "none".to_owned() } else { format::count(most) });
    format!(
        "With the length as it is, <math><msub><mi>b</mi><mi>max</mi></msub></math> is {now}; at twice the length, \
         {then}. {FOLLOWS} <span class=\"quiz-where\"><a href=\"#sequence\">Batch and sequence length</a></span>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::Scenario;
    use bmax::course::quiz::{DOUBLED_LENGTH, KEY, LARGEST_PART};
    use proptest::prelude::*;

    fn right(place: usize, facts: &Facts) -> u8 {
        quiz::right(place, &facts.scenario, &facts.estimate, &facts.answer)
    }

    fn marked(facts: &Facts, marked: &[(usize, Mark)]) -> Shown {
        let mut marks = [Mark::Open; COUNT];
        for (place, mark) in marked {
            marks[*place] = *mark;
        }
        Shown::of(facts, &marks, marked.last().map(|(place, _)| *place))
    }

    #[test]
    fn every_question_is_answered_right_by_its_letter() {
        let facts = facts_of(Scenario::workshop());
        let marks: Vec<_> = (0..COUNT).map(|place| (place, Mark::Chosen(right(place, &facts)))).collect();
        let shown = marked(&facts, &marks);
        assert!(shown.questions.iter().all(|said| said.is_right && said.verdict.as_deref() == Some("Right.")));
        assert_eq!(shown.score, format!("Question {COUNT}: Right. {COUNT} of {COUNT} right so far."));
    }

    #[test]
    fn a_wrong_answer_names_the_right_one_and_a_check_without_a_choice_asks_for_one() {
        let facts = facts_of(Scenario::workshop());
        assert_eq!((KEY[0], KEY[4]), (b'd', b'd'));
        let shown = marked(&facts, &[(0, Mark::Chosen(b'd')), (4, Mark::Chosen(b'a'))]);
        assert_eq!(shown.questions[4].verdict.as_deref(), Some("Wrong: it is D."));
        assert_eq!(shown.score, "Question 5: Wrong: it is D. 1 of 2 right so far.");
        let shown = marked(&facts, &[(2, Mark::Empty)]);
        assert_eq!(shown.score, "Question 3: Choose one of the four answers first. None checked so far.");
        assert_eq!(shown.questions[2].letter, None);
        assert_eq!(marked(&facts, &[]).score, "None checked so far.");
    }

    #[test]
    fn questions_on_the_configuration_follow_it() {
        let facts = facts_of(Scenario::workshop());
        let mut alone = Scenario::workshop();
        alone.cluster.gpus = 1;
        let alone = facts_of(alone);
        for place in [LARGEST_PART, DOUBLED_LENGTH] {
            let mark = [(place, Mark::Chosen(right(place, &facts)))];
            assert!(marked(&facts, &mark).questions[place].is_right);
            assert!(!marked(&alone, &mark).questions[place].is_right, "one GPU is another case");
        }
        assert!(marked(&alone, &[]).doubling.contains("is none; at twice the length, none."));
        for part in quiz::parts(&facts.estimate) {
            assert!(marked(&facts, &[]).parts.contains(&format::memory(part)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_verdict_on_every_answer(scenario in any_scenario(), letter in b'a'..=b'd') {
            let shown = Shown::of(&facts_of(scenario), &[Mark::Chosen(letter); COUNT], Some(0));
            prop_assert!(shown.questions.iter().all(|said| said.verdict.is_some()));
            texts_are_sound(&(&shown.questions, &shown.score));
            for worked in [&shown.parts, &shown.doubling] {
                prop_assert!(!worked.contains("NaN") && !worked.contains(" ."), "{}", worked);
            }
        }
    }
}
