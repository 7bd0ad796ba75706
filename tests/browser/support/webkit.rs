//! What only WebKit is told, and how: by its driver's capabilities, and by a script that the server puts before the page.

use std::env;
use std::net::SocketAddr;

use serde_json::{Value, json};

/// A page that is drawn without a graphics card, in a sandbox that root cannot have.
pub const ENVIRONMENT: [(&str, &str); 2] =
    [("WEBKIT_DISABLE_DMABUF_RENDERER", "1"), ("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")];

/// The height of what MiniBrowser has over the page, in pixels.
pub const BAR: u32 = 38;

/// The width of the page in the narrowest window that MiniBrowser takes, in CSS pixels.
pub const NARROWEST: u32 = 447;

/// A browser that does nothing of its own accord and keeps nothing.
pub fn capabilities(network: SocketAddr) -> Value {
    let mut options = json!({ "args": ["--automation"] });
    if let Ok(browser) = env::var("MINIBROWSER") {
        options["binary"] = browser.into();
    }
    let network = network.to_string();
    json!({
        "webkitgtk:browserOptions": options,
        "proxy": { "proxyType": "manual", "httpProxy": network, "sslProxy": network, "noProxy": ["127.0.0.1"] },
    })
}

/// The driver has no way to the console: what pages say there is written down in the page.
pub const LISTEN: &str = r#"
    window.bmaxSaid = [];
    for (const level of ["error", "warn", "assert"]) {
        const said = console[level];
        console[level] = (...all) => {
            if (level !== "assert" || !all[0]) bmaxSaid.push(`console.${level}: ${all.map(String).join(" ")}`);
            said.apply(console, all);
        };
    }
    addEventListener("error", (event) => bmaxSaid.push(event.message ?? `${event.target.outerHTML} does not load`), true);
    addEventListener("unhandledrejection", ({ reason }) => bmaxSaid.push(`${reason} ${reason?.stack}`));
    addEventListener("securitypolicyviolation", (event) => bmaxSaid.push(`Content-Security-Policy: ${event.blockedURI}`));
"#;

/// Errors and warnings since they were last asked for.
pub const COMPLAINTS: &str = "return (window.bmaxSaid ?? []).splice(0);";
