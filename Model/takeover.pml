/*
 * The takeover of a bus on one host: a hub dies, or stops and wakes up later; its members go to the hub
 * of the next generation, which puts their logs together, gives each what it lacks, and opens.
 *
 * A posts twice, B once, after it has heard A's first message: its answer. C hears. Each member has a
 * socket to its hub, a queue in each direction. What a dead hub has written can still be read, or is
 * thrown away when the member sees the end first. The states that are reached in any interleaving are
 * searched for
 *
 *   a second hearing      a member is told a message twice                                      (R4)
 *   a wrong order         the second message before the first; an answer before its question    (R2)
 *   a loss                at rest, a living member has not heard a living sender's message      (R4)
 *   a split               at rest, somebody is not open at the hub of the last generation
 *   a sender that waits   at rest, a sender does not know that its messages are sequenced
 *   a second position     a hub gives a message two positions
 *
 * At rest means that nobody can do anything any more. A message is due to whoever was open when it was
 * posted. A step here is what a hub or member does for one frame, one look at the folder, or one post.
 *
 * step REUSED_GENERATION        -:claim                                               a generation is used once
 * step NO_FOLDER_CHECK          -:lookForNextGeneration                                a hub looks whether there is a newer one
 * step FOLDER_CHECK_ON_MESSAGE  -:lookForNextGeneration                                also when nobody posts
 * step NO_GATHERING             CampanileRelay/Protocol/HubState+Joining.swift:endGathering  a hub waits for those who live
 * step NO_COLLECTING            CampanileRelay/Protocol/MemberState+Frames.swift:collect   a member says what it has
 * step ONLY_OWN_COLLECTED       CampanileRelay/Protocol/MemberState+Frames.swift:collect   also of others
 * step EARLY_OPEN               CampanileRelay/Protocol/HubState+Joining.swift:endRecovery  a hub opens when all have answered
 * step NO_NUMBERS               CampanileRelay/Protocol/HubState+Messages.swift:post       by numbers a hub and a sender know what has a position
 * step NO_HEARD                 CampanileRelay/Protocol/MemberState+Frames.swift:isNews    and what is told again
 * step NO_GIVING                CampanileRelay/Protocol/HubState+Joining.swift:give        each gets what it lacks
 * step NO_RESENDING             CampanileRelay/Protocol/Outbox.swift:open                  what no hub knows is sent again
 * step OPEN_BEFORE_GIVING       CampanileRelay/Protocol/HubState+Joining.swift:endRecovery  what was recovered comes before what is new
 * step NO_REPAIR                CampanileRelay/Protocol/HubState+Joining.swift:join        who comes late is repaired
 * step OTHERS_UNKNOWN           CampanileRelay/Protocol/HubState+Repair.swift:endRepair    what others had before the hub's log is known
 * step NO_TAKING_OVER           CampanileRelay/Protocol/HubState+Repair.swift:takeOver     and its log counts
 *
 * The runs: a hub of its own that dies or stops; hubs in the processes of members; C comes when the bus
 * is there already; the hub of the next generation does not wait for C.
 *
 * A message of a sender that comes late may be too late: then it is reported as lost. That is allowed
 * where a member may come late, and not elsewhere. Three generations with hubs in the processes of
 * members that stop are not listed: a member whose hub dies before its repair loses messages.
 * NO_NUMBERS leaves out three things, each of which suffices here: a hub that drops numbers it knows, the
 * number in `open`, and `sequenced` for what was recovered. A hello is answered without a look at the
 * folder; only batches with messages wait for one. Bounded logs, tombstones, forgotten messages, slow
 * members, patterns, requests, flush, `pong`, given-up repairs, and deaths of members without a hub are
 * left out.
 *
 * run -DGENS=2 -DPOSTS=2 -DNEWCOMER
 * run -DGENS=3 -DPOSTS=2 -DNO_STOPS
 * run -DGENS=2 -DPOSTS=3
 * run -DGENS=2 -DPOSTS=3 -DOWNED
 * run -DGENS=2 -DPOSTS=3 -DLATE=A
 * run -DGENS=2 -DPOSTS=3 -DOWNED -DNEWCOMER
 */

