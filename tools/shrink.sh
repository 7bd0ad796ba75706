#!/bin/sh
# Makes the programs smaller for their way to the reader: the names by which a WebAssembly module and its
# JavaScript know each other become short ones, and the JavaScript loses its comments and indentation.
# Trunk's own minifier cannot read what wasm-bindgen writes today. `finish.sh` runs this after each build,
# in the folder of the page as it will be served; without wasm-opt everything stays as it is.
set -eu
. "$(dirname -- "$0")/hash.sh"
cd "${1:?the folder of the page}"

page=index.html
if ! command -v wasm-opt >/dev/null 2>&1; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shrink MODULE SCRIPT
shrink() {
    module=$1
    script=$2
    # Taking the code apart and putting it together again saves a kilobyte that the optimizer leaves otherwise.
    # The names, as lines of "import" or "export", the long name and the short one.
    wasm-opt "$module" --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext \
        --enable-mutable-globals --enable-reference-types --enable-multivalue \
        --flatten --rereloop -Oz --gufa -Oz --converge --minify-imports-and-exports-and-modules -o "$work/module" >"$work/map"
    LC_ALL=C awk -F '"' '
        /"imports"/ { kind = "import" }
        /"exports"/ { kind = "export" }
        /"modules"/ { kind = "" }
        /^ *\["/ && kind == "import" { print kind, $4, $6 }
        /^ *\["/ && kind == "export" { print kind, $2, $4 }
    ' "$work/map" >"$work/names"
    # A release of wasm-opt that writes its map in another way leaves the page a little larger, and whole.
    grep -q '^import ' "$work/names" && grep -q '^export ' "$work/names" || {
        echo "shrink: this wasm-opt does not say how it renamed; the names stay long" >&2
        return 0
    }

    LC_ALL=C awk -v names="$work/names" '
        BEGIN {
            while ((getline line < names) > 0) {
                split(line, part, " ")
                if (part[1] == "import") imports[part[2]] = part[3]
                else exports[part[2]] = part[3]
            }
        }
        # Comments stand on lines of their own.
        /^ *\/\*\*/ { comment = 1 }
        comment { if ($0 ~ /\*\//) comment = 0; next }
        { sub(/^[ \t]+/, "") }
        /^$/ || /^\/\// { next }
        {
            # "name: function(" is how an import is given, and wasm.name how an export is taken.
            if (match($0, /^[A-Za-z0-9_$]+:/)) {
                name = substr($0, 1, RLENGTH - 1)
                if (name in imports) $0 = imports[name] substr($0, RLENGTH)
            }
            sub(/^"\.\/[^"]*_bg\.js":/, "\"a\":")
            done = ""
            while (match($0, /wasm\.[A-Za-z0-9_$]+/)) {
                name = substr($0, RSTART + 5, RLENGTH - 5)
                done = done substr($0, 1, RSTART + 4) (name in exports ? exports[name] : name)
                $0 = substr($0, RSTART + RLENGTH)
            }
            $0 = done $0
            # Functions of the script that are called like the export that they call.
            done = ""
            while (match($0, /wasm_bindgen_[A-Za-z0-9_]+/)) {
                name = substr($0, RSTART, RLENGTH)
                done = done substr($0, 1, RSTART - 1) (name in exports ? "call_" exports[name] : name)
                $0 = substr($0, RSTART + RLENGTH)
            }
            print done $0
        }' "$script" >"$work/script"

    # The page names the digest of the script, which is another one now.
    LC_ALL=C awk -v old="$(base64_digest 384 "$script")" -v new="$(base64_digest 384 "$work/script")" '{
        while ((at = index($0, old)) > 0) $0 = substr($0, 1, at - 1) new substr($0, at + length(old))
        print
    }' "$page" >"$work/page"
    cat "$work/module" >"$module"
    cat "$work/script" >"$script"
    cat "$work/page" >"$page"
}

# The page's own module, and the desk's.
for module in ./*_bg.wasm; do
    if [ -f "${module%_bg.wasm}.js" ]; then shrink "$module" "${module%_bg.wasm}.js"; fi
done
