#!/bin/sh
# Builds the page and serves it on this machine alone, and builds it again when a source changes.
set -eu
. "$(dirname -- "$0")/env.sh"
port=${PORT:-8080}
case $port in '' | *[!0-9]*) fail "PORT is '$port': it must be a number" ;; esac
sh tools/setup.sh build
use_tools
sh tools/kept.sh put
build_finish
use_wasm_rust

# A folder of its own, so that 'make dist' and 'make test' do not change what is being served.
site=$ROOT/target/serve
mkdir -p "$site"
set -- --watch src --watch style --watch index.html --watch Cargo.toml
[ ! -d assets ] || set -- "$@" --watch assets
say "building; the page will be at http://127.0.0.1:$port/ (stop with Ctrl-C, another port with PORT=…)"
# A page that is kept for later would hide what was changed: this build's worker keeps nothing.
export BMAX_OFFLINE=no
# Trunk's own stack says nothing about a mistake in the sources.
export RUST_BACKTRACE=0
exec trunk serve --release --skip-version-check --dist "$site" \
    --address 127.0.0.1 --port "$port" "$@"
