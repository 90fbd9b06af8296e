#!/usr/bin/env bash
# Real RDMA verbs in guests: checks.sh runs in one, then pair_gateway.sh and pair_storage.sh in two that a wire joins.
# The results are brought back to build/vm/results. RDE_VM_ONLY=one|pair runs a half. Prints a line for each check, and
# `N passed, N failed`. Exit codes: 0 good, 1 a check failed, 77 no guest can be had on this machine (why is on stdout).
# The programs and unit tests are built already.
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/dev/common.sh"
# shellcheck source=/dev/null
. "$dev/packages.sh"
. "$repo/tests/vm/guest.sh"

unit=$build/plain
results=$vm/results
share=$vm/share

if ! why=$( (need_packages vm) 2>&1); then
  echo "SKIPPED: QEMU and its tools cannot be installed: $(tail -n 1 <<<"$why")"
  exit 77
fi
if ! why=$(guest_build 2>&1); then
  echo "SKIPPED: no guest can be built: $(tail -n 1 <<<"$why")"
  exit 77
fi
if [ ! -x "$unit/tests/unit/transport/unit_verbs" ] || [ ! -x "$unit/tests/unit/peer/unit_verbs_regions" ]; then
  echo "SKIPPED: this build has no verbs (libibverbs-dev, librdmacm-dev)"
  exit 77
fi

# Real volumes, and one with larger objects: some need several slices.
make_volumes() {
  mkdir "$share/volumes"
  cp "$repo"/tests/data/volumes/*.{dat,idx,vif} "$share/volumes"
  "$dev/make_volume.py" "$share/volumes" 900 4096 65536 1048576 4194304 >"$share/made"
  "$dev/objects.py" stored "$repo/tests/data/volumes/objects.jsonl" >"$share/objects"
  "$dev/objects.py" readable "$repo/tests/data/volumes/objects.jsonl" >"$share/unpacked"
  tee -a "$share/unpacked" <"$share/made" >>"$share/objects"
  (umask 077 && echo 'a key that both engines of this test share' >"$share/key")
}

# A frozen host neither answers nor closes anything: for SHARE/freeze its whole guest stands still for a while.
freeze_on_demand() {
  local qemu
  until [ -e "$share/end" ] || ! kill -0 $$; do
    if [ -e "$share/freeze" ]; then
      rm "$share/freeze"
      qemu=$(cat "$share/qemu-2")
      kill -STOP "$qemu"
      sleep 6
      kill -CONT "$qemu"
    fi
    sleep 0.1
  done
}

pair_run() {
  local gateway storage freezer code=0
  rm -f "$(guest_wire "$share")"
  guest_run 1 "$share" bash "$repo/tests/vm/pair_gateway.sh" "$unit" "$bin" /run/share &
  gateway=$!
  for _ in $(seq 100); do
    [ ! -S "$(guest_wire "$share")" ] || break
    sleep 0.1
  done
  guest_run 2 "$share" bash "$repo/tests/vm/pair_storage.sh" "$bin" /run/share >"$share/storage.console" 2>&1 &
  storage=$!
  freeze_on_demand &
  freezer=$!
  wait "$gateway" || code=$?
  : >"$share/end"
  wait "$storage" || code=$?
  wait "$freezer"
  rm -f "$(guest_wire "$share")"
  return "$code"
}

rm -rf "$results" "$share"
mkdir -p "$results" "$share"
make_volumes
code=0
case ${RDE_VM_ONLY:-all} in one | all)
  guest_run 0 "$share" bash "$repo/tests/vm/checks.sh" "$unit" "$bin" /run/share || code=$?
  ;;
esac
case ${RDE_VM_ONLY:-all} in pair | all) pair_run || code=$? ;; esac
rm -rf "$share/volumes"
cp -r "$share"/. "$results"
if [ ! -s "$results/results" ]; then
  echo "the guest ran no check (exit code $code)"
  exit 1
fi
passed=$(grep -c '^passed' "$results/results" || true)
failed=$(grep -c '^FAILED' "$results/results" || true)
# A guest that died on the way is a failure beside what it reported before.
if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then
  echo "FAILED the guest ended early, exit code $code"
  failed=1
fi
[ -z "${RDE_COUNT_FILE:-}" ] || echo "$passed $failed 0" >"$RDE_COUNT_FILE"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
