#!/usr/bin/env bash
# Runs the suites and adds up their tests. The last line is `N passed, N failed, N skipped`.
#
# A suite is a function; it writes `PASSED FAILED SKIPPED` to $suite.count. One that ends without counting a test,
# or not at all, counts as one failure. One that cannot run on this machine says why and counts as skipped.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"
. "$dev/suites.sh"

suites='plain asan tsan go checkptr integration lint demo'
more_suites='vm'
suite_seconds=1500

only=
extra=
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=${2:-} && shift ;;
    --only=*) only=${1#--only=} ;;
    --vm) extra=vm ;;
    *) die 2 "unknown option '$1'; known: --only SUITE, --vm" ;;
  esac
  shift
  [[ " $suites $more_suites " == *" $only "* ]] || die 2 "unknown suite '$only'; known: $suites $more_suites"
done

need_packages build demo lint
need_go
export RDE_BIN_DIR=$bin
logs=$build/logs
rm -rf "$logs"
mkdir -p "$logs"

passed=0 failed=0 skipped=0
table=

# Each suite is a process group of its own, so that a hang, or an interrupt, ends with everything that it started.
suite_pid=
trap '[ -z "$suite_pid" ] || kill -TERM "$suite_pid"; exit 1' INT TERM

run_suite() { # NAME
  local name=$1 began=$SECONDS code=0 p f s
  say "Suite: $name"
  timeout --kill-after=20 "$suite_seconds" "$dev/suite.sh" "$name" "$logs" </dev/null &
  suite_pid=$!
  wait "$suite_pid" || code=$?
  suite_pid=
  if ! read -r p f s 2>/dev/null <"$logs/$name.count"; then
    echo "FAILED suite $name: it ended with exit code $code and counted nothing"
    p=0 f=1 s=0
  elif [ $((p + f + s)) -eq 0 ]; then
    echo "FAILED suite $name: no test ran"
    f=1
  elif [ "$code" -ne 0 ] && [ "$f" -eq 0 ]; then
    echo "FAILED suite $name: exit code $code"
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  table+=$(printf '%-12s %6d passed %4d failed %4d skipped %5d s' "$name" "$p" "$f" "$s" $((SECONDS - began)))$'\n'
}

for name in ${only:-$suites} $extra; do
  run_suite "$name"
done

printf '\n%s\n%d passed, %d failed, %d skipped\n' "$table" "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
