#!/bin/sh
# Hands what is exported to the programs it is for, runs the programs of the course with PyTorch, counts the memory of
# random configurations with it, reads the example folders of four programs, and records what was said.
set -eu
. "$(dirname -- "$0")/env.sh"
. "$(dirname -- "$0")/exports_env.sh"

cargo build --quiet --features cli --bin bmax
# The files of the record are what the code writes, and so are the digests of all the others.
BMAX_BLESS=1 cargo test --quiet --features cli --test native -- exports::the_files exports::record::every_export
BMAX_BLESS=1 cargo test --quiet --features cli --test native listings::the_programs
began=$(date +%s)
"$venv/bin/python" -W ignore tests/exports/check.py "${CARGO_TARGET_DIR:-target}/debug/bmax" "$old" "$axolotl" "$llamafactory"
BMAX_BLESS=1 cargo test --quiet --features cli --test native exports::record::the_record
"$venv/bin/python" -W ignore tests/listings/run.py

# Random configurations against PyTorch's own count, on a GPU that computes nothing. The headers are those of triton.
have g++ && have nm || fail "g++ and nm are wanted, to build tools/nullcuda"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
null=$ROOT/target/nullcuda-differential
sh tools/nullcuda/build.sh "$site" "$null" "$site/triton/backends/nvidia/include"
LD_LIBRARY_PATH=$null LD_PRELOAD=$null/libnullcuda.so NULLCUDA_MIB=4000000 \
    "$venv/bin/python" -W ignore tests/exports/differential.py "${CARGO_TARGET_DIR:-target}/debug/bmax" 2>"$ROOT/target/differential.log" ||
    fail "the random configurations were not counted: target/differential.log says why"
sh tools/examples.sh
say "$(($(date +%s) - began)) s; tests/exports/RESULT.md, tests/exports/DIFFERENTIAL.md and tests/listings/RESULT.md and tests/examples/RESULT.md are the record"
