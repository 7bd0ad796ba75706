//! The tuning procedure, step by step, on one scenario.
