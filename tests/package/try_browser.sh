#!/usr/bin/env bash
# Tries the page: makes its compiler's root and the page, compares the numbers of the WebAssembly build under node with native ones, byte by
# byte, and uses the page in Chromium and Firefox by real events.
#
#     tests/package/try_browser.sh [numbers|use]     both, unless named
#
# Needs what ./dev page needs, and for the second part chromium, firefox-esr, npm and xvfb. Each browser is used for another ten minutes (or
# ATTN_MINUTES). The last line says "N passed, N failed".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/package/checks.sh

root=${ATTN_PAGE_ROOT:-$PWD/build/page-root}
out=$PWD/build/try-browser
puppeteer=25.16.0
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

draw_natively() {
    LIBGL_ALWAYS_SOFTWARE=1 xvfb-run -a -s "-screen 0 2600x1500x24 -noreset" build/release/attnscope render --preset stories \
        --out "$out/$1.png" "${@:2}" >/dev/null
}

try_use() {
    local browser
    [[ -d "$out/node_modules/puppeteer-core" ]] || npm install --silent --prefix "$out" "puppeteer-core@$puppeteer" >"$log" 2>&1 ||
        fail "puppeteer-core could not be installed; see $log"
    draw_natively native --size 1600x1000
    draw_natively native-sharp --size 2560x1440 --scale 2
    draw_natively native-phone --size 1688x780 --scale 2
    for browser in chromium firefox; do
        say "The page in $browser"
        # The driver prints "ok WHAT" or "FAILED WHAT" for everything that it tries. Firefox draws with OpenGL only beside a display.
        NODE_PATH="$out/node_modules" LIBGL_ALWAYS_SOFTWARE=1 xvfb-run -a node tests/package/use_page.cjs build/page "$out" $browser \
            "${ATTN_MINUTES:-10}" | tee "$out/use" || true
        passed=$((passed + $(grep -c '^  ok' "$out/use" || true)))
        failed=$((failed + $(grep -c '^  FAILED' "$out/use" || true)))
        grep -q '^  ended$' "$out/use" || { failed=$((failed + 1)); say "  FAILED  the page was not used to the end"; }
    done
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
