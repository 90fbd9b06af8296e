// One operation of a load, from its first request to its verified end.
//
//   Job job;
//   job.start(Op::read, &object, intended_ns);
//   rde_request request = job.next_request(buffer, options.piece);
//   job.on_completion(reaped, buffer.bytes, now);      // then: job.ended(), or the next request
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "client/client.h"
#include "load/mix.h"
#include "load/objects.h"

namespace rde::tools {

class Job {
 public:
  void start(Op op, const LoadObject* object, Nanoseconds intended);

  // Bytes of buffer that the next request wants; 0: none.
  [[nodiscard]] std::uint32_t wanted(std::uint32_t piece) const;
  [[nodiscard]] rde_request next_request(const Buffer& buffer, std::uint32_t length) const;

  // Checks an answer. `bytes` is the buffer of the request.
  void on_completion(const Reaped& reaped, std::span<const std::byte> bytes, Nanoseconds now);
  // Ends it without an answer.
  void fail(std::string name);

  [[nodiscard]] Op op() const { return op_; }
  [[nodiscard]] const LoadObject* object() const { return object_; }
  [[nodiscard]] bool running() const { return state_ == State::running; }
  [[nodiscard]] bool ended() const { return state_ == State::good || state_ == State::failed; }
  [[nodiscard]] bool good() const { return state_ == State::good; }
  [[nodiscard]] Nanoseconds latency() const { return latency_; }
  // Of a failed one: a status name, or wrong_bytes, wrong_size, wrong_crc, wrong_time, no_answer.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Whether the answer was not what it had to be; failure() says in what way, detail() for people.
  [[nodiscard]] bool wrong() const { return wrong_; }
  [[nodiscard]] const std::string& detail() const { return detail_; }
  [[nodiscard]] std::uint64_t received() const { return offset_; }
  void clear() { state_ = State::idle; }

 private:
  enum class State : std::uint8_t { idle, running, good, failed };

  void found_wrong(std::string name, std::string detail);
  void check_ping(const Reaped& reaped, Nanoseconds now);
  void check_stat(std::span<const std::byte> bytes);
  void check_piece(const Reaped& reaped, std::span<const std::byte> bytes);
  void check_whole();

  State state_ = State::idle;
  Op op_ = Op::nop;
  bool wrong_ = false;
  const LoadObject* object_ = nullptr;
  Nanoseconds intended_ = 0;
  Nanoseconds latency_ = 0;
  std::uint64_t offset_ = 0;
  Sha256 hash_;
  std::string failure_;
  std::string detail_;
};

}  // namespace rde::tools
