//! How long one update, and all of them, take at a global batch.
