//! The optimizer state of each optimizer, side by side.
