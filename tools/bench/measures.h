// Every measure, each in the file of its name. A new one is declared here and added to registry.cpp.
#pragma once

#include "bench/measure.h"

namespace rde::tools {

extern const MeasureSpec kPingPong;
extern const MeasureSpec kNopRttCpp;
extern const MeasureSpec kNopRttGo;
extern const MeasureSpec kNopRateD64;

}  // namespace rde::tools
