/*
 * The election of a hub by files in a folder: one lock file and one socket for each generation.
 *
 * Processes look for the highest generation and connect. Who finds its hub dead claims the next one, as
 * does who finds it silent. Any process but the last dies at any moment. One stops at any moment, and
 * wakes up; with FOREVER it does not. The states that are reached in any interleaving of their file
 * operations are searched for
 *
 *   a generation used twice   a second hub begins to listen with the number of another
 *   a split                   at rest, somebody is not connected to the hub of the highest generation
 *   no hub                    at rest, the highest generation has none that lives
 *
 * step NO_EXCLUSION      CampanileRelay/System/BusFolder.swift:claim              O_EXCL: one process creates a lock file
 * step NO_SECOND_LOOK    CampanileRelay/System/BusFolder.swift:claim              who has created a file looks whether there is a higher one
 * step NO_LOCK           CampanileRelay/System/BusFolder.swift:claim              a hub keeps its file locked
 * step HIGHEST_REMOVED   CampanileRelay/System/BusFolder.swift:removeGenerations  the file of the highest generation is kept
 * step HELD_REMOVED      CampanileRelay/System/BusFolder.swift:removeGenerations  and the one after a hub that has been stopped
 * step ALL_HELD          CampanileRelay/System/BusFolder.swift:isAbandoned        the lock of a dead hub is free
 * step NO_PATIENCE       CampanileRelay/Host/MemberLink.swift:join                one that stops before it listens is not waited for (run 3)
 * step SAME_GENERATION   CampanileRelay/Host/MemberLink.swift:join                a dead hub's generation is not taken up again
 * step NO_SILENCE        CampanileRelay/Host/MemberLink.swift:act                 members leave a silent hub (run 3)
 * step NO_FOLDER_CHECK   CampanileRelay/Host/HubServer.swift:tick                 a hub that wakes up looks for the next generation
 *
 * A locked file tells three things: that its hub is not dead, but about to listen; that a stopped hub
 * may still look for the file after its own; and, once it is free, that the next generation may be
 * claimed. Without the lock a hub that wakes up does not learn that there are others.
 *
 * run -DPROCESSES=2 -DGENS=5 -DGLANCES=1
 * run -DPROCESSES=3 -DGENS=3 -DGLANCES=0
 * run -DPROCESSES=3 -DGENS=4 -DGLANCES=0 -DFOREVER
 * run -DPROCESSES=3 -DGENS=3 -DGLANCES=0 -DWANTED
 */

#include "steps.h"

#define NOBODY 9

/* The folder: lock files, who holds each lock, whose socket listens. A removed file keeps its lock. */
bool exists[7];
byte holder[7];
byte listener[7];
bool isUsed[7];
bool isDead[PROCESSES], isStopped[PROCESSES];
byte hubOf[PROCESSES];        /* the generation whose hub a process has, or 0 */
byte joined[PROCESSES];       /* the generation that a process is connected to, or 0 */
byte stops = 1;
bool wants = WANTED;
byte glances = GLANCES;
bool isOver;                  /* the numbers of this search are used up */
hidden byte j;

/* BusFolder.highestGeneration */
#define highest \
  (exists[5] -> 5 : (exists[4] -> 4 : (exists[3] -> 3 : (exists[2] -> 2 : (exists[1] -> 1 : 0)))))
#define runs(i) (!isDead[i] && !isStopped[i])
#define isAbandoned(g) (!ALL_HELD && holder[g] == NOBODY)

#define unlock(g, i) when(holder[g] == i, holder[g] = NOBODY)
#define closeFiles(g, i) unlock(g, i); when(listener[g] == i, listener[g] = NOBODY)

/* HubServer.close: the lock and the socket are closed. The process may go on. */
#define closeHub(i) closeFiles(hubOf[i], i); hubOf[i] = 0

/* What a process does next, unless it has died meanwhile. */
#define live(...) if :: isDead[i] -> break :: atomic { runs(i) -> __VA_ARGS__ } fi

