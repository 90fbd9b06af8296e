#include "attach/client.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "attach/hello.h"
#include "base/atomic.h"
#include "prim/memory.h"
#include "prim/socket.h"
#include "segment/plan.h"

namespace rde {
namespace {

constexpr std::size_t kLargestMessage = 512;
constexpr std::size_t kMostListed = 65'536;
constexpr Nanoseconds kLongestWait = 24 * 3600 * kSecond;
constexpr Nanoseconds kAskTime = 10 * kSecond;  // of lists and monitors

struct Message {
  std::array<std::byte, kLargestMessage> buffer{};
  std::size_t size = 0;
  std::vector<Descriptor> descriptors;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {buffer.data(), size}; }
};

Error engine_error(std::string text) { return {Status::engine_broken, "attach: " + std::move(text)}; }

struct Dialled {
  Descriptor socket;
  Nanoseconds deadline = 0;
};

// Connects and sends the hello.
Result<Dialled> dial(const std::string& path, const rde_attach_hello& hello, Nanoseconds timeout) {
  timeout = std::clamp<Nanoseconds>(timeout, 1, kLongestWait);
  const Nanoseconds deadline = now_ns() + timeout;
  auto socket = prim::connect_seqpacket(path, timeout);
  if (!socket) return socket.error();
  if (auto sent = prim::send(socket->get(), bytes_of(hello)); !sent) return sent.error();
  return Dialled{std::move(*socket), deadline};
}

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

// Waits for ATTACHED, then copies and checks the header.
Result<rde_segment_header> wait_ready(int socket, int file, const Mapping& mapping, Nanoseconds deadline) {
  auto answer = next_message(socket, deadline);
  if (!answer) return answer.error();
  rde_attach_signal attached{};
  if (type_of(answer->bytes()) != RDE_ATTACH_TYPE_ATTACHED || !copy_message(answer->bytes(), attached)) {
    return engine_error("expected ATTACHED");
  }
  if (auto sealed = prim::check_seals(file, true); !sealed) return sealed.error();
  const auto* shared = reinterpret_cast<const rde_segment_header*>(mapping.bytes().data());
  load_acquire(&shared->ready);  // SYNC POINT ready: pairs with Segment::publish
  rde_segment_header header;
  std::memcpy(&header, shared, sizeof header);
  if (auto checked = check_header(header, mapping.bytes().size()); !checked) return checked.error();
  return header;
}

}  // namespace

Result<Attachment> attach(const AttachOptions& options) {
  auto hello = make_hello(RDE_ROLE_CLIENT, options.name);
  hello.segment_size = options.segment_size;
  hello.channels = options.channels;
  hello.depth = options.depth;
  auto dialled = dial(options.socket, hello, options.timeout);
  if (!dialled) return dialled.error();
  const int socket = dialled->socket.get();

  auto answer = next_message(socket, dialled->deadline);
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
  const int file = answer->descriptors[0].get();
  if (auto sealed = prim::check_seals(file, false); !sealed) return sealed.error();
  auto mapping = Mapping::map(file, Mapping::Access::read_write);
  if (!mapping) return mapping.error();
  if (mapping->bytes().size() != welcome.total_size || welcome.total_size < RDE_MIN_SEGMENT) {
    return engine_error("the segment has " + std::to_string(mapping->bytes().size()) + " bytes, WELCOME says " +
                        std::to_string(welcome.total_size));
  }
  const auto mapped = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_MAPPED);
  if (auto sent = prim::send(socket, bytes_of(mapped)); !sent) return sent.error();
  auto header = wait_ready(socket, file, *mapping, dialled->deadline);
  if (!header) return header.error();
  if (answer->descriptors.size() != 2 + std::size_t{header->shard_count})
    return engine_error("not one doorbell for each shard");

  SegmentView view(mapping->bytes(), *header);
  Attachment attachment{.socket = std::move(dialled->socket),
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
  auto dialled = dial(path, make_hello(RDE_ROLE_LIST, "list"), kAskTime);
  if (!dialled) return dialled.error();
  std::vector<AttachedClient> clients;
  while (clients.size() < kMostListed) {
    auto message = next_message(dialled->socket.get(), dialled->deadline);
    if (!message) return message.error();
    const auto type = type_of(message->bytes());
    if (type == RDE_ATTACH_TYPE_LIST_END) return clients;
    rde_attach_client info{};
    if (type != RDE_ATTACH_TYPE_CLIENT_INFO || !copy_message(message->bytes(), info))
      return engine_error("expected CLIENT_INFO");
    clients.push_back({info.client_number, info.total_size, info.pid, info.uid, info.channels, info.depth,
                       info.attached_ns, get_text(info.name)});
  }
  return engine_error("the list of clients has no end");
}

Result<Descriptor> monitor_client(const std::string& path, std::uint64_t client_number) {
  auto hello = make_hello(RDE_ROLE_MONITOR, "monitor");
  hello.target = client_number;
  auto dialled = dial(path, hello, kAskTime);
  if (!dialled) return dialled.error();
  auto answer = next_message(dialled->socket.get(), dialled->deadline);
  if (!answer) return answer.error();
  if (type_of(answer->bytes()) != RDE_ATTACH_TYPE_WELCOME || answer->descriptors.size() != 1)
    return engine_error("expected WELCOME");
  return std::move(answer->descriptors[0]);
}

}  // namespace rde
