#!/bin/sh
# Joins the style sheets into the one that index.html names: one request, and an order that is
# written down. Trunk runs this before each build.
set -eu
cd "$(dirname -- "$0")/.."

# These come first, in this order; the components follow by name.
first="tokens base layout prose"
output=target/site.css

mkdir -p target
next=$output.$$
trap 'rm -f "$next"' EXIT
: >"$next"
for name in $first; do
    if [ -f "style/$name.css" ]; then cat "style/$name.css" >>"$next"; fi
done
for sheet in style/*.css; do
    [ -f "$sheet" ] || continue
    name=$(basename "$sheet" .css)
    case " $first " in *" $name "*) continue ;; esac
    cat "$sheet" >>"$next"
done
# An unchanged file is left alone, so that nothing is built again because of it.
cmp -s "$next" "$output" || mv "$next" "$output"