#ifndef POSTS
#define POSTS 3
#endif
#ifndef GENS
#define GENS 2
#endif
#define A 0
#define B 1
#define C 2
#define MEMBERS 3
/* Messages: 0 and 1 are A's, 2 is B's. */
#define MESSAGES 3
#define SENDER(m) ((m) / 2)
#define NUMBER(m) ((m) == 1 -> 2 : 1)
#ifdef REUSED_GENERATION
#define POSITION(g, sequence) (8 + (sequence))
#else
#define POSITION(g, sequence) ((g) * 8 + (sequence))
#endif
#define CONNECTION(g, i) (((g) - 1) * MEMBERS + (i))
#define BIT(x) (1 << (x))
#define NONE 255   /* no entry in a log */
#define HIGHEST(entry) (entry[1] -> 2 : (entry[0] -> 1 : 0))

mtype = { hello, message, collect, collected, sequenced, open, lost };
/* Stages of members and phases of hubs. */
mtype = { nothing, away, joining, recovering, late, isOpen, gathering };

/* Sockets. What a member collects is one frame: a position or NONE, and `after`, of each message. */
chan up[GENS * MEMBERS] = [6] of { mtype, byte, byte, byte, byte, byte, byte };
chan down[GENS * MEMBERS] = [12] of { mtype, byte, byte };

/* The folder: the highest generation. */
byte highest = 1;

/* MemberState */
typedef Member {
  mtype stage;
  bool dead;
  byte at;                /* the generation of its hub */
  byte position;
  byte horizon;
  byte has;               /* its logs: what it posted and what it heard */
  byte pos[MESSAGES];
  byte after[MESSAGES];
  byte sent, sequencedNumber;
  byte heard;             /* what the search watches: what was delivered, and reported as lost */
  byte reported;
}
Member member[MEMBERS];
byte due[MESSAGES];       /* who is to hear a message */
byte everOpen;

/* HubState */
typedef Hub {
  mtype phase;
  bool alive, stopped, checked;
  byte owner;             /* the member in its process, or MEMBERS */
  byte last;
  byte since, recovered;
  byte log[MESSAGES];     /* positions; what is in the log is what is known */
  byte repair;            /* the member that is repaired, plus one */
  byte waits;             /* who has not answered `collect` */
  byte joined;
  byte expected;
  mtype stage[MEMBERS];
  byte joinedAt[MEMBERS];
  byte entry[MEMBERS * MESSAGES];
  byte after[MEMBERS * MESSAGES];
}
Hub hub[GENS + 1];

/* Work space, without meaning between steps. */
hidden byte n, k, best, x, y;
hidden byte place[MESSAGES], top[MESSAGES];
hidden byte unknown[MESSAGES];
hidden byte f[6];
hidden byte todo;

#define isRunning(i) (!member[i].dead && !isHeldUp(i))
#define isHeldUp(i) ((hub[1].stopped && hub[1].owner == i) || (hub[GENS - 1].stopped && hub[GENS - 1].owner == i))

/* MessageLog and HubState know a number by the highest of its sender. */
#define KNOWN(g, m) (SENDER(m) == A -> HIGHEST(hub[g].log) : (hub[g].log[2] -> 1 : 0))
#define HEARD(i, m) \
  (SENDER(m) == A -> ((member[i].heard & 2) -> 2 : (member[i].heard & 1)) : ((member[i].heard & 4) -> 1 : 0))
#define OWN(i, number) ((i) == A -> (number) - 1 : 2)
#define LAST_NUMBER(i) \
  ((i) == A -> ((member[A].has & 2) -> 2 : (member[A].has & 1)) : ((i) == B && (member[B].has & 4) -> 1 : 0))

inline advance(i, p) {
  if
  :: member[i].stage == isOpen && (p) > member[i].position -> member[i].position = p
  :: else
  fi
}

