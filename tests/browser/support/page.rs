//! The page in a browser: opening it, finding things in it, waiting for them.

use std::cell::Cell;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::elements::{Element, ElementRef};
use fantoccini::error::CmdError;
use fantoccini::{Client, Locator};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::driver::{Browser, Driver, Tab, Wanted};
use super::server::{BLANK, COURSE, FOLDER, HOST_PAGE, Server, page_of};
use super::{chromium, firefox, webkit};

/// How long the page may take to show what it should; a busy machine needs some.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a page may leave a script without an answer: one that stands still never has any.
const ANSWER: Duration = Duration::from_secs(90);

/// How long after the first look at a condition the second one comes. Each pause is half as long again as the one before,
/// up to the longest: looking takes the processor away from what is waited for.
const FIRST_PAUSE: Duration = Duration::from_millis(15);
const LONGEST_PAUSE: Duration = Duration::from_millis(120);

/// No worker is installed.
const KEEP_NOTHING: &str = "if (self.ServiceWorkerContainer) \
    ServiceWorkerContainer.prototype.register = () => new Promise(() => {});";

const FIND: &str = include_str!("find.js");

/// Goes from figure to figure and back to where it was. At each one it stays until that is there and has been drawn.
const READ: &str = include_str!("read.js");

/// How the page is to be opened.
#[derive(Clone)]
pub struct Visit {
    address: String,
    size: (u32, u32),
    media: Vec<(&'static str, &'static str)>,
    wanted: Wanted,
    withheld: Option<&'static str>,
}

impl Visit {
    /// A visit to an address of the site, as it is seen from the first page, on a wide window: a page such as
    /// `memory/` or nothing for the first, and perhaps a query string and a `#section`.
    pub fn to(address: &str) -> Self {
        Self {
            address: format!("{FOLDER}{address}"),
            size: (1440, 900),
            media: Vec::new(),
            wanted: Wanted { browser: Browser::usual(), scripts: true, log: false, kept: false, untouched: false },
            withheld: None,
        }
    }

    /// A visit to the page that has a figure, with this query string.
    pub fn about(figure: &str, query: &str) -> Self {
        Self::to(&(page_of(figure).to_owned() + query))
    }

    /// The same visit to this address.
    pub fn at(mut self, address: &str) -> Self {
        self.address = format!("{FOLDER}{address}");
        self
    }

    /// A visit to somebody else's page with this one in a sandboxed frame.
    pub fn to_the_host_page() -> Self {
        Self { address: HOST_PAGE.to_owned(), ..Self::to("") }
    }

    /// A browser that stands ready on an empty page of the same origin.
    pub fn to_the_empty_page() -> Self {
        Self { address: BLANK.to_owned(), ..Self::to("") }
    }

    /// A visit to course notes that `tools/hosts.sh` built, on a host of their own.
    pub fn to_notes(site: &str) -> Self {
        Self { address: format!("{COURSE}{site}"), ..Self::to("") }
    }

    /// The same where this file of the page's folder has nothing in it.
    pub fn withholding(mut self, file: &'static str) -> Self {
        self.withheld = Some(file);
        self
    }

    /// The same where the browser writes down every request that it makes.
    pub fn writing_down_requests(mut self) -> Self {
        self.wanted.log = true;
        self
    }

    /// The same where the site keeps itself for a visit without a network, which takes a while.
    pub fn kept(mut self) -> Self {
        self.wanted.kept = true;
        self
    }

    /// The same as a reader finds it who does nothing yet: what is out of sight is as it was built.
    pub fn untouched(mut self) -> Self {
        self.wanted.untouched = true;
        self
    }

    /// A window of this width, in CSS pixels.
    pub fn wide(mut self, width: u32) -> Self {
        self.size.0 = width;
        self
    }

    /// A system set to dark.
    pub fn dark(self) -> Self {
        self.preferring("prefers-color-scheme", "dark")
    }

    /// A system with a preference that style sheets can ask for.
    pub fn preferring(mut self, feature: &'static str, value: &'static str) -> Self {
        self.media.push((feature, value));
        self
    }

