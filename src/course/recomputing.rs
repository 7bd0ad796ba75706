//! What each recomputation policy keeps, and what it computes again.
