# shellcheck shell=bash
# Sourced by demo.sh: a short table of latencies. Figures of this machine at this moment; nothing depends on them.

say 'Latency of one read after another, µs (median / 99th percentile)'

# by_curl URL : 200 reads on one connection, as curl times them.
by_curl() {
  curl -sS --fail -o /dev/null -w '%{time_total}\n' "$1[1-200]" | "$dev/latency.py" seconds
}

by_ring() { # FID
  grep "^$1 " "$work/made" >"$work/ring-objects"
  timeout 60 "$bin/ring-load" --socket "$work/gateway.sock" --producers 1 --depth 1 --mix read=100 --objects "$work/ring-objects" \
    --seconds 1 --json >"$work/ring-load" || failed "ring-load: $(tail -n 5 "$work/ring-load")"
  "$dev/latency.py" ring-load <"$work/ring-load"
}

printf '   %-10s %22s %22s %22s\n' 'object' 'ring' 'sidecar (RDMA path)' 'volume server (HTTP)'
for size in 4096 65536 1048576; do
  fid=$(awk -v size=$size '$2 == size { print $1; exit }' "$work/made")
  printf '   %-10s %22s %22s %22s\n' "$((size / 1024)) KiB" "$(by_ring "$fid")" \
    "$(by_curl "http://$sidecar/read?file_id=$fid&n=")" "$(by_curl "http://$volume/$fid?n=")"
done
note 'ring: from the request in the ring to the completion. The others: curl, on a kept connection.'
