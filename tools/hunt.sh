#!/bin/sh
# Every test that needs no browser, with other random scenarios in each round. Stops at the first that fails and says the
# seed, with which the same is drawn again: PROPTEST_RNG_SEED=SEED make quick
#
#   hunt.sh [ROUNDS]
set -eu
. "$(dirname -- "$0")/env.sh"

rounds=${1:-20}
export CARGO_TERM_PROGRESS_WHEN=never CARGO_PROFILE_DEV_DEBUG=line-tables-only
lint_what_is_compiled
log=$ROOT/target/hunt-log
mkdir -p target
first=$(date +%s)
round=0
while [ "$round" -lt "$rounds" ]; do
    PROPTEST_RNG_SEED=$((first + round))
    export PROPTEST_RNG_SEED
    if ! cargo test --quiet --features "$NATIVE" --lib --bins --test native >"$log" 2>&1; then
        cat "$log"
        fail "the seed is $PROPTEST_RNG_SEED"
    fi
    round=$((round + 1))
    say "seed $PROPTEST_RNG_SEED: nothing ($round of $rounds)"
done
