#!/usr/bin/env bash
# Runs the commands that docs/perf.md shows first, unchanged except for the loopback address, and checks their output.
# perf.sh DOCUMENT TOOL
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
document=$(realpath "$1")
enter_folder "$2"

block=$(awk '/^```/{++fences; next} fences == 1' "$document")
[[ $block == *'cinnabar perf calls'* ]]
block=${block//127.0.0.1/$address}
block=${block//kill %1/kill \$!}
eval "$block"

grep -q '</html>' report.html
grep -q '"event": "calls"' rows.json
grep -q '"failed": 0' rows.json
