#!/bin/sh
# Joins the style sheets: those of the page into the one that index.html names, and those of the desk,
# which a first visit does not fetch, into another (a component that only the desk has calls its sheet desk.css). One request each, and an order that is written down.
# Trunk runs this before each build.
set -eu
cd "$(dirname -- "$0")/.."
sh tools/prerender.sh

# These come first, in this order; the components follow by name.
first="tokens base layout prose"

mkdir -p target
next=target/styles.$$
trap 'rm -f "$next"' EXIT

# An unchanged file is left alone, so that nothing is built again because of it.
replace() { cmp -s "$next" "$1" || mv "$next" "$1"; }

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
for sheet in src/components/*/style.css src/figures/*/style.css target/prerendered/rules.css; do
    [ -f "$sheet" ] || continue
    cat "$sheet" >>"$next"
done
replace target/site.css

cat style/desk/*.css src/components/*/desk.css >"$next"
replace target/desk.css
