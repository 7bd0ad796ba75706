#!/bin/sh
# Changes one thing in the estimator at a time, a sign or what a function answers, and runs the tests: one that passes all
# of them is "missed", and stands in target/mutants.out/missed.txt. What is changed and tested: .cargo/mutants.toml.
#
#   mutants.sh [PART]   a part of all changes, as k/n with k from 0: every n-th of the list (default 0/60, half an hour)
set -eu
. "$(dirname -- "$0")/env.sh"

part=${1:-0/60}
mutants=$BMAX_TOOLS/cargo-mutants-$MUTANTS_VERSION
PATH=$PATH:$mutants/bin
have cargo-mutants || cargo install --quiet --locked --root "$mutants" cargo-mutants --version "=$MUTANTS_VERSION"

export CARGO_TERM_PROGRESS_WHEN=never CARGO_PROFILE_DEV_DEBUG=0
# The same random cases for every change, and fewer of them than `make test` draws: what they miss is looked at by hand.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-$RANDOM_SEED}" PROPTEST_CASES="${PROPTEST_CASES:-64}"
mkdir -p target
# The longest tests take 45 s on a busy core; a change that makes a loop endless is stopped.
cargo mutants --baseline skip --timeout 200 --colors never --no-times --output target \
    --sharding round-robin --shard "$part" && code=0 || code=$?
# 2: some were missed, 3: some were stopped. Both are what is asked for.
case $code in 0 | 2 | 3) ;; *) fail "cargo-mutants ended with $code" ;; esac
