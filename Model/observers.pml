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
 * Of the weaker accesses two kinds matter here. What an end takes out, withdraws and replaces is stored
 * with `.releasing` before the scan stores the clock again: a post may read what was there before, until
 * it has read the clock as it was stored afterwards (WEAK). And the upper bound is stored with `.releasing`, so
 * that a scan may read the one before (STALE_BOUNDS).
 *
 * The ticket flag of a reservation is a bit of its source word. The scan sets it with a compare-exchange and the
 * post that leaves takes it with an exchange: the steps BLIND_FLAG, STALE_TICKET and TORN_LEAVING do each
 * of these in two parts, or without looking at the result.
 *
 * step NO_ANNOUNCEMENT    ObserverList/ThreadRecord.swift:push                         a post names what it walks
 * step LATE_ANNOUNCEMENT  ObserverList/ThreadRecord.swift:push                         before it reads anything of it
 * step NO_OPEN_BOUND      ObserverList/ThreadRecord.swift:push                         until it has read, it may hold everything
 * step NO_MASK_BIT        ObserverList/ObserverRegistry.swift:enter                    a post sets its thread's bit
 * step EARLY_MASK_BIT     ObserverList/ObserverRegistry.swift:enter                    after it has announced itself
 * step LATE_MASK_BIT      ObserverList/ObserverRegistry.swift:enter                    and before it reads the clock (run 6)
 * step EARLY_WATERMARK    ObserverList/ObserverRegistry.swift:enter                    and reads the clock after that (run 6)
 * step NO_WATERMARK       ObserverList/ObserverRegistry+Walk.swift:walk                a post stops at its watermark
 * step NO_SETTLING        ObserverList/ObserverRegistry.swift:settle                   a post says what it can reach
 * step NO_REOPENING       ObserverList/ObserverRegistry.swift:reopen                   and takes that back before it looks again (run 4)
 * step NO_CLOCK_AGAIN     ObserverList/ObserverRegistry.swift:reopen                   and reads the clock again (run 6)
 * step NO_CHECK           ObserverList/ObserverRegistry+Walk.swift:call                the registration word is checked
 * step TORN_LEAVING       ObserverList/ThreadRecord.swift:pop                          the reservation is cleared and its flag read at once
 * step NO_LOOK_ON_LEAVING ObserverList/ObserverRegistry.swift:exit                     who leaves with the flag gives its tickets back
 * step NO_ENDED_BIT       ObserverList/Observer.swift:markEnded                        an end is written to the word
 * step NO_TAKING          ObserverList/Entries.swift:take                              and the observer taken out
 * step LATE_TAKING        ObserverList/Entries.swift:take                              before the reservations are read
 * step LATE_WITHDRAWAL    ObserverList/Entries.swift:withdraw                          as are the empty places at the end
 * step NO_RESTORING       ObserverList/Entries.swift:restore                           those in reach are not used again
 * step NO_STORE           ObserverList/ObserverRegistry.swift:storeClockAgain          the clock is stored after what was taken out (run 6)
 * step LATE_STORE         ObserverList/ObserverRegistry+Reclamation.swift:scan         before the reservations are read (run 6)
 * step LATE_FORGETTING    ObserverList/ObserverRegistry+Reclamation.swift:scan         nor are bits forgotten after that
 * step NO_BIT_AGAIN       ObserverList/ObserverRegistry+Reclamation.swift:scan         the bit of a thread that is inside is set again
 * step NO_FLAG            ObserverList/ObserverRegistry+Reclamation.swift:collect      a post that gets a ticket is told so
 * step BLIND_FLAG         ObserverList/ObserverRegistry+Reclamation.swift:collect      in the reservation that it stands in
 * step STALE_TICKET       ObserverList/ObserverRegistry+Reclamation.swift:collect      one that has left gets none
 * step NO_KEEPING         ObserverList/ObserverRegistry+Reclamation.swift:keep         what a post may hold is kept
 * step NO_KEEPING_BUFFERS ObserverList/ObserverRegistry+Reclamation.swift:retire       memory as well
 * step NO_NEW_SCAN        ObserverList/ObserverRegistry+Reclamation.swift:end          after a list moved the reservations are read again
 * step NO_TICK            ObserverList/ObserverRegistry.swift:tick                     new memory has a time of its own
 * step EARLY_CLOCK        ObserverList/ObserverRegistry.swift:insert                   the clock shows an entry that is in place
 * step NO_CLOCK           ObserverList/ObserverRegistry.swift:insert                   and posts that begin later reach it
 * step NO_WAITING         ObserverList/ObserverRegistry+Reclamation.swift:wait         who waits waits for the posts in reach
 * step NO_LATE_WAITING    ObserverList/ObserverRegistry+Reclamation.swift:end          also if the registration had ended
 * step FIRST_FREES        ObserverList/ObserverRegistry+Reclamation.swift:takeTickets  the last post that leaves releases (run 2)
 * step NO_NARROWING       ObserverList/ObserverRegistry+Reclamation.swift:takeTickets  each that leaves gives its ticket back (run 2)
 * step NO_RESUMING        ObserverList/ObserverRegistry+Reclamation.swift:reclaim      and resumes who waits
 *
 * The runs: one thread that posts twice; two threads, then two that share a bit; posts that look for their observers twice; upper bounds that are seen late; ends that are.
 *
 * run -DPOSTS=2
 * run -DPOSTERS=2 -DPOSTS=1 -DNO_CHANGER
 * run -DPOSTERS=2 -DPOSTS=1 -DNO_CHANGER -DBITS=1
 * run -DPOSTS=1 -DLOOKS=2
 * run -DPOSTS=1 -DSTALE_BOUNDS
 * run -DPOSTS=1 -DLOOKS=2 -DWEAK
 */

