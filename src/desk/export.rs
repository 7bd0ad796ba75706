//! The configuration for training frameworks and documents: a list, the text, copy and save.

use std::rc::Rc;

use bmax::export::{self, Target};

use crate::dialog::Dialog;
use crate::{dom, embed, present, save};

/// Fills the list and listens to it.
pub fn bind(dialog: &Rc<Dialog>) {
    let list = dialog.part("targets");
    for target in Target::ALL {
        let first = Target::ALL.first() == Some(target);
        _ = list.append_child(&embed::segment("desk-target", target.key(), target.name(), first));
    }
    dialog.on("input", |dialog, target| {
        if target.get_attribute("name").as_deref() == Some("desk-target") {
            show(dialog);
        }
    });
    let saved = dialog.clone();
    dom::listen(&dialog.part("save-file"), "click", move |_| {
        let target = chosen(&saved);
        save::text(&saved, target.file_name(), target.media_type(), &text(&saved, target));
    });
}

/// Chooses what is shown.
pub fn choose(dialog: &Dialog, target: Target) {
    for option in dialog.all("[name=desk-target]") {
        let chosen = dom::value(&option) == target.key();
        _ = js_sys::Reflect::set(&option, &"checked".into(), &chosen.into());
    }
}

/// Writes the file for what is chosen.
pub fn show(dialog: &Dialog) {
    let target = chosen(dialog);
    dialog.write("target-about", target.describe());
    dialog.write("file-name", target.file_name());
    dom::set_value(&dialog.part("file"), &text(dialog, target));
}

fn text(dialog: &Dialog, target: Target) -> String {
    export::write(target, &dialog.scenario(), &present::page())
}

fn chosen(dialog: &Dialog) -> Target {
    let key = dialog.all("[name=desk-target]").iter().find(|option| dom::is_checked(option)).map(dom::value);
    key.and_then(|key| Target::from_key(&key)).unwrap_or(Target::Transformers)
}
