//! A browser to oneself: its driver, the browser that this starts, and the folder of its profile.
//!
//! A Chromium or Firefox that a test has left as it found it serves the next one: to start one takes longer than many a
//! test. So does its server, and in Chromium the tab: a page that comes after another of the same origin is there in half
//! the time. Where a test has changed more than the page, the next one gets a new tab and a new server. A session of
//! WebKit keeps nothing, and ends with the test.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use url::{ParseError, Url};

use super::server::{BMAX, COURSE, Network, Server};
use super::{chromium, firefox, webkit};

/// More browsers than this at once only wait for each other on a small machine.
static BROWSERS: Semaphore = Semaphore::const_new(3);

thread_local! {
    /// Whether the test that runs in this thread has a browser. Two tests that each had one and waited for a second would
    /// wait for ever.
    static HAS_ONE: Cell<bool> = const { Cell::new(false) };
}

/// How long programs may take to start and to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a page may take to load, and a script to answer, on a busy machine.
const LOAD: Duration = Duration::from_secs(60);

/// Which of the three. All are asked by the same standard; what it leaves out is in `chromium`, `firefox` and `webkit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Browser {
    Chromium,
    Firefox,
    WebKit,
}

impl Browser {
    /// The one that tests use which ask for none: BMAX_BROWSER names it.
    pub fn usual() -> Self {
        match env::var("BMAX_BROWSER").as_deref() {
            Ok("firefox") => Self::Firefox,
            Ok("webkit") => Self::WebKit,
            Ok("chromium") | Err(_) => Self::Chromium,
            Ok(other) => panic!("BMAX_BROWSER is '{other}': it may be chromium, firefox or webkit"),
        }
    }

    /// The variable that names its driver, the name this is looked for by, and what it is started with.
    const fn driver(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Chromium => ("CHROMEDRIVER", "chromedriver", &["--port=0", "--log-level=SEVERE"]),
            // Console and preferences are the browser's, and no page's.
            Self::Firefox => ("GECKODRIVER", "geckodriver", &["--port=0", "--allow-system-access"]),
            Self::WebKit => ("WEBKITDRIVER", "WebKitWebDriver", &[]),
        }
    }

    /// What the driver says before its port once it is ready; nothing where it wants to be told its port.
    const fn announcement(self) -> Option<&'static str> {
        match self {
            Self::Chromium => Some("started successfully on port "),
            Self::Firefox => Some("Listening on 127.0.0.1:"),
            Self::WebKit => None,
        }
    }
}

/// What a browser is started as: one that was started for something else cannot take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub browser: Browser,
    /// Whether pages may run scripts.
    pub scripts: bool,
    /// Whether the browser writes down every request that it makes, which slows it down.
    pub log: bool,
    /// Whether the site may keep itself for a visit without a network.
    pub kept: bool,
    /// Whether nobody has ever touched it: a tab in which a pointer was is one where it moves.
    pub untouched: bool,
}

/// Browsers that nobody has at the moment.
static IDLE: Mutex<Vec<Program>> = Mutex::new(Vec::new());

/// So many visits are made with one browser: it keeps something of each.
const VISITS: u32 = 40;

/// A driver that runs, and its browser. Dropping it ends both, and so does the end of this program.
struct Program {
    wanted: Wanted,
    process: Child,
    port: u16,
    profile: PathBuf,
    /// What the browser takes for the way to all other hosts.
    network: Network,
    session: Option<String>,
    visits: u32,
    /// The server of the last visit, and whether its tab is still there for the next one.
    left: Option<Server>,
    tab: Tab,
}

/// What a test begins in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// One in which nothing was ever open.
    Fresh,
    /// One in which a page of the same server is open, and which was told what every tab is told.
    Used,
}

