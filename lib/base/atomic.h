// Atomic access to words that other threads or processes share. The memory order is in the name.
//
//   store_release(&slot->lap, lap);
//   if (load_acquire(&slot->lap) == lap) ...
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define RDE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RDE_THREAD_SANITIZER 1
#endif
#endif

namespace rde {

template <class T>
T load_relaxed(const T* word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
template <class T>
T load_acquire(const T* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
template <class T>
T load_seq_cst(const T* word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
template <class T>
void store_relaxed(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
template <class T>
void store_release(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
template <class T>
void store_seq_cst(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}
template <class T>
T fetch_or_seq_cst(T* word, T bits) {
  return __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}
template <class T>
T exchange_seq_cst(T* word, T value) {
  return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

template <class T>
T fetch_add_seq_cst(T* word, T by) {
  return __atomic_fetch_add(word, by, __ATOMIC_SEQ_CST);
}
// Stores `desired` where the word is `expected`; answers what it was.
template <class T>
T compare_swap_seq_cst(T* word, T expected, T desired) {
  __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

// Orders every earlier store before every later load. ThreadSanitizer does not know fences, so
// there a sequentially consistent read-modify-write of a private word stands in for it.
inline void full_fence() {
#if defined(RDE_THREAD_SANITIZER)
  static std::uint32_t word = 0;
  __atomic_fetch_add(&word, 1U, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

// Asks for the line of a word that is going to be written soon: then stores to it do not wait for whoever reads it.
inline void prefetch_to_write(const void* word) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(word)));
#else
  __builtin_prefetch(word, 1);
#endif
}

// Tells the processor that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace rde
