#!/usr/bin/env bash
# Removes what ./run built, and nothing else.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for part in bin plain asan tsan logs tools; do
  rm -rf "${build:?}/$part"
done
rm -f "$build"/*-configure.log "$build/bench.json"
if [ -d "$build" ]; then rmdir --ignore-fail-on-non-empty "$build"; fi
