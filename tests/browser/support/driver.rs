//! A browser of one's own: its driver, the browser that this starts, and the folder of its profile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use url::{ParseError, Url};

use super::{chromium, firefox};

/// More browsers than this at once only wait for each other on a small machine.
static BROWSERS: Semaphore = Semaphore::const_new(2);

/// How long programs may take to start and to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which of the two. Both are asked by the same standard; what it leaves out is in `chromium` and `firefox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Browser {
    Chromium,
    Firefox,
}

impl Browser {
    /// The variable that names its driver, the name this is looked for by, and what it is started with.
    const fn driver(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Chromium => ("CHROMEDRIVER", "chromedriver", &["--port=0", "--log-level=SEVERE"]),
            // Console and preferences are the browser's, and no page's.
            Self::Firefox => ("GECKODRIVER", "geckodriver", &["--port=0", "--allow-system-access"]),
        }
    }

    /// What the driver says before its port once it is ready.
    const fn announcement(self) -> &'static str {
        match self {
            Self::Chromium => "started successfully on port ",
            Self::Firefox => "Listening on 127.0.0.1:",
        }
    }
}

/// A running driver. Dropping it ends the browser too, after a failed test as after a passed one.
pub struct Driver {
    pub browser: Browser,
    process: Child,
    port: u16,
    profile: PathBuf,
    session: Mutex<Option<String>>,
    _turn: SemaphorePermit<'static>,
}

impl Driver {
    pub async fn start(browser: Browser) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let turn = BROWSERS.acquire().await.expect("the semaphore is never closed");
        let (process, port) = (0..5).find_map(|_| launched(browser)).expect("a driver names its port when it is ready");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("bmax-browser-{}-{number}", process::id()));
        Self { browser, process, port, profile, session: Mutex::new(None), _turn: turn }
    }

    /// Starts the browser, with JavaScript or without. Whatever is not on this machine it asks of `network`.
    pub async fn client(&self, network: SocketAddr, scripts: bool) -> Client {
        let capabilities = match self.browser {
            Browser::Chromium => chromium::capabilities(&self.profile, network, scripts),
            Browser::Firefox => firefox::capabilities(network),
        };
        let Value::Object(capabilities) = capabilities else { unreachable!("capabilities are an object") };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await
            .expect("a browser that the driver can start; name one in CHROMIUM or FIREFOX");
        *self.session.lock().expect("no panic under this lock") = client.session_id().await.ok().flatten();
        client
    }

    /// Asks the driver to end its browser, and itself where it can.
    fn shut_down(&self) -> io::Result<()> {
        let request = match (self.browser, &*self.session.lock().expect("no panic under this lock")) {
            (Browser::Chromium, _) => "GET /shutdown".to_owned(),
            (Browser::Firefox, Some(session)) => format!("DELETE /session/{session}"),
            (Browser::Firefox, None) => return Ok(()),
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // geckodriver wants to be called by its port, too.
        write!(stream, "{request} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", self.port)?;
        stream.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let asked = self.shut_down().is_ok() && self.browser == Browser::Chromium;
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
/// and may want the same one for IPv4 and IPv6, which another program may have: then the next one is luckier.
fn launched(browser: Browser) -> Option<(Child, u16)> {
    let (variable, name, arguments) = browser.driver();
    let program = env::var(variable).unwrap_or_else(|_| name.to_owned());
    let mut process = Command::new(&program)
        .args(arguments)
        .envs(firefox::ENVIRONMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} cannot be started ({error}); name one in {variable}"));
    let port = announced_port(process.stdout.take().expect("the output is piped"), browser.announcement());
    if port.is_none() {
        _ = process.kill();
        _ = process.wait();
    }
    port.map(|port| (process, port))
}

/// The port that the driver names once it is ready.
fn announced_port(output: impl Read + Send + 'static, announcement: &'static str) -> Option<u16> {
    let (found, port) = mpsc::channel();
    thread::spawn(move || {
        // The output is read to its end: the driver must never wait for a full pipe.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once(announcement) {
                _ = found.send(rest.trim_end_matches('.').parse().ok());
            }
        }
    });
    port.recv_timeout(PATIENCE).ok().flatten()
}

/// A command of one of the drivers that the WebDriver standard does not have.
#[derive(Debug)]
pub struct Extension {
    pub path: &'static str,
    pub body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
