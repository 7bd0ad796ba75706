#!/bin/sh
# Measures the estimator natively, and in a browser how long the site takes to be there and to follow an input, control
# by control beside the page of the workshop. It reports figures and judges none.
#
# ORIGINAL is the folder of the workshop's pages; without it they are fetched, once.
set -eu
. "$(dirname -- "$0")/env.sh"

# The workshop's pages, as they were when the numbers of this project were taken from them.
WORKSHOP=https://github.com/VizuaraAI/5d-parallelism-visual-guide
WORKSHOP_COMMIT=f3a891f6b9d3869bc50d391173d6880e38c3d0c3

have node && have npm || fail "node and npm drive the browser; install them first"
if [ -z "${ORIGINAL:-}" ]; then
    ORIGINAL=$BMAX_TOOLS/workshop-$WORKSHOP_COMMIT
    if [ ! -f "$ORIGINAL/max-local-batch-size.html" ]; then
        say "fetching the workshop's pages"
        rm -rf "$ORIGINAL.part"
        git init --quiet "$ORIGINAL.part"
        git -C "$ORIGINAL.part" fetch --quiet --depth 1 "$WORKSHOP" "$WORKSHOP_COMMIT" ||
            fail "could not fetch $WORKSHOP; name a folder that has it in ORIGINAL"
        git -C "$ORIGINAL.part" checkout --quiet FETCH_HEAD
        mv "$ORIGINAL.part" "$ORIGINAL"
    fi
fi

sh tools/dist.sh
sh tools/setup.sh test
use_tools
CHROMIUM=$(find_chromium)
CHROMEDRIVER=$(find_chromedriver)
BMAX_DIST=$ROOT/dist
export CHROMIUM CHROMEDRIVER BMAX_DIST
[ -d tools/input_to_paint/node_modules ] || npm ci --prefix tools/input_to_paint --no-audit --no-fund --loglevel=error

cargo bench --bench estimator
# The page is measured from outside, so the harness needs no optimisation, only a short build.
cargo test --bench page
node tools/input_to_paint/main.mjs dist "$ORIGINAL"
