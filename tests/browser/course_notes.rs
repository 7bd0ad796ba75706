//! Figures in real course notes: pages written by hand, one of them from right to left, MkDocs, Jupyter Book and MDX,
//! each with two figures of different parameters, on another host than the page.
//!
//! The notes are in `tests/hosts/`, and `tools/hosts.sh` builds them with their own tools.

use bmax::{b_max, link};
use fantoccini::Locator;
use serde_json::{Value, json};

use crate::support::{BMAX, COURSE, Page, Visit, expected, key};

/// A site of course notes, and the two figures in it, in order: their names and their scenarios.
struct Notes {
    site: &'static str,
    figures: [(&'static str, &'static str); 2],
    /// What switches between light and dark.
    switch: &'static str,
}

const SITES: [Notes; 5] = [
    Notes { site: "plain", figures: [("grow", "v=4"), ("chart", "v=4&model=1b&gpus=64")], switch: "#theme" },
    Notes {
        site: "mkdocs",
        figures: [("buckets", "v=4&model=13b"), ("recompute", "v=4&model=13b&recompute=full")],
        switch: "label[for^=__palette]:not([hidden])",
    },
    Notes {
        site: "jupyter-book",
        figures: [
            ("answer", "v=4&model=llama-3.2-3b&gpu=rtx-4090&gpus=1&adapter=lora"),
            ("planner", "v=4&s=8192&gpus=64&target=4000000&unit=tokens"),
        ],
        switch: "button.theme-switch-button",
    },
    Notes { site: "mdx", figures: [("formats", "v=4"), ("sharding", "v=4&model=13b&gpus=64")], switch: "#theme" },
    Notes {
        site: "right-to-left",
        figures: [("answer", "v=4&model=13b&gpus=16"), ("buckets", "v=4&model=1b")],
        switch: "#theme",
    },
];

/// Opens a browser that has not been to any of the notes.
async fn open() -> Page {
    Visit::to_notes(".blank").open().await
}

/// From now on the notes remember the last message of each type from each frame.
async fn listen(page: &Page) {
    let listen = "window.heard = {}; \
        addEventListener('message', ({ data, source }) => { \
            const frame = [...document.querySelectorAll('iframe')].findIndex((one) => one.contentWindow === source); \
            if (data?.bmax === 1) (heard[frame] ??= {})[data.type] = data; \
        });";
    page.script(listen, vec![]).await;
}

/// Goes to a site, and listens to what the frames tell it.
async fn go_to(page: &Page, notes: &Notes) {
    page.client.goto(&format!("{COURSE}{}/", notes.site)).await.expect("the notes load");
    listen(page).await;
}

/// What the tools say on the console of their own pages, with figures in them or without.
const COMPLAINTS_OF_THE_TOOLS: [&str; 3] = [
    // Material for MkDocs, in Firefox.
    "Empty string passed to getElementById()",
    // Jupyter Book 1 writes the same inline script twice.
    "THEBE_JS_URL",
    // Its theme, in Firefox.
    "This site appears to use a scroll-linked positioning effect",
];

/// Ends the visit: nothing else was asked for, and no console has complained.
async fn close(page: Page) {
    assert_eq!(page.server.strangers(), Vec::<String>::new(), "requests to other hosts");
    let complaints = page.complaints().await;
    let ours = complaints.iter().filter(|said| !COMPLAINTS_OF_THE_TOOLS.iter().any(|known| said.contains(known)));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&String>::new(), "the console");
    page.close().await;
}

/// Runs a script inside a frame.
async fn inside(page: &Page, frame: u16, script: &str) -> Value {
    page.client.enter_frame(frame).await.expect("a frame");
    let found = page.script(script, vec![]).await;
    page.client.enter_parent_frame().await.expect("the notes around it");
    found
}

