#!/bin/sh
# Measures the estimator natively, and how the built page feels in a browser. It reports figures and
# judges none.
set -eu
. "$(dirname -- "$0")/env.sh"
sh tools/dist.sh
sh tools/setup.sh test
use_tools
CHROMIUM=$(find_chromium)
CHROMEDRIVER=$(find_chromedriver)
BMAX_DIST=$ROOT/dist
export CHROMIUM CHROMEDRIVER BMAX_DIST
cargo bench --bench estimator
# The page is measured from outside, so the harness needs no optimisation, only a short build.
cargo test --bench page
