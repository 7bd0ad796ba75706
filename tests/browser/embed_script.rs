//! The script that a page may load to have its frames sized and themed.

use crate::support::host::{Host, frame, sandboxed};
use crate::support::{BLANK, FOLDER, PAGES, Visit};
use serde_json::{Value, json};

/// The heights of all frames, and what the figures in them need.
async fn heights(host: &Host, frames: u16) -> (Vec<u64>, Vec<u64>) {
    let real = "return [...document.querySelectorAll('iframe')].map((one) => one.clientHeight);";
    let real: Value = host.page.script(real, vec![]).await;
    let mut needed = Vec::new();
    for frame in 0..frames {
        needed.push(host.settled(frame).await);
    }
    (serde_json::from_value(real).expect("numbers"), needed)
}

async fn frames_fit(host: &Host, frames: u16) {
    host.page
        .until("every frame to be as high as its figure", async || {
            let (real, needed) = heights(host, frames).await;
            if real == needed { Ok(()) } else { Err((real, needed)) }
        })
        .await;
}

#[tokio::test]
async fn frames_that_were_there_before_and_frames_that_come_later_get_their_height() {
    let host = Host::with(&(sandboxed("embed=grow") + &sandboxed("embed=sharding&v=4&gpus=64"))).await;
    // They have told their heights to nobody.
    for frame in 0..2 {
        host.settled(frame).await;
    }
    host.add_embed_script().await;
    frames_fit(&host, 2).await;
    let later = "document.body.insertAdjacentHTML('beforeend', arguments[0]);";
    let third =
        frame("embed=formats", "sandbox=allow-scripts loading=lazy style='border:5px solid;box-sizing:border-box'");
    host.page.script(later, vec![json!(third.replace("style='border:0' ", ""))]).await;
    host.page.script("scrollTo({ top: 9000, behavior: 'instant' });", vec![]).await;
    frames_fit(&host, 3).await;
    host.inside(1, "document.querySelectorAll('details').forEach((one) => one.open = true);").await;
    frames_fit(&host, 3).await;
    // Loaded a second time it does the same a second time.
    host.add_embed_script().await;
    host.page.script("document.querySelector('iframe').width = 300;", vec![]).await;
    frames_fit(&host, 3).await;
    host.close().await;
}

/// Frames that are none of bmax's, each 77 pixels high: text in the page, an advertisement, and text that stands in the
/// place of an address which would be believed.
fn strangers() -> String {
    let frame = |more: &str| format!("<iframe title=other width=300 height=77 style='border:0' {more}></iframe>");
    let text = "srcdoc='<title>other</title>'";
    [
        frame(text),
        frame(&format!("sandbox=allow-scripts {text}")),
        frame(&format!("sandbox=allow-scripts {text} src='{FOLDER}?embed=grow'")),
        frame(&format!("sandbox=allow-scripts src='{BLANK}?embed=grow'")),
        // An address that only begins like the folder.
        frame(&format!("sandbox=allow-scripts src='{FOLDER}../../..{BLANK}?embed=grow'")),
    ]
    .concat()
}

