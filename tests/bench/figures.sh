#!/usr/bin/env bash
# Makes the table of figures, and the short one in README, from the results of a run of cinnabar-bench:
# figures.sh BENCH_JSON WHEN FIGURES_MD README_MD. WHEN says in one line which run that was.
set -euo pipefail
json=$1 when=$2 figures=$3 readme=$4
here=$(dirname "${BASH_SOURCE[0]}")
in_readme="tcp.rpc.rtt.spin shm.rpc.rtt.spin.ring shm.rpc.rtt.spin.mercury shm.rpc.rate.16.mercury rpc.allocations"

table() { awk "$@" -f "$here/table.awk" "$here/names.txt" "$json"; }

{
    cat <<TEXT
# Figures

Made by \`./dev figures\` of what \`./dev bench\` wrote; do not edit. Run: $when.

Ours over the machine's own limit for the same bytes, or over what is named, both alternating in one run, client and server on
one core each, with the 95 % interval of the median ratio. A figure is undecided when its interval straddles what was wanted; a
row without a wanted value is only shown. Counts are exact. \`tests/bench/README.md\` says how each is measured.

TEXT
    table
} >"$figures"

short="$(table -v only="$in_readme")

Run: $when."
rest=$(awk -v table="$short" '
    /^<!-- figures/ { print; print table; inside = 1; found = 1 }
    /^<!-- end of figures/ { inside = 0 }
    !inside && !/^<!-- figures/
    END { exit !found }' "$readme")
printf '%s\n' "$rest" >"$readme"
