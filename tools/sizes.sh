#!/bin/sh
# What a reader's browser transfers: each file of dist/, raw and as Brotli at its highest level.
set -eu
cd "$(dirname -- "$0")/.."

# Without Node.js the table has no compressed sizes.
sizes() {
    if command -v node >/dev/null 2>&1; then
        node tools/compressed.mjs dist
    else
        while IFS= read -r file; do printf '%s 0 0 %s\n' "$(($(wc -c <"dist/$file")))" "$file"; done
    fi
}

# What crawlers read is hundreds of files, which no reader loads (src/bin/finish/previews/).
crawled() { find dist/figure dist/model dist/start dist/picture.png -type f; }

find dist \( -path dist/figure -o -path dist/model -o -path dist/start -o -path dist/picture.png \) -prune -o -type f -print |
    LC_ALL=C sort | sed 's|^dist/||' | sizes | awk '
    function row(name, raw, small) { printf "  %-44s %9d %9s\n", name, raw, small == 0 ? "?" : small }
    BEGIN { printf "  %-44s %9s %9s\n", "file (bytes)", "raw", "Brotli" }
    {
        row($4, $1, $2)
        # The desk, the search and the page of the catalogue are loaded by those who ask for them, two texts by programs,
        # embed.js by other pages, ask.js by links that ask, icons by those who install the page, the list of packages by who wants to know, and the worker
        # when the page is there. What a visit to one page takes of the rest is held by a test,
        # tests/browser/size_budget.rs.
        if ($4 ~ /^desk-/) { desk_raw += $1; desk_small += $2; next }
        if ($4 ~ /^(catalogue\.|command-line\.txt$|icons\/|licence\.txt$|llms\.txt$|programs\.txt$|search-|embed\.js$|ask\.js$|bmax\.cdx\.json$|sw\.js$)/) next
        raw += $1
        small += $2
        if ($4 ~ /\.(wasm|js)$/) { program_raw += $1; program_small += $2 }
    }
    END {
        row("all pages with their program", raw, small)
        row("WebAssembly and JavaScript", program_raw, program_small)
        row("the desk, for those who ask for it", desk_raw, desk_small)
        if (program_small) printf "  WebAssembly and JavaScript, Brotli: %.1f kB (1 kB = 1000 bytes)\n", program_small / 1000
        else print "  No sizes as Brotli: Node.js is not installed."
    }'
printf '  previews for crawlers: %s kB in %s files\n' \
    "$(($(crawled | tr '\n' '\0' | xargs -0 cat | wc -c) / 1000))" "$(($(crawled | wc -l)))"
