//! Messages between the page and whoever shows it: they drive the figures, and nothing hostile does.

use crate::support::host::{Host, frame, sandboxed};
use crate::support::{BMAX, Page, Visit, expected};
use bmax::link;
use serde_json::{Value, json};

/// What the page has to say of a scenario.
fn answer(figure: Option<&str>, query: &str) -> Value {
    let scenario = expected::scenario(query);
    let range = bmax::range::range(&scenario);
    let likely = bmax::b_max(&scenario);
    let (fits, reason) = match &likely {
        bmax::Answer::Fits(_) => (Some(true), None),
        bmax::Answer::Infeasible(_) => (Some(false), None),
        bmax::Answer::Refused(refusal) => (None, Some(refusal.kind.key())),
    };
    json!({
        "bmax": 1,
        "type": "answer",
        "figure": figure,
        "link": link::encode(&scenario),
        "b_max": likely.batch(),
        "fits": fits,
        "reason": reason,
        "capped": matches!(likely, bmax::Answer::Fits(room) if room.capped),
        "safe": range.safe.batch(),
        "optimistic": range.optimistic.batch(),
    })
}

#[tokio::test]
async fn a_host_sets_and_changes_the_scenario_and_is_told_the_answer() {
    let host = Host::with(&sandboxed("embed=grow&v=4&model=13b&gpus=64")).await;
    let told = async |query: &str| {
        let wanted = answer(Some("grow"), query);
        host.hears(0, "answer", |answer| *answer == wanted).await;
    };
    told("model=13b&gpus=64").await;
    for (kind, scenario, becomes) in [
        ("change", "recompute=full", "model=13b&gpus=64&recompute=full"),
        ("change", "b=12&s=4096", "model=13b&gpus=64&recompute=full&s=4096&b=12"),
        ("set", "?v=4&model=70b&gpus=1", "model=70b&gpus=1"),
        ("change", "gpus=512", "model=70b&gpus=512"),
        ("set", "embed=chart&theme=dark&model=1b", "model=1b"),
        // Settings that contradict each other, and a tower that is not counted there.
        ("set", "model=llama-3.1-8b&gpus=8&tp=3", "model=llama-3.1-8b&gpus=8&tp=3"),
        ("set", "model=qwen2.5-vl-7b&task=dpo&gpus=8", "model=qwen2.5-vl-7b&task=dpo&gpus=8"),
        ("set", "v=1", "v=3&method=workshop"),
        ("set", "", ""),
    ] {
        host.tell(0, json!({ "bmax": 1, "type": kind, "scenario": scenario, "more": [1, { "a": null }] })).await;
        told(becomes).await;
    }
    assert_eq!(host.heard(0, "refused").await, Vec::<Value>::new());
    // The figure shows what the message says.
    host.tell(0, json!({ "bmax": 1, "type": "set", "scenario": "b=5" })).await;
    host.page
        .until("the figure to follow", async || {
            let shown = host.inside(0, "return document.querySelector('figure').innerText;").await;
            if shown.as_str().is_some_and(|shown| shown.contains("5 sequences")) { Ok(()) } else { Err(shown) }
        })
        .await;
    host.close().await;
}

#[tokio::test]
async fn a_host_is_told_what_the_reader_changes() {
    let host = Host::with(&sandboxed("embed=grow&v=4")).await;
    host.settled(0).await;
    host.hears(0, "answer", |answer| answer["link"] == "v=4").await;
    let slide = "const slider = document.querySelector('input[type=range]'); \
        slider.value = Number(slider.value) + 1; \
        slider.dispatchEvent(new Event('input', { bubbles: true }));";
    host.inside(0, slide).await;
    host.hears(0, "answer", |told| told["link"] != "v=4" && told["b_max"] == answer(None, "")["b_max"]).await;
    host.close().await;
}

