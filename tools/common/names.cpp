#include "common/names.h"

#include <cstdio>
#include <span>
#include <string_view>

#include "base/status.h"
#include "rde_layout.h"

namespace rde::tools {
namespace {

struct Name {
  std::uint32_t value;
  std::string_view text;
};

constexpr Name kOps[] = {
    {RDE_OP_NOP, "NOP"},
    {RDE_OP_PING, "PING"},
    {RDE_OP_CAPABILITIES, "CAPABILITIES"},
    {RDE_OP_CONNECT, "CONNECT"},
    {RDE_OP_DISCONNECT, "DISCONNECT"},
    {RDE_OP_OBJECT_STAT, "OBJECT_STAT"},
    {RDE_OP_OBJECT_READ, "OBJECT_READ"},
    {RDE_OP_CANCEL, "CANCEL"},
    {RDE_OP_SESSION_OPEN, "SESSION_OPEN"},
    {RDE_OP_SESSION_CLOSE, "SESSION_CLOSE"},
    {RDE_OP_REGION_EXPOSE, "REGION_EXPOSE"},
    {RDE_OP_REGION_REVOKE, "REGION_REVOKE"},
    {RDE_OP_REGION_OPEN, "REGION_OPEN"},
    {RDE_OP_REGION_CLOSE, "REGION_CLOSE"},
    {RDE_OP_REGION_READ, "REGION_READ"},
    {RDE_OP_REGION_WRITE, "REGION_WRITE"},
    {RDE_OP_FETCH_ADD, "FETCH_ADD"},
    {RDE_OP_COMPARE_SWAP, "COMPARE_SWAP"},
    {RDE_OP_FLUSH, "FLUSH"},
};
constexpr Name kEngineStates[] = {
    {0, "starting"}, {RDE_ENGINE_STATE_SERVING, "serving"}, {RDE_ENGINE_STATE_DRAINING, "draining"}};
constexpr Name kChannelStates[] = {
    {0, "unused"}, {RDE_CHANNEL_STATE_OPEN, "open"}, {RDE_CHANNEL_STATE_FAULTED, "faulted"}};
constexpr Name kCounterTypes[] = {{RDE_COUNTER_TYPE_COUNT, "count"}, {RDE_COUNTER_TYPE_GAUGE, "gauge"}};
constexpr Name kEvents[] = {{RDE_EVENT_REQUEST, "REQUEST"},
                            {RDE_EVENT_COMPLETION, "COMPLETION"},
                            {RDE_EVENT_FAULT, "FAULT"},
                            {RDE_EVENT_PEER_UP, "PEER_UP"},
                            {RDE_EVENT_PEER_DOWN, "PEER_DOWN"}};
constexpr Name kPriorities[] = {{RDE_PRIORITY_NORMAL, "normal"}, {RDE_PRIORITY_BULK, "bulk"}};
constexpr Name kRequestFlags[] = {{RDE_REQUEST_FLAG_SKIP_CRC, "SKIP_CRC"}, {RDE_REQUEST_FLAG_IN_SESSION, "IN_SESSION"}};
constexpr Name kCompletionFlags[] = {
    {RDE_COMPLETION_FLAG_MORE, "MORE"},   {RDE_COMPLETION_FLAG_BUFFER_FREE, "BUFFER_FREE"},
    {RDE_COMPLETION_FLAG_GZIP, "GZIP"},   {RDE_COMPLETION_FLAG_MANIFEST, "MANIFEST"},
    {RDE_COMPLETION_FLAG_END, "END"},     {RDE_COMPLETION_FLAG_UNVERIFIED, "UNVERIFIED"},
    {RDE_COMPLETION_FLAG_LOCAL, "LOCAL"},
};

std::string name_in(std::span<const Name> names, std::uint32_t value, const char* kind) {
  for (const auto& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return kind + std::to_string(value);
}

std::vector<std::string> bits_in(std::span<const Name> names, std::uint32_t bits) {
  std::vector<std::string> found;
  for (const auto& name : names) {
    if ((bits & name.value) != 0) found.emplace_back(name.text);
    bits &= ~name.value;
  }
  if (bits != 0) found.push_back(hex(bits));
  return found;
}

}  // namespace

std::string op_name(std::uint32_t op) { return name_in(kOps, op, "op "); }
std::string engine_state_name(std::uint32_t state) { return name_in(kEngineStates, state, "state "); }
std::string channel_state_name(std::uint32_t state) { return name_in(kChannelStates, state, "state "); }
std::string counter_type_name(std::uint32_t type) { return name_in(kCounterTypes, type, "type "); }
std::string event_name(std::uint32_t type) { return name_in(kEvents, type, "event "); }
std::string priority_name(std::uint32_t priority) { return name_in(kPriorities, priority, "priority "); }
std::vector<std::string> request_flag_names(std::uint32_t flags) { return bits_in(kRequestFlags, flags); }
std::vector<std::string> completion_flag_names(std::uint32_t flags) { return bits_in(kCompletionFlags, flags); }

std::string status_name(std::uint32_t status) {
  if (status > 0xFFFF || !is_known(static_cast<std::uint16_t>(status))) return "status " + std::to_string(status);
  return std::string(name_of(Status{static_cast<std::uint16_t>(status)}));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : "|") + name;
  return text.empty() ? "-" : text;
}

std::string hex(std::uint64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

}  // namespace rde::tools
