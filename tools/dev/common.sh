# shellcheck shell=bash
# Sourced by every script here: strict mode, places, words to the user.
set -euo pipefail
export LC_ALL=C.UTF-8

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dev=$repo/tools/dev
build=${RDE_BUILD_DIR:-$repo/build}
bin=$build/bin
jobs=${RDE_JOBS:-$(nproc)}

# Extra fixtures, where a directory with them lies next to the checkout.
if [ -z "${RDE_SHARED:-}" ] && [ -d "$repo/../shared/fixtures" ]; then
  RDE_SHARED=$(cd "$repo/../shared" && pwd)
  export RDE_SHARED
fi

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }

# die CODE TEXT...
die() {
  local code=$1
  shift
  printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
  exit "$code"
}

# Folders of the Go modules in this repository, one a line.
go_modules() {
  local mod
  for mod in "$repo"/*/go.mod "$repo"/*/*/go.mod "$repo"/*/*/*/go.mod; do
    [ -f "$mod" ] && dirname "$mod"
  done
  return 0
}