/// Messages that are bmax's and cannot be used, as scripts that make them, each with a part of the reason.
const REFUSED: [(&str, &str); 32] = [
    ("{ bmax: 1 }", "“type” takes"),
    ("{ bmax: 1, type: null }", "“type” takes"),
    ("{ bmax: 1, type: 5 }", "“type” takes"),
    ("{ bmax: 1, type: ['set'], scenario: 's=1' }", "“type” takes"),
    ("{ bmax: 1, type: 'SET', scenario: 's=1' }", "“type” takes"),
    ("{ bmax: 1, type: 'eval', scenario: 'alert(1)' }", "“type” takes"),
    ("{ bmax: 1, type: 'x'.repeat(10_000_000) }", "“type” takes"),
    ("{ bmax: 1, type: 'set' }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: null }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: 42 }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: true }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: ['s=1'] }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: { s: 1 } }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: new String('s=1') }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: new Date() }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: new Uint8Array(9e6) }", "“scenario” takes"),
    ("(() => { const a = { bmax: 1, type: 'set' }; a.scenario = a; return a; })()", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: 's=1&'.repeat(2_500_000) }", "“scenario” takes"),
    ("{ bmax: 1, type: 'change', scenario: '9'.repeat(10_000_000) }", "“scenario” takes"),
    ("{ bmax: 1, type: 'set', scenario: 's=-1' }", "Sequence length"),
    ("{ bmax: 1, type: 'set', scenario: 'gpus=16&s=1e99' }", "Sequence length"),
    ("{ bmax: 1, type: 'set', scenario: 'gpus=16&colour=red' }", "colour"),
    ("{ bmax: 1, type: 'set', scenario: 'gpus=16&gpus=8' }", "more than once"),
    ("{ bmax: 1, type: 'set', scenario: 'gpus=16&model=%zz' }", "percent-encoding"),
    ("{ bmax: 1, type: 'set', scenario: 'v=99&gpus=16' }", "version"),
    ("{ bmax: 1, type: 'set', scenario: '__proto__=1&constructor=2' }", "__proto__"),
    ("{ bmax: 1, type: 'set', scenario: 'model=<img src=x onerror=alert(1)>' }", "<img src=x"),
    ("{ bmax: 1, type: 'set', scenario: '<script>alert(1)</' + 'script>' }", "<script>"),
    ("{ bmax: 1, type: 'change', scenario: 'gpus=16&s=\\ud800' }", "“s” is damaged"),
    ("{ bmax: 1, type: 'theme' }", "“theme” takes"),
    ("{ bmax: 1, type: 'theme', theme: 'url(x)' }", "“theme” takes"),
    ("{ bmax: 1, type: 'theme', theme: { toString: 1 } }", "“theme” takes"),
];

/// Messages of somebody else, to which nothing is said.
const FOREIGN: [&str; 14] = [
    "null",
    "undefined",
    "0",
    "'set'",
    "[]",
    "[1, 2]",
    "{}",
    "{ type: 'set', scenario: 's=1' }",
    "{ bmax: 2, type: 'set', scenario: 's=1' }",
    "{ bmax: '1', type: 'set', scenario: 's=1' }",
    "{ bmax: true, type: 'set', scenario: 's=1' }",
    "JSON.parse('{\"__proto__\":{\"bmax\":1,\"type\":\"set\",\"scenario\":\"s=1\"}}')",
    "new Map([['bmax', 1]])",
    "new ArrayBuffer(10_000_000)",
];

#[tokio::test]
async fn nothing_hostile_changes_anything_and_every_refusal_says_why() {
    let host = Host::with(&sandboxed("embed=grow&v=4&gpus=64")).await;
    host.settled(0).await;
    let before = host.hears(0, "answer", |_| true).await;
    host.painted(0).await;
    let scheme =
        "return [getComputedStyle(document.documentElement).colorScheme, document.querySelectorAll('*').length];";
    let look = host.inside(0, scheme).await;
    let send = "const message = eval(`(${arguments[0]})`); \
        document.querySelector('iframe').contentWindow.postMessage(message, '*');";
    for (count, (message, reason)) in REFUSED.into_iter().enumerate() {
        host.page.script(send, vec![json!(message)]).await;
        let refusals = host
            .page
            .until(message, async || {
                let refusals = host.heard(0, "refused").await;
                if refusals.len() == count + 1 { Ok(refusals) } else { Err(refusals.len()) }
            })
            .await;
        let refusal = &refusals[count];
        assert_eq!(refusal["figure"], "grow");
        let problems = refusal["problems"].as_array().expect("a list");
        let said = problems.iter().map(|problem| problem.as_str().expect("a text")).collect::<Vec<_>>();
        assert!(said.iter().any(|said| said.contains(reason)), "{message}: {said:?}");
        assert!(said.iter().all(|said| said.len() < 400 && !said.contains("set to")), "{message}: {said:?}");
    }
    for message in FOREIGN {
        host.page.script(send, vec![json!(message)]).await;
    }
    for own in
        [&before, &json!({ "bmax": 1, "type": "refused", "problems": [] }), &json!({ "bmax": 1, "type": "size" })]
    {
        host.tell(0, own.clone()).await;
    }
    host.tell(0, json!({ "bmax": 1, "type": "ask" })).await;
    let answers = host
        .page
        .until("the answer", async || {
            let answers = host.heard(0, "answer").await;
            if answers.len() > 1 { Ok(answers) } else { Err(answers) }
        })
        .await;
    assert_eq!(answers, [before.clone(), before], "it is asked once and answered once, and nothing has changed");
    assert_eq!(host.heard(0, "refused").await.len(), REFUSED.len(), "what is not bmax's is not answered");
    assert_eq!(host.inside(0, scheme).await, look);
    assert_eq!(host.inside(0, "return document.getElementById('notices').innerText;").await, "");
    host.close().await;
}

