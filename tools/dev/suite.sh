#!/usr/bin/env bash
# Runs one suite in a process of its own: suite.sh NAME LOG_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$dev/packages.sh"
. "$dev/meson.sh"
. "$dev/suites.sh"

suite=$1
logs=$2
"suite_$suite"
