# shellcheck shell=bash
# Sourced: need_packages GROUP... installs what packages.txt lists and the machine lacks. Nothing missing: no apt call.

missing_packages() { # GROUP...
  local group package rest wanted=" $* "
  while read -r group package rest; do
    case $group in '' | '#'*) continue ;; esac
    [[ $wanted == *" $group "* ]] || continue
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done <"$dev/packages.txt"
}

need_packages() { # GROUP...
  if ! command -v dpkg-query >/dev/null; then
    die 3 "this system has no dpkg; install what $dev/packages.txt lists (groups: $*), then use meson and go directly (README.md)"
  fi
  local missing
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    die 3 "missing packages; as root: apt-get install -y $missing"
  fi
  say "Installing $missing"
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086  # one word a package
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
    >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die 3 "apt-get could not install: $missing"
  fi
  rm -f "$log"
}

need_go() {
  command -v go >/dev/null || die 3 "go is missing: install Go 1.26 or later and put it into PATH"
}