    /// A browser with JavaScript switched off.
    pub fn without_scripts(mut self) -> Self {
        self.wanted.scripts = false;
        self
    }

    /// Opens it in a fresh browser and waits until the figures are there, where there are any to come.
    pub async fn open(self) -> Page {
        let (driver, client, server) = Driver::start(self.wanted, self.withheld).await;
        if self.wanted.browser == Browser::WebKit {
            server.begin_pages_with(webkit::LISTEN);
        }
        if !self.wanted.kept && self.wanted.browser != Browser::Chromium {
            server.begin_pages_with(KEEP_NOTHING);
        }
        let page = Page { client, tab: Cell::new(Tab::Used), driver, server };
        // What starts with a slash is on this machine.
        let here = self.address.starts_with('/');
        let address = if here { page.server.origin() + &self.address } else { self.address.clone() };
        if self.wanted.browser == Browser::Firefox {
            // A page of the same host: what is set for it is set for the one to come.
            let host = address.split('/').take(3).collect::<Vec<_>>().join("/");
            page.client.goto(&(host + BLANK)).await.expect("an empty page");
            page.in_browser(firefox::LISTEN, vec![]).await;
            page.in_browser(firefox::SCRIPTS, vec![json!(self.wanted.scripts)]).await;
        }
        page.resize(self.size.0, self.size.1).await;
        if self.wanted.browser == Browser::Chromium && !self.wanted.kept && page.driver.tab() == Tab::Fresh {
            page.tell("Page.addScriptToEvaluateOnNewDocument", json!({ "source": KEEP_NOTHING })).await;
        }
        if !self.media.is_empty() || page.driver.tab() == Tab::Used {
            page.prefer(&self.media).await;
        }
        if page.driver.tab() == Tab::Used && address.contains('#') {
            // Another fragment of the page that is open would not load it again.
            let file = |address: &str| address.split('#').next().map(str::to_owned);
            if file(&page.address().await) == file(&address) {
                page.go(BLANK).await;
            }
        }
        page.client.goto(&address).await.expect("the page loads");
        // On a busy machine a driver may be back before that, with the page it began on still there.
        let there = "return !window.isLeft && document.readyState === 'complete' && location.protocol.startsWith('http') \
            && (location.href === arguments[0] || !location.pathname.endsWith(arguments[1]));";
        page.until("the page to load", async || {
            let seen = page.script(there, vec![json!(address), json!(BLANK)]).await;
            if seen == json!(true) { Ok(()) } else { Err(seen) }
        })
        .await;
        if self.wanted.scripts && here && ![HOST_PAGE, BLANK].contains(&self.address.as_str()) {
            page.wait_for_the_frame().await;
            if !self.wanted.untouched {
                page.wait_for_figures().await;
            }
        }
        page
    }
}

/// A page that is open. Fields are dropped in this order: the connection before the browser.
pub struct Page {
    pub client: Client,
    /// What the next test may begin in.
    tab: Cell<Tab>,
    driver: Driver,
    pub server: Server,
}

impl Page {
    /// Opens an address of the site, as it is seen from the first page: `?gpus=16`, `memory/#step`.
    pub async fn open(address: &str) -> Self {
        Visit::to(address).open().await
    }

    /// Opens the page that has a figure, with this query string.
    pub async fn about(figure: &str, query: &str) -> Self {
        Visit::about(figure, query).open().await
    }

    /// Ends the visit. Whatever the test was about, the console must have stayed clean.
    pub async fn close(self) {
        assert_eq!(self.complaints().await, Vec::<String>::new(), "the console should be clean");
        self.driver.hand_back(self.client, self.server, self.tab.get()).await;
    }

    /// Runs this in every page and frame of the server that the browser opens from now on, before anything of theirs.
    pub async fn before_every_page(&self, script: &str) {
        match self.browser() {
            Browser::Chromium => {
                self.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
            }
            Browser::Firefox | Browser::WebKit => self.server.begin_pages_with(script),
        }
    }

    /// Goes to another path of the same server.
    pub async fn go(&self, path: &str) {
        self.client.goto(&(self.server.origin() + path)).await.expect("the page loads");
        // On a busy machine a driver may be back before that.
        self.until_script("the page to load", "return document.readyState;", json!("complete")).await;
    }

