/*
 * The lock-free part of the observer list: posts that announce the list they walk, the registration
 * word, ends, waiting for calls, places that are used again, buffers that are replaced, and the
 * reclamation of what posts in progress may hold.
 *
 * One or two threads post. One ends a registration and makes another, one ends a registration and
 * waits. The states that are reached in any interleaving of their steps are searched for
 *
 *   a use after free      an observer or a buffer is touched after its release
 *   a call after cancel   a call begins after cancel() returned                                (K3)
 *   a lost wake-up        who waits is never resumed, or what was retired is never released    (K4, K16)
 *   a lost delivery       a registration that lives when a post begins is not called            (K1, K2)
 *   a wrong delivery      called twice, out of order, or registered later than the post        (K2, K5)
 *   a needless wait       for a post that cannot reach the registration, or that began later   (K4, K16)
 *
 * Each step below names the code that it stands for, in Sources/Campanile. The script that runs the
 * model leaves out, or moves, each step in turn, and the search must then find a fault.
 *
 * Spin is sequentially consistent, as are the accesses of the code that form a store-then-load pair
 * (they are `.sequentiallyConsistent` there). What that ordering is for is shown by the steps that
 * begin with LATE: each delays one store of such a pair behind the load that follows, as a processor
 * with a store buffer may do with a weaker store.
 *
 * Of the weaker accesses two kinds matter here. What an end unlinks, truncates and replaces is stored
 * with `.releasing` before the scan stores the clock again: a post may read what was there before, until
 * it has read the clock as it was stored afterwards (WEAK). And the upper bound is stored with `.releasing`, so
 * that a scan may read the one before (STALE_BOUNDS).
 *
 * The ticket flag of a reservation is a bit of its source word. The scan sets it with a compare-exchange and the
 * post that leaves takes it with an exchange: the steps BLIND_FLAG, STALE_TICKET and TORN_LEAVING do each
 * of these in two parts, or without looking at the result.
 *
 * step NO_ANNOUNCEMENT    Engine/ThreadRecord.swift:announce                    a post names what it walks
 * step LATE_ANNOUNCEMENT  Engine/ThreadRecord.swift:announce                    before it reads anything of it
 * step NO_OPEN_BOUND      Engine/ThreadRecord.swift:announce                    until it has read, it may hold everything
 * step NO_MASK_BIT        Engine/ObserverRegistry.swift:enter                   a post sets its thread's bit
 * step EARLY_MASK_BIT     Engine/ObserverRegistry.swift:enter                   after it has announced itself
 * step LATE_MASK_BIT      Engine/ObserverRegistry.swift:enter                   and before it reads the clock (run 6)
 * step EARLY_WATERMARK    Engine/ObserverRegistry.swift:enter                   and reads the clock after that (run 6)
 * step NO_WATERMARK       Engine/ObserverRegistry+Walk.swift:walk               a post stops at its watermark
 * step NO_NARROWING       Engine/ObserverRegistry.swift:narrow                  a post says what it can reach
 * step NO_WIDENING        Engine/ObserverRegistry.swift:widen                   and takes that back before it looks again (run 4)
 * step NO_CLOCK_AGAIN     Engine/ObserverRegistry.swift:widen                   and reads the clock again (run 6)
 * step NO_CHECK           Engine/ObserverRegistry+Walk.swift:call               the registration word is checked
 * step TORN_LEAVING       Engine/ThreadRecord.swift:leave                       the reservation is cleared and its flag read at once
 * step NO_LOOK_ON_LEAVING Engine/ObserverRegistry.swift:exit                    who leaves with the flag gives its tickets back
 * step NO_ENDED_BIT       Engine/Observer.swift:markEnded                       an end is written to the word
 * step NO_UNLINKING       Engine/Entries.swift:unlink                           and the observer taken out
 * step LATE_UNLINKING     Engine/Entries.swift:unlink                           before the reservations are read
 * step LATE_TRUNCATION    Engine/Entries.swift:truncate                         as are the empty places at the end
 * step NO_RESTORING       Engine/Entries.swift:restoreCount                     those in reach are not used again
 * step NO_STORE           Engine/ObserverRegistry.swift:storeClockAgain         the clock is stored after what was taken out (run 6)
 * step LATE_STORE         Engine/ObserverRegistry+Reclamation.swift:scan        before the reservations are read (run 6)
 * step LATE_FORGETTING    Engine/ObserverRegistry+Reclamation.swift:scan        nor are bits forgotten after that
 * step NO_BIT_AGAIN       Engine/ObserverRegistry+Reclamation.swift:scan        the bit of a thread that is inside is set again
 * step NO_FLAG            Engine/ObserverRegistry+Reclamation.swift:collect     a post that gets a ticket is told so
 * step BLIND_FLAG         Engine/ObserverRegistry+Reclamation.swift:collect     in the reservation that it stands in
 * step STALE_TICKET       Engine/ObserverRegistry+Reclamation.swift:collect     one that has left gets none
 * step NO_KEEPING         Engine/ObserverRegistry+Reclamation.swift:keep        what a post may hold is kept
 * step NO_KEEPING_BUFFERS Engine/ObserverRegistry+Reclamation.swift:retire      memory as well
 * step NO_NEW_SCAN        Engine/ObserverRegistry+Reclamation.swift:end         after a list moved the reservations are read again
 * step NO_TICK            Engine/ObserverRegistry.swift:tick                    new memory has a time of its own
 * step EARLY_CLOCK        Engine/ObserverRegistry.swift:insert                  the clock shows an entry that is in place
 * step NO_CLOCK           Engine/ObserverRegistry.swift:insert                  and posts that begin later reach it
 * step NO_WAITING         Engine/ObserverRegistry+Reclamation.swift:end         who waits waits for the posts in reach
 * step NO_LATE_WAITING    Engine/ObserverRegistry+Reclamation.swift:end         also if the registration had ended
 * step FIRST_FREES        Engine/ObserverRegistry+Reclamation.swift:takeTickets the last post that leaves releases (run 2)
 * step NO_RETURNING       Engine/ObserverRegistry+Reclamation.swift:takeTickets each that leaves gives its ticket back (run 2)
 * step NO_RESUMING        Engine/ObserverRegistry+Reclamation.swift:reclaim     and resumes who waits
 *
 * The runs: one thread that posts twice; two threads, then two that share a bit; posts that look for their
 * observers twice; upper bounds that are seen late; ends that are.
 *
 * run -DPOSTERS=1 -DPOSTS=2 -DLOOKS=1 -DBITS=2
 * run -DPOSTERS=2 -DPOSTS=1 -DNO_CHANGER
 * run -DPOSTERS=2 -DPOSTS=1 -DNO_CHANGER -DBITS=1
 * run -DPOSTS=1 -DLOOKS=2
 * run -DPOSTS=1 -DSTALE_BOUNDS
 * run -DPOSTS=1 -DLOOKS=2 -DWEAK
 */

