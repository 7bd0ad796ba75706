//! What every browser test stands on: a server, a browser, the page in it, and what to expect.

mod chromium;
mod driver;
pub mod expected;
mod firefox;
pub mod host;
mod page;
mod server;
mod webkit;

pub use page::{Page, Scope, Visit, tidy};
pub use server::{
    BLANK, BMAX, COURSE, FOLDER, Files, OTHER_FOLDER, PAGES, Server, WITHOUT_BAR, data_behind, dist, dist_folder,
    figures_of, html, is_for_readers, page_of,
};

/// Keys as WebDriver writes them.
pub mod key {
    pub const ENTER: &str = "\u{e007}";
    pub const TAB: &str = "\u{e004}";
    pub const SPACE: &str = " ";
    pub const BACKSPACE: &str = "\u{e003}";
    pub const ESCAPE: &str = "\u{e00c}";
    pub const END: &str = "\u{e010}";
    pub const HOME: &str = "\u{e011}";
    pub const LEFT: &str = "\u{e012}";
    pub const UP: &str = "\u{e013}";
    pub const RIGHT: &str = "\u{e014}";
    pub const DOWN: &str = "\u{e015}";
    pub const PAGE_UP: &str = "\u{e00e}";
    pub const PAGE_DOWN: &str = "\u{e00f}";
}
