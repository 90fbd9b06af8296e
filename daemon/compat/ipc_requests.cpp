// What each message of the older protocol asks for.
#include <ctime>

#include "compat/error_names.h"
#include "compat/ipc_door.h"
#include "compat/session_id.h"
#include "version.h"

namespace rde::compat {
namespace {

constexpr std::uint64_t kLargestObject = 0xFFFF'FFFF;  // bytes; an index entry has 32 bits for it
constexpr std::size_t kLongestShown = 60;

std::uint64_t wall_clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

Reply pong(const Ping& message) {
  const std::uint64_t now = wall_clock_ns();
  const std::uint64_t sent = message.timestamp_ns;
  return Pong{.client_timestamp_ns = sent, .server_timestamp_ns = now, .server_rtt_ns = now > sent ? now - sent : 0};
}

std::string object_name(const StartRead& message) {
  return "volume_id = " + std::to_string(message.volume_id) + ", needle_id = " + std::to_string(message.needle_id) +
         ": ";
}

}  // namespace

std::optional<Reply> IpcDoor::handle(std::uint64_t number, const Request& request) {
  if (const auto* wrong = std::get_if<ErrorReply>(&request)) return *wrong;
  if (const auto* ping = std::get_if<Ping>(&request)) return pong(*ping);
  if (std::holds_alternative<GetCapabilities>(request)) return capabilities();
  if (const auto* message = std::get_if<StartRead>(&request)) return start_read(number, *message);
  return complete_read(connections_.at(number)->owner, std::get<CompleteRead>(request));
}

Reply IpcDoor::capabilities() const {
  return GetCapabilitiesResponse{.device_name = parts_.device,
                                 .vendor_id = 0,
                                 .max_transfer_size = kLargestObject,
                                 .max_sessions = parts_.sessions->most(),
                                 .active_sessions = parts_.sessions->live(),
                                 .port_gid = "",
                                 .port_lid = 0,
                                 .supported_auth = {"none"},
                                 .version = kVersion,
                                 .real_rdma = false};  // this door writes to no memory of its clients
}

std::optional<Reply> IpcDoor::start_read(std::uint64_t number, const StartRead& message) {
  constexpr std::uint64_t kLongestSeconds = kLongestSession / kSecond;
  if (message.timeout_secs > kLongestSeconds) {
    return error_reply(Status::invalid_request, "timeout_secs = " + std::to_string(message.timeout_secs) +
                                                    ": want 0 (the default) to " + std::to_string(kLongestSeconds));
  }
  if (message.size > kLargestObject) {
    return error_reply(Status::transfer_too_large, "size = " + std::to_string(message.size) + ": want 0 (all) to " +
                                                       std::to_string(kLargestObject));
  }
  IpcConnection& connection = *connections_.at(number);
  const Nanoseconds now = now_ns();
  const auto opened = parts_.sessions->open(connection.owner, message.timeout_secs * kSecond, 0, now);
  if (opened.status == Status::too_many_sessions) {
    return error_reply(opened.status, std::to_string(parts_.sessions->live()) + " of " +
                                          std::to_string(parts_.sessions->most()) +
                                          " sessions are open; complete some, or raise --max-sessions");
  }
  if (opened.status != Status::ok) return error_reply(opened.status);
  connection.busy = true;
  const ReadRequest request{.id = {message.volume_id, message.needle_id, message.cookie},
                            .offset = message.offset,
                            .size = message.size,
                            .deadline = now + config_.default_deadline};
  reader_.read(number, request, [this, number, message, opened, owner = connection.owner](const ReadAnswer& read) {
    Reply reply = finish_read(opened, owner, read);
    if (auto* wrong = std::get_if<ErrorReply>(&reply)) wrong->message = object_name(message) + wrong->message;
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;  // it has gone, and its sessions with it
    found->second->busy = false;
    answer(number, reply);
    backlog_.push_back(number);
  });
  return std::nullopt;
}

Reply IpcDoor::finish_read(const SessionTable::Opened& opened, const SessionOwner& owner, const ReadAnswer& answer) {
  const Nanoseconds now = now_ns();
  if (answer.status != Status::ok) {
    (void)parts_.sessions->close(opened.session, owner, {.success = false}, now);
    return error_reply(answer.status);
  }
  parts_.sessions->delivered(opened.session, answer.bytes, answer.crc, true);
  const std::uint64_t wall = wall_clock_ns();
  // There is no memory that the client could fetch the bytes from, so none is named.
  return StartReadResponse{.session_id = session_id(parts_.epoch, opened.session),
                           .local_addr = 0,
                           .local_key = 0,
                           .transfer_size = answer.bytes,
                           .expected_crc = answer.crc,
                           .expires_at_ns = opened.expires > now ? wall + (opened.expires - now) : wall};
}

Reply IpcDoor::complete_read(const SessionOwner& owner, const CompleteRead& message) {
  const auto named = [&] { return "session_id = '" + printable(message.session_id, kLongestShown) + "': "; };
  const Handle session = parse_session_id(parts_.epoch, message.session_id);
  const auto closed = parts_.sessions->close(
      session, owner, {.success = message.success, .bytes = message.bytes_transferred, .crc = message.client_crc},
      now_ns());
  if (closed.status == Status::stale_handle) return error_reply(closed.status, named() + "it has been completed");
  if (closed.status != Status::ok && closed.status != Status::crc_mismatch)
    return error_reply(closed.status, named() + std::string(meaning_of(closed.status)));
  CompleteReadResponse reply{
      .success = message.success && closed.status == Status::ok, .server_crc = std::nullopt, .message = std::nullopt};
  if (closed.crc_known) reply.server_crc = closed.crc;
  if (closed.status == Status::crc_mismatch) {
    reply.message = "client_crc = " + std::to_string(*message.client_crc) + ": the bytes sent have " +
                    std::to_string(closed.crc) + "; read them again";
  } else if (!message.success) {
    reply.message = "the client gave the transfer up: " +
                    printable(message.error_message.value_or("no reason named"), kLongestShown);
  }
  return reply;
}

}  // namespace rde::compat
