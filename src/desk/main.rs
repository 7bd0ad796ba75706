//! The desk: what a reader has to ask for, in a module of its own that the page fetches on the first
//! press. The page's own module does not know it.
//!
//! The inline script of `index.html` fetches it and then sends each press as the event [`PRESSED`] from
//! the button that was pressed. `data-desk` of the button says what is wanted. The desk takes the
//! configuration from the page's address and its messages, and changes the page by messages only.

#![forbid(unsafe_code)]

mod copy;
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

/// What the inline script of the page calls its event.
const PRESSED: &str = "bmax-desk";

fn main() {
    // A stopped desk is reported to the reader by the page itself; here a developer sees why.
    #[cfg(debug_assertions)]
    console_error_panic_hook::set_once();
    dom::listen(&dom::document(), PRESSED, |event| {
        let Some(button) = dom::target(&event) else { return };
        if let Some("share") = button.get_attribute("data-desk").as_deref() {
            dialog::open(button);
        }
    });
}
