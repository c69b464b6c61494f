#!/usr/bin/env bash
# The contract over tcps with certificates on both sides, so the second socket of each session is resumed:
# by_certificates.sh CINNABAR RUN_GTEST CONTRACT_TEST
set -euo pipefail
cinnabar=$1 run_gtest=$2 contract=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cinnabar" cert ca "$folder" >/dev/null
"$cinnabar" cert server "$folder" both --host 127.0.0.1 >/dev/null
place="tcps://127.0.0.1:0?cert=$folder/both.pem&cert_key=$folder/both.key&ca=$folder/ca.pem&crl=$folder/ca.crl"
CINNABAR_TEST_CABLE="$place $place" "$run_gtest" "$contract" '*/cable'
