//! Sentences of the text with numbers that a reader drags. They are examples of their own and know nothing of the
//! reader's configuration. `words.rs` has them all as data; the text places each with `{{sentence:NAME}}`.

mod words;

use bmax::number;
use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::components::Drag;
use words::SENTENCES;

/// The most numbers of one sentence that can be dragged.
const MOST: usize = 3;

/// A sentence of the text.
#[derive(Debug)]
struct Sentence {
    /// The name of its place in the text, `data-sentence` in the page.
    name: &'static str,
    parts: &'static [Part],
}

/// A piece of a sentence.
#[derive(Debug)]
enum Part {
    Words(&'static str),
    Number(Number),
    /// What follows from the sentence's numbers, in their order; those that it does not have are 0.
    Result(fn([f64; MOST]) -> String),
}

/// A number that can be dragged.
#[derive(Debug)]
struct Number {
    /// What it counts, for who does not see the sentence.
    label: &'static str,
    /// The values that it takes, the smallest first.
    values: &'static [f64],
    /// The value that the text is built with, which is one of these.
    value: f64,
}

impl Sentence {
    /// The numbers that it is built with.
    fn numbers(&self) -> [f64; MOST] {
        let mut values = self.parts.iter().filter_map(|part| match part {
            Part::Number(number) => Some(number.value),
            _ => None,
        });
        [(); MOST].map(|()| values.next().unwrap_or_default())
    }

    /// Its results with these numbers.
    fn results(&self, numbers: [f64; MOST]) -> Vec<String> {
        let results = self.parts.iter().filter_map(|part| match part {
            Part::Result(of) => Some(of(numbers)),
            _ => None,
        });
        results.collect()
    }
}

/// A sentence of the text. A slider has to say what it changes, so that the results are read out behind its number.
#[component]
fn SentenceView(sentence: &'static Sentence) -> impl IntoView {
    let numbers = sentence.numbers().map(RwSignal::new);
    let now = move || numbers.map(|number| number.get());
    let mut left = numbers.into_iter();
    let part = move |part: &'static Part| match part {
        Part::Words(words) => EitherOf3::A(*words),
        Part::Number(Number { label, values, value }) => {
            // There is one for each, as a test sees to.
            let value = left.next().unwrap_or_else(|| RwSignal::new(*value));
            let spoken = move || format!("{}: {}", number::grouped(value.get()), sentence.results(now()).join(", "));
            EitherOf3::B(view! { <Drag label=*label values=*values value spoken=Signal::derive(spoken)/> })
        }
        Part::Result(of) => EitherOf3::C(view! { <strong class="num">{move || of(now())}</strong> }),
    };
    sentence.parts.iter().map(part).collect::<Vec<_>>()
}

/// Every sentence as HTML, by name.
#[cfg(feature = "prerender")]
pub fn rendered() -> Vec<(&'static str, String)> {
    let html = |sentence: &'static Sentence| view! { <SentenceView sentence/> }.to_html();
    Owner::new().with(|| SENTENCES.iter().map(|sentence| (sentence.name, html(sentence))).collect())
}

