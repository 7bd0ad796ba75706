#!/bin/sh
# Builds the course notes of tests/hosts/ with their own tools, into target/hosts/. What has not
# changed since the last time is not built again.
set -eu
. "$(dirname -- "$0")/env.sh"

hosts_ok || fail "the tools of the course notes are missing; run 'make setup'"
python=$(hosts_dir)/bin/python

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
mkdir -p "$out/work"

cp -R "$sources/plain" "$out/plain"

# The theme would tell about its successor on every run.
NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --quiet --strict --config-file "$sources/mkdocs/mkdocs.yml" \
    --site-dir "$out/mkdocs"

# It builds beside its sources, so it gets some of its own.
cp -R "$sources/jupyter-book" "$out/work/book"
"$python" -c 'from jupyter_book.cli.main import main; main()' build --quiet --warningiserror "$out/work/book" \
    >"$out/work/log" 2>&1 || {
    cat "$out/work/log" >&2
    fail "Jupyter Book could not build the course notes"
}
mv "$out/work/book/_build/html" "$out/jupyter-book"

rm -rf "$out/work" target/hosts
printf '%s\n' "$wanted" >"$out/.built"
mv "$out" target/hosts