/* Outbox.send */
inline sendOwn(i) {
  do
  :: member[i].sent < LAST_NUMBER(i) ->
    member[i].sent++;
    up[CONNECTION(member[i].at, i)] ! message(OWN(i, member[i].sent), 0, 0, 0, 0, 0)
  :: else -> break
  od
}

/* MemberState.receive */
inline receive(i, m, p) {
  advance(i, p);
  if
#ifdef NO_HEARD
  :: SENDER(m) != i ->
#else
  :: SENDER(m) != i && NUMBER(m) > HEARD(i, m) ->
#endif
    assert(!(member[i].heard & BIT(m)));
    /* In the order of the sender, and no answer before its question. */
    assert(m != 0 || !(member[i].heard & 6));
    member[i].heard = member[i].heard | BIT(m);
    member[i].has = member[i].has | BIT(m);
    member[i].pos[m] = p;
    if :: p > member[i].horizon -> member[i].horizon = p :: else fi
  :: else
  fi
}

/* MemberState.post */
inline post(i, m) {
  member[i].has = member[i].has | BIT(m);
  member[i].after[m] = member[i].horizon;
  due[m] = everOpen & ~BIT(i);
  if
  :: member[i].stage == isOpen -> sendOwn(i)
  :: else
  fi
}

/* MemberState.disconnected; Outbox.close */
inline leave(i) {
  do :: down[CONNECTION(member[i].at, i)] ? _, _, _ :: empty(down[CONNECTION(member[i].at, i)]) -> break od;
  member[i].stage = away;
  member[i].sent = member[i].sequencedNumber
}

inline claim(g, i) {
  highest = g;
  hub[g].alive = true;
  hub[g].phase = gathering;
#ifdef OWNED
  hub[g].owner = i;
#else
  hub[g].owner = MEMBERS;
#endif
  /* Those who live and were there, but for the one in whose process the silent hub is. */
  hub[g].expected = everOpen;
  n = 0;
  do
  :: n < MEMBERS ->
    hub[g].stage[n] = nothing;
    if
    :: member[n].dead || isHeldUp(n) -> hub[g].expected = hub[g].expected & ~BIT(n)
    :: else
    fi;
    n++
  :: else -> break
  od;
  n = 0
}

