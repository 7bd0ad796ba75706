#!/bin/sh
# Asks cargo-deny what deny.toml says of the packages that this one is built with. It reaches no network but crates.io.
set -eu
. "$(dirname -- "$0")/env.sh"
use_tools

# Licences are read in the packages themselves, also in those that only other machines need.
native_cargo fetch --quiet --locked
checks="licenses bans sources"
databases=${CARGO_HOME:-$HOME/.cargo}/advisory-dbs
if [ -n "$(find "$databases" -mindepth 1 -maxdepth 1 -name 'advisory-db-*' 2>/dev/null)" ]; then
    checks="advisories $checks"
else
    say "no advisories are asked about: there is no database in $databases ('cargo-deny fetch db' gets it)"
fi
# shellcheck disable=SC2086
cargo-deny --frozen check --hide-inclusion-graph $checks
