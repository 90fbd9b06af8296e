#!/usr/bin/env bash
# In the first of two guests: pair_gateway.sh BUILD_FOLDER PROGRAM_FOLDER SHARE
# Reads over verbs from the engine of the other guest, which is killed and frozen meanwhile.
set -uo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1
bin=$2
out=$3
. "$repo/tests/vm/check.sh"
work=$(mktemp -d)
socket=$work/gateway.sock
gateway_log=$work/pair-gateway
large=$(grep ' 1048576 ' "$out/objects")

join() {
  within 120 [ -s "$out/storage-listens" ] || return 1
  start "$gateway_log" "$bin/rdma-engine" --socket "$socket" --peer 192.0.2.2:18515 --transport verbs --psk-file "$out/key" \
    --segment-size 16M
  gateway=$started
  ready "$gateway" "$gateway_log" transport && within 60 says 'is ready' "$gateway_log.err"
}

read_by_http() { start_sidecar "$socket" && every_object_by_http "$out/unpacked"; }

# Reads a large object while something is done to its host: reads must fail, then go on, and no byte come late.
read_while() { # NAME_OF_A_FILE_THAT_BRINGS_IT
  local fid size reader code=0
  read -r fid size _ <<<"$large"
  "$build/tests/vm/late_bytes" "$socket" "$fid" "$size" 120 3000 >"$work/late" 2>&1 &
  reader=$!
  within 60 says reading "$work/late" || return 1
  sleep 1
  : >"$out/$1"
  wait "$reader" || code=$?
  cat "$work/late"
  [ "$code" -eq 0 ] && read_right "$socket" 3
}

ends_politely() { kill -TERM "$gateway" && wait "$gateway"; }

uname -r
check 'pair: engines of two hosts join over verbs' join
check 'pair: every object reads right' read_right "$socket" 6
check 'pair: every object through the sidecar has its SHA-256' read_by_http
check 'pair: a storage engine is killed in a transfer; no byte comes late, and reads go on' read_while kill
check 'pair: a storage host freezes in a transfer; no byte comes late, and reads go on' read_while freeze
check 'pair: the gateway ends politely' ends_politely
check 'pair: the kernel has nothing to complain about' kernel_is_content
: >"$out/end"
cp "$work"/*.err "$work/late" "$out"
! grep -q '^FAILED' "$out/results"