/// Sends a message to a frame.
async fn tell(page: &Page, frame: u16, message: Value) {
    let send = "document.querySelectorAll('iframe')[arguments[0]].contentWindow.postMessage(arguments[1], '*');";
    page.script(send, vec![json!(frame), message]).await;
}

/// What a frame told last of this type.
async fn heard(page: &Page, frame: u16, kind: &str) -> Value {
    page.script("return window.heard?.[arguments[0]]?.[arguments[1]] ?? null;", vec![json!(frame), json!(kind)]).await
}

/// Waits until a frame's figure is there.
async fn shown(page: &Page, frame: u16) {
    let scroll = "document.querySelectorAll('iframe')[arguments[0]].scrollIntoView({ behavior: 'instant' });";
    page.script(scroll, vec![json!(frame)]).await;
    page.until(&format!("frame {frame} to show its figure"), async || {
        let mounted = "return document.querySelector('[data-figure][data-mounted]') !== null;";
        if inside(page, frame, mounted).await == true { Ok(()) } else { Err("not there") }
    })
    .await;
}

/// Waits until a frame answers what the library answers for this query.
async fn answers(page: &Page, frame: u16, query: &str) {
    let scenario = expected::scenario(query);
    let b_max = b_max(&scenario).batch();
    let wanted = json!([b_max, b_max.is_some(), link::encode(&scenario)]);
    tell(page, frame, json!({ "bmax": 1, "type": "ask" })).await;
    page.until(&format!("frame {frame} to answer {wanted}"), async || {
        let answer = heard(page, frame, "answer").await;
        let seen = json!([answer["b_max"], answer["fits"], answer["link"]]);
        if seen == wanted { Ok(()) } else { Err(answer) }
    })
    .await;
}

/// Waits until a frame needs no scroll bar and has no gap below what it shows, and returns its height.
async fn fits(page: &Page, frame: u16) -> f64 {
    page.until(&format!("frame {frame} to be as high as what it shows"), async || {
        let measure = "const root = document.documentElement; \
            return [innerHeight, document.body.getBoundingClientRect().height, \
                root.scrollHeight - root.clientHeight, root.scrollWidth - root.clientWidth, \
                [...document.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1) \
                    .slice(-3).map((one) => one.outerHTML.slice(0, 80)), innerWidth, location.search];";
        let measured = inside(page, frame, measure).await;
        let [height, body, below, beside] = [0, 1, 2, 3].map(|at| measured[at].as_f64().unwrap_or(f64::NAN));
        if body > 80.0 && (height - body).abs() < 2.0 && below <= 0.0 && beside <= 0.0 {
            Ok(height)
        } else {
            Err(measured)
        }
    })
    .await
}

#[tokio::test]
async fn frames_are_as_high_as_what_they_show() {
    let page = open().await;
    for notes in &SITES {
        go_to(&page, notes).await;
        let mut wide = Vec::new();
        for frame in [0, 1] {
            shown(&page, frame).await;
            wide.push(fits(&page, frame).await);
            // Whatever unfolds.
            let unfold = "const closed = [...document.querySelectorAll('details:not([open])')]; \
                closed.forEach((one) => one.open = true); return closed.length;";
            if inside(&page, frame, unfold).await != 0 {
                page.until("the frame to grow", async || {
                    let grown = fits(&page, frame).await;
                    if grown > wide[usize::from(frame)] { Ok(()) } else { Err(grown) }
                })
                .await;
            }
        }
        page.resize(360, 740).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
            fits(&page, frame).await;
        }
        page.resize(1440, 900).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
            fits(&page, frame).await;
        }
    }
    close(page).await;
}

#[tokio::test]
async fn each_figure_has_the_answer_of_its_own_parameters() {
    let page = open().await;
    for notes in &SITES {
        go_to(&page, notes).await;
        for (frame, (figure, query)) in (0..).zip(notes.figures) {
            shown(&page, frame).await;
            assert_eq!(inside(&page, frame, "return document.documentElement.dataset.embed;").await, figure);
            answers(&page, frame, query).await;
        }
    }
    close(page).await;
}

