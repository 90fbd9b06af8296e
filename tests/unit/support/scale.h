// What a sanitizer changes: how much a stress test does, and what belongs to the sanitizer's runtime.
#pragma once

#include "base/atomic.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RDE_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define RDE_ADDRESS_SANITIZER
#endif

namespace rde::test {

#if defined(RDE_THREAD_SANITIZER)
constexpr unsigned kScale = 1;
constexpr bool kSanitized = true;
#elif defined(RDE_ADDRESS_SANITIZER)
constexpr unsigned kScale = 3;
constexpr bool kSanitized = true;
#else
constexpr unsigned kScale = 10;
constexpr bool kSanitized = false;
#endif

}  // namespace rde::test
