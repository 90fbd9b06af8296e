# shellcheck shell=bash
# Sourced by demo.sh: kills the gateway engine under load.

say 'Kill the gateway engine (kill -9) while two readers read'
rm -f "$work/enough"

reader() { # NUMBER
  local fid size sum
  until [ -e "$work/enough" ]; do
    while read -r fid size sum; do
      echo "$fid $size $(read_object "$work/reader-$1" "$fid" "$sum")"
      [ ! -e "$work/enough" ] || break
    done <"$work/objects"
  done >>"$work/reads-$1"
}

reads() { cat "$work"/reads-*; }
# count_from LINES PATTERN : how many reads after the first LINES match.
count_from() { reads_since "$1" | grep -c "$2" || true; }
reads_since() {
  local n
  for n in 1 2; do
    tail -n +$(($(cut -d' ' -f$n <<<"$1") + 1)) "$work/reads-$n"
  done
}
mark() { echo "$(wc -l <"$work/reads-1") $(wc -l <"$work/reads-2")"; }
at_least() { [ "$(count_from "$2" "$3")" -ge "$1" ]; } # COUNT MARK PATTERN

: >"$work/reads-1"
: >"$work/reads-2"
reader 1 &
readers=("$!")
reader 2 &
readers+=("$!")
pids+=("${readers[@]}")

start_mark=$(mark)
within 30 at_least 20 "$start_mark" ' rdma ok$' || failed 'the readers do not read by the RDMA path'
kill -KILL "$gateway_pid"
wait "$gateway_pid" 2>/dev/null || true
killed_mark=$(mark)
within 30 at_least 20 "$killed_mark" ' http ok$' || failed 'no reads by HTTP after the engine was killed'
note "killed:    $(count_from "$killed_mark" ' http ok$') reads by HTTP since"

start_gateway "$work/gateway-2"
back_mark=$(mark)
within 30 at_least 20 "$back_mark" ' rdma ok$' || failed 'reads did not come back to the RDMA path'
note "restarted: $(count_from "$back_mark" ' rdma ok$') reads by the RDMA path since"

touch "$work/enough"
wait "${readers[@]}"
if reads | grep -q FAILED; then
  reads | grep FAILED | head -n 5
  failed "$(reads | grep -c FAILED) of $(reads | wc -l) reads failed"
fi
note "in all:    $(reads | wc -l) reads, 0 failed"
