use leptos::prelude::*;

/// A slider over whole numbers, with the value spoken as a sentence.
#[component]
pub fn Slider(
    /// Unique on the page.
    id: &'static str,
    /// The visible label.
    label: &'static str,
    /// The value.
    #[prop(into)]
    value: Signal<u32>,
    /// The right end of the slider; the left one is 1.
    #[prop(into)]
    max: Signal<u32>,
    /// The value as text, shown beside the label and read out by assistive technology.
    #[prop(into)]
    text: Signal<String>,
    /// Writes a new value.
    on_value: Callback<u32>,
) -> impl IntoView {
    view! {
        <div class="field slider">
            <div class="slider-head">
                <label for=id>{label}</label>
                <output for=id class="num">{text}</output>
            </div>
            // The end is set before the value, which the browser would clip otherwise.
            <input
                id=id
                type="range"
                min="1"
                prop:max=move || max.get().to_string()
                prop:value=move || { max.track(); value.get().to_string() }
                aria-valuetext=text
                on:input:target=move |event| {
                    if let Ok(value) = event.target().value().parse() {
                        on_value.run(value);
                    }
                }
            />
        </div>
    }
}
