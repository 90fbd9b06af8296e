// Which buffers a C program has on loan, and which of them the engine may still write into.
//
//   loans.add(buffer);
//   if (auto begun = loans.begin(page, length); !begun) return begun.error();
//   ... the call ...
//   loans.end(page);                     // or later, when the engine has let go
//   loans.release(page);                 // at any time; a buffer in use is kept until end()
//
// Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "client/client.h"

namespace rde::capi {

class Loans {
 public:
  explicit Loans(Client& client) : client_(client) {}

  void add(const Buffer& buffer);
  // Marks a buffer as in use by a call. Errors: invalid_request (not lent, or in use), buffer_too_small.
  Result<void> begin(std::uint32_t page, std::uint64_t length);
  void end(std::uint32_t page);
  // False when the page is not on loan, or was released before.
  bool release(std::uint32_t page);

 private:
  struct Loan {
    Buffer buffer;
    bool in_use = false;
    bool released = false;
  };

  Client& client_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Loan> loans_;
};

}  // namespace rde::capi
