#!/bin/sh
# Builds the page into dist/, a folder that works from any path of any web server.
set -eu
. "$(dirname -- "$0")/env.sh"
sh tools/setup.sh build
use_tools
sh tools/kept.sh put

# A page of the same sources is there already. What the tests themselves look like is no part of it.
wanted=$({
    rustc --version
    printf '%s\n' "${BMAX_ADDRESS:-}" "${BMAX_OFFLINE:-}"
    find build.rs Cargo.lock Cargo.toml Trunk.toml LICENSE docs/command-line.md index.html assets src style tools -type f | LC_ALL=C sort | xargs cksum
} | cksum)
if [ -f dist/index.html ] && [ "$(cat target/dist-built 2>/dev/null)" = "$wanted" ]; then
    say "dist/ is as new as its sources"
    exit 0
fi

(
    use_wasm_rust
    # Both programs at a time, because Trunk has them compiled one after the other, and half of that is one core’s work.
    # What it asks for then is there.
    cargo build --quiet --release --target "$TRIPLE" --no-default-features --features hydrate --bin bmax-site --bin bmax-desk
)
build_finish
use_wasm_rust

# The old folder stays until the new one is complete.
next=$ROOT/target/dist-next
rm -rf "$next"
# Trunk's own stack says nothing about a mistake in the sources.
export RUST_BACKTRACE=0
trunk build --release --skip-version-check --dist "$next"
rm -rf "$next/.stage" dist target/dist-built
mv "$next" dist
printf '%s\n' "$wanted" >target/dist-built
say "dist/ is ready"
