/*
 * The election of a hub by files in a folder: one lock file and one socket for each generation.
 *
 * Processes look for the highest generation and connect. Who finds its hub dead claims the next one, as
 * does who finds it silent. Any process but the last dies at any moment; a hub stops and wakes up. The
 * states that are reached in any interleaving of their file operations are searched for
 *
 *   a generation used twice   a second hub begins to listen with the number of another
 *   a split                   at rest, somebody is not connected to the hub of the highest generation
 *   no hub                    at rest, the highest generation has none that lives
 *
 * The host's code does not exist yet: the steps name what the protocol calls them.
 *
 * step NO_EXCLUSION      -:claim        O_EXCL: one process creates a lock file
 * step NO_SECOND_LOOK    -:claim        who has created a file looks whether there is a higher one
 * step HIGHEST_REMOVED   -:removeOld    the file of the highest generation is kept
 * step SAME_GENERATION   -:join         a dead hub's generation is not taken up again
 * step NO_FOLDER_CHECK   -:check        a hub that wakes up looks for a higher generation
 *
 * The lock itself breaks no promise when it is missing: it spares generations.
 *
 * run -DPROCESSES=2
 * run -DPROCESSES=3 -DGENS=3 -DGLANCES=0
 */

#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef GENS
#define GENS 5
#endif
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
#ifndef GLANCES
#define GLANCES 1
#endif
byte glances = GLANCES;
bool isOver;                 /* the numbers of this search are used up */
hidden byte j;

#define highest \
  (exists[5] -> 5 : (exists[4] -> 4 : (exists[3] -> 3 : (exists[2] -> 2 : (exists[1] -> 1 : 0)))))
#define runs(i) (!isDead[i] && !isStopped[i])

/* The end of a hub, but not of its process: the lock and the socket are closed. */
inline closeHub(i) {
  if :: holder[hubOf[i]] == i -> holder[hubOf[i]] = NOBODY :: else fi;
  if :: listener[hubOf[i]] == i -> listener[hubOf[i]] = NOBODY :: else fi;
  hubOf[i] = 0
}

proctype Member(byte i) {
  byte found, next, k;
end:
  do
  :: atomic { runs(i) && joined[i] == 0 -> found = highest }
    /* connect; else the lock tells a dead hub from one that is about to listen */
    if
    :: atomic { runs(i) && found > 0 && listener[found] != NOBODY -> joined[i] = found; goto ready }
    :: atomic { runs(i) && found > 0 && listener[found] == NOBODY && holder[found] == NOBODY ->
#ifdef SAME_GENERATION
        next = found
#else
        next = found + 1
#endif
      }
    :: atomic { runs(i) && found == 0 -> next = 1 }
    /* Again in a while. */
    :: atomic { runs(i) && found > 0 && found < highest -> goto ready }
    :: isDead[i] -> break
    fi;
claim:
    if
    :: isDead[i] -> break
    :: atomic { runs(i) && next <= GENS ->
        if
#if !defined(NO_EXCLUSION) && !defined(SAME_GENERATION)
        :: exists[next] -> goto ready
#endif
        :: else -> exists[next] = true
        fi
      }
    :: atomic { runs(i) && next > GENS -> isOver = true; break }
    fi;
    /* flock. Somebody who looks whether the hub lives may have it for a moment, or may not. */
    if
    :: isDead[i] -> break
    :: atomic { runs(i) && holder[next] == NOBODY -> holder[next] = i }
    :: atomic { runs(i) && glances > 0 -> glances--; goto ready }
    :: atomic { runs(i) && holder[next] != NOBODY -> goto ready }
    fi;
#ifndef NO_SECOND_LOOK
    if
    :: isDead[i] -> break
    :: atomic { runs(i) && highest == next }
    :: atomic { runs(i) && highest != next ->
        if :: holder[next] == i -> holder[next] = NOBODY :: else fi;
        goto ready
      }
    fi;
#endif
    /* bind and listen */
    if
    :: isDead[i] -> break
    :: atomic { runs(i) ->
        assert(!isUsed[next]);
        isUsed[next] = true;
        /* Its older hub, if it has one, ends. */
        if :: hubOf[i] -> closeHub(i) :: else fi;
        listener[next] = i;
        hubOf[i] = next
      }
    fi;
    /* Older files are removed. */
    if
    :: isDead[i] -> break
    :: atomic { runs(i) ->
        k = 1;
        do
#ifdef HIGHEST_REMOVED
        :: k <= GENS && k != next -> exists[k] = false; k++
        :: k <= GENS && k == next -> k++
#else
        :: k < next -> exists[k] = false; k++
#endif
        :: else -> break
        od
      }
    fi;
ready:
    atomic { found = 0; next = 0; k = 0 }
  /* The hub is gone: join again. Or it is silent: claim the next generation. */
  :: atomic { runs(i) && joined[i] && listener[joined[i]] == NOBODY -> joined[i] = 0 }
  :: atomic { runs(i) && joined[i] && listener[joined[i]] != NOBODY && isStopped[listener[joined[i]]] ->
      next = joined[i] + 1; joined[i] = 0;
      goto claim
    }
  /* A hub looks for a higher generation, at each tick and before each batch. */
#ifndef NO_FOLDER_CHECK
  :: atomic { runs(i) && hubOf[i] && hubOf[i] < highest -> closeHub(i) }
#endif
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
      j = 0;
      do
      :: j < 7 ->
        if :: holder[j] == i -> holder[j] = NOBODY :: else fi;
        if :: listener[j] == i -> listener[j] = NOBODY :: else fi;
        j++
      :: else -> break
      od
    }
  :: atomic { stops > 0 && hubOf[i] -> stops--; isStopped[i] = true };
    isStopped[i] = false
  fi
}

proctype Rest() {
  byte i;
  timeout ->
  atomic {
    assert(isOver || highest > 0 && listener[highest] != NOBODY && !isDead[listener[highest]]);
    do
    :: i < PROCESSES -> assert(isOver || isDead[i] || joined[i] == highest); i++
    :: else -> break
    od
  }
}

init {
  byte i;
  atomic {
    do
    :: i < 7 -> holder[i] = NOBODY; listener[i] = NOBODY; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < PROCESSES ->
      run Member(i);
      if :: i < PROCESSES - 1 -> run Fate(i) :: else fi;
      i++
    :: else -> break
    od;
    run Rest()
  }
}
