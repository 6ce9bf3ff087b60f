#!/bin/sh
# Installs a build into an empty prefix, moves it, and builds a small program against it in both ways that
# users have: find_package and pkg-config.
# usage: install_test.sh BUILD_FOLDER CXX CC
set -eu
build=$1 cxx=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >"$scratch/install.log"
prefix=$scratch/moved
mv "$scratch/first" "$prefix"

generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$here/consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/configure.log"
cmake --build "$scratch/consumer"
"$scratch/consumer/consumer"

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

# Public headers must stand alone: whoever includes one first sees only what is installed.
for header in "$prefix"/include/powerinfer/*.h*; do
    echo "#include <powerinfer/$(basename "$header")>" >"$scratch/alone.cpp"
    # shellcheck disable=SC2046
    "$cxx" -std=c++20 -fsyntax-only $(pkg-config --cflags powerinfer) "$scratch/alone.cpp"
done