#[tokio::test]
async fn driving_one_figure_touches_neither_the_other_nor_the_notes() {
    let page = open().await;
    for notes in &SITES {
        go_to(&page, notes).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
            answers(&page, frame, notes.figures[usize::from(frame)].1).await;
        }
        // A frame that grows above what is in sight moves the notes under the reader's eye.
        for frame in [0, 1] {
            fits(&page, frame).await;
        }
        let around =
            "return [location.href, history.length, document.title, scrollY, document.querySelectorAll('*').length];";
        let text = "return document.body.innerText;";
        let (before, other) = (page.script(around, vec![]).await, inside(&page, 1, text).await);
        // By a message from the notes.
        tell(&page, 0, json!({ "bmax": 1, "type": "change", "scenario": "s=512" })).await;
        let changed = link::encode(&expected::scenario(&format!("{}&s=512", notes.figures[0].1)));
        answers(&page, 0, &changed).await;
        tell(&page, 0, json!({ "bmax": 1, "type": "set", "scenario": notes.figures[0].1 })).await;
        answers(&page, 0, notes.figures[0].1).await;
        answers(&page, 1, notes.figures[1].1).await;
        assert_eq!(inside(&page, 1, text).await, other, "{}: the other figure", notes.site);
        for frame in [0, 1] {
            fits(&page, frame).await;
        }
        assert_eq!(page.script(around, vec![]).await, before, "{}: the notes", notes.site);
    }
    // By a control inside.
    go_to(&page, &SITES[0]).await;
    shown(&page, 0).await;
    shown(&page, 1).await;
    page.client.enter_frame(0).await.expect("a frame");
    page.figure("grow").focus("slider", "Micro-batch").await;
    page.press(key::RIGHT).await;
    page.client.enter_parent_frame().await.expect("the notes");
    answers(&page, 0, &format!("{}&b=17", SITES[0].figures[0].1)).await;
    answers(&page, 1, SITES[0].figures[1].1).await;
    close(page).await;
}

/// Waits until the text of a figure is light, as on dark paper, or dark.
async fn becomes(page: &Page, frame: u16, dark: bool) {
    page.until(&format!("frame {frame} to be {}", if dark { "dark" } else { "light" }), async || {
        let ink = "const canvas = new OffscreenCanvas(1, 1).getContext('2d'); \
            canvas.fillStyle = getComputedStyle(document.body).color; \
            canvas.fillRect(0, 0, 1, 1); \
            const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data; \
            return r + g + b;";
        let ink = inside(page, frame, ink).await;
        if ink.as_f64().is_some_and(|ink| (ink > 382.0) == dark) { Ok(()) } else { Err(ink) }
    })
    .await;
}

#[tokio::test]
async fn figures_are_as_light_or_as_dark_as_the_notes() {
    let page = open().await;
    for notes in &SITES {
        go_to(&page, notes).await;
        shown(&page, 1).await;
        // One of the two is told to stay light.
        let fix = "const [, frame] = document.querySelectorAll('iframe'); \
            frame.src = frame.src.replace('&v=4', '&theme=light&v=4');";
        page.script(fix, vec![]).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
        }
        let mut is_dark = false;
        for dark in [true, false] {
            // Some sites have a third state between light and dark.
            for _ in 0..3 {
                if is_dark == dark {
                    break;
                }
                let switch = page.client.find(Locator::Css(notes.switch)).await.expect("a switch");
                page.reveal(&switch).await;
                switch.click().await.expect("a switch that can be pressed");
                let paper = "const root = document.documentElement; \
                    return root.dataset.theme === 'dark' || document.body.dataset.mdColorScheme === 'slate';";
                is_dark = page.script(paper, vec![]).await == true;
            }
            assert_eq!(is_dark, dark, "the switch of {}", notes.site);
            becomes(&page, 0, dark).await;
            becomes(&page, 1, false).await;
        }
    }
    close(page).await;
}

