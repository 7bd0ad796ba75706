#!/bin/sh
# Builds the page's program for this machine, which renders the figures of the default configuration: with
# "sheet" it writes the rules that they need, with "page FILE" the figures into the page. Trunk runs this
# before and after each build.
set -eu
. "$(dirname -- "$0")/env.sh"

program=$ROOT/target/debug/bmax-site
if [ "$1" = sheet ]; then
    native_cargo build --quiet --no-default-features --features prerender --bin bmax-site
    mkdir -p target
    "$program" sheet target/prerendered.css
else
    "$program" "$@"
fi
