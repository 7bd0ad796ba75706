#!/bin/sh
# Runs the browser tests in one engine, on the page in dist/.
#
#   browsers.sh chromium|firefox|webkit            all of them
#   browsers.sh chromium|firefox|webkit NAME...    those whose names begin so
#
# With BMAX_TURN=k/n, every nth of all others too, from the kth on.
#
# What an engine cannot do is in tests/browser/left_out/ENGINE.txt, with the reason. What is left out is printed.
set -eu
. "$(dirname -- "$0")/env.sh"

engine=${1:-}
[ $# -eq 0 ] || shift
case $engine in
chromium | firefox) ;;
webkit)
    if ! webkit_ok; then
        say "left out: all tests in WebKit, which this machine does not have (webkit2gtk-driver, xvfb)"
        exit 0
    fi
    ;;
*) fail "which browser? chromium, firefox or webkit" ;;
esac

CHROMIUM=$(find_chromium || :)
HEADLESS_SHELL=$(find_headless_shell || :)
CHROMEDRIVER=$(find_chromedriver || :)
FIREFOX=$(find_firefox || :)
GECKODRIVER=$(find_geckodriver || :)
MINIBROWSER=$(find_minibrowser || :)
WEBKITDRIVER=$(find_webkitdriver || :)
AXE_PATH=$(axe_dir)/axe.min.js
BMAX_DIST=${BMAX_DIST:-$ROOT/dist}
BMAX_BROWSER=$engine
[ -n "$HEADLESS_SHELL" ] || unset HEADLESS_SHELL
export CHROMIUM ${HEADLESS_SHELL:+HEADLESS_SHELL} CHROMEDRIVER FIREFOX GECKODRIVER MINIBROWSER WEBKITDRIVER AXE_PATH BMAX_DIST BMAX_BROWSER
export CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-line-tables-only}"

# WebKit has a window, which wants a screen; this one nobody sees.
on_screen() {
    if [ "$engine" = webkit ]; then
        xvfb-run --auto-servernum --server-args='-screen 0 1600x3000x24 -nolisten tcp' "$@"
    else
        "$@"
    fi
}
lint_what_is_compiled
# The tests are started without cargo, which repeats all their names where one fails.
tests=$(cargo test --quiet --no-run --features "$NATIVE" --test browser --message-format=json-render-diagnostics |
    sed -n '/"kind":\["test"\]/s/.*"executable":"\([^"]*\)".*/\1/p')
[ -n "$tests" ] || fail "the browser tests could not be compiled"
run() { on_screen "$tests" "$@"; }

mkdir -p target
all=$ROOT/target/browser-tests-$engine
run --list --format terse "$@" | sed -n 's/: test$//p' >"$all"
if [ $# -gt 0 ] && [ -n "${BMAX_TURN:-}" ]; then
    run --list --format terse | sed -n 's/: test$//p' | grep -vxFf "$all" >"$all.others" || :
    awk -v turn="${BMAX_TURN%/*}" -v turns="${BMAX_TURN#*/}" 'NR % turns == turn % turns' "$all.others" >"$all.turn"
    say "in $engine what begins with $*, and turn $BMAX_TURN of all others; all of it: make test-$engine"
    say "left out by turn, a file a line:"
    grep -vxFf "$all.turn" "$all.others" |
        awk -F :: '{ name = substr($0, length($1) + 3); printf "%s%s", $1 == file ? ", " : (file == "" ? "" : "\n") $1 ": ", name; file = $1 } END { print "" }'
    cat "$all.turn" >>"$all"
elif [ $# -gt 0 ]; then
    say "in $engine only what begins with $*; all of it: make test-$engine"
fi

# A line of that file is the name of a test, or of a file of tests with two colons behind it, and why.
left_out=tests/browser/left_out/$engine.txt
[ -f "$left_out" ] || left_out=/dev/null
chosen=$(awk -F ': ' -v listed="$left_out" -v engine="$engine" '
    FILENAME == listed { if ($0 !~ /^(#|$)/) reason[$1] = $2; next }
    {
        file = $1
        sub(/::.*/, "::", file)
        why = $1 in reason ? reason[$1] : reason[file]
        if (why == "") print
        else printf "left out in %s: %s: %s\n", engine, $1, why >"/dev/stderr"
    }' "$left_out" "$all")

# A test that has another name now would run where it cannot.
if [ $# -eq 0 ]; then
    unknown=$(awk -F ': ' -v all="$all" '
        FILENAME == all { file = $1; sub(/::.*/, "::", file); known[$1]; known[file]; next }
        $0 !~ /^(#|$)/ && !($1 in known) { print $1 }' "$all" "$left_out")
    [ -z "$unknown" ] || fail "$left_out names no test: $unknown"
fi

# Without a name all tests would run.
if [ -z "$chosen" ]; then
    say "nothing is left to run in $engine"
    exit 0
fi
log=$ROOT/target/browser-log-$engine
# Unquoted: one argument a test, and no name has a space. Some tests wait for the page while others keep the processor busy.
# shellcheck disable=SC2086
{ run --quiet --test-threads="${BMAX_THREADS:-5}" --exact $chosen && echo passed >"$log.end" || echo failed >"$log.end"; } 2>&1 | tee "$log"
[ "$(cat "$log.end")" = failed ] || exit 0

# A busy machine may keep a browser waiting for longer than a test does. What fails has a second try, alone and by itself:
# what is wrong fails again, and what is not is printed, so that it can be mended.
failed=$(sed -n '/^failures:$/h; /^failures:$/!H; ${x; p;}' "$log" | sed -n 's/^    \([a-z0-9_:]*\)$/\1/p')
count=$(echo "$failed" | grep -c . || :)
if [ "$count" -eq 0 ] || [ "$count" -gt "${BMAX_SECOND_TRIES:-5}" ]; then exit 101; fi
printf '\nA second try, one at a time, of %s:\n%s\n' "$count" "$failed"
# shellcheck disable=SC2086
run --quiet --test-threads=1 --exact $failed || exit 101
printf '\nPassed in %s, but only at the second try:\n%s\n' "$engine" "$failed"
