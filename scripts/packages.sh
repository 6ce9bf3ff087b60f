#!/usr/bin/env bash
# The one list of Debian and Ubuntu packages that this project builds with, and the way to get them.
# Sourced by the other scripts; not for running by itself.

# A package that is here as a command of another origin (a newer cmake, say) counts as present.
# shellcheck disable=SC2034  # used by those who source this
BUILD_PACKAGES=(g++:g++ cmake:cmake ninja-build:ninja pkg-config:pkg-config
    libfmt-dev nlohmann-json3-dev libpcre2-dev libedit-dev libeigen3-dev)
# shellcheck disable=SC2034
TEST_PACKAGES=(libgtest-dev libgmock-dev coinor-cbc)

say() { printf '%s\n' "$*" >&2; }

# Prints those of the given packages that are not installed.
missing_packages() {
    local item package command
    for item in "$@"; do
        package=${item%%:*} command=
        [ "$item" = "$package" ] || command=${item#*:}
        if [ -n "$command" ] && command -v "$command" >/dev/null 2>&1; then continue; fi
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
    done
}

# Runs apt-get as root: directly, or through sudo. Asks nothing but sudo's password, and shows what it printed only
# when it failed.
as_root_apt() {
    local prefix=() printed
    [ "$(id -u)" = 0 ] || prefix=(sudo)
    if ! printed=$("${prefix[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1); then
        say "$printed"
        return 1
    fi
}

# Says which of the given packages are missing and installs them.
need_packages() {
    local missing package
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        say "This is not a Debian or Ubuntu machine, so nothing can be installed from here; going on with what is there."
        say "The build needs what these Debian packages hold:" "${@%%:*}"
        return 0
    fi
    missing=$(missing_packages "$@")
    missing=${missing% }
    [ -n "$missing" ] || return 0
    say "Missing packages: $missing"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null 2>&1; then
        say "They cannot be installed from here: this is not root and there is no sudo. As root, run"
        say "    apt-get update && apt-get install --no-install-recommends $missing"
        say "and start again."
        return 1
    fi
    say "Installing them."
    # A machine without package lists, or with old ones, needs an update; others are spared the wait.
    for package in $missing; do
        if ! apt-cache show "$package" >/dev/null 2>&1; then
            as_root_apt update || break
            break
        fi
    done
    # shellcheck disable=SC2086  # one argument per package
    if as_root_apt install --no-install-recommends -y $missing ||
        { as_root_apt update && as_root_apt install --no-install-recommends -y $missing; }; then
        return 0
    fi
    say "Installing failed; the lines above say why. The packages that are needed:"
    say "    apt-get install --no-install-recommends $missing"
    return 1
}

# How many compilers may run at once: one per processor, and a gibibyte of free memory for each.
build_jobs() {
    local processors memory
    processors=$(nproc)
    memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
    memory=$((memory / 1048576))
    [ "$memory" -ge 1 ] || memory=1
    [ "$processors" -le "$memory" ] && echo "$processors" || echo "$memory"
}

# configure FOLDER ARGUMENTS...: runs cmake, with Ninja where the folder is new and Ninja is there.
configure() {
    local folder=$1 generator=() werror=()
    shift
    [ -z "${POWERINFER_WERROR:-}" ] || werror=("-DPOWERINFER_WERROR=$POWERINFER_WERROR")
    if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null 2>&1; then generator=(-G Ninja); fi
    if ! cmake -S . -B "$folder" "${generator[@]}" "${werror[@]}" "$@" \
        >"$folder.configure.log" 2>&1; then
        cat "$folder.configure.log" >&2
        return 1
    fi
    rm -f "$folder.configure.log"
}

# run_ctest FOLDER ARGUMENTS...: runs the tests of a build folder and closes with "N passed, N failed".
# Fails when a test fails, when none ran, and when one was skipped for want of shared data that is there.
run_ctest() {
    local folder=$1 report failed=0 tests passed failures skipped unwanted=0
    shift
    report=$PWD/$folder/test-report.xml
    rm -f "$report"
    ctest --test-dir "$folder" --parallel "$(nproc)" --output-on-failure --progress --output-junit "$report" \
        "$@" </dev/null || failed=1
    if [ ! -s "$report" ]; then
        say "ctest wrote no report; no test was run."
        echo "0 passed, 1 failed"
        return 1
    fi
    tests=$(junit_count "$report" tests)
    failures=$(junit_count "$report" failures)
    skipped=$(($(junit_count "$report" skipped) + $(junit_count "$report" disabled)))
    if [ -d "${POWERINFER_SHARED:-../shared}" ]; then
        unwanted=$(grep -c "no shared data here" "$report") || unwanted=0
        [ "$unwanted" = 0 ] || say "$unwanted tests were skipped for want of shared data, which is there."
    fi
    passed=$((tests - failures - skipped)) failures=$((failures + unwanted)) skipped=$((skipped - unwanted))
    # No test at all, or a complaint of ctest that its report does not count, is a failure too.
    if [ "$failures" = 0 ] && { [ "$tests" = 0 ] || [ "$failed" = 1 ]; }; then failures=1; fi
    echo "$passed passed, $failures failed, $skipped skipped"
    [ "$failures" = 0 ]
}

# junit_count FILE ATTRIBUTE: a number from the first <testsuite> element.
junit_count() {
    tr '\n' ' ' <"$1" | sed -n "s/.*<testsuite [^>]*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p" | head -n 1 | grep . || echo 0
}