    /// Leaves the page by a script of its own. It runs when the driver has its answer: where the page goes while a driver
    /// waits for that, Chromium's runs the script in the next page once more.
    pub async fn leave(&self, script: &str) {
        self.script(&format!("setTimeout(() => {{ {script} }});"), vec![]).await;
    }

    /// Loads the page again as a reader does. The drivers' own way passes over what the page keeps of itself.
    pub async fn reload(&self) {
        self.script("window.isLeft = true; location.reload();", vec![]).await;
        let there = "return !window.isLeft && document.readyState === 'complete';";
        self.until_script("the page to load again", there, json!(true)).await;
    }

    /// Waits until the program is there: it takes over the bar with the answer first.
    pub async fn wait_for_the_frame(&self) {
        // A page without the bar has other parts of the frame.
        let there = "const part = document.querySelector('#answer-bar, #theme-switch'); \
            return document.readyState === 'complete' && (!part || part.hasAttribute('data-mounted'));";
        self.until_script("the program", there, json!(true)).await;
    }

    /// Waits until every figure is there. The program takes over those out of sight once a reader does anything, so
    /// that something is done.
    pub async fn wait_for_figures(&self) {
        let waiting = "const all = [...document.querySelectorAll('#answer-bar, [data-figure], [data-sentence]')]; \
            dispatchEvent(new Event('scroll')); \
            return document.readyState === 'complete' && all.length > 0 && !('firstLook' in document.documentElement.dataset) \
                ? all.filter((mount) => !mount.hasAttribute('data-mounted')) \
                    .map((mount) => mount.dataset.figure ?? mount.dataset.sentence) \
                : ['the page itself'];";
        self.until("every figure to mount", async || {
            let waiting = self.script(waiting, vec![]).await;
            if waiting == json!([]) { Ok(()) } else { Err(waiting) }
        })
        .await;
    }

    /// Waits until every figure and sentence near the window is there, and returns the names of the figures: a sentence has
    /// none. What has no place in the layout yet is not near.
    pub async fn wait_for_what_is_in_sight(&self) -> Vec<Option<String>> {
        let near = "const near = [...document.querySelectorAll('[data-figure], [data-sentence]')].filter((one) => { \
                const [box] = one.getClientRects(); \
                return box && box.top < innerHeight + 160 && box.bottom > -160; \
            }); \
            return near.every((one) => one.hasAttribute('data-mounted')) ? near.map((one) => one.dataset.figure ?? null) : null;";
        let near = self
            .until("what is in sight", async || match self.script(near, vec![]).await {
                Value::Null => Err("not there yet"),
                near => Ok(near),
            })
            .await;
        serde_json::from_value(near).expect("names")
    }

    /// Lays out what is far below the first look too, as the reader's first move does.
    pub async fn lay_out(&self) {
        self.script("delete document.documentElement.dataset.firstLook;", vec![]).await;
    }

    /// Goes through the whole page once, so that every figure has followed the last change, and back to
    /// where it was.
    pub async fn read_through(&self) {
        self.script_async(READ, vec![]).await;
    }

    /// Opens everything that unfolds but the menus of the header, in every figure that is there, and what comes into being inside it then: a browser
    /// tells the page of what is open in its own time.
    pub async fn unfold_everything(&self) {
        let open = "const [done] = arguments; \
            const frame = () => new Promise((drawn) => requestAnimationFrame(drawn)); \
            const opened = (one) => new Promise((told) => { \
                one.addEventListener('toggle', told, { once: true }); \
                one.open = true; \
            }); \
            const unfold = async (rounds) => { \
                const closed = [...document.querySelectorAll('details:not([open], .pages details)')]; \
                if (closed.length === 0 || rounds === 0) return done(closed.length); \
                await Promise.all(closed.map(opened)); \
                await frame(); \
                await frame(); \
                unfold(rounds - 1); \
            }; \
            unfold(8);";
        assert_eq!(self.script_async(open, vec![]).await, json!(0), "something cannot be unfolded");
    }

