//! The edge between the page and whoever shows it in a frame: messages in, messages out.
//!
//! In a frame the page hears who shows it, whatever their origin: that page chose the configuration. Everywhere it hears
//! its own window, where the desk and `ask.js` ask. It hears no other window: one that opened the page would be told what the
//! reader types, and could change it. What is asked is checked by [`bmax::embed::Message`].

use bmax::Answer;
use bmax::embed::{Message, Theme};
use bmax::link::{self, Pinned};
use js_sys::{Array, JsString, Object, Reflect};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Window;

use super::{Facts, State, built_with, embedded};

/// The type of the message with which the page's own script hands over what is pasted or dropped.
#[cfg(feature = "hydrate")]
const READ: &str = "read";

/// Hears what the host asks, and tells it the answer now and whenever that changes.
pub fn listen(state: State, theme: RwSignal<Theme>) {
    let figure = embedded();
    let name = figure.as_deref().map_or(JsValue::NULL, JsValue::from_str);
    let host = window().parent().ok().flatten().filter(|host| *host != window());

    // Whoever is told of every answer: the host, and this window once it has asked.
    let told = Array::new();
    if let Some(host) = &host {
        told.push(host);
    }

    hear(Hearing { state, theme, name: name.clone(), host, told: told.clone() });

    let full_page = document().query_selector(".embed-link a").ok().flatten();
    Effect::new(move |_| {
        let pinned = state.pinned.get();
        state.read(|facts| {
            if told.length() > 0 {
                let answer = answer(&name, facts, &pinned);
                told.iter().for_each(|window| tell(&window, &answer));
            }
            if let (Some(link), Some(figure)) = (&full_page, &figure) {
                let query = built_with().address(&facts.scenario, &pinned);
                _ = link.set_attribute("href", &format!("?{query}#{figure}"));
            }
        });
    });
}

/// What it takes to hear.
#[derive(Clone)]
struct Hearing {
    state: State,
    theme: RwSignal<Theme>,
    /// The figure alone, or null.
    name: JsValue,
    /// Who shows the page in a frame.
    host: Option<Window>,
    /// Whoever is told of every answer.
    told: Array,
}

impl Hearing {
    fn is_host(&self, asker: &JsValue) -> bool {
        self.host.as_ref().is_some_and(|host| Object::is(host, asker))
    }

    /// Does what is asked, and answers.
    fn answer(&self, asker: &JsValue, data: &JsValue) {
        let state = self.state;
        let kind = text(&get(data, "type"));
        // What a reader pastes and drops comes from the page's own script alone.
        #[cfg(feature = "hydrate")]
        if kind.as_deref() == Some(READ) && Object::is(&window(), asker) {
            return super::given::take(state, get(data, "given"));
        }
        let given = text(&get(data, Message::field(kind.as_deref())));
        let reply = match Message::read(kind.as_deref(), given.as_deref(), &state.scenario.get_untracked()) {
            Ok(Message::Scenario(read)) => {
                // What is pinned stays unless the host names others.
                if !read.vs.is_empty() {
                    state.pinned.set(read.vs);
                }
                return state.scenario.set(read.scenario);
            }
            Ok(Message::Theme(wanted)) => return self.theme.set(wanted),
            Ok(Message::Own) => return,
            Ok(Message::Ask) => {
                if !self.told.includes(asker, 0) {
                    self.told.push(asker);
                }
                state.peek(|facts| answer(&self.name, facts, &state.pinned.get_untracked()))
            }
            Err(error) => refusal(&self.name, &error.texts()),
        };
        if let Some(host) = &self.host {
            tell(host, &reply);
        }
        if !self.is_host(asker) {
            tell(asker, &reply);
        }
    }
}

/// Hears as long as the page lives. What reads a message comes with the first one.
fn hear(hearing: Hearing) {
    _ = window_event_listener(ev::message, move |event| {
        let asker = event.source().map_or(JsValue::NULL, JsValue::from);
        let data = event.data();
        let is_heard = hearing.is_host(&asker) || Object::is(&window(), &asker);
        if is_heard && get(&data, "bmax").as_f64() == Some(1.0) {
            let hearing = hearing.clone();
            #[cfg(feature = "hydrate")]
            leptos::task::spawn_local(async move { _ = take(hearing, asker, data).await });
            #[cfg(not(feature = "hydrate"))]
            hearing.answer(&asker, &data);
        }
    });
}

/// Without its part of the program a message is not heard, as by a page that is not there yet.
#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(host, wasm_split_path = leptos::wasm_split, fallible)]
fn take(hearing: Hearing, asker: JsValue, data: JsValue) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    hearing.answer(&asker, &data);
    Ok(())
}

/// What is not there, or cannot be read, is undefined.
pub(super) fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// A text that is not too long to be copied.
fn text(value: &JsValue) -> Option<String> {
    let short = value.is_string() && value.unchecked_ref::<JsString>().length() <= Message::MAX_UTF16_UNITS;
    if short { value.as_string() } else { None }
}

/// The window may be gone or be none; then nobody is told.
fn tell(window: &JsValue, message: &JsValue) {
    _ = window.unchecked_ref::<Window>().post_message(message, "*");
}

fn message(kind: &str, figure: &JsValue, rest: &[(&str, JsValue)]) -> JsValue {
    let message = Object::new();
    let set = |name: &str, value: &JsValue| _ = Reflect::set(&message, &name.into(), value);
    set("bmax", &1.into());
    set("type", &kind.into());
    set("figure", figure);
    for (name, value) in rest {
        set(name, value);
    }
    message.into()
}

/// The answer, by the names of the command line's report.
fn answer(figure: &JsValue, facts: &Facts, pinned: &Pinned) -> JsValue {
    let most = |answer: &Answer| answer.batch().map_or(JsValue::NULL, JsValue::from);
    let capped = matches!(&facts.answer, Answer::Fits(room) if room.capped);
    let reason = match &facts.answer {
        Answer::Refused(refusal) => refusal.kind.key().into(),
        Answer::Fits(_) | Answer::Infeasible(_) => JsValue::NULL,
    };
    let rest = [
        ("link", link::encode_with(&facts.scenario, pinned).into()),
        ("b_max", most(&facts.answer)),
        ("fits", fits(&facts.answer)),
        ("reason", reason),
        ("capped", capped.into()),
        ("safe", most(&facts.range.safe)),
        ("optimistic", most(&facts.range.optimistic)),
    ];
    message("answer", figure, &rest)
}

/// Null where neither can be said.
const fn fits(answer: &Answer) -> JsValue {
    match answer {
        Answer::Fits(_) => JsValue::TRUE,
        Answer::Infeasible(_) => JsValue::FALSE,
        Answer::Refused(_) => JsValue::NULL,
    }
}

fn refusal(figure: &JsValue, problems: &[String]) -> JsValue {
    let list: Array = problems.iter().map(|problem| JsValue::from_str(problem)).collect();
    message("refused", figure, &[("problems", list.into())])
}
