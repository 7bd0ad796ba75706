//! A figure as a picture and its tables as files: what the share dialog offers for them.

mod data;
mod flat;

use std::cell::RefCell;
use std::rc::Rc;

use bmax::picture::{self, Look, Theme};
use bmax::{Scenario, link};
use js_sys::{Array, Promise, encode_uri_component};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, Element, HtmlAnchorElement, HtmlCanvasElement, HtmlImageElement,
    HtmlInputElement, Url,
};

use crate::dom::{create, document, listen, markup, part, window};
use data::Named;

/// Figures that are words, formulas or a form: a picture of them would be a picture of text.
const WITHOUT_PICTURE: [&str; 4] = ["derivation", "worked-example", "quiz", "terms"];

/// Pixels of a saved PNG in a CSS pixel.
const DENSITY: f64 = 2.0;

/// The figure for which the panel was opened.
struct Panel {
    root: Element,
    figure: Option<Element>,
    name: String,
    scenario: Scenario,
    /// The address of the page without query and fragment.
    page: String,
    /// The file as it would be saved now.
    file: RefCell<String>,
}

/// Fills `place` with what can be saved of `figure`, an element with the class `figure`; of the page
/// as a whole, where there is none, that is its answer.
pub fn mount(place: &Element, figure: Option<&Element>) {
    let named = figure.and_then(|figure| figure.query_selector("[data-figure]").ok().flatten());
    let name = named.and_then(|named| named.get_attribute("data-figure")).unwrap_or_else(|| "answer".to_owned());
    let location = window().location();
    let query = location.search().unwrap_or_default();
    let address = location.href().unwrap_or_default();
    let page = address.split(['?', '#']).next().unwrap_or_default().to_owned();
    let root = markup(include_str!("picture.html"));
    place.set_text_content(None);
    _ = place.append_child(&root);
    let scenario = link::decode(&query).scenario;
    let panel = Rc::new(Panel { root, figure: figure.cloned(), name, scenario, page, file: RefCell::default() });
    panel.listen();
    panel.tell_of_the_frame();
    let dark = is_dark();
    panel.input(if dark { "dark" } else { "light" }).set_checked(true);
    panel.draw();
    panel.list_tables();
}

impl Panel {
    fn listen(self: &Rc<Self>) {
        for name in ["light", "dark", "clear"] {
            let panel = self.clone();
            listen(&self.part(name), "change", move |_| panel.draw());
        }
        let panel = self.clone();
        listen(&self.part("svg"), "click", move |_| {
            let file = panel.file.borrow().clone();
            panel.save("svg", "image/svg+xml", &file);
        });
        let panel = self.clone();
        listen(&self.part("png"), "click", move |_| {
            let panel = panel.clone();
            spawn_local(async move {
                match panel.png().await {
                    Some(blob) => panel.save_blob(&panel.stem("png"), &blob),
                    None => panel.say("The browser did not make a PNG of this picture. The SVG can be saved."),
                }
            });
        });
    }

    fn part(&self, name: &str) -> Element {
        part(&self.root, name)
    }

    fn input(&self, name: &str) -> HtmlInputElement {
        self.part(name).unchecked_into()
    }

    fn show(&self, name: &str, shown: bool) {
        _ = self.part(name).toggle_attribute_with_force("hidden", !shown);
    }

    fn say(&self, words: &str) {
        self.part("said").set_text_content(Some(words));
    }

    /// A frame without an origin may be one that must not save files; nothing tells for certain.
    fn tell_of_the_frame(&self) {
        if js_sys::Reflect::get(&window(), &"origin".into()).ok().and_then(|origin| origin.as_string()).as_deref()
            == Some("null")
        {
            self.show("framed", true);
            _ = self.part("alone").set_attribute("href", &window().location().href().unwrap_or_default());
        }
    }

    /// Makes the picture anew and shows it.
    fn draw(&self) {
        let theme = if self.input("dark").checked() { Theme::Dark } else { Theme::Light };
        let look = Look { theme, ground: !self.input("clear").checked() };
        let file = self.picture(look);
        self.show("no-picture", file.is_none());
        self.show("picture", file.is_some());
        let Some(file) = file else { return };
        self.part("preview").unchecked_into::<HtmlImageElement>().set_src(&address_of(&file));
        self.file.replace(file);
    }

    /// The file. What the library draws by itself does not depend on the size of the window; the other
    /// figures are taken from the page as they are.
    fn picture(&self, look: Look) -> Option<String> {
        match &*self.name {
            "chart" => Some(picture::chart(&self.scenario, look, &self.page)),
            "answer" | "grow" | "calculator" => Some(picture::memory(&self.scenario, look, &self.page)),
            name if WITHOUT_PICTURE.contains(&name) => None,
            name => flat::picture(self.figure.as_ref()?, name, look, &self.scenario, &self.page),
        }
    }

