/* A shard of the engine sleeps; two clients' threads write into two rings, each with a ringer of its own. The shard
   polls, makes rings cold, and sleeps whenever it likes (docs/rings.md, "Sleeping"). A shard that blocks for ever beside
   news is an invalid end state. */
#include "memory.pml"

#ifndef NEWS
#define NEWS 2 /* slots for each ring */
#endif

byte consumed[2];
bool hot[2];

proctype writer(chan queue; byte r) {
  byte number;
  bool rings_now;
  do
  :: number < NEWS -> number++; publish(queue, r, number, r, rings_now)
  :: else -> break
  od
}

#define NEWS_IN(r) (mem[DATA + r] != consumed[r])
#define ALL_SEEN (consumed[0] == NEWS && consumed[1] == NEWS)

inline poll(r) {
  d_step {
    if
    :: hot[r] && NEWS_IN(r) -> consumed[r] = mem[DATA + r]
    :: else -> skip
    fi
  }
}

inline heat(r) {
  if
  :: (taken & (1 << r)) && !hot[r] -> hot[r] = true; STORE(queue_0, COLD + r, 0)
  :: else -> skip
  fi
}

/* Rings that bits name become hot; they are polled before the shard blocks again. */
inline take_news() {
  if
  :: mem[BITS] == 0 -> skip
  :: else ->
    TAKE_BITS(queue_0, taken);
    atomic { heat(0); heat(1); taken = 0 }
  fi
}

inline cool(r) {
#ifdef COOL_WITHOUT_LOOK
  atomic { STORE(queue_0, COLD + r, 1); hot[r] = false }
#else
  STORE_AND_FENCE(queue_0, COLD + r, 1);
  atomic {
    if
    :: NEWS_IN(r) -> STORE(queue_0, COLD + r, 0)
    :: else -> hot[r] = false
    fi
  }
#endif
}

inline set_cold(r, value) {
  if
  :: hot[r] -> STORE(queue_0, COLD + r, value)
  :: else -> skip
  fi
}

inline sleep() {
  atomic { set_cold(0, 1); set_cold(1, 1) }
#ifdef NO_READER_FENCE
  STORE(queue_0, SLEEP, 1);
#else
  STORE_AND_FENCE(queue_0, SLEEP, 1);
#endif
  news = (mem[BITS] != 0);
#ifndef NO_SECOND_LOOK
  news = news || (hot[0] && NEWS_IN(0));
  news = news || (hot[1] && NEWS_IN(1));
#endif
  if
  :: news -> news = false
  :: else ->
    if
    :: d_step { wake -> wake = false }
    :: ALL_SEEN -> break
    fi
  fi;
  STORE_AND_FENCE(queue_0, SLEEP, 0);
  atomic { set_cold(0, 0); set_cold(1, 0) }
  take_news()
}

proctype shard() {
  byte taken;
  bool news;
  do
  :: true -> poll(0); poll(1); take_news()
  :: hot[0] -> cool(0)
  :: hot[1] -> cool(1)
  :: true -> sleep()
  :: ALL_SEEN -> break
  od
}

init {
  atomic {
    hot[0] = true;
    hot[1] = true;
    run drain(queue_0);
#ifdef NO_WRITER_FENCE
    run drain(queue_1);
    run drain(queue_2);
#endif
    run shard();
    run writer(queue_1, 0);
    run writer(queue_2, 1)
  }
}
