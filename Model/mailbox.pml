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
 * step NO_SCHEDULING    Engine/Mailbox/MailboxState.swift:arrive      who finds the mailbox idle wakes the target
 * step NO_RAISING       Engine/Mailbox/MailboxState.swift:arrive      and who is more urgent than the jobs on their way
 * step NO_WANTING       Engine/Mailbox/MailboxState.swift:arrive      a drain takes in how urgent those are that come
 * step NO_HANDING_OVER  Engine/Mailbox/MailboxState.swift:begin       and the job that finds it at work (run 3)
 * step NO_IDLE_CHECK    Engine/Mailbox/MailboxState.swift:request     and nobody else does
 * step NO_INLINE_CHECK  Engine/Mailbox/MailboxState.swift:beginInline who runs inline takes the target first (run 4)
 * step NO_RETURN        Engine/Mailbox/MailboxState.swift:endInline   and gives it back (run 2)
 * step NO_RESCHEDULING  Engine/Mailbox/MailboxState.swift:endInline   with what came meanwhile (run 2)
 * step NO_BEGIN_CHECK   Engine/Mailbox/MailboxState.swift:begin       of several jobs one delivers (run 3)
 * step NO_ARRIVING      Engine/Mailbox/MailboxState.swift:begin       and a job that begins is no longer on its way
 * step NO_BECOMING_IDLE Engine/Mailbox/MailboxState.swift:take        an emptied mailbox is idle
 * step EARLY_IDLE       Engine/Mailbox/MailboxState.swift:take        and not before the last batch was delivered (run 3)
 * step LATE_IDLE        Engine/Mailbox/MailboxState.swift:take        which is decided when it is seen empty
 * step NO_LIMIT         Engine/Mailbox/Mailbox.swift:drain            a job stops in the middle of a batch
 * step NO_GOING_ON      Engine/Mailbox/MailboxState.swift:giveWay     a job that gives way leaves another
 * step IDLE_GIVING_WAY  Engine/Mailbox/MailboxState.swift:giveWay     unless nothing waits
 * step REST_LOST        Engine/Mailbox/MailboxState.swift:giveWay     the rest of the batch is kept
 * step REST_LAST        Engine/Mailbox/MailboxState.swift:begin       and comes before what is newer
 * step NO_DISCARDING    Engine/Mailbox/DeliveryJob.swift:deinit       a job that is never run discards what waits
 *
 * run -DPOSTS=3
 * run -DPOSTS=3 -DONE_INLINE
 * run -DPOSTS=2 -DCONCURRENT
 * run -DPOSTS=2 -DCONCURRENT -DONE_INLINE
 */

#include "steps.h"

#define POSTERS 2
#define ROOM (POSTERS * POSTS + 1)
#define LIMIT 2  /* DrainBudget.deliveryLimit */

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
  do
  :: NO_DISCARDING -> break
  :: rest ? _ -> discarded++
  :: len(rest) == 0 && len(filling) > 0 -> filling ? _; discarded++
  :: isEmpty ->
    isOnWay[urgency] = false;
    when(activity == scheduled, activity = idle);
    break
  od
}

/* MailboxState.swift: request */
inline request(urgency) {
  when(NO_IDLE_CHECK || !isOnWay[1] && (urgency == 1 || !isOnWay[0]),
    isOnWay[urgency] = true; mustSchedule = true)
}

/* MailboxState.swift: another job, if something waits */
inline requestNext(urgency_) {
  if
  :: isEmpty -> activity = idle
  :: else -> urgency = (wanted -> 1 : urgency_); activity = scheduled; request(urgency)
  fi;
  wanted = false;
  assert(hasEnded || !isUrgentWaiting || isOnWay[1])
}

#define schedule(fault) when(mustSchedule, atomic { mustSchedule = false; step(fault, enqueue(urgency)) })

/* MailboxState.swift: append, arrive */
inline append(message, urgency) {
  atomic {
    filling ! message;
    sent = ((message) / 8 == 1 -> (message) % 8 : sent);
    mustSchedule = false;
    if
    :: activity == idle && !NO_SCHEDULING -> activity = scheduled; request(urgency)
    :: activity == scheduled && !NO_RAISING -> request(urgency)
    :: (activity == draining || activity == inline_) && !NO_WANTING -> wanted = wanted || urgency
    :: else
    fi;
    assert(activity != scheduled || urgency == 0 || isOnWay[1])
  }
  schedule(0)
}

