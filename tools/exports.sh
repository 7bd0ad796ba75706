#!/bin/sh
# Hands what is exported to the programs it is for, runs the programs of the course with PyTorch, and records what
# they said.
set -eu
. "$(dirname -- "$0")/env.sh"
. "$(dirname -- "$0")/exports_env.sh"

cargo build --quiet --features cli --bin bmax
# The record is of the same files.
BMAX_BLESS=1 cargo test --quiet --features cli --test exports the_files
BMAX_BLESS=1 cargo test --quiet --features cli --test listings the_programs
began=$(date +%s)
"$venv/bin/python" -W ignore tests/exports/check.py "${CARGO_TARGET_DIR:-target}/debug/bmax" "$old" "$axolotl" "$llamafactory"
"$venv/bin/python" -W ignore tests/listings/run.py
say "$(($(date +%s) - began)) s; tests/exports/RESULT.md and tests/listings/RESULT.md are the record"
