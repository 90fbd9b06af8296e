# shellcheck shell=bash
# Sourced: processes that a script starts, and how it waits for them. Everything ends with the script.

pids=()

# start LOG COMMAND... : runs it in the background; its id is in $started.
start() {
  local log=$1
  shift
  : >"$log"
  "$@" >"$log" 2>"$log.err" </dev/null &
  started=$!
  pids+=("$started")
}

# stop PID [SIGNAL] : ends it and waits; one that stays for 10 s after SIGTERM is killed.
stop() {
  kill "-${2:-TERM}" "$1" 2>/dev/null || true
  local i
  for ((i = 0; i < 100; i++)); do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

stop_all() {
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    stop "${pids[i]}"
  done
  pids=()
}

# ready PID LOG KEY : waits until the process has printed its ready line and prints the value of KEY in it.
ready() {
  local i line
  for ((i = 0; i < 300; i++)); do
    line=$(grep -m 1 '^ready ' "$2" || true)
    if [ -n "$line" ]; then
      sed -n "s/.*[ ]$3=\([^ ]*\).*/\1/p" <<<"$line"
      return 0
    fi
    if ! kill -0 "$1" 2>/dev/null; then
      echo "process ended before it was ready:" >&2
      tail -n 20 "$2" "$2.err" >&2
      return 1
    fi
    sleep 0.1
  done
  echo "process was not ready after 30 s:" >&2
  tail -n 20 "$2" "$2.err" >&2
  return 1
}

# within SECONDS COMMAND... : repeats the command until it succeeds; fails when the time is over.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}
