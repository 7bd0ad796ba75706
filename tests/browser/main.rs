//! The page in a real browser, a capability a file.
//!
//! `dist/` must hold a built page. Every test has a server, a chromedriver and a browser of its own,
//! finds things by role and name, waits for conditions and never for a time, and takes the numbers it
//! expects from the library.

mod support;

mod accessibility;
mod bad_input;
mod bad_link;
mod calculator;
mod keyboard_only;
mod layout_shift;
mod link;
mod narrow_screen;
mod network;
mod no_script;
mod opening_answer;
mod sandboxed_frame;
mod size_budget;
mod theme;
