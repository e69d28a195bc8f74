#!/usr/bin/env bash
# Tries the page: makes its compiler's root and the page, compares the numbers of the WebAssembly build under node with native ones, byte by
# byte, and uses the page in Chromium by real events.
#
#     tests/package/try_browser.sh [numbers|use]     both, unless named
#
# Needs what ./dev page needs, and for the second part chromium and npm. The last line says "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/package/checks.sh

root=${ATTN_PAGE_ROOT:-$PWD/build/page-root}
out=$PWD/build/try-browser
playwright=1.65.1
log=$out/log
fail() { printf 'try_browser: %s\n' "$*" >&2; exit 1; }

# The baseline is what WebAssembly's vectors are, too: 16 bytes without fused multiply-add. Both write files of the same name, which the
# output says.
native() { (cd "$out/native" && ATTNSCOPE_KERNELS=baseline "$OLDPWD/build/release/$1" "${@:2}"); }
in_node() { "$root/in" env -C "$out/node" node "$PWD/build/browser/$1.js" "${@:2}"; }

same_output() {
    native "$@" >"$out/native/said" || return
    in_node "$@" >"$out/node/said" || return
    cmp "$out/native/said" "$out/node/said"
}
same_file() {
    local file=$1
    shift
    native "$@" --out "$file" >/dev/null || return
    in_node "$@" --out "$file" >/dev/null || return
    cmp "$out/native/$file" "$out/node/$file"
}
# Losses and rates are also written as text, whose last digits depend on the C library's logarithm.
# Pictures need a window.
same_run() {
    native attnscope train --task copy --steps 200 --out run >/dev/null || return
    in_node attnscope train --task copy --steps 200 --out run >/dev/null || return
    diff -rq --exclude=curves.csv --exclude="*.png" "$out/native/run" "$out/node/run"
}

try_numbers() {
    local example file
    say "Numbers, byte by byte"
    "$root/in" cmake --build build/browser --target attnscope attnscope-dev >"$log" 2>&1 || fail "building failed; see $log"
    for file in tests/golden/*.safetensors tests/golden/*.npz; do
        check "$(basename "$file")" same_output attnscope-dev check "$PWD/$file"
    done
    for example in causal-attention stories translation; do
        check "trace of $example" same_file "$example.safetensors" attnscope trace --preset "$example"
    done
    check "200 steps of training" same_run
}

try_use() {
    say "The page in Chromium"
    [[ -d "$out/node_modules/playwright-core" ]] || npm install --silent --prefix "$out" "playwright-core@$playwright" >"$log" 2>&1 ||
        fail "playwright-core could not be installed; see $log"
    LIBGL_ALWAYS_SOFTWARE=1 xvfb-run -a -s "-screen 0 1920x1200x24 -noreset" build/release/attnscope render --preset stories \
        --out "$out/native.png" >/dev/null
    # The driver prints "ok WHAT" or "FAILED WHAT" for everything that it tries.
    NODE_PATH="$out/node_modules" node tests/package/use_page.cjs build/page "$out" | tee "$out/use" || true
    passed=$((passed + $(grep -c '^  ok' "$out/use" || true)))
    failed=$((failed + $(grep -c '^  FAILED' "$out/use" || true)))
    grep -q '^  ended$' "$out/use" || { failed=$((failed + 1)); say "  FAILED  the page was not used to the end"; }
}

rm -rf "$out"/{native,node}
mkdir -p "$out"/{native,node}
./dev page >"$log" 2>&1 || fail "the page could not be built; see $log"
cmake --preset release >"$log" && cmake --build build/release --target attnscope attnscope-dev >"$log" || fail "building failed"
case ${1:-both} in
    numbers) try_numbers ;;
    use) try_use ;;
    both) try_numbers && try_use ;;
    *) fail "there is no part $1" ;;
esac
say "$passed passed, $failed failed"
((failed == 0))
