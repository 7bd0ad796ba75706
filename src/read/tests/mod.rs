//! What is guaranteed of pasted texts.

mod commands;
mod examples;
mod files;
mod hostile;
mod memory;
mod newer;
mod rewrite;
mod round_trip;
mod spellings;
mod tables;

use super::*;

/// What is understood of texts, a line a key: the line, the list, the key and what became of it.
fn told(texts: &[Text]) -> Vec<String> {
    let reading = read(texts);
    let Understood { used, no_matter, not_counted, not_understood, .. } = &reading.understood;
    let mut lines: Vec<(&Place, String)> = Vec::new();
    for used in used {
        let overruled = if used.overruled { ", overruled" } else { "" };
        lines.push((&used.place, format!("used {}: {}{overruled}", used.place.key, used.became.join("&"))));
    }
    lines.extend(no_matter.iter().map(|place| (place, format!("no matter {}", place.key))));
    lines.extend(not_counted.iter().map(|one| (&one.place, format!("not counted {}", one.place.key))));
    for one in not_understood {
        let why = match &one.why {
            Why::Key(like) => format!("nearest {}", like.join(", ")),
            Why::Value => "value".to_owned(),
            Why::Expression => "expression".to_owned(),
            Why::Input(message) => message.clone(),
        };
        lines.push((&one.place, format!("not understood {}: {why}", one.place.key)));
    }
    lines.sort();
    lines.into_iter().map(|(place, line)| format!("{} {line}", place.line)).collect()
}

/// The same of one pasted text.
fn told_of(text: &str) -> Vec<String> {
    told(&[Text::pasted(text)])
}

/// The keys of a pasted text that are not understood.
fn not_understood(text: &str) -> Vec<String> {
    told_of(text).into_iter().filter(|line| line.contains(" not understood ")).collect()
}

/// The parameters of a link that texts say, in the order of their names.
fn inputs(texts: &[Text]) -> String {
    let mut words: Vec<String> = read(texts).inputs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    words.sort();
    words.join("&")
}

/// What each text is.
fn formats(texts: &[Text]) -> Vec<Format> {
    let of = |text: TextIs| if let Kind::Formats(formats) = text.kind { formats } else { Vec::new() };
    read(texts).texts.into_iter().flat_map(of).collect()
}

/// Whether texts say these parameters, whatever they say beside.
fn assert_says(texts: &[Text], words: &str) {
    let said = inputs(texts);
    for word in words.split('&') {
        assert!(said.split('&').any(|other| other == word), "{word} is not among {said}");
    }
}
