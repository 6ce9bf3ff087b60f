#!/usr/bin/env bash
# Counts the instructions of one decode step in each sparsity mode (callgrind, AVX2 kernels, one thread), and fails where one is
# more than 2 % above the number recorded in bench/instructions.json. A later slowdown is seen this way on a machine whose
# clock and memory nobody can trust. The model is the demo model; `predict` runs a small random one, since it has no predictors.
# usage: bench/instructions.sh [--update]    --update records the present numbers
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

model=models/fable.gguf program=build/bin/powerinfer record=bench/instructions.json
short=8 long=24  # tokens; a step is the difference of two runs, in which loading cancels out
update=
case ${1:-} in
--update) update=1 ;;
"") ;;
*)
    say "unknown argument '$1': bench/instructions.sh [--update]"
    exit 1
    ;;
esac

skip() {
    say "Instructions are not counted: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
command -v valgrind >/dev/null 2>&1 || skip "that needs valgrind (apt-get install valgrind)."
[ -x "$program" ] || skip "there is no $program; scripts/test.sh builds it."
"$program" --version | grep -q '^instruction sets:.*avx2' || skip "this processor has no AVX2."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$program" synth tiny,n_embd=512,n_ff=2048,n_layer=4 --predictor-rank 128 -o "$scratch/predictors.gguf" 2>/dev/null

# callgrind knows no AVX-512, so AVX2 it is. usage: count MODE TOKENS
count() {
    local log=$scratch/log file=$model
    [ "$1" != predict ] || file=$scratch/predictors.gguf
    if ! POWERINFER_ISA=avx2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" bench -m "$file" \
        -p 0 -n "$2" -r 1 -t 1 --sparsity "$1" --no-warmup --no-bandwidth >/dev/null 2>"$log"; then
        cat "$log" >&2
        return 1
    fi
    sed -n 's/^==[0-9]*== Collected : \([0-9]*\).*/\1/p' "$log"
}
recorded() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$record"; }

# Another compiler makes other instructions, and numbers of one say nothing about the other.
compiler=$("$program" --version | sed -n 's/^built with //p')
if [ -z "$update" ] && [ "$(recorded compiler)" != "$compiler" ]; then
    skip "the recorded numbers are of '$(recorded compiler)', this build of '$compiler'."
fi

passed=0 failed=0 lines=
for mode in off exact predict; do
    first=$(count "$mode" $short)
    second=$(count "$mode" $long)
    step=$(((second - first) / (long - short)))
    lines="$lines    \"$mode\": $step,
"
    [ -z "$update" ] || continue
    before=$(recorded "$mode")
    if [ -z "$before" ]; then
        echo "$mode: $step instructions per token, and none recorded in $record"
        failed=$((failed + 1))
    elif [ $((step * 100)) -gt $((before * 102)) ]; then
        echo "$mode: $step instructions per token, more than 2 % above the recorded $before"
        failed=$((failed + 1))
    else
        echo "$mode: $step instructions per token, recorded $before"
        passed=$((passed + 1))
    fi
done
if [ -n "$update" ]; then
    printf '{\n    "what": "instructions of one decode step of %s, one thread; predict: of a random model",\n    "isa": "avx2",\n    "compiler": "%s",\n%s\n}\n' \
        "$model" "$compiler" "${lines%,*}" >"$record"
    cat "$record"
    exit 0
fi
[ $((passed + failed)) = 3 ]
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
