// peer_NAME_SIZE and peer_NAME_SIZE_rate: other ways between two processes of one machine, by programs of tests/peers
// that are there only where somebody has built them. Each fills every byte that it sends, and reads every byte that
// comes.
#include <unistd.h>

#include "bench/measures.h"
#include "bench/sampler.h"

namespace rde::tools {
namespace {

struct Peer {
  std::string_view name;  // of the program, behind "peer-"
  std::string_view size;
  bool rate = false;
};

class PeerMeasure final : public Measure {
 public:
  PeerMeasure(Bench& bench, Peer peer) : bench_(bench), peer_(peer) {}

  Result<Round> round(Nanoseconds length) override {
    const std::string program = bench_.options().peers + "/peer-" + std::string(peer_.name);
    if (bench_.options().peers.empty() || access(program.c_str(), X_OK) != 0) {
      return Error{Status::not_supported,
                   "peer-" + std::string(peer_.name) + " is not installed; tests/peers/build.sh builds it"};
    }
    bench_.quiet();
    Round round;
    for (const double nanoseconds : bench_.pingpong(length / 2)) {
      round.reference.push_back(peer_.rate ? 1e9 / nanoseconds : nanoseconds);
    }
    const auto& placement = bench_.placement();
    auto samples = run_sampler(bench_,
                               {program, "--size", std::string(peer_.size), "--cpus",
                                std::to_string(placement.client) + "," + std::to_string(placement.engine), "--mode",
                                peer_.rate ? "rate" : "rtt", "--milliseconds", std::to_string(length / kMillisecond)},
                               length);
    if (!samples) return samples.error();
    round.samples = std::move((*samples)["samples"]);
    return round;
  }

 private:
  Bench& bench_;
  Peer peer_;
};

// What does the same by rings.
std::string_view ours(const Peer& peer) {
  const bool is_small = peer.size == "64";
  if (peer.rate) return is_small ? "nop_rate_d64" : "ping_4k_rate";
  return is_small ? "nop_rtt_cpp" : "ping_4k";
}

MeasureSpec spec(std::string_view name, std::string_view what, Peer peer) {
  return {.name = name,
          .unit = peer.rate ? "op/s" : "ns",
          .what = what,
          .better = peer.rate ? Better::higher : Better::lower,
          .aim = {.kind = Aim::ahead, .ours = ours(peer)},
          .make = [peer](Bench& bench) { return std::make_unique<PeerMeasure>(bench, peer); }};
}

constexpr std::string_view kTrip = "round trip of 64 bytes", kTrip4k = "the same of 4 KiB";
constexpr std::string_view kRate = "the same as messages of 64 bytes a second, one way",
                           kRate4k = "the same as messages of 4 KiB a second";
constexpr std::string_view kAnswered = "the same as answered requests of 64 bytes a second",
                           kAnswered4k = "the same as answered requests of 4 KiB a second";
constexpr std::string_view kPubSub = "iceoryx2-pubsub", kRpc = "iceoryx2-rpc", kAeron = "aeron", kShmipc = "shmipc";

}  // namespace

const MeasureSpec kPeerAeron64 = spec("peer_aeron_64", kTrip, {kAeron, "64"});
const MeasureSpec kPeerAeron64Rate = spec("peer_aeron_64_rate", kRate, {kAeron, "64", true});
const MeasureSpec kPeerAeron4k = spec("peer_aeron_4k", kTrip4k, {kAeron, "4096"});
const MeasureSpec kPeerAeron4kRate = spec("peer_aeron_4k_rate", kRate4k, {kAeron, "4096", true});
const MeasureSpec kPeerPubSub64 = spec("peer_iceoryx2_pubsub_64", kTrip, {kPubSub, "64"});
const MeasureSpec kPeerPubSub64Rate = spec("peer_iceoryx2_pubsub_64_rate", kRate, {kPubSub, "64", true});
const MeasureSpec kPeerPubSub4k = spec("peer_iceoryx2_pubsub_4k", kTrip4k, {kPubSub, "4096"});
const MeasureSpec kPeerPubSub4kRate = spec("peer_iceoryx2_pubsub_4k_rate", kRate4k, {kPubSub, "4096", true});
const MeasureSpec kPeerRpc64 = spec("peer_iceoryx2_rpc_64", kTrip, {kRpc, "64"});
const MeasureSpec kPeerRpc64Rate = spec("peer_iceoryx2_rpc_64_rate", kAnswered, {kRpc, "64", true});
const MeasureSpec kPeerRpc4k = spec("peer_iceoryx2_rpc_4k", kTrip4k, {kRpc, "4096"});
const MeasureSpec kPeerRpc4kRate = spec("peer_iceoryx2_rpc_4k_rate", kAnswered4k, {kRpc, "4096", true});
const MeasureSpec kPeerShmipc64 = spec("peer_shmipc_64", kTrip, {kShmipc, "64"});
const MeasureSpec kPeerShmipc64Rate = spec("peer_shmipc_64_rate", kRate, {kShmipc, "64", true});
const MeasureSpec kPeerShmipc4k = spec("peer_shmipc_4k", kTrip4k, {kShmipc, "4096"});
const MeasureSpec kPeerShmipc4kRate = spec("peer_shmipc_4k_rate", kRate4k, {kShmipc, "4096", true});

}  // namespace rde::tools
