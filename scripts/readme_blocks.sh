#!/usr/bin/env bash
# Writes each shell block of the README that stands under a line "<!-- run by CI -->" to FOLDER/NN.sh, word for
# word. Blocks under "<!-- run by CI with shared data -->" go to FOLDER/NN.shared.sh.
# usage: readme_blocks.sh README FOLDER
set -euo pipefail
awk -v folder="$2" '
    /^<!-- run by CI -->$/ { wanted = ".sh"; next }
    /^<!-- run by CI with shared data -->$/ { wanted = ".shared.sh"; next }
    /^```/ && open { open = 0; close(file); next }
    /^```sh$/ && wanted != "" { n++; file = sprintf("%s/%02d%s", folder, n, wanted); open = 1; wanted = ""; next }
    open { print > file; next }
    NF && wanted != "" { print "a marked block of the README does not begin with ```sh: " $0 > "/dev/stderr"; exit 1 }
' "$1"
