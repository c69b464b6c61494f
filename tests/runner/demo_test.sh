#!/usr/bin/env bash
# examples/save_service_demo.sh removes what it made in the folder that it was given, and nothing else.
set -euo pipefail
demo=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

die() {
    printf '%s\n' "$*" >&2
    exit 1
}

mkdir -p "$folder"/{build/tools,bin,given}
printf 'mine\n' >"$folder/given/kept"
ln -s "$(type -P true)" "$folder/build/tools/cinnabar"
# A disk that is nearly full, so the demo ends as soon as it has looked.
printf '#!/bin/sh\nprintf "Avail\\n4096\\n"\n' >"$folder/bin/df"
chmod +x "$folder/bin/df"
status=0
said=$(PATH=$folder/bin:$PATH "$demo" "$folder/build" "$folder/given" 2>&1) || status=$?
((status == 1)) || die "the demo ended with $status: $said"
[[ $said == *"$folder/given needs 12 GiB"* ]] || die "it said: $said"
[[ $(cat "$folder/given/kept") == mine ]] || die "a file in the given folder was changed"
[[ $(ls -A "$folder/given") == kept ]] || die "it left: $(ls -A "$folder/given")"