#include "steps.h"

#define THREADS 2
#define ROOM 2     /* entries of a buffer */
#define EVERYTHING 255
#define BIT(thread) (1 << (thread) % BITS)
#define TICKET(thread) (1 << (thread))

/* Objects: observers 1, 2, 3; buffers 4, 5, 6. */
#define OBJECTS 7
#define FIRST_BUFFER 4
#define LAST_BUFFER 6

/* ObserverRegistry */
byte clock, mask;
bool locked;

/* Reservation, one for each thread; the ticket flag is a bit of the source. */
bool source[THREADS], flag[THREADS];
byte upper[THREADS];

/* ObserverList: the current buffer. Entries: what it holds. */
byte buffer = FIRST_BUFFER;
typedef Entries {
  byte count, created;
  byte id[ROOM], observer[ROOM];
}
Entries entries[OBJECTS];
#define current entries[buffer]

/* AnyObserver: the registration word. */
bool ended[OBJECTS];
byte idOf[OBJECTS];

/* ObserverRegistry.State: the tickets of what was retired, a bit for each thread, and of who waits. */
byte retired[OBJECTS], waiter;

/*
 * Of what an end changes besides the word, the stores are releases. With WEAK a post may read what was
 * there before, as long as it has not read a clock that was stored later: each store has the number of the
 * next store of the clock, and a post the number of the newest that it has read.
 */
byte stores, known[THREADS];
typedef Before {
  byte replaced;                        /* when the buffer was replaced */
  byte truncated, count;                /* when the count was lowered, and what the count was */
  byte taken[ROOM], observer[ROOM];     /* when the observer was taken out, and who it was */
}
Before old[OBJECTS];
#define STORE_CLOCK stores = (WEAK -> stores + 1 : 0)
#define READ_CLOCK known[self] = stores
#define NEXT_STORE (WEAK -> stores + 1 : 0)
#define isUnknown(when_) (when_ > known[self])

