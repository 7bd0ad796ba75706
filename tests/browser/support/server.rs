//! A file server for the built page, under a sub-folder, as a course site would have it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{env, fs, io, thread};

use serde_json::Value;

/// Where the page lies. It knows nothing of this path, so every address in it must be relative.
pub const FOLDER: &str = "/course/week-3/bmax/";

/// Another place of the same origin, where [`Server::publish`] may put a copy of the page.
pub const OTHER_FOLDER: &str = "/course/week-4/bmax/";

/// A page of nobody on any host, with nothing in it, which no log mentions: here a browser can be prepared
/// for a visit.
pub const BLANK: &str = "/.blank";

/// A page of somebody else that shows this one in a frame without an origin and without storage.
pub const HOST_PAGE: &str = "/course/host.html";

/// Where course notes lie: on a host of their own, which the browser reaches through this server.
pub const COURSE: &str = "http://course.example/";

/// Where they find the page: on another host, in a folder.
pub const BMAX: &str = "http://bmax.example/week-3/";

/// A built page, file by file.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What lies where: folders and their files.
type Site = BTreeMap<&'static str, Arc<Files>>;

/// What a server has, and what it was asked for.
struct Shared {
    requests: Mutex<Vec<String>>,
    site: Mutex<Site>,
    strangers: Mutex<Vec<String>>,
    /// Scripts that stand before everything else in every page.
    first: Mutex<String>,
    /// The text behind which every page makes a pause.
    pause: Mutex<Option<&'static str>>,
}

/// One server, on a port of its own, with a log of its own. It answers GET and HEAD, one request a connection and a
/// thread each: nothing can wait behind a connection that the browser keeps open.
pub struct Server {
    shared: Arc<Shared>,
    listener: Listener,
    /// Whether it has what every server has, and is there.
    as_it_was: AtomicBool,
}

impl Server {
    /// Starts it; a file of the page that is withheld is there, and empty.
    pub fn start(withheld: Option<&'static str>) -> Self {
        let mut files = dist().clone();
        if let Some(bytes) = withheld.and_then(|name| Arc::make_mut(&mut files).get_mut(name)) {
            bytes.clear();
        }
        let mut site = Site::from([(FOLDER, files.clone()), (BMAX, files)]);
        site.extend(notes().map(|notes| (COURSE, notes.clone())));
        let shared = Arc::new(Shared {
            site: Mutex::new(site),
            requests: Mutex::default(),
            strangers: Mutex::default(),
            first: Mutex::default(),
            pause: Mutex::default(),
        });
        let asked = shared.clone();
        let listener = Listener::start(move || Some(asked.clone()));
        Self { shared, listener, as_it_was: AtomicBool::new(withheld.is_none()) }
    }

    /// Whether another test may have it: no file of it is another, and it is there.
    pub fn is_as_it_was(&self) -> bool {
        self.as_it_was.load(Ordering::SeqCst)
    }

    /// Forgets what it was asked for, what stands before pages, and where they make a pause.
    pub fn forget(&self) {
        self.shared.requests.lock().expect("no panic under this lock").clear();
        self.shared.strangers.lock().expect("no panic under this lock").clear();
        self.shared.first.lock().expect("no panic under this lock").clear();
        *self.shared.pause.lock().expect("no panic under this lock") = None;
    }

    /// Puts other files into a folder, all at once, as a deployment should.
    pub fn publish(&self, folder: &'static str, files: Files) {
        self.as_it_was.store(false, Ordering::SeqCst);
        self.shared.site.lock().expect("no panic under this lock").insert(folder, Arc::new(files));
    }

    /// Puts one more script before everything else in every page: even before its policy, which is for what follows.
    pub fn begin_pages_with(&self, script: &str) {
        let mut first = self.shared.first.lock().expect("no panic under this lock");
        *first += &format!("<script>{script}</script>");
    }

    /// Sends every page that has this text in two pieces, the second long after a browser would have shown the first.
    pub fn pause_pages_behind(&self, text: &'static str) {
        *self.shared.pause.lock().expect("no panic under this lock") = Some(text);
    }

    /// Is gone from here on: connections are refused.
    pub fn stop(&mut self) {
        self.as_it_was.store(false, Ordering::SeqCst);
        self.listener.stop();
    }

    /// Requests to any host that no test knows, as the browser made them. They got no answer.
    pub fn strangers(&self) -> Vec<String> {
        self.shared.strangers.lock().expect("no panic under this lock").clone()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://{}", self.listener.address)
    }

    /// Paths asked for so far, with their query strings, and with the host where it is not this machine.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().expect("no panic under this lock").clone()
    }
}

/// All the network there is beside this machine, as a browser sees it: one server after another.
pub struct Network {
    server: Arc<Mutex<Option<Arc<Shared>>>>,
    listener: Listener,
}

