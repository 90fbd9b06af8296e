#!/usr/bin/env bash
# Static checks. Each is one test; a failed one shows what its tool said.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"

staticcheck_version=v0.8.2

need_packages build lint
need_go

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$scratch/out" 2>&1; then
    echo "ok      $name"
    passed=$((passed + 1))
  else
    echo "FAILED  $name"
    sed 's/^/  | /' "$scratch/out" | tail -n 60
    failed=$((failed + 1))
  fi
}

# Files of the work tree that git knows or would add, by pathspec, zero-terminated.
files() {
  (cd "$repo" && git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@") |
    while IFS= read -r -d '' file; do
      [ -f "$repo/$file" ] && printf '%s\0' "$repo/$file"
    done
  return 0
}

# Of the files named on stdin, those that people write.
by_hand() {
  xargs -0r grep -LZiE '^(//|/\*|#|<!--).*generated'
  return 0
}

cpp_format() {
  files '*.c' '*.cpp' '*.h' | by_hand | xargs -0r clang-format --dry-run -Werror
}

shell_scripts() {
  files 'run' '.ci/run' '*.sh' | xargs -0r shellcheck
}

generated_files() {
  python3 "$repo/shm_layout/generate.py" --check
}

man_pages() {
  files 'docs/man/*.[1-8]' | xargs -0r mandoc -T lint -W warning
}

# A file stays readable in one sitting.
file_lengths() {
  local long
  long=$(files '*.c' '*.cpp' '*.h' '*.go' '*.py' '*.sh' '*.build' | by_hand |
    xargs -0r wc -l | awk '$2 != "total" && $1 > 400 { print $2 ": " $1 " lines, at most 400" }')
  printf '%s\n' "$long"
  [ -z "$long" ]
}

go_format() {
  local differ
  differ=$(files '*.go' | xargs -0r gofmt -l)
  printf '%s\n' "$differ"
  [ -z "$differ" ]
}

go_vet() { (cd "$1" && go vet ./...); }
go_static() { (cd "$1" && "$build/tools/staticcheck" ./...); }

install_staticcheck() {
  "$build/tools/staticcheck" -version 2>/dev/null | grep -qF "${staticcheck_version#v}" && return 0
  GOBIN=$build/tools GOFLAGS=-buildvcs=false go install "honnef.co/go/tools/cmd/staticcheck@$staticcheck_version"
}

# clang-tidy reads the compile commands of the clang build.
cpp_tidy() {
  configure asan >"$scratch/configure" 2>&1 || {
    tail "$scratch/configure"
    return 1
  }
  "$dev/tidy.py" "$build/asan" "$jobs"
}

check 'clang-format' cpp_format
check 'file lengths' file_lengths
check 'shellcheck' shell_scripts
check 'generated files are current' generated_files
check 'man pages' man_pages
check 'gofmt' go_format
while read -r module; do
  check "go vet ${module#"$repo"/}" go_vet "$module"
done < <(go_modules)
if install_staticcheck >"$scratch/out" 2>&1; then
  while read -r module; do
    check "staticcheck ${module#"$repo"/}" go_static "$module"
  done < <(go_modules)
else
  echo "SKIPPED staticcheck: it could not be installed: $(tail -n 1 "$scratch/out")"
  skipped=$((skipped + 1))
fi
check 'clang-tidy' cpp_tidy

if [ -n "${RDE_COUNT_FILE:-}" ]; then
  echo "$passed $failed $skipped" >"$RDE_COUNT_FILE"
else
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
fi
[ "$failed" -eq 0 ]
