use super::super::dom::{El, el, value_of};

/// A slider over whole numbers from 1 to `max`. `text` is the value as it is shown beside the label
/// and read out by assistive technology; `id` is unique on the page.
pub fn slider(
    id: &'static str,
    label: &'static str,
    value: impl Fn() -> u32 + Copy + 'static,
    max: impl Fn() -> u32 + Copy + 'static,
    text: impl Fn() -> String + Copy + 'static,
    on_value: impl Fn(u32) + 'static,
) -> El {
    let head = el("div")
        .class("slider-head")
        .child(el("label").attr("for", id).text(label))
        // No live region: the slider speaks its value itself.
        .child(el("span").class("slider-value num").bind_text(text));
    let range = el("input")
        .attr("id", id)
        .attr("type", "range")
        .attr("min", "1")
        .property("max", move || max().to_string())
        // A browser clips the value to the end, so it is set again after the end has changed.
        .property("value", move || {
            max();
            value().to_string()
        })
        .bind("aria-valuetext", text)
        .on("input", move |event| {
            if let Ok(value) = value_of(&event).parse() {
                on_value(value);
            }
        });
    el("div").class("field slider").child(head).child(range)
}