    /// The picture as pixels, twice as many each way as it is large.
    async fn png(&self) -> Option<Blob> {
        let image: HtmlImageElement = create("img").dyn_into().ok()?;
        image.set_src(&address_of(&self.file.borrow()));
        JsFuture::from(image.decode()).await.ok()?;
        let [width, height] = [image.natural_width(), image.natural_height()].map(|length| f64::from(length) * DENSITY);
        let canvas: HtmlCanvasElement = create("canvas").dyn_into().ok()?;
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

    /// Offers every table of the figure.
    fn list_tables(self: &Rc<Self>) {
        let Some(figure) = self.figure.clone() else { return self.show("no-table", true) };
        let panel = self.clone();
        spawn_local(async move {
            let tables = unfolded(&figure).await;
            panel.show("no-table", tables.is_empty());
            panel.show("data", !tables.is_empty());
            let many = tables.len() > 1;
            for (position, table) in tables.into_iter().enumerate() {
                let button = create("button");
                _ = button.set_attribute("type", "button");
                button.set_class_name("button button-quiet");
                _ = button.set_attribute("data-table", &position.to_string());
                let label = if many { format!("Save as CSV: {}", table.name) } else { "Save as CSV".to_owned() };
                button.set_text_content(Some(&label));
                let (panel, figure) = (panel.clone(), figure.clone());
                _ = panel.part("tables").append_child(&button);
                listen(&button.clone(), "click", move |_| {
                    let (panel, figure) = (panel.clone(), figure.clone());
                    spawn_local(async move {
                        // The page may have changed since.
                        if let Some(named) = unfolded(&figure).await.get(position) {
                            let number = if many { format!("-{}", position + 1) } else { String::new() };
                            panel.save(&format!("{number}.csv"), "text/csv;charset=utf-8", &named.table.write());
                        }
                    });
                });
            }
        });
    }

    /// What a file is called: figure and configuration.
    fn stem(&self, end: &str) -> String {
        let scenario = &self.scenario;
        let word = |origin: &'static str, other: &'static str| if origin.is_empty() { other } else { origin };
        let (model, gpu) = (word(scenario.model.origin, "own"), word(scenario.device.origin, "gpu"));
        let dot = if end.contains('.') { "" } else { "." };
        format!(
            "bmax-{}-{model}-{}x{gpu}-s{}-b{}{dot}{end}",
            self.name, scenario.cluster.gpus, scenario.recipe.sequence, scenario.recipe.batch
        )
    }

    fn save(&self, end: &str, media_type: &str, contents: &str) {
        let options = BlobPropertyBag::new();
        options.set_type(media_type);
        match Blob::new_with_str_sequence_and_options(&Array::of1(&contents.into()), &options) {
            Ok(blob) => self.save_blob(&self.stem(end), &blob),
            Err(_) => self.say("The browser did not make the file."),
        }
    }

    fn save_blob(&self, name: &str, blob: &Blob) {
        let Ok(address) = Url::create_object_url_with_blob(blob) else {
            return self.say("The browser did not make the file.");
        };
        let link: HtmlAnchorElement = create("a").unchecked_into();
        link.set_href(&address);
        link.set_download(name);
        // Inside the dialog: everything else is inert while it is open.
        _ = self.root.append_child(&link);
        link.click();
        link.remove();
        self.say(&format!("Saved as {name}."));
        // The browser reads it after this; a minute later it has.
        let forget = Closure::once_into_js(move || _ = Url::revoke_object_url(&address));
        _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(forget.unchecked_ref(), 60_000);
    }
}

/// The tables of a figure, also those that are filled only while they are unfolded.
async fn unfolded(figure: &Element) -> Vec<Named> {
    let folded: Vec<Element> = data::all(figure, "details:not([open])")
        .into_iter()
        .filter(|fold| fold.query_selector("table").ok().flatten().is_some())
        .collect();
    for fold in &folded {
        _ = fold.set_attribute("open", "");
    }
    if !folded.is_empty() {
        // The browser tells the page in its own time, and the page fills what it then sees.
        for _ in 0..20 {
            pause(60).await;
            let filled = |fold: &Element| fold.query_selector("tbody > tr > :is(th, td)").ok().flatten().is_some();
            if folded.iter().all(filled) {
                break;
            }
        }
        pause(60).await;
    }
    let tables = data::tables(figure);
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

fn address_of(file: &str) -> String {
    format!("data:image/svg+xml,{}", String::from(encode_uri_component(file)))
}

fn is_dark() -> bool {
    let root = document().document_element().and_then(|root| window().get_computed_style(&root).ok().flatten());
    root.and_then(|style| style.get_property_value("color-scheme").ok()).as_deref() == Some("dark")
}
