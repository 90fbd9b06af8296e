// Which task of a peer gets the next request. Small tasks go before large ones, which have room of
// their own, so neither waits for the other; in each class foreground goes before bulk, but bulk gets
// every ninth turn; large tasks of one kind take turns slice by slice.
//
//   queue.add(task);
//   while (PeerTask* task = queue.pick(small_room, large_room)) { issue one slice; queue.put_back(*task); }
#pragma once

#include "peer/peer_task.h"

namespace rde {

class FairQueue {
 public:
  void add(PeerTask& task) { list_of(task).push_back(task); }
  void remove(PeerTask& task) { list_of(task).remove(task); }
  [[nodiscard]] std::size_t size() const {
    return small_.foreground.size() + small_.bulk.size() + large_.foreground.size() + large_.bulk.size();
  }

  // Takes a task out; nullptr where none may go now.
  PeerTask* pick(bool small_room, bool large_room) {
    PeerTask* task = small_room ? small_.pick() : nullptr;
    if (task == nullptr && large_room) task = large_.pick();
    return task;
  }

  template <class Visit>
  void for_each(Visit visit) {
    for (Class* kind : {&small_, &large_}) {
      kind->foreground.for_each(visit);
      kind->bulk.for_each(visit);
    }
  }

 private:
  static constexpr unsigned kForegroundTurns = 8;  // to one of bulk: it must not starve

  struct Class {
    List<PeerTask> foreground;
    List<PeerTask> bulk;
    unsigned turns = 0;

    PeerTask* pick() {
      const bool is_bulk_turn = foreground.empty() || (turns >= kForegroundTurns && !bulk.empty());
      turns = is_bulk_turn ? 0 : turns + 1;
      return is_bulk_turn ? bulk.pop_front() : foreground.pop_front();
    }
  };

  List<PeerTask>& list_of(PeerTask& task) {
    Class& kind = task.is_large() ? large_ : small_;
    return task.job().bulk ? kind.bulk : kind.foreground;
  }

  Class small_;
  Class large_;
};

}  // namespace rde
