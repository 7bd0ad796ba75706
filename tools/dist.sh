#!/bin/sh
# Builds the page into dist/, a folder that works from any path of any web server.
set -eu
. "$(dirname -- "$0")/env.sh"
sh tools/setup.sh build
use_tools
build_finish
use_wasm_rust

# The old folder stays until the new one is complete.
next=$ROOT/target/dist-next
rm -rf "$next"
# Trunk's own stack says nothing about a mistake in the sources.
export RUST_BACKTRACE=0
trunk build --release --skip-version-check --dist "$next"
rm -rf "$next/.stage" dist
mv "$next" dist
say "dist/ is ready"
