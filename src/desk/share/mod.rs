//! The share dialog: made at the first press and shown again at every later one.

mod embed;
mod export;
mod link;
mod picture;
mod qr;
mod subject;

use bmax::export::Target;
use bmax::link::Decoded;
use leptos::html;
use leptos::prelude::*;
use web_sys::HtmlElement;

use crate::components::{Dialog, Model, Tab, TabPanel, Tabs};
use crate::figures::{self, Figure};
use crate::present::Present;
use embed::{EmbedOptions, EmbedPanel};
use export::ExportPanel;
use link::LinkPanel;
use picture::{PictureOptions, PicturePanel};
use subject::Subject;

/// What the dialog offers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Link,
    Embed,
    Picture,
    Export,
}

const WAYS: [Tab<Way>; 4] = [
    Tab { value: Way::Link, key: "link", label: "Link" },
    Tab { value: Way::Embed, key: "embed", label: "Embed" },
    Tab { value: Way::Picture, key: "picture", label: "Picture" },
    Tab { value: Way::Export, key: "export", label: "Export" },
];

/// The dialog: what is shared, and what the reader has chosen so far.
#[derive(Clone, Copy)]
pub struct Sharing {
    present: Present,
    open: RwSignal<bool>,
    way: RwSignal<Way>,
    /// The figure that is shared; none for the page as a whole.
    figure: RwSignal<Option<Figure>>,
    /// What a press has done, said to eye and ear.
    said: RwSignal<String>,
    embed: EmbedOptions,
    picture: PictureOptions,
    target: RwSignal<Target>,
}

impl Sharing {
    /// A closed dialog.
    pub fn new(present: Present) -> Self {
        Self {
            present,
            open: RwSignal::new(false),
            way: RwSignal::new(Way::Link),
            figure: RwSignal::new(None),
            said: RwSignal::new(String::new()),
            embed: EmbedOptions::new(),
            picture: PictureOptions::new(),
            target: RwSignal::new(Target::Transformers),
        }
    }

    /// Opens the dialog for the figure in which the pressed button stands, or for the page.
    pub fn share(self, pressed: &HtmlElement) {
        self.show(pressed, Way::Link);
    }

    /// Opens it with the file of this target.
    pub fn export(self, pressed: &HtmlElement, target: Target) {
        self.target.set(target);
        self.show(pressed, Way::Export);
    }

    fn show(self, pressed: &HtmlElement, way: Way) {
        if self.open.get_untracked() {
            return;
        }
        self.present.ask();
        let figure = figures::around(pressed);
        if let Some(figure) = &figure {
            self.embed.figure.set(figure.name.clone());
        }
        self.figure.set(figure);
        self.choose(way);
        // The dialog gives the focus back to what has it now.
        _ = pressed.focus();
        self.open.set(true);
    }

    fn choose(self, way: Way) {
        self.way.set(way);
        self.said.set(String::new());
    }

    fn subject(self) -> Subject {
        let Decoded { scenario, vs, .. } = self.present.link().get();
        Subject { scenario, vs, figure: self.figure.get() }
    }
}

/// The dialog with its four ways to share.
#[component]
pub fn ShareDialog(
    /// What is shared, and how.
    sharing: Sharing,
) -> impl IntoView {
    let Sharing { open, way, said, embed, picture, target, .. } = sharing;
    // Behind a closed dialog nothing is worked on.
    let subject = Memo::new(move |before: Option<&Subject>| match before {
        Some(before) if !open.get() => before.clone(),
        _ => sharing.subject(),
    });
    let seen = move |wanted: Way| Signal::derive(move || open.get() && way.get() == wanted);
    let body = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        if let Some(body) = body.get().filter(|_| open.get()) {
            body.set_scroll_top(0);
        }
    });
    view! {
        <Dialog open id="desk-share" class="desk" labelled_by="desk-title" described_by="desk-about">
            <div class="desk-frame">
                <Head sharing subject/>
                <Tabs label="Ways to share" id="desk" tabs=WAYS chosen=chosen(sharing) autofocus=true/>
                <div node_ref=body class="desk-body">
                    <TabPanel id="desk" key="link" class="desk-panel desk-link" seen=seen(Way::Link)>
                        <LinkPanel subject said/>
                    </TabPanel>
                    <TabPanel id="desk" key="embed" class="desk-panel desk-embed" seen=seen(Way::Embed)>
                        <EmbedPanel subject options=embed said/>
                    </TabPanel>
                    <TabPanel id="desk" key="picture" class="desk-panel desk-picture" seen=seen(Way::Picture)>
                        <PicturePanel subject options=picture said/>
                    </TabPanel>
                    <TabPanel id="desk" key="export" class="desk-panel desk-export" seen=seen(Way::Export)>
                        <ExportPanel subject target said/>
                    </TabPanel>
                </div>
                <div class="desk-foot">
                    <p role="status">{move || said.get()}</p>
                    <p class="desk-hint">"All of this is made in your browser; nothing is sent."</p>
                </div>
            </div>
        </Dialog>
    }
}

/// What is shared, in words.
#[component]
fn Head(sharing: Sharing, subject: Memo<Subject>) -> impl IntoView {
    let Sharing { open, figure, .. } = sharing;
    let title = move || if figure.with(Option::is_some) { "Share this figure" } else { "Share this page" };
    let caption = move || figure.with(|figure| figure.as_ref().map(|figure| figure.title.clone())).unwrap_or_default();
    view! {
        <div class="desk-head">
            <div>
                <h2 class="desk-title" id="desk-title">{title}</h2>
                <p class="desk-about" id="desk-about">
                    <span>{caption}</span>
                    <span class="num">{move || subject.with(Subject::about)}</span>
                </p>
            </div>
            <CloseButton open/>
        </div>
    }
}

/// The chosen way, as the tabs see it: what was said belongs to the one before.
fn chosen(sharing: Sharing) -> Model<Way> {
    Model::new(sharing.way.into(), move |way| sharing.choose(way))
}

/// Closes a dialog.
#[component]
fn CloseButton(open: RwSignal<bool>) -> impl IntoView {
    view! {
        <button type="button" class="button button-quiet button-small" on:click=move |_| open.set(false)>
            "Close"
        </button>
    }
}
