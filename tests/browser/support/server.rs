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

/// One server and all the network there is, on a port of its own, with a log of its own. It answers GET, one request a connection
/// and a thread each: nothing can wait behind a connection that the browser keeps open.
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    site: Arc<Mutex<Site>>,
    strangers: Arc<Mutex<Vec<String>>>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts it; a file of the page that is withheld is there, and empty.
    pub fn start(withheld: Option<&'static str>) -> Self {
        // A missing page is said before a browser is started.
        dist();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on the loopback device");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut files = dist().clone();
        if let Some(bytes) = withheld.and_then(|name| Arc::make_mut(&mut files).get_mut(name)) {
            bytes.clear();
        }
        let mut site = Site::from([(FOLDER, files.clone()), (BMAX, files)]);
        site.extend(notes().map(|notes| (COURSE, notes.clone())));
        let site = Arc::new(Mutex::new(site));
        let strangers = Arc::new(Mutex::new(Vec::new()));
        let closing = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (requests, strangers) = (requests.clone(), strangers.clone());
            let (site, closing) = (site.clone(), closing.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    if closing.load(Ordering::SeqCst) {
                        return;
                    }
                    let (requests, strangers, site) = (requests.clone(), strangers.clone(), site.clone());
                    // The browser may be gone before it has its answer; that is its good right.
                    thread::spawn(move || _ = answer(&stream, &requests, &strangers, &site));
                }
            }
        });
        Self { address, requests, site, strangers, closing, thread: Some(thread) }
    }

    /// Puts other files into a folder, all at once, as a deployment should.
    pub fn publish(&self, folder: &'static str, files: Files) {
        self.site.lock().expect("no panic under this lock").insert(folder, Arc::new(files));
    }

    /// Is gone from here on: connections are refused.
    pub fn stop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The thread waits for a connection, so it gets one.
        _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests to any host that no test knows, as the browser made them. They got no answer.
    pub fn strangers(&self) -> Vec<String> {
        self.strangers.lock().expect("no panic under this lock").clone()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Paths asked for so far, with their query strings, and with the host where it is not this machine.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic under this lock").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn answer(
    mut stream: &TcpStream,
    requests: &Mutex<Vec<String>>,
    strangers: &Mutex<Vec<String>>,
    site: &Mutex<Site>,
) -> io::Result<()> {
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
    let there = site.lock().expect("no panic under this lock").iter().find_map(|(folder, files)| {
        let name = path.strip_prefix(folder)?;
        Some((name.to_owned(), files.clone()))
    });
    let (status, kind, body) = match there {
        _ if path.ends_with(BLANK) => ("200 OK", "text/html; charset=utf-8", blank_page()),
        Some((name, files)) => file(&files, &name),
        None if path == HOST_PAGE => ("200 OK", "text/html; charset=utf-8", host_page()),
        None if path.starts_with('/') => ("404 Not Found", "text/plain", b"nothing here".to_vec()),
        None => {
            strangers.lock().expect("no panic under this lock").push(request.clone());
            ("502 Bad Gateway", "text/plain", b"no such host".to_vec())
        }
    };
    if !path.ends_with(BLANK) {
        requests.lock().expect("no panic under this lock").push(address.to_owned());
    }
    // A frame without an origin of its own may load the module only with the third header.
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nAccess-Control-Allow-Origin: *\r\n\
         Cache-Control: no-cache\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

fn file(files: &Files, name: &str) -> (&'static str, &'static str, Vec<u8>) {
    let name = if name.is_empty() || name.ends_with('/') { format!("{name}index.html") } else { name.to_owned() };
    match files.get(&name) {
        Some(bytes) => ("200 OK", kind_of(&name), bytes.clone()),
        None => ("404 Not Found", "text/plain", b"no such file".to_vec()),
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

/// The folder of the built page.
fn folder() -> PathBuf {
    env::var_os("BMAX_DIST").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("dist"), PathBuf::from)
}

/// The built page, file by file, read once so that a build in the meantime mixes nothing up.
pub fn dist() -> &'static Arc<Files> {
    static FILES: OnceLock<Arc<Files>> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = folder();
        assert!(folder.join("index.html").is_file(), "no page in {}: run make dist", folder.display());
        let mut files = Files::new();
        collect(&folder, "", &mut files);
        Arc::new(files)
    })
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
