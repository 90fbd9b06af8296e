// What a status is called in the older protocol.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "compat/messages.h"

namespace rde::compat {

// The message is "status: text", or the meaning of the status where there is no text.
ErrorReply error_reply(Status status, std::string_view text = {});

// Text of a stranger, cut and without control characters, for messages and logs.
std::string printable(std::string_view text, std::size_t most);

}  // namespace rde::compat
