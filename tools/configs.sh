#!/bin/sh
# Makes every model_type of the installed transformers, and records how its config.json is read.
set -eu
. "$(dirname -- "$0")/env.sh"
. "$(dirname -- "$0")/exports_env.sh"

began=$(date +%s)
"$venv/bin/python" -W ignore tests/config_files/every_type.py
# The table is made of that file, and the tests say whether a type is silently wrong.
BMAX_BLESS=1 cargo test --quiet --test native config_files::
say "$(($(date +%s) - began)) s; tests/config_files/EVERY_TYPE.md is the record"