    /// Waits until `look` succeeds, and returns what it found; fails with what it saw last, and with what the browser
    /// complained of: a program that has stopped changes nothing any more.
    pub async fn until<T, E: Debug>(&self, what: &str, look: impl AsyncFn() -> Result<T, E>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            match look().await {
                Ok(found) => return found,
                Err(seen) if Instant::now() > deadline => {
                    // Chromium keeps that only where a test asks for it.
                    let said = if self.browser() == Browser::Chromium { vec![] } else { self.complaints().await };
                    panic!("waited for {what}; last seen: {seen:?}; the browser complained of {said:?}");
                }
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits until a script returns `expected`. A script that throws is tried again: while a page loads, what it looks
    /// for may not be there yet.
    pub async fn until_script(&self, what: &str, script: &str, expected: Value) {
        self.until(what, async || {
            let seen =
                in_time(script, self.client.execute(script, vec![])).await.map_err(|error| json!(error.to_string()))?;
            if seen == expected { Ok(()) } else { Err(seen) }
        })
        .await;
    }

    /// Runs a function body in the page.
    pub async fn script(&self, body: &str, arguments: Vec<Value>) -> Value {
        answered(body, self.client.execute(body, arguments)).await
    }

    /// Runs a function body whose last argument is to be called with the result.
    pub async fn script_async(&self, body: &str, arguments: Vec<Value>) -> Value {
        answered(body, self.client.execute_async(body, arguments)).await
    }

    /// Which browser it is open in.
    pub fn browser(&self) -> Browser {
        self.driver.browser
    }

    /// Runs a function body in the window of Firefox itself, where more is allowed than in a page.
    async fn in_browser(&self, body: &str, arguments: Vec<Value>) -> Value {
        self.client.issue_cmd(firefox::context("chrome")).await.expect("a driver with access to the browser");
        let result = self.script(body, arguments).await;
        self.client.issue_cmd(firefox::context("content")).await.expect("a way back");
        result
    }

    /// A command of the browser's debugging protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        // Nobody takes it back.
        self.tab.set(Tab::Fresh);
        self.tell(command, parameters).await
    }

    /// The same where every visit says it anew.
    async fn tell(&self, command: &str, parameters: Value) -> Value {
        let sent = self.client.issue_cmd(chromium::devtools(command, parameters)).await;
        sent.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Everything the browser logged of this kind since it was last asked.
    pub async fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.client.issue_cmd(chromium::log(kind)).await.expect("chromedriver keeps logs");
        log.as_array().cloned().unwrap_or_default()
    }

    /// Warnings and errors on the console since they were last asked for.
    pub async fn complaints(&self) -> Vec<String> {
        if self.browser() == Browser::Firefox {
            let said = self.in_browser(firefox::COMPLAINTS, vec![]).await;
            let mut said: Vec<String> = serde_json::from_value(said).expect("a list of texts");
            said.retain(|message| !firefox::says_by_itself(message));
            return said;
        }
        if self.browser() == Browser::WebKit {
            let said = self.script(webkit::COMPLAINTS, vec![]).await;
            return serde_json::from_value(said).expect("a list of texts");
        }
        let serious = |entry: &Value| ["WARNING", "SEVERE"].contains(&entry["level"].as_str().unwrap_or_default());
        let messages = self.log("browser").await;
        let messages = messages.iter().filter(|entry| serious(entry)).map(|entry| entry["message"].to_string());
        messages.filter(|message| !chromium::says_by_itself(message)).collect()
    }

    /// Sets the size of the window, in CSS pixels; headless windows have no smallest width that way, and
    /// WebKit's stays at its own.
    pub async fn resize(&self, width: u32, height: u32) {
        if self.browser() == Browser::Firefox {
            _ = self.in_browser(firefox::RESIZE, vec![json!(width), json!(height)]).await;
            return;
        }
        if self.browser() == Browser::WebKit {
            // The window has a bar over the page.
            let width = width.max(webkit::NARROWEST);
            self.client.set_window_size(width, height + webkit::BAR).await.expect("a window of this size");
            self.until_script("the page to have this width", "return innerWidth;", json!(width)).await;
            return;
        }
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Whether the page can be seen as another reader sees it. WebKit is told neither of a phone's width nor of what the
    /// system prefers.
    pub fn can_be_somebody_else_s(&self) -> bool {
        self.browser() != Browser::WebKit
    }

    /// Sets what the reader's system prefers.
    pub async fn prefer(&self, media: &[(&str, &str)]) {
        if self.browser() == Browser::Firefox {
            for (feature, value) in media {
                let setting = match (*feature, *value) {
                    ("prefers-color-scheme", scheme) => (firefox::SCHEME, i32::from(scheme != "dark")),
                    ("prefers-reduced-motion", motion) => (firefox::MOTION, i32::from(motion == "reduce")),
                    other => panic!("Firefox is not told of {other:?}"),
                };
                self.in_browser(firefox::PREFER, vec![json!(setting.0), json!(setting.1)]).await;
            }
            return;
        }
        assert_eq!(self.browser(), Browser::Chromium, "WebKit is told of no preference");
        let features: Vec<_> = media.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.tell("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// The address, as the reader would copy it.
    pub async fn address(&self) -> String {
        self.client.current_url().await.expect("a page is open").to_string()
    }

    /// The query string of the address.
    pub async fn query(&self) -> String {
        self.client.current_url().await.expect("a page is open").query().unwrap_or_default().to_owned()
    }

    /// Waits until the address has this query string: it follows the page with a little delay.
    pub async fn until_query(&self, expected: &str) {
        self.until(&format!("the address to end in ?{expected}"), async || {
            let query = self.query().await;
            if query == expected { Ok(()) } else { Err(query) }
        })
        .await;
    }

    /// Goes to another query as Back and Forward do, without loading the page again.
    pub async fn travel(&self, query: &str) {
        // Safari lets a page do this a hundred times in ten seconds.
        let script = "const [query, done] = arguments; \
            const go = () => { \
                try { history.replaceState(null, '', `?${query}`); } catch { return setTimeout(go, 500); } \
                dispatchEvent(new PopStateEvent('popstate')); \
                done(null); \
            }; \
            go();";
        self.script_async(script, vec![query.into()]).await;
    }

    /// Presses keys one after another, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let actions = keys.chars().fold(KeyActions::new("keys".to_owned()), |actions, value| {
            actions.then(KeyAction::Down { value }).then(KeyAction::Up { value })
        });
        self.client.perform_actions(actions).await.expect("keys can be pressed");
    }

    /// Whether the browser lets the page read and write the clipboard: “granted” or “denied”.
    pub async fn allow_clipboard(&self, setting: &str) {
        for name in ["clipboard-read", "clipboard-write"] {
            let permission = json!({ "permission": { "name": name }, "setting": setting });
            self.devtools("Browser.setPermission", permission).await;
        }
    }

    /// The text on the clipboard.
    pub async fn clipboard(&self) -> String {
        let read =
            "const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(String(error)));";
        self.script_async(read, vec![]).await.as_str().unwrap_or_default().to_owned()
    }

    /// Scrolls to an element as a reader does: not to the very edge, where the answer bar may lie over it.
    pub async fn reveal(&self, element: &Element) {
        let reference = serde_json::to_value(element).expect("a reference to an element");
        self.script("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' });", vec![reference]).await;
    }

    /// The whole page.
    pub fn all(&self) -> Scope<'_> {
        Scope { page: self, selector: "body".to_owned() }
    }

