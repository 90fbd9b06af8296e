# shellcheck shell=bash
# Sourced in the guest: an Ethernet device, the wire to the other guest or one that leads nowhere, and soft-RoCE on it.
# rdma_cm finds no device on lo.
ip link set lo up
if [ "$RDE_VM_NODE" -eq 0 ]; then
  ip link add roce0 type dummy
else
  for wire in /sys/class/net/*; do
    wire=${wire##*/}
    [ "$wire" = lo ] || ip link set "$wire" name roce0
  done
fi
ip link set roce0 mtu "$RDE_VM_MTU"
ip addr add "192.0.2.$((RDE_VM_NODE > 0 ? RDE_VM_NODE : 1))/24" dev roce0
ip link set roce0 up
rdma link add rxe0 type rxe netdev roce0 || return 1
# The address becomes a GID a moment later.
for _ in $(seq 100); do
  grep -qs ffff: /sys/class/infiniband/rxe0/ports/1/gids/1 && return 0
  sleep 0.1
done
echo "network: rxe0 has no IPv4 GID" >&2
return 1