/* What the search watches. */
bool released[OBJECTS];
bool canceled[OBJECTS];  /* cancel() has returned */
bool isRegistered[OBJECTS];  /* observe() has returned */
bool isEnding[OBJECTS];   /* cancel() was called */
byte running[OBJECTS];
byte narrowed[THREADS];    /* what a post can reach, once it has said so */

/* K1, K2: a post reaches what was registered when it began, and what its watermark covers. */
#define EXPECTED(o) \
  ((idOf[o] && (idOf[o] <= watermark || isRegistered[o]) && !isEnding[o]) << o)

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* ObserverRegistry+Reclamation.swift: reclaim, by a post that has left */
inline reclaim() {
  lock();
  d_step {
    for (object : 1 .. OBJECTS - 1) {
      if
      :: retired[object] == TICKET(self) || FIRST_FREES && (retired[object] & TICKET(self)) ->
        retired[object] = 0; released[object] = true
      :: else -> step(NO_RETURNING, retired[object] = retired[object] & ~TICKET(self))
      fi
    }
    when(!NO_RESUMING || (waiter & ~TICKET(self)), waiter = waiter & ~TICKET(self));
    object = 0
  }
  unlock()
}

/* A look at the list, and the walk: Cursor.init, narrow, walk, call. */
inline look() {
  if
  :: base = buffer
  :: buffer > 4 && isUnknown(old[4].replaced) -> base = 4
  :: buffer > 5 && isUnknown(old[5].replaced) -> base = 5
  fi;
  if
  :: d_step { assert(!released[base]); rest = entries[base].count; index = 0 }
  :: isUnknown(old[base].truncated) ->
    d_step { assert(!released[base]); rest = old[base].count; index = 0 }
  fi;
#if NO_NARROWING
  d_step { narrowed[self] = clock }
#else
  now = clock;
  when(!NO_WIDENING || turn == 1, d_step { upper[self] = now; narrowed[self] = now; now = 0 });
#endif
  last = 0;
  do
  :: index < rest ->
    d_step { assert(!released[base]); id = entries[base].id[index] };
    step(NO_WATERMARK, when(id > watermark, break));
    if
    :: d_step { assert(!released[base]); observer = entries[base].observer[index]; index++ }
    :: isUnknown(old[base].taken[index]) ->
      d_step { assert(!released[base]); observer = old[base].observer[index]; index++ }
    fi;
    if
    :: observer ->
      /* A call begins when its registration is checked. */
      d_step {
        assert(!released[observer]);
        if
        :: !NO_CHECK && ended[observer] -> observer = 0
        :: else ->
          assert(!canceled[observer]);
          assert(idOf[observer] == id && id <= watermark);
          assert(id > last);
          last = id;
          running[observer]++;
          heard = heard | (1 << observer)
        fi
      }
      when(observer, d_step { assert(!released[observer]); running[observer]-- })
    :: else
    fi
  :: else -> break
  od;
  skip;
  d_step { base = 0; rest = 0; index = 0; id = 0; observer = 0; last = 0 }
}

/* ObserverRegistry.swift: enter, which reads the clock */
#define enter() \
  d_step { watermark = clock; expected = EXPECTED(1) | EXPECTED(2) | EXPECTED(3); READ_CLOCK }

proctype Poster(byte self) {
  byte post, watermark, base, rest, index, id, observer, now, last, turn;
  byte expected, heard, object;
  bool seen;
  for (post : 1 .. POSTS) {
    d_step {
      narrowed[self] = EVERYTHING;
      /* Nothing waits for this post: what waits for one waits for a post that is in its reservation. */
      assert(!((waiter | retired[1] | retired[2] | retired[4] | retired[5]) & TICKET(self)))
    }
    moved(EARLY_WATERMARK, enter();)
    moved(EARLY_MASK_BIT, mask = mask | BIT(self);)
    /* ThreadRecord.swift: announce */
    step(NO_OPEN_BOUND, upper[self] = EVERYTHING);
    when(!NO_ANNOUNCEMENT && !LATE_ANNOUNCEMENT, source[self] = true);
    when(!NO_MASK_BIT && !EARLY_MASK_BIT && !LATE_MASK_BIT && !(mask & BIT(self)), mask = mask | BIT(self));
    step(EARLY_WATERMARK, enter());
    moved(LATE_MASK_BIT, mask = mask | BIT(self);)
    moved(LATE_ANNOUNCEMENT, base = buffer; source[self] = true; d_step { assert(!released[base]) };)
    for (turn : 1 .. LOOKS) {
      if
      :: turn > 1 ->
        /* ObserverRegistry+Targets.swift: runInline; ObserverRegistry.swift: widen */
        step(NO_WIDENING, d_step { upper[self] = EVERYTHING; narrowed[self] = EVERYTHING });
        when(!NO_WIDENING && !NO_CLOCK_AGAIN, READ_CLOCK)
      :: else
      fi;
      look()
    }
    skip;
    d_step {
      expected = expected & ~(isEnding[1] << 1 | isEnding[2] << 2 | isEnding[3] << 3);
      assert((expected & heard) == expected);
      expected = 0; heard = 0; watermark = 0; turn = 0
    }
    /* ThreadRecord.swift: leave; ObserverRegistry.swift: exit */
    moved(TORN_LEAVING, seen = flag[self];)
    d_step { seen = (TORN_LEAVING -> seen : flag[self]); source[self] = false; flag[self] = false };
    if
    :: seen && !NO_LOOK_ON_LEAVING -> seen = false; reclaim()
    :: else -> seen = false
    fi
  }
}

