#!/usr/bin/env bash
# Builds PowerInfer in build/ and tells one story with the demo model in each sparsity mode. Closes with a table:
# speed, share of the feed-forward neurons computed, and the hash of the last logits (equal hashes: equal results).
# usage: scripts/demo.sh [MODEL.gguf]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

model=${1:-models/fable.powerinfer.gguf}
program=build/bin/powerinfer
stamp=build/.demo-configured

# Packages and configuration are looked at again only when what decides about them has changed.
if [ ! "$stamp" -nt scripts/packages.sh ] || [ ! "$stamp" -nt CMakeLists.txt ]; then
    need_packages "${BUILD_PACKAGES[@]}"
    tests=()
    [ -e build/CMakeCache.txt ] || tests=(-DPOWERINFER_TESTS=OFF)
    configure build -DCMAKE_BUILD_TYPE=Release "${tests[@]}"
    touch "$stamp"
fi
[ -x "$program" ] || say "Building in build/, which takes some minutes the first time."
cmake --build build --parallel "$(build_jobs)" --target powerinfer_program >build/demo-build.log 2>&1 || {
    cat build/demo-build.log >&2
    exit 1
}
if [ ! -f "$model" ]; then
    say "The model '$model' is not there; give the path of a GGUF or PWRI file."
    exit 1
fi

modes="off exact"
"$program" inspect "$model" | grep -q 'blk\.0\.\(fc1\|gate_signs\)' && modes="$modes predict"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rows=
for mode in $modes; do
    story=$scratch/$mode.txt log=$scratch/$mode.log
    if [ "$mode" = off ]; then printf '\n' && target=/dev/stdout; else target=/dev/null; fi
    if ! "$program" run -m "$model" -p "Once upon a time" -n 128 --sparsity "$mode" --temp 0.8 --seed 7 \
        2>"$log" </dev/null | tee "$story" >"$target"; then
        cat "$log" >&2
        exit 1
    fi
    summary=$(sed -n 's/^powerinfer: decode \([0-9.]*\) tokens.*active share \([0-9.]* %\), hash \([0-9a-f]*\)$/\1|\2|\3/p' "$log")
    if [ -z "$summary" ]; then
        cat "$log" >&2
        say "The program printed no summary line in mode $mode."
        exit 1
    fi
    IFS='|' read -r speed share hash <<<"$summary"
    if cmp -s "$story" "$scratch/off.txt"; then text=same; else text=other; fi
    rows="$rows$(printf '%-8s  %10s  %16s  %-5s  %s' "$mode" "$speed" "$share" "$text" "$hash")
"
done
printf '\n%-8s  %10s  %16s  %-5s  %s\n%s' mode tokens/s "neurons computed" text "result hash" "$rows"
