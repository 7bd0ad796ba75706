//! What only Firefox can be told, and how it is told: by scripts that run in the browser's own window.

use std::env;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::driver::Extension;

/// Without it the address of the service for settings, which is set to nowhere below, is not heeded.
pub const ENVIRONMENT: [(&str, &str); 1] = [("MOZ_REMOTE_SETTINGS_DEVTOOLS", "1")];

/// A browser without a window that does nothing of its own accord.
pub fn capabilities(network: SocketAddr) -> Value {
    let mut options = json!({
        "args": ["-headless"],
        "prefs": {
            "browser.search.update": false,
            "browser.shell.checkDefaultBrowser": false,
            // A page that is left is gone, and with it what its worker serves.
            "browser.sessionhistory.max_total_viewers": 0,
            // A worker with nothing to do gives way to a newer one after this time in milliseconds, and not after 30 s.
            "dom.serviceWorkers.idle_timeout": 6000,
            // Scripts of a page that is left come to their end, and to no warning.
            "dom.ipc.cancel_content_js_when_navigating": false,
            "extensions.webcompat.enable_interventions": false,
            "extensions.webcompat.enable_shims": false,
            "network.captive-portal-service.enabled": false,
            "network.connectivity-service.enabled": false,
            "services.settings.server": "data:,#remote-settings-dummy/v1",
            // Bars to scroll by lie over the page, as on phones, where narrow windows are.
            "ui.useOverlayScrollbars": 1,
        },
    });
    if let Ok(browser) = env::var("FIREFOX") {
        options["binary"] = browser.into();
    }
    let network = network.to_string();
    json!({
        "moz:firefoxOptions": options,
        "proxy": { "proxyType": "manual", "httpProxy": network, "sslProxy": network },
    })
}

/// From now on scripts run in the browser's own window ("chrome") or in the page ("content").
pub fn context(name: &str) -> Extension {
    Extension { path: "moz/context", body: json!({ "context": name }) }
}

/// What it logs of pages that work: a line is known when it holds all the words of one of these.
const SAID_BY_ITSELF: [&[&str]; 12] = [
    // It counts the seconds until what was loaded early is used; on a busy machine they pass.
    &["not used within a few seconds"],
    // Tests measure what is there before everything is.
    &["Layout was forced before the page was fully loaded"],
    // It says that it shortens the address that it tells others, where that is very long.
    &["HTTP Referrer header: Length is over"],
    // A version without trusted types says so of each page.
    &["unknown directive", "trusted-types"],
    // A load that is broken off, as when its frame is taken away, has no bytes: this is the hash of none.
    &["integrity attribute", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
    // The worker takes a file from the browser's cache if its digest is right, and asks the server otherwise.
    &["integrity attribute", "sw.js"],
    // A page that is left while parts of its program are on their way.
    &["NetworkError when attempting to fetch resource", "parts.js"],
    &["error loading dynamically imported module", "parts.js"],
    // The same of a page whose worker answers: the load that is broken off has no address any more.
    &["Failed to load ‘’", "ServiceWorker intercepted the request"],
    // It keeps a line in its place while what is above it grows, and gives up where that goes on.
    &["Scroll anchoring was disabled"],
    // A window that another site has opened keeps what it remembers.
    &["Storage access automatically granted"],
    // A heading that is seen before its style sheet.
    &["Found a sectioned h1 element with no specified font-size"],
];

/// Whether a line of the log tells nothing about the page.
pub fn says_by_itself(line: &str) -> bool {
    SAID_BY_ITSELF.iter().any(|words| words.iter().all(|word| line.contains(word)))
}

/// What pages say on the console, in every process, is put where the browser keeps errors and warnings: once in a browser.
pub const LISTEN: &str = r#"
    if (Services.prefs.getBoolPref("bmax.listens", false)) return;
    Services.prefs.setBoolPref("bmax.listens", true);
    const everywhere = () => {
        const { classes: Cc, interfaces: Ci } = Components;
        const hear = (event) => {
            const { level, filename, arguments: said } = event.wrappedJSObject;
            if (level === "error" || level === "warn" || level === "assert") {
                const text = `console.${level}: ${[...said].map(String).join(" ")} {file: "${filename}"}`;
                Services.cpmm.sendAsyncMessage("bmax:said", text);
            }
        };
        Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage)
            .addLogEventListener(hear, Services.scriptSecurityManager.getSystemPrincipal());
    };
    Services.ppmm.addMessageListener("bmax:said", (message) => Services.console.logStringMessage(message.data));
    Services.ppmm.loadProcessScript(`data:,(${encodeURIComponent(everywhere)})()`, true);
"#;

/// Errors and warnings since they were last asked for. The browser's own have no address in them that
/// a page could have.
pub const COMPLAINTS: &str = r#"
    const said = Services.console.getMessageArray().map((one) => one.message);
    Services.console.reset();
    return said.filter((text) => /https?:/.test(text) && !/\b(chrome|resource|moz-src):/.test(text));
"#;

/// Gives the page a window of this size, in CSS pixels.
pub const RESIZE: &str = r#"
    const { style } = gBrowser.selectedBrowser;
    ["width", "height"].forEach((side, which) => {
        for (const bound of ["", "min-", "max-"]) style.setProperty(bound + side, `${arguments[which]}px`);
    });
"#;

/// What the reader's system prefers: dark colours (0) or light ones (1), and less motion (1) or any (0).
pub const PREFER: &str = "Services.prefs.setIntPref(arguments[0], arguments[1]);";
pub const SCHEME: &str = "layout.css.prefers-color-scheme.content-override";
pub const MOTION: &str = "ui.prefersReducedMotion";

/// Makes the browser one that has been nowhere and prefers nothing.
pub const FORGET: &str = r#"
    const [preferences, done] = arguments;
    preferences.forEach((name) => Services.prefs.clearUserPref(name));
    Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, {
        onDataDeleted() {
            Services.console.reset();
            done(null);
        },
    });
"#;

/// Switches JavaScript on or off in the page and its frames, from the next page on.
pub const SCRIPTS: &str = "gBrowser.selectedBrowser.browsingContext.allowJavascript = arguments[0];";