proctype Member(byte i) {
  byte found, next, k;
end:
  do
  /* MemberLink.join */
  :: atomic { runs(i) && joined[i] == 0 -> found = highest }
endLook:
    if
    :: atomic { runs(i) && found > 0 && listener[found] != NOBODY -> joined[i] = found; goto ready }
    /* BusFolder.isAbandoned: the lock tells a dead hub from one that is about to listen. */
    :: atomic { runs(i) && found > 0 && listener[found] == NOBODY && isAbandoned(found) ->
        next = found + !SAME_GENERATION
      }
    /* It has been stopped before it listens. */
    :: atomic { runs(i) && found > 0 && listener[found] == NOBODY && holder[found] != NOBODY &&
        isStopped[holder[found]] && !NO_PATIENCE -> next = found + 1
      }
    :: atomic { runs(i) && found == 0 -> next = 1 }
    /* MemberLink.joinLater */
    :: atomic { runs(i) && found > 0 && found < highest -> goto ready }
    :: isDead[i] -> break
    fi;
claim:
    /* BusFolder.claim */
endClaim:
    live(
      when(next > GENS, isOver = true; break);
      when(exists[next] && !NO_EXCLUSION && !SAME_GENERATION, goto ready);
      exists[next] = true);
    /* Somebody who looks whether the hub lives may have the lock for a moment, or may not. */
endLock:
    live(
      if
      :: holder[next] == NOBODY -> step(NO_LOCK, holder[next] = i)
      :: glances > 0 -> glances--; goto ready
      :: holder[next] != NOBODY -> goto ready
      fi);
endSecondLook:
    live(when(highest != next && !NO_SECOND_LOOK, unlock(next, i); goto ready));
    /* HubServer.init: bind and listen. MemberLink.become: its member is connected. */
endListen:
    live(
      assert(!isUsed[next]);
      isUsed[next] = true;
      when(hubOf[i], closeHub(i));
      listener[next] = i;
      hubOf[i] = next;
      joined[i] = next);
    /* BusFolder.removeGenerations: a file stays while it or the one before it is locked. */
endRemove:
    live(
      for (k : 1 .. GENS) {
        when(k < next && (HELD_REMOVED || holder[k] == NOBODY && holder[k - 1] == NOBODY) || HIGHEST_REMOVED && k != next,
          exists[k] = false)
      });
ready:
    atomic { found = 0; next = 0; k = 0 }
  /* MemberLink.handle, leave: the hub is gone. MemberLink.act: or it is silent. */
  :: atomic { runs(i) && joined[i] && listener[joined[i]] == NOBODY -> joined[i] = 0 }
  :: atomic { runs(i) && joined[i] && listener[joined[i]] != NOBODY && isStopped[listener[joined[i]]] && !NO_SILENCE ->
      next = joined[i] + 1; joined[i] = 0;
      goto claim
    }
  /* MemberLink.act: a member asks to be the hub. */
  :: atomic { runs(i) && wants && joined[i] && !hubOf[i] && listener[joined[i]] != NOBODY ->
      wants = false;
      next = joined[i] + 1; joined[i] = 0;
      goto claim
    }
  /* HubServer.tick, handle; BusFolder.isClaimed: at each tick and before each batch. */
  :: atomic { runs(i) && hubOf[i] && exists[hubOf[i] + 1] && !NO_FOLDER_CHECK -> closeHub(i) }
  :: isDead[i] -> break
  od
}

/* A process dies: the kernel closes its files. Or it stops and wakes up. */
proctype Fate(byte i) {
  if
  :: skip
  :: atomic { isDead[i] = true;
      joined[i] = 0;
      hubOf[i] = 0;
      for (j : 1 .. 6) { closeFiles(j, i) }
    }
  :: atomic { stops > 0 -> stops--; isStopped[i] = true }; when(!FOREVER, isStopped[i] = false)
  fi
}

proctype Rest() {
  byte i;
  timeout ->
  atomic {
    assert(isOver || highest > 0 && listener[highest] != NOBODY && runs(listener[highest]));
    for (i : 0 .. PROCESSES - 1) { assert(isOver || !runs(i) || joined[i] == highest) }
  }
}

init {
  byte i;
  atomic {
    for (i : 0 .. 6) { holder[i] = NOBODY; listener[i] = NOBODY }
    for (i : 0 .. PROCESSES - 1) {
      run Member(i);
      when(i < PROCESSES - 1, run Fate(i))
    }
    run Rest()
  }
}