proctype MemberProcess(byte i) {
  byte a, b;
  mtype kind;
end:
  do
  /* BusFolder: join. The hub of the highest generation listens, or is dead and the next is claimed. */
  :: d_step { isRunning(i) && member[i].stage == away && hub[highest].alive ->
      member[i].at = highest;
      member[i].stage = joining;
      up[CONNECTION(highest, i)] ! hello(member[i].position, 0, 0, 0, 0, 0)
    }
  :: d_step { isRunning(i) && member[i].stage == away && !hub[highest].alive && highest < GENS ->
      y = highest + 1; claim(y, i)
    }
  /* MemberState.tick: silence. It may not have noticed when the hub wakes up. */
  :: d_step { isRunning(i) && member[i].stage != away && hub[member[i].at].stopped && member[i].at < GENS ->
      if
      :: highest == member[i].at -> y = highest + 1; claim(y, i)
      :: else
      fi;
      leave(i)
    }
  /* The end of the connection, at once or after what can still be read. */
  :: d_step { isRunning(i) && member[i].stage != away && !hub[member[i].at].alive -> leave(i) }
  :: d_step { isRunning(i) && i == A && !(member[A].has & 1) && (everOpen & 1) -> post(A, 0) }
#if POSTS > 2
  :: d_step { isRunning(i) && i == A && (member[A].has & 3) == 1 -> post(A, 1) }
#endif
  :: d_step { isRunning(i) && i == B && (member[B].heard & 1) && !(member[B].has & 4) -> post(B, 2) }
  :: d_step { isRunning(i) && member[i].stage != away && len(down[CONNECTION(member[i].at, i)]) > 0 ->
      down[CONNECTION(member[i].at, i)] ? kind, a, b;
      if
      :: kind == message -> receive(i, a, b)
      :: kind == sequenced ->
        advance(i, b);
        if
        :: member[i].has & BIT(a) -> member[i].pos[a] = b
        :: else
        fi;
        if
        :: SENDER(a) == i && NUMBER(a) > member[i].sequencedNumber -> member[i].sequencedNumber = NUMBER(a)
        :: else
        fi;
        if
        :: SENDER(a) == i && b > member[i].horizon -> member[i].horizon = b
        :: else
        fi
      :: kind == lost -> member[i].reported = member[i].reported | BIT(a)
      :: kind == collect ->
        n = 0;
        do
        :: n < MESSAGES ->
          f[n] = NONE; f[n + 3] = 0;
          if
#ifdef ONLY_OWN_COLLECTED
          :: (member[i].has & BIT(n)) && SENDER(n) == i && (!member[i].pos[n] || member[i].pos[n] > a) ->
#else
          :: (member[i].has & BIT(n)) && (!member[i].pos[n] || member[i].pos[n] > a) ->
#endif
#ifndef NO_COLLECTING
            f[n] = member[i].pos[n];
            f[n + 3] = member[i].after[n]
#endif
          :: else
          fi;
          n++
        :: else -> break
        od;
        up[CONNECTION(member[i].at, i)] ! collected(f[0], f[1], f[2], f[3], f[4], f[5])
      :: kind == open ->
        member[i].stage = isOpen;
        everOpen = everOpen | BIT(i);
        advance(i, a);
        b = (b < LAST_NUMBER(i) -> b : LAST_NUMBER(i));
#ifndef NO_RESENDING
        if :: b > member[i].sequencedNumber -> member[i].sequencedNumber = b :: else fi;
        member[i].sent = member[i].sequencedNumber;
#else
        member[i].sent = LAST_NUMBER(i);
#endif
        sendOwn(i)
      fi;
      kind = 0; a = 0; b = 0
    }
  od
}

/* HubState.sequence: to all that are open, but for the one it comes from */
inline sequence(g, m, from) {
  hub[g].last++;
  assert(hub[g].log[m] == 0);
  hub[g].log[m] = POSITION(g, hub[g].last);
  n = 0;
  do
  :: n < MEMBERS ->
    if
    :: n != from && hub[g].stage[n] == isOpen -> down[CONNECTION(g, n)] ! message(m, hub[g].log[m])
    :: else
    fi;
    n++
  :: else -> break
  od
}

/* Recovered.merge: one entry of a log joins what is known of the message */
inline unite(m, p, after_) {
  if
  :: (p) != NONE ->
    x = ((p) == 0 -> 2 * (after_) + 1 : 2 * (p));
    if :: (p) == 0 -> unknown[m] = true :: else fi;
    if :: top[m] == NONE || (p) > top[m] -> top[m] = p :: else fi;
    if :: x < place[m] -> place[m] = x :: else fi
  :: else
  fi
}

inline beginMerge() {
  n = 0;
  do
  :: n < MESSAGES -> top[n] = NONE; place[n] = NONE; unknown[n] = false; n++
  :: else -> break
  od
}

inline endMerge() {
  if
  :: top[0] != NONE && top[1] != NONE && place[1] <= place[0] -> place[1] = (place[0] | 1)
  :: else
  fi
}

/* The next message in the order of places, or NONE; the order of senders is arbitrary. */
inline next() {
  best = NONE;
  n = 0;
  do
  :: n < MESSAGES ->
#ifdef B_FIRST
    k = (n == 0 -> 2 : n - 1);
#else
    k = n;
#endif
    n++;
    if
    :: (todo & BIT(k)) && top[k] != NONE && (best == NONE || place[k] < place[best]) -> best = k
    :: else
    fi
  :: else -> break
  od;
  if :: best != NONE -> todo = todo & ~BIT(best) :: else fi
}

