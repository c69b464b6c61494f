#!/bin/sh
# Compiles with ccache: ccache.sh COMPILER [argument]...
# A precompiled header is valid only for exactly the sources that it was made from, comments included. By default,
# ccache looks it up by its preprocessed sources, and may take an old one that still exists for what they include. With
# CCACHE_DEPEND it compares the sources; and these results are stored separately from earlier ones.
for argument in "$@"; do
    case $argument in
        *.gch)
            rm -f "$argument"
            export CCACHE_DEPEND=1 CCACHE_NAMESPACE=cinnabar-precompiled
            ;;
    esac
done
exec ccache "$@"
