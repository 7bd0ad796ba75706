#!/bin/sh
# Builds the page's program for this machine and lets it render the figures of the default configuration into
# target/prerendered/. Trunk runs this before each build (Trunk.toml).
set -eu
. "$(dirname -- "$0")/env.sh"

[ -n "${BMAX_BUILT:-}" ] || native_cargo build --quiet --features "$NATIVE" --bin bmax-site
"$ROOT/target/debug/bmax-site" target/prerendered
