#include <string>

#include "base/host_port.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {
namespace {

constexpr std::uint32_t kLongestAddress = 300;  // a DNS name has at most 253 bytes

// Ends a CONNECT; a client that has gone meanwhile gives its peer back.
void finish(Shard& shard, Operation& operation, Handle peer, Status status) {
  ClientState& client = operation.channel->client();
  const bool wanted = status == Status::ok && !client.gone && operation.state == Operation::State::in_flight;
  if (wanted) ++client.peers[peer.value()];
  if (status == Status::ok && !wanted) shard.io_st().close_peer(peer);
  shard.end_st(operation, status, 0, 0, 0, wanted ? peer.value() : 0);
}

void open_peer(Shard& shard, Operation& operation, const Result<SocketAddress>& where) {
  if (!where) return finish(shard, operation, {}, where.error().status);
  auto opened = shard.io_st().open_peer(
      *where, [&shard, &operation](Handle peer, Status status) { finish(shard, operation, peer, status); });
  if (!opened) finish(shard, operation, {}, opened.error().status);
}

}  // namespace

void op_connect(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  if (!no_args(request)) return refuse(Status::reserved_not_zero);
  const auto buffer = buffer_of(channel.client().view(), request);
  if (buffer.status != Status::ok) return refuse(buffer.status);
  if (request.length > kLongestAddress) return refuse(Status::invalid_address);
  // Copied before it is read: the client can change it at any time.
  std::string text(buffer.bytes.size(), '\0');
  std::memcpy(text.data(), buffer.bytes.data(), text.size());
  const auto address = parse_host_port(text);
  if (!address || address->port == 0) return refuse(Status::invalid_address);
  ClientState& client = channel.client();
  if (client.lookups >= kLookupsPerClient) return refuse(Status::resource_exhausted);
  Operation* operation = shard.begin_st(channel, request);
  if (operation == nullptr) return;
  ++client.lookups;
  shard.resolve_st(client.number(), *address, [&shard, operation](const Result<SocketAddress>& where) {
    --operation->channel->client().lookups;
    open_peer(shard, *operation, where);
  });
}

void op_disconnect(Shard& shard, EngineChannel& channel, const rde_request& request) {
  if (!no_args(request)) return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  auto& peers = channel.client().peers;
  const auto found = peers.find(request.handle);
  if (found == peers.end()) {
    // A client closes only what it opened itself.
    const Status status = shard.io_st().check_peer(Handle::from(request.handle));
    return shard.complete_st(channel, request.tag, status == Status::ok ? Status::permission_denied : status);
  }
  if (--found->second == 0) peers.erase(found);
  shard.io_st().close_peer(Handle::from(request.handle));
  shard.complete_st(channel, request.tag, Status::ok);
}

}  // namespace rde
