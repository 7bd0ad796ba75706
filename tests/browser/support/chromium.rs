//! What only Chromium can be told, and how it is told.

use std::env;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use super::driver::Extension;

/// A browser without a window that does nothing of its own accord.
pub fn capabilities(profile: &Path, network: SocketAddr) -> Value {
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
            format!("--proxy-server=http://{network}"),
            format!("--user-data-dir={}", profile.display()),
        ],
    });
    if let Ok(browser) = env::var("CHROMIUM") {
        options["binary"] = browser.into();
    }
    json!({
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
    })
}

/// A command of the browser's own debugging protocol.
pub fn devtools(command: &str, parameters: Value) -> Extension {
    Extension { path: "goog/cdp/execute", body: json!({ "cmd": command, "params": parameters }) }
}

/// What was logged since the last such command.
pub fn log(kind: &str) -> Extension {
    Extension { path: "se/log", body: json!({ "type": kind }) }
}
