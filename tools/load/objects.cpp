#include "load/objects.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

namespace rde::tools {
namespace {

constexpr std::string_view kBlank = " \t\r";

// Takes the next word off the front of a line; empty at its end.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const auto word = line.substr(0, std::min(line.find_first_of(kBlank), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::optional<Sha256::Digest> parse_digest(std::string_view text) {
  Sha256::Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* start = text.data() + 2 * i;
    const auto [end, code] = std::from_chars(start, start + 2, digest[i], 16);
    if (code != std::errc() || end != start + 2) return std::nullopt;
  }
  return digest;
}

Result<LoadObject> parse_line(std::string_view line) {
  const auto bad = [](std::string text) { return Error{Status::invalid_request, std::move(text)}; };
  const auto id_text = next_word(line), size_text = next_word(line), hash_text = next_word(line);
  if (hash_text.empty() || !next_word(line).empty()) return bad("want three words, VID,FID SIZE SHA256");
  const auto id = parse_file_id(id_text);
  if (!id) return bad(id.error().text);
  LoadObject object{.id = *id};
  const auto [end, code] = std::from_chars(size_text.data(), size_text.data() + size_text.size(), object.size);
  if (code != std::errc() || end != size_text.data() + size_text.size()) {
    return bad("size '" + std::string(size_text) + "' is not a number of bytes");
  }
  const auto digest = parse_digest(hash_text);
  if (!digest) return bad("SHA256 '" + std::string(hash_text) + "' does not have 64 hex digits");
  object.sha256 = *digest;
  return object;
}

}  // namespace

Result<std::vector<LoadObject>> parse_objects(std::string_view text) {
  std::vector<LoadObject> objects;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    auto rest = line;
    if (const auto first = next_word(rest); first.empty() || first.front() == '#') continue;
    auto object = parse_line(line);
    if (!object) return object.error().in("line " + std::to_string(number));
    objects.push_back(*object);
  }
  if (objects.empty()) return Error{Status::invalid_request, "no object in it; want lines VID,FID SIZE SHA256"};
  return objects;
}

Result<std::vector<LoadObject>> read_objects(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error("--objects '" + path + "'", errno);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return system_error("--objects '" + path + "'", EIO);
  auto objects = parse_objects(text);
  if (!objects) return objects.error().in("--objects '" + path + "'");
  return objects;
}

std::string hex_of(const Sha256::Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace rde::tools
