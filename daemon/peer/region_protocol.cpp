#include "peer/region_protocol.h"

#include "peer/protocol_check.h"

namespace rde::wire {

Result<RegionReadMessage> parse_region_read(std::span<const std::byte> message) {
  Check check("region read");
  const auto read = take<RegionReadMessage>(message, check);
  check.between("length", read.length, 1, UINT32_MAX)
      .between("rest", read.rest, read.length, UINT64_MAX)
      .bits("flags", read.flags, kBulk)
      .equal("reserved", read.reserved, 0);
  return check.give(read);
}

Result<RegionWriteMessage> parse_region_write(std::span<const std::byte> message) {
  Check check("region write");
  const auto write = take<RegionWriteMessage>(message, check, true);
  check.between("length", write.length, 1, kRegionWriteBytes)
      .equal("size", message.size(), sizeof write + std::size_t{write.length})
      .between("rest", write.rest, write.length, UINT64_MAX)
      .equal("reserved", write.reserved, 0);
  return check.give(write);
}

Result<RegionWordMessage> parse_region_word(std::span<const std::byte> message) {
  Check check("region word");
  const auto word = take<RegionWordMessage>(message, check);
  check.between("kind", word.kind, kFetchAdd, kLook);
  if (word.kind != kCompareSwap) check.equal("compare", word.compare, 0);
  if (word.kind == kLook) check.equal("offset", word.offset, 0).equal("operand", word.operand, 0);
  return check.give(word);
}

Result<RegionDoneMessage> parse_region_done(std::span<const std::byte> message) {
  Check check("region done");
  const auto done = take<RegionDoneMessage>(message, check);
  check.between("status", done.status, 0, is_known(done.status) ? done.status : 0)
      .equal("reserved", done.reserved0 | done.reserved1, 0);
  if (done.status != 0) check.equal("value", done.value, 0);
  return check.give(done);
}

}  // namespace rde::wire
