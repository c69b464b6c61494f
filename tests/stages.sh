# The stages of a long verb of ./dev: each runs to its end whatever the others did, and the results are in `summary`. A
# stage that passes is recorded below build/stages/ with the sources that it tested; if `resuming` is set, stages that
# passed for exactly the current sources are not run again. Sourced, with the project's folder as the working directory.
summary=()
resuming=

# One line that differs for different sources. Empty without git, or without a commit.
state_of_sources() {
    git rev-parse -q --verify HEAD >/dev/null 2>&1 || return 0
    { git rev-parse HEAD && git diff HEAD && git ls-files -z --others --exclude-standard | xargs -0r sha256sum; } |
        sha256sum | cut -d' ' -f1
}

# stage NAME COMMAND...
stage() {
    local name=$1 before=$SECONDS verdict=passed record state passed_before=
    record=build/stages/${name//[^a-z0-9]/_}
    state=$(state_of_sources)
    shift
    if [[ -n $resuming && -n $state && -e $record ]]; then
        passed_before=$(sed -n "s/^$state //p" "$record")
    fi
    if [[ -n $passed_before ]]; then
        summary+=("$(printf '%-28s passed  %s' "$name" "$passed_before")")
        return
    fi
    # `set -e` is off in a condition, so each stage is a separate process.
    "$@" || verdict=FAILED
    summary+=("$(printf '%-28s %-7s %5d s' "$name" "$verdict" $((SECONDS - before)))")
    [[ $verdict == passed ]] || return
    if [[ -n $state && $state == "$(state_of_sources)" ]]; then # else they were edited meanwhile
        mkdir -p build/stages
        printf '%s %5d s, at %s\n' "$state" $((SECONDS - before)) "$(date -u +'%F %R')" >"$record"
    fi
}
