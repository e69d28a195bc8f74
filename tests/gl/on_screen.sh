#!/bin/sh
# Runs a command that needs a display: on the one there is, else on a virtual one.
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    exec "$@"
fi
if ! command -v xvfb-run >/dev/null 2>&1; then
    if [ "${ATTN_REQUIRE_GL:-0}" = 1 ]; then
        echo "there is no display and no xvfb-run (package xvfb), but ATTN_REQUIRE_GL=1 asks for these tests" >&2
        exit 1
    fi
    echo "SKIPPED: there is no display and no xvfb-run (package xvfb)"
    exit 77
fi
# Without -noreset the screen would start anew, and be away for a moment, whenever the last window is closed.
exec xvfb-run -a -s "-screen 0 1920x1200x24 -noreset" "$@"
