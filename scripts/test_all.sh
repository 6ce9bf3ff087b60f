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

# A processor of another family: the compiler is Debian's, the processor is emulated.
cross_aarch64() {
    configure build-aarch64 -DCMAKE_BUILD_TYPE=Release -DPOWERINFER_TESTS=OFF \
        -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
    cmake --build build-aarch64 --parallel "$(build_jobs)"
}

mapfile -t clang < <(clang_packages)
step "packages" need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${clang[@]}"
readme_blocks
step "the suite on the scalar kernels" env POWERINFER_ISA=scalar scripts/test.sh
step "the suite under AddressSanitizer and UBSan" whole_suite asan
step "the suite under ThreadSanitizer" whole_suite tsan
step "clang: build" build_tests fuzz
step "fuzzing" fuzz "${1:-900}" build-fuzz
if command -v aarch64-linux-gnu-g++ >/dev/null; then step "build for aarch64" cross_aarch64; fi
finish
