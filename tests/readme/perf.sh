#!/usr/bin/env bash
# Runs the commands that docs/perf.md shows first, as they stand there but for the loopback address, and looks at what
# they write. perf.sh DOCUMENT TOOL
set -euo pipefail
document=$(realpath "$1")
tool=$(realpath "$2")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir bin
ln -s "$tool" bin/cinnabar
PATH=$work/bin:$PATH

# All of 127/8 is this machine: no two runs meet on the port.
address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).1
block=$(awk '/^```/{++fences; next} fences == 1' "$document")
[[ $block == *'cinnabar perf calls'* ]]
block=${block//127.0.0.1/$address}
block=${block//kill %1/kill \$!}
eval "$block"

grep -q '</html>' report.html
grep -q '"event": "calls"' rows.json
grep -q '"failed": 0' rows.json
