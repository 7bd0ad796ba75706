//! The figure as a picture, its tables as CSV.
//!
//! Nothing is kept for a press: a file is made when it is asked for, of what the page shows then.

mod copy;
mod data;
mod flat;

use bmax::Scenario;
use bmax::picture::{self, Look, Theme};
use js_sys::Promise;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, CanvasRenderingContext2d, Element, HtmlCanvasElement, HtmlImageElement};

use super::subject::Subject;
use crate::components::{Checkbox, Segmented};
use crate::{page, save};
use data::Named;

/// Figures that are words, formulas or a form: a picture of them would be a picture of text.
const WITHOUT_PICTURE: [&str; 8] =
    ["derivation", "worked-example", "autocast", "accumulation-loop", "checkpointing", "quiz", "terms", "calibration"];

/// Pixels of a saved PNG in a CSS pixel.
const DENSITY: f64 = 2.0;

/// How the picture looks.
#[derive(Clone, Copy)]
pub struct PictureOptions {
    theme: RwSignal<Theme>,
    clear: RwSignal<bool>,
}

impl PictureOptions {
    /// As light or as dark as the page is.
    pub fn new() -> Self {
        let theme = if is_dark() { Theme::Dark } else { Theme::Light };
        Self { theme: RwSignal::new(theme), clear: RwSignal::new(false) }
    }

    fn look(self) -> Look {
        Look { theme: self.theme.get(), ground: !self.clear.get() }
    }
}

/// The picture and the tables of the figure.
#[component]
pub fn PicturePanel(
    /// What is shared.
    subject: Memo<Subject>,
    /// How the picture looks.
    options: PictureOptions,
    /// What a press has done.
    said: RwSignal<String>,
) -> impl IntoView {
    view! {
        <div class="desk-picture-all">
            <Picture subject options said/>
            <Tables subject said/>
        </div>
    }
}

/// The picture as it will be saved.
#[component]
fn Picture(subject: Memo<Subject>, options: PictureOptions, said: RwSignal<String>) -> impl IntoView {
    let file = move || subject.with(|subject| file(subject, options.look()));
    // The figure is read from the page, so that this is no part of the view.
    let drawn = RwSignal::new(None);
    Effect::new(move |_| drawn.set(file().map(|file| page::svg_address(&file))));
    let none = move || drawn.with(Option::is_none);
    let save_svg = move |_| {
        if let Some(file) = untrack(file) {
            said.set(save::text(&subject.with_untracked(|subject| name(subject, ".svg")), "image/svg+xml", &file));
        }
    };
    let save_png = move |_| {
        let Some(file) = untrack(file) else { return };
        let name = subject.with_untracked(|subject| name(subject, ".png"));
        spawn_local(async move {
            said.set(match pixels(&file).await {
                Some(blob) => save::blob(&name, &blob),
                None => "The browser did not make a PNG of this picture. It can be saved as SVG.".to_owned(),
            });
        });
    };
    view! {
        <p data-testid="no-picture" hidden=move || !none()>
            "This figure has no picture: it is words, formulas or a form."
        </p>
        <div class="desk-picture-whole" data-testid="drawn" hidden=none>
            <div class="desk-picture-ground">
                <img alt="The picture as it will be saved" data-testid="picture-preview" src=move || drawn.get()/>
            </div>
            <p class="field-help">
                "One file that stands alone, with its legend, its configuration and the link to it. Its text \
                stays text."
            </p>
            <div class="desk-picture-look">
                <Segmented legend="Colours" id="desk-picture-theme" value=options.theme
                    options=[(Theme::Light, "Light"), (Theme::Dark, "Dark")]/>
                <Checkbox label="Transparent ground" checked=options.clear/>
            </div>
            <div class="button-row">
                <button type="button" class="button button-small" data-testid="picture-svg" on:click=save_svg>
                    "Save as SVG"
                </button>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    data-testid="picture-png"
                    on:click=save_png
                >
                    "Save as PNG, 2×"
                </button>
            </div>
        </div>
    }
}

/// A button for every table of the figure.
#[component]
fn Tables(subject: Memo<Subject>, said: RwSignal<String>) -> impl IntoView {
    // What the buttons say; nothing until that is known.
    let labels = RwSignal::new(None::<Vec<String>>);
    Effect::new(move |_| {
        let figure = subject.with(element);
        spawn_local(async move {
            let tables = tables(figure).await;
            // The panel may be gone by now.
            _ = labels
                .try_set(Some(tables.iter().enumerate().map(|(at, table)| label(table, at, tables.len())).collect()));
        });
    });
    let save = move |at: usize| {
        let (figure, named) = subject.with_untracked(|subject| (element(subject), name(subject, "")));
        spawn_local(async move {
            // The page may have changed since the tables were listed.
            let tables = tables(figure).await;
            let Some(table) = tables.get(at) else { return };
            let end = if tables.len() > 1 { format!("-{}.csv", at + 1) } else { ".csv".to_owned() };
            said.set(save::text(&(named + &end), "text/csv;charset=utf-8", &table.table.write()));
        });
    };
    let button = move |(at, label): (usize, String)| {
        view! {
            <button type="button" class="button button-quiet button-small" data-table=at on:click=move |_| save(at)>
                {label}
            </button>
        }
    };
    let count = move || labels.with(|labels| labels.as_ref().map(Vec::len));
    view! {
        <p data-testid="no-table" hidden=move || count() != Some(0)>"This figure has no table to save."</p>
        <div class="desk-picture-tables" data-testid="data" hidden=move || count().is_none_or(|count| count == 0)>
            <p class="field-help">"Tables as CSV: plain numbers with a point, their units in the header."</p>
            <div class="button-row">
                {move || labels.get().unwrap_or_default().into_iter().enumerate().map(button).collect_view()}
            </div>
        </div>
    }
}

