#!/usr/bin/env bash
# What takes too long for every change: the whole suite under each sanitizer and on the scalar kernels, the emulated
# ARM build, and long fuzzing. An hour and more. usage: scripts/test_all.sh [SECONDS of fuzzing per target]
set -uo pipefail
cd "$(dirname "$0")/.."
export POWERINFER_WERROR=ON
. scripts/packages.sh
. scripts/steps.sh

whole_suite() {
    configure "build-$1" --preset "$1"
    cmake --build "build-$1" --parallel "$(build_jobs)"
    run_ctest "build-$1"
}

# A model of 4 GB that lies in the page cache is there in under a second where nothing is re-laid. The first loading warms it.
loading() {
    local model=build/loading.gguf i line
    # shellcheck disable=SC2064  # the name as it is now
    trap "rm -f '$model'" EXIT
    build/bin/powerinfer synth llama-7b --no-predictors -o "$model"
    for i in first second third; do
        line=$(build/bin/main -m "$model" -p a -n 1 --sparsity off --no-repack 2>&1 >/dev/null | grep 'load time')
        echo "$i loading of $(stat -c %s "$model") bytes: ${line##*timings:}"
    done
    awk -v ms="$(sed 's/.*= *\([0-9.]*\) ms.*/\1/' <<<"$line")" 'BEGIN { exit !(ms > 0 && ms < 1000) }'
}

mapfile -t clang < <(clang_packages)
step "packages" need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${clang[@]}"
step "a published model" fetch_real_model build-real-models
export POWERINFER_REAL_MODELS=$PWD/build-real-models
readme_blocks
step "loading 4 GB" loading
step "instructions of a decode step" bench/instructions.sh
step "the suite on the scalar kernels" env POWERINFER_ISA=scalar scripts/test.sh
step "the suite under AddressSanitizer and UBSan" whole_suite asan
step "the suite under ThreadSanitizer" whole_suite tsan
step "clang: build" build_tests fuzz
step "fuzzing" fuzz "${1:-900}" build-fuzz
step "the rooms that compute, on emulated ARM" scripts/test_arm.sh
finish
