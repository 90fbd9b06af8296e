#include "load/job.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace rde::tools {

void Job::start(Op op, const LoadObject* object, Nanoseconds intended) {
  state_ = State::running;
  op_ = op;
  object_ = object;
  intended_ = intended;
  wrong_ = false;
  offset_ = 0;
  if (op == Op::read) hash_.restart();
}

std::uint32_t Job::wanted(std::uint32_t piece) const {
  if (op_ == Op::stat) return RDE_ARENA_PAGE;
  if (op_ != Op::read) return 0;
  // An empty object is asked for as well; a request of no bytes would ask for nothing.
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(object_->size - offset_, 1, piece));
}

rde_request Job::next_request(const Buffer& buffer, std::uint32_t length) const {
  rde_request request{};
  request.buffer_page = buffer.page;
  request.length = length;
  if (op_ == Op::ping) {
    request.op = RDE_OP_PING;
    const rde_ping_args args{.sent_ns = intended_, .reserved = {}};
    std::memcpy(request.args, &args, sizeof args);
  } else if (op_ == Op::nop) {
    request.op = RDE_OP_NOP;
  } else {
    request.op = op_ == Op::stat ? RDE_OP_OBJECT_STAT : RDE_OP_OBJECT_READ;
    const rde_object_args args{
        .needle = object_->id.key, .volume = object_->id.volume, .cookie = object_->id.cookie, .offset = offset_};
    std::memcpy(request.args, &args, sizeof args);
  }
  return request;
}

void Job::on_completion(const Reaped& reaped, std::span<const std::byte> bytes, Nanoseconds now) {
  latency_ = now > intended_ ? now - intended_ : 0;
  if (reaped.status != Status::ok) return fail(std::string(name_of(reaped.status)));
  switch (op_) {
    case Op::nop:
      state_ = State::good;
      break;
    case Op::ping:
      check_ping(reaped, now);
      break;
    case Op::stat:
      check_stat(bytes.first(reaped.bytes));
      break;
    case Op::read:
      check_piece(reaped, bytes.first(reaped.bytes));
      break;
  }
}

void Job::fail(std::string name) {
  state_ = State::failed;
  failure_ = std::move(name);
}

void Job::found_wrong(std::string name, std::string detail) {
  fail(std::move(name));
  wrong_ = true;
  detail_ = (object_ != nullptr && op_ != Op::ping ? format_file_id(object_->id) + ": " : "") + std::move(detail);
}

void Job::check_ping(const Reaped& reaped, Nanoseconds now) {
  if (reaped.value == 0 || reaped.value > now) {
    return found_wrong("wrong_time",
                       "PING answered the time " + std::to_string(reaped.value) + ", and it is " + std::to_string(now));
  }
  state_ = State::good;
}

void Job::check_stat(std::span<const std::byte> bytes) {
  rde_object_stat stat;
  if (bytes.size() < sizeof stat) return found_wrong("wrong_size", "STAT answered less than its struct");
  std::memcpy(&stat, bytes.data(), sizeof stat);
  if (stat.stored_size != object_->size) {
    return found_wrong("wrong_size", "STAT answered " + std::to_string(stat.stored_size) +
                                         " bytes, the objects file says " + std::to_string(object_->size));
  }
  state_ = State::good;
}

void Job::check_piece(const Reaped& reaped, std::span<const std::byte> bytes) {
  if (reaped.value != object_->size) {
    return found_wrong("wrong_size", "READ answered a size of " + std::to_string(reaped.value) +
                                         ", the objects file says " + std::to_string(object_->size));
  }
  if (crc32c(bytes) != reaped.crc) {
    return found_wrong("wrong_crc",
                       "the bytes at " + std::to_string(offset_) + " do not have the CRC32C of the answer");
  }
  hash_.add(bytes);
  offset_ += bytes.size();
  const bool end = (reaped.flags & RDE_COMPLETION_FLAG_END) != 0;
  if (end != (offset_ == object_->size)) {
    return found_wrong("wrong_size", std::string(end ? "END" : "no END") + " after " + std::to_string(offset_) +
                                         " of " + std::to_string(object_->size) + " bytes");
  }
  if (end) return check_whole();
  if (bytes.empty()) found_wrong("wrong_size", "READ answered no bytes at " + std::to_string(offset_));
}

void Job::check_whole() {
  const auto digest = hash_.finish();
  if (digest != object_->sha256) {
    return found_wrong("wrong_bytes",
                       "SHA-256 is " + hex_of(digest) + ", the objects file says " + hex_of(object_->sha256));
  }
  state_ = State::good;
}

}  // namespace rde::tools
