//! What several of these tests stand on.

pub mod adapter_facts;
pub mod any_scenario;
pub mod held;
pub mod peaks;
pub mod printed;
pub mod readers;
