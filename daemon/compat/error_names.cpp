#include "compat/error_names.h"

#include <algorithm>
#include <iterator>

namespace rde::compat {
namespace {

struct Name {
  Status status;
  std::string_view code;
};

// Where the category alone does not tell.
constexpr Name kByStatus[] = {
    {Status::object_not_found, "InvalidRequest"},  // asking again does not help
    {Status::session_not_found, "SessionNotFound"},      {Status::stale_handle, "SessionNotFound"},
    {Status::session_expired, "SessionExpired"},         {Status::too_many_sessions, "TooManySessions"},
    {Status::insufficient_buffer, "InsufficientBuffer"}, {Status::out_of_buffers, "InsufficientBuffer"},
    {Status::device_not_found, "DeviceNotFound"},        {Status::context_init_failed, "ContextInitFailed"},
    {Status::out_of_memory, "ResourceExhausted"},
};

struct Category {
  std::string_view category;
  std::string_view code;
};

constexpr Category kByCategory[] = {
    {"hardware", "UnsupportedHardware"},
    {"resource", "MemoryRegFailed"},
    {"rdma", "OperationFailed"},
    {"session", "SessionNotFound"},
    {"ipc", "IpcError"},
    {"request", "InvalidRequest"},
    {"capacity", "ResourceExhausted"},
    {"security", "PermissionDenied"},
    {"network", "NetworkTimeout"},
    {"io", "Io"},
    {"internal", "Internal"},
};

// The category that goes with each code; the older protocol has one for each.
constexpr Category kOfCode[] = {
    {"hardware", "DeviceNotFound"},   {"hardware", "ContextInitFailed"},  {"hardware", "UnsupportedHardware"},
    {"resource", "MemoryRegFailed"},  {"rdma", "OperationFailed"},        {"session", "SessionNotFound"},
    {"session", "SessionExpired"},    {"session", "TooManySessions"},     {"ipc", "IpcError"},
    {"request", "InvalidRequest"},    {"capacity", "InsufficientBuffer"}, {"capacity", "ResourceExhausted"},
    {"security", "PermissionDenied"}, {"network", "NetworkTimeout"},      {"io", "Io"},
    {"internal", "Internal"},
};

std::string_view code_of(Status status) {
  const auto* const named = std::ranges::find(kByStatus, status, &Name::status);
  if (named != std::end(kByStatus)) return named->code;
  const auto* const category = std::ranges::find(kByCategory, category_of(status), &Category::category);
  return category != std::end(kByCategory) ? category->code : "Internal";
}

}  // namespace

ErrorReply error_reply(Status status, std::string_view text) {
  const auto code = code_of(status);
  const auto* const known = std::ranges::find(kOfCode, code, &Category::code);
  return {std::string(code),
          std::string(name_of(status)) + ": " + std::string(text.empty() ? meaning_of(status) : text),
          std::string(known->category)};
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E; }, '?');
  return text.size() > most ? shown + "…" : shown;
}

}  // namespace rde::compat
