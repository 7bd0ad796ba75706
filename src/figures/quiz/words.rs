//! The words of the questions. They stand in the page since it was built and never change, so that only the
//! program that builds it carries them: where a figure is taken over, what is inside such an element is left as
//! it is.

/// The words of a question, as they stand in HTML.
#[derive(Clone, Copy)]
pub struct Words {
    /// The question and its options.
    pub form: &'static str,
    /// What is said on each of the options.
    pub whys: [&'static str; 4],
    /// The worked answer; empty where it follows the configuration.
    pub worked: &'static str,
}

#[cfg(not(feature = "prerender"))]
impl Words {
    /// Nothing: the words stand in the page.
    pub const fn of(_: usize) -> Self {
        Self { form: "", whys: [""; 4], worked: "" }
    }
}

#[cfg(feature = "prerender")]
impl Words {
    /// The words of the question at a place, counted from 0.
    pub fn of(place: usize) -> Self {
        const FILE: &str = include_str!("questions.html");
        let item = FILE.split("<li class=\"quiz-item\">").nth(place + 1).unwrap_or_default();
        let form = inside(item, "<fieldset", "</fieldset>");
        let mut whys = item.split("<p class=\"quiz-why\"").skip(1).map(|why| inside(why, "", "</p>"));
        Self {
            form: form.trim(),
            whys: [(); 4].map(|()| whys.next().unwrap_or_default()),
            worked: inside(item, "<p class=\"quiz-worked\"", "</p>"),
        }
    }
}

/// What is inside the first element whose tag begins like this.
#[cfg(feature = "prerender")]
fn inside(html: &'static str, start: &str, end: &str) -> &'static str {
    let element = html.split_once(start).and_then(|(_, after)| after.split_once('>'));
    element.and_then(|(_, after)| after.split_once(end)).map_or("", |(inside, _)| inside)
}

#[cfg(all(test, feature = "prerender"))]
mod tests {
    use super::*;
    use bmax::course::quiz::{COUNT, DOUBLED_LENGTH, LARGEST_PART};

    #[test]
    fn every_question_has_a_form_of_its_own_and_a_word_on_each_option() {
        for place in 0..COUNT {
            let Words { form, whys, worked } = Words::of(place);
            assert!(form.starts_with("<legend>") && form.ends_with("</label>"), "{form}");
            assert_eq!(form.matches(&format!("name=\"q{}\"", place + 1)).count(), 4, "{form}");
            assert!(whys.iter().all(|why| why.ends_with(['.', '?', ':'])), "{whys:?}");
            let own = [LARGEST_PART, DOUBLED_LENGTH].contains(&place);
            assert_eq!(worked.is_empty(), own, "{worked}");
        }
        assert!(Words::of(COUNT).form.is_empty());
    }
}
