/*
 * A state: who tells its changes, and what its observers know.
 *
 * Two threads set a state that two observers follow. The second registers at any time, with a first call,
 * and is paused and resumed. With DERIVED, three threads set two states, and a state that is derived from
 * both has an observer. The states that are reached in any interleaving are searched for
 *
 *   a lost change        the first observer does not hear of a set, or the last of them is told to nobody (K14)
 *   a repeated change    an observer is called with what it knows                                         (K14)
 *   a lost newest value  the second observer ends with another value than the state                       (K14)
 *   an older value       a derived state tells an older value of one state after a newer one              (K14)
 *   a wrong number       a derived state tells more or fewer values than there were changes               (K14)
 *
 * A step is what happens under a lock, or a call. Offers to other threads are left out: they only move the
 * turn.
 *
 * step NOT_QUEUED        Broadcaster/StateStorage.swift:set                  who sets while another tells leaves the change there
 * step NO_LAST_LOOK      Following/Teller.swift:end                         who tells looks for changes before it stops
 * step TOLD_AGAIN        Following/Following.swift:isNew                     what an observer knows is not told
 * step FIRST_UNASKED     Broadcaster/StateStorage.swift:register             an observer that begins asks for the newest value
 * step RESUMED_UNASKED   Lifetime/Registration.swift:tellMissed              and so does one that resumes and has missed something
 * step MISSED_LATER      ObserverList/Observer.swift:noteMiss                who is paused misses in the same step
 * step NO_TURN           Derived/DerivedNode.swift:take                      one thread at a time computes (run 2)
 * step SLOT_TOO_EARLY    Derived/DerivedNode.swift:compute                   what was received is stored in that turn (run 2)
 * step LEFT_UNCALLED     Derived/DerivedNode.swift:take                      who leaves an update looks whether it has a turn (run 2)
 *
 * run -DSETS=2
 * run -DSETS=2 -DDERIVED
 */

#ifndef SETS
#define SETS 2
#endif

#ifndef DERIVED

/* StateHead and Turn: the number of the value, whether a thread tells, and what waits: for all observers that
 * are registered, for the first alone, or for the second alone. */
#define ALL 0
#define FIRST 1
#define SECOND 2
byte revision = 1;
bool isTelling;
chan waiting = [8] of { byte, byte };

bool isRegistered;         /* the second observer is in the list */
bool isPaused, isMissed;   /* its registration word */
byte told[2];              /* Following: what each observer knows */

/* Following.swift: isNew; the observer is called. */
inline hear(observer, number) {
  d_step {
    if
#ifndef TOLD_AGAIN
    :: number <= told[observer]
    :: else ->
#else
    :: true ->
#endif
      assert(number > told[observer]);
      assert(observer == 1 || number == told[observer] + 1);
      told[observer] = number
    fi
  }
}

/* ObserverRegistry+Walk.swift: callCarefully, isCalled */
inline call(kind, number) {
  if
  :: kind != SECOND -> hear(0, number)
  :: else
  fi;
  if
  :: kind != FIRST ->
#ifndef MISSED_LATER
    atomic {
      if
      :: isPaused -> isMissed = true; mayCall = false
      :: else -> mayCall = true
      fi
    }
#else
    mayCall = !isPaused;
    if
    :: !mayCall -> isMissed = true
    :: else
    fi;
#endif
    if
    :: mayCall -> hear(1, number)
    :: else
    fi
  :: else
  fi
}

/* StateStorage.swift: goOn */
inline goOn() {
  do
  :: atomic {
#ifdef NO_LAST_LOOK
       isTelling = false; isMine = false
#else
       if
       :: len(waiting) == 0 -> isTelling = false; isMine = false
       :: else -> waiting ? kind, number
       fi
#endif
     }
     if
     :: isMine -> call(kind, number)
     :: else -> break
     fi
  od
}

/* StateStorage.swift: tellNewest */
inline ask() {
  atomic { waiting ! SECOND, revision; isMine = !isTelling; isTelling = true }
  if
  :: isMine -> goOn()
  :: else
  fi
}

