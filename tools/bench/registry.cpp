#include <array>

#include "bench/measures.h"

namespace rde::tools {

std::span<const MeasureSpec* const> all_measures() {
  static constexpr std::array kAll{&kPingPong, &kNopRttCpp, &kNopRttGo, &kNopRateD64};
  return kAll;
}

}  // namespace rde::tools
