#include <algorithm>
#include <limits>
#include <string_view>

#include "compat/error_names.h"
#include "compat/frame.h"
#include "compat/message_pack.h"
#include "compat/messages.h"

namespace rde::compat {
namespace {

// Nothing that these messages have comes near; a count that promises more must not cost memory.
constexpr std::size_t kMostEntries = 64;
constexpr std::size_t kDeepest = 8;
constexpr std::size_t kLongestShown = 60;

// Thrown inside of decode() alone, as msgpack-cxx throws.
struct Wrong {
  ErrorReply reply;
};

std::string shown(const msgpack::object& value) {
  switch (value.type) {
    case msgpack::type::NIL:
      return "nil";
    case msgpack::type::BOOLEAN:
      return value.via.boolean ? "true" : "false";
    case msgpack::type::POSITIVE_INTEGER:
      return std::to_string(value.via.u64);
    case msgpack::type::NEGATIVE_INTEGER:
      return std::to_string(value.via.i64);
    case msgpack::type::STR:
      return "'" + printable({value.via.str.ptr, value.via.str.size}, kLongestShown) + "'";
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return "a float";
    case msgpack::type::ARRAY:
      return "an array";
    case msgpack::type::MAP:
      return "a map";
    default:
      return "binary";
  }
}

[[noreturn]] void refuse(const std::string& text) { throw Wrong{{"InvalidRequest", text, "request"}}; }

[[noreturn]] void refuse(std::string_view name, const msgpack::object& value, const std::string& want) {
  refuse(std::string(name) + " = " + shown(value) + ": want " + want);
}

// A map's entry; null where it has none, or nil.
const msgpack::object* find(const msgpack::object& map, std::string_view name) {
  const std::span entries(map.via.map.ptr, map.via.map.size);
  const auto found = std::ranges::find_if(entries, [&](const msgpack::object_kv& entry) {
    return entry.key.type == msgpack::type::STR &&
           std::string_view(entry.key.via.str.ptr, entry.key.via.str.size) == name;
  });
  return found == entries.end() || found->val.is_nil() ? nullptr : &found->val;
}

const msgpack::object& need(const msgpack::object& map, std::string_view name) {
  const auto* value = find(map, name);
  if (value == nullptr) refuse(std::string(name) + ": missing; the message must have it");
  return *value;
}

template <class T>
T number(const msgpack::object& map, std::string_view name) {
  const auto& value = need(map, name);
  if (value.type != msgpack::type::POSITIVE_INTEGER || value.via.u64 > std::numeric_limits<T>::max())
    refuse(name, value, "an integer from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  return static_cast<T>(value.via.u64);
}

std::string text_of(std::string_view name, const msgpack::object& value) {
  if (value.type != msgpack::type::STR) refuse(name, value, "a string");
  return {value.via.str.ptr, value.via.str.size};
}

std::optional<std::string> optional_text(const msgpack::object& map, std::string_view name) {
  const auto* value = find(map, name);
  return value == nullptr ? std::nullopt : std::optional(text_of(name, *value));
}

StartRead start_read(const msgpack::object& data) {
  StartRead message{.volume_id = number<std::uint32_t>(data, "volume_id"),
                    .needle_id = number<std::uint64_t>(data, "needle_id"),
                    .cookie = number<std::uint32_t>(data, "cookie"),
                    .offset = number<std::uint64_t>(data, "offset"),
                    .size = number<std::uint64_t>(data, "size"),
                    .remote_addr = number<std::uint64_t>(data, "remote_addr"),
                    .remote_key = number<std::uint32_t>(data, "remote_key"),
                    .timeout_secs = number<std::uint64_t>(data, "timeout_secs")};
  (void)optional_text(data, "auth_token");
  return message;
}

CompleteRead complete_read(const msgpack::object& data) {
  CompleteRead message;
  message.session_id = text_of("session_id", need(data, "session_id"));
  const auto& success = need(data, "success");
  if (success.type != msgpack::type::BOOLEAN) refuse("success", success, "true or false");
  message.success = success.via.boolean;
  message.bytes_transferred = number<std::uint64_t>(data, "bytes_transferred");
  if (find(data, "client_crc") != nullptr) message.client_crc = number<std::uint32_t>(data, "client_crc");
  message.error_message = optional_text(data, "error_message");
  return message;
}

Request decode_message(const msgpack::object& message) {
  if (message.type != msgpack::type::MAP) refuse("message", message, "a map with type and data");
  const auto type = text_of("type", need(message, "type"));
  const auto& data = need(message, "data");
  if (data.type != msgpack::type::MAP) refuse("data", data, "a map");
  if (type == "Ping") {
    (void)optional_text(data, "client_id");
    return Ping{number<std::uint64_t>(data, "timestamp_ns")};
  }
  if (type == "GetCapabilities") {
    (void)optional_text(data, "client_id");
    return GetCapabilities{};
  }
  if (type == "StartRead") return start_read(data);
  if (type == "CompleteRead") return complete_read(data);
  refuse("type = '" + printable(type, kLongestShown) + "': want StartRead, CompleteRead, GetCapabilities or Ping");
}

ErrorReply not_message_pack(const std::string& why) {
  return {"SerializationError", "the frame is not one MessagePack value: " + why, "ipc"};
}

}  // namespace

Request decode(std::span<const std::byte> payload) {
  try {
    const msgpack::unpack_limit limit(kMostEntries, kMostEntries, kLargestFrame, kLargestFrame, kLargestFrame,
                                      kDeepest);
    std::size_t used = 0;
    const auto* bytes = reinterpret_cast<const char*>(payload.data());
    const auto handle = msgpack::unpack(bytes, payload.size(), used, nullptr, nullptr, limit);
    if (used != payload.size()) {
      return not_message_pack("it ends after " + std::to_string(used) + " of " + std::to_string(payload.size()) +
                              " bytes");
    }
    return decode_message(handle.get());
  } catch (const Wrong& wrong) {
    return wrong.reply;
  } catch (const std::exception& error) {
    return not_message_pack(error.what());
  }
}

}  // namespace rde::compat