/* StateStorage.swift: set */
proctype Setter() {
  byte count, kind, number;
  bool isMine, mayCall;
  do
  :: count < SETS ->
    atomic {
      revision++;
      number = revision;
      kind = (isRegistered -> ALL : FIRST);
      isMine = !isTelling;
      if
      :: isMine -> isTelling = true
#ifndef NOT_QUEUED
      :: else -> waiting ! kind, number
#else
      :: else
#endif
      fi
    }
    if
    :: isMine -> call(kind, number); goOn()
    :: else
    fi;
    count++
  :: else -> break
  od
}

proctype Second() {
  byte kind, number;
  bool isMine, mayCall, isToAsk;
  isRegistered = true;
#ifndef FIRST_UNASKED
  ask();
#endif
  isPaused = true;
  /* Observer.swift: resume */
  atomic { isPaused = false; isToAsk = isMissed; isMissed = false }
#ifndef RESUMED_UNASKED
  if
  :: isToAsk -> ask()
  :: else
  fi
#endif
}

init {
  told[0] = 1;
  atomic {
    run Setter();
    run Setter();
    run Second()
  }
  d_step {
    _nr_pr == 1 ->
    assert(!isTelling && len(waiting) == 0);
    assert(told[0] == revision);
    assert(told[1] == revision)
  }
}

#else

/* Two states, the first of which two threads set. */
byte revision[2];
bool isTelling[2];
chan first = [8] of { byte };
chan second = [8] of { byte };

/* The node of the derived state: its turn, the updates that wait, the slots, and what was told last. */
bool isNodeTelling;
chan updates = [8] of { byte, byte };
byte slot[2];
byte last[2];

/* DerivedNode.swift: compute; the values are read one after the other, and the observer is called. */
inline compute(state, number) {
#ifndef SLOT_TOO_EARLY
  slot[state] = number;
#endif
  one = slot[0];
  two = slot[1];
  d_step {
    assert(one >= last[0] && two >= last[1]);
    assert(one + two == last[0] + last[1] + 1);
    last[0] = one;
    last[1] = two
  }
}

/* Teller.swift: makeCalls */
inline makeCalls() {
  do
  :: atomic {
       if
       :: isNodeTelling && !isNodeMine -> isCalled = false
       :: else ->
         isCalled = len(updates) > 0;
         isNodeTelling = isCalled;
         if
         :: isCalled -> updates ? state, number
         :: else
         fi
       fi
     }
     if
     :: isCalled -> isNodeMine = true; compute(state, number)
     :: else -> break
     fi
  od
}

/* DerivedNode.swift: take */
inline take(state, number) {
#ifdef SLOT_TOO_EARLY
  slot[state] = number;
#endif
#ifdef NO_TURN
  compute(state, number)
#else
  atomic {
    isNodeMine = !isNodeTelling && len(updates) == 0;
    if
    :: isNodeMine -> isNodeTelling = true
    :: else
    fi
  }
  if
  :: isNodeMine -> compute(state, number); makeCalls()
  :: else ->
    updates ! state, number;
#ifndef LEFT_UNCALLED
    makeCalls()
#endif
  fi
#endif
}

proctype Setter(byte mine) {
  byte count, state, number, one, two;
  bool isMine, isNodeMine, isCalled;
  do
  :: count < SETS ->
    atomic {
      revision[mine]++;
      number = revision[mine];
      isMine = !isTelling[mine];
      if
      :: isMine -> isTelling[mine] = true
      :: !isMine && mine == 0 -> first ! number
      :: else -> second ! number
      fi
    }
    do
    :: isMine ->
      state = mine;
      take(state, number);
      atomic {
        if
        :: mine == 0 && len(first) > 0 -> first ? number
        :: mine == 1 && len(second) > 0 -> second ? number
        :: else -> isTelling[mine] = false; isMine = false
        fi
      }
    :: else -> break
    od;
    count++
  :: else -> break
  od
}

init {
  atomic {
    run Setter(0);
    run Setter(0);
    run Setter(1)
  }
  d_step {
    _nr_pr == 1 ->
    assert(!isNodeTelling && len(updates) == 0);
    assert(last[0] == revision[0] && last[1] == revision[1])
  }
}
#endif
