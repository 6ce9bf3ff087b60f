#!/usr/bin/env bash
# Builds for 64-bit ARM with a cross compiler and runs the tests of the rooms that compute on an emulated processor, then
# shows what happens on one without the dot product instructions. Skips with a message where the tools for it are missing.
# usage: scripts/test_arm.sh [arguments for ctest instead of the rooms, e.g. -R Dot]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

folder=build-aarch64
if ! ls /usr/lib/aarch64-linux-gnu/libfmt.so /usr/bin/aarch64-linux-gnu-g++ /usr/bin/qemu-aarch64 >/dev/null 2>&1; then
    say "No build for ARM: that needs dpkg --add-architecture arm64 and the packages g++-aarch64-linux-gnu qemu-user" \
        "libfmt-dev:arm64 libpcre2-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64."
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi

# fails_with TEXT COMMAND...: the command must fail and say so.
fails_with() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1) || ! grep -qF -- "$text" <<<"$said"; then
        say "expected a refusal with \"$text\" from: $*" "$said"
        return 1
    fi
    grep -F -- "$text" <<<"$said"
}

# Long contexts take emulated threads many minutes.
[ $# -gt 0 ] || set -- -L '^(base|quant|formats|kernels|engine)$' -E 'LongContexts'
configure "$folder" -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
cmake --build "$folder" --parallel "$(build_jobs)" \
    --target powerinfer_program test_base test_quant test_formats test_kernels test_engine

# An old processor takes the scalar set by itself, and refuses another one.
program=$folder/bin/powerinfer
qemu-aarch64 -cpu cortex-a53 "$program" --version | grep 'best here: scalar'
qemu-aarch64 -cpu neoverse-n1 "$program" --version | grep 'best here: neon$'
qemu-aarch64 -cpu max "$program" --version | grep 'best here: neon_i8mm$'
run=("$program" run -m models/fable.gguf -p Once -n 1)
qemu-aarch64 -cpu cortex-a72 "${run[@]}" >/dev/null
fails_with 'The instruction set "neon" is missing on this processor' \
    env POWERINFER_ISA=neon qemu-aarch64 -cpu cortex-a53 "${run[@]}"
fails_with 'expected one of' env POWERINFER_ISA=avx2 qemu-aarch64 -cpu max "${run[@]}"

export QEMU_CPU=max
run_ctest "$folder" "$@"
