#!/bin/sh
# Every check, the quick ones first; stops at the first that fails, and says in any case where the time went.
#
#   check.sh         all of them
#   check.sh quick   format, lints, what needs no browser, and each page once in one browser
set -eu
. "$(dirname -- "$0")/env.sh"

extent=${1:-all}
case $extent in all | quick) ;; *) fail "unknown extent '$extent'" ;; esac

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
beside=
# Ends a process and all that it has started.
end() {
    for child in $(ps -A -o pid=,ppid= | awk -v parent="$1" '$2 == parent { print $1 }'); do end "$child"; done
    kill "$1" 2>/dev/null || :
}
report_times() {
    status=$?
    for process in $beside; do end "$process"; done
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
# A log file has no colours, and where nobody changes a source afterwards Cargo need not remember what it compiled.
[ -z "${CI:-}" ] || export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# Line numbers are what a failing test needs of the debug information; the rest only takes time.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
# The random cases of the tests are the same each time, so that whoever changes one thing sees what that changed.
# `make hunt` draws others.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-$RANDOM_SEED}"

compile() {
    lint_what_is_compiled
    cargo test --quiet --no-run --features "$NATIVE" --all-targets
}
# Much of setting up is for the network or for one core, so that what can be compiled is compiled beside it.
compiling=
if rust_ok rustc && have clippy-driver; then
    sh tools/kept.sh put
    compile >target/compile-log 2>&1 &
    compiling=$!
    beside=$compiling
fi
step "tools"
sh tools/setup.sh test
use_tools

# Half of the minutes that the page takes are one core's, so it is built beside the checks that do not look at it.
BMAX_BUILT=$ROOT/target/checks-have-built
export BMAX_BUILT
rm -f "$BMAX_BUILT"
build_page() {
    page_began=$(date +%s)
    sh tools/dist.sh && sh tools/sizes.sh && code=0 || code=1
    printf '%6d  page (beside other steps)\n' "$(elapsed "$page_began")" >>"$STEP_TIMES"
    return "$code"
}

build_page >target/page-log 2>&1 &
page=$!
beside="$beside $page"
step "format"
cargo fmt --check
# A syntax error in an exported script would be the reader's.
PYTHONPYCACHEPREFIX=$ROOT/target/python "$(find_python)" -m py_compile tests/exports/files/*/*.py
step "compiling for this machine, and lints"
lint_what_is_compiled
# What failed beside the installation may have lacked what that has brought.
if [ -z "$compiling" ] || ! wait "$compiling"; then compile; fi
beside=$page
touch "$BMAX_BUILT"
if [ "$extent" = all ]; then
    step "dependencies"
    sh tools/deny.sh
    step "lints, library alone"
    cargo clippy --quiet --lib -- -D warnings
    step "lints, command line alone"
    cargo clippy --quiet --features cli --lib --bin bmax -- -D warnings
    step "documentation of the library"
    RUSTDOCFLAGS='-D warnings' cargo doc --quiet --no-deps --lib --features cli,picture
fi
step "tests, everything but the browser"
cargo test --quiet --features "$NATIVE" --lib --bins --test native
if [ "$extent" = all ]; then
    cargo test --quiet --features "$NATIVE" --doc
    step "course notes that embed figures"
    sh tools/hosts.sh
fi
step "the rest of the page"
wait "$page" && built=yes || built=no
beside=
cat target/page-log
[ "$built" = yes ] || exit 1
# What only a browser runs is compiled there alone.
! grep -q '^warning' target/page-log || exit 1
sh tools/kept.sh keep
BMAX_DIST=$ROOT/dist
export BMAX_DIST
if [ "$extent" = quick ]; then
    step "every page once in Chromium"
    sh tools/browsers.sh chromium engines::
    exit 0
fi
# A part of the tests by turns, so that as many commits, one after another, have all of them. A clone without its history
# takes the commit's digest for the number of commits.
commits=$(git rev-list --count HEAD 2>/dev/null) || commits=$(date +%j)
[ "$(git rev-parse --is-shallow-repository 2>/dev/null)" != true ] || commits=$((0x$(git rev-parse --short=6 HEAD)))
a_part_of() {
    parts=$1
    shift
    BMAX_TURN=${BMAX_TURN:-$((commits % parts + 1))/$parts} sh tools/browsers.sh "$@"
}
step "tests in Chromium"
# Nobody waits for continuous integration as they wait for this.
if [ -n "${CI:-}" ]; then sh tools/browsers.sh chromium; else a_part_of 4 chromium engines:: size_budget::; fi
# In the other engines each page once, and a smaller part of all other tests.
step "tests in Firefox"
a_part_of 32 firefox engines::
step "tests in WebKit"
a_part_of 32 webkit engines::
