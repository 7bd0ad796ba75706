//! Figures whose elements stand in the page from the beginning.
//!
//! The markup of such a figure is in the HTML of its section, where it costs the reader least: labels,
//! tables, sentences, controls. The program adds what changes. One function draws a figure: it reads
//! the shared facts and the figure's own controls and writes texts, attributes and curves. It runs
//! when any of these changes, as long as the figure is near the window.
//!
//! | in the page | meaning |
//! | --- | --- |
//! | `data-in="name"` | a control of the figure: an input, a select, or a fieldset of radio buttons |
//! | `data-out="name"` | an element that is written to |
//! | `data-rows="name"` | the body of a table |
//! | `data-plot="name"` | a drawing; with `data-scrub="name"` the pointer on it moves that slider |
//! | `data-control="key"` | the place for the control of an input of the scenario, by its name in a link; with `data-brief` without a sentence on what it is |
//! | `data-press="word"` | a button |
//! | `data-case="word"` | one of the sentences of an output; the others are hidden |
//! | `data-slot` | a place for a text in a sentence or in a row of a list |
//! | `data-fold` | a `details` that is filled when it is opened |
//! | `data-copies="name"` | a list that begins with the template of its rows |

use std::cell::Cell;

use bmax::{Field, number, setting};
use js_sys::{Array, Reflect};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, Event, HtmlElement, Node, PointerEvent, ResizeObserver, ResizeObserverEntry};

use super::controls::{number_field, select_field};
use super::dom::{El, el, keep};
use super::mount::on_arrival;
use super::plot::{self, Plot};
use super::{Facts, State};

/// A mounted figure, as its drawing function sees it.
#[derive(Clone)]
pub struct Live {
    root: Element,
    state: State,
    /// Counts the changes of the figure's own controls and of its size.
    version: RwSignal<u32>,
}

/// Mounts the figure with this `data-figure`, which `draw` keeps up to date.
pub fn mount_live(name: &'static str, state: State, draw: fn(&Live)) {
    mount_pressed(name, state, draw, |_, _| ());
}

/// The same for a figure with buttons: `press` is called with the word of each `data-press` that is
/// pressed, and the figure is drawn again.
pub fn mount_pressed(name: &'static str, state: State, draw: fn(&Live), press: fn(&Live, &str)) {
    mount_prepared(name, state, |_| (), draw, press);
}

/// The same for a figure that needs more than its markup says: `prepare` is called once, before it is
/// drawn for the first time.
#[inline(never)]
pub fn mount_prepared(name: &'static str, state: State, prepare: fn(&Live), draw: fn(&Live), press: fn(&Live, &str)) {
    on_arrival(
        name,
        state.turns,
        Box::new(move |root, near| {
            let live = Live { root, state, version: RwSignal::new(0) };
            live.put_controls(name);
            prepare(&live);
            live.listen(press);
            live.follow_size();
            _ = live.root.remove_attribute("inert");
            let drawn = live.clone();
            let first = Cell::new(true);
            keep(Box::new(move || {
                // Once it is drawn wherever it is, so that whoever searches the page finds its numbers.
                if near.get() | first.replace(false) {
                    drawn.version.get();
                    draw(&drawn);
                }
            }));
            _ = live.root.set_attribute("data-mounted", "");
        }),
    );
}

/// Keeps a part of a figure up to date in which some elements are made by the program, as those bound
/// by [`super::mount_bound`] are. `draw` and `press` are those of [`mount_pressed`].
#[inline(never)]
pub fn keep_drawn(state: State, part: &El, draw: fn(&Live), press: fn(&Live, &str)) {
    let live = Live::over(state, part);
    live.listen(press);
    keep(Box::new(move || {
        live.version.get();
        draw(&live);
    }));
}

impl Live {
    /// A part of the page, to write to; nothing is listened to.
    pub fn over(state: State, part: &El) -> Self {
        Self { root: part.element().clone(), state, version: RwSignal::new(0) }
    }

    /// Reads the shared facts. The figure is drawn again when they change.
    pub fn facts<T>(&self, read: impl FnOnce(&Facts) -> T) -> T {
        self.state.read(read)
    }

    /// The shared state, for handlers that change it.
    pub fn state(&self) -> State {
        self.state
    }

    /// The element with this attribute and name.
    #[inline(never)]
    fn find(&self, attribute: &str, name: &str) -> Option<Element> {
        self.root.query_selector(&format!("[{attribute}=\"{name}\"]")).ok().flatten()
    }

