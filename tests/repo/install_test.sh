#!/bin/sh
# Installs a build into an empty prefix, moves it, and builds small programs against it in both ways that users have:
# find_package and pkg-config. Among them are the examples, which then tell their story.
# usage: install_test.sh BUILD_FOLDER CXX CC
set -eu
build=$1 cxx=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
examples=$here/../../examples
model=$here/../../models/fable.gguf
story="a king who had a son, and he was so beautiful that he was not to be seen."

cmake --install "$build" --prefix "$scratch/first" >"$scratch/install.log"
prefix=$scratch/moved
mv "$scratch/first" "$prefix"

generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$here/consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DEXAMPLES="$examples" >"$scratch/configure.log"
cmake --build "$scratch/consumer"
"$scratch/consumer/consumer"
"$scratch/consumer/story" "$model" | grep "$story"

pc=$(find "$prefix" -name powerinfer.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
libdir=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
whole=
[ -e "$libdir/libpowerinfer.a" ] && whole="-Wl,--whole-archive $libdir/libpowerinfer.a -Wl,--no-whole-archive"
# shellcheck disable=SC2046,SC2086  # flags are meant to be split
"$cc" $(pkg-config --cflags powerinfer) "$here/consumer/consumer.c" -o "$scratch/by_pkg_config" \
    $whole $(pkg-config --static --libs powerinfer)
LD_LIBRARY_PATH=$libdir "$scratch/by_pkg_config"
# shellcheck disable=SC2046
"$cc" -std=c99 -pedantic-errors $(pkg-config --cflags powerinfer) "$examples/story.c" -o "$scratch/story_c" \
    $(pkg-config --static --libs powerinfer)
LD_LIBRARY_PATH=$libdir "$scratch/story_c" "$model" | grep "$story"

# Public headers must stand alone: whoever includes one first sees only what is installed.
for header in "$prefix"/include/powerinfer/*.h*; do
    echo "#include <powerinfer/$(basename "$header")>" >"$scratch/alone.cpp"
    # shellcheck disable=SC2046
    "$cxx" -std=c++17 -fsyntax-only $(pkg-config --cflags powerinfer) "$scratch/alone.cpp"
done
for header in powerinfer_c export version; do
    echo "#include <powerinfer/$header.h>" >"$scratch/alone.c"
    echo "int main(void) { return 0; }" >>"$scratch/alone.c"
    # shellcheck disable=SC2046
    "$cc" -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only $(pkg-config --cflags powerinfer) "$scratch/alone.c"
done
