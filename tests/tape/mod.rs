//! The step as a program: held to what PyTorch's allocator was asked for, event by event, and to the peaks of rows.

mod any;
mod layers;
mod measured;
mod rows;
mod traces;