    fn output(&self, name: &str) -> Option<Element> {
        if name.is_empty() { Some(self.root.clone()) } else { self.find("data-out", name) }
    }

    /// The output with this name as an element to build in; where there is none, nothing of it is seen.
    pub fn place(&self, name: &str) -> El {
        self.output(name).map_or_else(|| el("span"), El::at)
    }

    /// The word of a control: the chosen option, the checked radio button, the text of a field. Empty
    /// where there is none.
    #[inline(never)]
    pub fn word(&self, name: &str) -> String {
        let Some(control) = self.find("data-in", name) else { return String::new() };
        let control = match control.tag_name().as_str() {
            "FIELDSET" => control.query_selector(":checked").ok().flatten(),
            _ => Some(control),
        };
        control.map(|control| property(&control, "value")).unwrap_or_default()
    }

    /// The number of a control; NaN where its text is none.
    pub fn number(&self, name: &str) -> f64 {
        number::parse(&self.word(name)).unwrap_or(f64::NAN)
    }

    /// Whether a box is checked, or a `details` open.
    #[inline(never)]
    pub fn on(&self, name: &str) -> bool {
        self.find("data-in", name).is_some_and(|control| control.matches(":is(:checked, [open])").unwrap_or(false))
    }

    /// Sets the word or the number of a control; of a fieldset it checks the radio button of this word.
    #[inline(never)]
    pub fn set(&self, name: &str, value: &str) {
        let Some(control) = self.find("data-in", name) else { return };
        if let Ok(Some(radio)) = control.query_selector(&format!("[type=radio][value=\"{value}\"]")) {
            _ = Reflect::set(&radio, &"checked".into(), &true.into());
        } else if property(&control, "value") != value {
            _ = Reflect::set(&control, &"value".into(), &value.into());
        }
    }

    /// Checks a box or a radio button, or not.
    #[inline(never)]
    pub fn check(&self, name: &str, on: bool) {
        if let Some(control) = self.find("data-in", name) {
            _ = Reflect::set(&control, &"checked".into(), &on.into());
        }
    }

    /// Sets the number of a control.
    pub fn set_number(&self, name: &str, value: f64) {
        self.set(name, &number::plain(value));
    }

    /// Sets the ends of a slider.
    #[inline(never)]
    pub fn set_range(&self, name: &str, from: f64, to: f64) {
        for (end, value) in [("min", from), ("max", to)] {
            self.control_attr(name, end, &number::plain(value));
        }
    }

    /// Sets an attribute of a control, for instance the `aria-valuetext` of a slider.
    #[inline(never)]
    pub fn control_attr(&self, name: &str, attribute: &str, value: &str) {
        if let Some(control) = self.find("data-in", name) {
            write_attribute(&control, attribute, value);
        }
    }

    /// Writes the text of an output.
    #[inline(never)]
    pub fn text(&self, name: &str, text: &str) {
        if let Some(output) = self.output(name) {
            write_text(&output, text);
        }
    }

    /// The text of an output.
    pub fn text_of(&self, name: &str) -> String {
        self.output(name).and_then(|output| output.text_content()).unwrap_or_default()
    }

    /// The text of an output as it is seen, without what is hidden.
    pub fn shown(&self, name: &str) -> String {
        self.output(name).map(|output| output.unchecked_ref::<HtmlElement>().inner_text()).unwrap_or_default()
    }

    /// Writes the same text to every output with this name.
    #[inline(never)]
    pub fn texts(&self, name: &str, text: &str) {
        for output in all(&self.root, &format!("data-out=\"{name}\"")) {
            write_text(&output, text);
        }
    }

    /// Writes an attribute of an output; whether that is news.
    #[inline(never)]
    pub fn attr(&self, name: &str, attribute: &str, value: &str) -> bool {
        self.output(name).is_some_and(|output| write_attribute(&output, attribute, value))
    }

    /// Fills an output anew.
    #[inline(never)]
    pub fn fill(&self, name: &str, children: Vec<El>) {
        if let Some(output) = self.output(name) {
            _ = El::at(output).clear().children(children);
        }
    }

    /// Takes the keyboard to an output.
    #[inline(never)]
    pub fn focus(&self, name: &str) {
        if let Some(output) = self.output(name) {
            _ = output.unchecked_ref::<HtmlElement>().focus();
        }
    }

    /// Shows or hides an output.
    pub fn show(&self, name: &str, shown: bool) {
        self.flag(name, "hidden", !shown);
    }

