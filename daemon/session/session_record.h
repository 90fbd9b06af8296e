// One session, in one line of the cache. Links are indices, so that a table of them may lie in any pages.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace rde {

// Circular doubly linked lists of indices; `at` gives the link of an index. A head is linked to itself.
struct SessionLink {
  std::uint32_t next = 0;
  std::uint32_t previous = 0;
};

template <class At>
void link_last(At at, std::uint32_t head, std::uint32_t node) {
  const std::uint32_t last = at(head).previous;
  at(node) = {.next = head, .previous = last};
  at(last).next = node;
  at(head).previous = node;
}

template <class At>
void unlink(At at, std::uint32_t node) {
  const SessionLink link = at(node);
  at(link.previous).next = link.next;
  at(link.next).previous = link.previous;
  at(node) = {.next = node, .previous = node};
}

enum class SessionState : std::uint8_t {
  unused,
  created,    // open, nothing read yet
  active,     // open, a read was begun
  completed,  // closed with success
  failed,     // closed without
  expired,    // its time was over first
  ended,      // its client went first
  owner,      // no session: the head of an owner's list
};

struct SessionRecord {
  std::uint32_t generation = 0;
  std::uint32_t uid = 0;
  Nanoseconds expires = 0;
  std::uint64_t peer = 0;   // of its reads; 0 = whoever has the volume
  std::uint64_t bytes = 0;  // that its reads delivered
  std::uint32_t crc = 0;    // of those, in the order of delivery
  std::uint32_t owner = 0;  // the record that heads its owner's list
  SessionLink timer;        // in the wheel; among free records `next` is the next of them
  SessionLink siblings;     // of the same owner
  SessionState state = SessionState::unused;
  bool crc_known = true;

  [[nodiscard]] bool is_open() const { return state == SessionState::created || state == SessionState::active; }
};
static_assert(sizeof(SessionRecord) == 64, "docs/architecture.md states the memory of a session");

}  // namespace rde
