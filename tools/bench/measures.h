// Every measure, each in a file of its family. A new one is declared here and added to registry.cpp.
#pragma once

#include "bench/measure.h"

namespace rde::tools {

extern const MeasureSpec kPingPong;
extern const MeasureSpec kNopRttCpp;
extern const MeasureSpec kNopRttGo;
extern const MeasureSpec kNopRttGoParked;
extern const MeasureSpec kNopRttGoBusy;
extern const MeasureSpec kNopRttC;
extern const MeasureSpec kPing4k;
extern const MeasureSpec kPing4kRate;
extern const MeasureSpec kNopRateD1;
extern const MeasureSpec kNopRateD8;
extern const MeasureSpec kNopRateD64;
extern const MeasureSpec kNopRateD1024;
extern const MeasureSpec kNopRateP1;
extern const MeasureSpec kNopRateP2;
extern const MeasureSpec kNopRateP4;
extern const MeasureSpec kNopRateP8;
extern const MeasureSpec kNopRateP16;
extern const MeasureSpec kNopRateP32;
extern const MeasureSpec kNopRateP64;
extern const MeasureSpec kIdle1000;
extern const MeasureSpec kIdle4000;
extern const MeasureSpec kIdleClients1000;
extern const MeasureSpec kWake;
extern const MeasureSpec kSessionRate;
extern const MeasureSpec kSocketRtt;
extern const MeasureSpec kSocketRate;
extern const MeasureSpec kRead4kTcp;
extern const MeasureSpec kRead4kTcpCrc;
extern const MeasureSpec kRead4kRing;
extern const MeasureSpec kRead64kTcp;
extern const MeasureSpec kRead1mTcp;
extern const MeasureSpec kRead1mTcpCrc;
extern const MeasureSpec kRead1mRing;
extern const MeasureSpec kRead16mTcp;
extern const MeasureSpec kRead4kBeside;
extern const MeasureSpec kStreamBeside;
extern const MeasureSpec kStoreRead64k;
extern const MeasureSpec kStoreRead64kCrc;
extern const MeasureSpec kStoreReadCold;
extern const MeasureSpec kStoreRead1m;
extern const MeasureSpec kStoreRead1mCrc;
extern const MeasureSpec kHttp64k;
extern const MeasureSpec kHttp4m;
extern const MeasureSpec kGo10000;
extern const MeasureSpec kGo10000Latency;
extern const MeasureSpec kIdleCpu;
extern const MeasureSpec kCpuPerGib;
extern const MeasureSpec kCpuPerMop;
extern const MeasureSpec kPeerAeron64;
extern const MeasureSpec kPeerAeron64Rate;
extern const MeasureSpec kPeerAeron4k;
extern const MeasureSpec kPeerAeron4kRate;
extern const MeasureSpec kPeerPubSub64;
extern const MeasureSpec kPeerPubSub64Rate;
extern const MeasureSpec kPeerPubSub4k;
extern const MeasureSpec kPeerPubSub4kRate;
extern const MeasureSpec kPeerRpc64;
extern const MeasureSpec kPeerRpc64Rate;
extern const MeasureSpec kPeerRpc4k;
extern const MeasureSpec kPeerRpc4kRate;
extern const MeasureSpec kPeerShmipc64;
extern const MeasureSpec kPeerShmipc64Rate;
extern const MeasureSpec kPeerShmipc4k;
extern const MeasureSpec kPeerShmipc4kRate;

}  // namespace rde::tools