    /// Sets an attribute without a value of an output, such as `hidden` or `open`, or takes it away.
    #[inline(never)]
    pub fn flag(&self, name: &str, attribute: &str, on: bool) {
        if let Some(output) = self.output(name) {
            _ = output.toggle_attribute_with_force(attribute, on);
        }
    }

    /// Gives an output a class while `on`.
    #[inline(never)]
    pub fn class(&self, name: &str, class: &str, on: bool) {
        if let Some(output) = self.output(name) {
            _ = output.class_list().toggle_with_force(class, on);
        }
    }

    /// Hands a number or a length to the style sheet as a custom property of an output.
    #[inline(never)]
    pub fn variable(&self, name: &str, property: &str, value: &str) {
        if let Some(output) = self.output(name) {
            _ = El::at(output).set_variable(property, value);
        }
    }

    /// Writes texts into the places of an output that are marked `data-slot`, in their order.
    #[inline(never)]
    pub fn write(&self, name: &str, texts: &[String]) {
        if let Some(output) = self.output(name) {
            write_slots(&output, texts);
        }
    }

    /// Shows the one sentence of an output, of those in the page, whose `data-case` is this, with these
    /// texts in its places.
    #[inline(never)]
    pub fn say(&self, name: &str, case: &str, texts: &[String]) {
        let Some(output) = self.output(name) else { return };
        for sentence in all(&output, "data-case") {
            let said = sentence.get_attribute("data-case").as_deref() == Some(case);
            _ = sentence.toggle_attribute_with_force("hidden", !said);
            if said {
                write_slots(&sentence, texts);
            }
        }
    }

    /// Whether an output is unfolded.
    #[inline(never)]
    pub fn is_open(&self, name: &str) -> bool {
        self.output(name).is_some_and(|output| output.has_attribute("open"))
    }

    /// Fills the body of a table: the first cell of a row is its head. Cells that stay as they are are
    /// not touched.
    #[inline(never)]
    pub fn rows(&self, name: &str, rows: Vec<Vec<String>>) {
        let Some(body) = self.find("data-rows", name) else { return };
        while body.child_element_count() as usize > rows.len() {
            _ = body.last_element_child().map(|row| row.remove());
        }
        let mut next = body.first_element_child();
        for cells in rows {
            if let Some(row) = next {
                let mut cell = row.first_element_child();
                for text in cells {
                    let Some(found) = cell else { break };
                    write_text(&found, &text);
                    cell = found.next_element_sibling();
                }
                next = row.next_element_sibling();
            } else {
                let cell = |(position, text): (usize, String)| match position {
                    0 => el("th").attr("scope", "row").text(&text),
                    _ => el("td").class("num").text(&text),
                };
                let row = el("tr").children(cells.into_iter().enumerate().map(cell).collect());
                _ = body.append_child(row.element());
                next = None;
            }
        }
    }

    /// Gives a list as many copies of the template that it begins with as are asked for. Each copy has
    /// outputs of its own; the output without a name is its element.
    #[inline(never)]
    pub fn copies(&self, name: &str, count: usize) -> Vec<Self> {
        let Some(list) = self.find("data-copies", name) else { return Vec::new() };
        let Some(template) = list.first_element_child() else { return Vec::new() };
        let missing = count + 1 - (list.child_element_count() as usize).min(count + 1);
        let content = Reflect::get(&template, &"content".into()).unwrap_or_default();
        for _ in 0..missing {
            _ = content.unchecked_ref::<Node>().clone_node_with_deep(true).and_then(|copy| list.append_child(&copy));
        }
        let mut copies = Vec::new();
        let mut next = template.next_element_sibling();
        while let Some(root) = next {
            next = root.next_element_sibling();
            if copies.len() < count {
                copies.push(Self { root, ..self.clone() });
            } else {
                root.remove();
            }
        }
        copies
    }

    /// Scrolls what an output holds to its end.
    #[inline(never)]
    pub fn scroll_to_end(&self, name: &str) {
        if let Some(output) = self.output(name) {
            output.set_scroll_top(i32::MAX);
        }
    }

    /// Draws curves.
    #[inline(never)]
    pub fn plot(&self, name: &str, plot: &Plot) {
        if let Some(drawing) = self.find("data-plot", name) {
            plot::draw(&drawing, plot);
        }
    }

