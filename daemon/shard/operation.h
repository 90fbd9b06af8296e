// An operation that did not end at once: kept from its request until its last completion.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/handle.h"
#include "object/object_source.h"
#include "rde_layout.h"
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

  Operation() { timer.operation = this; }

  // The source is done with the buffer.
  void on_done() override;

  Shard* shard = nullptr;
  EngineChannel* channel = nullptr;
  rde_request request{};  // private copy
  Handle peer;            // null: a volume of this engine
  State state = State::free;
  bool has_job = false;  // a source works on it; false for CONNECT
  bool cancel_asked = false;
  DeadlineTimer timer;
  Operation* next_free = nullptr;
};

// Operations of one shard; grows in blocks and never shrinks. Owner thread only.
class OperationPool {
 public:
  explicit OperationPool(std::size_t most) : most_(most) {}

  // Null when the limit is reached.
  Operation* take() {
    if (free_ == nullptr && !grow()) return nullptr;
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

  bool grow() {
    if (blocks_.size() * kBlock >= most_) return false;
    blocks_.push_back(std::make_unique<Operation[]>(kBlock));
    for (std::size_t i = 0; i < kBlock; ++i) {
      blocks_.back()[i].next_free = free_;
      free_ = &blocks_.back()[i];
    }
    return true;
  }

  std::size_t most_;
  std::size_t used_ = 0;
  Operation* free_ = nullptr;
  std::vector<std::unique_ptr<Operation[]>> blocks_;
};

}  // namespace rde
