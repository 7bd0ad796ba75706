//! Which tensors can be swapped to the CPU and back without a wait.
