// Objects that are made once and used again: a steady state allocates nothing. Owner thread only.
//
//   Pool<Task> pool;
//   Task& task = pool.take();     // as its last user left it
//   pool.give_back(task);
#pragma once

#include <deque>
#include <vector>

namespace rde {

template <class T>
class Pool {
 public:
  T& take() {
    ++used_;
    if (free_.empty()) return all_.emplace_back();
    T* object = free_.back();
    free_.pop_back();
    return *object;
  }
  void give_back(T& object) {
    --used_;
    free_.push_back(&object);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::deque<T> all_;  // never moves
  std::vector<T*> free_;
  std::size_t used_ = 0;
};

}  // namespace rde
