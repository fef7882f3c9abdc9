/*
 * The mailbox of a target: what posts leave there, and who wakes the target for it.
 *
 * Two threads post, the second one more urgently, or on the target for some of its posts; the target
 * ends at any time, or does not. A job takes what has gathered in batches and gives way to others
 * after so many, in the middle of a batch too. A concurrent target runs several jobs at once. The
 * states that are reached in any interleaving are searched for
 *
 *   a lost wake-up        everybody has ended and something waits in the mailbox               (K6, K10)
 *   an overlap            two deliveries of one target run at once                             (K6)
 *   a wrong order         the messages of a poster arrive in another order, or twice           (K6, K11)
 *   a wake-up too many    more than one job of one priority is on its way                      (K6)
 *   an inversion          an urgent message waits and no urgent job is on its way
 *   too long a turn       a job delivers more than its share
 *
 * At the mailbox of a target everything but the look at `mayBeIdle` is decided under the lock, so a step
 * here is one such section.
 *
 * step NO_SCHEDULING      Delivery/Activity.swift:arrive                        who finds the mailbox idle wakes the target
 * step NO_RAISING         Delivery/Activity.swift:arrive                        and who is more urgent than the jobs on their way
 * step NO_WANTING         Delivery/Activity.swift:arrive                        a drain takes in how urgent those are that come
 * step NO_HANDING_OVER    Delivery/Activity.swift:begin                         and the job that finds it at work (run 3)
 * step NO_IDLE_CHECK      Delivery/Activity.swift:request                       and nobody else does
 * step NO_INLINE_CHECK    Delivery/Activity.swift:beginInline                   who runs inline takes the target first (run 4)
 * step NO_RETURN          Delivery/MailboxState.swift:endInline                 and gives it back (run 2)
 * step NO_RESCHEDULING    Delivery/MailboxState.swift:endInline                 with what came meanwhile (run 2)
 * step NO_BEGIN_CHECK     Delivery/Activity.swift:begin                         of several jobs one delivers (run 3)
 * step NO_ARRIVING        Delivery/Activity.swift:begin                         and a job that begins is no longer on its way
 * step NO_BECOMING_IDLE   Delivery/MailboxState.swift:take                      an emptied mailbox is idle
 * step EARLY_IDLE         Delivery/MailboxState.swift:take                      and not before the last batch was delivered (run 3)
 * step LATE_IDLE          Delivery/MailboxState.swift:take                      which is decided when it is seen empty
 * step NO_LIMIT           Delivery/Mailbox.swift:drain                          a job stops in the middle of a batch
 * step NO_GOING_ON        Delivery/MailboxState.swift:giveWay                   a job that gives way leaves another
 * step IDLE_GIVING_WAY    Delivery/MailboxState.swift:giveWay                   unless nothing waits
 * step REST_LOST          Delivery/MailboxState.swift:giveWay                   the rest of the batch is kept
 * step REST_LAST          Delivery/MailboxState.swift:begin                        and comes before what is newer
 * step NO_DISCARDING      Delivery/DeliveryJob.swift:deinit                     a job that is never run discards what waits
 *
 * run -DPOSTS=3
 * run -DPOSTS=3 -DONE_INLINE
 * run -DPOSTS=2 -DCONCURRENT
 * run -DPOSTS=2 -DCONCURRENT -DONE_INLINE
 */

#ifndef POSTS
#define POSTS 2
#endif
#define POSTERS 2
#define ROOM (POSTERS * POSTS + 1)
#define LIMIT 2  /* DrainTurn.deliveryLimit */

mtype = { idle, scheduled, draining, inline_ };

mtype activity = idle;
/* Whether a job of that priority is on its way: 0 is low, 1 is urgent. */
bool isOnWay[2];
/* Whether something urgent has come since the drain began. */
bool wanted;
/* What waits: the poster in the upper bits, its number in the lower. */
chan filling = [ROOM] of { byte };
/* What a job left of its batch. */
chan rest = [ROOM] of { byte };
/* What the job that delivers has taken. */
chan batch = [ROOM] of { byte };