#define THREADS 2
#ifndef BITS
#define BITS 2
#endif
#ifndef POSTS
#define POSTS 2
#endif
#ifndef POSTERS
#define POSTERS 1
#endif
#ifndef LOOKS
#define LOOKS 1
#endif

#define ROOM 2     /* entries of a buffer */
#define EVERYTHING 255
#define BIT(thread) (1 << (thread) % BITS)

/* Objects: observers 1, 2, 3; buffers 4, 5, 6. */
#define OBJECTS 7
#define FIRST_BUFFER 4
#define LAST_BUFFER 6

/* ObserverRegistry */
byte clock;
byte mask;
bool locked;

/* Reservation, one for each thread */
bool source[THREADS];
bool flag[THREADS];  /* the ticket flag, a bit of the source */
byte upper[THREADS];

/* ObserverList: the current buffer. Entries: what it holds. */
byte buffer = FIRST_BUFFER;
typedef Entries {
  byte count;
  byte created;
  byte id[ROOM];
  byte observer[ROOM];
}
Entries entries[OBJECTS];

/* AnyObserver: the registration word. */
bool ended[OBJECTS];
byte idOf[OBJECTS];

/* ObserverRegistry.State: the tickets of what was retired, a bit for each thread, and of who waits. */
byte retired[OBJECTS];
byte waiter;

/*
 * Of what an end changes besides the word, the stores are releases. With WEAK a post may read what was
 * there before, as long as it has not read a clock that was stored later: each store has the number of the
 * next store of the clock, and a post the number of the newest that it has read.
 */
#ifdef WEAK
byte stores;
byte known[THREADS];
typedef Before {
  byte replaced;            /* when the buffer was replaced */
  byte withdrawn;           /* when places were withdrawn, and what the count was */
  byte count;
  byte taken[ROOM];         /* when the observer was taken out, and who it was */
  byte observer[ROOM];
}
Before old[OBJECTS];
#define STORE_CLOCK stores++
#define READ_CLOCK known[self] = stores
#define NEXT_STORE (stores + 1)
#define IS_UNKNOWN(when) (when > known[self])
#else
#define STORE_CLOCK skip
#define READ_CLOCK skip
#endif

