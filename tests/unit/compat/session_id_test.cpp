#include "compat/session_id.h"

#include <doctest/doctest.h>

using namespace rde;
using namespace rde::compat;

TEST_CASE("a session's name has the form of a UUID, and leads back to the session") {
  constexpr std::uint64_t kEpoch = 0x0123456789ABCDEF;
  const Handle session{0xFEDCBA98, 0x76543210};
  const auto text = session_id(kEpoch, session);
  CHECK(text == "01234567-89ab-cdef-7654-3210fedcba98");
  CHECK(parse_session_id(kEpoch, text) == session);
}

TEST_CASE("a name of another life of the engine, or of no form, names nothing") {
  const auto text = session_id(5, {1, 1});
  CHECK(parse_session_id(6, text).is_null());
  CHECK(parse_session_id(5, "").is_null());
  CHECK(parse_session_id(5, text.substr(1)).is_null());
  CHECK(parse_session_id(5, text + "0").is_null());
  CHECK(parse_session_id(5, "s").is_null());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char wrong : {'-', '+', ' ', 'g', 'A', '\0'}) {
      auto other = text;
      if (other[at] == wrong) continue;
      other[at] = wrong;
      CHECK(parse_session_id(5, other).is_null());
    }
  }
}
