// Volumes that a real server wrote, for tests: those of tests/data, and more where RDE_SHARED names a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rde::test {

using Bytes = std::vector<std::byte>;

std::filesystem::path data_folder();
Bytes read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

// One line of an objects.jsonl.
struct ExpectedObject {
  std::string fid;
  std::string sha256;         // of the object as it was put in
  std::string stored_sha256;  // where the client stored it packed
  std::string etag;           // eight hex digits; empty = unknown
  std::uint64_t size = 0;
  bool missing = false;
  bool expired = false;
  bool manifest = false;
};

std::vector<ExpectedObject> read_objects(const std::filesystem::path& path);

// Folders that hold volumes and an objects.jsonl.
std::vector<std::filesystem::path> volume_folders();

}  // namespace rde::test
