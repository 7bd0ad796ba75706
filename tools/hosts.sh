#!/bin/sh
# Builds the course notes of tests/hosts/ with their own tools, into target/hosts/. What has not
# changed since the last time is not built again.
set -eu
. "$(dirname -- "$0")/env.sh"

hosts_ok && hosts_npm_ok || fail "the tools of the course notes are missing; run 'make setup'"
python=$(hosts_dir)/bin/python
packages=$(hosts_npm_dir)

sources=tests/hosts
wanted=$({
    cat tools/hosts.sh "$sources/requirements.txt"
    find "$sources" -type f | LC_ALL=C sort | xargs cksum
} | cksum)
if [ "$(cat target/hosts/.built 2>/dev/null)" = "$wanted" ]; then exit 0; fi

say "building the course notes of $sources"
out=$ROOT/target/hosts.$$
trap 'rm -rf "$out"' EXIT
rm -rf "$out"
mkdir -p "$out/tmp"

cp -R "$sources/plain" "$sources/right-to-left" "$sources/reveal" "$out/"

reveal=$packages/node_modules/reveal.js/dist
cp "$reveal/reveal.js" "$reveal/reveal.css" "$reveal/theme/black.css" "$out/reveal/"

mkdir "$out/mdx"
cp "$sources/plain/notes.css" "$sources/picture.png" "$out/mdx/"
node "$sources/mdx/build.mjs" "$packages" "$out/mdx"
rm "$out/mdx/server.cjs"

# The theme would tell about its successor on every run.
cp -R "$sources/mkdocs" "$out/tmp/mkdocs"
cp "$sources/picture.png" "$out/tmp/mkdocs/docs/"
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --quiet --strict --config-file "$out/tmp/mkdocs/mkdocs.yml" \
    --site-dir "$out/mkdocs"

# It builds beside its sources, so it gets some of its own.
cp -R "$sources/jupyter-book" "$out/tmp/book"
cp "$sources/picture.png" "$out/tmp/book/"
"$python" -c 'from jupyter_book.cli.main import main; main()' build --quiet --warningiserror "$out/tmp/book" \
    >"$out/tmp/log" 2>&1 || {
    cat "$out/tmp/log" >&2
    fail "Jupyter Book could not build the course notes"
}
mv "$out/tmp/book/_build/html" "$out/jupyter-book"

# On paper a picture stands where the frame was. LaTeX itself is not wanted: its source says it.
"$python" -c 'from jupyter_book.cli.main import main; main()' build --quiet --builder custom --custom-builder latex \
    "$out/tmp/book" >"$out/tmp/log" 2>&1 && grep -q 'includegraphics.*picture' "$out"/tmp/book/_build/latex/*.tex || {
    cat "$out/tmp/log" >&2
    fail "the still of the course notes is not in what Jupyter Book writes for paper"
}

# MyST 1.8.3 writes the caption with the link for paper, but not the placeholder (docs/course-notes.md).
cp -R "$sources/myst" "$out/tmp/myst"
cp "$sources/picture.png" "$out/tmp/myst/"
(cd "$out/tmp/myst" && "$packages/node_modules/.bin/myst" build --tex notes.md) >"$out/tmp/log" 2>&1 || :
grep -q 'caption.*Live figure' "$out/tmp/myst/notes.tex" || {
    cat "$out/tmp/log" >&2
    fail "the caption of the course notes is not in what MyST writes for paper"
}

rm -rf "$out/tmp" target/hosts
printf '%s\n' "$wanted" >"$out/.built"
mv "$out" target/hosts
