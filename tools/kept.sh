#!/bin/sh
# Keeps what was compiled of other people's packages beside the tools, so that another clone with the same tools, or this one
# after `make clean`, compiles its own sources alone.
#
#   kept.sh put    puts it into target/, where nothing has been compiled yet
#   kept.sh keep   takes it out of target/, once for each state of what it follows from
#
# Cargo decides by itself what of it is still good.
set -eu
. "$(dirname -- "$0")/env.sh"

# What makes Cargo compile a package anew, as one number.
state=$({
    rustc -vV
    cksum Cargo.toml Cargo.lock tools/env.sh
    find tools/wasm-streams -type f | LC_ALL=C sort | xargs cksum
} | cksum | tr -dc '0-9')
kept=$BMAX_TOOLS/compiled-$state
# The folders in which Cargo puts what it compiles: for this machine, for the page, and for what takes part in compiling that.
FOLDERS="debug wasm/release wasm/$TRIPLE/release"

put() {
    for folder in $FOLDERS; do
        if [ -d "$kept/$folder" ] && [ ! -d "target/$folder/deps" ]; then
            say "target/$folder: what others wrote is compiled already"
            mkdir -p "target/$folder"
            cp -Rp "$kept/$folder/." "target/$folder/"
        fi
    done
}

# The names of what is compiled of this package, as they begin in the folders of Cargo.
own_names() {
    cargo metadata --quiet --no-deps --format-version 1 | tr '{' '\n' |
        sed -n 's/.*"kind":\[[^]]*\].*"name":"\([^"]*\)".*/\1/p' | tr - _ | sort -u
}

keep() {
    [ ! -d "$kept" ] || return 0
    stage=$BMAX_TOOLS/tmp.$$
    trap 'rm -rf "$stage"' EXIT
    trap 'exit 130' INT TERM HUP
    own=$(own_names | tr '\n' '|')
    for folder in $FOLDERS; do
        [ -d "target/$folder/deps" ] || continue
        mkdir -p "$stage/$folder"
        (
            cd "target/$folder"
            find deps build .fingerprint -mindepth 1 -maxdepth 1 |
                awk -F / -v own="${own%|}" '{ name = $2; gsub("-", "_", name) } name !~ "^(lib)?(" own ")_[0-9a-f]+([.].*)?$"' |
                tar -cf - -T -
        ) | tar -xpf - -C "$stage/$folder"
    done
    # What was kept of an older state is of no use any more.
    rm -rf "$BMAX_TOOLS"/compiled-*
    mv "$stage" "$kept"
    say "kept what was compiled of other people's packages: $(du -sk "$kept" | awk '{ printf "%d MB", $1 / 1000 }')"
}

case ${1:-} in
put) put ;;
keep) keep ;;
*) fail "wanted: put or keep" ;;
esac
