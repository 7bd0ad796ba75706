#!/bin/sh
# Every check, the quick ones first; stops at the first that fails.
set -eu
. "$(dirname -- "$0")/env.sh"

began=$(date +%s)
step_began=
elapsed() { echo $(($(date +%s) - $1)); }
step() {
    [ -z "$step_began" ] || printf -- '-- %s s\n' "$(elapsed "$step_began")"
    step_began=$(date +%s)
    printf '\n== %s\n' "$1"
}

export CARGO_TERM_PROGRESS_WHEN=never
# A log file has no colours.
[ -z "${CI:-}" ] || export CARGO_TERM_COLOR=never
# Line numbers are what a failing test needs of the debug information; the rest only takes time.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only

step "tools"
sh tools/setup.sh test
use_tools

CHROMIUM=$(find_chromium)
CHROMEDRIVER=$(find_chromedriver)
FIREFOX=$(find_firefox)
GECKODRIVER=$(find_geckodriver)
AXE_PATH=$(axe_dir)/axe.min.js
export CHROMIUM CHROMEDRIVER FIREFOX GECKODRIVER AXE_PATH

# The page's program as it renders the figures, the command line and what finishes the page; the library alone is the
# default. One set of features for all that runs here is one build. Leptos runs effects where it is told of a browser
# (hydrate, desk), and there is none here.
EVERYTHING=prerender,cli,finish

# Every test program but the browser's, which has a step of its own.
native_tests() {
    for file in tests/*.rs tests/*/main.rs; do
        [ -f "$file" ] || continue
        name=${file#tests/}
        name=${name%/main.rs}
        name=${name%.rs}
        [ "$name" = browser ] || printf ' --test %s' "$name"
    done
}

step "format"
cargo fmt --check
step "Python"
# A syntax error in an exported script would be the reader's.
PYTHONPYCACHEPREFIX=$ROOT/target/python "$(find_python)" -m py_compile tests/exports/files/*/*.py
step "lints, library alone"
cargo clippy --quiet --lib --tests -- -D warnings
step "lints, command line alone"
cargo clippy --quiet --features cli --lib --bin bmax -- -D warnings
step "lints, everything"
cargo clippy --quiet --features "$EVERYTHING" --all-targets -- -D warnings
step "lints, as the browser runs it"
cargo clippy --quiet --features hydrate --bin bmax-site -- -D warnings
cargo clippy --quiet --features desk --bin bmax-desk -- -D warnings
step "documentation"
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --no-deps --lib
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --no-deps --features "$EVERYTHING"
step "tests, library alone"
cargo test
step "page"
sh tools/dist.sh
# From here on there is a page, for the tests that look at it.
BMAX_DIST=$ROOT/dist
export BMAX_DIST
step "sizes"
sh tools/sizes.sh
step "tests, everything but the browser"
# shellcheck disable=SC2046
cargo test --features "$EVERYTHING" --lib --bins $(native_tests)
cargo test --features "$EVERYTHING" --doc
step "course notes that embed figures"
sh tools/hosts.sh
step "tests in the browsers"
cargo test --features "$EVERYTHING" --test browser
printf -- '-- %s s\n' "$(elapsed "$step_began")"
printf '\nall checks passed in %s s\n' "$(elapsed "$began")"
