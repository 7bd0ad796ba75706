//! What several of these tests stand on.

pub mod adapter_facts;
pub mod alone;
pub mod any_scenario;
pub mod golden;
pub mod held;
pub mod matters;
pub mod peaks;
pub mod printed;
#[cfg(all(feature = "chart", feature = "cli"))]
pub mod readers;
