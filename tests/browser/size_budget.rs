//! What a reader's browser transfers. It needs no browser, but the built page, as all tests here do.

use crate::support::dist;

/// WebAssembly and JavaScript together, in bytes as Brotli at its highest level: what is reached while one program
/// holds the figures of the whole course as Leptos components. Before they were, it was 186 kB; a program for each
/// page, with the figures of that page, is what brings it down again.
const PROGRAM: usize = 412_000;

/// Everything a first visit transfers, with every figure's numbers in the page.
const EVERYTHING: usize = 515_000;

/// What a browser does not ask for to show the page: the page of the catalogue's rows, which is loaded by
/// those who follow its link; embed.js, which is loaded by other pages; icons, which are loaded by those who
/// put the page on their screen; and the worker that keeps the page for later. That one starts after the page
/// has loaded, in the background, takes from the browser's own cache what the visit has loaded, and is loaded
/// once a build. The manifest counts: browsers may load it with every first visit.
fn is_loaded_later(name: &str) -> bool {
    ["sw.js", "embed.js"].contains(&name) || name.starts_with("icons/") || name.starts_with("catalogue.")
}

/// The worker itself.
const WORKER: usize = 2_000;

/// All icons together. They are kept for a visit without a network, so they are a part of what the worker loads.
const ICONS: usize = 8_000;

/// What other pages load to size their frames.
const EMBED: usize = 1_000;

/// The desk: what comes with the first press on Share, and not with the page. A third of it writes for the
/// training frameworks, another third draws pictures and reads the config.json of the many families of models, and
/// the rest is Leptos with the views of the dialog. The drawing of plots is in the page's program as well: 7 kB.
const DESK: usize = 283_000;

fn compressed(bytes: &[u8]) -> usize {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    let mut output = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut output, &parameters).expect("memory is always writable");
    output.len()
}

#[test]
fn the_program_and_the_whole_page_stay_within_their_budgets() {
    let (mut program, mut everything, mut desk) = (0, 0, 0);
    let (mut worker, mut icons) = (0, 0);
    println!("{:>9} {:>9}  file (bytes)", "raw", "Brotli");
    for (name, bytes) in dist().iter() {
        let small = compressed(bytes);
        println!("{:>9} {small:>9}  {name}", bytes.len());
        if name.starts_with("desk-") {
            desk += small;
            continue;
        }
        if is_loaded_later(name) {
            worker += if name == "sw.js" { small } else { 0 };
            // They are compressed already.
            icons += if name.starts_with("icons/") { bytes.len() } else { 0 };
            assert!(name != "embed.js" || small <= EMBED, "embed.js takes {small} of {EMBED} bytes");
            continue;
        }
        everything += small;
        if name.ends_with(".wasm") || name.ends_with(".js") {
            program += small;
        }
    }
    println!(
        "{:>9} {program:>9}  WebAssembly and JavaScript\n{:>9} {everything:>9}  everything\n{:>9} {desk:>9}  the desk",
        "", "", ""
    );
    assert!(program > 0 && program <= PROGRAM, "WebAssembly and JavaScript take {program} of {PROGRAM} bytes");
    assert!(worker > 0 && worker <= WORKER, "the worker takes {worker} of {WORKER} bytes");
    assert!(icons > 0 && icons <= ICONS, "the icons take {icons} of {ICONS} bytes");
    assert!(desk > 0 && desk <= DESK, "the desk takes {desk} of {DESK} bytes");
    assert!(everything <= EVERYTHING, "the first visit takes {everything} of {EVERYTHING} bytes");
}
