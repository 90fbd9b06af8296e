// Reserves hugepages for a test, where the user may, and gives them back.
//
//   HugePool pool(2);
//   if (!pool) { MESSAGE(pool.why()); return; }
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "prim/memory.h"

namespace rde::test {

class HugePool {
 public:
  explicit HugePool(std::uint64_t pages) : before_(prim::huge_pool()) {
    write(before_.total + pages);
    reserved_ = prim::huge_pool().free >= pages;
  }
  ~HugePool() { write(before_.total); }
  HugePool(const HugePool&) = delete;
  HugePool& operator=(const HugePool&) = delete;

  explicit operator bool() const { return reserved_; }
  static const char* why() { return "skipped: no hugepages can be reserved here (that needs root, and free memory)"; }

 private:
  static void write(std::uint64_t pages) {
    std::ofstream("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") << pages;
  }

  prim::HugePool before_;
  bool reserved_ = false;
};

}  // namespace rde::test
