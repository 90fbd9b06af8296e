# shellcheck shell=bash
# Sourced by suite.sh: the suites. Each ends with count, with skip, or with an error.

count() { # PASSED FAILED SKIPPED
  printf '%s %s %s\n' "$@" >"$logs/$suite.count"
  [ "$2" -eq 0 ]
}

skip() { # REASON...
  echo "SKIPPED suite $suite: $*"
  count 0 0 1
}

# --- C++ -----------------------------------------------------------------------------------------------------------

meson_suite() { # VARIANT TIMEOUT_MULTIPLIER [PREFIX...]
  local dir=$build/$1 code=0
  build_cpp "$1"
  rm -f "$dir/meson-logs/testlog.json"
  "${@:3}" meson test -C "$dir" --no-rebuild --num-processes "$jobs" --timeout-multiplier "$2" \
    >"$logs/$suite.log" 2>&1 || code=$?
  local -a counts
  read -r -a counts < <("$dev/tally.py" meson "$dir")
  [ "$code" -eq 0 ] || [ "${counts[1]}" -ne 0 ] || tail -n 20 "$logs/$suite.log"
  count "${counts[@]}" && [ "$code" -eq 0 ]
}

suite_plain() {
  meson_suite plain 2
}

suite_asan() {
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$dev/lsan.supp:print_suppressions=0
  meson_suite asan 4
}

suite_tsan() {
  # UCX often jumps to unlock at the end of a function: TSan then takes it for an unlock of ours, of what nobody locked.
  export TSAN_OPTIONS=suppressions=$dev/tsan.supp:halt_on_error=1:second_deadlock_stack=1:report_mutex_bugs=0
  # UCX patches madvise when it is loaded, and takes a lock there in threads that TSan has seen the end of.
  export UCX_MEM_EVENTS=n
  # TSan of gcc 12 knows no address space with more than 28 random bits: run without.
  meson_suite tsan 6 setarch -R
}

# --- Go ------------------------------------------------------------------------------------------------------------

go_suite() { # GO_TEST_OPTIONS... -- MODULE_FOLDER...
  local -a options=() counts
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  local module code=0 p=0 f=0 s=0
  for module in "$@"; do
    note "${module#"$repo"/}"
    (cd "$module" && go test -json -count=1 -timeout 10m "${options[@]}" ./...) \
      >"$logs/$suite-$(basename "$module").json" 2>>"$logs/$suite.log" || code=$?
    read -r -a counts < <("$dev/tally.py" go "$logs/$suite-$(basename "$module").json")
    p=$((p + counts[0])) f=$((f + counts[1])) s=$((s + counts[2]))
  done
  [ "$code" -eq 0 ] || [ "$f" -ne 0 ] || tail -n 20 "$logs/$suite.log"
  count "$p" "$f" "$s" && [ "$code" -eq 0 ]
}

# Programs that Go tests start: the plain build.
build_programs() {
  build_cpp plain programs
  build_go "$bin"
}

suite_go() {
  local -a modules
  mapfile -t modules < <(go_modules | grep -v '/tests/integration$')
  build_programs
  go_suite -race -- "${modules[@]}"
}

suite_checkptr() {
  build_programs
  go_suite -gcflags=all=-d=checkptr -- "$repo/bindings/go"
}

suite_integration() {
  if [ ! -f "$repo/tests/integration/go.mod" ]; then
    skip "there is no tests/integration"
    return
  fi
  build_programs
  go_suite -- "$repo/tests/integration"
}

# --- The rest ------------------------------------------------------------------------------------------------------

# Real RDMA verbs, in a guest.
suite_vm() {
  local code=0
  build_cpp plain
  build_go "$bin"
  RDE_COUNT_FILE=$logs/$suite.count "$repo/tests/vm/run.sh" >"$logs/$suite.log" 2>&1 || code=$?
  cat "$logs/$suite.log"
  if [ "$code" -eq 77 ]; then
    skip "$(sed -n 's/^SKIPPED: //p' "$logs/$suite.log")"
    return
  fi
  return "$code"
}

suite_lint() {
  RDE_COUNT_FILE=$logs/$suite.count "$dev/lint.sh"
}

suite_demo() {
  "$dev/demo.sh" || return 1
  count 1 0 0
}
