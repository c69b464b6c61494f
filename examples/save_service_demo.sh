#!/usr/bin/env bash
# A demonstration of the save service: a server and a client on loopback TCP, or on CINNABAR_DEMO_LISTEN (shm://), save
# 1,000 files of this machine and a generated one of 3 GiB; sha256sum checks every byte. `./dev demo` runs it.
# usage: save_service_demo.sh BUILD_FOLDER [FOLDER_FOR_THE_FILES]
set -euo pipefail

build=$1
where=${2:-$build/demo}
place=  # a new folder below `where`, and all that is removed at the end
listen=${CINNABAR_DEMO_LISTEN:-tcp://127.0.0.1:0}
cinnabar=$build/tools/cinnabar
big_bytes=$((3 << 30))
small_count=1000

say() { printf '\n%s\n' "$*"; }
die() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}
now() { date +%s.%N; }
# rate BYTES BEGAN: MB/s since then
rate() { awk -v bytes="$1" -v began="$2" -v now="$(now)" 'BEGIN { printf "%.0f", bytes / (now - began) / 1e6 }'; }
row() { printf '  %-58s %9s %s\n' "$@"; }

server=
cleanup() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    [[ -z $place ]] || rm -rf "$place"
}

# Endless random bytes. A cipher makes them several times as fast as the kernel does.
random_bytes() {
    if command -v openssl >/dev/null; then
        openssl enc -aes-128-ctr -nosalt -pass "pass:$RANDOM$RANDOM$RANDOM" </dev/zero 2>/dev/null || true
    else
        cat /dev/urandom 2>/dev/null || true
    fi
}

prepare() {
    local free
    [[ -x $cinnabar ]] || die "$cinnabar is not there: build it first"
    mkdir -p "$where"
    trap cleanup EXIT
    place=$(mktemp -d "$where/cinnabar-demo.XXXXXX")
    mkdir "$place"/{own,root,back,plain}
    free=$(df --output=avail -B1 "$place" | tail -n 1)
    ((free > 4 * big_bytes)) || die "$where needs 12 GiB of free space; name another folder: ./dev demo FOLDER"

    say "$small_count files of this machine, and one of 3 GiB of random bytes made now"
    # Any readable files with distinct names, since one folder will hold them all; the same choice each time.
    find /usr /etc /var/lib -xdev -type f -readable -size +0 -size -16384k -print 2>/dev/null |
        LC_ALL=C grep -E '^[ -~]+$' | grep -vF '\' | LC_ALL=C sort | awk -F/ '!seen[$NF]++' |
        shuf -n $small_count --random-source=<(yes) >"$place/chosen" || true
    (($(wc -l <"$place/chosen") == small_count)) || die "this machine has fewer than $small_count files to save"
    mapfile -t chosen <"$place/chosen"
    small_bytes=$(stat -L -c %s "${chosen[@]}" | awk '{ sum += $1 } END { print sum }')
    random_bytes | head -c $big_bytes >"$place/own/three-gibibytes"
    row "the $small_count files together" "$((small_bytes / 1000000))" MB
}

# Sets `uri`.
start_server() {
    local tries
    "$cinnabar" serve --root "$place/root" --listen "$listen" --ready-file "$place/ready" \
        >"$place/server.log" 2>&1 &
    server=$!
    for ((tries = 0; tries < 300; ++tries)); do
        [[ -s $place/ready ]] && break
        kill -0 "$server" 2>/dev/null || { cat "$place/server.log" >&2; die "the server ended"; }
        sleep 0.1
    done
    [[ -s $place/ready ]] || die "the server was not ready within 30 seconds"
    uri=$(head -n 1 "$place/ready")
    say "the server listens at $uri"
}

save_all() {
    local began
    say "saving"
    began=$(now)
    "$cinnabar" save "${chosen[@]}" "$uri"
    small_rate=$(awk -v n=$small_count -v began="$began" -v now="$(now)" 'BEGIN { printf "%.0f", n / (now - began) }')
    began=$(now)
    "$cinnabar" save "$place/own/three-gibibytes" "$uri"
    big_rate=$(rate $big_bytes "$began")
}

# The checksum of each original, once, next to its name. Sets `sum_rate`, which is the large file's.
sum_originals() {
    local began
    began=$(now)
    sha256sum "$place/own/three-gibibytes" >"$place/paths"
    sum_rate=$(rate $big_bytes "$began")
    sha256sum "${chosen[@]}" >>"$place/paths"
    awk '{ sum = $1; sub(/^[^ ]+ [ *]/, ""); sub(/.*\//, ""); print sum "  " $0 }' "$place/paths" >"$place/sums"
}

# check FOLDER NAMES: compares the checksums of the copies in FOLDER, whose names are the lines of the file NAMES
check() {
    local folder=$1 sums=$2.sums
    awk 'NR == FNR { wanted[$0]; next } substr($0, 67) in wanted' "$2" "$place/sums" >"$sums"
    (($(wc -l <"$sums") == $(wc -l <"$2"))) || die "there are not as many sums as names for $folder"
    (cd "$folder" && sha256sum --check --quiet --strict) <"$sums" || die "the copies in $folder differ"
    row "checked by sha256sum in $(basename "$folder")/" "$(wc -l <"$sums")" files
}

# Checks both copies at once, because a sha256sum uses one core.
check_both() {
    local other
    say "checking what was saved, and what was fetched"
    sum_originals
    printf '%s\n' "${chosen[@]##*/}" three-gibibytes >"$place/saved"
    printf '%s\n' "${some[@]##*/}" three-gibibytes >"$place/fetched"
    check "$place/root" "$place/saved" &
    other=$!
    check "$place/back" "$place/fetched"
    wait "$other" || exit 1
}

fetch_some() {
    local began
    some=()
    say "fetching 20 of the files and the large one back"
    # Chooses files whose names have no special meaning in an address.
    mapfile -t some < <(printf '%s\n' "${chosen[@]}" | grep -E '/[A-Za-z0-9._+-]+$' | head -n 20)
    "$cinnabar" fetch "${some[@]/#*\//$uri/}" -o "$place/back"
    began=$(now)
    "$cinnabar" fetch "$uri/three-gibibytes" -o "$place/back"
    fetch_rate=$(rate $big_bytes "$began")
}

# What this machine does with the same bytes without Cinnabar.
measure_limits() {
    local began
    say "measuring this machine's own limits"
    rm -rf "${place:?}"/{root,back}
    began=$(now)
    cp "${chosen[@]}" "$place/plain"
    (cd "$place/plain" && find . -type f -print0 | xargs -0 sync)
    plain_small=$(awk -v n=$small_count -v began="$began" -v now="$(now)" 'BEGIN { printf "%.0f", n / (now - began) }')
    began=$(now)
    cp --reflink=never "$place/own/three-gibibytes" "$place/plain"
    sync "$place/plain/three-gibibytes"
    plain_big=$(rate $big_bytes "$began")
}

prepare
start_server
save_all
fetch_some
check_both
kill "$server"
wait "$server" || die "the server ended with an error: $(tail -n 3 "$place/server.log")"
server=
measure_limits
say "rates, each beside what plain tools do on this disk"
row "cinnabar save, $small_count files (each synced and renamed)" "$small_rate" files/s
row "cp and sync of the same" "$plain_small" files/s
row "cinnabar save, 3 GiB over ${uri%%:*}, hashed and synced" "$big_rate" MB/s
row "cinnabar fetch, 3 GiB" "$fetch_rate" MB/s
row "cp and sync of the same, no network" "$plain_big" MB/s
row "sha256sum, reading only" "$sum_rate" MB/s