#[tokio::test]
async fn only_a_frame_of_bmax_s_folder_is_sized_and_only_by_a_message_that_is_bmax_s() {
    let host = Host::with(&(strangers() + &sandboxed("embed=grow"))).await;
    host.add_embed_script().await;
    let grow = 5;
    let needed = host.settled(grow).await;
    let size = "return [...document.querySelectorAll('iframe')].map((one) => one.clientHeight);";
    let wanted = json!([77, 77, 77, 77, 77, needed]);
    host.page.until_script("the height", size, wanted.clone()).await;
    let good = json!({ "bmax": 1, "type": "size", "figure": "grow", "height": 5000 });
    // What a stranger says does nothing, be it as good as bmax's own.
    for stranger in 0..grow {
        host.inside(stranger, &format!("parent.postMessage({good}, '*');")).await;
        host.hears(stranger, "size", |said| *said == good).await;
    }
    for message in [
        json!(null),
        json!("size"),
        json!({ "type": "size", "height": 5000 }),
        json!({ "bmax": 2, "type": "size", "height": 5000 }),
        json!({ "bmax": 1, "type": "height", "height": 5000 }),
        json!({ "bmax": 1, "type": "size", "height": "5000px; position: fixed" }),
        json!({ "bmax": 1, "type": "size", "height": -1 }),
        // More than any figure has.
        json!({ "bmax": 1, "type": "size", "height": 99_999 }),
        json!({ "bmax": 1, "type": "size", "height": 1e9 }),
        json!({ "bmax": 1, "type": "size", "height": null }),
        json!({ "bmax": 1, "type": "size" }),
    ] {
        // From the figure's own frame, and from the page itself.
        host.inside(grow, &format!("parent.postMessage({message}, '*');")).await;
        host.page.script("postMessage(arguments[0], '*');", vec![message]).await;
    }
    // From the page itself even a good one is of no frame.
    host.page.script("postMessage(arguments[0], '*');", vec![good.clone()]).await;
    host.inside(grow, "parent.postMessage('last', '*');").await;
    host.page.script("postMessage('last', '*');", vec![]).await;
    let all = "return heard.filter(([, data]) => data === 'last').length;";
    host.page.until_script("all of them", all, json!(2)).await;
    assert_eq!(host.page.script(size, vec![]).await, wanted);
    // The same message of the figure's frame is believed.
    host.inside(grow, &format!("parent.postMessage({good}, '*');")).await;
    host.page.until_script("the height", size, json!([77, 77, 77, 77, 77, 5000])).await;
    host.close().await;
}

/// The bound is in `assets/embed.js` and in docs/embedding.md.
#[tokio::test]
async fn no_figure_on_a_telephone_is_higher_than_is_believed_with_all_of_it_unfolded() {
    const MOST: u64 = 40_000;
    let page = Visit::to("").wide(360).open().await;
    let script = page.script_async(
        "const [address, done] = arguments; fetch(address).then((answer) => answer.text()).then(done);",
        vec![json!(format!("{FOLDER}embed.js"))],
    );
    assert!(script.await.as_str().expect("a text").contains("4e4"));
    let mut highest = (0, String::new());
    for slug in PAGES {
        page.go(&format!("{FOLDER}{slug}")).await;
        page.wait_for_figures().await;
        page.unfold_everything().await;
        let heights = "return [...document.querySelectorAll('[id^=embed-]')].map((one) => [one.offsetHeight, one.id]);";
        let heights: Vec<(u64, String)> = serde_json::from_value(page.script(heights, vec![]).await).expect("heights");
        highest = heights.into_iter().chain([highest]).max().expect("at least one");
    }
    println!("the highest figure: {highest:?}");
    assert!(highest.0 > 1_000 && highest.0 < MOST, "{highest:?}");
    page.close().await;
}

#[tokio::test]
async fn figures_are_dark_where_the_text_around_them_is_light() {
    let fixed = frame("embed=grow&theme=light", "sandbox=allow-scripts");
    let host = Host::with(&(sandboxed("embed=grow") + &fixed)).await;
    host.add_embed_script().await;
    let scheme = "return getComputedStyle(document.documentElement).colorScheme;";
    for (ink, wanted) in [
        ("white", "dark"),
        ("rgb(20 20 20)", "light"),
        ("oklch(0.95 0.01 90)", "dark"),
        ("lab(20 0 0)", "light"),
        ("color(display-p3 0.9 0.9 0.9)", "dark"),
        ("black", "light"),
    ] {
        host.page.script("document.body.style.color = arguments[0];", vec![json!(ink)]).await;
        host.page
            .until(ink, async || {
                let seen = [host.inside(0, scheme).await, host.inside(1, scheme).await];
                if seen == [json!(wanted), json!("light")] { Ok(()) } else { Err(seen) }
            })
            .await;
        let frame = "return [...document.querySelectorAll('iframe')].map((one) => one.style.colorScheme);";
        // The one that follows is transparent; the other has paper of its own where the notes are dark.
        assert_eq!(host.page.script(frame, vec![]).await, json!([wanted, wanted]));
    }
    // A frame that is loaded anew is told again.
    host.page.script("document.body.style.color = 'white';", vec![]).await;
    host.page.script("const frame = document.querySelector('iframe'); frame.src = frame.src;", vec![]).await;
    host.page.until("dark again", async || if host.inside(0, scheme).await == "dark" { Ok(()) } else { Err(()) }).await;
    host.close().await;
}