/* The jobs that the target has and has not run. */
byte jobs[2];
bool hasEnded;

/* What the search watches. */
byte busy;                 /* deliveries that run at the target */
byte newest[POSTERS];      /* the last number that came of a poster */
byte discarded, delivered;
/* The target's own thread: runs jobs, or a poster that is on it. */
bool targetThread;
#define isEmpty (len(filling) + len(rest) == 0)
/* Whether the last message of the urgent poster has not been taken: its messages come in order. */
byte sent;
#define isUrgentWaiting (sent > newest[1])

inline deliver(message) {
  d_step {
    assert(newest[(message) / 8] < (message) % 8);
    newest[(message) / 8] = (message) % 8;
    delivered++
  }
}

/* A job that comes to a target that has ended is released at once. */
inline enqueue(urgency) {
  if
  :: !hasEnded -> jobs[urgency]++; assert(jobs[urgency] <= 1)
  :: else -> discardAll(urgency)
  fi
}

/* DeliveryJob.swift: deinit; Mailbox.swift: discardPending; MailboxState.swift: giveUp */
inline discardAll(urgency) {
#ifndef NO_DISCARDING
  do
  :: rest ? _ -> discarded++
  :: len(rest) == 0 && len(filling) > 0 -> filling ? _; discarded++
  :: isEmpty ->
    isOnWay[urgency] = false;
    if
    :: activity == scheduled -> activity = idle
    :: else
    fi;
    break
  od
#else
  skip
#endif
}

/* Activity.swift: request */
inline request(urgency) {
  if
#ifndef NO_IDLE_CHECK
  :: isOnWay[1] || (urgency == 0 && isOnWay[0])
#endif
  :: else -> isOnWay[urgency] = true; mustSchedule = true
  fi
}

/* MailboxState.swift: append; Activity.swift: arrive */
inline append(message, urgency) {
  atomic {
    filling ! message;
    sent = ((message) / 8 == 1 -> (message) % 8 : sent);
    mustSchedule = false;
    if
#ifndef NO_SCHEDULING
    :: activity == idle -> activity = scheduled; request(urgency)
#endif
#ifndef NO_RAISING
    :: activity == scheduled -> request(urgency)
#endif
#ifndef NO_WANTING
    :: activity == draining || activity == inline_ -> wanted = wanted || urgency
#endif
    :: else
    fi;
    assert(activity != scheduled || urgency == 0 || isOnWay[1])
  }
  if
  :: mustSchedule -> atomic { mustSchedule = false; enqueue(urgency) }
  :: else
  fi
}

/* A poster elsewhere. */
proctype Poster(byte self) {
  byte number = 1;
  bool mustSchedule;
  do
  :: number <= POSTS -> append(self * 8 + number, self); number++
  :: else -> break
  od
}

/* A poster whose code runs on the target: it may find that it can call the observers itself. */
proctype Inside(byte self) {
  byte number = 1, urgency;
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
        mustSchedule = false;
#ifndef NO_RETURN
        if
        :: isEmpty -> activity = idle
        :: else ->
          urgency = (wanted -> 1 : self);
          activity = scheduled;
          request(urgency)
        fi;
        wanted = false;
        assert(hasEnded || !isUrgentWaiting || isOnWay[1])
#else
        skip
#endif
      }
      if
      :: mustSchedule ->
#ifndef NO_RESCHEDULING
        atomic { mustSchedule = false; enqueue(urgency) }
#else
        mustSchedule = false
#endif
      :: else
      fi
    :: else -> append(self * 8 + number, self)
    fi;
    number++;
    targetThread = false
  :: else -> break
  od
}

