#!/usr/bin/env bash
# Makes the tables of docs/groups.md that simulations of many members fill: curves.sh PROGRAMS GROUPS_MD [MEMBERS...].
# PROGRAMS is the folder of swim_test and group_parts_test. One of 100,000 members takes minutes and 2 GiB.
set -euo pipefail
programs=$1 document=$2
shift 2
sizes=("$@")
((${#sizes[@]})) || sizes=(100 1000 10000 100000)
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

with_commas() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }

# row MEMBERS PERIODS LOSS SLOW CUT STOPPED: loss is per 1,000, slow per cent.
row() {
    local measured other=none
    [[ $5 == 0 ]] || other="$5 cut off"
    [[ $6 == 0 ]] || other="$6 stopped"
    measured=$(CINNABAR_GROUP_MEMBERS=$1 CINNABAR_GROUP_PERIODS=$2 CINNABAR_GROUP_LOSS=$3 CINNABAR_GROUP_SLOW=$4 \
        CINNABAR_GROUP_CUT=$5 CINNABAR_GROUP_STOPPED=$6 "$programs/swim_test" --gtest_filter=swim_scale.curves) ||
        { printf '%s\n' "$measured" >&2 && return 1; }
    measured=$(sed -n 's/^curve: //p' <<<"$measured")
    [[ $measured ]] || { echo "$programs/swim_test gave no figures for $1 members" >&2 && return 1; }
    printf '| %s | %s %% | %s %% | %s | %s | %s\n' "$(with_commas "$1")" "$(($3 / 10))" "$4" "$other" \
        "$(with_commas "$2")" "$measured" | tee -a "$rows" >&2
}

{
    printf '| members | messages lost | slow members | other faults | periods | suspected after, mean (most) '
    printf '| excluded by the first | by all | living members excluded | messages per member and period '
    printf '| KiB per member |\n|---|---|---|---|---|---|---|---|---|---|---|\n'
} >"$rows"
for size in "${sizes[@]}"; do
    ((size >= 100)) || { echo "at least 100 members: up to 72 of them die in a row of the table" >&2 && exit 1; }
    periods=$((1000000 / size))
    periods=$((periods > 3600 ? 3600 : periods < 50 ? 50 : periods))
    row "$size" "$periods" 0 0 0 0
    row "$size" "$periods" 10 5 0 0
    row "$size" "$periods" 50 0 0 0
    row "$size" "$periods" 10 5 2 0
    row "$size" "$periods" 10 5 0 2
done
{
    printf '\nMessages on the longest path of a broadcast:\n\n'
    printf '| members | binomial tree | 4-nomial tree |\n|---|---|---|\n'
    "$programs/group_parts_test" --gtest_filter=tree.curves | sed -n 's/^path: /| /p'
} >>"$rows"

whole=$(awk -v rows="$rows" '
    /^<!-- curves/ { print; while ((getline line <rows) > 0) print line; inside = 1; found = 1; next }
    /^<!-- end of curves/ { inside = 0 }
    !inside
    END { exit !found }' "$document")
printf '%s\n' "$whole" >"$document"