/// Takes over the sentence that stands in this place. All sentences are one part of the program.
#[cfg(feature = "hydrate")]
pub fn take_over(place: web_sys::HtmlElement) -> crate::site::Taking {
    #[leptos::wasm_split::wasm_split(sentences, wasm_split_path = leptos::wasm_split, fallible)]
    fn take_over(place: web_sys::HtmlElement) -> Result<(), leptos::wasm_split::SplitLoaderError> {
        let name = place.get_attribute("data-sentence");
        if let Some(sentence) = SENTENCES.iter().find(|sentence| name.as_deref() == Some(sentence.name)) {
            leptos::mount::hydrate_from(place, move || view! { <SentenceView sentence/> }).forget();
        }
        Ok(())
    }
    Box::pin(take_over(place))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::figures::check::texts_are_sound;

    fn numbers_of(sentence: &Sentence) -> Vec<&Number> {
        let numbers = sentence.parts.iter().filter_map(|part| match part {
            Part::Number(number) => Some(number),
            _ => None,
        });
        numbers.collect()
    }

    /// The sentence with these numbers, as it is read.
    fn told(sentence: &Sentence, numbers: [f64; MOST]) -> String {
        let mut left = numbers.into_iter();
        let part = |part: &Part| match part {
            Part::Words(words) => (*words).to_owned(),
            Part::Number(_) => number::grouped(left.next().expect("one for each")),
            Part::Result(of) => of(numbers),
        };
        sentence.parts.iter().map(part).collect()
    }

    fn first(name: &str) -> String {
        let sentence = SENTENCES.iter().find(|sentence| sentence.name == name).expect(name);
        told(sentence, sentence.numbers())
    }

    #[test]
    fn every_sentence_has_a_name_of_its_own_numbers_in_order_and_something_that_follows() {
        let names: BTreeSet<_> = SENTENCES.iter().map(|sentence| sentence.name).collect();
        assert_eq!(names.len(), SENTENCES.len());
        for sentence in SENTENCES {
            let numbers = numbers_of(sentence);
            assert!((1..=MOST).contains(&numbers.len()), "{}", sentence.name);
            assert!(!sentence.results(sentence.numbers()).is_empty(), "{}", sentence.name);
            for number in numbers {
                assert!(number.values.contains(&number.value), "{}: {}", sentence.name, number.label);
                assert!(number.values.is_sorted_by(|one, next| one < next), "{}: {}", sentence.name, number.label);
            }
        }
    }

    #[test]
    fn every_number_changes_a_result() {
        for sentence in SENTENCES {
            for (at, number) in numbers_of(sentence).into_iter().enumerate() {
                let results = number.values.iter().map(|value| {
                    let mut numbers = sentence.numbers();
                    numbers[at] = *value;
                    sentence.results(numbers)
                });
                let different: BTreeSet<_> = results.collect();
                assert_eq!(different.len(), number.values.len(), "{}: {}", sentence.name, number.label);
            }
        }
    }

    /// Each worked out from the formula beside it in the text.
    #[test]
    fn the_text_is_built_with_numbers_that_were_worked_out_by_hand() {
        // 4 · 2048 · 4096 · 2 bytes.
        assert!(first("stored-input").ends_with("64.0 MiB at 16 bits."));
        // 16 · 8·10⁹ / 8 = 16·10⁹ bytes, over 2³⁰.
        assert!(first("fixed-share").contains("14.9 GiB"));
        // 2048 / (870.4 + 2048), and (2 · 870.4 + 4 · 2048) / (870.4 + 2048).
        assert!(
            first("scores-share").contains("are 70 % of") && first("scores-share").ends_with("3.4 times the memory.")
        );
        // 4 · 4 · 8192 · 128,256 bytes, over 2³⁰: 15.656.
        assert!(first("logits").ends_with("15.7 GiB in fp32."));
        assert!(first("load-and-train").contains("14 GB to load and 112 GB to train"));
        assert!(first("moments").ends_with("56 GB."));
        // 34 · 8192 · 4096 and 5 · 32 · 8192² bytes.
        assert!(first("scores-and-rest").contains("1.06 GiB") && first("scores-and-rest").contains("10.0 GiB"));
        // ⌈32 / 6⌉ and 6 · 17.
        assert!(
            first("checkpoints").contains("keeps 6 inputs")
                && first("checkpoints").ends_with("102 more: 108 together.")
        );
        // 989·10¹² / 63·10⁹: the last column of the page's table.
        assert!(first("break-even").contains("15,698 operations"));
        assert!(first("accumulated").ends_with("512 sequences."));
        // Both are 1 + 1 at the critical batch.
        assert!(first("critical").contains("2 times the fewest steps and 2 times the fewest examples"));
        // 7.5 · (4 + 12/64), 7.5 · (2 + 14/64) and 7.5 · 16/64: figure 1 of Rajbhandari et al. 2020.
        assert!(first("stages").contains("stage 1 leaves 31.4 GB on each, stage 2 16.6 GB and stage 3 1.9 GB"));
        // 2 · 7 / 8.
        assert!(first("ring").contains("1.75 times"));
        // 3 / 12, and half of it.
        assert!(first("bubble").contains("25.0 % of") && first("bubble").ends_with("12.5 %."));
        // 32 · 64 · 224² · 4 bytes, over 2³⁰: 0.383.
        assert!(first("maps").ends_with("0.38 GiB."));
    }

    #[cfg(feature = "prerender")]
    #[test]
    fn a_sentence_is_built_into_the_page_as_it_is_read() {
        for (name, html) in rendered() {
            let sentence = SENTENCES.iter().find(|sentence| sentence.name == name).expect(name);
            let mut text = String::new();
            for part in html.split('<').skip(1).filter_map(|part| part.split_once('>')) {
                text += part.1;
            }
            let before = html.split('<').next().unwrap_or_default();
            assert_eq!(before.to_owned() + &text, told(sentence, sentence.numbers()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_sentence_says_something_sound_whatever_is_dragged(
            sentence in select(SENTENCES.iter().collect::<Vec<_>>()),
            places in [0.0..1.0, 0.0..1.0, 0.0..1.0],
        ) {
            let mut numbers = [0.0; MOST];
            for ((number, place), to) in numbers_of(sentence).into_iter().zip(places).zip(&mut numbers) {
                *to = number.values[(place * number.values.len() as f64) as usize];
            }
            let text = told(sentence, numbers);
            texts_are_sound(&text);
            texts_are_sound(&sentence.results(numbers));
            prop_assert!(text.ends_with('.') && !text.contains("  "), "{text}");
            for result in sentence.results(numbers) {
                prop_assert!(!["0", "0.0", "-"].iter().any(|none| result.split(' ').next() == Some(none)), "{text}");
            }
        }
    }
}
