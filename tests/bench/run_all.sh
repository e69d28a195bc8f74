#!/usr/bin/env bash
# Runs every benchmark; needs a display. --short takes as little time as it can. Fails if one fails.
#   run_all.sh FOLDER_OF_THE_PROGRAMS [--short] [--model DIR] [ARGUMENTS of Google Benchmark]
set -euo pipefail
programs=$1
shift
engine=() watching=() edits=200 letters=60 frames=40 requests=9 model=()
while (($#)); do
    case $1 in
        --short) engine=(--benchmark_min_time=0.01) watching=(repeat 0.5 1) edits=5 letters=2 frames=2 requests=1 ;;
        --model)
            model=("${2:?--model needs the folder of a published model}")
            shift
            ;;
        *) engine+=("$1") ;;
    esac
    shift
done
"$programs/attn_bench" "${engine[@]}"
"$programs/live_training_bench" "${watching[@]}"
"$programs/edit_latency_bench" "$edits"
((${#model[@]} == 0)) || "$programs/edit_latency_bench" "$edits" "${model[@]}"
"$programs/requests_bench" "$requests"
"$programs/typing_bench" "$letters" "${model[@]}"
"$programs/heatmap_grid_bench" "$frames"