    /// One figure, by the name its placeholder carries.
    pub fn figure(&self, name: &str) -> Scope<'_> {
        Scope { page: self, selector: format!("[data-figure=\"{name}\"]") }
    }

    /// The part of the page that a selector finds.
    pub fn part(&self, selector: &str) -> Scope<'_> {
        Scope { page: self, selector: selector.to_owned() }
    }

    /// Everything a reader can read in the figures and enter into their fields.
    pub async fn everything_shown(&self) -> Value {
        self.read_through().await;
        // What is spoken depends on what happened before, and not only on the configuration; so does what is hidden, and
        // which rows of a list are there.
        let script = "const silent = (part) => { \
                const copy = part.cloneNode(true); \
                copy.querySelectorAll('[hidden], [role=status], [role=alert], option, noscript').forEach((one) => one.remove()); \
                return copy.textContent; \
            }; \
            const text = [...document.querySelectorAll('[data-figure], #answer-bar')] \
                .map((part) => [part.dataset.figure ?? part.id, silent(part)]); \
            const values = [...document.querySelectorAll('main :is(input, select):not(.copy-link *, [hidden] *)')] \
                .map((field) => [field.id, field.type === 'radio' ? field.checked : field.value]); \
            return [text, values];";
        self.script(script, vec![]).await
    }
}

