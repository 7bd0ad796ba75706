#![no_main]

#[path = "../../tests/support/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|text: &str| readers::named("python")(text));
