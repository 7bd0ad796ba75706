//! Memory over the time of two training steps.
