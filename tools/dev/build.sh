#!/usr/bin/env bash
# Builds C++ with meson and the Go programs, and gathers the programs in one folder.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"

variant=plain
for argument in "$@"; do
  case $argument in
    --sanitize=address) variant=asan ;;
    --sanitize=thread) variant=tsan ;;
    *) die 2 "unknown option '$argument'; known: --sanitize=address, --sanitize=thread" ;;
  esac
done

need_packages build
[ "$variant" = asan ] && need_packages lint
need_go
build_cpp "$variant"
build_go "$(programs_dir "$variant")"
say "Programs in $(programs_dir "$variant")"
ls "$(programs_dir "$variant")"
