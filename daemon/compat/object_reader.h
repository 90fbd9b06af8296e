// Reads objects for the older socket the way every client does: over rings of its own, through the engine's shards. The
// bytes are checksummed slice by slice and stay in this process, since that protocol has no way to hand them over.
//
//   ObjectReader reader(config.socket);
//   reader.read(7, {.id = id, .deadline = now + 30 * kSecond}, [](const ReadAnswer& answer) { … });
//   const bool blocks = reader.prepare_sleep();        // then wait for descriptors(), unless there is news
//   reader.end_sleep();
//   reader.progress();
//
// One thread. read() only notes what to read; progress() begins it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "attach/client.h"
#include "client/arena.h"
#include "client/channel.h"
#include "object/object_source.h"
#include "ring/doorbell.h"

namespace rde::compat {

struct ReadRequest {
  ObjectId id;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // 0 = to the end
  Nanoseconds deadline = 0;
};

struct ReadAnswer {
  Status status = Status::ok;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

class ObjectReader {
 public:
  // Called from progress(), once for each read that is not forgotten.
  using Done = std::function<void(const ReadAnswer&)>;

  explicit ObjectReader(std::string attach_socket) : socket_(std::move(attach_socket)) {}

  // Waits for its turn where many are under way; a long one then lets others go on in between.
  void read(std::uint64_t reader, const ReadRequest& request, Done done);
  // Nobody waits for the reads of this reader any more.
  void forget(std::uint64_t reader);
  void progress();

  // Attaches with the first read. The rings' news, and the engine's end; -1 while not attached.
  [[nodiscard]] std::array<int, 2> descriptors() const;
  // From here on news ring a descriptor; false when there are some already.
  bool prepare_sleep();
  void end_sleep();

 private:
  struct Task {
    std::uint64_t reader = 0;
    ReadRequest request;
    Done done;
    std::uint32_t page = 0;
    std::uint64_t position = 0;  // of the next slice
    std::uint64_t object_size = 0;
    std::uint32_t crc = 0;
    std::uint32_t slices = 0;
    bool unverified = false;
    bool asks_stat = false;
    bool answered = false;
  };
  // All that goes with one attachment.
  struct Link {
    explicit Link(Attachment given);
    Attachment attachment;
    Channel channel;
    ArenaAllocator arena;
    Sleeper sleeper;
    bool sleeping = false;
  };

  bool attached();
  void start_waiting();
  void drop_link();
  bool submit(std::uint32_t slot, std::uint8_t op, std::uint64_t offset, std::uint32_t length);
  void submit_slice(std::uint32_t slot);
  void next_slice(std::uint32_t slot);
  void take(const Reaped& reaped);
  void take_slice(std::uint32_t slot, const Reaped& reaped);
  void take_stat(std::uint32_t slot, const Reaped& reaped);
  void answer(Task& task, Status status);
  void free(std::uint32_t slot);

  static constexpr std::uint32_t kSlots = 16;  // reads under way at once

  std::string socket_;
  std::unique_ptr<Link> link_;
  Nanoseconds next_attempt_ = 0;
  std::deque<Task> waiting_;
  std::array<std::optional<Task>, kSlots> tasks_;
};

}  // namespace rde::compat