#[tokio::test]
async fn a_frame_far_below_is_loaded_and_sized_when_it_comes_near() {
    let page = open().await;
    go_to(&page, &SITES[0]).await;
    shown(&page, 0).await;
    let add = "const spacer = document.createElement('div'); \
        spacer.style.height = '20000px'; \
        const frame = document.querySelector('iframe').cloneNode(); \
        frame.src = frame.src.replace('&v=4', '&v=4&s=777'); \
        document.querySelector('main').append(spacer, frame);";
    page.script(add, vec![]).await;
    // The other frames have been there for a while when this one has not even been asked for.
    shown(&page, 1).await;
    page.script("scrollTo({ top: 0, behavior: 'instant' });", vec![]).await;
    fits(&page, 0).await;
    let asked = || page.server.requests().iter().any(|path| path.contains("s=777"));
    assert!(!asked(), "a lazy frame far below was loaded");
    page.script("scrollTo({ top: 1e6, behavior: 'instant' });", vec![]).await;
    shown(&page, 2).await;
    assert!(asked());
    fits(&page, 2).await;
    close(page).await;
}

#[tokio::test]
async fn without_the_script_for_heights_frames_keep_the_height_they_were_given() {
    let page = Visit::to_notes(".blank").withholding("embed.js").open().await;
    for notes in &SITES {
        go_to(&page, notes).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
            assert_eq!(inside(&page, frame, "return innerHeight;").await, 520, "{}", notes.site);
            answers(&page, frame, notes.figures[usize::from(frame)].1).await;
        }
    }
    close(page).await;
}

#[tokio::test]
async fn without_javascript_a_frame_has_its_text_and_a_link() {
    let page = Visit::to_notes(".blank").without_scripts().open().await;
    for notes in &SITES {
        page.client.goto(&format!("{COURSE}{}/", notes.site)).await.expect("the notes load");
        for (frame, (figure, _)) in (0..).zip(notes.figures) {
            let scroll = "document.querySelectorAll('iframe')[arguments[0]].scrollIntoView({ behavior: 'instant' });";
            page.script(scroll, vec![json!(frame)]).await;
            page.until(&format!("the text of {figure}"), async || {
                let seen = "const seen = (one) => one.checkVisibility() && one.textContent.trim().length > 3; \
                    return [[...document.querySelectorAll('figcaption')].filter(seen).length, \
                        [...document.querySelectorAll('a[href]')].filter(seen).slice(-3).map((one) => one.href), \
                        [...document.querySelectorAll('button, input, select')].filter(seen).length, \
                        document.body.innerText.slice(0, 99)];";
                let seen = inside(&page, frame, seen).await;
                let one_caption = seen[0] == 1;
                let link = seen[1]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|link| link.as_str().is_some_and(|link| link.starts_with(BMAX))));
                if one_caption && link && seen[2] == 0 { Ok(()) } else { Err(seen) }
            })
            .await;
        }
    }
    close(page).await;
}

#[tokio::test]
async fn in_notes_from_right_to_left_a_figure_reads_as_on_its_own_page_and_nothing_is_wider_than_the_window() {
    let page = open().await;
    let notes = SITES.iter().find(|notes| notes.site == "right-to-left").expect("these notes");
    go_to(&page, notes).await;
    for width in [1440, 360] {
        page.resize(width, 740).await;
        for frame in [0, 1] {
            shown(&page, frame).await;
            fits(&page, frame).await;
            let read = "return [getComputedStyle(document.documentElement).direction, document.documentElement.lang];";
            assert_eq!(inside(&page, frame, read).await, json!(["ltr", "en"]));
        }
        let wide = "const root = document.documentElement; \
            return [getComputedStyle(root).direction, root.scrollWidth <= root.clientWidth];";
        assert_eq!(page.script(wide, vec![]).await, json!(["rtl", true]), "{width} px");
    }
    close(page).await;
}
