#!/usr/bin/env bash
# Draws every view of every example, of some published models and of a long text, each as a picture and as a table of its numbers, so that
# the pictures before and after a change can be compared byte by byte. Needs a display. Train is left out: it shows the time that a run took.
#   every_view.sh PROGRAM FOLDER [PATTERN]  draws into the new folder; only what has a name that the regular expression matches
#   every_view.sh --compare FOLDER FOLDER   lists what differs; of .svg files only the order of the lines may
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
golden=$here/../golden/hf

compare() {
    local before=$1 after=$2 status=0 name
    [[ -n "$(ls -A "$before")" ]] || { echo "$before is empty" >&2; exit 1; }
    while read -r name; do
        if [[ ! -e "$before/$name" || ! -e "$after/$name" ]]; then
            echo "only on one side: $name"
        elif [[ "$name" == *.svg ]]; then
            cmp -s <(sort "$before/$name") <(sort "$after/$name") && continue
            echo "different: $name"
        else
            cmp -s "$before/$name" "$after/$name" && continue
            echo "different: $name"
        fi
        status=1
    done < <({ ls "$before"; ls "$after"; } | sort -u)
    echo "$(ls "$before" | wc -l) files compared"
    exit $status
}
if [[ "${1:-}" == --compare ]]; then compare "$2" "$3"; fi

program=$(realpath "$1") folder=$2 pattern=${3:-.}
mkdir "$folder"
folder=$(realpath "$folder")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A text of 3,000 tokens, for a model whose positions have no table: its folder with a longer context.
cp -r "$golden/gpt_neox" "$scratch/neox"
sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 4096/' "$scratch/neox/config.json"
for ((i = 0; i < 1500; ++i)); do printf '%s' "$((i % 7)) $((i % 11)) "; done | cut -c1-6150 >"$scratch/long.txt"

# Prints "NAME ARGUMENTS" for every view of one model or example.
views() {
    local name=$1 view
    shift
    for view in step heads grid lines totals lens knock-out write doctor; do echo "$name-$view $* --view $view"; done
}
# The same for what views can show besides.
more() {
    local name=$1
    shift
    echo "$name-scores $* --view step --stage scores --head 1"
    echo "$name-context $* --view step --stage context"
    echo "$name-stream $* --view step --stage residual_1"
    echo "$name-gradients $* --view step --gradients"
    echo "$name-heads-without-masks $* --view heads --compare unmasked --compare-as difference"
    echo "$name-grid-without-masks $* --view grid --compare unmasked --compare-as difference"
    echo "$name-step-without-masks $* --view step --compare unmasked"
    echo "$name-heads-beside $* --view heads --compare itself --compare-layer 1"
    echo "$name-totals-mean $* --view totals --plain-mean"
    echo "$name-totals-without-masks $* --view totals --compare unmasked --compare-as difference"
    echo "$name-lines-all $* --view lines --all-layers"
    echo "$name-small $* --view heads --theme light --size 1280x720"
}
cases() {
    local preset model
    for preset in $("$program" render --help | sed -n 's/^Worked examples: \(.*\)\.$/\1/p' | tr -d ,); do views "$preset" --preset "$preset"; done
    for preset in stories translation gpt-tiny encoder-decoder; do more "$preset" --preset "$preset"; done
    for model in gemma2 t5 bert llama3; do
        views "$model" --model "$golden/$model"
        more "$model" --model "$golden/$model"
    done
    views long --model neox --text-file long.txt
    more long --model neox --text-file long.txt
    echo "precision --model $golden/llama3 --beside $golden/llama3 --view precision"
}
draw() {
    local name=$1 kind
    shift
    for kind in png csv svg; do
        "$program" render "$@" --out "$folder/$name.$kind" >/dev/null 2>"$folder/$name.$kind.said" || true
        [[ -s "$folder/$name.$kind.said" ]] || rm "$folder/$name.$kind.said"
    done
}
export -f draw
export program folder
cd "$scratch"  # so that no name of a temporary folder is drawn
cases | grep -E -- "^[^ ]*($pattern)" | xargs -P "$(nproc)" -I{} bash -c 'draw {}'
echo "$(ls "$folder" | wc -l) files in $folder"