/// What the button of a table says, one of so many.
fn label(table: &Named, at: usize, count: usize) -> String {
    let only = "Save as CSV".to_owned();
    if count > 1 { format!("{only}: {}", table.short_name(at)) } else { only }
}

/// The name of the figure; the page as a whole stands for its answer.
fn figure_name(subject: &Subject) -> &str {
    subject.figure.as_ref().map_or("answer", |figure| &figure.name)
}

/// The figure itself.
fn element(subject: &Subject) -> Option<Element> {
    let name = figure_name(subject);
    let found = document().query_selector(&format!(".figure [data-figure=\"{name}\"]"));
    found.ok()??.closest(".figure").ok()?
}

/// The picture as it would be saved now. What the library draws by itself does not depend on the size of
/// the window; the other figures are taken from the page as they are.
fn file(subject: &Subject, look: Look) -> Option<String> {
    let scenario: &Scenario = &subject.scenario;
    let page = page::plain_address();
    match figure_name(subject) {
        "chart" => Some(picture::chart(scenario, look, &page)),
        "answer" | "grow" | "calculator" => Some(picture::memory(scenario, look, &page)),
        name if !has_picture(name) => None,
        name => flat::picture(&element(subject)?, name, look, scenario, &page),
    }
}

/// A picture as pixels, twice as many each way as it is large.
async fn pixels(file: &str) -> Option<Blob> {
    let image: HtmlImageElement = page::create("img")?;
    image.set_src(&page::svg_address(file));
    JsFuture::from(image.decode()).await.ok()?;
    let [width, height] = [image.natural_width(), image.natural_height()].map(|length| f64::from(length) * DENSITY);
    let canvas: HtmlCanvasElement = page::create("canvas")?;
    canvas.set_width(width as u32);
    canvas.set_height(height as u32);
    let context: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    context.draw_image_with_html_image_element_and_dw_and_dh(&image, 0.0, 0.0, width, height).ok()?;
    let made = Promise::new(&mut |resolve, _| {
        let done = Closure::once_into_js(move |blob: JsValue| _ = resolve.call1(&JsValue::NULL, &blob));
        _ = canvas.to_blob(done.unchecked_ref());
    });
    JsFuture::from(made).await.ok()?.dyn_into().ok()
}

/// The tables of the figure, also those that are made or filled when they are unfolded.
async fn tables(figure: Option<Element>) -> Vec<Named> {
    let Some(figure) = figure else { return Vec::new() };
    // What is not made yet is there as text, for readers without scripts.
    let promised = |fold: Element| fold.text_content().unwrap_or_default().contains("<table");
    let has_table = |fold: &Element| {
        fold.query_selector("table").ok().flatten().is_some()
            || page::all(fold, ":scope > noscript").into_iter().any(promised)
    };
    let folded: Vec<Element> = page::all(&figure, "details:not([open])").into_iter().filter(has_table).collect();
    for fold in &folded {
        _ = fold.set_attribute("open", "");
    }
    if !folded.is_empty() {
        // The browser tells the page in its own time, and the page fills what it then sees.
        let filled = |fold: &Element| fold.query_selector("tbody > tr > :is(th, td)").ok().flatten().is_some();
        for _ in 0..20 {
            pause(60).await;
            if folded.iter().all(filled) {
                break;
            }
        }
        pause(60).await;
    }
    let tables = data::tables(&figure);
    for fold in &folded {
        _ = fold.remove_attribute("open");
    }
    tables
}

async fn pause(milliseconds: i32) {
    let waited = Promise::new(&mut |resolve, _| {
        _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, milliseconds);
    });
    _ = JsFuture::from(waited).await;
}

/// What a file is called.
fn name(subject: &Subject, end: &str) -> String {
    subject.file(figure_name(subject), end)
}

/// Whether the figure with this name can be saved as a picture.
pub fn has_picture(name: &str) -> bool {
    !WITHOUT_PICTURE.contains(&name)
}

fn is_dark() -> bool {
    let root = document().document_element();
    let style = root.and_then(|root| window().get_computed_style(&root).ok().flatten());
    style.and_then(|style| style.get_property_value("color-scheme").ok()).as_deref() == Some("dark")
}
