//! What need not be shown with the next paint.

use std::time::Duration;

use leptos::prelude::*;

/// How long a value waits for a paint that does not come.
const WITHOUT_FRAMES: Duration = Duration::from_millis(500);

/// A value that follows another one behind the next paint.
pub fn behind_paint<T: Clone + PartialEq + Send + Sync + 'static>(now: Memo<T>) -> Memo<T> {
    let then = RwSignal::new(now.get_untracked());
    // How often it has begun to wait, and whether it waits.
    let waits = StoredValue::new((0_u32, false));
    let wait = move |_: &(), _: Option<&()>, _: Option<()>| {
        let (count, is_waiting) = waits.get_value();
        if is_waiting {
            return;
        }
        let this = (count.wrapping_add(1), true);
        waits.set_value(this);
        // Whoever waited may be gone by then.
        let follow = move || {
            if waits.try_get_value() == Some(this)
                && let Some(now) = now.try_get_untracked()
            {
                waits.set_value((this.0, false));
                then.set(now);
            }
        };
        // What is shown is painted with the first frame, and whoever waits for that hears of it before the second.
        let painted = move || set_timeout(follow, Duration::ZERO);
        request_animation_frame(move || request_animation_frame(painted));
        // A window that nobody sees has no frames.
        set_timeout(follow, WITHOUT_FRAMES);
    };
    // The first time as well: the value may have changed between its first reading and the start of this effect.
    Effect::watch(move || now.track(), wait, true);
    Memo::new(move |_| then.get())
}
