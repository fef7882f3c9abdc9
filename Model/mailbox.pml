/*
 * The mailbox of a target: what posts leave there, and who wakes the target for it.
 *
 * Two threads post, one of them on the target for some of its posts; the target ends at any time, or
 * does not. A job takes what has gathered in batches and gives way to others after so many. The
 * states that are reached in any interleaving are searched for
 *
 *   a lost wake-up        everybody has ended and something waits in the mailbox               (K6, K10)
 *   an overlap            two deliveries of one target run at once                             (K6)
 *   a wrong order         the messages of a poster arrive in another order, or twice           (K6, K11)
 *   a wake-up too many    more than one job waits for a target                                 (K6)
 *
 * Everything but `mayBeIdle` happens under the mailbox's lock, so a step here is one such section.
 *
 * step NO_SCHEDULING      Delivery/Mailbox.swift:append                         who finds the mailbox idle wakes the target
 * step NO_IDLE_CHECK      Delivery/Mailbox.swift:begin                          and nobody else does
 * step NO_INLINE_CHECK    Delivery/Mailbox.swift:beginInline                    who runs inline takes the target first
 * step NO_RETURN          Delivery/Mailbox.swift:endInline                      and gives it back
 * step NO_RESCHEDULING    Delivery/Mailbox.swift:endInline                      with what came meanwhile
 * step NO_BECOMING_IDLE   Delivery/Mailbox.swift:take                           an emptied mailbox is idle
 * step EARLY_IDLE         Delivery/Mailbox.swift:take                           and not before the last batch was delivered
 * step LATE_IDLE          Delivery/Mailbox.swift:take                           which is decided when it is seen empty
 * step NO_GOING_ON        Delivery/Mailbox.swift:drain                          a job that gives way leaves another
 * step IDLE_GIVING_WAY    Delivery/Mailbox.swift:becomeIdle                     unless nothing waits
 * step NO_DISCARDING      Delivery/DeliveryJob.swift:deinit                     a job that is never run discards what waits
 *
 * run -DPOSTS=2
 * run -DPOSTS=3 -DONE_INLINE
 */

#ifndef POSTS
#define POSTS 2
#endif
#define POSTERS 2
#define ROOM (POSTERS * POSTS + 1)
#define LIMIT 2  /* batchLimit */

mtype = { idle, scheduled, inline_ };

mtype activity = idle;
/* What waits: the poster in the upper bits, its number in the lower. */
chan filling = [ROOM] of { byte };

/* The jobs that the target has and has not run. */
byte jobs;
bool hasEnded;

/* What the search watches. */
byte busy;                 /* deliveries that run at the target */
byte newest[POSTERS];      /* the last number that came of a poster */
byte discarded, delivered;
/* The target's own thread: runs jobs, or a poster that is on it. */
bool targetThread;

inline deliver(message) {
  d_step {
    assert(newest[(message) / 8] < (message) % 8);
    newest[(message) / 8] = (message) % 8;
    delivered++
  }
}

/* A job that comes to a target that has ended is released at once. */
inline enqueue() {
  if
  :: !hasEnded -> jobs++; assert(jobs <= 1)
  :: else -> discardAll()
  fi
}

/* DeliveryJob.swift: deinit; Mailbox.swift: discardPending */
inline discardAll() {
#ifndef NO_DISCARDING
  do
  :: filling ? _ -> discarded++
  :: empty(filling) -> activity = idle; break
  od
#else
  skip
#endif
}

/* Mailbox.swift: append, begin */
inline append(message) {
  atomic {
    filling ! message;
    if
#ifndef NO_SCHEDULING
#ifdef NO_IDLE_CHECK
    :: true ->
#else
    :: activity == idle ->
#endif
      activity = scheduled; mustSchedule = true
#endif
    :: else -> mustSchedule = false
    fi
  }
  if
  :: mustSchedule -> atomic { mustSchedule = false; enqueue() }
  :: else
  fi
}

