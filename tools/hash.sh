# Sourced: digests as a page names them, with what every system has.
# shellcheck shell=sh

# base64_digest BITS FILE
base64_digest() {
    if command -v "sha$1sum" >/dev/null 2>&1; then "sha$1sum" <"$2"; else shasum -a "$1" <"$2"; fi | hex_to_bytes | base64 | tr -d '\n'
}

# From hexadecimal to the bytes themselves: printf and octal escapes.
hex_to_bytes() {
    # shellcheck disable=SC2059
    printf "$(awk '{
        digits = "0123456789abcdef"
        for (i = 1; i < length($1); i += 2) {
            value = 16 * (index(digits, substr($1, i, 1)) - 1) + index(digits, substr($1, i + 1, 1)) - 1
            printf "\\%03o", value
        }
    }')"
}
