//! Links: short, full, as Markdown, as text, and as a QR code.

use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, CanvasRenderingContext2d, HtmlCanvasElement};

use super::CloseButton;
use super::qr;
use super::subject::Subject;
use crate::components::{CopyButton, Dialog};
use crate::{page, save};

/// Side of the PNG in pixels, at least: a slide is projected at twice that width.
const PIXELS: i32 = 1_024;

/// What the panel shows.
#[derive(Clone, PartialEq)]
struct Shown {
    /// The address that shows a preview where it is pasted; empty where what is shared has none.
    preview: String,
    short: String,
    full: String,
    markdown: String,
    text: String,
    /// The QR code of the short link as the address of an image; none for a link that is too long.
    code: Option<String>,
}

impl Shown {
    fn of(subject: &Subject) -> Self {
        subject.share(|share| {
            let short = share.short_link();
            Self {
                preview: subject.preview().unwrap_or_default(),
                code: qr::svg(&short).map(|svg| page::svg_address(&svg)),
                full: share.full_link(),
                markdown: share.markdown(),
                text: share.text(),
                short,
            }
        })
    }
}

/// The links of what is shared, each with its button, and the QR code.
#[component]
pub fn LinkPanel(
    /// What is shared.
    subject: Memo<Subject>,
    /// What a press has done.
    said: RwSignal<String>,
) -> impl IntoView {
    let shown = Memo::new(move |_| subject.with(Shown::of));
    let plain = move || shown.with(|shown| shown.preview.is_empty());
    view! {
        <div class="desk-rows">
            <div hidden=plain>
                <LinkRow shown of=|shown| &shown.preview id="desk-preview-link" name="Link with a preview"
                    copy="Copy the link with a preview" said first=true
                    help="Chats and feeds show its title, answer and picture. If a default changes, this link follows."/>
            </div>
            <LinkRow shown of=|shown| &shown.short id="desk-short" name="Short link" copy="Copy the short link" said
                first=true
                help="Names the model, the GPU and what differs from the defaults of its version. If a number in \
                    the lists of models and GPUs is corrected, this link follows."/>
            <LinkRow shown of=|shown| &shown.full id="desk-full" name="Full link" copy="Copy the full link" said
                help="Spells out every input, so that nothing can change what it says. Long, and for archives."/>
            <LinkRow shown of=|shown| &shown.markdown id="desk-markdown" name="Markdown" copy="Copy the Markdown" said/>
            <div class="desk-row">
                <label for="desk-text">"Title and link"</label>
                <div class="field-row">
                    <textarea id="desk-text" rows="2" wrap="off" spellcheck="false" readonly
                        prop:value=move || shown.with(|shown| shown.text.clone())></textarea>
                    <CopyButton of="desk-text" name="Title and link".to_owned() label="Copy"
                        aria_label="Copy title and link" quiet=true said/>
                </div>
            </div>
        </div>
        <div class="desk-code"><Code shown said/></div>
    }
}

/// One link in a field of one line.
#[component]
fn LinkRow(
    shown: Memo<Shown>,
    of: fn(&Shown) -> &String,
    id: &'static str,
    name: &'static str,
    /// What its button says to whoever does not see the field.
    copy: &'static str,
    /// Whether it is what most people want.
    #[prop(optional)]
    first: bool,
    #[prop(optional)] help: Option<&'static str>,
    said: RwSignal<String>,
) -> impl IntoView {
    view! {
        <div class="desk-row">
            <label for=id>{name}</label>
            <div class="field-row">
                <input type="text" id=id readonly prop:value=move || shown.with(|shown| of(shown).clone())/>
                <CopyButton of=id name=name.to_owned() label="Copy" aria_label=copy quiet=!first said/>
            </div>
            {help.map(|help| view! { <p class="field-help">{help}</p> })}
        </div>
    }
}

/// The QR code, to be shown as large as the window and to be saved.
#[component]
fn Code(shown: Memo<Shown>, said: RwSignal<String>) -> impl IntoView {
    let large = RwSignal::new(false);
    let none = move || shown.with(|shown| shown.code.is_none());
    let address = move || shown.with(|shown| shown.code.clone());
    let short = move || shown.with(|shown| shown.short.clone());
    let save_svg = move |_| {
        if let Some(svg) = shown.with_untracked(|shown| qr::svg(&shown.short)) {
            said.set(save::text("bmax-qr.svg", "image/svg+xml", &svg));
        }
    };
    let save_png = move |_| shown.with_untracked(|shown| save_png(&shown.short, said));
    view! {
        <div hidden=none>
            <img class="desk-qr" alt="QR code of the short link" data-testid="qr" src=address/>
            <p class="field-help">"The short link as a QR code, for slides."</p>
            <div class="button-row">
                <button type="button" class=QUIET on:click=move |_| large.set(true)>"Show large"</button>
                <button type="button" class=QUIET aria-label="Save the QR code as SVG" on:click=save_svg>"SVG"</button>
                <button type="button" class=QUIET aria-label="Save the QR code as PNG" on:click=save_png>"PNG"</button>
            </div>
        </div>
        <p class="field-help" hidden=move || !none()>"This link is too long for a QR code."</p>
        <Dialog open=large id="desk-large" class="desk-large" labelled_by="desk-large-title">
            <h2 class="visually-hidden" id="desk-large-title">"QR code"</h2>
            <img class="desk-qr" alt="QR code of the short link" data-testid="qr" src=address/>
            <p class="desk-large-link">{short}</p>
            <CloseButton open=large/>
        </Dialog>
    }
}

/// The look of the buttons below the code.
const QUIET: &str = "button button-quiet button-small";

fn save_png(link: &str, said: RwSignal<String>) {
    let Some(canvas) = qr::modules(link).and_then(|(side, runs)| painted(side, &runs)) else { return };
    let done = Closure::once_into_js(move |blob: Option<Blob>| {
        said.set(match blob {
            Some(blob) => save::blob("bmax-qr.png", &blob),
            None => "The browser could not make a PNG of it.".to_owned(),
        });
    });
    _ = canvas.to_blob(JsValue::unchecked_ref(&done));
}

/// The code on a canvas.
fn painted(side: i32, runs: &[qr::Run]) -> Option<HtmlCanvasElement> {
    // Whole pixels for each module, so that edges are edges.
    let scale = (PIXELS + side - 1) / side;
    let canvas: HtmlCanvasElement = page::create("canvas")?;
    canvas.set_width((side * scale).unsigned_abs());
    canvas.set_height((side * scale).unsigned_abs());
    let context: CanvasRenderingContext2d = canvas.get_context("2d").ok()??.dyn_into().ok()?;
    let fill = |colour: &str, [x, y, width, height]: [i32; 4]| {
        context.set_fill_style_str(colour);
        let [x, y, width, height] = [x, y, width, height].map(|length| f64::from(length * scale));
        context.fill_rect(x, y, width, height);
    };
    fill("#fff", [0, 0, side, side]);
    for &(x, y, length) in runs {
        fill("#000", [x, y, length, 1]);
    }
    Some(canvas)
}