/* A poster elsewhere. */
proctype Poster(byte self) {
  byte number = 1;
  bool mustSchedule;
  do
  :: number <= POSTS -> append(self * 8 + number); number++
  :: else -> break
  od
}

/* A poster whose code runs on the target: it may find that it can call the observers itself. */
proctype Inside(byte self) {
  byte number = 1;
  bool mustSchedule, mayBeIdle;
  do
  :: number <= POSTS ->
    /* It has the target's thread while it posts; observers run inline or when the job does. */
    atomic { !targetThread -> targetThread = true }
    mayBeIdle = activity == idle;
#ifdef NO_INLINE_CHECK
    if
    :: mayBeIdle -> activity = inline_
    :: else
    fi;
#else
    atomic {
      if
      :: mayBeIdle && activity == idle -> activity = inline_
      :: else -> mayBeIdle = false
      fi
    }
#endif
    if
    :: mayBeIdle ->
      busy++;
      assert(busy == 1);
      deliver(self * 8 + number);
      busy--;
      /* endInline */
      atomic {
#ifndef NO_RETURN
        if
        :: empty(filling) -> activity = idle
        :: nempty(filling) -> activity = scheduled; mustSchedule = true
        fi
#else
        skip
#endif
      }
      if
      :: mustSchedule ->
#ifndef NO_RESCHEDULING
        atomic { mustSchedule = false; enqueue() }
#else
        mustSchedule = false
#endif
      :: else
      fi
    :: else -> append(self * 8 + number)
    fi;
    number++;
    targetThread = false
  :: else -> break
  od
}

/* The target: runs its jobs one at a time, as long as somebody may post. */
proctype Target() {
  byte batch[ROOM], size, place, count;
  bool isLast, mustSchedule;
  do
  :: atomic { jobs && !hasEnded && !targetThread -> targetThread = true; jobs--; count = 0 }
    do
    :: /* Mailbox.swift: take */
      atomic {
        size = 0; place = 0;
        isLast = empty(filling);
        do
        :: filling ? batch[size] -> size++
        :: empty(filling) -> break
        od;
#ifdef EARLY_IDLE
        activity = idle
#elif !defined(NO_BECOMING_IDLE) && !defined(LATE_IDLE)
        if
        :: isLast -> activity = idle
        :: else
        fi
#endif
      }
#ifdef LATE_IDLE
      if
      :: isLast -> activity = idle
      :: else
      fi;
#endif
      if
      :: isLast -> break
      :: else
      fi;
      busy++;
      assert(busy == 1);
      do
      :: place < size -> deliver(batch[place]); batch[place] = 0; place++
      :: else -> break
      od;
      busy--;
      count = count + size;
      if
      :: count >= LIMIT ->
        /* becomeIdle, and another job if something waits */
        atomic {
#ifdef IDLE_GIVING_WAY
          activity = idle;
          mustSchedule = false
#else
          if
          :: empty(filling) -> activity = idle
          :: nempty(filling) -> mustSchedule = true
          fi
#endif
        }
#ifndef NO_GOING_ON
        if
        :: mustSchedule -> atomic { mustSchedule = false; enqueue() }
        :: else
        fi;
#else
        mustSchedule = false;
#endif
        break
      :: else
      fi
    od;
    atomic { size = 0; place = 0; count = 0; isLast = false; targetThread = false }
  :: hasEnded -> break
  :: timeout -> break
  od
}

/* The end of the target: it lets go of its jobs, or never comes. */
proctype End() {
  if
  :: skip
  :: atomic {
      hasEnded = true;
      if
      :: jobs -> jobs = 0; discardAll()
      :: else
      fi
    }
  fi
}

init {
  atomic {
    run Poster(0);
#ifdef ONE_INLINE
    run Inside(1);
#else
    run Poster(1);
#endif
    run Target();
    run End()
  }
  d_step {
    _nr_pr == 1 ->
    assert(empty(filling));
    assert(activity == idle);
    assert(delivered + discarded == POSTERS * POSTS);
    assert(hasEnded || discarded == 0)
  }
}
