#!/usr/bin/env bash
# Runs what README.md shows under "Save files", unchanged except for the folders and the loopback address.
# save_files.sh README TOOL
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
readme=$(realpath "$1")
enter_folder "$2"
mkdir back
head -c 100000 /dev/urandom >report.pdf
head -c 3000000 /dev/urandom >results.h5

block=$(awk '/^## /{here = /^## Save files/} here && /^```/{inside = !inside; next} here && inside' "$readme")
[[ $block == *'cinnabar save'* ]]
block=${block//127.0.0.1/$address}
block=${block/-o \/tmp/-o $work/back}
eval "$block"
cmp report.pdf back/report.pdf
cmp report.pdf files/report.pdf
cmp results.h5 files/results.h5
