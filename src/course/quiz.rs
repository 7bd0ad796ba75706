//! Questions with answers that are computed.
