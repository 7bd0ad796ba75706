#!/bin/sh
# Random scenarios by the million, random texts for every reader, and how long the worst of them take. What the fuzzer
# keeps becomes tests/corpus/.
#
#   BMAX_SCENARIOS  how many scenarios (default 1,000,000)
#   BMAX_TEXTS      how many texts for each reader (default 10,000,000)
#   BMAX_READERS    which readers (default: all)
set -eu
. "$(dirname -- "$0")/env.sh"

TEXTS=${BMAX_TEXTS:-10000000}
READERS=${BMAX_READERS:-$(ls tests/corpus | sed 's/\.jsonl$//')}
# libFuzzer's own instrumentation wants a nightly compiler; the code under test is the same.
NIGHTLY=${BMAX_NIGHTLY:-nightly}

export CARGO_TERM_PROGRESS_WHEN=never
step() { printf '\n== %s\n' "$1"; }

replay() { cargo test --quiet --profile fuzz --features cli,chart --test native -- --nocapture "$@"; }

step "scenarios"
replay --ignored metamorphic::by_the_million

step "texts"
have cargo-fuzz || [ -x "$BMAX_TOOLS/cargo-fuzz/bin/cargo-fuzz" ] || cargo install --quiet --root "$BMAX_TOOLS/cargo-fuzz" cargo-fuzz
PATH=$PATH:$BMAX_TOOLS/cargo-fuzz/bin
# No unsafe code is in the package, so that no sanitizer has anything to see. To trace comparisons takes more than half of
# the time, and that buys more when it is spent on texts.
fuzz() {
    command=$1
    shift
    cargo "+$NIGHTLY" fuzz "$command" --sanitizer none --no-trace-compares "$@"
}
rm -rf fuzz/corpus
replay --ignored --exact corpus::unpack
for reader in $READERS; do
    step "texts for $reader"
    log=fuzz/corpus/$reader.log
    fuzz run "$reader" -- -runs="$TEXTS" -max_len=512 -dict=fuzz/corpus/words.dict \
        -timeout=10 -print_final_stats=1 >"$log" 2>&1 || { tail -n 40 "$log"; fail "$reader: the text is in fuzz/artifacts"; }
    grep -E 'DONE|^stat::(number|average)' "$log"
    fuzz cmin "$reader" >>"$log" 2>&1
done
replay --ignored --exact corpus::pack

step "how long the worst take"
replay --test-threads=1 corpus::
