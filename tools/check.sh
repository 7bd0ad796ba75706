#!/bin/sh
# Every check, the quick ones first; stops at the first that fails, and says in any case where the time went.
set -eu
. "$(dirname -- "$0")/env.sh"

mkdir -p target
# Seconds and name of each step, and of each visit of a browser test.
STEP_TIMES=$ROOT/target/step-times
BMAX_TIMES=$ROOT/target/browser-times
export BMAX_TIMES
rm -f "$STEP_TIMES" "$BMAX_TIMES"

began=$(date +%s)
step_name=
elapsed() { echo $(($(date +%s) - $1)); }
step_ends() {
    [ -n "$step_name" ] || return 0
    seconds=$(elapsed "$step_began")
    printf -- '-- %s s\n' "$seconds"
    printf '%6d  %s\n' "$seconds" "$step_name" >>"$STEP_TIMES"
}
step() {
    step_ends
    step_name=$1
    step_began=$(date +%s)
    printf '\n== %s\n' "$1"
}
report_times() {
    status=$?
    step_ends
    printf '\nSeconds of each step, of %s:\n' "$(elapsed "$began")"
    cat "$STEP_TIMES"
    if [ -f "$BMAX_TIMES" ]; then
        printf '\nSeconds of the ten browser tests that took longest:\n'
        awk '{ time[$2] += $1 } END { for (name in time) printf "%6.1f  %s\n", time[name], name }' "$BMAX_TIMES" |
            sort -rn | head -n 10
    fi
    [ "$status" -eq 0 ] && printf '\nall checks passed\n' || printf '\nfailed: %s\n' "$step_name"
    exit "$status"
}
trap report_times EXIT

export CARGO_TERM_PROGRESS_WHEN=never
# A log file has no colours.
[ -z "${CI:-}" ] || export CARGO_TERM_COLOR=never
# Line numbers are what a failing test needs of the debug information; the rest only takes time.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only

step "tools"
sh tools/setup.sh test
use_tools

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
step "dependencies"
sh tools/deny.sh
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
step "tests in Chromium"
sh tools/browsers.sh chromium
# In the other engines at least the whole page once, and course notes in the second.
step "tests in Firefox"
sh tools/browsers.sh firefox engines:: course_notes::
step "tests in WebKit"
sh tools/browsers.sh webkit engines::
