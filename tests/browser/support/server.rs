//! A file server for the built page, under a sub-folder, as a course site would have it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::{env, fs};

use tiny_http::{Header, Request, Response};

/// Where the page lies. It knows nothing of this path, so every address in it must be relative.
pub const FOLDER: &str = "/course/week-3/bmax/";

/// A page of somebody else that shows this one in a frame without an origin and without storage.
pub const HOST_PAGE: &str = "/course/host.html";

type Files = BTreeMap<String, Vec<u8>>;

/// One server, on a port of its own, with a log of its own.
pub struct Server {
    http: Arc<tiny_http::Server>,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Self {
        // A missing page is said before a browser is started.
        dist();
        let http = Arc::new(tiny_http::Server::http("127.0.0.1:0").expect("a free port on the loopback device"));
        let port = http.server_addr().to_ip().expect("an internet address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let thread = std::thread::spawn({
            let (http, requests) = (http.clone(), requests.clone());
            move || {
                for request in http.incoming_requests() {
                    requests.lock().expect("no panic under this lock").push(request.url().to_owned());
                    answer(request);
                }
            }
        });
        Self { http, port, requests, thread: Some(thread) }
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Paths asked for so far, with their query strings.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic under this lock").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.http.unblock();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

fn answer(request: Request) {
    let path = request.url().split(['?', '#']).next().unwrap_or_default();
    let (status, kind, body) = match path.strip_prefix(FOLDER) {
        Some("") => file("index.html"),
        Some(name) => file(name),
        None if path == HOST_PAGE => (200, "text/html; charset=utf-8", host_page()),
        None => (404, "text/plain", b"nothing here".to_vec()),
    };
    let mut response = Response::from_data(body).with_status_code(status);
    // A frame without an origin of its own may load the module only with the second header.
    for (name, value) in [("Content-Type", kind), ("Access-Control-Allow-Origin", "*"), ("Cache-Control", "no-cache")] {
        response.add_header(Header::from_bytes(name, value).expect("a plain header"));
    }
    // The browser may have gone in the meantime; that is its good right.
    _ = request.respond(response);
}

fn file(name: &str) -> (u16, &'static str, Vec<u8>) {
    match dist().get(name) {
        Some(bytes) => (200, kind_of(name), bytes.clone()),
        None => (404, "text/plain", b"no such file".to_vec()),
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

/// The folder of the built page.
fn folder() -> PathBuf {
    env::var_os("BMAX_DIST").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("dist"), PathBuf::from)
}

/// The built page, file by file, read once so that a build in the meantime mixes nothing up.
pub fn dist() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = folder();
        assert!(folder.join("index.html").is_file(), "no page in {}: run make dist", folder.display());
        let mut files = Files::new();
        collect(&folder, "", &mut files);
        files
    })
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
