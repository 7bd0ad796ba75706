//! What figures and pages are made of: controls and small views, one folder each with its style.
//!
//! A control does not know where its value lives: it takes a [`Model`], which a figure makes of a signal of
//! its own and the shared state of an input of the scenario. Each component names the accessibility pattern
//! that it follows; all of them are shown in all their states on the page of components (`src/gallery`). Those that
//! only the desk has (`src/desk/components.rs`) are here for that page, and not in the program of the page.

mod assumed;
mod batch_slider;
mod checkbox;
mod code;
mod combobox;
mod configuration_bar;
mod copy_button;
mod dialog;
mod drag;
mod fold;
mod formula;
mod help_list;
mod legend;
mod memory_bar;
mod model;
mod number_field;
mod outlooks;
mod plot;
mod reset;
mod scenario_form;
mod segmented;
mod select;
mod setting_field;
mod slice;
mod slider;
mod table;
#[cfg(feature = "prerender")]
mod tabs;
mod use_button;

pub use assumed::Assumed;
pub use batch_slider::BatchSlider;
pub use checkbox::Checkbox;
pub use code::Code;
pub use combobox::{Combobox, Listed};
pub use configuration_bar::ConfigurationBar;
pub use copy_button::CopyButton;
pub use dialog::Dialog;
pub use drag::Drag;
pub use fold::Fold;
pub use formula::{Formula, is_long, mathml};
pub use help_list::{Help, HelpList, Helps};
pub use legend::{Key, Legend};
pub use memory_bar::{MemoryBar, MemoryLegend};
pub use model::Model;
pub use number_field::{NumberField, NumberInput};
pub use outlooks::{Beside, Outlook};
pub use plot::{Plot, Scrub};
pub use reset::ResetButton;
pub use scenario_form::{Home, Presets, ScenarioForm};
pub use segmented::Segmented;
pub use select::Select;
pub use setting_field::SettingField;
pub use slice::Slice;
pub use slider::Slider;
pub use table::{Column, DataTable};
#[cfg(feature = "prerender")]
pub use tabs::{Tab, TabPanel, Tabs};
pub use use_button::UseButton;
