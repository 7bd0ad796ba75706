//! What need not be shown with the next paint.

use std::cell::RefCell;
use std::mem::take;
use std::time::Duration;

use leptos::prelude::*;

/// How long a value waits for a paint that does not come.
const WITHOUT_FRAMES: Duration = Duration::from_millis(500);

/// All that waits for the next paint, and how often that was awaited. It is done in one go, so that the page is laid out
/// once for all of it.
#[derive(Default)]
struct Waiting {
    count: u32,
    all: Vec<Box<dyn FnOnce()>>,
}

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

/// A value that follows another one behind the next paint.
pub fn behind_paint<T: Clone + PartialEq + Send + Sync + 'static>(now: Memo<T>) -> Memo<T> {
    let then = RwSignal::new(now.get_untracked());
    let waits = StoredValue::new(false);
    let wait = move |_: &(), _: Option<&()>, _: Option<()>| {
        if waits.get_value() {
            return;
        }
        waits.set_value(true);
        // Whoever waited may be gone by then.
        after_paint(Box::new(move || {
            if waits.try_set_value(false).is_none()
                && let Some(now) = now.try_get_untracked()
            {
                then.set(now);
            }
        }));
    };
    // The first time as well: the value may have changed between its first reading and the start of this effect.
    Effect::watch(move || now.track(), wait, true);
    Memo::new(move |_| then.get())
}

/// Does something behind the next paint, together with all else that waits for it.
fn after_paint(doing: Box<dyn FnOnce()>) {
    let first = WAITING.with_borrow_mut(|waiting| {
        waiting.all.push(doing);
        (waiting.all.len() == 1).then(|| {
            waiting.count = waiting.count.wrapping_add(1);
            waiting.count
        })
    });
    let Some(count) = first else { return };
    // Whichever of the two below comes first; what waits after that is none of the other's.
    let all = move || {
        let all = WAITING.with_borrow_mut(|waiting| (waiting.count == count).then(|| take(&mut waiting.all)));
        all.into_iter().flatten().for_each(|doing| doing());
    };
    // What is shown is painted with the first frame, and whoever waits for that hears of it before the second.
    request_animation_frame(move || request_animation_frame(move || set_timeout(all, Duration::ZERO)));
    // A window that nobody sees has no frames.
    set_timeout(all, WITHOUT_FRAMES);
}