impl Program {
    fn start(wanted: Wanted) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let profile = env::temp_dir().join(format!("bmax-browser-{}-{number}", process::id()));
        let launch = |_| launched(wanted.browser, &profile);
        let (process, port) = (0..5).find_map(launch).expect("a driver names its port when it is ready");
        Self {
            wanted,
            process,
            port,
            profile,
            network: Network::start(),
            session: None,
            visits: 0,
            left: None,
            tab: Tab::Fresh,
        }
    }

    /// A connection to the browser, which is started if it is not there yet; nothing where it does not start.
    async fn client(&mut self) -> Option<Client> {
        let address = format!("http://127.0.0.1:{}", self.port);
        if let Some(session) = &self.session {
            let client = Client::with_existing_session(&address, session, HttpConnector::new()).await;
            let client = client.expect("the address of a driver");
            client.persist().await.expect("the connection is there");
            return Some(client);
        }
        let capabilities = match self.wanted.browser {
            Browser::Chromium => chromium::capabilities(&self.profile, self.network.address(), self.wanted),
            Browser::Firefox => firefox::capabilities(self.network.address()),
            Browser::WebKit => webkit::capabilities(self.network.address()),
        };
        let Value::Object(mut capabilities) = capabilities else { unreachable!("capabilities are an object") };
        // What stands still fails its test; a driver left to itself waits for five minutes.
        let patience = LOAD.as_millis();
        capabilities.insert("timeouts".to_owned(), json!({ "pageLoad": patience, "script": patience }));
        // One at a time: two browsers that start at the same moment may wait for each other for ever, and one may give up on
        // a busy machine.
        static STARTS: Semaphore = Semaphore::const_new(1);
        let turn = STARTS.acquire().await.expect("the semaphore is never closed");
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = timeout(PATIENCE, builder.capabilities(capabilities).connect(&address)).await.ok()?.ok()?;
        drop(turn);
        // What comes to an end with the test is the connection, and the browser with this program.
        client.persist().await.expect("the connection is there");
        self.session = client.session_id().await.ok().flatten();
        Some(client)
    }

    /// Makes the browser one that nobody has used, with nothing of what the site has stored; in the same tab where that is
    /// as it was given.
    async fn tidied(&self, client: &Client, server: &Server, tab: Tab) -> Result<Tab, CmdError> {
        let tab = if client.windows().await?.len() > 1 { Tab::Fresh } else { tab };
        if tab == Tab::Fresh {
            renew(client).await?;
        }
        if self.wanted.browser == Browser::Firefox {
            client.issue_cmd(firefox::context("chrome")).await?;
            client.execute_async(firefox::FORGET, vec![json!([firefox::SCHEME, firefox::MOTION])]).await?;
            client.issue_cmd(firefox::context("content")).await?;
            return Ok(tab);
        }
        let told = async |command, parameters| client.issue_cmd(chromium::devtools(command, parameters)).await;
        if tab == Tab::Used {
            client.execute(LEAVE, vec![]).await?;
            told("Page.resetNavigationHistory", json!({})).await?;
        }
        // In a window that is behind another nothing has the focus.
        told("Page.bringToFront", json!({})).await?;
        let origins =
            [&server.origin(), COURSE, BMAX].map(|address| address.split('/').take(3).collect::<Vec<_>>().join("/"));
        for origin in origins {
            told("Storage.clearDataForOrigin", json!({ "origin": origin, "storageTypes": "all" })).await?;
        }
        told("Browser.resetPermissions", json!({})).await?;
        client.issue_cmd(chromium::log("browser")).await?;
        Ok(tab)
    }

    /// Asks the driver to end its browser, and itself where it can.
    fn shut_down(&self) -> io::Result<()> {
        let request = match (self.wanted.browser, &self.session) {
            (Browser::Chromium, _) => "GET /shutdown".to_owned(),
            (Browser::Firefox | Browser::WebKit, Some(session)) => format!("DELETE /session/{session}"),
            (Browser::Firefox | Browser::WebKit, None) => return Ok(()),
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // geckodriver wants to be called by its port, too.
        write!(stream, "{request} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", self.port)?;
        stream.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.shut_down();
        // What is left of it ends with its input.
        drop(self.process.stdin.take());
        _ = self.process.wait();
        _ = fs::remove_dir_all(&self.profile);
    }
}

/// A browser that one test has. Dropping it ends the browser, unless it was handed back.
pub struct Driver {
    pub browser: Browser,
    program: Option<Program>,
    began: Instant,
    _turn: SemaphorePermit<'static>,
}

