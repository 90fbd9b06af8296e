#include "attach/client.h"

#include <array>
#include <cstring>

#include "attach/hello.h"
#include "base/atomic.h"
#include "prim/socket.h"
#include "segment/plan.h"

namespace rde {
namespace {

constexpr std::size_t kLargestMessage = 512;

struct Message {
  std::array<std::byte, kLargestMessage> buffer{};
  std::size_t size = 0;
  std::vector<Descriptor> descriptors;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {buffer.data(), size}; }
};

Error engine_error(std::string text) { return {Status::engine_broken, "attach: " + std::move(text)}; }

// The next message of the engine; a refusal comes back as its reason.
Result<Message> next_message(int socket, Nanoseconds deadline) {
  const Nanoseconds now = now_ns();
  const auto left = static_cast<int>(deadline > now ? (deadline - now) / kMillisecond + 1 : 0);
  const auto readable = prim::wait_readable(socket, left);
  if (!readable) return readable.error();
  if (!*readable)
    return Error{Status::segment_not_ready, "attach: the engine did not answer in time; is it overloaded or stopped?"};
  Message message;
  auto received = prim::receive(socket, message.buffer);
  if (!received) return received.error();
  if (received->bytes == 0) return Error{Status::engine_gone, "attach: the engine closed the socket"};
  if (received->truncated) return engine_error("a message is longer than any this client knows");
  message.size = received->bytes;
  message.descriptors = std::move(received->descriptors);
  if (type_of(message.bytes()) == RDE_ATTACH_TYPE_REFUSED) {
    rde_attach_refused refused{};
    if (!copy_message(message.bytes(), refused)) return engine_error("a refusal of another size");
    const auto status = is_known(refused.status) ? Status{refused.status} : Status::attach_refused;
    return Error{status, "attach refused: " + get_text(refused.field) + ": " + get_text(refused.text) +
                             " (engine ABI " + std::to_string(refused.abi_major) + "." +
                             std::to_string(refused.abi_minor) + ", this client " + std::to_string(RDE_ABI_MAJOR) +
                             "." + std::to_string(RDE_ABI_MINOR) + ")"};
  }
  return message;
}

Result<void> send_hello(int socket, const rde_attach_hello& hello) { return prim::send(socket, bytes_of(hello)); }

// Waits for ATTACHED, then copies and checks the header.
Result<rde_segment_header> wait_ready(int socket, const Mapping& mapping, Nanoseconds deadline) {
  auto answer = next_message(socket, deadline);
  if (!answer) return answer.error();
  if (type_of(answer->bytes()) != RDE_ATTACH_TYPE_ATTACHED) return engine_error("expected ATTACHED");
  const auto* shared = reinterpret_cast<const rde_segment_header*>(mapping.bytes().data());
  load_acquire(&shared->ready);  // SYNC POINT ready: pairs with Segment::publish
  rde_segment_header header;
  std::memcpy(&header, shared, sizeof header);
  if (auto checked = check_header(header, mapping.bytes().size()); !checked) return checked.error();
  return header;
}

}  // namespace

Result<Attachment> attach(const AttachOptions& options) {
  const Nanoseconds deadline = now_ns() + options.timeout;
  auto socket = prim::connect_seqpacket(options.socket);
  if (!socket) return socket.error();
  auto hello = make_hello(RDE_ROLE_CLIENT, options.name);
  hello.segment_size = options.segment_size;
  hello.channels = options.channels;
  hello.depth = options.depth;
  if (auto sent = send_hello(socket->get(), hello); !sent) return sent.error();

  auto answer = next_message(socket->get(), deadline);
  if (!answer) return answer.error();
  rde_attach_welcome welcome{};
  if (type_of(answer->bytes()) != RDE_ATTACH_TYPE_WELCOME || !copy_message(answer->bytes(), welcome)) {
    return engine_error("expected WELCOME");
  }
  if (welcome.layout_hash != RDE_LAYOUT_HASH) return engine_error("the engine welcomed us with another layout hash");
  if (answer->descriptors.size() < 3 || answer->descriptors.size() != welcome.descriptors) {
    return engine_error("WELCOME came with " + std::to_string(answer->descriptors.size()) + " descriptors and says " +
                        std::to_string(welcome.descriptors));
  }
  auto mapping = Mapping::map(answer->descriptors[0].get(), Mapping::Access::read_write);
  if (!mapping) return mapping.error();
  if (mapping->bytes().size() != welcome.total_size || welcome.total_size < RDE_MIN_SEGMENT) {
    return engine_error("the segment has " + std::to_string(mapping->bytes().size()) + " bytes, WELCOME says " +
                        std::to_string(welcome.total_size));
  }
  const auto mapped = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_MAPPED);
  if (auto sent = prim::send(socket->get(), bytes_of(mapped)); !sent) return sent.error();
  auto header = wait_ready(socket->get(), *mapping, deadline);
  if (!header) return header.error();
  if (answer->descriptors.size() != 2 + std::size_t{header->shard_count})
    return engine_error("not one doorbell for each shard");

  SegmentView view(mapping->bytes(), *header);
  Attachment attachment{.socket = std::move(*socket),
                        .wake = std::move(answer->descriptors[1]),
                        .doorbells = {},
                        .mapping = std::move(*mapping),
                        .view = view,
                        .client_number = welcome.client_number,
                        .engine_version = get_text(welcome.version)};
  for (std::size_t i = 2; i < answer->descriptors.size(); ++i)
    attachment.doorbells.push_back(std::move(answer->descriptors[i]));
  return attachment;
}

Result<std::vector<AttachedClient>> list_clients(const std::string& path) {
  const Nanoseconds deadline = now_ns() + 10 * kSecond;
  auto socket = prim::connect_seqpacket(path);
  if (!socket) return socket.error();
  if (auto sent = send_hello(socket->get(), make_hello(RDE_ROLE_LIST, "list")); !sent) return sent.error();
  std::vector<AttachedClient> clients;
  for (;;) {
    auto message = next_message(socket->get(), deadline);
    if (!message) return message.error();
    const auto type = type_of(message->bytes());
    if (type == RDE_ATTACH_TYPE_LIST_END) return clients;
    rde_attach_client info{};
    if (type != RDE_ATTACH_TYPE_CLIENT_INFO || !copy_message(message->bytes(), info))
      return engine_error("expected CLIENT_INFO");
    clients.push_back({info.client_number, info.total_size, info.pid, info.uid, info.channels, info.depth,
                       info.attached_ns, get_text(info.name)});
  }
}

Result<Descriptor> monitor_client(const std::string& path, std::uint64_t client_number) {
  auto socket = prim::connect_seqpacket(path);
  if (!socket) return socket.error();
  auto hello = make_hello(RDE_ROLE_MONITOR, "monitor");
  hello.target = client_number;
  if (auto sent = send_hello(socket->get(), hello); !sent) return sent.error();
  auto answer = next_message(socket->get(), now_ns() + 10 * kSecond);
  if (!answer) return answer.error();
  if (type_of(answer->bytes()) != RDE_ATTACH_TYPE_WELCOME || answer->descriptors.size() != 1)
    return engine_error("expected WELCOME");
  return std::move(answer->descriptors[0]);
}

}  // namespace rde