#[tokio::test]
async fn the_whole_page_in_a_frame_hears_the_same() {
    let host = Host::with(&frame("v=4&gpus=64", "sandbox=allow-scripts")).await;
    let wanted = answer(None, "gpus=64");
    host.hears(0, "answer", |answer| *answer == wanted).await;
    host.tell(0, json!({ "bmax": 1, "type": "change", "scenario": "s=4096" })).await;
    let wanted = answer(None, "gpus=64&s=4096");
    host.hears(0, "answer", |answer| *answer == wanted).await;
    host.tell(0, json!({ "bmax": 1, "type": "theme", "theme": "dark" })).await;
    host.page
        .until("the switch to know", async || {
            let label = host.inside(0, "return document.querySelector('.theme-switch')?.ariaLabel;").await;
            if label == "Theme: dark. Switch to auto." { Ok(()) } else { Err(label) }
        })
        .await;
    assert_eq!(host.heard(0, "size").await, Vec::<Value>::new(), "a whole page is not shown in its whole height");
    host.close().await;
}

#[tokio::test]
async fn the_page_answers_its_own_window() {
    let page = Page::open("?v=4&gpus=64").await;
    let listen = "window.heard = []; addEventListener('message', ({ data }) => heard.push(data));";
    page.script(listen, vec![]).await;
    let send = "postMessage(arguments[0], '*');";
    page.script(send, vec![json!({ "bmax": 1, "type": "set", "scenario": "gpus=8&s=4096" })]).await;
    page.until_query("v=4&s=4096").await;
    page.script(send, vec![json!({ "bmax": 1, "type": "set", "scenario": "gpus=0" })]).await;
    page.script(send, vec![json!({ "bmax": 1, "type": "ask" })]).await;
    let replies = "return heard.map(({ type }) => type).filter((type) => type === 'refused' || type === 'answer');";
    page.until_script("both replies", replies, json!(["refused", "answer"])).await;
    let last = page.script("return heard.find(({ type }) => type === 'answer');", vec![]).await;
    assert_eq!(last, answer(None, "s=4096"));
    assert_eq!(page.query().await, "v=4&s=4096", "a refused message changes nothing");
    page.close().await;
}

#[tokio::test]
async fn a_page_of_another_origin_that_opened_this_one_hears_nothing_and_changes_nothing() {
    // An empty page on a host of its own opens the page, which is on another.
    let page = Visit::to_notes(".blank").open().await;
    let opener = page.client.window().await.expect("a window");
    let open = "window.heard = []; addEventListener('message', ({ data }) => heard.push(data)); \
        window.opened = open(arguments[0], 'opened'); return opened !== null;";
    assert_eq!(page.script(open, vec![json!(format!("{BMAX}?v=4&gpus=64"))]).await, json!(true));
    let windows = page.client.windows().await.expect("the windows");
    let opened = windows.into_iter().find(|window| *window != opener).expect("a second window");
    page.client.switch_to_window(opened.clone()).await.expect("it is there");
    page.wait_for_the_frame().await;
    let listen = "window.others = 0; addEventListener('message', ({ source }) => { window.others += source !== window; }); \
        return opener !== null;";
    assert_eq!(page.script(listen, vec![]).await, json!(true), "it can reach who opened it");

    page.client.switch_to_window(opener.clone()).await.expect("it is there");
    let messages = [
        json!({ "bmax": 1, "type": "ask" }),
        json!({ "bmax": 1, "type": "set", "scenario": "model=1b&gpus=2" }),
        json!({ "bmax": 1, "type": "change", "scenario": "s=512" }),
        json!({ "bmax": 1, "type": "theme", "theme": "dark" }),
        json!({ "bmax": 1, "type": "set", "scenario": "gpus=0" }),
    ];
    let sent = messages.len();
    page.script("for (const one of arguments[0]) opened.postMessage(one, '*');", vec![json!(messages)]).await;

    page.client.switch_to_window(opened.clone()).await.expect("it is there");
    page.until_script("all messages to have come", "return others;", json!(sent)).await;
    // What the reader does is shown, and starts from what was there before.
    let own = json!({ "bmax": 1, "type": "change", "scenario": "s=4096" });
    page.script("postMessage(arguments[0], '*');", vec![own]).await;
    page.until_query("v=4&s=4096&gpus=64").await;
    let theme = "return document.querySelector('.theme-switch')?.ariaLabel.startsWith('Theme: auto');";
    assert_eq!(page.script(theme, vec![]).await, json!(true));
    // A message of the page's own comes behind whatever it said before.
    page.script("opener.postMessage('last', '*');", vec![]).await;
    page.client.close_window().await.expect("it closes");
    page.client.switch_to_window(opener).await.expect("it is there");
    page.until_script("the last message, and no other", "return heard;", json!(["last"])).await;
    page.close().await;
}
