#!/bin/sh
# A shared library shows what the public headers declare, and nothing else.
# usage: exported_symbols_test.sh LIBRARY HEADER_FOLDER
set -eu
library=$1 headers=$2
shown=$(nm -D --defined-only "$library" | awk '{print $NF}')

# Functions of C: exactly those of the headers.
declared=$(cat "$headers"/*.h | grep -o 'powerinfer_[a-z0-9_]*(' | tr -d '(' | sort -u)
functions=$(echo "$shown" | grep '^powerinfer_' | sort)
status=0
for name in $functions; do
    echo "$declared" | grep -qx "$name" || { echo "shown but not declared: $name"; status=1; }
done
for name in $(grep -h -A1 POWERINFER_API "$headers"/powerinfer_c.h "$headers"/version.h |
        grep -v '#define' | grep -o 'powerinfer_[a-z0-9_]*(' | tr -d '(' | sort -u); do
    echo "$functions" | grep -qx "$name" || { echo "declared but not shown: $name"; status=1; }
done
[ "$(echo "$functions" | wc -l)" -gt 40 ] || { echo "only a few functions of C are shown"; status=1; }

# C++: Error, Model, Session, Sampler, two free functions. Rooms are namespaces inside powerinfer.
others=$(echo "$shown" | grep -v '^powerinfer_' | c++filt |
    grep -Ev '^((typeinfo|typeinfo name|vtable) for )?powerinfer::(Error|Model|Session|Sampler)(::|$)' |
    grep -Ev '^powerinfer::(capabilities|generate::default_sampler_order)(\[abi:cxx11\])?\(\)$' || true)
[ -z "$others" ] || { echo "shown but not public:"; echo "$others"; status=1; }
exit $status
