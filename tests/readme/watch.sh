#!/usr/bin/env bash
# Runs the commands that docs/watch.md shows first, unchanged except for the loopback address.
# watch.sh DOCUMENT TOOL
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
document=$(realpath "$1")
enter_folder "$2"

block=$(awk '/^```/{++fences; next} fences == 1' "$document")
[[ $block == *'cinnabar top'* ]]
block=${block//127.0.0.1/$address}
block=${block/anyone &/anyone \& until_it_listens}
block=${block//kill %1/kill \$server}
until_it_listens() {
    server=$!
    for ((i = 0; i < 1000; ++i)); do
        (exec 3<>"/dev/tcp/$address/7000") 2>connect.txt && return
        read -rt 0.02 <> <(:) || true
    done
    cat connect.txt
    exit 1
}
eval "$block" >out.txt
(($(grep -c '^up ' out.txt) == 3))
grep -q 'cinnabar.calls' out.txt  # the query itself is in progress
grep -q '"calls": \[\]' stuck.json
grep -q '^cinnabar_requests_total{rpc="cinnabar.node",side="target"}' metrics.txt
