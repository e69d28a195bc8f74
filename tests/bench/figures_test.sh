#!/usr/bin/env bash
# Runs every benchmark shortly and checks that each gives its figures, none of them 0 or missing.
#   figures_test.sh FOLDER_OF_THE_PROGRAMS
set -euo pipefail
folder=$(dirname "${BASH_SOURCE[0]}")
output=$("$folder/run_all.sh" "$1" --short) || { printf '%s\n' "$output"; echo "a benchmark failed" >&2; exit 1; }
printf '%s\n' "$output"

status=0
# has NAME LINE: where N is, the line of the output has a number above 0.
has() {
    local pattern=${2//N/([0-9]*[1-9][0-9]*(\\.[0-9]+)?|[0-9]+\\.[0-9]*[1-9][0-9]*)}
    grep -Eq -- "$pattern" <<<"$output" || { echo "no figures of $1: expected $2" >&2; status=1; }
}
for arguments in B:1/T:8/C:32 B:2/T:16/C:64 B:1/T:64/C:128 B:1/T:256/C:144; do
    has "a forward pass" "^forward_trace/$arguments/.* N ms .*tokens/s=N"
done
has watching '^repeat: N steps/s bare, N watched: N % with N traces/s'
has "an edit" '^command to snapshot: median N ms, 90 % within N ms; the forward pass alone: median N ms \(N edits\)'
for count in 12 48 144 288; do has "requests" "^$count requests with needs: all answered after a median of N ms; a change of the list takes N ms"; done
has typing '^letter to picture, N tokens: median N ms, 90 % within N ms; with the next words: median N ms, .* \(N letters\)'
for maps in "256 x 256" "1024 x 1024"; do has "the grid of maps" "^144 maps of $maps numbers, level .*; first frame: N ms"; done
for numbers in "the same numbers again" "new numbers every frame"; do
    [[ $(grep -Ec "^$numbers: least [0-9.]*[1-9][0-9.]* ms, median [0-9.]*[1-9][0-9.]* ms" <<<"$output") == 2 ]] ||
        { echo "no figures of the grid of maps: expected $numbers twice" >&2; status=1; }
done
exit $status
