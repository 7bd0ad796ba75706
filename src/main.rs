//! The page: figures mounted on the placeholders of the static text, all on one shared state.

#![forbid(unsafe_code)]

mod page;
mod site;

fn main() {
    site::start(page::mount_all);
}
