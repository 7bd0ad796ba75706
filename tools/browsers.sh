#!/bin/sh
# Runs the browser tests in one engine, on the page in dist/.
#
#   browsers.sh chromium|firefox|webkit               all of them
#   browsers.sh chromium|firefox|webkit PART PARTS    those that every engine has to pass, and a part of the others
#
# What an engine cannot do is in tests/browser/left_out/, with the reason. What is left out is printed.
set -eu
. "$(dirname -- "$0")/env.sh"

engine=${1:-}
part=${2:-1}
parts=${3:-1}
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
CHROMEDRIVER=$(find_chromedriver || :)
FIREFOX=$(find_firefox || :)
GECKODRIVER=$(find_geckodriver || :)
MINIBROWSER=$(find_minibrowser || :)
WEBKITDRIVER=$(find_webkitdriver || :)
AXE_PATH=$(axe_dir)/axe.min.js
BMAX_DIST=${BMAX_DIST:-$ROOT/dist}
BMAX_BROWSER=$engine
export CHROMIUM CHROMEDRIVER FIREFOX GECKODRIVER MINIBROWSER WEBKITDRIVER AXE_PATH BMAX_DIST BMAX_BROWSER
export CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-line-tables-only}"

run() { cargo test --quiet --features prerender,cli,finish --test browser -- "$@"; }

mkdir -p target
all=$ROOT/target/browser-tests
chosen=$all-$engine
run --list --format terse | sed -n 's/: test$//p' >"$all"

left_out=tests/browser/left_out/$engine.txt
: >"$chosen.left-out"
if [ -f "$left_out" ]; then grep -v -e '^#' -e '^$' "$left_out" >"$chosen.left-out" || :; fi
awk -F ': ' -v part="$part" -v parts="$parts" -v listed="$chosen.left-out" -v rest="$chosen.rest" '
    FILENAME == listed { reason[$1] = $2; next }
    $1 in reason { printf "left out in '"$engine"': %s: %s\n", $1, reason[$1] > "/dev/stderr"; delete reason[$1]; next }
    /^engines::/ { print; next }
    number++ % parts == part - 1 { print; next }
    { print > rest }
    END {
        for (name in reason) { printf "%s names no test: %s\n", listed, name > "/dev/stderr"; wrong = 1 }
        exit wrong
    }' "$chosen.left-out" "$all" >"$chosen"
if [ "$parts" -gt 1 ]; then
    say "left out this time: parts of $parts other than $part, $(wc -l <"$chosen.rest") tests in $engine; all of them: make test-$engine"
fi

# Unquoted: one argument a test, and no name has a space. Some tests wait for the page while others keep the processor busy.
# shellcheck disable=SC2046
set -- --test-threads="${BMAX_THREADS:-4}" --exact $(cat "$chosen")
if [ "$engine" = webkit ]; then
    xvfb-run --auto-servernum --server-args='-screen 0 1600x3000x24 -nolisten tcp' \
        cargo test --quiet --features prerender,cli,finish --test browser -- "$@"
else
    run "$@"
fi
