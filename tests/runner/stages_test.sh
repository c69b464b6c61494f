#!/usr/bin/env bash
# The stages of `./dev test --full`, in a repository of their own.
set -euo pipefail
command -v git >/dev/null || exit 77
stages=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

die() {
    printf '%s\n' "$*" >&2
    exit 1
}
ran() { printf '%s ' "$1" >>build/ran; }
run_all() {
    rm -f build/ran
    summary=()
    stage "one that passes" ran one || true
    stage "two, which fails" false || true
    stage "three" "$1" || true
    ran=$(cat build/ran 2>/dev/null || true)
}
expect_ran() { [[ $ran == "$1" ]] || die "line ${BASH_LINENO[0]}: '$ran' ran, and not '$1'"; }
three() { ran three; }
edits() { ran three && printf 'edited\n' >>kept; }

mkdir build
source "$stages"
run_all three
expect_ran "one three "
resuming=yes
run_all three
expect_ran "one three " # there is no repository, so changes cannot be detected

git -c init.defaultBranch=main init -q
printf 'build/\n' >.gitignore
printf 'text\n' >kept
git add .
git -c user.name=test -c user.email=test@example.org commit -qm one
resuming=
run_all three
expect_ran "one three "
run_all three
expect_ran "one three " # not asked to resume
resuming=yes
run_all three
expect_ran ""
printf '%s\n' "${summary[@]}" | grep -q '^one that passes *passed .* s, at 2' || die "not told: ${summary[*]}"
printf '%s\n' "${summary[@]}" | grep -q '^two, which fails *FAILED ' || die "not told: ${summary[*]}"

printf 'more\n' >>kept
run_all three
expect_ran "one three "
run_all three
expect_ran ""
printf 'new\n' >not_tracked
run_all edits
expect_ran "one three "
run_all three
expect_ran "one three " # one ran for other sources, and the sources changed while three ran
run_all three
expect_ran ""
