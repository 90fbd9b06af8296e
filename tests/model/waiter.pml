/* Two threads of a client wait, each for its own completion ring; one leads and blocks for both (lib/client/waiter.cpp).
   The engine writes completions with one ringer. Thread 0 waits for one completion more than ever comes, so that no
   answer of its own helps thread 1; it leaves when thread 1 has all that it waits for. If that is never, the end state is
   an invalid one. */
#include "memory.pml"

#ifndef NEWS
#define NEWS 2 /* slots for each ring */
#endif

bool mutex, leading, satisfied;
bool told[2]; /* the leader's notify_all */

#define LOCK d_step { !mutex -> mutex = true }

proctype engine(chan queue) {
  byte number[2];
  bool rings_now;
  do
  :: number[0] < NEWS -> number[0]++; publish(queue, 0, number[0], 0, rings_now)
  :: number[1] < NEWS -> number[1]++; publish(queue, 1, number[1], 0, rings_now)
  :: number[0] == NEWS && number[1] == NEWS -> break
  od
}

#define READY(r) (mem[DATA + r] != consumed)

/* The mutex is held, but for the block. */
inline lead(queue, r) {
  d_step { empty(queue) -> leading = true; set_word(SLEEP, 1) }
  if
  :: mem[BITS] != 0 -> skip
  :: else ->
    if
    :: READY(r) -> skip
    :: else ->
      mutex = false;
      if
      :: d_step { wake -> wake = false }
      :: r == 0 && satisfied -> goto leave
      fi;
      LOCK
    fi
  fi;
  STORE_AND_FENCE(queue, SLEEP, 0);
  d_step {
    empty(queue) -> mem[BITS] = 0;
    leading = false;
#ifndef NO_NOTIFY
    told[0] = true;
    told[1] = true
#endif
  }
}

proctype thread(chan queue; byte r) {
  byte consumed;
  do
  :: consumed < NEWS || r == 0 ->
#ifdef NO_READER_FENCE
    STORE(queue, COLD + r, 1);
#else
    STORE_AND_FENCE(queue, COLD + r, 1);
#endif
    LOCK;
    do
    :: READY(r) -> break
    :: else ->
      if
      :: !leading -> lead(queue, r)
      :: else ->
        d_step { told[r] = false; mutex = false }
        if
        :: told[r] -> skip
        :: r == 0 && satisfied -> goto leave
        fi;
        LOCK
      fi
    od;
    mutex = false;
    STORE(queue, COLD + r, 0);
    consumed = mem[DATA + r]
  :: else -> break
  od;
  satisfied = true;
leave:
  skip
}

init {
  atomic {
#ifdef NO_WRITER_FENCE
    run drain(queue_0);
#endif
    run drain(queue_1);
    run drain(queue_2);
    run engine(queue_0);
    run thread(queue_1, 0);
    run thread(queue_2, 1)
  }
}