    /// Puts the controls of the scenario's inputs in their places.
    fn put_controls(&self, figure: &str) {
        for place in all(&self.root, "data-control") {
            let key = place.get_attribute("data-control").unwrap_or_default();
            let id = format!("{figure}-{key}");
            let control = if let Some(field) = Field::ALL.iter().find(|field| field.bound().key == key) {
                number_field(self.state.field(*field), &id, !place.has_attribute("data-brief"))
            } else if let Some(setting) = setting::ALL.iter().find(|setting| setting.key == key) {
                let handle = self.state.setting(setting);
                select_field(handle, &id, Box::new(move || handle.effect()))
            } else {
                continue;
            };
            _ = El::at(place).clear().child(control);
        }
    }

    /// Listens to the figure's controls, its buttons and the pointer on its drawings.
    fn listen(&self, press: fn(&Self, &str)) {
        let root = El::at(self.root.clone());
        // Whatever sets a list by program says "change" alone.
        for event in ["input", "change"] {
            let live = self.clone();
            _ = root.clone().on(event, move |event| {
                if closest(&event, "data-in").is_some() {
                    live.draw_again();
                }
            });
        }
        let live = self.clone();
        let root = root.on("toggle", move |event| {
            if closest(&event, "data-fold").is_some() {
                live.draw_again();
            }
        });
        let live = self.clone();
        let root = root.on("click", move |event| {
            if let Some(button) = closest(&event, "data-press") {
                press(&live, &button.get_attribute("data-press").unwrap_or_default());
                live.draw_again();
            }
        });
        for event in ["pointerdown", "pointermove"] {
            let live = self.clone();
            _ = root.clone().on(event, move |event| live.scrub(event.unchecked_ref()));
        }
    }

    /// Draws the figure again before the next frame.
    pub fn draw_again(&self) {
        self.version.update(|version| *version = version.wrapping_add(1));
    }

    /// Moves a slider to where a pressed pointer is on its drawing.
    fn scrub(&self, event: &PointerEvent) {
        let Some(drawing) = closest(event, "data-scrub").filter(|_| event.buttons() == 1) else { return };
        let Some(slider) = drawing.get_attribute("data-scrub").and_then(|name| self.find("data-in", &name)) else {
            return;
        };
        let place = drawing.get_bounding_client_rect();
        let part = plot::part(f64::from(event.client_x()) - place.left(), place.width());
        let end = |name| number::parse(&slider.get_attribute(name).unwrap_or_default()).unwrap_or(0.0);
        let (from, to) = (end("min"), end("max"));
        // The browser rounds to the nearest step.
        _ = Reflect::set(&slider, &"value".into(), &number::plain(from + part * (to - from)).into());
        self.draw_again();
    }

    /// Draws again when a drawing gets another size.
    fn follow_size(&self) {
        let live = self.clone();
        let resized = Closure::<dyn Fn(Array)>::new(move |entries: Array| {
            for entry in entries.iter() {
                let entry: ResizeObserverEntry = entry.unchecked_into();
                let room = entry.content_rect();
                plot::set_size(&entry.target(), room.width(), room.height());
            }
            live.draw_again();
        });
        let Ok(observer) = ResizeObserver::new(resized.as_ref().unchecked_ref()) else { return };
        for drawing in all(&self.root, "data-plot") {
            observer.observe(&drawing);
        }
        StoredValue::new_local((observer, resized));
    }
}

/// The elements inside `root` with an attribute.
fn all(root: &Element, attribute: &str) -> Vec<Element> {
    let Ok(found) = root.query_selector_all(&format!("[{attribute}]")) else { return Vec::new() };
    (0..found.length()).filter_map(|position| found.item(position)).map(JsCast::unchecked_into).collect()
}

/// The element with an attribute that an event happened on or in.
#[inline(never)]
fn closest(event: &Event, attribute: &str) -> Option<Element> {
    event.target()?.unchecked_into::<Element>().closest(&format!("[{attribute}]")).ok().flatten()
}

fn write_slots(element: &Element, texts: &[String]) {
    for (slot, text) in all(element, "data-slot").iter().zip(texts) {
        write_text(slot, text);
    }
}

fn property(element: &Element, name: &str) -> String {
    Reflect::get(element, &name.into()).ok().and_then(|value| value.as_string()).unwrap_or_default()
}

/// Writes a text where it differs: a text that is written again would be laid out again.
#[inline(never)]
pub fn write_text(element: &Element, text: &str) {
    if element.text_content().as_deref() != Some(text) {
        element.set_text_content(Some(text));
    }
}

#[inline(never)]
pub fn write_attribute(element: &Element, name: &str, value: &str) -> bool {
    let news = element.get_attribute(name).as_deref() != Some(value);
    if news {
        _ = element.set_attribute(name, value);
    }
    news
}
