//! The step as a program: held to what PyTorch's allocator was asked for, event by event, and to the peaks of rows.

mod layers;
mod rows;
mod traces;