/* HubState.give, one message of the merge */
inline giveOne(g, i, m) {
  if
  :: SENDER(m) == i ->
    if
#ifdef NO_NUMBERS
    :: false -> skip
#else
    :: unknown[m] -> down[CONNECTION(g, i)] ! sequenced(m, top[m])
#endif
    :: else
    fi
  :: else ->
    if
#ifdef NO_GIVING
    :: false -> skip
#else
    :: top[m] > hub[g].joinedAt[i] -> down[CONNECTION(g, i)] ! message(m, top[m])
#endif
    :: else
    fi
  fi
}

inline openMember(g, i) {
  hub[g].stage[i] = isOpen;
#ifdef NO_NUMBERS
  down[CONNECTION(g, i)] ! open(POSITION(g, hub[g].last), 0)
#else
  down[CONNECTION(g, i)] ! open(POSITION(g, hub[g].last),
    (i == A -> HIGHEST(hub[g].log) : (i == B && hub[g].log[2] -> 1 : 0)))
#endif
}

inline ask(g, i, from) {
  hub[g].waits = hub[g].waits | BIT(i);
  down[CONNECTION(g, i)] ! collect(from, 0)
}

inline forgetCollected(g) {
  n = 0;
  do
  :: n < MEMBERS * MESSAGES -> hub[g].entry[n] = NONE; hub[g].after[n] = 0; n++
  :: else -> break
  od;
  n = 0
}

inline openWaiting(g) {
  y = 0;
  do
  :: y < MEMBERS ->
    if
    :: hub[g].stage[y] == recovering || hub[g].stage[y] == joining -> openMember(g, y)
    :: else
    fi;
    y++
  :: else -> break
  od
}

/* HubState+Joining.swift: endRecovery, recover */
inline recover(g) {
  beginMerge();
  hub[g].recovered = 0;
  y = 0;
  do
  :: y < MEMBERS ->
    if
    :: hub[g].stage[y] == recovering ->
      k = 0;
      do
      :: k < MESSAGES -> unite(k, hub[g].entry[y * MESSAGES + k], hub[g].after[y * MESSAGES + k]); k++
      :: else -> break
      od;
      if :: hub[g].joinedAt[y] > hub[g].recovered -> hub[g].recovered = hub[g].joinedAt[y] :: else fi
    :: else
    fi;
    y++
  :: else -> break
  od;
  endMerge();
  k = 0;
  do
  :: k < MESSAGES ->
    if :: top[k] != NONE && top[k] > hub[g].recovered -> hub[g].recovered = top[k] :: else fi;
    k++
  :: else -> break
  od;
#ifdef OPEN_BEFORE_GIVING
  openWaiting(g);
#endif
  todo = 7;
  next();
  do
  :: best != NONE ->
    if
    :: top[best] == 0 -> hub[g].last++; top[best] = POSITION(g, hub[g].last)
    :: else
    fi;
    hub[g].log[best] = top[best];
    y = 0;
    do
    :: y < MEMBERS ->
      if
      :: hub[g].stage[y] == recovering || (hub[g].stage[y] == isOpen) -> giveOne(g, y, best)
      :: else
      fi;
      y++
    :: else -> break
    od;
    next()
  :: else -> break
  od;
  forgetCollected(g);
  hub[g].phase = isOpen;
  openWaiting(g)
}

/* HubState+Repair.swift: repairNext */
inline repairNext(g) {
  if
  :: hub[g].phase == isOpen && hub[g].repair == 0 ->
    y = 0;
    do
    :: y < MEMBERS && hub[g].stage[y] == late -> break
    :: y < MEMBERS && hub[g].stage[y] != late -> y++
    :: else -> break
    od;
    if
    :: y < MEMBERS ->
      if
      :: hub[g].recovered == 0 && hub[g].joinedAt[y] / 8 < g ->
        hub[g].recovered = hub[g].joinedAt[y];
        hub[g].since = hub[g].recovered
      :: else
      fi;
      hub[g].repair = y + 1;
      x = (hub[g].since < hub[g].joinedAt[y] -> hub[g].since : hub[g].joinedAt[y]);
      ask(g, y, x);
      if
      :: hub[g].joinedAt[y] < hub[g].since ->
        n = 0;
        do
        :: n < MEMBERS ->
          if :: hub[g].stage[n] == isOpen -> ask(g, n, hub[g].joinedAt[y]) :: else fi;
          n++
        :: else -> break
        od
      :: else
      fi
    :: else
    fi
  :: else
  fi
}

