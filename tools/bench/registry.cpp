#include <array>

#include "bench/measures.h"

namespace rde::tools {

std::span<const MeasureSpec* const> all_measures() {
  static constexpr std::array kAll{
      &kPingPong,     &kNopRttCpp,        &kNopRttGo,       &kNopRttGoParked,  &kNopRttGoBusy,   &kNopRttC,
      &kPing4k,       &kPing4kRate,       &kNopRateD1,      &kNopRateD8,       &kNopRateD64,     &kNopRateD1024,
      &kNopRateP1,    &kNopRateP2,        &kNopRateP4,      &kNopRateP8,       &kNopRateP16,     &kNopRateP32,
      &kNopRateP64,   &kIdle1000,         &kIdle4000,       &kIdleClients1000, &kWake,           &kSessionRate,
      &kSocketRtt,    &kSocketRate,       &kRead4kTcp,      &kRead4kTcpCrc,    &kRead4kRing,     &kRead64kTcp,
      &kRead1mTcp,    &kRead1mTcpCrc,     &kRead1mRing,     &kRead16mTcp,      &kRead4kBeside,   &kStreamBeside,
      &kStoreRead64k, &kStoreRead64kCrc,  &kStoreReadCold,  &kStoreRead1m,     &kStoreRead1mCrc, &kHttp64k,
      &kHttp4m,       &kGo10000,          &kGo10000Latency, &kIdleCpu,         &kCpuPerGib,      &kCpuPerMop,
      &kPeerAeron64,  &kPeerAeron64Rate,  &kPeerAeron4k,    &kPeerAeron4kRate, &kPeerPubSub64,   &kPeerPubSub64Rate,
      &kPeerPubSub4k, &kPeerPubSub4kRate, &kPeerRpc64,      &kPeerRpc64Rate,   &kPeerRpc4k,      &kPeerRpc4kRate,
      &kPeerShmipc64, &kPeerShmipc64Rate, &kPeerShmipc4k,   &kPeerShmipc4kRate};
  return kAll;
}

}  // namespace rde::tools
