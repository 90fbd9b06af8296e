#include "bench/volume_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "base/crc32c.h"

namespace rde::tools {
namespace {

void put(std::string& to, std::uint64_t value, unsigned bytes) {
  while (bytes-- != 0) to += static_cast<char>(value >> (8 * bytes));
}

Result<void> write_file(const std::string& path, const std::vector<std::string_view>& parts) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (const auto part : parts) file.write(part.data(), static_cast<std::streamsize>(part.size()));
  file.close();
  if (!file) return system_error("write " + path, errno);
  return {};
}

}  // namespace

Result<void> write_volume(const std::string& folder, std::uint32_t volume, std::uint64_t size) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return system_error("make " + folder, failed.value());
  std::vector<std::uint64_t> words((size + 7) / 8);
  std::mt19937_64 random(size);  // any bytes will do, but not those of a hole
  for (auto& word : words) word = random();
  const std::string_view data(reinterpret_cast<const char*>(words.data()), size);

  // Superblock, then the record: lib/seaweed/needle.h has its parts.
  std::string head("\3\0\0\0\0\0\0\0", 8), tail, index;
  const std::uint64_t body = 4 + size + 1;
  put(head, kStoreCookie, 4);
  put(head, kStoreKey, 8);
  put(head, body, 4);
  put(head, size, 4);
  put(tail, 0, 1);
  put(tail, crc32c(std::as_bytes(std::span(data.data(), data.size()))), 4);
  put(tail, 1, 8);
  tail.append(8 - (16 + body + 12) % 8, '\0');
  put(index, kStoreKey, 8);
  put(index, 8 / 8, 4);
  put(index, body, 4);
  const std::string stem = folder + "/" + std::to_string(volume);
  if (auto written = write_file(stem + ".dat", {head, data, tail}); !written) return written;
  if (auto written = write_file(stem + ".vif", {R"({"version": 3, "bytesOffset": 4})"}); !written) return written;
  return write_file(stem + ".idx", {index});
}

}  // namespace rde::tools
