/* Memory as x86 has it: a process has a queue of stores that others see later, in order (total store order). Every word
   has one writing process, bits apart, so nobody reads back what still lies in its own queue. Each step of a process
   has one access to memory at most.

   Of the generation in the sleep word only what counts is kept: whether it is odd, and whether a ringer has woken this
   generation already. */

#define DATA 0  /* DATA + r: how many slots of ring r were published */
#define COLD 2  /* COLD + r */
#define SLEEP 4 /* 1 = the generation is odd */
#define BITS 5

byte mem[6];
bool wake;     /* an edge of the wake descriptor that nobody has taken yet */
bool woken[2]; /* by this ringer, in this generation */

chan queue_0 = [4] of { byte, byte };
chan queue_1 = [4] of { byte, byte };
chan queue_2 = [4] of { byte, byte };

inline set_word(address, value) {
  mem[address] = value;
  if
  :: address == SLEEP -> woken[0] = false; woken[1] = false
  :: else -> skip
  fi
}

proctype drain(chan queue) {
  byte address, value;
end:
  do
  :: d_step { queue ? address, value -> set_word(address, value); address = 0; value = 0 }
  od
}

#define STORE(queue, address, value) queue ! address, value

/* A store and the full fence behind it, or any locked instruction: the queue is drained first. */
#define STORE_AND_FENCE(queue, address, value) d_step { empty(queue) -> set_word(address, value) }
#define OR_BIT(queue, r) d_step { empty(queue) -> mem[BITS] = mem[BITS] | (1 << r) }
#define TAKE_BITS(queue, taken) d_step { empty(queue) -> taken = mem[BITS]; mem[BITS] = 0 }

/* Loads the sleep word; whether to wake is then the ringer's own business. */
inline look_at_sleep(ringer, rings_now) {
  d_step {
    rings_now = (mem[SLEEP] == 1 && !woken[ringer]);
    woken[ringer] = woken[ringer] || rings_now
  }
}

/* The writer's side, Ringer::ring included. */
inline publish(queue, ring, number, who, must_wake) {
#ifdef NO_WRITER_FENCE
  STORE(queue, DATA + ring, number);
#else
  STORE_AND_FENCE(queue, DATA + ring, number);
#endif
  if
  :: mem[COLD + ring] == 0 -> skip
  :: else ->
#ifdef LOAD_BEFORE_BIT
    look_at_sleep(who, must_wake);
    OR_BIT(queue, ring);
#else
    OR_BIT(queue, ring);
    look_at_sleep(who, must_wake);
#endif
    if
    :: must_wake -> d_step { wake = true; must_wake = false }
    :: else -> skip
    fi
  fi
}
