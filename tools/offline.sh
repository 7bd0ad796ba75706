#!/bin/sh
# Tells the service worker which files this build has: their names and digests, and a digest of it all that
# names the cache. finish.sh runs this last, over the folder as it will be served; it may be run again on
# a folder whose sw.js is the one of assets/. With BMAX_OFFLINE=no the list stays empty: such a worker
# removes itself and whatever an earlier one kept, so that nobody works on a page and looks at an old one.
set -eu
. "$(dirname -- "$0")/hash.sh"
cd "${1:?the folder of the page}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

: >"$work/files"
if [ "${BMAX_OFFLINE:-yes}" != no ]; then
    # What is hidden is left over from the build; the worker itself is kept by the browser.
    find . -type f ! -name '.*' ! -path '*/.*' ! -path ./sw.js | sed 's|^\./||' | LC_ALL=C sort >"$work/names"
    while IFS= read -r name; do
        case $name in *[!A-Za-z0-9._/-]*)
            echo "offline: the file name '$name' would need escaping" >&2
            exit 1
            ;;
        esac
        printf '["%s","%s"],\n' "$name" "$(base64_digest 256 "$name")" >>"$work/files"
    done <"$work/names"
    grep -q '^\["index.html",' "$work/files" || {
        echo "offline: there is no index.html in $PWD" >&2
        exit 1
    }
fi

for placeholder in '/* {{files}} */' '{{version}}'; do
    grep -qF "$placeholder" sw.js || {
        echo "offline: sw.js has no $placeholder" >&2
        exit 1
    }
done
LC_ALL=C awk -v files="$work/files" '
    # Comments stand on lines of their own.
    /^ *\/\// || /^$/ { next }
    { sub(/^ +/, "") }
    (at = index($0, "/* {{files}} */")) > 0 {
        rest = substr($0, at + 15)
        printf "%s", substr($0, 1, at - 1)
        while ((getline line < files) > 0) printf "%s", line
        $0 = rest
    }
    { print }
' sw.js >"$work/listed"
# Letters and digits only: the digest becomes part of a name.
version=$(base64_digest 256 "$work/listed" | tr -dc 'A-Za-z0-9' | cut -c 1-22)
sed "s/{{version}}/$version/" "$work/listed" >sw.js
