// A list whose links lie in its members: no allocation, removal in constant time. A member is in one
// list at most; the list does not own it. Owner thread only.
//
//   struct Task : ListNode { … };
//   List<Task> queue;
//   queue.push_back(task);
//   while (Task* next = queue.pop_front()) …
#pragma once

#include <cstddef>

namespace rde {

class ListNode {
 public:
  [[nodiscard]] bool is_listed() const { return next_ != nullptr; }

 private:
  template <class T>
  friend class List;
  ListNode* next_ = nullptr;
  ListNode* previous_ = nullptr;
};

template <class T>
class List {
 public:
  List() { head_.next_ = head_.previous_ = &head_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }

  void push_back(T& member) {
    ListNode& node = member;
    node.previous_ = head_.previous_;
    node.next_ = &head_;
    head_.previous_->next_ = &node;
    head_.previous_ = &node;
    ++size_;
  }

  void remove(T& member) {
    ListNode& node = member;
    node.previous_->next_ = node.next_;
    node.next_->previous_ = node.previous_;
    node.next_ = node.previous_ = nullptr;
    --size_;
  }

  T* pop_front() {
    T* first = front();
    if (first != nullptr) remove(*first);
    return first;
  }

  // `visit` may remove the member that it is given.
  template <class Visit>
  void for_each(Visit visit) {
    for (ListNode* node = head_.next_; node != &head_;) {
      ListNode* next = node->next_;
      visit(*static_cast<T*>(node));
      node = next;
    }
  }

 private:
  ListNode head_;
  std::size_t size_ = 0;
};

}  // namespace rde
