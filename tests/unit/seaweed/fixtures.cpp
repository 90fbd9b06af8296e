#include "fixtures.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace rde::test {

std::filesystem::path data_folder() { return RDE_TEST_DATA; }

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<ExpectedObject> read_objects(const std::filesystem::path& path) {
  std::vector<ExpectedObject> objects;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    ExpectedObject object;
    object.fid = json.at("fid");
    object.size = json.value("size", std::uint64_t{0});
    object.sha256 = json.value("sha256", "");
    object.stored_sha256 = json.value("stored_sha256", "");
    object.missing = json.value("missing", false);
    object.expired = json.value("expired", false);
    object.manifest = json.value("manifest", false);
    const std::string quoted = json.value("etag", "");
    if (quoted.size() == 10) object.etag = quoted.substr(1, 8);
    objects.push_back(std::move(object));
  }
  return objects;
}

std::vector<std::filesystem::path> volume_folders() {
  std::vector<std::filesystem::path> roots{data_folder()};
  if (const char* more = std::getenv("RDE_SHARED")) roots.push_back(std::filesystem::path(more) / "fixtures");
  std::vector<std::filesystem::path> folders;
  for (const auto& root : roots) {
    for (const char* name : {"volumes", "history/1-first", "history/2-changed", "history/3-vacuumed"}) {
      if (std::filesystem::exists(root / name / "objects.jsonl")) folders.push_back(root / name);
    }
  }
  return folders;
}

}  // namespace rde::test
