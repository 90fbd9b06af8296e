// Uses of this engine's regions by a peer. Writes and operations on words are carried out when their message is read,
// so that those of one link happen in their order.
#include "peer/responder.h"

namespace rde {

Result<void> ServeSession::take_region_read(std::span<const std::byte> message) {
  const auto read = wire::parse_region_read(message);
  if (!read) return read.error();
  if (auto checked = check_request(read->id); !checked) return checked;
  Serve& serve = add_serve(read->id, {read->landing_address, read->landing_key, read->length}, read->budget_ms);
  serve.kind = ObjectJob::Kind::read;
  serve.skip_crc = true;
  serve.bulk = (read->flags & wire::kBulk) != 0;
  serve.region = Serve::RegionPart{.token = read->token, .at = {read->offset, read->rest}};
  begin(serve, Status::ok);
  return {};
}

// What is delivered lies in staging memory by then: a revoke need not wait for the link.
void ServeSession::copy_region(Serve& serve) {
  const Nanoseconds now = responder_.host_.now();
  serve.status = now >= serve.deadline ? Status::deadline_exceeded
                                       : regions::read(*responder_.regions_, serve.region->token, serve.region->at,
                                                       serve.destination, now);
  serve.bytes = serve.status == Status::ok ? serve.length : 0;
  deliver(serve);
}

Result<void> ServeSession::take_region_write(std::span<const std::byte> message) {
  const auto write = wire::parse_region_write(message);
  if (!write) return write.error();
  if (auto checked = check_request(write->id); !checked) return checked;
  const Status status = responder_.draining_
                            ? Status::draining
                            : regions::write(*responder_.regions_, write->token, {write->offset, write->rest},
                                             message.subspan(sizeof *write), responder_.host_.now());
  answer_region(write->id, {status});
  return {};
}

Result<void> ServeSession::take_region_word(std::span<const std::byte> message) {
  const auto word = wire::parse_region_word(message);
  if (!word) return word.error();
  if (auto checked = check_request(word->id); !checked) return checked;
  RegionTable& table = *responder_.regions_;
  const Nanoseconds now = responder_.host_.now();
  if (responder_.draining_) {
    answer_region(word->id, {Status::draining});
  } else if (word->kind == wire::kFetchAdd) {
    answer_region(word->id, regions::fetch_add(table, word->token, word->offset, word->operand, now));
  } else if (word->kind == wire::kCompareSwap) {
    answer_region(word->id, regions::compare_swap(table, word->token, word->offset, word->compare, word->operand, now));
  } else {
    answer_region(word->id, {regions::look(table, word->token, now)});
  }
  return {};
}

void ServeSession::answer_region(std::uint64_t id, const regions::Word& word) {
  ++responder_.host_.counters().serves;
  send(wire::RegionDoneMessage{.head = wire::head_of<wire::RegionDoneMessage>(wire::kRegionDone),
                               .id = id,
                               .status = static_cast<std::uint16_t>(word.status),
                               .reserved0 = 0,
                               .reserved1 = 0,
                               .value = word.value});
}

}  // namespace rde
