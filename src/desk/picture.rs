//! The figure as a picture, its tables as CSV.
//!
//! The panel is the part `picture` of the dialog. `bind` is called once, when the dialog is made, and `show`
//! whenever the panel is to be seen or the configuration has changed. Nothing is kept between the two: a
//! file is made when it is asked for, of what the page shows then.

mod data;
mod flat;

use std::rc::Rc;

use bmax::picture::{self, Look, Theme};
use js_sys::Promise;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, CanvasRenderingContext2d, Element, HtmlCanvasElement, HtmlImageElement};

use crate::dialog::Dialog;
use crate::{dom, present, save};
use data::Named;

/// Figures that are words, formulas or a form: a picture of them would be a picture of text.
const WITHOUT_PICTURE: [&str; 5] = ["derivation", "worked-example", "quiz", "terms", "calibration"];

/// Pixels of a saved PNG in a CSS pixel.
const DENSITY: f64 = 2.0;

/// Fills the panel with its controls and listens to them.
pub fn bind(dialog: &Rc<Dialog>) {
    _ = dialog.part("picture").append_child(&dom::markup(include_str!("picture.html")));
    let shown = if is_dark() { "picture-dark" } else { "picture-light" };
    _ = js_sys::Reflect::set(&dialog.part(shown), &"checked".into(), &JsValue::TRUE);
    for name in ["picture-light", "picture-dark", "picture-clear"] {
        let dialog = dialog.clone();
        dom::listen(&dialog.clone().part(name), "change", move |_| draw(&dialog));
    }
    let saved = dialog.clone();
    dom::listen(&dialog.part("picture-svg"), "click", move |_| {
        if let Some(file) = file(&saved) {
            save::text(&saved, &name(&saved, ".svg"), "image/svg+xml", &file);
        }
    });
    let saved = dialog.clone();
    dom::listen(&dialog.part("picture-png"), "click", move |_| {
        let dialog = saved.clone();
        spawn_local(async move {
            let Some(file) = file(&dialog) else { return };
            match pixels(&file).await {
                Some(blob) => save::blob(&dialog, &name(&dialog, ".png"), &blob),
                None => dialog.say("The browser did not make a PNG of this picture. It can be saved as SVG."),
            }
        });
    });
    let saved = dialog.clone();
    dom::listen(&dialog.part("tables"), "click", move |event| {
        let pressed = dom::target(&event).and_then(|target| target.get_attribute("data-table"));
        let Some(number) = pressed.and_then(|number| number.parse::<usize>().ok()) else { return };
        let dialog = saved.clone();
        spawn_local(async move {
            // The page may have changed since the tables were listed.
            let tables = tables(element(&dialog)).await;
            let Some(named) = tables.get(number) else { return };
            let end = if tables.len() > 1 { format!("-{}.csv", number + 1) } else { ".csv".to_owned() };
            save::text(&dialog, &name(&dialog, &end), "text/csv;charset=utf-8", &named.table.write());
        });
    });
}

/// Writes what the panel shows.
pub fn show(dialog: &Dialog) {
    draw(dialog);
    let figure = element(dialog);
    let [none, some, place] = ["no-table", "data", "tables"].map(|name| dialog.part(name));
    spawn_local(async move {
        let tables = tables(figure).await;
        dom::show(&none, tables.is_empty());
        dom::show(&some, !tables.is_empty());
        list(&place, &tables);
    });
}

/// Makes the picture anew and shows it.
fn draw(dialog: &Dialog) {
    let file = file(dialog);
    dom::show(&dialog.part("no-picture"), file.is_none());
    dom::show(&dialog.part("drawn"), file.is_some());
    if let Some(file) = file {
        dom::attribute(&dialog.part("picture-preview"), "src", &dom::svg_address(&file));
    }
}

/// Offers every table of the figure.
fn list(place: &Element, tables: &[Named]) {
    place.set_text_content(None);
    for (position, table) in tables.iter().enumerate() {
        let button = dom::create("button");
        dom::attribute(&button, "type", "button");
        dom::attribute(&button, "class", "button button-quiet button-small");
        dom::attribute(&button, "data-table", &position.to_string());
        let only = "Save as CSV".to_owned();
        let label = if tables.len() > 1 { format!("{only}: {}", table.short_name(position)) } else { only };
        button.set_text_content(Some(&label));
        _ = place.append_child(&button);
    }
}

/// The name of the figure; the page as a whole stands for its answer.
fn figure_name(dialog: &Dialog) -> String {
    dialog.figure().map_or_else(|| "answer".to_owned(), |figure| figure.name)
}

/// The figure itself.
fn element(dialog: &Dialog) -> Option<Element> {
    let name = figure_name(dialog);
    let found = dom::document().query_selector(&format!(".figure [data-figure=\"{name}\"]"));
    found.ok()??.closest(".figure").ok()?
}

/// The picture as it would be saved now. What the library draws by itself does not depend on the size of
/// the window; the other figures are taken from the page as they are.
fn file(dialog: &Dialog) -> Option<String> {
    let checked = |name: &str| dom::is_checked(&dialog.part(name));
    let theme = if checked("picture-dark") { Theme::Dark } else { Theme::Light };
    let look = Look { theme, ground: !checked("picture-clear") };
    let (scenario, page) = (dialog.scenario(), present::page());
    match figure_name(dialog).as_str() {
        "chart" => Some(picture::chart(&scenario, look, &page)),
        "answer" | "grow" | "calculator" => Some(picture::memory(&scenario, look, &page)),
        name if WITHOUT_PICTURE.contains(&name) => None,
        name => flat::picture(&element(dialog)?, name, look, &scenario, &page),
    }
}

/// A picture as pixels, twice as many each way as it is large.
async fn pixels(file: &str) -> Option<Blob> {
    let image: HtmlImageElement = dom::create("img").dyn_into().ok()?;
    image.set_src(&dom::svg_address(file));
    JsFuture::from(image.decode()).await.ok()?;
    let [width, height] = [image.natural_width(), image.natural_height()].map(|length| f64::from(length) * DENSITY);
    let canvas: HtmlCanvasElement = dom::create("canvas").dyn_into().ok()?;
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

/// The tables of the figure, also those that are filled only while they are unfolded.
async fn tables(figure: Option<Element>) -> Vec<Named> {
    let Some(figure) = figure else { return Vec::new() };
    let has_table = |fold: &Element| fold.query_selector("table").ok().flatten().is_some();
    let folded: Vec<Element> = dom::all(&figure, "details:not([open])").into_iter().filter(has_table).collect();
    for fold in &folded {
        dom::attribute(fold, "open", "");
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
        _ = dom::window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, milliseconds);
    });
    _ = JsFuture::from(waited).await;
}

/// What a file is called: figure and configuration.
fn name(dialog: &Dialog, end: &str) -> String {
    let scenario = dialog.scenario();
    let word = |origin: &'static str| if origin.is_empty() { "own" } else { origin };
    format!(
        "bmax-{}-{}-{}x{}-s{}-b{}{end}",
        figure_name(dialog),
        word(scenario.model.origin),
        scenario.cluster.gpus,
        word(scenario.device.origin),
        scenario.recipe.sequence,
        scenario.recipe.batch,
    )
}

fn is_dark() -> bool {
    let root = dom::document().document_element();
    let style = root.and_then(|root| dom::window().get_computed_style(&root).ok().flatten());
    style.and_then(|style| style.get_property_value("color-scheme").ok()).as_deref() == Some("dark")
}
