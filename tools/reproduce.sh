#!/bin/sh
# Builds the page here and, out of a copy of the sources, in another folder, and compares every byte of the two.
set -eu
. "$(dirname -- "$0")/env.sh"
sh tools/dist.sh

# Its own name is longer, so that a place which found its way into a file would also move what is behind it.
copy=$(mktemp -d "${TMPDIR:-/tmp}/bmax-in-another-folder.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM HUP
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$copy"
say "building once more in $copy"
sh "$copy/tools/dist.sh"
diff -r dist "$copy/dist" || fail "the two folders differ"
say "both folders hold the same bytes; the program's $(sed -n 's/.*\(SHA-256 <code>[^<]*\).*/\1/p' dist/index.html | sed 's/<code>//')"
