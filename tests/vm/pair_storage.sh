#!/usr/bin/env bash
# In the second of two guests: pair_storage.sh PROGRAM_FOLDER SHARE
# Exports the volumes over verbs until SHARE/end is there. For SHARE/kill it kills the engine in whatever it does, and
# starts another at the same address.
set -uo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=$1
out=$2
. "$repo/tools/dev/processes.sh"
trap stop_all EXIT
work=$(mktemp -d)
cp -r "$out/volumes" "$work/volumes" # from a slow file system

serve() { # LOG
  start "$work/$1" "$bin/rdma-engine" --socket "$work/storage.sock" --export "$work/volumes" --listen 192.0.2.2:18515 \
    --transport verbs --psk-file "$out/key" --segment-size 8M --buffer-size 16M
  engine=$started
  ready "$engine" "$work/$1" listen >"$out/storage-listens"
}

serve pair-storage-1 || exit 1
until [ -e "$out/end" ]; do
  if [ -e "$out/kill" ]; then
    rm "$out/kill"
    stop "$engine" KILL
    serve pair-storage-2 || exit 1
  fi
  sleep 0.1
done
kill -TERM "$engine" && wait "$engine"
status=$?
cp "$work"/*.err "$out"
exit "$status"
