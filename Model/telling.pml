/*
 * A state: which thread makes the calls, and what the observers know.
 *
 * Two threads set a state that two observers follow. The second registers at any time, with a first call,
 * and is paused and resumed. With FINISHED there is one observer, and the state finishes at any time. With
 * DERIVED, three threads set two states, and a state that is derived from both has an observer. The states
 * that are reached in any interleaving are searched for
 *
 *   a lost change        the first observer is not called for a set                                       (K14)
 *   a repeated change    an observer is called with what it knows                                         (K14)
 *   a lost newest value  the second observer ends with another value than the state                       (K14)
 *   a cut end            an observer ends before the changes that were set before the end                  (K7)
 *   an older value       a derived state has an older value of one state after a newer one                (K14)
 *   a wrong number       a derived state has more or fewer values than there were changes                 (K14)
 *
 * A step is what happens under a lock, or a call. A thread may offer the rest after each call of another
 * thread, as if `Turn.foreignLimit` were any number.
 *
 * step NOT_ADDED         Following/StateStorage.swift:addCall       a set during the turn of another thread adds its change
 * step BEGUN_AHEAD       Engine/Memory/Locked.swift:isIdle          no turn begins ahead of calls that wait
 * step NO_LAST_LOOK      Engine/Memory/Locked.swift:end             a turn does not end while calls wait
 * step TWO_TURNS         Engine/Memory/Locked.swift:next            a thread without the turn makes no calls during one
 * step NOT_TAKEN_BACK    Engine/Memory/Locked.swift:makeCalls       an offer that no thread takes is taken back
 * step TOLD_AGAIN        Following/Following.swift:isNew            an observer is not called with what it knows
 * step FIRST_UNASKED     Following/StateStorage.swift:register      an observer that begins asks for the newest value
 * step RESUMED_UNASKED   Engine/Registration.swift:tellMissed       and so does one that resumes and has missed something
 * step MISSED_LATER      Engine/Observer.swift:noteMiss             a paused observer misses in the same step
 * step TURNLESS_END      Following/StateStorage.swift:finish        the end waits for its turn (run 2)
 * step NO_TURN           Following/Taps.swift:take                  one thread at a time computes (run 3)
 * step SLOT_TOO_EARLY    Following/Taps.swift:store                 what was received is stored in that turn (run 3)
 * step LEFT_UNCALLED     Following/StateStorage.swift:inTurn        a thread that adds an update looks for the turn (run 3)
 *
 * run -DSETS=2
 * run -DSETS=2 -DFINISHED
 * run -DSETS=2 -DDERIVED
 */

#include "steps.h"

/* Turn: whether a thread makes calls, and those that wait: two numbers, and the thread that has added them.
 * There is one for each state, and the last is that of the derived state. */
#define TAPS 2
bool isTaken[TAPS + 1];
chan waiting[TAPS + 1] = [8] of { byte, byte, byte };
byte revision[TAPS];

inline begin(t, isBegun) {
  isBegun = !isTaken[t] && (BEGUN_AHEAD || empty(waiting[t]));
  isTaken[t] = isTaken[t] || isBegun
}

/* Turn.next; the call; and maybe Turn.offer. Macros, because a call may make those of another turn. */
#define makeCalls(t, isMine, a, b, call) \
  do \
  :: atomic { \
       if \
       :: isTaken[t] && !isMine && !TWO_TURNS -> break \
       :: else -> \
         isTaken[t] = nempty(waiting[t]); \
         when(!isTaken[t], isMine = false; break); \
         waiting[t] ? a, b, adder; \
         isMine = true; \
         isForeign = adder != _pid \
       fi \
     }; \
     call; \
     if \
     :: isForeign -> atomic { isTaken[t] = false; isMine = false; when(NOT_TAKEN_BACK, break) } \
     :: true \
     fi \
  od

#define endTurn(t, isMine, a, b, call) \
  atomic { isTaken[t] = nempty(waiting[t]) && !NO_LAST_LOOK; isMine = isTaken[t] }; \
  when(isMine, makeCalls(t, isMine, a, b, call))

#if !DERIVED

/* A call of all observers that are registered, of the first alone, or of the second alone; or the end. */
#define ALL 0
#define FIRST 1
#define SECOND 2
#define END 3

