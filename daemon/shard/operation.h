// An operation that did not end at once: kept from its request until its last completion.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/handle.h"
#include "object/object_source.h"
#include "rde_layout.h"
#include "region/region_job.h"
#include "shard/timer_wheel.h"

namespace rde {

class EngineChannel;
class Shard;

class Operation final : public ObjectJob {
 public:
  // A timer that knows its operation.
  struct DeadlineTimer : Timer {
    Operation* operation = nullptr;
  };
  enum class State : std::uint8_t {
    free,
    in_flight,    // the client waits
    quarantined,  // the client has its answer; the buffer is still the transport's
  };

  // Of an operation on a region, which is no ObjectJob.
  struct RegionUse final : RegionJob {
    virtual ~RegionUse() = default;
    void on_done() override;

    Operation* operation = nullptr;
    std::uint64_t order = 0;    // among those of its handle
    std::uint32_t awaited = 0;  // FLUSH: earlier changes that are under way
  };

  Operation() { timer.operation = region.operation = this; }

  // The source is done with the buffer.
  void on_done() override;

  Shard* shard = nullptr;
  EngineChannel* channel = nullptr;
  rde_request request{};  // private copy
  Handle peer;            // null: a volume of this engine
  State state = State::free;
  bool has_job = false;    // a source works on it; false for CONNECT
  bool is_region = false;  // and it is `region` that the source has
  bool cancel_asked = false;
  RegionUse region;
  DeadlineTimer timer;
  Operation* next_free = nullptr;
};

// Operations of one shard; grows in blocks up to `most` and never shrinks. Owner thread only.
class OperationPool {
 public:
  explicit OperationPool(std::size_t most) : most_(most) {}

  // Null when the limit is reached, or when the asker, who holds `held`, has as many as are left for all others: so no
  // client can take what another needs, and one alone may have half.
  Operation* take(std::size_t held) {
    if (used_ >= most_ || held >= most_ - used_) return nullptr;
    if (free_ == nullptr) grow();
    Operation* operation = free_;
    free_ = operation->next_free;
    ++used_;
    return operation;
  }
  void give_back(Operation* operation) {
    operation->state = Operation::State::free;
    operation->next_free = free_;
    free_ = operation;
    --used_;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kBlock = 256;

  void grow() {
    blocks_.push_back(std::make_unique<Operation[]>(kBlock));
    for (std::size_t i = 0; i < kBlock; ++i) {
      blocks_.back()[i].next_free = free_;
      free_ = &blocks_.back()[i];
    }
  }

  std::size_t most_;
  std::size_t used_ = 0;
  Operation* free_ = nullptr;
  std::vector<std::unique_ptr<Operation[]>> blocks_;
};

}  // namespace rde
