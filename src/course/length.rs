//! Activations against the sequence length, their linear and quadratic parts apart.
