//! The content security policy: what the built page says, and that the browser does refuse the rest.

use crate::support::{BLANK, FOLDER, PAGES, Page, Server, Visit};
use serde_json::{Value, json};

/// Collects what the policy refuses from now on.
const LISTEN: &str = "self.refused = []; \
    addEventListener('securitypolicyviolation', (event) => refused.push(event.effectiveDirective));";

/// An attempt, and the directives that may refuse it. The script gets the address of another host's page,
/// and leaves a mark in `self.got` if it succeeds. It runs in a function of the page's own, because what a
/// driver runs by itself may do more.
const ATTEMPTS: &[(&str, &str, &[&str])] = &[
    (
        "an inline script",
        "const one = document.createElement('script'); one.textContent = 'self.got = true'; document.head.append(one);",
        &["script-src-elem"],
    ),
    (
        "a script of another host",
        "const one = document.createElement('script'); one.src = other; document.head.append(one);",
        &["script-src-elem"],
    ),
    (
        "a handler in the markup",
        "const one = document.createElement('button'); one.setAttribute('onclick', 'self.got = true'); \
         document.body.append(one); one.click(); one.remove();",
        &["script-src-attr"],
    ),
    (
        "a link that is a script",
        "const one = document.createElement('a'); one.href = 'javascript:void(self.got = true)'; \
         document.body.append(one); one.click(); one.remove();",
        &["script-src-elem"],
    ),
    (
        "markup that runs",
        "try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"self.got = true\">'); } catch {}",
        // Where there are no trusted types, the handler in it is refused.
        &["script-src-attr"],
    ),
    (
        "an inline style sheet",
        "const one = document.createElement('style'); one.textContent = 'html { --got: 1; }'; \
         document.head.append(one); self.got = getComputedStyle(document.documentElement).getPropertyValue('--got') === '1';",
        &["style-src-elem"],
    ),
    (
        "a style in the markup",
        "const one = document.createElement('p'); one.setAttribute('style', '--got: 1'); document.body.append(one); \
         self.got = getComputedStyle(one).getPropertyValue('--got') === '1'; one.remove();",
        &["style-src-attr"],
    ),
    (
        "a style sheet of another host",
        "const one = document.createElement('link'); one.rel = 'stylesheet'; one.href = other; document.head.append(one);",
        &["style-src-elem"],
    ),
    ("a picture of another host", "new Image().src = other;", &["img-src"]),
    ("a request to another host", "fetch(other).then(() => self.got = true, () => {});", &["connect-src"]),
    ("a message to another host", "navigator.sendBeacon(other, 'x');", &["connect-src"]),
    (
        "a connection to another host",
        "try { new WebSocket(other.replace('http', 'ws')).onopen = () => self.got = true; } catch {}",
        &["connect-src"],
    ),
    (
        "a frame of another host",
        "const one = document.createElement('iframe'); one.src = other; document.body.append(one);",
        &["frame-src"],
    ),
    (
        "an object of another host",
        "const one = document.createElement('object'); one.data = other; document.body.append(one);",
        &["object-src"],
    ),
    (
        "a worker out of text",
        "try { new Worker(URL.createObjectURL(new Blob(['']))).onmessage = () => {}; } catch {}",
        &["worker-src"],
    ),
    (
        "a typeface of another host",
        "new FontFace('other', `url(${other})`).load().then(() => self.got = true, () => {});",
        &["font-src"],
    ),
    (
        "a form that is sent elsewhere",
        "const one = document.createElement('form'); one.action = other; document.body.append(one); one.submit();",
        &["form-action"],
    ),
    (
        "another address for everything relative",
        "const one = document.createElement('base'); one.href = other; document.head.append(one); \
         self.got = !document.baseURI.startsWith(location.origin);",
        &["base-uri"],
    ),
];

/// The same for text that is run.
const TEXT_AS_CODE: &[(&str, &str, &[&str])] = &[
    ("text as code", "try { self.got = eval('1') === 1; } catch {}", &["script-src"]),
    ("text as a function", "try { self.got = new Function('return 1')() === 1; } catch {}", &["script-src"]),
];

#[tokio::test]
async fn what_the_policy_forbids_is_refused_by_the_browser() {
    are_refused(ATTEMPTS).await;
}

#[tokio::test]
async fn text_is_not_run_as_code() {
    are_refused(TEXT_AS_CODE).await;
}