/* ObserverRegistry+Reclamation.swift: collect, for each post */
inline collect(since) {
  each (thread, THREADS) {
    if
    :: bits & BIT(thread) && source[thread] ->
      inside = inside | BIT(thread);
      if
      :: d_step { uppers[thread] = upper[thread]; reach[thread] = narrowed[thread] }
      :: STALE_BOUNDS -> d_step { uppers[thread] = EVERYTHING; reach[thread] = EVERYTHING }
      fi;
      if
      :: uppers[thread] >= since ->
        d_step {
          if
          :: source[thread] || BLIND_FLAG ->
            tickets = tickets | TICKET(thread);
            source[thread] = true;
            step(NO_FLAG, flag[thread] = true)
          :: else -> when(STALE_TICKET, tickets = tickets | TICKET(thread))
          fi
        }
      :: else -> tickets = tickets | TICKET(thread)
      fi
    :: else
    fi
  }
}

/* ObserverRegistry+Reclamation.swift: scan */
inline scan(since) {
  tickets = 0;
  when(!NO_STORE && !LATE_STORE, STORE_CLOCK);
  d_step { bits = mask; step(LATE_FORGETTING, mask = 0) };
  collect(since);
#if LATE_FORGETTING
  mask = mask & ~(bits & ~inside);
#else
  step(NO_BIT_AGAIN, mask = mask | inside);
#endif
  moved(LATE_STORE, STORE_CLOCK;)
  skip;
  d_step { thread = 0; bits = 0; inside = 0 }
}

/* The tickets of those posts whose upper bound is not below `since`. A bound that is seen late is above. */
inline filter(since) {
  held = 0;
  each (thread, THREADS) {
    when((tickets & TICKET(thread)) && uppers[thread] >= since,
      held = held | TICKET(thread);
      assert(STALE_BOUNDS || reach[thread] >= since))
  }
  thread = 0
}

/* ObserverRegistry+Reclamation.swift: keep; what nobody holds is released after the lock. */
inline keep(kept, since) {
  d_step {
    filter(since);
    when(NO_KEEPING && kept < FIRST_BUFFER || NO_KEEPING_BUFFERS && kept >= FIRST_BUFFER, held = 0);
    retired[kept] = held;
    released[kept] = !held;
    held = 0
  }
}

/* ObserverList.swift: rebuild; the old buffer is left in `left`. */
inline rebuild() {
  d_step {
    left = buffer;
    step(NO_TICK, clock++; STORE_CLOCK);
    entries[left + 1].created = clock + NO_TICK;
    end = 0;
    for (place : 0 .. entries[left].count - 1) {
      when(entries[left].observer[place],
        entries[left + 1].observer[end] = entries[left].observer[place];
        entries[left + 1].id[end] = entries[left].id[place];
        end++)
    }
    entries[left + 1].count = end;
    place = 0; end = 0
  };
  d_step { old[left].replaced = NEXT_STORE; buffer = left + 1 }
}

/* Entries.swift: truncate */
inline truncate() {
  d_step {
    before = current.count;
    end = before;
    do
    :: end > 0 && current.observer[end - 1] == 0 -> end--
    :: else -> break
    od
  };
  d_step {
    when(WEAK && end < before, old[buffer].truncated = NEXT_STORE; old[buffer].count = before);
    current.count = end
  }
}

/* Entries.swift: unlink */
inline unlink() {
  d_step {
    when(WEAK, old[buffer].taken[place] = NEXT_STORE; old[buffer].observer[place] = current.observer[place]);
    current.observer[place] = 0
  }
}

