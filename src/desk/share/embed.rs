//! One figure as a frame: options, a preview that is that frame, and what to paste.

use bmax::embed::{Embed, HEIGHTS, Theme};
use bmax::number;
use bmax::snippet::{HEIGHT, Host, SANDBOX, Still};
use leptos::html::Iframe;
use leptos::prelude::*;
use leptos::{ev, html};

use super::picture::has_picture;
use super::subject::Subject;
use crate::components::{Checkbox, CopyButton, Segmented, Select};
use crate::figures::{self, Figure};
use crate::page::property;
use crate::present;

/// The figure that can ask before it answers.
const ASKS: &str = "answer";

/// The options as the reader has set them.
#[derive(Clone, Copy)]
pub struct EmbedOptions {
    /// The name of the figure; that of none stands for the first.
    pub figure: RwSignal<String>,
    theme: RwSignal<Theme>,
    /// As it was typed.
    height: RwSignal<String>,
    controls: RwSignal<bool>,
    title: RwSignal<bool>,
    ask: RwSignal<bool>,
    /// Whether a picture stands on paper in place of the frame.
    still: RwSignal<bool>,
    host: RwSignal<Host>,
}

impl EmbedOptions {
    /// The options that need no parameter.
    pub fn new() -> Self {
        Self {
            figure: RwSignal::default(),
            theme: RwSignal::default(),
            height: RwSignal::default(),
            controls: RwSignal::new(true),
            title: RwSignal::new(true),
            ask: RwSignal::new(false),
            still: RwSignal::new(false),
            host: RwSignal::new(Host::Html),
        }
    }

    /// The options as they stand. A height that cannot be used is left out.
    fn embed(self, figure: &Figure) -> Embed {
        Embed {
            controls: self.controls.get(),
            title: self.title.get(),
            theme: self.theme.get(),
            height: self.height.with(|text| height(text)).unwrap_or_default(),
            ask: figure.name == ASKS && self.ask.get(),
            ..Embed::of(&figure.name)
        }
    }
}

/// The height that was typed, if one was, and an error for what no frame may have.
fn height(text: &str) -> Result<Option<u32>, ()> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().ok().filter(|height| (HEIGHTS.0..=HEIGHTS.1).contains(height)).map(Some).ok_or(()),
    }
}

/// The frame, and what stands in the page of the one who embeds it.
#[derive(Clone, PartialEq)]
struct Shown {
    /// The address of the frame.
    address: String,
    /// Its title.
    title: String,
    /// Its height in pixels.
    height: u32,
    /// What to paste.
    snippet: String,
    /// What is pasted once, with the name of the file where it goes.
    once: Option<(&'static str, String)>,
    /// The name of the picture that it refers to.
    picture: Option<String>,
}

impl Shown {
    /// `measured` is an address with the height that its frame asked for.
    fn of(subject: &Subject, figure: &Figure, options: EmbedOptions, measured: &(String, u32)) -> Self {
        let (embed, host) = (options.embed(figure), options.host.get());
        let wanted = host.takes_still() && (host == Host::Readme || options.still.get()) && has_picture(&figure.name);
        let picture = wanted.then(|| subject.file(&figure.name, ".png"));
        let still = picture.clone().map(|file| Still { file, caption: subject.about() + "." });
        subject.share_as(Some(figure), |share| {
            let address = share.frame_address(&embed);
            let needed = if measured.0 == address { measured.1 } else { HEIGHT };
            Self {
                title: share.title.to_owned(),
                height: embed.height.unwrap_or(needed),
                snippet: host.write_with(share, &embed, needed, still.as_ref()),
                once: host.once(share),
                picture,
                address,
            }
        })
    }

