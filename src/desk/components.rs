//! The components that the desk shares with the page.

#[path = "../components/checkbox/mod.rs"]
mod checkbox;
#[path = "../components/copy_button/mod.rs"]
mod copy_button;
#[path = "../components/dialog/mod.rs"]
mod dialog;
#[path = "../components/model.rs"]
mod model;
#[path = "../components/segmented/mod.rs"]
mod segmented;
#[path = "../components/select/mod.rs"]
mod select;
#[path = "../components/tabs/mod.rs"]
mod tabs;

pub use checkbox::Checkbox;
pub use copy_button::{CopyButton, is_copied};
pub use dialog::Dialog;
pub use model::Model;
pub use segmented::Segmented;
pub use select::Select;
pub use tabs::{Tab, TabPanel, Tabs};