impl Network {
    pub fn start() -> Self {
        let server = Arc::new(Mutex::new(None::<Arc<Shared>>));
        let asked = server.clone();
        Self { server, listener: Listener::start(move || asked.lock().expect("no panic under this lock").clone()) }
    }

    /// From now on all hosts are this server.
    pub fn lead_to(&self, server: &Server) {
        *self.server.lock().expect("no panic under this lock") = Some(server.shared.clone());
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address
    }
}

/// A port at which requests are answered.
struct Listener {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn start(asked: impl Fn() -> Option<Arc<Shared>> + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on the loopback device");
        let address = listener.local_addr().expect("it is bound");
        let closing = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let closing = closing.clone();
            move || {
                for stream in listener.incoming().flatten() {
                    if closing.load(Ordering::SeqCst) {
                        return;
                    }
                    let Some(shared) = asked() else { continue };
                    // The browser may be gone before it has its answer; that is its good right.
                    thread::spawn(move || _ = answer(&stream, &shared));
                }
            }
        });
        Self { address, closing, thread: Some(thread) }
    }

    fn stop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The thread waits for a connection, so it gets one.
        _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What is sent back.
struct Reply {
    status: &'static str,
    kind: &'static str,
    /// Where it is instead.
    location: Option<String>,
    body: Vec<u8>,
}

impl Reply {
    fn of(status: &'static str, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, location: None, body: body.into() }
    }

    fn page(body: Vec<u8>) -> Self {
        Self::of("200 OK", kind_of("page.html"), body)
    }
}

fn answer(mut stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    // Browsers open connections in advance that they may never use.
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let Some(address) = request.split(' ').nth(1) else { return Ok(()) };
    // The head of the request ends with an empty line.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let there = shared.site.lock().expect("no panic under this lock").iter().find_map(|(folder, files)| {
        let name = path.strip_prefix(folder)?;
        Some((name.to_owned(), files.clone()))
    });
    let mut reply = match there {
        _ if path.ends_with(BLANK) => Reply::page(blank_page()),
        Some((name, files)) => file(&files, &name, address),
        None if path == HOST_PAGE => Reply::page(host_page()),
        None if path.starts_with('/') => Reply::of("404 Not Found", "text/plain", "nothing here"),
        None => {
            shared.strangers.lock().expect("no panic under this lock").push(request.clone());
            Reply::of("502 Bad Gateway", "text/plain", "no such host")
        }
    };
    let first = shared.first.lock().expect("no panic under this lock").clone();
    if !first.is_empty() && reply.kind == kind_of("page.html") {
        let page = String::from_utf8_lossy(&reply.body);
        // A minifier leaves the tag of the head out where it can.
        let place = ["<head>", "<meta ", "<title>"].into_iter().find_map(|tag| page.find(tag).map(|at| (at, tag)));
        let at = place.map_or(0, |(at, tag)| if tag == "<head>" { at + tag.len() } else { at });
        reply.body = format!("{}{first}{}", &page[..at], &page[at..]).into_bytes();
    }
    if !path.ends_with(BLANK) {
        shared.requests.lock().expect("no panic under this lock").push(address.to_owned());
    }
    // A frame without an origin of its own may load the module only with the third header.
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nAccess-Control-Allow-Origin: *\r\n\
         Cache-Control: no-cache\r\nConnection: close\r\n{}\r\n",
        reply.status,
        reply.kind,
        reply.body.len(),
        reply.location.as_ref().map(|location| format!("Location: {location}\r\n")).unwrap_or_default(),
    );
    stream.write_all(head.as_bytes())?;
    if request.starts_with("HEAD ") {
        return Ok(());
    }
    let pause = *shared.pause.lock().expect("no panic under this lock");
    let (piece, rest) = in_pieces(&reply, pause);
    stream.write_all(piece)?;
    if !rest.is_empty() {
        stream.flush()?;
        thread::sleep(PAUSE);
    }
    stream.write_all(rest)
}

/// How long a page makes a pause that is sent in two pieces.
const PAUSE: Duration = Duration::from_millis(500);

/// What is sent before the pause and behind it.
fn in_pieces<'a>(reply: &'a Reply, pause: Option<&str>) -> (&'a [u8], &'a [u8]) {
    let page = if reply.kind == kind_of("page.html") { reply.body.as_slice() } else { &[] };
    let place = pause.and_then(|text| {
        let at = page.windows(text.len()).position(|part| part == text.as_bytes())?;
        Some(at + text.len())
    });
    reply.body.split_at(place.unwrap_or(reply.body.len()))
}

