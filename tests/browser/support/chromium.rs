//! What only Chromium can be told, and how it is told.

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use super::driver::{Extension, Wanted};

/// Hosts that the browser itself asks for time, accounts and advice, however it is started. What it asks
/// of them goes past the tests' network, and nowhere where there is no other.
const OWN_HOSTS: &str = "accounts.google.com,android.clients.google.com,clients2.google.com,www.google.com,\
    content-autofill.googleapis.com,optimizationguide-pa.googleapis.com,update.googleapis.com";

/// The program to start. HEADLESS_SHELL names Chromium without windows and services of its own, which takes a fifth less
/// time for the same page. It has no settings, so that scripts cannot be switched off; nothing is installed in it; and it
/// tells each page of a pointer that moves.
fn program(wanted: Wanted) -> (Option<OsString>, &'static str) {
    match env::var_os("HEADLESS_SHELL").filter(|_| wanted.scripts && !wanted.kept && !wanted.untouched) {
        Some(shell) => (Some(shell), "chrome-headless-shell"),
        None => (env::var_os("CHROMIUM"), "chrome"),
    }
}

/// A browser without a window that does nothing of its own accord.
pub fn capabilities(profile: &Path, network: SocketAddr, wanted: Wanted) -> Value {
    let (program, name) = program(wanted);
    let mut options = json!({
        // As its settings have it, for frames as for the page.
        "prefs": { "profile.default_content_setting_values.javascript": if wanted.scripts { 1 } else { 2 } },
        "args": [
            "--headless=new",
            // A test may change the address more often in ten seconds than Chromium lets a page do.
            "--disable-ipc-flooding-protection",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            // A test leaves the page before it has paid to compile the program a second time, for speed.
            "--js-flags=--liftoff-only",
            "--window-size=1440,900",
            format!("--proxy-server=http://{network}"),
            format!("--proxy-bypass-list={OWN_HOSTS}"),
            format!("--user-data-dir={}", profile.display()),
        ],
    });
    if let Some(program) = program {
        options["binary"] = program.to_string_lossy().into();
    }
    json!({
        "browserName": name,
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL", "performance": if wanted.log { "ALL" } else { "OFF" } },
    })
}

/// Whether a line of the log tells nothing about the page: a load of a page that is left comes to an end without a reason.
pub fn says_by_itself(line: &str) -> bool {
    line.contains("chrome://") || (line.contains("Fetch API cannot load") && line.ends_with(". \""))
}

/// A command of the browser's own debugging protocol.
pub fn devtools(command: &str, parameters: Value) -> Extension {
    Extension { path: "goog/cdp/execute", body: json!({ "cmd": command, "params": parameters }) }
}

/// What was logged since the last such command.
pub fn log(kind: &str) -> Extension {
    Extension { path: "se/log", body: json!({ "type": kind }) }
}