/* Entries.swift: restoreCount */
inline restoreCount() {
  d_step {
    newest = 0;
    each (thread, THREADS) {
      when((tickets & TICKET(thread)) && uppers[thread] > newest, newest = uppers[thread])
    }
    end = before;
    do
    :: end > current.count && current.id[end - 1] > newest -> end--
    :: else -> break
    od;
    newest = 0; thread = 0
  };
  current.count = end
}

#define FORGET uppers[0] = 0; uppers[1] = 0; reach[0] = 0; reach[1] = 0

/* ObserverRegistry+Reclamation.swift: end */
inline cancel(who, mustWait) {
  lock();
  d_step {
    isEnding[who] = true;
    isLate = ended[who] || canceled[who];
    place = 0;
    do
    :: place < current.count && current.observer[place] != who -> place++
    :: else -> break
    od
  };
  if
  :: isLate ->
    when(mustWait && !NO_LATE_WAITING, scan(idOf[who]); d_step { filter(idOf[who]); waiter = held; held = 0 })
  :: else ->
    step(NO_ENDED_BIT, ended[who] = true);
    when(!NO_UNLINKING && !LATE_UNLINKING, unlink());
    /* ObserverList.swift: trim */
    step(LATE_TRUNCATION, truncate());
    scan(idOf[who]);
    moved(LATE_UNLINKING, unlink();)
    moved(LATE_TRUNCATION, truncate();)
    step(NO_RESTORING, when(tickets, restoreCount()));
    d_step { place = 0; end = 0; before = 0; filter(idOf[who]); waits = (NO_WAITING -> 0 : held); held = 0 };
    keep(who, idOf[who]);
    /* ObserverList.swift: shrink */
    if
    :: !NO_CHANGER && buffer < LAST_BUFFER ->
      rebuild();
      step(NO_NEW_SCAN, scan(entries[left].created));
      keep(left, entries[left].created)
    :: skip
    fi;
    when(mustWait, waiter = waits)
  fi;
  d_step { tickets = 0; FORGET; waits = 0; left = 0; isLate = false; place = 0 };
  unlock();
  canceled[who] = true;
  when(mustWait, d_step { !waiter -> assert(!running[who]) })
}

#define SHOW(who) d_step { clock = idOf[who]; STORE_CLOCK }

/* ObserverRegistry.swift: add */
inline observe(who) {
  lock();
  /* ObserverList.swift: makeRoom */
  when(current.count == ROOM && buffer < LAST_BUFFER, rebuild());
  if
  :: current.count < ROOM ->
    /* Entries.swift: append */
    d_step { place = current.count; idOf[who] = clock + 1 };
    moved(EARLY_CLOCK, SHOW(who);)
    current.observer[place] = who;
    current.id[place] = idOf[who];
    current.count = place + 1;
    when(!EARLY_CLOCK && !NO_CLOCK, SHOW(who));
    when(left, scan(entries[left].created); keep(left, entries[left].created));
    d_step { tickets = 0; FORGET; left = 0; place = 0 };
    unlock();
    isRegistered[who] = true
  :: else -> unlock()
  fi
}

#define LOCALS \
  byte tickets, bits, inside, thread, held, left, place, end, before, newest, waits; \
  byte uppers[THREADS], reach[THREADS]; \
  bool isLate

/* Ends the last registration, and makes one that may use its place. */
proctype Changer() {
  LOCALS;
  cancel(2, false);
  observe(3)
}

/* Ends a registration and waits for its calls; it may have ended before. */
proctype Waiter() {
  LOCALS;
  byte victim;
  if
  :: victim = 1
  :: victim = 2
  fi;
  cancel(victim, true)
}

init {
  atomic {
    current.observer[0] = 1; current.id[0] = 1; idOf[1] = 1;
    current.observer[1] = 2; current.id[1] = 2; idOf[2] = 2;
    current.count = 2;
    clock = 2;
    run Poster(0);
    when(POSTERS > 1, run Poster(1));
    when(!NO_CHANGER, run Changer());
    run Waiter()
  }
  /* Everybody has ended: nothing waits, and what ended has been released. */
  d_step {
    _nr_pr == 1 ->
    assert(!waiter && !retired[1] && !retired[2] && !retired[3] && !retired[4] && !retired[5] && !retired[6]);
    assert(!flag[0] && !flag[1] && !locked);
    assert(!canceled[1] || released[1]);
    assert(!canceled[2] || released[2]);
    assert(buffer == 4 || released[4]);
    assert(buffer <= 5 || released[5]);
    assert(!released[buffer] && !released[3])
  }
}
