//! One figure as a frame: options, a preview that is that frame, and what to paste.

use std::rc::Rc;

use bmax::embed::{Embed, HEIGHTS, Theme};
use bmax::number;
use bmax::snippet::{HEIGHT, Host, SANDBOX};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlIFrameElement};

use crate::dialog::Dialog;
use crate::figures::{self, Figure};
use crate::{dom, present};

/// Fills the lists and listens to the options.
pub fn bind(dialog: &Rc<Dialog>) {
    let list = dialog.part("figure");
    for (position, figure) in figures::all().iter().enumerate() {
        let option = dom::create("option");
        dom::attribute(&option, "value", &figure.name);
        option.set_text_content(Some(&format!("{}  {}", position + 1, figure.title)));
        _ = list.append_child(&option);
    }
    let hosts = dialog.part("hosts");
    for host in Host::ALL {
        _ = hosts.append_child(&segment("desk-host", host.key(), host.name(), host == Host::Html));
    }
    // Some ways of choosing from a list are told as a change alone.
    for event in ["input", "change"] {
        dialog.on(event, |dialog, target| {
            if target.closest("#desk-embed").is_ok_and(|panel| panel.is_some()) {
                show(dialog);
            }
        });
    }
    // The frame says how high it needs to be, like those that are embedded elsewhere.
    let measured = dialog.clone();
    dom::listen(&dom::window(), "message", move |event| {
        let Some(message) = present::message(&event, "size") else { return };
        let Some(frame) = frame(&measured) else { return };
        let (source, own) = (message.source(), frame.content_window());
        if source.is_none() || !js_sys::Object::is(&source.into(), &own.into()) {
            return;
        }
        let height = dom::property(&message.data(), "height").as_f64().unwrap_or_default().ceil();
        if (1.0..=f64::from(HEIGHTS.1)).contains(&height) {
            dom::attribute(&frame, "data-height", &number::plain(height));
            write(&measured);
        }
    });
}

/// Puts the figure that is shared into the list of figures.
pub fn choose(dialog: &Dialog) {
    if let Some(figure) = dialog.figure() {
        dom::set_value(&dialog.part("figure"), &figure.name);
    }
}

/// Takes the preview away.
pub fn clear(dialog: &Dialog) {
    dialog.part("preview").set_text_content(None);
}

/// Shows the preview and what to paste.
pub fn show(dialog: &Dialog) {
    let Some(figure) = chosen(dialog) else { return };
    let embed = embed(dialog, &figure);
    let (address, title) = dialog.share(Some(&figure), |share| (share.frame_address(&embed), share.title.to_owned()));
    if frame(dialog).is_none_or(|frame| frame.get_attribute("src").as_deref() != Some(&address)) {
        // A new element, because a new address in the old one would be one more step to go back.
        let frame = dom::create("iframe");
        for (name, value) in [("sandbox", SANDBOX), ("title", &title), ("src", &address)] {
            dom::attribute(&frame, name, value);
        }
        let place = dialog.part("preview");
        place.set_text_content(None);
        _ = place.append_child(&frame);
    }
    write(dialog);
}

/// Writes what to paste, with the height that the preview needs.
fn write(dialog: &Dialog) {
    let Some(figure) = chosen(dialog) else { return };
    let embed = embed(dialog, &figure);
    let frame = frame(dialog);
    let needed = frame.as_ref().and_then(|frame| frame.get_attribute("data-height")?.parse().ok()).unwrap_or(HEIGHT);
    if let Some(frame) = frame {
        let height = format!("{}px", embed.height.unwrap_or(needed));
        _ = frame.unchecked_ref::<HtmlElement>().style().set_property("height", &height);
    }
    let host = dialog.all("[name=desk-host]").iter().find(|option| dom::is_checked(option)).map(dom::value);
    let host = host.and_then(|key| Host::from_key(&key)).unwrap_or(Host::Html);
    dialog.write("host-about", host.describe());
    let (frame, once) = dialog.share(Some(&figure), |share| (host.write(share, &embed, needed), host.once(share)));
    let field = dialog.part("frame");
    dom::set_value(&field, &frame);
    dom::show(&dialog.part("once-row"), once.is_some());
    if let Some((file, text)) = once {
        let label = if file.is_empty() {
            "Once on the page, for frames as high as their figure".to_owned()
        } else {
            format!("Once in {file}, for frames as high as their figure")
        };
        dialog.write("once-label", &label);
        dom::set_value(&dialog.part("once"), &text);
    }
}

fn frame(dialog: &Dialog) -> Option<HtmlIFrameElement> {
    dialog.part("preview").first_element_child()?.dyn_into().ok()
}

fn chosen(dialog: &Dialog) -> Option<Figure> {
    let name = dom::value(&dialog.part("figure"));
    figures::all().into_iter().find(|figure| figure.name == name)
}

/// The options as they stand. A height that cannot be used is named and left out.
fn embed(dialog: &Dialog, figure: &Figure) -> Embed {
    let field = dialog.part("height");
    let given = dom::value(&field);
    let height = given.trim().parse().ok().filter(|height| (HEIGHTS.0..=HEIGHTS.1).contains(height));
    let wrong = height.is_none() && !given.trim().is_empty();
    dom::attribute(&field, "aria-invalid", if wrong { "true" } else { "false" });
    let [least, most] = [HEIGHTS.0, HEIGHTS.1].map(|height| number::grouped(height.into()));
    dialog.write(
        "height-error",
        &if wrong { format!("A whole number from {least} to {most}, or nothing.") } else { String::new() },
    );
    Embed {
        controls: dom::is_checked(&dialog.part("controls")),
        title: dom::is_checked(&dialog.part("caption-shown")),
        theme: Theme::from_key(&dom::value(&dialog.part("theme"))).unwrap_or_default(),
        height,
        ..Embed::of(&figure.name)
    }
}

/// A radio button drawn as a segment.
pub fn segment(group: &str, value: &str, text: &str, checked: bool) -> Element {
    let label = dom::create("label");
    let input = dom::create("input");
    for (name, value) in [("type", "radio"), ("name", group), ("value", value)] {
        dom::attribute(&input, name, value);
    }
    if checked {
        dom::attribute(&input, "checked", "");
    }
    let span = dom::create("span");
    span.set_text_content(Some(text));
    _ = label.append_child(&input);
    _ = label.append_child(&span);
    label
}
