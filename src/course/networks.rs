//! Dense and convolutional networks as lists of layers.
