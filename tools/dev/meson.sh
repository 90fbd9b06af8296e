# shellcheck shell=bash
# Sourced: the C++ builds. Each variant has a folder of its own.
#   plain   g++, what users run
#   asan    clang++ with AddressSanitizer and UndefinedBehaviorSanitizer: also the build with the second compiler
#   tsan    g++ with ThreadSanitizer

# One cache for all checkouts: where it lies is in debug information alone.
export CCACHE_NOHASHDIR=1

cpp_programs='rdma-engine ring-bench ring-bench-c ring-bench-read ring-dump ring-load ring-top'

programs_dir() { # VARIANT
  case $1 in plain) echo "$bin" ;; *) echo "$build/$1/bin" ;; esac
}

configure() { # VARIANT
  local dir=$build/$1
  if [ -f "$dir/build.ninja" ]; then
    ninja -C "$dir" --quiet build.ninja # configures again where a meson.build has changed
    return
  fi
  # The sanitizers replace malloc themselves; shared objects then have symbols that only the program defines. Without
  # optimization they compile in half the time, which is more than the tests take longer.
  local -a sanitized=(-Db_lundef=false -Dmimalloc=disabled --buildtype=debug -Doptimization=0)
  # Meson finds ccache by itself only for the compiler that it chose itself.
  local ccache=
  if command -v ccache >/dev/null; then ccache='ccache '; fi
  rm -rf "$dir"
  mkdir -p "$dir"
  case $1 in
    plain) meson setup "$dir" "$repo" ;;
    asan) CC="${ccache}clang" CXX="${ccache}clang++" meson setup "${sanitized[@]}" '-Db_sanitize=address,undefined' "$dir" "$repo" ;;
    tsan) meson setup "${sanitized[@]}" -Db_sanitize=thread "$dir" "$repo" ;;
  esac
}

build_cpp() { # VARIANT [all|programs]
  local dir=$build/$1 to program path
  local -a targets=()
  mkdir -p "$build"
  say "Building C++ ($1${2:+, $2 only})"
  configure "$1" >"$build/$1-configure.log" 2>&1 || {
    tail -n 30 "$build/$1-configure.log" >&2
    return 1
  }
  if [ "${2:-all}" = programs ]; then
    mapfile -t targets < <(program_targets "$dir")
  fi
  ninja -C "$dir" -j "$jobs" --quiet "${targets[@]}" || return 1
  to=$(programs_dir "$1")
  mkdir -p "$to"
  for program in $cpp_programs; do
    path=$(find "$dir" -type f -name "$program" -perm -u+x -not -path "$to/*" -print -quit)
    if [ -z "$path" ]; then
      echo "the build made no $program" >&2
      return 1
    fi
    ln -sf "$path" "$to/$program"
  done
}

# The names that ninja has for the programs.
program_targets() { # BUILD_FOLDER
  local program
  for program in $cpp_programs; do
    ninja -C "$1" -t targets all | sed -n "s#^\(.*/$program\): .*#\1#p"
  done
}

# Programs of Go modules lie in their cmd folders.
build_go() { # TARGET_FOLDER
  local module
  mkdir -p "$1"
  say "Building Go"
  while read -r module; do
    [ -d "$module/cmd" ] || continue
    (cd "$module" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$1/" ./cmd/...) || return 1
  done < <(go_modules)
}
