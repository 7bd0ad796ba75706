//! A page of somebody else, written for one test, that shows figures in frames and remembers what they say.

use serde_json::{Value, json};

use super::{FOLDER, Page, Visit};

/// Somebody else's page. Frames are numbered in the order of the page.
pub struct Host {
    pub page: Page,
}

impl Host {
    /// Opens a page with this body.
    pub async fn with(body: &str) -> Self {
        Self::visited(Visit::to_the_host_page(), body).await
    }

    /// The same for readers with other wishes.
    pub async fn visited(visit: Visit, body: &str) -> Self {
        let host = Self { page: visit.open().await };
        let listen = "window.heard = []; \
            addEventListener('message', ({ data, source }) => { \
                const frame = [...document.querySelectorAll('iframe')].findIndex((one) => one.contentWindow === source); \
                heard.push([frame, data]); \
            });";
        host.page.script(listen, vec![]).await;
        host.show(body).await;
        host
    }

    /// Puts another body in the place of this one.
    pub async fn show(&self, body: &str) {
        self.page.script("window.heard = []; document.body.innerHTML = arguments[0];", vec![json!(body)]).await;
    }

    /// Gives the only frame another size and waits until its window has it.
    pub async fn resize(&self, width: u32, height: u32) {
        let resize = "const { style } = document.querySelector('iframe'); \
            [style.width, style.height] = [...arguments].map((length) => `${length}px`);";
        self.page.script(resize, vec![json!(width), json!(height)]).await;
        self.page
            .until("the frame to have its size", async || {
                let size = self.inside(0, "return [innerWidth, innerHeight];").await;
                if size == json!([width, height]) { Ok(()) } else { Err(size) }
            })
            .await;
    }

    /// Adds the script that sizes frames.
    pub async fn add_embed_script(&self) {
        let add = "const [source, done] = arguments; \
            const script = document.createElement('script'); \
            script.src = source; \
            script.onload = () => done(null); \
            document.head.append(script);";
        self.page.script_async(add, vec![json!(format!("{FOLDER}embed.js"))]).await;
    }

    /// Runs a script inside a frame.
    pub async fn inside(&self, frame: u16, script: &str) -> Value {
        self.page.client.enter_frame(frame).await.expect("a frame");
        let found = self.page.script(script, vec![]).await;
        self.page.client.enter_parent_frame().await.expect("the page around it");
        found
    }

    /// Waits until a frame has painted what it shows, and what follows behind that (`State::later`).
    pub async fn painted(&self, frame: u16) {
        let mark = "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => setTimeout(() => \
            document.body.dataset.painted = ''))));";
        self.inside(frame, mark).await;
        self.page
            .until(&format!("frame {frame} to be painted"), async || {
                match self.inside(frame, "return 'painted' in document.body.dataset;").await {
                    Value::Bool(true) => Ok(()),
                    other => Err(other),
                }
            })
            .await;
    }

    /// Sends a message to a frame.
    pub async fn tell(&self, frame: u16, message: Value) {
        let send = "document.querySelectorAll('iframe')[arguments[0]].contentWindow.postMessage(arguments[1], '*');";
        self.page.script(send, vec![json!(frame), message]).await;
    }

    /// All messages of this type that a frame sent, in order.
    pub async fn heard(&self, frame: u16, kind: &str) -> Vec<Value> {
        let heard = "return heard.filter(([frame, data]) => frame === arguments[0] && data?.type === arguments[1]) \
            .map(([, data]) => data);";
        let heard = self.page.script(heard, vec![json!(frame), json!(kind)]).await;
        heard.as_array().cloned().unwrap_or_default()
    }

    /// Waits for a message of this type that is as wanted, and returns it.
    pub async fn hears(&self, frame: u16, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.page
            .until(&format!("{kind} of frame {frame}"), async || {
                let heard = self.heard(frame, kind).await;
                heard.iter().rev().find(|message| wanted(message)).cloned().ok_or(heard)
            })
            .await
    }

    /// Waits until a frame has told the height that its figure needs now, and returns that.
    pub async fn settled(&self, frame: u16) -> u64 {
        // A frame whose figure is there, if it has one, and that has told its height, and needs no other since.
        let needed = "const figure = document.querySelector('figure, main ul'); \
            const there = figure?.matches('ul, :has([data-figure][data-mounted]:not([data-figure] *))'); \
            return there ? Math.ceil(document.body.getBoundingClientRect().height) : null;";
        self.page
            .until(&format!("frame {frame} to tell its height"), async || {
                // What has told a height has loaded: Chromium's driver may stand still in a frame that leaves its
                // first empty page meanwhile, as a lazy one does when it comes near.
                let Some(told) = self.heard(frame, "size").await.last().and_then(|size| size["height"].as_u64()) else {
                    return Err((None, None));
                };
                let needed = self.inside(frame, needed).await.as_u64();
                if needed == Some(told) { Ok(told) } else { Err((needed, Some(told))) }
            })
            .await
    }

    /// Ends the visit.
    pub async fn close(self) {
        self.page.close().await;
    }
}

/// A frame with this query string, as docs/embedding.md recommends it, and more attributes.
pub fn frame(query: &str, attributes: &str) -> String {
    frame_at("", query, attributes)
}

/// The same at the page that has the figure, to which the first one would only lead.
pub fn frame_at(page: &str, query: &str, attributes: &str) -> String {
    let address = format!("{FOLDER}{page}?{query}");
    format!("<iframe title=figure width=800 height=400 style='border:0' {attributes} src='{address}'></iframe>")
}

/// A frame that may run scripts and nothing more.
pub fn sandboxed(query: &str) -> String {
    frame(query, "sandbox=allow-scripts")
}