/* HubState+Repair.swift: endRepair, takeOver, reportLate */
inline endRepair(g) {
  y = hub[g].repair - 1;
#ifndef OTHERS_UNKNOWN
  k = 0;
  do
  :: k < MEMBERS * MESSAGES ->
    x = hub[g].entry[k];
    if
    :: k / MESSAGES != y && x != NONE && hub[g].log[k % MESSAGES] == 0 -> hub[g].log[k % MESSAGES] = x
    :: else
    fi;
    k++
  :: else -> break
  od;
#endif
#ifndef NO_TAKING_OVER
  beginMerge();
  k = 0;
  do
  :: k < MESSAGES -> unite(k, hub[g].entry[y * MESSAGES + k], hub[g].after[y * MESSAGES + k]); k++
  :: else -> break
  od;
  endMerge();
  todo = 7;
  next();
  do
  :: best != NONE ->
    f[0] = hub[g].log[best];
    if
    :: f[0] == 0 && NUMBER(best) > KNOWN(g, best) && !(top[best] != 0 && top[best] <= hub[g].recovered) ->
      sequence(g, best, y)
    :: f[0] == 0 && !(NUMBER(best) > KNOWN(g, best) && !(top[best] != 0 && top[best] <= hub[g].recovered)) ->
      n = 0;
      do
      :: n < MEMBERS ->
        if
        :: n != y && hub[g].stage[n] == isOpen && SENDER(best) != n &&
          hub[g].joinedAt[n] && (top[best] == 0 || hub[g].joinedAt[n] < top[best]) ->
          down[CONNECTION(g, n)] ! lost(best, 0)
        :: else
        fi;
        n++
      :: else -> break
      od
    :: else
    fi;
    if
    :: f[0] != 0 && f[0] == top[best]
    :: else ->
      if
      :: (SENDER(best) == y -> unknown[best] : hub[g].log[best] != 0) ->
        down[CONNECTION(g, y)] ! sequenced(best, (hub[g].log[best] -> hub[g].log[best] : hub[g].recovered))
      :: else
      fi
    fi;
    next()
  :: else -> break
  od;
#endif
  /* What it offered is not sent to it. */
  todo = 0;
  k = 0;
  do
  :: k < MESSAGES ->
    if :: hub[g].entry[y * MESSAGES + k] == NONE -> todo = todo | BIT(k) :: else fi;
    k++
  :: else -> break
  od;
  beginMerge();
  k = 0;
  do
  :: k < MESSAGES ->
    if :: hub[g].log[k] -> unite(k, hub[g].log[k], 0) :: else fi;
    f[0] = 0;
    do
    :: f[0] < MEMBERS ->
      if
      :: f[0] != y -> unite(k, hub[g].entry[f[0] * MESSAGES + k], hub[g].after[f[0] * MESSAGES + k])
      :: else
      fi;
      f[0]++
    :: else -> break
    od;
    k++
  :: else -> break
  od;
  endMerge();
  next();
  do
  :: best != NONE -> giveOne(g, y, best); next()
  :: else -> break
  od;
  forgetCollected(g);
  openMember(g, y);
  hub[g].repair = 0;
  repairNext(g)
}

#define isUp(g) (hub[g].alive && !hub[g].stopped)
#define hasMessage(g, j) (up[CONNECTION(g, j)] ?? [message, _, _, _, _, _, _])
#define isNewer(g) (highest > g)

