//! Which settings a text finds.

use bmax::compare::Input;
use bmax::nearest;
use leptos::prelude::*;

use crate::site::settings;

/// What a text finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The settings, by their names in links; none while nothing is sought.
    pub keys: Option<Vec<&'static str>>,
    /// How many there are.
    pub said: String,
    /// Where there are none, what is called alike.
    pub near: Vec<&'static str>,
}

/// Every setting of the form: its rows of the catalogue, and all numbers and words.
fn all() -> impl Iterator<Item = Input> {
    [Input::Model, Input::Gpu].into_iter().chain(settings())
}

/// What a setting is found by: its names, what it may be, what is said of it, and what other programs call it.
fn described(input: Input) -> String {
    let mut text = format!("{} {}", input.name(), input.key());
    let mut add = |more: &str| {
        text.push(' ');
        text.push_str(more);
    };
    match input {
        Input::Number(field) => [field.bound().symbol, field.help()].into_iter().for_each(&mut add),
        Input::Word(word) => {
            word.options.iter().flat_map(|option| [option.label, option.key]).for_each(&mut add);
            word.effects().iter().for_each(|effect| add(effect));
        }
        _ => {}
    }
    nearest::called(input.key()).for_each(add);
    text.to_lowercase()
}

impl Found {
    /// What a text finds: every setting that has all of its words.
    pub fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        if words.is_empty() {
            return Self { keys: None, said: String::new(), near: Vec::new() };
        }
        let has_all = |input: &Input| {
            let described = described(*input);
            words.iter().all(|word| described.contains(word))
        };
        let keys: Vec<_> = all().filter(has_all).map(Input::key).collect();
        let text = text.trim();
        let (said, near) = match keys.len() {
            0 => (format!("No setting has “{text}” in its name or its description."), alike(text)),
            1 => (format!("1 setting has “{text}”."), Vec::new()),
            some => (format!("{some} settings have “{text}”."), Vec::new()),
        };
        Self { keys: Some(keys), said, near }
    }
}

/// The names of settings that a text is like, three at most.
fn alike(text: &str) -> Vec<&'static str> {
    nearest::nearest(text, &mut all().map(|input| (input.name(), input.name())))
}

/// What is sought in the form. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
pub struct Sieve {
    /// What was typed.
    pub text: RwSignal<String>,
    /// What that finds.
    pub found: Memo<Found>,
}

impl Sieve {
    /// Nothing is sought.
    pub fn new() -> Self {
        let text = RwSignal::new(String::new());
        Self { text, found: Memo::new(move |_| text.with(|text| Found::of(text))) }
    }

    /// Whether something is sought.
    pub fn is_on(self) -> bool {
        self.found.with(|found| found.keys.is_some())
    }

    /// Whether any of these settings is found; nothing while nothing is sought.
    pub fn finds(self, keys: impl IntoIterator<Item = &'static str>) -> Option<bool> {
        self.found.with(|found| {
            let found = found.keys.as_ref()?;
            Some(keys.into_iter().any(|key| found.contains(&key)))
        })
    }

    /// Whether these settings are out of sight because others are sought.
    pub fn hides(self, keys: impl IntoIterator<Item = &'static str>) -> bool {
        self.finds(keys) == Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_its_name_its_key_its_values_and_what_others_call_it() {
        for (text, key) in [
            ("Sequence length", "s"),
            ("length sequence", "s"),
            ("zero", "zero"),
            ("QLoRA", "adapter"),
            ("fsdp", "zero"),
            ("rank", "rank"),
            ("8-bit", "optimizer"),
            ("gpu", "gpu"),
        ] {
            let found = Found::of(text);
            assert!(found.keys.as_ref().is_some_and(|keys| keys.contains(&key)), "{text}: {found:?}");
            assert!(found.near.is_empty());
        }
        assert_eq!(Found::of("  ").keys, None);
    }

    #[test]
    fn every_setting_is_found_by_its_whole_name() {
        for input in all() {
            assert!(Found::of(input.name()).keys.is_some_and(|keys| keys.contains(&input.key())), "{}", input.name());
        }
    }

    #[test]
    fn a_text_that_finds_nothing_says_so_with_the_nearest_names() {
        let found = Found::of("optimiser");
        assert_eq!(found.keys, Some(Vec::new()));
        assert!(found.said.starts_with("No setting has “optimiser”") && found.near == ["Optimizer"], "{found:?}");
        let hostile = Found::of("<b>\u{0}\\");
        assert_eq!((hostile.keys, hostile.near), (Some(Vec::new()), Vec::new()));
    }
}