bool isRegistered;         /* the second observer is in the list */
bool isPaused, isMissed;   /* its registration word */
bool hasEnded;
byte told[2];              /* Following: what each observer knows */

/* Following.isNew; the observer is called. */
inline hear(observer) {
  d_step {
    if
    :: !TOLD_AGAIN && number <= told[observer] || hasEnded
    :: else ->
      assert(number > told[observer]);
      assert(observer == 1 || number == told[observer] + 1);
      told[observer] = number
    fi
  }
}

/* ObserverRegistry.finish, or its walk: callCarefully, isCalled. */
inline call() {
  when(kind == END, assert(told[0] == number); hasEnded = true);
  when(kind == ALL || kind == FIRST, hear(0));
  if
  :: kind == ALL || kind == SECOND ->
#if MISSED_LATER
    mayCall = !isPaused;
    when(!mayCall, isMissed = true);
#else
    atomic { mayCall = !isPaused; isMissed = isMissed || isPaused };
#endif
    when(mayCall, hear(1))
  :: else
  fi
}

inline leave() { makeCalls(0, isMine, kind, number, call()) }

/* StateStorage.tellNewest */
inline ask() {
  waiting[0] ! SECOND, revision[0], _pid;
  leave()
}

proctype Second() {
  byte kind, number, adder;
  bool isMine, isForeign, mayCall, isToAsk;
  isRegistered = true;
  step(FIRST_UNASKED, ask());
  isPaused = true;
  /* Observer.swift: resume */
  atomic { isPaused = false; isToAsk = isMissed; isMissed = false }
  step(RESUMED_UNASKED, when(isToAsk, ask()))
}

/* StateStorage.finish */
proctype Finish() {
  byte kind, number, adder;
  bool isMine, isForeign, mayCall;
#if TURNLESS_END
  d_step { kind = END; number = revision[0] };
  call()
#else
  waiting[0] ! END, revision[0], _pid;
  leave()
#endif
}

#else

/* The slots of the taps, and what the derived state had last. */
byte slot[TAPS], last[TAPS];

/* Taps.store; the values are read one after the other, and the observer is called. */
inline compute() {
  step(SLOT_TOO_EARLY, slot[tap] = update);
  one = slot[0];
  two = slot[1];
  d_step {
    assert(one >= last[0] && two >= last[1]);
    assert(one + two == last[0] + last[1] + 1);
    last[0] = one;
    last[1] = two;
    one = 0; two = 0
  }
}

/* Taps.take */
inline call() {
  d_step { tap = mine; update = number };
  moved(SLOT_TOO_EARLY, slot[tap] = update;)
#if NO_TURN
  compute()
#else
  atomic { begin(TAPS, hasTaps) };
  if
  :: hasTaps -> compute(); endTurn(TAPS, hasTaps, tap, update, compute())
  :: else ->
    waiting[TAPS] ! tap, update, _pid;
    step(LEFT_UNCALLED, makeCalls(TAPS, hasTaps, tap, update, compute()))
  fi
#endif
}

inline leave() { makeCalls(mine, isMine, kind, number, call()) }

#endif

/* StateStorage.set; tellFirst, or leave. */
proctype Setter(byte mine) {
  byte count, kind, number, adder, tap, update, one, two;
  bool isMine, isForeign, mayCall, hasTaps;
  for (count : 1 .. SETS) {
    atomic {
      revision[mine]++;
      number = revision[mine];
#if !DERIVED
      /* Place.limit */
      kind = (isRegistered -> ALL : FIRST);
#endif
      begin(mine, isMine);
      when(!isMine, step(NOT_ADDED, waiting[mine] ! kind, number, _pid))
    };
    if
    :: isMine -> call(); endTurn(mine, isMine, kind, number, call())
    :: else -> leave()
    fi
  }
}

init {
  byte turn;
  atomic {
    run Setter(0);
    run Setter(0);
#if DERIVED
    run Setter(1)
#elif FINISHED
    run Finish()
#else
    run Second()
#endif
  }
  _nr_pr == 1 ->
  d_step {
    for (turn : 0 .. TAPS) { assert(!isTaken[turn] && empty(waiting[turn])) }
#if DERIVED
    assert(last[0] == revision[0] && last[1] == revision[1])
#elif FINISHED
    assert(hasEnded)
#else
    assert(told[0] == revision[0] && told[1] == revision[0])
#endif
  }
}
