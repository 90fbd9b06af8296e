// How fields of a received message are checked; for the parsers alone.
//
//   Check check("request");
//   const auto request = take<RequestMessage>(message, check);
//   check.between("length", request.length, 1, most).equal("reserved", request.reserved, 0);
//   return check.give(request);
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "peer/protocol.h"

namespace rde::wire {

// Collects the first wrong field of a message.
class Check {
 public:
  explicit Check(std::string_view message) : message_(message) {}

  Check& equal(std::string_view field, std::uint64_t value, std::uint64_t expected) {
    if (value != expected) fail(field, value, "must be " + std::to_string(expected));
    return *this;
  }
  Check& between(std::string_view field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) {
      fail(field, value, "must be " + std::to_string(least) + " to " + std::to_string(most));
    }
    return *this;
  }
  Check& bits(std::string_view field, std::uint64_t value, std::uint64_t known) {
    if ((value & ~known) != 0) fail(field, value, "has bits that this engine does not know");
    return *this;
  }
  template <std::size_t N>
  Check& text(std::string_view field, const std::array<char, N>& value) {
    const auto shown = text_of(value);
    const bool is_printable = std::ranges::all_of(shown, [](char c) { return c >= ' ' && c <= '~'; });
    const bool is_padded = std::all_of(value.begin() + shown.size(), value.end(), [](char c) { return c == 0; });
    if (shown.size() == N || !is_printable || !is_padded)
      fail(field, shown.size(), "must be zero-padded printable text");
    return *this;
  }
  // Status of the fields checked next, where they are wrong.
  Check& as(Status status) {
    status_ = status;
    return *this;
  }
  template <class M>
  Result<M> give(const M& value) const {
    if (failed_) return error_;
    return value;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void fail(std::string_view field, std::uint64_t value, const std::string& why) {
    if (failed_) return;
    failed_ = true;
    error_ = {status_, std::string(message_) + "." + std::string(field) + " is " + std::to_string(value) + ", " + why};
  }

  std::string_view message_;
  Status status_ = Status::protocol_error;
  bool failed_ = false;
  Error error_;
};

// The fixed part of a message; zeros where it is shorter, and `check` says so.
template <class M>
M take(std::span<const std::byte> message, Check& check, bool longer_is_fine = false) {
  M value{};
  if (message.size() < sizeof(M) || (message.size() > sizeof(M) && !longer_is_fine)) {
    check.equal("size", message.size(), sizeof(M));
    return value;
  }
  std::memcpy(&value, message.data(), sizeof(M));
  return value;
}

}  // namespace rde::wire
