#!/usr/bin/env bash
# In the guest: checks.sh BUILD_FOLDER PROGRAM_FOLDER RESULT_FOLDER
# Writes `passed NAME` or `FAILED NAME` lines to RESULT_FOLDER/results, and logs beside it.
set -uo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1
bin=$2
out=$3
. "$repo/tests/vm/check.sh"

work=$(mktemp -d)
address=192.0.2.1
volumes=$work/volumes
unpacked=$out/unpacked
key=$out/key
cp -r "$out/volumes" "$volumes" # from a slow file system

start_storage() { # LOG PORT TRANSPORT
  start "$work/$1" "$bin/rdma-engine" --socket "$work/storage.sock" --export "$volumes" --listen "$address:$2" \
    --transport "$3" --psk-file "$key" --segment-size 8M --buffer-size 16M
  storage_pid=$started
  storage=$(ready "$storage_pid" "$work/$1" listen)
}

start_gateway() { # LOG TRANSPORT
  start "$work/$1" "$bin/rdma-engine" --socket "$work/gateway.sock" --peer "$storage" --transport "$2" \
    --psk-file "$key" --segment-size 16M
  gateway_pid=$started
  transport=$(ready "$gateway_pid" "$work/$1" transport)
}

# soft-RoCE gives a link up when a busy machine keeps it waiting for half a second: then once more.
conformance() { # PROGRAM
  "$build/tests/unit/$1" --no-colors || "$build/tests/unit/$1" --no-colors
}

engines_are_joined() {
  start_storage storage-1 0 verbs && start_gateway gateway verbs && [ "$transport" = verbs ] &&
    within 30 says 'is ready' "$work/gateway.err" && says 'GID 1 roce_v2' "$work/gateway.err" && cat "$work/gateway.err"
}

capabilities_say_rdma() {
  start_sidecar "$work/gateway.sock" && within 20 curl -sf --max-time 10 -o "$work/capabilities" "http://$http/rdma/capabilities" || return 1
  cat "$work/capabilities"
  grep -qE '"real_rdma": *true' "$work/capabilities"
}

killed_storage_is_survived() {
  read_right "$work/gateway.sock" 8 >"$work/loads" 2>&1 &
  local load=$!
  sleep 3
  stop "$storage_pid" KILL
  within 30 says 'is down' "$work/gateway.err" || return 1
  wait "$load" # its reads fail with a status; it must end
  kill -0 "$gateway_pid" || return 1
  cat "$work/loads"
  start_storage storage-2 "${storage##*:}" verbs || return 1
  within 30 again_ready && read_right "$work/gateway.sock" 4
}
again_ready() { [ "$(grep -cF 'is ready' "$work/gateway.err")" -ge 2 ]; }

ends_politely() {
  kill -TERM "$gateway_pid" && wait "$gateway_pid" && kill -TERM "$storage_pid" && wait "$storage_pid"
}

auto_takes_verbs() {
  start_storage storage-3 0 auto && start_gateway gateway-3 auto && [ "$transport" = verbs ] && read_right "$work/gateway.sock" 2 &&
    says 'transport verbs: rxe0 port 1' "$work/gateway-3.err"
}

auto_takes_tcp_beside_it() {
  start "$work/tcp" "$bin/rdma-engine" --socket "$work/tcp.sock" --export "$volumes" --listen 127.0.0.1:0 --transport auto
  [ "$(ready "$started" "$work/tcp" transport)" = tcp ] && says 'transport tcp, not verbs: 127.0.0.1' "$work/tcp.err"
}

uname -r
check 'the conformance suite over verbs' conformance transport/unit_verbs
check 'the conformance suite of regions over verbs' conformance peer/unit_verbs_regions
check 'two engines join over verbs' engines_are_joined
check 'every object reads right over verbs' read_right "$work/gateway.sock" 8
check 'capabilities say real RDMA' capabilities_say_rdma
check 'every object through the sidecar has its SHA-256' every_object_by_http "$unpacked"
check 'a killed storage engine is survived, and read from again once it is back' killed_storage_is_survived
check 'engines end politely' ends_politely
check 'auto takes verbs where a device works' auto_takes_verbs
check 'auto takes tcp where the address is on no device' auto_takes_tcp_beside_it
check 'the kernel has nothing to complain about' kernel_is_content
cp "$work"/*.err "$out" 2>/dev/null
! grep -q '^FAILED' "$out/results"
