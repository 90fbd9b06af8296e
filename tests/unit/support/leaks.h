// Counts what a process must not collect.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace rde::test {

inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

inline unsigned mapped_segments() {
  unsigned count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find("rde-segment") != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace rde::test
