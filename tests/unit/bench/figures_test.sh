#!/usr/bin/env bash
# The tables of a stored run have not changed: figures_test.sh FOLDER_OF_CINNABAR_BENCH
set -euo pipefail
bench=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '# X\n\n<!-- figures: made by ./dev figures -->\n| old |\n<!-- end of figures -->\n\nafter\n' >"$work/readme.md"
bash "$bench/figures.sh" "$bench/sample/bench.json" "2026-11-22, commit 1234" "$work/figures.md" "$work/readme.md"
diff "$bench/sample/figures.md" "$work/figures.md"
diff "$bench/sample/readme.md" "$work/readme.md"

# If README has no place for the table, README is left unchanged, and that is an error.
printf '# X\n' >"$work/readme.md"
! bash "$bench/figures.sh" "$bench/sample/bench.json" "now" "$work/figures.md" "$work/readme.md"
[[ $(<"$work/readme.md") == '# X' ]]
