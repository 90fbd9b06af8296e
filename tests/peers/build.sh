#!/usr/bin/env bash
# Builds the programs that ring-bench compares with, those whose tools are there: build.sh [FOLDER]
# FOLDER (default: build/bin/peers) gets peer-NAME. Fetches the peers from where cargo and Maven are set up to find them.
# Not part of ./run build or ./run test. Exit codes: 0 all built, 1 some could not be, 2 bad usage.
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../../tools/dev/common.sh"

aeron_version=1.51.0
seconds=900 # for each
here=$repo/tests/peers
work=$build/peers
target=${1:-$bin/peers}
[ $# -le 1 ] || die 2 'usage: build.sh [FOLDER]'
mkdir -p "$work" "$target"
target=$(cd "$target" && pwd)
missing=0

leave_out() { # NAME REASON...
  note "$1 left out: ${*:2}"
  missing=1
}

build_rust() {
  command -v cargo >/dev/null || {
    leave_out 'iceoryx2 and shmipc' 'cargo is not installed'
    return
  }
  local name
  for name in peer-iceoryx2-pubsub peer-iceoryx2-rpc peer-shmipc; do
    say "Building $name"
    if CARGO_TARGET_DIR=$work/rust timeout "$seconds" cargo build --locked --release -j "$jobs" \
      --manifest-path "$here/rust/Cargo.toml" --bin "$name"; then
      cp "$work/rust/release/$name" "$target/"
    else
      leave_out "$name" 'cargo could not build it'
    fi
  done
}

build_aeron() {
  local tool
  for tool in mvn javac java; do
    command -v "$tool" >/dev/null || {
      leave_out peer-aeron "$tool is not installed"
      return
    }
  done
  say 'Building peer-aeron'
  if ! timeout "$seconds" mvn -B -q dependency:copy "-Dartifact=io.aeron:aeron-all:$aeron_version" \
    "-DoutputDirectory=$work/aeron"; then
    leave_out peer-aeron 'Maven could not fetch it'
    return
  fi
  local jar=$work/aeron/aeron-all-$aeron_version.jar
  javac -cp "$jar" -d "$work/aeron" "$here/aeron/PeerAeron.java" || {
    leave_out peer-aeron 'javac could not build it'
    return
  }
  cat >"$target/peer-aeron" <<SCRIPT
#!/bin/sh
exec java --add-opens java.base/jdk.internal.misc=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \\
  -XX:+UnlockDiagnosticVMOptions -XX:GuaranteedSafepointInterval=300000 \\
  -Dagrona.disable.bounds.checks=true -cp '$jar:$work/aeron' PeerAeron "\$@"
SCRIPT
  chmod 755 "$target/peer-aeron"
}

build_rust
build_aeron
say "Programs are in $target"
exit "$missing"
