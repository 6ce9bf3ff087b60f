#!/usr/bin/env bash
# Builds PowerInfer in build/ and runs its test suite. The last line says how many tests passed and failed.
# usage: scripts/test.sh [arguments for ctest, e.g. -R gguf]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
configure build -DCMAKE_BUILD_TYPE=Release -DPOWERINFER_TESTS=ON
cmake --build build --parallel "$(build_jobs)"
run_ctest build "$@"