/* A poster elsewhere. */
proctype Poster(byte self) {
  byte number, urgency = self;
  bool mustSchedule;
  for (number : 1 .. POSTS) { append(self * 8 + number, urgency) }
}

/* A poster whose code runs on the target: it may find that it can call the observers itself. */
proctype Inside(byte self) {
  byte number, urgency;
  bool mustSchedule, mayBeIdle;
  for (number : 1 .. POSTS) {
    /* It has the target's thread while it posts; observers run inline or when the job does. */
    atomic { !targetThread -> targetThread = true };
    mayBeIdle = activity == idle;
    atomic {
      mayBeIdle = mayBeIdle && (NO_INLINE_CHECK || activity == idle);
      when(mayBeIdle, activity = inline_)
    };
    if
    :: mayBeIdle ->
      busy++;
      assert(busy == 1);
      deliver(self * 8 + number);
      busy--;
      /* endInline */
      atomic { mustSchedule = false; step(NO_RETURN, requestNext(self)) };
      schedule(NO_RESCHEDULING)
    :: else -> urgency = self; append(self * 8 + number, urgency)
    fi;
    targetThread = false
  }
}

/* MailboxState.swift: begin, which takes the rest of a batch first, and take */
inline takeBatch() {
  if
  :: REST_LAST && len(filling) > 0 || len(rest) == 0 -> move(filling, batch)
  :: else -> move(rest, batch)
  fi
}

/* A thread of the target: runs jobs, as long as somebody may post. */
proctype Target() {
  byte message, count, urgency;
  bool isLast, mustSchedule, mayDeliver;
  do
  :: atomic {
      (jobs[0] || jobs[1]) && !hasEnded && (CONCURRENT || !targetThread) ->
      targetThread = targetThread || !CONCURRENT;
      count = 0;
      urgency = (jobs[1] -> 1 : 0);
      jobs[urgency]--
    }
    /* MailboxState.swift: begin */
    atomic {
      step(NO_ARRIVING, isOnWay[urgency] = false);
      mayDeliver = activity == scheduled || NO_BEGIN_CHECK && activity != idle;
      if
      :: mayDeliver -> activity = draining; takeBatch()
      :: else -> when(!NO_HANDING_OVER && activity == draining, wanted = wanted || urgency)
      fi
    }
    do
    :: !mayDeliver -> break
    :: mayDeliver ->
      busy++;
      assert(busy == 1);
      do
      :: len(batch) > 0 && (NO_LIMIT || count < LIMIT) ->
        batch ? message; deliver(message); count++; assert(count <= LIMIT)
      :: else -> break
      od;
      busy--;
      if
      :: count >= LIMIT ->
        /* giveWay */
        atomic {
          mustSchedule = false;
          if
          :: REST_LOST -> do :: batch ? message :: empty(batch) -> break od
          :: else -> move(batch, rest)
          fi;
          if
          :: IDLE_GIVING_WAY -> activity = idle
          :: else -> requestNext(urgency)
          fi
        }
        schedule(NO_GOING_ON);
        break
      :: else
      fi;
      /* MailboxState.swift: take */
      atomic {
        isLast = isEmpty;
        takeBatch();
        when(EARLY_IDLE, activity = idle);
        when(isLast && !EARLY_IDLE && !NO_BECOMING_IDLE && !LATE_IDLE, activity = idle; wanted = false)
      }
      when(isLast && LATE_IDLE, activity = idle; wanted = false);
      when(isLast, break)
    od;
    atomic {
      targetThread = targetThread && CONCURRENT;
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
      when(jobs[0], jobs[0] = 0; discardAll(0));
      when(jobs[1], jobs[1] = 0; discardAll(1))
    }
  fi
}

init {
  atomic {
    run Poster(0);
    if
    :: ONE_INLINE -> run Inside(1)
    :: else -> run Poster(1)
    fi;
    run Target();
    when(CONCURRENT, run Target());
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
