#!/usr/bin/env bash
# Real RDMA verbs in a guest: builds it, boots it, runs checks.sh there, brings the results back to build/vm/results.
# Prints a line for each check, and `N passed, N failed`. Exit codes: 0 good, 1 a check failed, 77 no guest can be had
# on this machine (why is on stdout). The programs and unit tests are built already.
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
if [ ! -x "$unit/tests/unit/transport/unit_verbs" ]; then
  echo "SKIPPED: this build has no verbs (libibverbs-dev, librdmacm-dev)"
  exit 77
fi

rm -rf "$results" "$share"
mkdir -p "$results" "$share"
code=0
guest_run "$share" bash "$repo/tests/vm/checks.sh" "$unit" "$bin" /run/share || code=$?
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
