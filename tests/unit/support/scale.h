// How much a stress test does: less where a sanitizer slows everything down.
#pragma once

#include "base/atomic.h"

namespace rde::test {

#if defined(RDE_THREAD_SANITIZER)
constexpr unsigned kScale = 1;
#elif defined(__SANITIZE_ADDRESS__)
constexpr unsigned kScale = 3;
#else
constexpr unsigned kScale = 10;
#endif

}  // namespace rde::test