async fn are_refused(attempts: &[(&str, &str, &[&str])]) {
    // Another host: a server of the test's own on another port.
    let elsewhere = Server::start(None);
    let page = Page::open("").await;
    page.script(LISTEN, vec![]).await;
    let other = elsewhere.origin() + BLANK;
    for (what, attempt, directives) in attempts {
        let script = format!(
            "self.got = false; refused.length = 0; const other = arguments[0]; \
            return new Promise((done) => setTimeout(() => {{ (() => {{ try {{ {attempt} }} catch {{}} }})(); setTimeout(done, 50); }}));"
        );
        page.script(&script, vec![other.as_str().into()]).await;
        page.until(&format!("{what} to be refused"), async || {
            let refused = page.script("return refused;", vec![]).await;
            let refused: Vec<String> = serde_json::from_value(refused).expect("directives");
            // A browser that knows trusted types refuses text that is to become a script before it looks where it is from.
            let expected = |one: &String| directives.contains(&one.as_str()) || one == "require-trusted-types-for";
            let by_policy = !refused.is_empty() && refused.iter().all(expected);
            if by_policy { Ok(()) } else { Err(refused) }
        })
        .await;
        assert_eq!(page.script("return self.got;", vec![]).await, json!(false), "{what}");
    }
    assert_eq!(elsewhere.requests(), Vec::<String>::new(), "nothing reached the other host");
    // The figures live on.
    page.figure("calculator").press("13B").await;
    page.until_query("v=4&model=13b").await;
    // The browser has told its console of each refusal.
    assert!(page.complaints().await.len() >= attempts.len().saturating_sub(2));
    page.close().await;
}

/// The sources of every directive of a page's policy.
async fn policy(page: &Page) -> Vec<(String, Vec<String>)> {
    let content =
        page.script("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content;", vec![]);
    let content = content.await.as_str().expect("a policy").to_owned();
    let words = |directive: &str| directive.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    content
        .split(';')
        .map(words)
        .filter(|words| !words.is_empty())
        .map(|words| (words[0].clone(), words[1..].to_vec()))
        .collect()
}

#[tokio::test]
async fn the_policy_names_no_other_host_and_no_unsafe_source_but_webassembly() {
    let page = Page::open("").await;
    let files = ["catalogue.html", "404.html"];
    for address in PAGES.into_iter().chain(files).map(|name| format!("{FOLDER}{name}")) {
        page.go(&address).await;
        let policy = policy(&page).await;
        let of =
            |name: &str| policy.iter().find(|(directive, _)| directive == name).map(|(_, sources)| sources.clone());
        assert_eq!(of("default-src"), Some(vec!["'none'".to_owned()]), "{address}");
        // These two do not fall back to the default.
        for name in ["base-uri", "form-action"] {
            assert_eq!(of(name), Some(vec!["'none'".to_owned()]), "{name} of {address}");
        }
        for (directive, sources) in &policy {
            for source in sources {
                let strict = ["'none'", "'self'"].contains(&source.as_str());
                let script =
                    directive == "script-src" && (source == "'wasm-unsafe-eval'" || source.starts_with("'sha256-"));
                let style = directive == "style-src" && source.starts_with("'sha256-");
                let picture = directive == "img-src" && source == "data:";
                let types = matches!(
                    (directive.as_str(), source.as_str()),
                    ("require-trusted-types-for", "'script'") | ("trusted-types", "default")
                );
                assert!(strict || script || style || picture || types, "{source} in {directive} of {address}");
            }
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_policy_stands_before_anything_that_it_governs() {
    // Nothing may be put into the page before it.
    let page = Visit::to("").kept().open().await;
    let first = "const all = [...document.head.children]; \
        return all.slice(0, all.findIndex((one) => one.httpEquiv === 'Content-Security-Policy')).map((one) => one.localName);";
    let before: Vec<String> = serde_json::from_value(page.script(first, vec![]).await).expect("names");
    assert!(before.iter().all(|name| name == "meta"), "{before:?}");
    // Nothing in the page needs what the policy forbids: no attribute of styles or handlers.
    let attributes = "return [...document.querySelectorAll('*')].filter((one) => [...one.attributes] \
        .some((attribute) => attribute.name.startsWith('on'))).map((one) => one.outerHTML.slice(0, 80));";
    page.unfold_everything().await;
    assert_eq!(page.script(attributes, vec![]).await, json!(Value::Array(vec![])));
    page.close().await;
}