/* What the search watches. */
bool released[OBJECTS];
bool canceled[OBJECTS];  /* cancel() has returned */
bool isRegistered[OBJECTS];  /* observe() has returned */
bool isEnding[OBJECTS];   /* cancel() was called */
byte running[OBJECTS];
byte settled[THREADS];    /* what a post can reach, once it has said so */

/* K1, K2: a post reaches what was registered when it began, and what its watermark covers. */
#define EXPECTED(o) \
  ((idOf[o] && (idOf[o] <= watermark || isRegistered[o]) && !isEnding[o]) << o)

#define TICKET(thread) (1 << (thread))
#define NOTHING_WAITS (!waiter && !retired[1] && !retired[2] && !retired[3] && !retired[4] \
  && !retired[5] && !retired[6])

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* ObserverRegistry+Reclamation.swift: reclaim, by a post that has left */
inline reclaim() {
  lock();
  d_step {
    object = 1;
    do
    :: object < OBJECTS ->
      if
#ifdef FIRST_FREES
      :: retired[object] & TICKET(self) ->
#else
      :: retired[object] == TICKET(self) ->
#endif
        retired[object] = 0; released[object] = true
#ifdef NO_NARROWING
      :: else
#else
      :: else -> retired[object] = retired[object] & ~TICKET(self)
#endif
      fi;
      object++
    :: else -> break
    od;
#ifdef NO_RESUMING
    if
    :: waiter & ~TICKET(self) -> waiter = waiter & ~TICKET(self)
    :: else
    fi;
#else
    waiter = waiter & ~TICKET(self);
#endif
    object = 0
  }
  unlock()
}

/* A look at the list, and the walk: Cursor.init, settle, walk, call. */
inline look() {
#ifdef WEAK
  if
  :: base = buffer
  :: buffer > 4 && IS_UNKNOWN(old[4].replaced) -> base = 4
  :: buffer > 5 && IS_UNKNOWN(old[5].replaced) -> base = 5
  fi;
  if
  :: d_step { assert(!released[base]); rest = entries[base].count; index = 0 }
  :: IS_UNKNOWN(old[base].withdrawn) ->
    d_step { assert(!released[base]); rest = old[base].count; index = 0 }
  fi;
#else
  d_step { assert(buffer >= FIRST_BUFFER); base = buffer }
  d_step { assert(!released[base]); rest = entries[base].count; index = 0 }
#endif
#ifndef NO_SETTLING
  now = clock;
#ifdef NO_REOPENING
  if
  :: turn == 0 -> d_step { upper[self] = now; settled[self] = now; now = 0 }
  :: else
  fi;
#else
  d_step { upper[self] = now; settled[self] = now; now = 0 }
#endif
#else
  d_step { settled[self] = clock }
#endif
  last = 0;
  do
  :: index < rest ->
    d_step { assert(!released[base]); id = entries[base].id[index] }
#ifndef NO_WATERMARK
    if
    :: id > watermark -> break
    :: else
    fi;
#endif
#ifdef WEAK
    if
    :: d_step { assert(!released[base]); observer = entries[base].observer[index]; index++ }
    :: IS_UNKNOWN(old[base].taken[index]) ->
      d_step { assert(!released[base]); observer = old[base].observer[index]; index++ }
    fi;
#else
    d_step { assert(!released[base]); observer = entries[base].observer[index]; index++ }
#endif
    if
    :: observer ->
      /* A call begins when its registration is checked. */
      d_step {
        assert(!released[observer]);
        if
#ifndef NO_CHECK
        :: ended[observer] -> observer = 0
#endif
        :: else ->
          assert(!canceled[observer]);
          assert(idOf[observer] == id && id <= watermark);
          assert(id > last);
          last = id;
          running[observer]++;
          heard = heard | (1 << observer)
        fi
      }
      if
      :: observer -> d_step { assert(!released[observer]); running[observer]-- }
      :: else
      fi
    :: else
    fi
  :: else -> break
  od;
  skip;
  d_step { base = 0; rest = 0; index = 0; id = 0; observer = 0; last = 0 }
}

