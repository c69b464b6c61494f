#!/usr/bin/env bash
# Runs the commands that docs/doctor.md shows first, unchanged except for the loopback address, and compares its tables
# with the ids in the sources. doctor.sh DOCUMENT TOOL SOURCES
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
document=$(realpath "$1")
sources=$(realpath "$3")
enter_folder "$2"

block=$(awk '/^```/{++fences; next} fences == 1' "$document")
[[ $block == *'cinnabar doctor'* ]]
block=${block//127.0.0.1/$address}
block=${block/7000 &/7000 \& until_it_listens}
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
# A host may have problems, which determine the exit code; the output must exist in any case.
set +e
eval "$block" >out.txt
set -e
(($(grep -c ' as they should be$' out.txt) == 3))
grep -q '"id": "transport-tcp"' findings.json
grep -q '^good      server-bytes ' out.txt

# The ids that the checks can report, and those in the tables.
grep -rhoE '(good|note|warning|problem|check_lookup)\((host, )?"[a-z-]+"' "$sources" | grep -oE '"[a-z-]+"' | tr -d '"' |
    sort -u >found.txt
grep '^| `' "$document" | cut -d'|' -f2 | grep -oE '`[a-z-]+`' | tr -d '`' | sort -u >named.txt
[[ -s found.txt ]]
for id in $(comm -23 found.txt named.txt); do
    [[ $id == transport-* ]] || { echo "docs/doctor.md does not name $id"; exit 1; }
done
for id in $(comm -13 found.txt named.txt); do
    grep -rq "\"$id\"" "$sources" || { echo "no check finds $id, which docs/doctor.md names"; exit 1; }
done
