# The Python programs that exports and configurations are checked with, in .tools/exports. Sourced by
# exports.sh and configs.sh after env.sh; sets $venv, $old, $axolotl and $llamafactory.
#
# It needs Python 3.11 or newer and some 8 GB: the programs are installed from PyPI, in the versions of
# tests/exports/requirements.txt, and kept.
# shellcheck shell=sh

# The last version that reads TOML. It lives in a folder of its own: both are called torchtitan.
OLD_TORCHTITAN=0.2.2
WANTED=tests/exports/requirements.txt
venv=$BMAX_TOOLS/exports
old=$venv/torchtitan-$OLD_TORCHTITAN
# Programs that ask for another transformers have folders of their own, too.
axolotl=$venv/axolotl
llamafactory=$venv/llamafactory

python=
for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$candidate" ] && have "$candidate" || continue
    if "$candidate" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is wanted; PYTHON=… names one"

pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install "$@"; }

# The list itself is the mark of a complete installation.
if ! cmp -s "$WANTED" "$venv/installed.txt"; then
    say "installing what reads the exports into $venv"
    rm -rf "$venv"
    mkdir -p "$venv"
    "$python" -m venv "$venv"
    # DeepSpeed is built from source, with PyTorch at hand and none of its own kernels.
    grep -v '^deepspeed' "$WANTED" >"$venv/first.txt"
    pip --requirement "$venv/first.txt"
    DS_BUILD_OPS=0 pip --no-build-isolation --requirement "$WANTED"
    pip --no-deps --target "$old" "torchtitan==$OLD_TORCHTITAN"
    cp "$WANTED" "$venv/installed.txt"
fi

for folder in "$axolotl" "$llamafactory"; do
    list=tests/exports/$(basename -- "$folder").txt
    if ! cmp -s "$list" "$folder/installed.txt"; then
        rm -rf "$folder"
        pip --no-deps --target "$folder" --requirement "$list"
        cp "$list" "$folder/installed.txt"
    fi
done

# Nothing is loaded from a hub, and no program may try.
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
