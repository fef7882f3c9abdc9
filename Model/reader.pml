/*
 * The reader of a sequence: how it waits, and who wakes it.
 *
 * Two threads post to a buffer that a task reads, and the source ends, or the reader's task is canceled, at
 * any time. The reader takes what is there. If there is nothing it leaves a continuation, and then says
 * that it waits. The states that are reached in any interleaving are searched for
 *
 *   a lost wake-up       the reader waits, and there is something to read or nothing will come any more
 *   a second wake-up     a continuation is resumed twice, or none is there for whoever is to resume it
 *   a lost value         what was taken in is neither read nor given up
 *   a wrong order        the values of a poster are read in another order, or twice             (K6)
 *   a full buffer        a value is dropped though the reader waits for it                      (K12)
 *
 * The state and the continuation have a lock each, so a step here is one such section.
 *
 * step NO_WAKING          Engine/Mailbox/MailboxState.swift:admit                      what comes wakes a reader that waits
 * step WAKING_TWICE       Engine/Mailbox/MailboxState.swift:admit                      once
 * step NO_ROOM            Engine/Mailbox/MailboxState.swift:admit                      and takes no room in the buffer
 * step WAITING_BLINDLY    Engine/Mailbox/MailboxState.swift:wait                       who waits has looked for what came meanwhile
 * step WAITING_AFTER_END  Engine/Mailbox/MailboxState.swift:wait                       and for the end
 * step NO_WAKING_AT_END   Engine/Mailbox/MailboxState.swift:finish                     the end wakes a reader that waits
 * step TAKING_IN_LATE     Engine/Mailbox/MailboxState.swift:admit                      what comes after the end is refused
 * step NEWER_FIRST        Engine/Mailbox/MailboxState.swift:read                       what a reader was woken for is read first
 * step LATE_CONTINUATION  Delivery/SequenceBuffer.swift:wait                     the continuation is there before the reader waits
 * step NO_GOING_ON        Delivery/SequenceBuffer.swift:wait                     a reader that need not wait resumes itself
 * step LEAVING_VALUES     Delivery/SequenceBuffer.swift:finish                   a canceled reader leaves nothing behind (run 2)
 *
 * run -DPOSTS=3
 * run -DPOSTS=2 -DCANCELED
 * run -DPOSTS=3 -DUNBOUNDED
 */

#include "steps.h"

#define POSTERS 2
#define ROOM (POSTERS * POSTS)
#define CAPACITY (UNBOUNDED -> ROOM : 1)

/* The state: the poster of a value in the upper bits, its number in the lower. */
chan filling = [ROOM] of { byte };
chan rest = [ROOM] of { byte };
bool isAwaited, isClosed;

/* The continuation that the reader left, and whether it was resumed. */
bool isLeft, isResumed;

/* What the search watches. */
byte newest[POSTERS];      /* the last number that was read of a poster */
byte taken, read;
bool isPromised;           /* what waits was brought for a reader that waited, the first of it */
bool hasEnded;
#define isEmpty (len(filling) + len(rest) == 0)

/* SequenceBuffer.swift: wake */
inline wake() {
  d_step {
    assert(isLeft);
    assert(!isResumed);
    isLeft = false;
    isResumed = true
  }
}

proctype Poster(byte self) {
  byte number;
  bool mustWake;
  for (number : 1 .. POSTS) {
    /* MailboxState.swift: admit */
    atomic {
      mustWake = false;
      if
      :: isClosed && !TAKING_IN_LATE
      :: isAwaited && (!isClosed || TAKING_IN_LATE) ->
        isPromised = true; taken++;
        if :: NO_ROOM -> filling ! self * 8 + number :: else -> rest ! self * 8 + number fi;
        step(WAKING_TWICE, isAwaited = false);
        step(NO_WAKING, mustWake = true)
      :: else ->
        if
        :: len(filling) < CAPACITY -> filling ! self * 8 + number; taken++
        :: else -> assert(len(filling) + len(rest) - isPromised >= CAPACITY)
        fi
      fi
    }
    when(mustWake, wake())
  }
}

#define LEAVE d_step { isLeft = true; isResumed = false }

/* SequenceBuffer.swift: next, wait */
proctype Reader() {
  byte message;
  bool waits, isFinal;
  do
  :: hasEnded -> break
  :: else ->
    /* MailboxState.swift: read */
    atomic {
      isFinal = false; isPromised = false;
      message = 0;
      if
      :: nempty(rest) && (empty(filling) || !NEWER_FIRST) -> rest ? message
      :: nempty(filling) && (empty(rest) || NEWER_FIRST) -> filling ? message
      :: else -> isFinal = isClosed
      fi
    }
    if
    :: message > 0 ->
      d_step {
        assert(newest[message / 8] < message % 8);
        newest[message / 8] = message % 8;
        read++
      }
    :: message == 0 && isFinal -> break
    :: else ->
      step(LATE_CONTINUATION, LEAVE);
      /* MailboxState.swift: wait */
      atomic {
        waits = (isEmpty || WAITING_BLINDLY) && (!isClosed || WAITING_AFTER_END);
        when(waits, isAwaited = true)
      }
      moved(LATE_CONTINUATION, LEAVE;)
      when(!waits && !NO_GOING_ON, wake());
      isResumed
    fi
  od;
  isFinal = false; waits = false
}

/* SequenceBuffer.swift: finish; MailboxState.swift: finish, giveUp */
proctype End() {
  byte message;
  bool mustWake;
  hasEnded = CANCELED;
  atomic { isClosed = true; mustWake = isAwaited; isAwaited = false }
  when(mustWake && !NO_WAKING_AT_END, wake());
  if
  :: CANCELED && !LEAVING_VALUES ->
    do
    :: atomic { rest ? message -> taken-- }
    :: atomic { empty(rest) && nempty(filling) -> filling ? message; taken-- }
    :: isEmpty -> break
    od
  :: else
  fi
}

init {
  atomic {
    run Poster(0);
    run Poster(1);
    run Reader();
    run End()
  }
  d_step {
    _nr_pr == 1 ->
    assert(isEmpty && read == taken)
  }
}
