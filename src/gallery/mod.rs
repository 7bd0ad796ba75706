//! The page of components, which only those who work on them build: every shared component in all its states, in
//! light and in dark. Components are shown as they are rendered for the page; the browser's own controls, folds and
//! dialogs work in it, and no program runs.

mod controls;
mod views;

use std::path::Path;
use std::{fs, io};

use leptos::prelude::*;

use controls::Controls;
use views::Views;

/// The look of the page of components itself.
const STYLE: &str = include_str!("style.css");

/// Writes the page of components, with the style sheets of the site in it.
///
/// # Errors
/// Those of the files.
pub fn write(file: &Path, sheets: &[&Path]) -> io::Result<()> {
    let mut style = String::new();
    for sheet in sheets {
        style += &fs::read_to_string(sheet)?;
    }
    fs::write(file, page(&(style + STYLE)))
}

/// One frame for each theme, so that the width of a frame decides what is narrow, as that of a window does.
fn page(style: &str) -> String {
    let frame = |theme: &str| {
        let inside = format!(
            "<!doctype html><html lang=\"en\" data-theme=\"{theme}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>Components, {theme}</title>\
             <style>{style}</style></head><body class=\"gallery\">{}</body></html>",
            components()
        );
        let escaped = inside.replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe title=\"Components, {theme}\" srcdoc=\"{escaped}\"></iframe>")
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>bmax: components</title>\
         <style>body {{ display: flex; height: 100vh; margin: 0 }} iframe {{ flex: 1; border: 0; resize: horizontal }}\
         </style></head><body>{}{}</body></html>",
        frame("light"),
        frame("dark")
    )
}

/// Every component as HTML.
fn components() -> String {
    Owner::new().with(|| {
        view! {
            <main>
                <h1>"Components"</h1>
                <Controls/>
                <Views/>
            </main>
        }
        .to_html()
    })
}

/// A component by its name in `src/components`, with what it looks like.
#[component]
fn Specimen<C: IntoView + 'static>(name: &'static str, children: TypedChildren<C>) -> impl IntoView {
    view! {
        <section class="specimen" id=name>
            <h2>{name}</h2>
            {children.into_inner()()}
        </section>
    }
}

/// One state of it.
#[component]
fn Case<C: IntoView + 'static>(state: &'static str, children: TypedChildren<C>) -> impl IntoView {
    view! {
        <div class="case">
            <p class="case-name">{state}</p>
            {children.into_inner()()}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_shown() {
        let html = components();
        let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/components")).expect("a folder");
        let names = folders
            .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_dir())?.file_name().into_string().ok());
        let missing: Vec<_> = names.filter(|name| !html.contains(&format!("id=\"{name}\""))).collect();
        assert!(missing.is_empty(), "add to src/gallery: {missing:?}");
    }

    #[test]
    fn no_id_stands_twice() {
        let html = components();
        let mut ids: Vec<_> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        ids.sort_unstable();
        let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