/* A hub ends: a dead one has no state. */
inline endHub(g) {
  hub[g].alive = false;
  hub[g].phase = nothing;
  hub[g].checked = false;
  hub[g].last = 0; hub[g].since = 0; hub[g].recovered = 0; hub[g].repair = 0;
  hub[g].waits = 0; hub[g].joined = 0; hub[g].expected = 0;
  n = 0;
  do :: n < MESSAGES -> hub[g].log[n] = 0; n++ :: else -> break od;
  n = 0;
  do
  :: n < MEMBERS ->
    do :: up[CONNECTION(g, n)] ? _, _, _, _, _, _, _ :: empty(up[CONNECTION(g, n)]) -> break od;
    hub[g].stage[n] = nothing; hub[g].joinedAt[n] = 0;
    n++
  :: else -> break
  od;
  forgetCollected(g)
}

/* A frame of member j */
inline read(j) {
  atomic {
    isUp(g) && len(up[CONNECTION(g, j)]) > 0 &&
      (hub[g].checked || !hasMessage(g, j)) ->
    d_step {
      up[CONNECTION(g, j)] ? kind, b0, b1, b2, b3, b4, b5;
      if
      :: kind == hello ->
        hub[g].joinedAt[j] = b0;
        hub[g].joined = hub[g].joined | BIT(j);
        if
        :: b0 == 0 && hub[g].phase == isOpen -> openMember(g, j)
#ifdef NO_REPAIR
        :: b0 != 0 && hub[g].phase == isOpen -> openMember(g, j)
#else
        :: b0 != 0 && hub[g].phase == isOpen -> hub[g].stage[j] = late; repairNext(g)
#endif
        :: b0 != 0 && hub[g].phase == recovering -> hub[g].stage[j] = late
        :: else -> hub[g].stage[j] = joining
        fi
      :: kind == collected ->
        hub[g].waits = hub[g].waits & ~BIT(j);
        hub[g].entry[j * MESSAGES] = b0; hub[g].after[j * MESSAGES] = b3;
        hub[g].entry[j * MESSAGES + 1] = b1; hub[g].after[j * MESSAGES + 1] = b4;
        hub[g].entry[j * MESSAGES + 2] = b2; hub[g].after[j * MESSAGES + 2] = b5;
        if
#ifdef EARLY_OPEN
        :: hub[g].phase == recovering -> recover(g); repairNext(g)
#else
        :: hub[g].phase == recovering && hub[g].waits == 0 -> recover(g); repairNext(g)
#endif
        :: hub[g].phase == isOpen && hub[g].repair && hub[g].waits == 0 -> endRepair(g)
        :: else
        fi
      :: kind == message ->
        if
#ifdef NO_NUMBERS
        :: true ->
#else
        :: NUMBER(b0) > KNOWN(g, b0) ->
#endif
          sequence(g, b0, j);
          down[CONNECTION(g, j)] ! sequenced(b0, hub[g].log[b0])
        :: else
        fi
      fi;
      hub[g].checked = false;
      kind = 0; b0 = 0; b1 = 0; b2 = 0; b3 = 0; b4 = 0; b5 = 0
    }
  }
}

