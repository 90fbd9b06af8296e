#include "attach/hello.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hello_fields.h"

namespace rde::test {

TEST_CASE("a hello of this build is good") {
  const auto checked = check_hello(bytes_of(make_hello(RDE_ROLE_CLIENT, "me")));
  CHECK(checked.ok);
  CHECK(get_text(checked.hello.name) == "me");
}

TEST_CASE("every field of a hello that is one off, zero or all ones is refused by name, or taken on purpose") {
  for (const auto& field : hello_fields()) {
    const auto good = good_hello();
    for (const std::uint64_t value : values_around(get_field(good, field))) {
      auto hello = good;
      set_field(hello, field, value);
      if (get_field(hello, field) == get_field(good, field)) continue;
      CAPTURE(field.name);
      CAPTURE(value);
      const auto checked = check_hello(bytes_of(hello));
      CHECK(checked.ok == is_taken(field, get_field(hello, field)));
      if (checked.ok) continue;
      CHECK(checked.refusal.field == field.name);
      CHECK(checked.refusal.status != Status::ok);
      CHECK_FALSE(checked.refusal.text.empty());
    }
  }
}

TEST_CASE("a refused version names both sides") {
  auto hello = good_hello();
  hello.abi_major = 7;
  hello.abi_minor = 3;
  const auto checked = check_hello(bytes_of(hello));
  CHECK(checked.refusal.status == Status::version_mismatch);
  CHECK(checked.refusal.text.find("7.3") != std::string::npos);
  CHECK(checked.refusal.text.find("1.0") != std::string::npos);
}

TEST_CASE("a hello that is cut at any byte, or longer, is refused") {
  const auto hello = good_hello();
  std::vector<std::byte> message(600);
  std::memcpy(message.data(), &hello, sizeof hello);
  for (std::size_t size = 0; size < message.size(); ++size) {
    if (size == sizeof hello) continue;
    CAPTURE(size);
    // A copy of exactly this size, so that a sanitizer sees one byte read too many.
    const std::vector<std::byte> cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
    const auto checked = check_hello(cut);
    CHECK_FALSE(checked.ok);
    CHECK(checked.refusal.field == "size");
    CHECK(type_of(cut) == 0);
  }
}

TEST_CASE("a message has a type only when it is whole") {
  const auto signal = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_MAPPED);
  CHECK(type_of(bytes_of(signal)) == RDE_ATTACH_TYPE_MAPPED);
  auto other = signal;
  other.magic ^= 1;
  CHECK(type_of(bytes_of(other)) == 0);
  other = signal;
  other.size += 1;
  CHECK(type_of(bytes_of(other)) == 0);
}

TEST_CASE("a text that is too long for its field is cut and ends") {
  rde_attach_hello hello{};
  std::memset(hello.name, 'x', sizeof hello.name);
  put_text(hello.name, std::string(100, 'a'));
  CHECK(get_text(hello.name) == std::string(31, 'a'));
  put_text(hello.name, "short");
  CHECK(get_text(hello.name) == "short");
}

TEST_CASE("a text without an end is read to the end of its field") {
  std::uint8_t field[8];
  std::memset(field, 'x', sizeof field);
  CHECK(get_text(field) == "xxxxxxxx");
}

TEST_CASE("a text does not carry control characters to a terminal") {
  std::uint8_t field[16] = {'a', 0x1B, '[', '2', 'J', '\n', 0x7F, 'b'};
  CHECK(get_text(field) == "a[2Jb");
}

TEST_CASE("a refusal carries status, field, text and the engine's version") {
  const auto refused = make_refused({Status::permission_denied, "uid", std::string(1000, 't')});
  CHECK(refused.status == RDE_PERMISSION_DENIED);
  CHECK(refused.abi_major == RDE_ABI_MAJOR);
  CHECK(refused.layout_hash == RDE_LAYOUT_HASH);
  CHECK(get_text(refused.field) == "uid");
  CHECK(get_text(refused.text) == std::string(sizeof refused.text - 1, 't'));
}

}  // namespace rde::test