impl Driver {
    /// A browser as it is wanted, the connection to it, and a server that it asks for whatever is not on this machine; a
    /// file of the page that is withheld is there, and empty.
    pub async fn start(wanted: Wanted, withheld: Option<&'static str>) -> (Self, Client, Server) {
        assert!(!HAS_ONE.get(), "a test has one browser at a time");
        let turn = BROWSERS.acquire().await.expect("the semaphore is never closed");
        let began = Instant::now();
        let idle = {
            let mut idle = IDLE.lock().expect("no panic under this lock");
            idle.iter().position(|program| program.wanted == wanted).map(|at| idle.swap_remove(at))
        };
        let mut program = idle.unwrap_or_else(|| Program::start(wanted));
        let left = program.left.take().filter(|_| withheld.is_none());
        let server = left.unwrap_or_else(|| Server::start(withheld));
        for _ in 0..3 {
            program.visits += 1;
            program.network.lead_to(&server);
            if let Some(client) = program.client().await {
                HAS_ONE.set(true);
                return (Self { browser: wanted.browser, program: Some(program), began, _turn: turn }, client, server);
            }
            program = Program::start(wanted);
        }
        panic!("no browser that the driver can start; name one in CHROMIUM, FIREFOX or MINIBROWSER");
    }

    /// What the test began in.
    pub fn tab(&self) -> Tab {
        self.program.as_ref().map_or(Tab::Fresh, |program| program.tab)
    }

    /// Hands the browser back for the next test, and its tab with its server where they are as they were given.
    pub async fn hand_back(mut self, client: Client, server: Server, tab: Tab) {
        let Some(mut program) = self.program.take() else { return };
        let lasts = program.wanted.browser != Browser::WebKit && program.visits < VISITS;
        let Wanted { browser, kept, untouched, .. } = program.wanted;
        let same = browser == Browser::Chromium && !kept && !untouched && server.is_as_it_was();
        let tab = if same { tab } else { Tab::Fresh };
        if !lasts {
            return;
        }
        if let Ok(tab) = program.tidied(&client, &server, tab).await {
            program.tab = tab;
            if tab == Tab::Used {
                server.forget();
                program.left = Some(server);
            }
            IDLE.lock().expect("no panic under this lock").push(program);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.program.take());
        HAS_ONE.set(false);
        note_time(self.began.elapsed());
    }
}

/// Adds to the file that BMAX_TIMES names how long a test has had a browser. Tests run in threads of their names.
fn note_time(time: Duration) {
    let Some(path) = env::var_os("BMAX_TIMES") else { return };
    let line = format!("{:.2} {}\n", time.as_secs_f64(), thread::current().name().unwrap_or("?"));
    _ = OpenOptions::new().create(true).append(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Opens another tab and closes all others.
async fn renew(client: &Client) -> Result<(), CmdError> {
    let before = client.windows().await?;
    let fresh = client.new_window(true).await?.handle;
    for window in before {
        client.switch_to_window(window).await?;
        client.close_window().await?;
    }
    client.switch_to_window(fresh).await
}

/// Takes away what a page leaves in its tab for the next one, and marks it as one that is left.
const LEAVE: &str =
    "try { sessionStorage.clear(); } catch { /* It has none. */ } window.name = ''; window.isLeft = true;";

/// Runs a driver until nobody holds the other end of the input any more, whatever has become of them. Driver and
/// browser are a group of processes, and its first one is this.
const KEEPER: &str = r#"
    profile=$1
    shift
    "$@" </dev/null &
    exec >/dev/null
    read -r _
    trap '' TERM
    if kill -TERM 0 && kill -0 $!; then sleep 2; fi
    rm -rf "$profile"
    kill -KILL 0
"#;

/// A driver that is ready, and its port; nothing when it ended instead. It picks a free port by itself
/// and may want the same one for IPv4 and IPv6, which another program may have: then the next one is luckier.
fn launched(browser: Browser, profile: &Path) -> Option<(Child, u16)> {
    let (variable, name, arguments) = browser.driver();
    let given = if browser.announcement().is_none() { Some(free_port()?) } else { None };
    let program = env::var(variable).unwrap_or_else(|_| name.to_owned());
    let version = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
    version.unwrap_or_else(|error| panic!("{program} cannot be started ({error}); name one in {variable}"));
    let mut process = Command::new("sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(profile)
        .arg(&program)
        .args(arguments)
        .args(given.map(|port| format!("--port={port}")))
        .envs(firefox::ENVIRONMENT)
        .envs(webkit::ENVIRONMENT)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell can be started");
    let output = process.stdout.take().expect("the output is piped");
    let port = match browser.announcement() {
        Some(announcement) => announced_port(output, announcement),
        None => given.filter(|port| answers(*port)),
    };
    if port.is_none() {
        drop(process.stdin.take());
        _ = process.wait();
    }
    port.map(|port| (process, port))
}

/// A port that nobody has at this moment.
fn free_port() -> Option<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

/// Waits until somebody listens at this port.
fn answers(port: u16) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
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
