#!/usr/bin/env bash
# Measures. One line of JSON for each figure goes to bench.json in the build folder, the table to the screen.
# Options are handed to ring-bench: --only NAME,…, --rounds N, --seconds S.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"

need_packages build bench
need_go
build_cpp plain programs
build_go "$bin"

say 'Measuring'
code=0
"$bin/ring-bench" --json "$@" >"$build/bench.json" || code=$?
note "figures: $build/bench.json"
exit "$code"