/// What a script returns, within its time. A script that throws is a fault of the test.
async fn answered(body: &str, result: impl Future<Output = Result<Value, CmdError>>) -> Value {
    in_time(body, result).await.unwrap_or_else(|error| panic!("{error}\nin {body:.200}"))
}

/// What a script returns or throws; a page that answers nothing within [`ANSWER`] stands still.
async fn in_time(body: &str, result: impl Future<Output = Result<Value, CmdError>>) -> Result<Value, CmdError> {
    timeout(ANSWER, result).await.unwrap_or_else(|_| panic!("the page stands still\nin {body:.200}"))
}

/// A part of the page in which things are looked for.
pub struct Scope<'a> {
    page: &'a Page,
    selector: String,
}

impl Scope<'_> {
    /// Brings a figure near the window and waits until it is there and has followed the last change: away
    /// from the window figures stand still.
    pub async fn approach(&self) {
        if self.selector.starts_with("[data-figure") {
            // Who comes near has moved before.
            let come = "const [selector, done] = arguments; \
                delete document.documentElement.dataset.firstLook; \
                const part = document.querySelector(selector); \
                const place = part?.getBoundingClientRect(); \
                const away = place && (place.bottom < 0 || place.top > innerHeight); \
                if (away) part.scrollIntoView({ block: 'nearest', behavior: 'instant' }); \
                let frames = away || !part?.hasAttribute('data-mounted') ? 3 : 0; \
                let patience = 600; \
                const next = () => { \
                    if (part?.hasAttribute('data-mounted')) frames -= 1; else patience -= 1; \
                    if (frames < 0 || patience < 0) done(null); else requestAnimationFrame(next); \
                }; \
                next();";
            self.page.script_async(come, vec![json!(self.selector)]).await;
        }
    }

    /// The selector of what is marked with this name.
    fn marking(&self, name: &str) -> String {
        // A control’s own name is its id, which begins with that of its figure.
        format!("{} :is([data-testid=\"{name}\"], :is(input, select, fieldset)[id$=\"-{name}\"])", self.selector)
    }

    /// Opens everything that unfolds in this part, which is made then.
    pub async fn unfold(&self) {
        self.approach().await;
        let open = "const [selector, done] = arguments; \
            document.querySelectorAll(`${selector} details:not([open])`).forEach((one) => one.open = true); \
            requestAnimationFrame(() => requestAnimationFrame(() => done(null)));";
        self.page.script_async(open, vec![json!(self.selector)]).await;
    }

    /// The cells of a table's body, by the name of its rows.
    pub async fn table(&self, rows: &str) -> Vec<Vec<String>> {
        self.unfold().await;
        let script = "return [...document.querySelectorAll(`${arguments[0]} tbody[data-testid=\"${arguments[1]}\"] > tr`)] \
            .map((row) => [...row.children].map((cell) => cell.textContent.replace(/\\s+/g, ' ').trim()));";
        let cells = self.page.script(script, vec![json!(self.selector), json!(rows)]).await;
        serde_json::from_value(cells).expect("rows of texts")
    }

    /// Presses the pointer on a drawing at one part of its width, from 0 to 1, drags it to another and lets go.
    pub async fn drag(&self, plot: &str, from: f64, to: f64) {
        let drawing = self.marked(plot).await;
        self.page.reveal(&drawing).await;
        let (_, _, width, _) = drawing.rectangle().await.expect("a place on the page");
        let step = |part: f64| PointerAction::MoveToElement {
            element: drawing.clone(),
            duration: None,
            x: ((part - 0.5) * width).round(),
            y: 0.0,
        };
        let actions = MouseActions::new("mouse".to_owned())
            .then(step(from))
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(step(to))
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.page.client.perform_actions(actions).await.expect("a pointer can be dragged");
    }

    /// The one element with this role and name; waits until it is there. The case of letters does not
    /// matter, and a part of the name will do where only one element has it.
    pub async fn find(&self, role: &str, name: &str) -> Element {
        let what = format!("one {role} named “{name}” in {}", self.selector);
        self.page
            .until(&what, async || match &self.matches(role, name).await[..] {
                [only] => Ok(only.clone()),
                found => Err(format!("{} of them", found.len())),
            })
            .await
    }

    /// The element marked with this test name; waits until it is there.
    pub async fn marked(&self, testid: &str) -> Element {
        self.approach().await;
        let selector = self.marking(testid);
        let wait = self.page.client.wait().at_most(PATIENCE);
        let found = wait.for_element(Locator::Css(&selector)).await;
        found.unwrap_or_else(|error| panic!("nothing is marked {testid} in {}: {error}", self.selector))
    }

    /// Presses the button marked with this test name, for buttons whose name is a formula.
    pub async fn press_marked(&self, testid: &str) {
        let button = self.marked(testid).await;
        self.page.reveal(&button).await;
        button.click().await.unwrap_or_else(|error| panic!("{testid} cannot be pressed: {error}"));
    }

    /// Puts the focus on the element with this role and name, as Tab would. A window that is behind another, as
    /// WebKit's is, tells its page of no focus, so that the page is told here.
    pub async fn focus(&self, role: &str, name: &str) -> Element {
        let focus = "const [element] = arguments; \
            element.focus(); \
            if (!document.hasFocus()) element.dispatchEvent(new FocusEvent('focusin', { bubbles: true }));";
        let element = self.find(role, name).await;
        let reference = serde_json::to_value(&element).expect("a reference to an element");
        self.page.script(focus, vec![reference]).await;
        element
    }

    /// Every element with this role and name that is there now.
    pub async fn matches(&self, role: &str, name: &str) -> Vec<Element> {
        self.approach().await;
        let found = self.page.script(FIND, vec![json!(self.selector), json!(role), json!(name)]).await;
        found.as_array().into_iter().flatten().map(|found| self.element(found)).collect()
    }

    fn element(&self, found: &Value) -> Element {
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        let id = id.expect("a reference to an element").to_owned();
        Element::from_element_id(self.page.client.clone(), ElementRef::from(id))
    }

    /// Presses the button with this name.
    pub async fn press(&self, name: &str) {
        self.click("button", name).await;
    }

    /// Clicks the element with this role and name.
    pub async fn click(&self, role: &str, name: &str) {
        let element = self.find(role, name).await;
        self.page.reveal(&element).await;
        element.click().await.unwrap_or_else(|error| panic!("the {role} “{name}” cannot be clicked: {error}"));
    }

    /// Chooses one of a row of radio buttons: its label is what a reader clicks.
    pub async fn choose(&self, group: &str, option: &str) {
        let group = self.find("group", group).await;
        let labels = group.find_all(Locator::Css("label")).await.expect("labels");
        for label in labels {
            if label.text().await.expect("text").trim() == option {
                self.page.reveal(&label).await;
                return label.click().await.expect("a label that can be clicked");
            }
        }
        panic!("no option “{option}”");
    }

    /// Picks an entry of the list with this label: one that is typed into by keys, any other as a pointer does. Its rows
    /// are made as it comes, before the focus.
    pub async fn pick(&self, list: &str, entry: &str) {
        let list = self.find("combobox", list).await;
        if list.tag_name().await.expect("an element") == "input" {
            self.page.reveal(&list).await;
            self.fill_in(&list, entry).await;
            self.page.until(&format!("a row for “{entry}”"), async || self.pointed(&list).await.ok_or("none")).await;
            list.send_keys("\u{e007}").await.expect("the field takes keys");
            let now = async || list.prop("value").await.expect("a property").unwrap_or_default();
            return assert_eq!(now().await, entry, "“{entry}” cannot be picked");
        }
        let press = "const [list, done] = arguments; \
            list.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true })); \
            setTimeout(() => { list.focus(); done(null); });";
        self.page.script_async(press, vec![serde_json::to_value(&list).expect("a reference to an element")]).await;
        list.select_by_label(entry).await.unwrap_or_else(|error| panic!("“{entry}” cannot be picked: {error}"));
    }

    /// The text of the row that Enter would choose, of a field with a list.
    pub async fn pointed(&self, field: &Element) -> Option<String> {
        let row =
            "return document.getElementById(arguments[0].getAttribute('aria-activedescendant'))?.innerText ?? null;";
        let reference = serde_json::to_value(field).expect("a reference to an element");
        self.page.script(row, vec![reference]).await.as_str().map(tidy)
    }

    /// Replaces what is in the text field with this label, and stays in the field.
    pub async fn fill(&self, field: &str, text: &str) {
        let element = self.find("textbox", field).await;
        self.fill_in(&element, text).await;
    }

    async fn fill_in(&self, element: &Element, text: &str) {
        let typed = if text.is_empty() { "\u{e003}" } else { text };
        // Control and A select what is there; the null key lets go of Control. Only Chromium's driver sees in one call that
        // what comes next is another key.
        let all = "\u{e009}a\u{e000}".to_owned();
        let typed = typed.to_owned();
        let calls = if self.page.browser() == Browser::Chromium { vec![all + &typed] } else { vec![all, typed] };
        for keys in calls {
            element.send_keys(&keys).await.expect("the field takes keys");
        }
    }

    /// The same, and leaves the field.
    pub async fn enter(&self, field: &str, text: &str) {
        self.fill(field, text).await;
        self.page.press("\u{e004}").await;
    }

    /// What the field or list with this role and label holds.
    pub async fn value(&self, role: &str, label: &str) -> String {
        self.find(role, label).await.prop("value").await.expect("a property").unwrap_or_default()
    }

    /// The visible text of the part marked with this test name.
    pub async fn text(&self, testid: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? null;";
        self.approach().await;
        let selector = self.marking(testid);
        let text = self.page.script(script, vec![json!(selector)]).await;
        tidy(text.as_str().unwrap_or_else(|| panic!("nothing is marked {testid} in {}", self.selector)))
    }

    /// All visible text of this part.
    pub async fn all_text(&self) -> String {
        self.approach().await;
        let script = "return [...document.querySelectorAll(arguments[0])].map((part) => part.innerText).join('\\n');";
        let text = self.page.script(script, vec![json!(self.selector)]).await;
        tidy(text.as_str().unwrap_or_default())
    }

    /// Waits until what describes a control to assistive tools has this sentence, in sight or not.
    pub async fn explains(&self, role: &str, label: &str, sentence: &str) {
        let control = self.find(role, label).await;
        let script = "return (arguments[0].getAttribute('aria-describedby') ?? '').split(' ') \
            .map((id) => document.getElementById(id)?.textContent ?? '').join(' ');";
        let control = serde_json::to_value(control).expect("an element");
        self.page
            .until(&format!("{label} to be explained by “{sentence}”"), async || {
                let text = self.page.script(script, vec![control.clone()]).await;
                let text = tidy(text.as_str().unwrap_or_default());
                if text.contains(sentence) { Ok(()) } else { Err(text) }
            })
            .await;
    }

    /// Waits until the part marked with this test name shows exactly this.
    pub async fn shows(&self, testid: &str, expected: &str) {
        self.page
            .until(&format!("{testid} to show “{expected}”"), async || {
                let text = self.text(testid).await;
                if text == expected { Ok(()) } else { Err(text) }
            })
            .await;
    }

    /// Waits until the text of this part contains `expected`.
    pub async fn says(&self, expected: &str) {
        self.page
            .until(&format!("{} to say “{expected}”", self.selector), async || {
                let text = self.all_text().await;
                if text.contains(expected) { Ok(()) } else { Err(text) }
            })
            .await;
    }
}

/// Text with every run of white space as one space: lines break where the window wants them to.
pub fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
