#!/bin/sh
# Reads the example folders of four programs, and records in tests/examples/ what becomes of each key. The folders are
# fetched once, at these versions; EXAMPLES=folder takes clones (owner/name) from there instead of GitHub.
set -eu
. "$(dirname -- "$0")/env.sh"

from=${EXAMPLES:-https://github.com}
to=$ROOT/target/examples
# Program, repository, version, folders. torchtitan 0.2.2 is the last one with files; later ones are started by commands.
programs='axolotl axolotl-ai-cloud/axolotl 067b021c8b87a9e5e380b9173c704cf7340e30f5 examples
LLaMA-Factory hiyouga/LLaMA-Factory ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30 examples
trl huggingface/trl f2cd57710ae345ea6428ae95363267fcf38a3dc8 examples trl/accelerate_configs
torchtitan pytorch/torchtitan v0.2.2 torchtitan'

mkdir -p "$to"
{
    printf '# The examples of four programs, as they are read\n\n'
    printf '`make test-exports` writes this file with `tools/examples.sh`; `keys.tsv` has every key. A file is counted once for\n'
    printf 'each key. Not read are files that configure no training: data, servers, jobs of a cloud, merging, inference, and\n'
    printf 'programs of Python that take their settings from elsewhere.\n\n| program | version | folders |\n| --- | --- | --- |\n'
    printf '%s\n' "$programs" | while read -r program repository version folders; do
        printf '| %s | `%s` %s | %s |\n' "$program" "$repository" "$version" "$folders"
    done
} >"$to/head.md"

printf '%s\n' "$programs" | while read -r program repository version folders; do
    [ "$(cat "$to/$program.version" 2>/dev/null)" = "$version" ] && continue
    rm -rf "${to:?}/$program" "$to/repository"
    git init --quiet "$to/repository"
    git -C "$to/repository" fetch --quiet --depth 1 "$from/$repository" "$version"
    mkdir -p "$to/$program"
    # shellcheck disable=SC2086 # several folders
    git -C "$to/repository" archive FETCH_HEAD $folders | tar x -C "$to/$program"
    rm -rf "$to/repository"
    # What is no example: torchtitan's own code.
    [ "$program" != torchtitan ] || find "$to/$program" -type f ! -name '*.toml' -exec rm {} +
    printf '%s\n' "$version" >"$to/$program.version"
done
BMAX_EXAMPLES=$to cargo test --quiet --lib read::tests::examples::write_what_the_examples_say -- --ignored
say "tests/examples/RESULT.md is the record"
