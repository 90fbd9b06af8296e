#include "region/region_access.h"

#include <algorithm>
#include <cstring>

#include "base/atomic.h"

namespace rde::regions {
namespace {

template <class Change>
Word change_word(RegionTable& table, const rde_region_token& token, std::uint64_t offset, Nanoseconds now,
                 Change change) {
  const RegionPin pin = table.pin(token, RDE_REGION_RIGHT_ATOMIC, offset, sizeof(std::uint64_t), now);
  if (pin.status() != Status::ok) return {pin.status()};
  auto* word = reinterpret_cast<std::uint64_t*>(pin.bytes().data());
  if (reinterpret_cast<std::uintptr_t>(word) % sizeof *word != 0) return {Status::region_misaligned};
  table.counts().atomics.fetch_add(1, std::memory_order_relaxed);
  return {Status::ok, change(word)};
}

}  // namespace

Status read(RegionTable& table, const rde_region_token& token, const Place& at, std::span<std::byte> to,
            Nanoseconds now) {
  const RegionPin pin = table.pin(token, RDE_REGION_RIGHT_READ, at.offset, std::max(at.rest, to.size()), now);
  if (pin.status() != Status::ok) return pin.status();
  // The two may overlap: a client can read its own region.
  std::memmove(to.data(), pin.bytes().data(), to.size());
  table.counts().read_bytes.fetch_add(to.size(), std::memory_order_relaxed);
  return Status::ok;
}

Status write(RegionTable& table, const rde_region_token& token, const Place& at, std::span<const std::byte> from,
             Nanoseconds now) {
  const RegionPin pin = table.pin(token, RDE_REGION_RIGHT_WRITE, at.offset, std::max(at.rest, from.size()), now);
  if (pin.status() != Status::ok) return pin.status();
  std::memmove(pin.bytes().data(), from.data(), from.size());
  table.counts().written_bytes.fetch_add(from.size(), std::memory_order_relaxed);
  return Status::ok;
}

Word fetch_add(RegionTable& table, const rde_region_token& token, std::uint64_t offset, std::uint64_t add,
               Nanoseconds now) {
  return change_word(table, token, offset, now, [&](std::uint64_t* word) { return fetch_add_seq_cst(word, add); });
}

Word compare_swap(RegionTable& table, const rde_region_token& token, std::uint64_t offset, std::uint64_t compare,
                  std::uint64_t swap, Nanoseconds now) {
  return change_word(table, token, offset, now,
                     [&](std::uint64_t* word) { return compare_swap_seq_cst(word, compare, swap); });
}

Status look(RegionTable& table, const rde_region_token& token, Nanoseconds now) {
  return table.pin(token, 0, 0, 0, now).status();
}

void carry_out(RegionTable& table, RegionJob& job, Nanoseconds now) {
  Word word;
  switch (job.kind) {
    case RegionJob::Kind::read:
      word.status = read(table, job.token, {job.offset, job.buffer.size()}, job.buffer, now);
      break;
    case RegionJob::Kind::write:
      word.status = write(table, job.token, {job.offset, job.buffer.size()}, job.buffer, now);
      break;
    case RegionJob::Kind::fetch_add:
      word = fetch_add(table, job.token, job.offset, job.operand, now);
      break;
    case RegionJob::Kind::compare_swap:
      word = compare_swap(table, job.token, job.offset, job.compare, job.operand, now);
      break;
    case RegionJob::Kind::flush:
      word.status = look(table, job.token, now);
      break;
  }
  job.status = word.status;
  job.value = word.value;
}

}  // namespace rde::regions
