#!/usr/bin/env bash
# Compares this engine with llama.cpp on this machine, in pairs measured in turn, and prints one table.
# usage: bench/compare.sh [--quick] [--only REGEX] [--list] [--json FILE] [--layers N] [--threads N]
#        [--tmp FOLDER] [--no-tune]
#   --quick        at most 20 minutes on two quiet cores: 8 layers of each model instead of up to 32
#   --only REGEX   rows whose name matches; --list prints the names
#   --json FILE    every sample behind the table
# Models are random (`powerinfer synth`), lie in a temporary folder, and are gone afterwards. The rows of a real model run
# where POWERINFER_REAL_MODELS names a folder that holds it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

if ! command -v python3 >/dev/null 2>&1; then
    say "The comparison needs python3: apt-get install python3 python3-pip, then python3 -m pip install xllamacpp"
    exit 1
fi
if [ ! -x build/bin/powerinfer ]; then
    say "Building build/bin/powerinfer first."
    need_packages "${BUILD_PACKAGES[@]}"
    configure build -DCMAKE_BUILD_TYPE=Release
    cmake --build build --parallel "$(build_jobs)" --target powerinfer_program >&2
fi
exec python3 bench/compare.py "$@"
