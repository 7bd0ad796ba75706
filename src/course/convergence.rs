//! Steps and examples to a target against the batch size.