proctype Poster(byte self) {
  byte posts = POSTS, watermark, base, rest, index, id, observer, now, last, turn;
  byte expected, heard;
  byte object;
  bool seen;
  do
  :: posts == 0 -> break
  :: else ->
    d_step {
      posts--;
      heard = 0;
      settled[self] = EVERYTHING;
      /* Nothing waits for this post: what waits for one waits for a post that is in its reservation. */
      assert(!(waiter & TICKET(self)));
      assert(!(retired[1] & TICKET(self)) && !(retired[2] & TICKET(self)));
      assert(!(retired[4] & TICKET(self)) && !(retired[5] & TICKET(self)))
    }
#ifdef EARLY_WATERMARK
    d_step { watermark = clock; expected = EXPECTED(1) | EXPECTED(2) | EXPECTED(3); READ_CLOCK }
#endif
#ifdef EARLY_MASK_BIT
    mask = mask | BIT(self);
#endif
    /* ThreadRecord.swift: push */
#ifndef NO_OPEN_BOUND
    upper[self] = EVERYTHING;
#endif
#if !defined(NO_ANNOUNCEMENT) && !defined(LATE_ANNOUNCEMENT)
    source[self] = true;
#endif
    /* ObserverRegistry.swift: enter */
#if !defined(NO_MASK_BIT) && !defined(EARLY_MASK_BIT) && !defined(LATE_MASK_BIT)
    if
    :: !(mask & BIT(self)) -> mask = mask | BIT(self)
    :: else
    fi;
#endif
#ifndef EARLY_WATERMARK
    d_step { watermark = clock; expected = EXPECTED(1) | EXPECTED(2) | EXPECTED(3); READ_CLOCK }
#endif
#ifdef LATE_MASK_BIT
    mask = mask | BIT(self);
#endif
#ifdef LATE_ANNOUNCEMENT
    base = buffer;
    source[self] = true;
    d_step { assert(!released[base]) }
#endif
    turn = 0;
    do
    :: turn < LOOKS ->
      if
      :: turn > 0 ->
        /* ObserverRegistry+Targets.swift: runInline; ObserverRegistry.swift: reopen */
#ifndef NO_REOPENING
        d_step { upper[self] = EVERYTHING; settled[self] = EVERYTHING }
#ifndef NO_CLOCK_AGAIN
        READ_CLOCK
#endif
#endif
        skip
      :: else
      fi;
      look();
      turn++
    :: else -> break
    od;
    skip;
    d_step {
      expected = expected & ~(isEnding[1] << 1 | isEnding[2] << 2 | isEnding[3] << 3);
      assert((expected & heard) == expected);
      expected = 0; heard = 0; watermark = 0; turn = 0
    }
    /* ThreadRecord.swift: pop; ObserverRegistry.swift: exit */
#ifdef TORN_LEAVING
    seen = flag[self];
    d_step { source[self] = false; flag[self] = false }
#else
    d_step { seen = flag[self]; source[self] = false; flag[self] = false }
#endif
    if
#ifndef NO_LOOK_ON_LEAVING
    :: seen -> seen = false; reclaim()
#endif
    :: else -> seen = false
    fi
  od
}

/* ObserverRegistry+Reclamation.swift: collect, for each post */
inline collect(since) {
  thread = 0;
  do
  :: thread < THREADS ->
    if
    :: bits & BIT(thread) && source[thread] ->
      inside = inside | BIT(thread);
#ifdef STALE_BOUNDS
      if
      :: uppers[thread] = upper[thread]
      :: uppers[thread] = EVERYTHING
      fi;
#else
      d_step { uppers[thread] = upper[thread]; reach[thread] = settled[thread] }
#endif
      if
      :: uppers[thread] >= since ->
        d_step {
          if
          :: source[thread] ->
            tickets = tickets | TICKET(thread);
#ifndef NO_FLAG
            flag[thread] = true
#endif
          :: else ->
#ifdef BLIND_FLAG
            tickets = tickets | TICKET(thread);
            source[thread] = true; flag[thread] = true
#else
#ifdef STALE_TICKET
            tickets = tickets | TICKET(thread)
#else
            skip
#endif
#endif
          fi
        }
      :: else -> tickets = tickets | TICKET(thread)
      fi
    :: else
    fi;
    thread++
  :: else -> break
  od
}

