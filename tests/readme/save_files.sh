#!/usr/bin/env bash
# Runs what README.md shows under "Save files", as it stands there but for the folders and the loopback address.
# save_files.sh README TOOL
set -euo pipefail
readme=$(realpath "$1")
tool=$(realpath "$2")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir bin back
ln -s "$tool" bin/cinnabar
PATH=$work/bin:$PATH
head -c 100000 /dev/urandom >report.pdf
head -c 3000000 /dev/urandom >results.h5

# All of 127/8 is this machine: no two runs meet on the port.
address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).1
block=$(awk '/^## /{here = /^## Save files/} here && /^```/{inside = !inside; next} here && inside' "$readme")
[[ $block == *'cinnabar save'* ]]
block=${block//\/srv\/files/$work/srv/files}
block=${block//127.0.0.1/$address}
block=${block/-o \/tmp/-o $work/back}
eval "$block"
cmp report.pdf back/report.pdf
cmp report.pdf srv/files/report.pdf
cmp results.h5 srv/files/results.h5
