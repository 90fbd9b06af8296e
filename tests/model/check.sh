#!/bin/sh
# check.sh MODEL [CONTROL]: searches every interleaving of a model for a reader that is never woken. None may be there;
# with a CONTROL, which breaks the protocol in one place, one has to be found, or the model proves nothing.
# Exit codes: 0 as expected, 1 not, 77 no spin or C compiler here.
set -eu
model=$1
control=${2:-}
if ! command -v spin >/dev/null || ! command -v cc >/dev/null; then
  echo "skipped: spin or cc is missing"
  exit 77
fi
models=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$models"/*.pml "$work"
cd "$work"

spin ${control:+-D"$control"} -a "$model.pml" >spin.log 2>&1 || { cat spin.log; exit 1; }
cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c
./pan -m100000 >pan.log 2>&1 || true
grep -E '^pan:|states, stored|errors: ' pan.log
if grep -qE 'error: max search depth|out of memory|reached -DMEMLIM' pan.log; then
  echo "the search was cut short"
  exit 1
fi
if [ -z "$control" ]; then
  grep -q 'errors: 0$' pan.log
else
  grep -q 'invalid end state' pan.log
fi
