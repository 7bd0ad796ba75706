//! The desk: what a reader has to ask for, in a module of its own that the page fetches on the first
//! press. The page's own module does not know it.
//!
//! The inline script of `index.html` fetches it and then sends each press as the event [`PRESSED`] from
//! the button that was pressed. `data-desk` of the button says what is wanted. The desk takes the
//! configuration from the page's address and its messages, and changes the page by messages only.

#![forbid(unsafe_code)]

mod config;
mod copy;
mod copy_link;
mod dialog;
mod dom;
mod embed;
mod export;
mod figures;
mod links;
mod picture;
mod present;
mod qr;
mod save;

use bmax::export::Target;

/// What the inline script of the page calls its event.
const PRESSED: &str = "bmax-desk";

fn main() {
    // A stopped desk is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    present::start();
    dom::listen(&dom::document(), PRESSED, |event| {
        let Some(button) = dom::target(&event) else { return };
        match button.get_attribute("data-desk").as_deref() {
            Some("share") => dialog::open(button),
            Some("measure") => dialog::open_export(button, Target::Measure),
            Some("copy") => copy_link::copy(button),
            Some("config") => config::open(&button, &event),
            _ => {}
        }
    });
}
