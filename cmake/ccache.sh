#!/bin/sh
# Compiles by ccache: ccache.sh COMPILER [argument]...
# A precompiled header is good only for the very sources it was made of, comments included. ccache finds one by what is
# left of its sources after preprocessing, and takes an old one that is still there for what they include. By
# CCACHE_DEPEND it compares the sources; and it keeps these apart from what it kept before.
for argument in "$@"; do
    case $argument in
        *.gch)
            rm -f "$argument"
            export CCACHE_DEPEND=1 CCACHE_NAMESPACE=cinnabar-precompiled
            ;;
    esac
done
exec ccache "$@"
