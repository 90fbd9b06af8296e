// A session's name in the older protocol: a text in the form of a UUID, of the engine's epoch and the session's handle.
// So the session of an engine that has gone is never taken for one of its successor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/handle.h"

namespace rde::compat {

std::string session_id(std::uint64_t epoch, Handle session);
// A null handle where the text is no name of this engine's.
Handle parse_session_id(std::uint64_t epoch, std::string_view text);

}  // namespace rde::compat