/// A file of a site as hosts of static pages serve it: a folder is its page, and what is not there is 404.html.
fn file(files: &Files, name: &str, address: &str) -> Reply {
    let found = if name.is_empty() || name.ends_with('/') { format!("{name}index.html") } else { name.to_owned() };
    if let Some(bytes) = files.get(&found) {
        return Reply::of("200 OK", kind_of(&found), bytes.clone());
    }
    if files.contains_key(&format!("{name}/index.html")) {
        let end = address.find(['?', '#']).unwrap_or(address.len());
        let location = format!("{}/{}", &address[..end], &address[end..]);
        return Reply { location: Some(location), ..Reply::of("301 Moved Permanently", "text/plain", "") };
    }
    match files.get("404.html") {
        Some(bytes) => Reply::of("404 Not Found", kind_of("404.html"), bytes.clone()),
        None => Reply::of("404 Not Found", "text/plain", "no such file"),
    }
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        // Browsers compile the module while it arrives only if it is declared as one.
        Some("wasm") => "application/wasm",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

fn host_page() -> Vec<u8> {
    format!(
        "<!doctype html><html lang=en><title>Course notes</title><link rel=icon href=data:,><h1>Week 3</h1>\
         <iframe title=figures width=1000 height=800 sandbox=allow-scripts src={FOLDER}></iframe>"
    )
    .into_bytes()
}

fn blank_page() -> Vec<u8> {
    b"<!doctype html><html lang=en><title>Nothing</title><link rel=icon href=data:,><h1>Nothing</h1>".to_vec()
}

/// Every page of the site, in reading order, as its address is seen from the first one.
pub const PAGES: [&str; 14] = [
    "",
    "workshop/",
    "memory/",
    "room/",
    "batch/",
    "gpus/",
    "networks/",
    "out-of-memory/",
    "check/",
    "questions/",
    "sources/",
    "plan/",
    "trust/",
    "teach/",
];

/// The page of other networks, which has no bar: what the bar answers is a language model.
pub const WITHOUT_BAR: &str = "networks/";

/// The text of a page as it was built.
pub fn html(page: &str) -> String {
    let bytes = dist().get(&format!("{page}index.html")).unwrap_or_else(|| panic!("no page /{page}"));
    String::from_utf8(bytes.clone()).expect("text")
}

/// The data that a script has behind this text, which may stand in it more than once.
pub fn data_behind(text: &str, script: &str) -> Value {
    let places = script.match_indices(text).map(|(at, _)| &script[at + text.len()..]);
    let first = |rest| serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok();
    places.filter_map(first).find(Value::is_object).unwrap_or_else(|| panic!("no data behind “{text}”"))
}

/// The names of the figures of a page, in reading order.
pub fn figures_of(page: &str) -> Vec<String> {
    let html = html(page);
    let end = |rest: &str| rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let names = html.split(" id=\"embed-").skip(1);
    names.map(|rest| rest[..end(rest).unwrap_or_default()].to_owned()).collect()
}

/// The page that has a figure.
pub fn page_of(figure: &str) -> &'static str {
    let has = |page: &&str| figures_of(page).iter().any(|name| name == figure);
    PAGES.into_iter().find(has).unwrap_or_else(|| panic!("no page has the figure {figure}"))
}

/// The folder of the built page.
pub fn dist_folder() -> PathBuf {
    env::var_os("BMAX_DIST").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("dist"), PathBuf::from)
}

/// The built page, file by file, read once so that a build in the meantime mixes nothing up.
pub fn dist() -> &'static Arc<Files> {
    static FILES: OnceLock<Arc<Files>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = dist_folder();
        assert!(folder.join("index.html").is_file(), "no page in {}: run make dist", folder.display());
        let mut files = Files::new();
        collect(&folder, "", &mut files);
        Arc::new(files)
    })
}

/// Whether a file is for readers, and so kept: folders for previews, their pictures and lists are for crawlers, the
/// headers for the host, the list of packages, the licence and the text on the command line for those who look into a
/// build, and two texts for programs.
pub fn is_for_readers(name: &str) -> bool {
    let folders = ["figure/", "model/", "start/"];
    !folders.iter().any(|folder| name.starts_with(folder))
        && ![
            "_headers",
            "bmax.cdx.json",
            "command-line.txt",
            "licence.txt",
            "llms.txt",
            "picture.png",
            "programs.txt",
            "robots.txt",
            "sitemap.xml",
        ]
        .contains(&name)
}

/// The course notes of `tests/hosts/`, as their own tools built them; nothing where they are not built yet,
/// which only the tests on them notice.
fn notes() -> Option<&'static Arc<Files>> {
    static FILES: OnceLock<Option<Arc<Files>>> = OnceLock::new();
    let read = || {
        let folder = env::var_os("BMAX_HOSTS")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/hosts"), PathBuf::from);
        let mut files = Files::new();
        folder.is_dir().then(|| {
            collect(&folder, "", &mut files);
            Arc::new(files)
        })
    };
    FILES.get_or_init(read).as_ref()
}

fn collect(folder: &Path, prefix: &str, files: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder that can be read").flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // What is hidden is left over from a build that goes on.
        if name.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).expect("a file that can be read"));
        }
    }
}
