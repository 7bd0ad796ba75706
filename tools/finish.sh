#!/bin/sh
# Finishes the page that Trunk has put together: names the files of the desk by what they hold, and fills
# in the hashes of the inline scripts in the content security policy, so that the browser runs those and
# no others. Trunk runs this after each build, on the page as it will be served, which shrink.sh has made
# smaller before.
set -eu
tools=$(dirname -- "$0")
. "$tools/hash.sh"
if [ $# = 0 ]; then
    sh "$tools/shrink.sh" "${TRUNK_STAGING_DIR:?}"
    sh "$tools/desk.sh" "$TRUNK_STAGING_DIR"
    sh "$tools/prerender.sh" page "$TRUNK_STAGING_DIR/index.html"
fi
page=${1:-${TRUNK_STAGING_DIR:?}/index.html}
placeholder='{{inline-script-hashes}}'

grep -qF "$placeholder" "$page" || {
    echo "finish: $page has no $placeholder in its content security policy" >&2
    exit 1
}
# The policy forbids these, so they would be without effect, and nobody would be told.
if grep -qiE '<[a-z][^>]*[[:space:]](style|on[a-z]+)[[:space:]]*=' "$page"; then
    echo "finish: $page has a style attribute or an inline event handler, which its policy forbids:" >&2
    grep -oiE '<[a-z][^>]*[[:space:]](style|on[a-z]+)[[:space:]]*=[^>]*>' "$page" | head -n 5 >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Trunk's minifier gives up on a script that imports, so that its comments and indentation go here.
LC_ALL=C awk '
    inside { sub(/^[ \t]+/, "") }
    inside && (/^\/\// || /^$/) { next }
    /<\/?script>/ {
        sub(/<script>[ \t]*\/\/.*$/, "<script>")
        rest = $0
        sub(/.*<\/script>/, "", rest)
        inside = rest ~ /<script>/
    }
    { print }' "$page" >"$work/tidy"
cat "$work/tidy" >"$page"

# Writes the text of each inline script, byte for byte, to a file of its own.
LC_ALL=C awk -v out="$work/script." '
    { text = text $0 "\n" }
    END {
        lower = tolower(text)
        while ((start = match(lower, /<script[^>]*>/)) > 0) {
            tag = substr(lower, start, RLENGTH)
            lower = substr(lower, start + RLENGTH)
            text = substr(text, start + RLENGTH)
            end = index(lower, "</script")
            if (end == 0) exit
            if (tag !~ /[ \t\n]src[ \t\n]*=/) {
                count += 1
                file = out count
                printf "%s", substr(text, 1, end - 1) > file
            }
            lower = substr(lower, end)
            text = substr(text, end)
        }
    }' "$page"

hashes=
for script in "$work"/script.*; do
    [ -f "$script" ] || continue
    hashes="$hashes${hashes:+ }'sha256-$(base64_digest 256 "$script")'"
done

# A browser ignores the digest of data that is loaded early, and says so on its console: that one
# attribute goes. The scripts and the style sheet keep theirs.
LC_ALL=C awk -v placeholder="$placeholder" -v hashes="$hashes" '{
    while (match($0, /<link[^>]* as="?fetch[^>]* integrity=[^ >]*/)) {
        link = substr($0, RSTART, RLENGTH)
        rest = substr($0, RSTART + RLENGTH)
        sub(/ integrity=[^ >]*$/, "", link)
        $0 = substr($0, 1, RSTART - 1) link rest
    }
    while ((at = index($0, placeholder)) > 0)
        $0 = substr($0, 1, at - 1) hashes substr($0, at + length(placeholder))
    print
}' "$page" >"$work/page"
cat "$work/page" >"$page"

# The page is what it will be now: its files are listed for the service worker, where a build made them.
if [ $# = 0 ]; then sh "$tools/offline.sh" "$TRUNK_STAGING_DIR"; fi