/* ObserverRegistry+Reclamation.swift: scan */
inline scan(since) {
  tickets = 0;
#if !defined(NO_STORE) && !defined(LATE_STORE)
  STORE_CLOCK;
#endif
#ifdef LATE_FORGETTING
  bits = mask;
  collect(since);
  mask = mask & ~(bits & ~inside);
#else
  d_step { bits = mask; mask = 0 }
  collect(since);
#ifndef NO_BIT_AGAIN
  mask = mask | inside;
#endif
#endif
#ifdef LATE_STORE
  STORE_CLOCK;
#endif
  skip;
  d_step { thread = 0; bits = 0; inside = 0 }
}

#ifdef STALE_BOUNDS
#define CAN_REACH(thread, since) true
#else
#define CAN_REACH(thread, since) (reach[thread] >= since)
#endif

/* The tickets of those posts whose upper bound is not below `since`. */
inline filter(since) {
  held = 0;
  if
  :: (tickets & 1) && uppers[0] >= since -> held = held | 1; assert(CAN_REACH(0, since))
  :: else
  fi;
  if
  :: (tickets & 2) && uppers[1] >= since -> held = held | 2; assert(CAN_REACH(1, since))
  :: else
  fi
}

/* ObserverRegistry+Reclamation.swift: keep; what nobody holds is released after the lock. */
inline keep(kept, since) {
  d_step {
    filter(since);
#ifdef NO_KEEPING
    if
    :: kept < FIRST_BUFFER -> held = 0
    :: else
    fi;
#endif
#ifdef NO_KEEPING_BUFFERS
    if
    :: kept >= FIRST_BUFFER -> held = 0
    :: else
    fi;
#endif
    if
    :: held -> retired[kept] = held
    :: else -> released[kept] = true
    fi;
    held = 0
  }
}

/* ObserverList.swift: rebuild; the old buffer is left in `left`. */
inline rebuild() {
  d_step {
    left = buffer;
#ifndef NO_TICK
    clock++;
    STORE_CLOCK;
    entries[left + 1].created = clock;
#else
    entries[left + 1].created = clock + 1;
#endif
    place = 0; end = 0;
    do
    :: place < entries[left].count ->
      if
      :: entries[left].observer[place] ->
        entries[left + 1].observer[end] = entries[left].observer[place];
        entries[left + 1].id[end] = entries[left].id[place];
        end++
      :: else
      fi;
      place++
    :: else -> break
    od;
    entries[left + 1].count = end;
    place = 0; end = 0
  }
  d_step {
#ifdef WEAK
    old[left].replaced = NEXT_STORE;
#endif
    buffer = left + 1
  }
}

/* Entries.swift: withdraw */
inline withdraw() {
  d_step {
    before = entries[buffer].count;
    end = before;
    do
    :: end > 0 && entries[buffer].observer[end - 1] == 0 -> end--
    :: else -> break
    od
  }
  d_step {
#ifdef WEAK
    if
    :: end < before -> old[buffer].withdrawn = NEXT_STORE; old[buffer].count = before
    :: else
    fi;
#endif
    entries[buffer].count = end
  }
}

/* Entries.swift: take */
inline take() {
  d_step {
#ifdef WEAK
    old[buffer].taken[place] = NEXT_STORE;
    old[buffer].observer[place] = entries[buffer].observer[place];
#endif
    entries[buffer].observer[place] = 0
  }
}

