#!/usr/bin/env bash
# ccache_test.sh LAUNCHER COMPILER: a precompiled header that ccache returns is that of the current sources.
set -eu
if ! command -v ccache >/dev/null; then
    echo 'skipped: ccache is not installed'
    exit 77
fi
launcher=$1 compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CCACHE_DIR=$folder/cache CCACHE_BASEDIR=$folder CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
printf '#include "number.hpp"\n' >all.hxx
: >all.hxx.cxx

compile() {
    "$launcher" "$compiler" -std=c++20 -fpch-preprocess -Winvalid-pch -include "$folder/all.hxx" -MD -MF "$1.d" "${@:2}"
}

# precompile NUMBER COMMENT: precompiles a header with these contents, as CMake does.
precompile() {
    printf '#pragma once\n// %s\ninline constexpr int number = %s;\n' "$2" "$1" >number.hpp
    compile all.hxx.gch -x c++-header -MT all.hxx.gch -o all.hxx.gch -c all.hxx.cxx
}

# expect NUMBER NAME: a source that includes the header again gets NUMBER.
expect() {
    printf '#include "number.hpp"\nstatic_assert(number == %s);\n' "$1" >"$2.cpp"
    compile "$2.o" -o "$2.o" -c "$2.cpp"
}

precompile 1 'a comment'
rm all.hxx.gch
precompile 1 'another comment'
expect 1 comment

cp all.hxx.gch before.gch
precompile 1 'another comment' # next to the one before
cp before.gch all.hxx.gch
precompile 2 'another comment'
expect 2 number
