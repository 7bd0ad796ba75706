//! The number formats of training: bit layout, range, digits, rounding.