/* MailboxState.swift: begin, which takes the rest of a batch first, and take */
inline takeBatch() {
#ifndef REST_LAST
  if
  :: len(rest) > 0 -> do :: rest ? message -> batch ! message :: empty(rest) -> break od
  :: else -> do :: filling ? message -> batch ! message :: empty(filling) -> break od
  fi
#else
  if
  :: len(filling) > 0 -> do :: filling ? message -> batch ! message :: empty(filling) -> break od
  :: else -> do :: rest ? message -> batch ! message :: empty(rest) -> break od
  fi
#endif
}

/* A thread of the target: runs jobs, as long as somebody may post. */
proctype Target() {
  byte message, count, urgency;
  bool isLast, mustSchedule, mayDeliver;
  do
  :: atomic {
#ifndef CONCURRENT
      (jobs[0] || jobs[1]) && !hasEnded && !targetThread -> targetThread = true;
#else
      (jobs[0] || jobs[1]) && !hasEnded ->
#endif
      count = 0;
      if
      :: jobs[1] -> urgency = 1
      :: jobs[0] -> urgency = 0
      fi;
      jobs[urgency]--
    }
    /* Activity.swift: begin */
    atomic {
#ifndef NO_ARRIVING
      isOnWay[urgency] = false;
#endif
#ifdef NO_BEGIN_CHECK
      mayDeliver = activity != idle;
#else
      mayDeliver = activity == scheduled;
#endif
      if
      :: mayDeliver -> activity = draining; takeBatch()
#ifndef NO_HANDING_OVER
      :: !mayDeliver && activity == draining -> wanted = wanted || urgency
#endif
      :: else
      fi
    }
    do
    :: !mayDeliver -> break
    :: mayDeliver ->
      busy++;
      assert(busy == 1);
      do
#ifndef NO_LIMIT
      :: len(batch) > 0 && count < LIMIT ->
#else
      :: len(batch) > 0 ->
#endif
        batch ? message; deliver(message); count++; assert(count <= LIMIT)
      :: else -> break
      od;
      busy--;
      if
      :: count >= LIMIT ->
        /* giveWay, and another job if something waits */
        atomic {
          mustSchedule = false;
#ifdef REST_LOST
          do :: batch ? message :: empty(batch) -> break od;
#else
          do :: batch ? message -> rest ! message :: empty(batch) -> break od;
#endif
#ifdef IDLE_GIVING_WAY
          activity = idle
#else
          if
          :: isEmpty -> activity = idle
          :: else ->
            urgency = (wanted -> 1 : urgency);
            activity = scheduled;
            request(urgency)
          fi;
          wanted = false;
          assert(hasEnded || !isUrgentWaiting || isOnWay[1])
#endif
        }
#ifndef NO_GOING_ON
        if
        :: mustSchedule -> atomic { mustSchedule = false; enqueue(urgency) }
        :: else
        fi;
#else
        mustSchedule = false;
#endif
        break
      :: else
      fi;
      /* MailboxState.swift: take */
      atomic {
        isLast = isEmpty;
        takeBatch();
#ifdef EARLY_IDLE
        activity = idle
#elif !defined(NO_BECOMING_IDLE) && !defined(LATE_IDLE)
        if
        :: isLast -> activity = idle; wanted = false
        :: else
        fi
#endif
      }
#ifdef LATE_IDLE
      if
      :: isLast -> activity = idle; wanted = false
      :: else
      fi;
#endif
      if
      :: isLast -> break
      :: else
      fi
    od;
    atomic {
#ifndef CONCURRENT
      targetThread = false;
#endif
      message = 0; count = 0; urgency = 0; isLast = false; mayDeliver = false
    }
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
      :: jobs[0] -> jobs[0] = 0; discardAll(0)
      :: else
      fi;
      if
      :: jobs[1] -> jobs[1] = 0; discardAll(1)
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
#ifdef CONCURRENT
    run Target();
#endif
    run End()
  }
  d_step {
    _nr_pr == 1 ->
    assert(isEmpty);
    assert(activity == idle);
    assert(delivered + discarded == POSTERS * POSTS);
    assert(hasEnded || discarded == 0)
  }
}
