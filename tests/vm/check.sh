# shellcheck shell=bash
# Sourced in a guest by what runs there; $out is the folder of the results, $bin that of the programs.
# Writes `passed NAME` or `FAILED NAME` lines to $out/results, and logs beside it.
. "$repo/tools/dev/processes.sh"
trap stop_all EXIT

check() { # NAME COMMAND...
  local name=$1 log began=$SECONDS
  shift
  log=$out/${name//[^a-zA-Z0-9]/_}.log
  if "$@" >"$log" 2>&1; then
    echo "passed $name ($((SECONDS - began)) s)" | tee -a "$out/results"
  else
    echo "FAILED $name: $(tail -n 1 "$log")" | tee -a "$out/results"
  fi
}

says() { # TEXT FILE
  grep -qF -- "$1" "$2" || {
    echo "no '$1' in $2:"
    tail -n 5 "$2"
    return 1
  }
}

# Reads objects at random and checks each byte. soft-RoCE loses a connection now and then, where packets are dropped or
# the machine is busy: then reads fail with a status, and all is read once more. A wrong byte ends it at once.
read_right() { # SOCKET SECONDS
  local try
  for try in 1 2 3 4; do
    "$bin/ring-load" --socket "$1" --objects "$out/objects" --mix read=100 --producers 2 --seconds "$2" --json \
      >"$work/load" 2>&1 && cat "$work/load" && return 0
    cat "$work/load"
    grep -qE '"wrong": *0,' "$work/load" || return 1
    echo "reads failed in run $try"
    sleep 2
  done
  return 1
}

# Nothing is behind the sidecar's fallback: what it answers came through the engine.
start_sidecar() { # SOCKET
  start "$work/sidecar" "$bin/rdma-sidecar" -p 0 -e "$1" -v "http://127.0.0.1:1"
  sidecar_pid=$started
  http=$(ready "$sidecar_pid" "$work/sidecar" http)
}

every_object_by_http() { # LIST
  local fid size sum got count=0
  while read -r fid size sum; do
    got=$(curl -sf --max-time 60 "http://$http/read?file_id=$fid" | sha256sum) || return 1
    [ "${got%% *}" = "$sum" ] || {
      echo "$fid of $size bytes: ${got%% *}, not $sum"
      return 1
    }
    count=$((count + 1))
  done <"$1"
  stop "$sidecar_pid"
  echo "$count objects"
  [ "$count" -ge 10 ]
}

# Status 12 is IBV_WC_RETRY_EXC_ERR: newer kernels say it where a peer has gone, as some do here.
kernel_is_content() {
  ! dmesg | grep -vF 'make_send_cqe: non-flush error status = 12' | grep -E "BUG:|Oops|WARNING: CPU|rxe.*error"
}
