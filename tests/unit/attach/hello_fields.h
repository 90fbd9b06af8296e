// The fields of a hello, and which values of them an engine takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attach/hello.h"

namespace rde::test {

struct HelloField {
  std::string name;
  std::size_t offset;
  std::size_t size;
};

inline std::vector<HelloField> hello_fields() {
#define RDE_FIELD(field) \
  HelloField { #field, offsetof(rde_attach_hello, field), sizeof(rde_attach_hello::field) }
  return {RDE_FIELD(magic),
          RDE_FIELD(type),
          RDE_FIELD(size),
          RDE_FIELD(endian_mark),
          RDE_FIELD(abi_major),
          RDE_FIELD(abi_minor),
          RDE_FIELD(layout_hash),
          RDE_FIELD(header_size),
          RDE_FIELD(request_size),
          RDE_FIELD(completion_size),
          RDE_FIELD(page_size),
          RDE_FIELD(required_features),
          RDE_FIELD(optional_features),
          RDE_FIELD(segment_size),
          RDE_FIELD(channels),
          RDE_FIELD(depth),
          RDE_FIELD(role),
          RDE_FIELD(reserved0),
          RDE_FIELD(target),
          RDE_FIELD(reserved1)};
#undef RDE_FIELD
}

inline rde_attach_hello good_hello() {
  auto hello = make_hello(RDE_ROLE_CLIENT, "test");
  hello.segment_size = RDE_MIN_SEGMENT;
  hello.channels = RDE_MAX_CHANNELS;
  hello.depth = RDE_MIN_DEPTH;
  return hello;
}

inline std::uint64_t get_field(const rde_attach_hello& hello, const HelloField& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(&hello) + field.offset, field.size);
  return value;
}

inline void set_field(rde_attach_hello& hello, const HelloField& field, std::uint64_t value) {
  std::memcpy(reinterpret_cast<char*>(&hello) + field.offset, &value, field.size);
}

inline std::vector<std::uint64_t> values_around(std::uint64_t value) {
  return {value - 1, value + 1, 0, ~std::uint64_t{0}};
}

// What a hello may say beside the values of good_hello().
inline bool is_taken(const HelloField& field, std::uint64_t value) {
  const auto& name = field.name;
  if (name == "abi_minor" || name == "optional_features" || name == "target") return true;
  if (name == "channels") return value <= RDE_MAX_CHANNELS;  // 0: the engine's default
  if (name == "depth") return value == 0;
  if (name == "segment_size") return value == 0 || value >= RDE_MIN_SEGMENT;  // the plan knows the upper bound
  if (name == "role") return value >= RDE_ROLE_CLIENT && value <= RDE_ROLE_LIST;
  return false;
}

}  // namespace rde::test
