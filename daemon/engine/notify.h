// Tells systemd how far the start has come, where systemd is the parent.
#pragma once

#include <string_view>

namespace rde {

// "READY=1", "STOPPING=1". Does nothing without NOTIFY_SOCKET.
void notify_service_manager(std::string_view state);

}  // namespace rde
