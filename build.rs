//! How the page's program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // What the linker moved where is what the program is divided by (src/bin/finish/program.rs). A program that is not
    // divided becomes almost three times as large by it, so that no other gets it.
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-bin=bmax-site=--emit-relocs");
    }
}
