#!/usr/bin/env bash
# Two engines, a sidecar and a plain HTTP volume server on this machine: read, compare, kill one, read on.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"
. "$dev/processes.sh"

need_packages build demo
need_go
build_cpp plain programs
build_go "$bin"

work=$(mktemp -d)
cleanup() {
  local code=$?
  trap - EXIT
  stop_all
  if [ "$code" -ne 0 ]; then
    local log
    for log in "$work"/*.err; do
      [ -s "$log" ] && printf '\n--- %s\n' "$(basename "$log")" && tail -n 15 "$log"
    done
  fi
  rm -rf "$work"
  exit "$code"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

failed() {
  echo "demo: FAILED: $*"
  exit 1
}

# --- Data: volumes from a real SeaweedFS server, and one made here with larger objects ------------------------------

say 'Volumes'
mkdir "$work/volumes"
data=$repo/tests/data/volumes
cp "$data"/*.dat "$data"/*.idx "$data"/*.vif "$work/volumes"
made=900
"$dev/make_volume.py" "$work/volumes" $made 4096 4096 65536 65536 1048576 1048576 4194304 >"$work/made"
# A line `VID,FID SIZE SHA256` for each object; what has expired must not be found.
"$dev/objects.py" readable "$data/objects.jsonl" >"$work/objects"
cat "$work/made" >>"$work/objects"
"$dev/objects.py" gone "$data/objects.jsonl" >"$work/gone"
note "$(wc -l <"$work/objects") objects, $(wc -l <"$work/gone") that have expired"

# --- Processes ------------------------------------------------------------------------------------------------------

say 'Start'
start "$work/volume" "$bin/volume-standin" --dir "$work/volumes" --http 127.0.0.1:0
volume_pid=$started
volume=$(ready "$volume_pid" "$work/volume" http)
note "volume server        http://$volume"

start "$work/storage" "$bin/rdma-engine" --socket "$work/storage.sock" --export "$work/volumes" \
  --listen 127.0.0.1:0 --transport tcp
storage=$(ready "$started" "$work/storage" listen)
note "storage engine       $storage, exports the volumes"

start_gateway() {
  start "$1" "$bin/rdma-engine" --socket "$work/gateway.sock" --peer "$storage" --transport tcp
  gateway_pid=$started
  ready "$gateway_pid" "$1" socket >/dev/null
}
start_gateway "$work/gateway-1"
note "gateway engine       $(ready "$gateway_pid" "$work/gateway-1" transport), peer $storage"

start "$work/sidecar" "$bin/rdma-sidecar" -p 0 -e "$work/gateway.sock" -v "http://$volume"
sidecar=$(ready "$started" "$work/sidecar" http)
note "sidecar              http://$sidecar"

# --- Reading --------------------------------------------------------------------------------------------------------

# read_object SCRATCH FID SHA256 : one read by curl; prints `SOURCE ok` or `SOURCE FAILED why`.
read_object() {
  local code sum source
  code=$(curl -sS --max-time 30 -D "$1.head" -o "$1.body" -w '%{http_code}' \
    "http://$sidecar/read?file_id=$2&offset=0&size=0" 2>"$1.curl") || {
    echo "none FAILED curl: $(head -c 200 "$1.curl")"
    return
  }
  source=$(tr -d '\r' <"$1.head" | sed -n 's/^x-source: *//Ip')
  sum=$(sha256sum "$1.body" | cut -d' ' -f1)
  if [ "$code" = "${4:-200}" ] && { [ "$code" = 404 ] || [ "$sum" = "$3" ]; }; then
    echo "${source:-none} ok"
  else
    echo "${source:-none} FAILED status $code, sha256 $sum instead of $3"
  fi
}

by_rdma() { [[ $(read_object "$work/probe" "$probe_fid" "$probe_sum") == rdma\ ok ]]; }
read -r probe_fid _ probe_sum <"$work/made"

say 'Read every object through the sidecar and compare checksums'
within 30 by_rdma || failed "no read went by the RDMA path within 30 s: $(read_object "$work/probe" "$probe_fid" "$probe_sum")"
rdma=0
while read -r fid size sum; do
  answer=$(read_object "$work/one" "$fid" "$sum")
  [[ $answer == *\ ok ]] || failed "$fid ($size bytes): $answer"
  [[ $answer == rdma* ]] || failed "$fid ($size bytes) did not come by the RDMA path: $answer"
  rdma=$((rdma + 1))
done <"$work/objects"
note "$rdma objects right, all by the RDMA path"
while read -r fid; do
  answer=$(read_object "$work/one" "$fid" - 404)
  [[ $answer == *\ ok ]] || failed "$fid has expired and should be missing: $answer"
done <"$work/gone"
note "$(wc -l <"$work/gone") expired objects answered 404"

. "$dev/demo_latency.sh"
. "$dev/demo_kill.sh"

say 'Stop'
stop "$volume_pid"
stop_all
say 'The demo held: every byte right, no read failed, and reads came back to the RDMA path'