proctype HubProcess(byte g) {
  byte b0, b1, b2, b3, b4, b5;
  mtype kind;
end:
  do
  /* HubState+Joining.swift: endGathering, tickJoining */
  :: d_step { isUp(g) && hub[g].phase == gathering && hub[g].joined &&
#ifdef NO_GATHERING
      true ->
#elif defined(LATE)
      !(hub[g].expected & ~hub[g].joined & ~BIT(LATE)) ->
#else
      !(hub[g].expected & ~hub[g].joined) ->
#endif
      hub[g].phase = recovering;
      x = NONE;
      y = 0;
      do
      :: y < MEMBERS ->
        if
        :: hub[g].stage[y] == joining && hub[g].joinedAt[y] ->
          x = (hub[g].joinedAt[y] < x -> hub[g].joinedAt[y] : x)
        :: else
        fi;
        y++
      :: else -> break
      od;
      hub[g].since = (x == NONE -> 0 : x);
      y = 0;
      do
      :: y < MEMBERS ->
        if
        :: hub[g].stage[y] == joining && hub[g].joinedAt[y] ->
          hub[g].stage[y] = recovering; ask(g, y, hub[g].since)
        :: else
        fi;
        y++
      :: else -> break
      od;
      if
      :: hub[g].waits == 0 -> recover(g); repairNext(g)
      :: else
      fi
    }
  :: read(A)
  :: read(B)
  :: read(C)
  /* A look at the folder: before a batch with messages, and at each tick. */
  :: d_step { isUp(g) && !isNewer(g) && !hub[g].checked && (hasMessage(g, A) || hasMessage(g, B)) ->
      hub[g].checked = true
    }
#if defined(NO_FOLDER_CHECK)
  :: d_step { isUp(g) && isNewer(g) && !hub[g].checked && (hasMessage(g, A) || hasMessage(g, B)) ->
      hub[g].checked = true
    }
#elif defined(FOLDER_CHECK_ON_MESSAGE)
  :: d_step { isUp(g) && isNewer(g) && (hasMessage(g, A) || hasMessage(g, B)) -> endHub(g) }
#else
  :: d_step { isUp(g) && isNewer(g) -> endHub(g) }
#endif
  od
}

/* A hub dies, or is stopped and wakes up, or neither; with it the member in whose process it is. */
proctype Fate(byte g) {
  if
  :: skip
  :: d_step { hub[g].alive ->
      x = hub[g].owner;
      if :: x < MEMBERS -> member[x].dead = true :: else fi;
      endHub(g)
    }
#ifndef NO_STOPS
  :: d_step { hub[g].alive -> hub[g].stopped = true };
    d_step { hub[g].stopped = false }
#endif
  fi
}

/* A message of a sender that comes late may be too late; then it is reported. */
#if defined(OWNED) || defined(LATE)
#define EXCUSE(i) member[i].reported
#else
#define EXCUSE(i) 0
#endif

/* What holds when nobody can do anything. */
proctype Rest() {
  timeout ->
  d_step {
    assert(hub[highest].alive && hub[highest].phase == isOpen);
    y = 0;
    do
    :: y < MEMBERS ->
      if
      :: !member[y].dead ->
        assert(member[y].stage == isOpen && member[y].at == highest);
        assert(member[y].sequencedNumber == LAST_NUMBER(y));
        k = 0;
        do
        :: k < MESSAGES ->
          assert(member[SENDER(k)].dead || !(member[SENDER(k)].has & BIT(k)) || !(due[k] & BIT(y)) ||
            ((member[y].heard | EXCUSE(y)) & BIT(k)));
          k++
        :: else -> break
        od
      :: else
      fi;
      y++
    :: else -> break
    od;
    y = 0
  }
}

init {
  d_step {
    y = 1;
    do
    :: y <= GENS -> forgetCollected(y); y++
    :: else -> break
    od;
    hub[1].alive = true; hub[1].phase = isOpen;
#ifdef OWNED
    hub[1].owner = A;
#else
    hub[1].owner = MEMBERS;
#endif
    y = 0;
    do
    :: y < MEMBERS ->
#ifdef NEWCOMER
      if
      :: y == C -> member[y].stage = away; hub[1].stage[y] = nothing
      :: else ->
#endif
        member[y].stage = isOpen; member[y].at = 1; member[y].position = POSITION(1, 0);
        hub[1].stage[y] = isOpen;
        everOpen = everOpen | BIT(y)
#ifdef NEWCOMER
      fi
#endif
      ;
      y++
    :: else -> break
    od;
    y = 0
  }
  atomic {
    run HubProcess(1); run HubProcess(2);
#if GENS > 2
    run HubProcess(3);
#endif
    run MemberProcess(A); run MemberProcess(B); run MemberProcess(C);
    run Fate(1);
#if GENS > 2
    run Fate(2);
#endif
    run Rest()
  }
}
