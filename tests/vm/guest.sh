# shellcheck shell=bash
# Sourced: a QEMU guest with Debian's kernel and soft-RoCE, for machines whose own kernel has no RDMA. The kernel
# package is unpacked, never installed. No KVM is needed. The guest sees this machine's files, read-only.
#
#   guest_build                       kernel, modules and initramfs into $vm, once
#   guest_run NODE SHARE COMMAND...   boots; COMMAND runs with SHARE writable at /run/share; its exit status comes back.
#                                     NODE 0 is alone; 1 and 2 are joined by a wire, as 192.0.2.1 and 192.0.2.2 (start 1
#                                     first). The id of its QEMU is in SHARE/qemu-NODE.
#
# Settings: RDE_VM_MEMORY (2G), RDE_VM_CPUS (2), RDE_VM_SECONDS (600), RDE_VM_KERNEL (a package; default: the one that
# linux-image-amd64 stands for), RDE_VM_MTU (9000; the path MTU follows, up to 4096).

vm=$build/vm

# rdma_rxe asks the crypto layer for "crc32" by name when a device is added: no dependency says so.
vm_modules='virtio_pci
virtio_net
9pnet_virtio
9p
overlay
crc32_generic
rdma_rxe
rdma_ucm
dummy numdummies=0'

# A Debian kernel of this machine's architecture, or why there is none.
guest_kernel_package() {
  [ "$(dpkg --print-architecture)" = amd64 ] || {
    echo "the guest needs an amd64 machine" >&2
    return 1
  }
  local package=${RDE_VM_KERNEL:-}
  [ -n "$package" ] || package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image/ { print $2; exit }')
  [ -n "$package" ] || {
    echo "apt knows no linux-image-amd64" >&2
    return 1
  }
  echo "$package"
}

guest_build() {
  local package
  mkdir -p "$vm"
  package=$(guest_kernel_package) || return 1
  if [ "$(cat "$vm/kernel.package" 2>/dev/null)" != "$package" ]; then
    guest_unpack_kernel "$package" || return 1
  fi
  guest_initramfs
}

# The ELF file inside the compressed kernel boots seconds faster under emulation; where none is found, the kernel
# unpacks itself.
guest_extract() { # VMLINUZ TO
  local at
  cp "$1" "$2"
  if at=$(LC_ALL=C grep -abom1 -P '\xFD7zXZ\x00' "$1" | cut -d: -f1 | grep -m1 .); then
    tail -c "+$((at + 1))" "$1" | xz -dc --single-stream 2>/dev/null >"$2.elf" || true
  elif at=$(LC_ALL=C grep -abom1 -P '\x28\xB5\x2F\xFD' "$1" | cut -d: -f1 | grep -m1 .); then
    tail -c "+$((at + 1))" "$1" | zstd -dc 2>/dev/null >"$2.elf" || true
  fi
  if [ "$(head -c 4 "$2.elf" 2>/dev/null | tail -c 3)" = ELF ]; then mv "$2.elf" "$2"; fi
}

guest_unpack_kernel() { # PACKAGE
  local version unpacked=$vm/unpacked module file to
  version=${1#linux-image-}
  version=${version%-unsigned}
  note "kernel package $1"
  rm -rf "$unpacked" "$vm/modules" "$vm/kernel.package"
  mkdir -p "$unpacked/download"
  (cd "$unpacked/download" && apt-get download -qq "$1" >"$vm/download.log" 2>&1) || {
    echo "apt-get could not download $1" >&2
    tail -n 5 "$vm/download.log" >&2
    return 1
  }
  dpkg -x "$unpacked"/download/*.deb "$unpacked/root"
  guest_extract "$unpacked/root/boot/vmlinuz-$version" "$vm/vmlinuz"
  depmod -b "$unpacked/root" "$version"
  to=$vm/modules/lib/modules/$version
  mkdir -p "$to"
  while read -r module _; do
    # Of a module that is built in there is nothing to copy.
    { modprobe -d "$unpacked/root" -S "$version" --show-depends "$module" || true; } 2>/dev/null |
      awk '$1 == "insmod" { print $2 }'
  done <<<"$vm_modules" | sort -u | while read -r file; do
    case $file in
      *.xz) xz -dc "$file" >"$to/$(basename "${file%.xz}")" ;;
      *) cp "$file" "$to/" ;;
    esac
  done
  cp "$unpacked/root/lib/modules/$version"/modules.{builtin*,order} "$to/"
  depmod -b "$vm/modules" "$version"
  rm -rf "$unpacked"
  echo "$1" >"$vm/kernel.package"
}

guest_initramfs() {
  local root=$vm/initramfs applet
  rm -rf "$root"
  mkdir -p "$root"/{bin,proc,sys,dev,new,lower,over}
  cp "$(command -v busybox)" "$root/bin/busybox"
  for applet in $("$root/bin/busybox" --list); do
    [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
  done
  cp -r "$vm/modules/lib" "$root/"
  cp "$repo/tests/vm/init" "$root/init"
  chmod 755 "$root/init"
  echo "$vm_modules" >"$root/modules.list"
  (cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --owner 0:0) >"$vm/initramfs.cpio"
}

guest_run() { # NODE SHARE COMMAND...
  local node=$1 share=$2 status=0 server=off
  local -a wire=()
  shift 2
  {
    printf 'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root TMPDIR=/run/tmp\n'
    printf 'export RDE_VM_MTU=%q RDE_VM_NODE=%q\n. %q/tests/vm/network.sh || exit 119\n' "${RDE_VM_MTU:-9000}" "$node" "$repo"
    printf '%q ' "$@"
    printf '\n'
  } >"$share/job-$node"
  if [ "$node" -gt 0 ]; then
    [ "$node" -eq 1 ] && server=on
    wire=(-netdev "stream,id=wire,server=$server,addr.type=unix,addr.path=$(guest_wire "$share")"
      -device "virtio-net-pci,netdev=wire,romfile=,mac=02:00:00:00:00:0$node")
  fi
  # nokaslr, mitigations=off: page tables are dear under emulation. tsc: else the clock is an emulated timer. panic=-1
  # with -no-reboot: a dead guest ends QEMU at once. -nic none: it has no way out but the two folders.
  timeout --kill-after=5 "${RDE_VM_SECONDS:-600}" qemu-system-x86_64 \
    -M q35 -accel tcg,thread=multi -cpu max -smp "${RDE_VM_CPUS:-2}" -m "${RDE_VM_MEMORY:-2G}" \
    -nodefaults -nographic -no-reboot -serial stdio -monitor none -nic none -pidfile "$share/qemu-$node" \
    -kernel "$vm/vmlinuz" -initrd "$vm/initramfs.cpio" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr apparmor=0 audit=0 tsc=reliable clocksource=tsc rde_job=job-$node" \
    -fsdev "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap" \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev "local,id=share,path=$share,security_model=none,multidevs=remap" \
    -device virtio-9p-pci,fsdev=share,mount_tag=share "${wire[@]}" \
    -device isa-debug-exit,iobase=0xf4,iosize=1 </dev/null || status=$?
  # Anything even never came from the exit device.
  if [ $((status % 2)) -eq 1 ]; then return $(((status - 1) / 2)); fi
  echo "the guest ended without a status (QEMU: $status; 124 is the time limit)" >&2
  return 125
}

# A path in the share may be too long for a socket.
guest_wire() { # SHARE
  echo "${TMPDIR:-/tmp}/rde-wire-$(cksum <<<"$1" | cut -d' ' -f1)"
}
