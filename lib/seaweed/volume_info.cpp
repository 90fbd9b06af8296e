#include "seaweed/volume_info.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace rde {
namespace {

using Json = nlohmann::json;

Error refuse(std::string_view field, std::string_view value, std::string_view why) {
  return {Status::volume_corrupt, "vif: " + std::string(field) + " is " + std::string(value.substr(0, 64)) + ", " +
                                      std::string(why) + "; restore the file from a replica"};
}

// Protocol buffers write 64-bit numbers as strings. Leaves `value` alone where the field is absent or null.
Result<void> read_number(const Json& object, const char* field, std::uint64_t& value) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return {};
  if (found->is_number_unsigned()) {
    value = found->get<std::uint64_t>();
    return {};
  }
  if (const auto* text = found->get_ptr<const std::string*>()) {
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    if (read.ec == std::errc{} && read.ptr == end) return {};
    return refuse(field, "'" + *text + "'", "not a number");
  }
  return refuse(field, found->type_name(), "not a number");
}

}  // namespace

Result<VolumeInfo> parse_volume_info(std::string_view text) {
  VolumeInfo info;
  if (text.empty()) return info;
  if (text.size() > kMaxVolumeInfo) return refuse("size", std::to_string(text.size()), "over 1048576 bytes");
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return refuse("content", "'" + std::string(text.substr(0, 32)) + "'", "not a JSON object");

  std::uint64_t version = 0;
  std::uint64_t offset_bytes = 0;
  for (const auto& [field, value] : {std::pair{"version", &version}, std::pair{"bytesOffset", &offset_bytes}}) {
    if (auto read = read_number(object, field, *value); !read) return read.error();
  }
  if (version > 3) return refuse("version", std::to_string(version), "not 1 to 3");
  info.version = static_cast<std::uint32_t>(version);
  if (offset_bytes != 0 && offset_bytes != 4 && offset_bytes != 5) {
    return refuse("bytesOffset", std::to_string(offset_bytes), "not 4 or 5");
  }
  if (offset_bytes == 5) info.offset_bytes = 5;

  const auto files = object.find("files");
  if (files != object.end() && !files->is_null()) {
    if (!files->is_array()) return refuse("files", files->type_name(), "not a list");
    info.is_remote = !files->empty();
  }
  return info;
}

}  // namespace rde
