// Where object bytes come from: a volume of this engine, or a peer. Both take the same job.
#pragma once

#include <cstdint>
#include <span>

#include "object/job.h"

namespace rde {

struct ObjectId {
  std::uint32_t volume = 0;
  std::uint64_t needle = 0;
  std::uint32_t cookie = 0;
};

// One read or stat. `destination` is its memory.
class ObjectJob : public Job {
 public:
  enum class Kind : std::uint8_t { read, stat };

  // Request. A read asks for `destination.size()` stored bytes from `offset`; it may get fewer where
  // the object ends. A stat writes rde_object_stat, mime and name.
  Kind kind = Kind::read;
  bool skip_crc = false;
  ObjectId id;
  std::uint64_t offset = 0;
  std::span<std::byte> destination;

  // Answer, valid in on_done.
  std::uint16_t flags = 0;  // RDE_COMPLETION_FLAG_GZIP, _MANIFEST, _END, _UNVERIFIED, _LOCAL
  std::uint32_t bytes = 0;  // written to destination
  std::uint32_t crc = 0;    // CRC32C of those bytes; 0 with skip_crc
  std::uint32_t etag = 0;   // CRC32C of the whole stored object, from its record
  std::uint64_t object_size = 0;

 protected:
  ~ObjectJob() = default;
};

class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  virtual void submit(ObjectJob& job) = 0;
  // Asks to end the job early (status cancelled); on_done still comes once, when the bytes are safe.
  virtual void cancel(ObjectJob& job) = 0;
};

}  // namespace rde
