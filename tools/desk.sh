#!/bin/sh
# Names the files of the desk by what they hold: Trunk gives a second module its plain name, and a browser
# may keep what has a name of its own for ever. The page and the module's JavaScript name the files, so
# their names are filled in here. `finish.sh` runs this in the folder of the page as it will be served.
set -eu
. "$(dirname -- "$0")/hash.sh"
cd "${1:?the folder of the page}"

old=bmax-desk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A style sheet without its comments and indentation.
LC_ALL=C awk '
    /^ *\/\*/ { comment = 1 }
    comment { if ($0 ~ /\*\/ *$/) comment = 0; next }
    { sub(/^[ \t]+/, "") }
    /./' desk.css >"$work/sheet"
mv "$work/sheet" desk.css

# One name for all of them, so that they change together or not at all.
cat "$old.js" "${old}_bg.wasm" desk.css >"$work/all"
name=desk-$(base64_digest 256 "$work/all" | tr '+/' '__' | cut -c 1-16)

# fill FILE FROM TO
fill() {
    grep -qF "$2" "$1" || {
        echo "desk: $1 does not name $2" >&2
        exit 1
    }
    LC_ALL=C awk -v from="$2" -v to="$3" '{
        done = ""
        while ((at = index($0, from)) > 0) {
            done = done substr($0, 1, at - 1) to
            $0 = substr($0, at + length(from))
        }
        print done $0
    }' "$1" >"$work/filled"
    cat "$work/filled" >"$1"
}
fill "$old.js" "${old}_bg.wasm" "$name.wasm"
fill index.html '{{desk}}' "$name"
mv "$old.js" "$name.js"
mv "${old}_bg.wasm" "$name.wasm"
mv desk.css "$name.css"
