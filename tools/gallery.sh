#!/bin/sh
# Writes the page of components, target/gallery.html, which only those who work on them look at.
set -eu
. "$(dirname -- "$0")/env.sh"
use_tools
sh tools/prerender.sh
build_finish
"$BMAX_FINISH" styles
"$ROOT/target/debug/bmax-site" --gallery target/gallery.html target/site.css target/desk.css
say "target/gallery.html is ready"
