// Frames that the older Go client sent, and replies that it understood: tests/data/ipc.jsonl.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rde::test {

struct Recorded {
  std::string note;
  std::vector<std::byte> request;  // whole frames
  std::vector<std::byte> reply;
};

inline std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

inline std::vector<Recorded> recorded_frames() {
  std::ifstream file(RDE_TEST_DATA "/ipc.jsonl");
  std::vector<Recorded> list;
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    list.push_back({row["note"], from_hex(row["request_frame"]), from_hex(row["reply_frame"])});
  }
  REQUIRE(list.size() == 12);
  return list;
}

inline Recorded recorded(const std::string& note) {
  for (auto& row : recorded_frames()) {
    if (row.note == note) return row;
  }
  FAIL("no frame: " << note);
  return {};
}

}  // namespace rde::test
