//! A browser of one's own: chromedriver, the browser it starts, and the folder of its profile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::{ParseError, Url};

/// More browsers than this at once only wait for each other on a small machine.
static BROWSERS: Semaphore = Semaphore::const_new(2);

/// How long programs may take to start and to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running chromedriver. Dropping it ends the browser too, after a failed test as after a passed one.
pub struct Driver {
    process: Child,
    port: u16,
    profile: PathBuf,
    _turn: SemaphorePermit<'static>,
}

impl Driver {
    pub async fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let turn = BROWSERS.acquire().await.expect("the semaphore is never closed");
        let (process, port) = (0..5).find_map(|_| launched()).expect("chromedriver names its port when it is ready");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("bmax-browser-{}-{number}", process::id()));
        Self { process, port, profile, _turn: turn }
    }

    /// Starts the browser.
    pub async fn client(&self) -> Client {
        let mut options = json!({
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
                "--disable-sync",
                "--no-first-run",
                "--hide-scrollbars",
                "--window-size=1440,900",
                format!("--user-data-dir={}", self.profile.display()),
            ],
        });
        if let Ok(browser) = env::var("CHROMIUM") {
            options["binary"] = browser.into();
        }
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let Value::Object(capabilities) = capabilities else { unreachable!("it is an object above") };
        ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await
            .expect("a browser that chromedriver can start; name one in CHROMIUM")
    }

    /// Asks the driver to end itself and its browser.
    fn shut_down(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let asked = self.shut_down().is_ok();
        let deadline = Instant::now() + PATIENCE;
        while asked && Instant::now() < deadline && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        _ = self.process.kill();
        _ = self.process.wait();
        _ = fs::remove_dir_all(&self.profile);
    }
}

/// A driver that is ready, and its port; nothing when it ended instead. It picks a free port by itself
/// and wants the same one for IPv4 and IPv6, which another program may have: then the next one is luckier.
fn launched() -> Option<(Child, u16)> {
    let program = env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
    let mut process = Command::new(&program)
        .args(["--port=0", "--log-level=SEVERE"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} cannot be started ({error}); name one in CHROMEDRIVER"));
    let port = announced_port(process.stdout.take().expect("the output is piped"));
    if port.is_none() {
        _ = process.kill();
        _ = process.wait();
    }
    port.map(|port| (process, port))
}

/// The port that the driver names once it is ready.
fn announced_port(output: impl Read + Send + 'static) -> Option<u16> {
    let (found, port) = mpsc::channel();
    thread::spawn(move || {
        // The output is read to its end: the driver must never wait for a full pipe.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once("started successfully on port ") {
                _ = found.send(rest.trim_end_matches('.').parse().ok());
            }
        }
    });
    port.recv_timeout(PATIENCE).ok().flatten()
}

/// A command of chromedriver that the WebDriver standard does not have.
#[derive(Debug)]
pub struct Extension {
    path: &'static str,
    body: Value,
}

impl Extension {
    /// A command of the browser's own debugging protocol.
    pub fn devtools(command: &str, parameters: Value) -> Self {
        Self { path: "goog/cdp/execute", body: json!({ "cmd": command, "params": parameters }) }
    }

    /// What was logged since the last such command.
    pub fn log(kind: &str) -> Self {
        Self { path: "se/log", body: json!({ "type": kind }) }
    }
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
