#!/usr/bin/env bash
# run_gtest_test.sh RUN_GTEST
set -u
run_gtest=$1
program=$(dirname "$0")/like_gtest
export CINNABAR_TEST_SECONDS=1
wrong=0

# expect STATUS FILTER WORDS...: its exit status, and what it prints.
expect() {
    local status=$1 filter=$2 output got=0 words
    shift 2
    output=$("$run_gtest" "$program" "$filter" 2>&1) || got=$?
    ((got == status)) || { wrong=1 && printf '%s: status %s, not %s\n%s\n' "$filter" "$got" "$status" "$output"; }
    for words in "$@"; do
        [[ $output == *"$words"* ]] || { wrong=1 && printf '%s: nothing says "%s"\n%s\n' "$filter" "$words" "$output"; }
    done
}

expect 0 Does.Pass:Does.PassToo '2 passed, 0 skipped, 0 failed of 2'
expect 0 Does.Skip:Does.Pass 'skipped: there is no such device' '1 passed, 1 skipped, 0 failed of 2'
expect 1 Does.Skip '0 passed, 1 skipped, 0 failed of 1'
expect 1 Does.Pass:Does.Fail:Does.PassToo 'a word of the failed one' '2 passed, 0 skipped, 1 failed of 3' 'FAILED: Does.Fail'
expect 1 Does.Crash:Does.Pass 'FAILED: ended with status 139' '1 passed, 0 skipped, 1 failed of 2' 'FAILED: Does.Crash'
expect 1 Does.Hang:Does.Pass 'FAILED: hung for 1 s' '1 passed, 0 skipped, 1 failed of 2' 'FAILED: Does.Hang'
expect 1 Does.Pass:Does.EndBadly 'behind its tests: status 66'
expect 1 Nothing '0 passed, 0 skipped, 0 failed of 0'
exit "$wrong"
