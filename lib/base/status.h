// Status numbers, and errors that say what was tried and why it failed.
//
//   rde::Result<int> r = parse(text);
//   if (!r) return r.error().in("listen");
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "rde_status.h"

namespace rde {

enum class Status : std::uint16_t {
#define RDE_STATUS_ENUM(name, number, category, retry, meaning) name = number,
  RDE_STATUS_TABLE(RDE_STATUS_ENUM)
#undef RDE_STATUS_ENUM
};

// Texts of a status; a number that is not in the table is named "unknown_status". Any thread.
std::string_view name_of(Status status);
std::string_view category_of(Status status);
std::string_view meaning_of(Status status);
bool may_retry(Status status);
bool is_known(std::uint16_t number);

// A status with the story behind it. `in` puts what was being done in front.
struct Error {
  Status status = Status::internal;
  std::string text;

  Error in(std::string_view what) && { return {status, std::string(what) + ": " + text}; }
  Error in(std::string_view what) const& { return {status, std::string(what) + ": " + text}; }
};

// An Error whose text ends in what errno says.
Error system_error(std::string_view what, int error_number);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace rde