/* Entries.swift: restore */
inline restore() {
  d_step {
    newest = 0;
    if
    :: (tickets & 1) && uppers[0] > newest -> newest = uppers[0]
    :: else
    fi;
    if
    :: (tickets & 2) && uppers[1] > newest -> newest = uppers[1]
    :: else
    fi;
    end = before;
    do
    :: end > entries[buffer].count && entries[buffer].id[end - 1] > newest -> end--
    :: else -> break
    od;
    newest = 0
  }
  entries[buffer].count = end
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
    :: place < entries[buffer].count && entries[buffer].observer[place] != who -> place++
    :: else -> break
    od
  }
  if
  :: isLate ->
    if
    :: mustWait ->
#ifndef NO_LATE_WAITING
      scan(idOf[who]);
      d_step { filter(idOf[who]); waiter = held; held = 0 }
#else
      skip
#endif
    :: else
    fi
  :: else ->
#ifndef NO_ENDED_BIT
    ended[who] = true;
#endif
#if !defined(NO_TAKING) && !defined(LATE_TAKING)
    take();
#endif
    /* ObserverList.swift: trim */
#ifndef LATE_WITHDRAWAL
    withdraw();
#endif
    scan(idOf[who]);
#ifdef LATE_TAKING
    take();
#endif
#ifdef LATE_WITHDRAWAL
    withdraw();
#endif
#ifndef NO_RESTORING
    if
    :: tickets -> restore()
    :: else
    fi;
#endif
    d_step { place = 0; end = 0; before = 0; filter(idOf[who]); waits = held; held = 0 }
#ifdef NO_WAITING
    waits = 0;
#endif
    keep(who, idOf[who]);
    /* ObserverList.swift: shrink */
    if
#ifndef NO_CHANGER
    :: buffer < LAST_BUFFER ->
      rebuild();
#ifndef NO_NEW_SCAN
      scan(entries[left].created);
#endif
      keep(left, entries[left].created)
#endif
    :: skip
    fi;
    if
    :: mustWait -> waiter = waits
    :: else
    fi
  fi;
  d_step { tickets = 0; FORGET; waits = 0; left = 0; isLate = false; place = 0 }
  unlock();
  canceled[who] = true;
  if
  :: mustWait -> d_step { !waiter -> assert(!running[who]) }
  :: else
  fi
}

/* ObserverRegistry.swift: add */
inline observe(who) {
  lock();
  /* ObserverList.swift: makeRoom */
  if
  :: entries[buffer].count == ROOM && buffer < LAST_BUFFER -> rebuild()
  :: else
  fi;
  if
  :: entries[buffer].count < ROOM ->
    /* Entries.swift: append */
    d_step { place = entries[buffer].count; idOf[who] = clock + 1 }
#ifdef EARLY_CLOCK
    d_step { clock = idOf[who]; STORE_CLOCK }
#endif
    entries[buffer].observer[place] = who;
    entries[buffer].id[place] = idOf[who];
    entries[buffer].count = place + 1;
#if !defined(EARLY_CLOCK) && !defined(NO_CLOCK)
    d_step { clock = idOf[who]; STORE_CLOCK }
#endif
    if
    :: left ->
      scan(entries[left].created);
      keep(left, entries[left].created)
    :: else
    fi;
    d_step { tickets = 0; FORGET; left = 0; place = 0 }
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
    entries[FIRST_BUFFER].observer[0] = 1;
    entries[FIRST_BUFFER].id[0] = 1;
    entries[FIRST_BUFFER].observer[1] = 2;
    entries[FIRST_BUFFER].id[1] = 2;
    entries[FIRST_BUFFER].count = 2;
    idOf[1] = 1; idOf[2] = 2;
    clock = 2;
    run Poster(0);
#if POSTERS > 1
    run Poster(1);
#endif
#ifndef NO_CHANGER
    run Changer();
#endif
    run Waiter()
  }
  /* Everybody has ended: nothing waits, and what ended has been released. */
  d_step {
    _nr_pr == 1 ->
    assert(NOTHING_WAITS && !flag[0] && !flag[1] && !locked);
    assert(!canceled[1] || released[1]);
    assert(!canceled[2] || released[2]);
    assert(buffer == 4 || released[4]);
    assert(buffer <= 5 || released[5]);
    assert(!released[buffer] && !released[3])
  }
}