    /// What is said above what is pasted once.
    fn once_label(&self) -> String {
        let place = match self.once {
            Some((file, _)) if !file.is_empty() => format!("in {file}"),
            _ => "on the page".to_owned(),
        };
        format!("Once {place}, for frames as high as their figure")
    }
}

/// Options, preview and snippet.
#[component]
pub fn EmbedPanel(
    /// What is shared.
    subject: Memo<Subject>,
    /// What the reader has chosen.
    options: EmbedOptions,
    /// What a press has done.
    said: RwSignal<String>,
) -> impl IntoView {
    let figures = StoredValue::new(figures::all());
    let measured = RwSignal::new((String::new(), HEIGHT));
    let shown = Memo::new(move |_| {
        figures.with_value(|figures| {
            let named = options.figure.with(|name| figures.iter().find(|figure| figure.name == *name));
            let figure = named.or(figures.first())?;
            Some(subject.with(|subject| measured.with(|measured| Shown::of(subject, figure, options, measured))))
        })
    });
    view! {
        <Options options figures/>
        <div class="desk-preview">
            <p class="desk-label" id="desk-preview-label">"Preview"</p>
            <div class="desk-preview-frame" tabindex="0" role="group" aria-labelledby="desk-preview-label">
                <Preview shown measured/>
            </div>
        </div>
        <Paste shown host=options.host said/>
    }
}

/// What can be said about the frame.
#[component]
fn Options(options: EmbedOptions, figures: StoredValue<Vec<Figure>>) -> impl IntoView {
    let named = |(at, figure): (usize, &Figure)| (figure.name.clone(), format!("{}  {}", at + 1, figure.title));
    let list: Vec<_> = figures.with_value(|figures| figures.iter().enumerate().map(named).collect());
    let themes = [(Theme::Auto, "as the reader’s system"), (Theme::Light, "light"), (Theme::Dark, "dark")];
    let wrong = move || options.height.with(|text| height(text).is_err());
    let error = move || {
        let [least, most] = [HEIGHTS.0, HEIGHTS.1].map(|height| number::grouped(height.into()));
        wrong().then(|| format!("A whole number from {least} to {most}, or nothing."))
    };
    view! {
        <div class="desk-options">
            <div class="desk-wide"><Select id="desk-figure" label="Figure" options=list value=options.figure/></div>
            <Select id="desk-theme" label="Theme" options=themes value=options.theme/>
            <div class="field">
                <label for="desk-height">"Height in pixels"</label>
                <input
                    type="text"
                    inputmode="numeric"
                    id="desk-height"
                    autocomplete="off"
                    placeholder="as high as needed"
                    aria-describedby="desk-height-error"
                    aria-invalid=move || wrong().to_string()
                    prop:value=move || options.height.get()
                    on:input=move |event| options.height.set(event_target_value(&event))
                />
                <p class="field-error" id="desk-height-error">{error}</p>
            </div>
            <div class="desk-checks">
                <Checkbox label="Controls" checked=options.controls/>
                <Checkbox label="Title" checked=options.title/>
                <span hidden=move || options.figure.with(|name| name != ASKS)>
                    <Checkbox label="Ask before the answer" checked=options.ask/>
                </span>
                <span hidden=move || !options.host.get().takes_still() || options.host.get() == Host::Readme>
                    <Checkbox label="Picture for paper" checked=options.still/>
                </span>
            </div>
        </div>
    }
}

/// The frame itself. Another address gets a new element, because in the old one it would be one more step to go
/// back.
#[component]
fn Preview(shown: Memo<Option<Shown>>, measured: RwSignal<(String, u32)>) -> impl IntoView {
    let address = move || shown.with(|shown| shown.as_ref().map(|shown| shown.address.clone()));
    let title = move || shown.with(|shown| shown.as_ref().map(|shown| shown.title.clone()));
    let height = move || shown.with(|shown| shown.as_ref().map_or(HEIGHT, |shown| shown.height));
    let frame = move |address: String| {
        let frame = NodeRef::<Iframe>::new();
        measure(frame, address.clone(), measured);
        view! {
            <iframe
                node_ref=frame
                sandbox=SANDBOX
                title=title
                src=address
                style:height=move || format!("{}px", height())
            />
        }
    };
    view! { <For each=address key=Clone::clone children=frame/> }
}

/// Hears how high a frame needs to be, as those hear it in whose pages it is embedded.
fn measure(frame: NodeRef<html::Iframe>, address: String, measured: RwSignal<(String, u32)>) {
    let heard = window_event_listener(ev::message, move |event| {
        let own = frame.get_untracked().and_then(|frame| frame.content_window());
        if !present::is_of(&event, "size")
            || !event.source().zip(own).is_some_and(|(one, other)| js_sys::Object::is(&one, &other))
        {
            return;
        }
        let height = property(&event.data(), "height").as_f64().unwrap_or_default().ceil();
        if (1.0..=f64::from(HEIGHTS.1)).contains(&height) {
            measured.set((address.clone(), height as u32));
        }
    });
    on_cleanup(move || heard.remove());
}

/// What to paste, for the tool that makes the page.
#[component]
fn Paste(shown: Memo<Option<Shown>>, host: RwSignal<Host>, said: RwSignal<String>) -> impl IntoView {
    let hosts = Host::ALL.map(|host| (host, host.name()));
    let part = move |of: fn(&Shown) -> String| move || shown.with(|shown| shown.as_ref().map(of)).unwrap_or_default();
    let picture = Signal::derive(part(|shown| shown.picture.clone().unwrap_or_default()));
    let once_label = Signal::derive(part(Shown::once_label));
    let no_once = move || shown.with(|shown| shown.as_ref().is_none_or(|shown| shown.once.is_none()));
    let once = part(|shown| shown.once.as_ref().map(|once| once.1.clone()).unwrap_or_default());
    view! {
        <div class="desk-paste">
            <div class="desk-choice">
                <Segmented legend="Paste into" id="desk-host" options=hosts value=host/>
            </div>
            <div class="desk-row">
                <label for="desk-frame">"Snippet"</label>
                <textarea id="desk-frame" rows="7" readonly spellcheck="false"
                    prop:value=part(|shown| shown.snippet.clone())></textarea>
                <p class="field-help">{move || host.get().describe()}</p>
                <p class="field-help" hidden=move || picture.get().is_empty()>
                    "Put the PNG of the tab Picture beside it, as “" {picture} "”."
                </p>
                <div class="button-row">
                    <CopyButton of="desk-frame" name="Snippet".to_owned() label="Copy snippet" said/>
                </div>
            </div>
            <div class="desk-row" hidden=no_once>
                <label for="desk-once">{move || once_label.get()}</label>
                <textarea id="desk-once" rows="3" readonly spellcheck="false" prop:value=once></textarea>
                <div class="button-row">
                    <CopyButton of="desk-once" name=once_label label="Copy addition" quiet=true said/>
                </div>
            </div>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::height;

    #[test]
    fn a_height_is_a_whole_number_in_its_range_or_nothing() {
        assert_eq!(height(" "), Ok(None));
        assert_eq!(height(" 640 "), Ok(Some(640)));
        for wrong in ["12", "4001", "-5", "tall", "1e3"] {
            assert_eq!(height(wrong), Err(()), "{wrong}");
        }
    }
}
