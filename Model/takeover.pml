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
 * step REUSED_GENERATION        CampanileRelay/System/BusFolder.swift:claim                    a generation is used once
 * step NO_FOLDER_CHECK          CampanileRelay/Host/HubServer.swift:handle                     a hub looks whether there is a newer one
 * step FOLDER_CHECK_ON_MESSAGE  CampanileRelay/Host/HubServer.swift:look                       also when nobody posts
 * step NO_GATHERING             CampanileRelay/Protocol/HubState+Joining.swift:endGathering    a hub waits for those who live
 * step NO_COLLECTING            CampanileRelay/Protocol/MemberState+Frames.swift:collect       a member says what it has
 * step ONLY_OWN_COLLECTED       CampanileRelay/Protocol/MemberState+Frames.swift:collect       also of others
 * step EARLY_OPEN               CampanileRelay/Protocol/HubState+Joining.swift:endRecovery     a hub opens when all have answered
 * step NO_NUMBERS               CampanileRelay/Protocol/HubState+Messages.swift:post           by numbers a hub and a sender know what has a position
 * step NO_GIVING                CampanileRelay/Protocol/HubState+Joining.swift:give            each gets what it lacks
 * step NO_RESENDING             CampanileRelay/Protocol/Outbox.swift:open                      what no hub knows is sent again
 * step OPEN_BEFORE_GIVING       CampanileRelay/Protocol/HubState+Joining.swift:endRecovery     what was recovered comes before what is new (run 2)
 * step NO_REPAIR                CampanileRelay/Protocol/HubState+Joining.swift:join            who comes late is repaired
 * step OTHERS_UNKNOWN           CampanileRelay/Protocol/HubState+Repair.swift:endRepair        what others had before the hub's log is known (run 4)
 * step NO_TAKING_OVER           CampanileRelay/Protocol/HubState+Repair.swift:takeOver         and its log counts (run 4)
 * step OLD_POSITION             CampanileRelay/Protocol/HubState+Repair.swift:takeOver         at the position that it has now (run 4)
 * step NO_RECOVERIES            CampanileRelay/Protocol/HubState+Coverage.swift:recovery       what older hubs recovered is known (run 4)
 * step NO_LOWEST                CampanileRelay/Protocol/HubState+Coverage.swift:lowest         so that what came late is asked for (run 4)
 * step NO_MISSED                CampanileRelay/Protocol/HubState+Coverage.swift:reportMissed   what comes too late is reported (run 4)
 *
 * The runs: a hub of its own that dies or stops; hubs in the processes of members; C comes when the bus
 * is there already; the hub of the next generation does not wait for A; C asks to be the hub.
 *
 * A message of a sender that comes late may be too late: then it is reported as lost. That is allowed
 * where a member may come late, and not elsewhere. Who was told of a loss never hears the message.
 *
 * NO_NUMBERS leaves out three things, each of which suffices here: a hub that drops numbers it knows, the
 * number in `open`, and `sequenced` for what was recovered. A hello is answered without a look at the
 * folder; only batches with messages wait for one. Four parts are as in the code, and no search finds
 * them missing: MemberState.isNews; HubState.covers; that HubState.give passes over what is older than what a member has; and
 * that it tells members in a recovery the new positions of what they have. Bounded logs, slow members,
 * patterns, requests, flush, `pong`, given-up repairs, and deaths of members without a hub are left out.
 *
 * run -DGENS=2 -DPOSTS=2 -DNEWCOMER
 * run -DGENS=3 -DPOSTS=2 -DNO_STOPS
 * run -DGENS=2 -DPOSTS=3
 * run -DGENS=3 -DPOSTS=2 -DOWNED
 * run -DGENS=2 -DPOSTS=3 -DOWNED
 * run -DGENS=2 -DPOSTS=3 -DLATE=A
 * run -DGENS=2 -DPOSTS=3 -DOWNED -DNO_STOPS -DWANTED
 * run -DGENS=3 -DPOSTS=3 -DOWNED -DNO_STOPS
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
#define GENERATION(p) ((p) / 8)
#define CONNECTION(g, i) (((g) - 1) * MEMBERS + (i))
#define BIT(x) (1 << (x))
#define NONE 255        /* no entry in a log */
#define FORGOTTEN 254   /* an entry without a payload, in place of `after` */
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define each(n, count) for (n : 0 .. (count) - 1)

mtype = { hello, message, collect, collected, sequenced, open, missed, lost };
/* Stages of members and phases of hubs. */
mtype = { nothing, away, joining, recovering, late, isOpen, gathering };

/* Sockets. What a member collects is one frame: a position or NONE, and `after`, of each message. */
chan up[GENS * MEMBERS] = [6] of { mtype, byte, byte, byte, byte, byte, byte };
chan down[GENS * MEMBERS] = [12] of { mtype, byte, short };

/* The folder: the highest generation. */
byte highest = 1;

/* A recovery that matters later is that of the second generation. */
typedef Recovery {
  bool isKnown;
  byte since, last;
}

/* MemberState */
typedef Member {
  mtype stage;
  bool dead;
  byte at;                /* the generation of its hub */
  byte position;
  byte horizon;
  byte has;               /* its logs: what it posted, what it heard, and what it forgot */
  byte forgot;
  byte pos[MESSAGES];
  byte after[MESSAGES];
  byte sent, sequencedNumber;
  byte passed;            /* what it was told: messages and losses */
  byte heard;             /* what the search watches: what was delivered, and reported as lost */
  byte reported;
  Recovery second;
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
  byte since;
  Recovery own, second;
  byte known[2];          /* the highest number of each sender */
  byte log[MESSAGES];     /* positions */
  byte forgotten;
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
hidden byte n, k, best, x, y, z;
hidden byte place[MESSAGES], top[MESSAGES];
hidden byte unknown, payloads;
hidden byte f[6];
hidden byte todo, p, since, last, lowest;
hidden byte covers, isLate;

#define isRunning(i) (!member[i].dead && !isHeldUp(i))
#define isHeldUp(i) ((hub[1].stopped && hub[1].owner == i) || (hub[GENS - 1].stopped && hub[GENS - 1].owner == i))

/* MemberState.heard knows a sender's numbers by the highest. */
#define HIGHEST(bits, sender) \
  ((sender) == A -> ((bits) & 2 -> 2 : (bits) & 1) : ((bits) & 4 -> 1 : 0))
#define OWN(i, number) ((i) == A -> (number) - 1 : 2)
#define LAST_NUMBER(i) ((i) == C -> 0 : HIGHEST(member[i].has, i))

/* MemberState.advance */
inline advance(i, to) {
  if
  :: member[i].stage == isOpen && (to) > member[i].position -> member[i].position = to
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

/* MemberState.isNews */
#define isNews(i, m) (SENDER(m) != i && NUMBER(m) > HIGHEST(member[i].passed, SENDER(m)))

/* MemberState.receive */
inline receive(i, m, to) {
  advance(i, to);
  if
  :: isNews(i, m) ->
    assert(!(member[i].heard & BIT(m)));
    assert(!(member[i].reported & BIT(m)));
    /* In the order of the sender, and no answer before its question. */
    assert(m != 0 || !(member[i].heard & 6));
    member[i].passed = member[i].passed | BIT(m);
    member[i].heard = member[i].heard | BIT(m);
    member[i].has = member[i].has | BIT(m);
    member[i].pos[m] = to;
    member[i].horizon = MAX(member[i].horizon, to)
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

/* MemberState.disconnected, Outbox.close. MemberLink.join: the hub of the highest generation listens, or is dead. */
inline leave(i) {
  do :: down[CONNECTION(member[i].at, i)] ? _, _, _ :: empty(down[CONNECTION(member[i].at, i)]) -> break od;
  member[i].stage = away;
  member[i].sent = member[i].sequencedNumber;
  if
  :: hub[highest].alive -> join(i)
  :: else
  fi
}

/* MemberState.connected */
inline join(i) {
  member[i].at = highest;
  member[i].stage = joining;
  up[CONNECTION(highest, i)] ! hello(member[i].position, member[i].second.isKnown,
    member[i].second.since, member[i].second.last, 0, 0)
}

/* BusFolder.claim, MemberLink.become, BusFolder.livingMembers */
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
  each (n, MEMBERS) {
    hub[g].stage[n] = nothing;
    if
    :: member[n].dead || isHeldUp(n) -> hub[g].expected = hub[g].expected & ~BIT(n)
    :: else
    fi
  }
  n = 0
}

proctype MemberProcess(byte i) {
  byte a;
  short b;
  mtype kind;
end:
  do
  /* MemberLink.join, become */
  :: d_step { isRunning(i) && member[i].stage == away && hub[highest].alive -> join(i) }
  :: d_step { isRunning(i) && member[i].stage == away && !hub[highest].alive && highest < GENS ->
      y = highest + 1; claim(y, i); join(i)
    }
#ifdef WANTED
  /* MemberLink.act: C asks to be the hub, and waits for the process of the hub before, too. */
  :: d_step { isRunning(i) && i == C && member[C].stage == isOpen && highest == 1 ->
      y = 2; claim(y, i);
      leave(i)
    }
#endif
  /* MemberState.tick, MemberLink.act: silence. It may not have noticed when the hub wakes up. */
  :: d_step { isRunning(i) && member[i].stage != away && hub[member[i].at].stopped && member[i].at < GENS ->
      if
      :: highest == member[i].at -> y = highest + 1; claim(y, i)
      :: else
      fi;
      leave(i)
    }
  /* MemberLink.leave: the end of the connection, at once or after what can still be read. */
  :: d_step { isRunning(i) && member[i].stage != away && !hub[member[i].at].alive -> leave(i) }
  :: d_step { isRunning(i) && i == A && !(member[A].has & 1) && (everOpen & 1) -> post(A, 0) }
#if POSTS > 2
  :: d_step { isRunning(i) && i == A && (member[A].has & 3) == 1 -> post(A, 1) }
#endif
#if POSTS > 1
  :: d_step { isRunning(i) && i == B && (member[B].heard & 1) && !(member[B].has & 4) -> post(B, 2) }
#endif
  :: d_step { isRunning(i) && member[i].stage != away && nempty(down[CONNECTION(member[i].at, i)]) ->
      down[CONNECTION(member[i].at, i)] ? kind, a, b;
      if
      :: kind == message -> receive(i, a, b)
      /* MemberState.sequenced */
      :: kind == sequenced ->
        advance(i, b);
        if
        :: member[i].has & BIT(a) -> member[i].pos[a] = b; member[i].after[a] = 0
        :: else
        fi;
        if
        :: SENDER(a) == i ->
          member[i].sequencedNumber = MAX(member[i].sequencedNumber, NUMBER(a));
          member[i].horizon = MAX(member[i].horizon, b)
        :: else
        fi
      /* MemberState.missed */
      :: kind == missed ->
        if
        :: SENDER(a) != i && !(member[i].has & BIT(a)) && !(member[i].reported & BIT(a)) ->
          member[i].reported = member[i].reported | BIT(a);
          member[i].has = member[i].has | BIT(a);
          member[i].forgot = member[i].forgot | BIT(a);
          member[i].pos[a] = b
        :: else
        fi
      :: kind == lost ->
        if
        :: isNews(i, a) ->
          member[i].passed = member[i].passed | BIT(a);
          member[i].reported = member[i].reported | BIT(a)
        :: else
        fi;
        advance(i, b)
      /* MemberState.collect */
      :: kind == collect ->
        each (n, MESSAGES) {
          f[n] = NONE; f[n + 3] = 0;
          if
#ifndef NO_COLLECTING
#ifdef ONLY_OWN_COLLECTED
          :: (member[i].has & BIT(n)) && SENDER(n) == i && (!member[i].pos[n] || member[i].pos[n] > a) ->
#else
          :: (member[i].has & BIT(n)) && (!member[i].pos[n] || member[i].pos[n] > a) ->
#endif
            f[n] = member[i].pos[n];
            f[n + 3] = (member[i].forgot & BIT(n) -> FORGOTTEN : member[i].after[n])
#endif
          :: else
          fi
        }
        up[CONNECTION(member[i].at, i)] ! collected(f[0], f[1], f[2], f[3], f[4], f[5])
      /* MemberState.open, Outbox.open */
      :: kind == open ->
        member[i].stage = isOpen;
        everOpen = everOpen | BIT(i);
        if
        :: member[i].at == 2 && GENS > 2 ->
          member[i].second.isKnown = true;
          member[i].second.since = (b >> 2) & 31;
          member[i].second.last = b >> 7
        :: else
        fi;
        b = b & 3;
        advance(i, a);
#ifndef NO_RESENDING
        b = MIN(b, LAST_NUMBER(i));
        member[i].sequencedNumber = MAX(member[i].sequencedNumber, b);
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
inline sequence(g, m, isForgotten, from) {
  hub[g].last++;
  assert(hub[g].log[m] == 0);
  hub[g].log[m] = POSITION(g, hub[g].last);
  hub[g].known[SENDER(m)] = NUMBER(m);
  if :: isForgotten -> hub[g].forgotten = hub[g].forgotten | BIT(m) :: else fi;
  each (n, MEMBERS) {
    if
    :: n != from && hub[g].stage[n] == isOpen -> tell(g, n, m, hub[g].log[m], isForgotten)
    :: else
    fi
  }
}

inline tell(g, i, m, to, isForgotten) {
  if
  :: isForgotten -> down[CONNECTION(g, i)] ! lost(m, to)
  :: else -> down[CONNECTION(g, i)] ! message(m, to)
  fi
}

/* HubState.reportMissed */
inline reportMissed(g, i, m, to) {
#ifndef NO_MISSED
  down[CONNECTION(g, i)] ! missed(m, ((to) -> (to) : hub[g].own.last))
#else
  skip
#endif
}

/* HubState.recovery: the first that could have had a message of a generation */
inline findRecovery(g, generation) {
  if
#ifndef NO_RECOVERIES
  :: g > 2 && (generation) < 2 && hub[g].second.isKnown -> since = hub[g].second.since; last = hub[g].second.last
#endif
  :: else ->
    since = (hub[g].own.isKnown && (generation) < g -> hub[g].own.since : NONE);
    last = (hub[g].own.isKnown && (generation) < g -> hub[g].own.last : NONE)
  fi
}

/* HubState.lowest */
inline findLowest(g, j) {
  lowest = j;
#ifndef NO_LOWEST
  findRecovery(g, GENERATION(j));
  lowest = MIN(lowest, since)
#endif
}

/* HubState.covers */
inline findCovers(g, to, j) {
  last = j;
  if
  :: GENERATION(to) < GENERATION(j) -> findRecovery(g, GENERATION(to)); last = (last == NONE -> j : last)
  :: else
  fi;
  covers = (to) <= last
}

/* Recovered.unite: one entry of a log joins what is known of the message */
inline unite(m, to, after_) {
  if
  :: (to) != NONE ->
    if
    :: (to) == 0 -> unknown = unknown | BIT(m); place[m] = MIN(place[m], 2 * ((after_) & 127) + 1)
    :: else -> place[m] = MIN(place[m], 2 * (to))
    fi;
    top[m] = (top[m] == NONE -> (to) : MAX(top[m], to));
    if :: (after_) != FORGOTTEN -> payloads = payloads | BIT(m) :: else fi
  :: else
  fi
}

/* Recovered.merge */
inline beginMerge() {
  unknown = 0; payloads = 0;
  each (n, MESSAGES) { top[n] = NONE; place[n] = NONE }
}

inline endMerge() {
  if
  :: top[0] != NONE && top[1] != NONE && place[1] <= place[0] -> place[1] = (place[0] | 1)
  :: else
  fi;
  todo = 7;
  next()
}

inline mergeEntries(g, i) {
  each (k, MESSAGES) { unite(k, hub[g].entry[i * MESSAGES + k], hub[g].after[i * MESSAGES + k]) }
}

/* The next message in the order of places, or NONE. */
inline next() {
  best = NONE;
  each (n, MESSAGES) {
    if
    :: (todo & BIT(n)) && top[n] != NONE && (best == NONE || place[n] < place[best]) -> best = n
    :: else
    fi
  }
  if :: best != NONE -> todo = todo & ~BIT(best) :: else fi
}

#define offers(g, i, m) (hub[g].entry[(i) * MESSAGES + (m)] != NONE)
#define isForgotten(m) (!(payloads & BIT(m)))
/* HubState.origin, or NONE */
#define origin(g, m) \
  (GENERATION(top[m]) < g -> GENERATION(top[m]) : \
    (hub[g].stage[SENDER(m)] == recovering -> GENERATION(hub[g].joinedAt[SENDER(m)]) : NONE))

/* HubState.give, one message of the merge */
inline giveOne(g, i, m) {
  x = hub[g].joinedAt[i];
  findCovers(g, top[m], x);
  if
  /* Its log is to say what the others' say. */
  :: offers(g, i, m) ->
    if
#ifdef NO_NUMBERS
    :: false
#else
    :: hub[g].entry[(i) * MESSAGES + (m)] != top[m] -> down[CONNECTION(g, i)] ! sequenced(m, top[m])
#endif
    :: else
    fi
  :: SENDER(m) == i && !offers(g, i, m)
  :: SENDER(m) != i && !offers(g, i, m) && covers ->
    if
    :: GENERATION(top[m]) < GENERATION(x) && top[m] > hub[g].since -> reportMissed(g, i, m, top[m])
    :: else
    fi
  :: m == 0 && i != A && !offers(g, i, 0) && !covers && offers(g, i, 1) ->
    z = origin(g, m);
    if
    :: z < GENERATION(x) ->
      findRecovery(g, z);
      z = (last == NONE -> POSITION(z, 0) : last);
      reportMissed(g, i, m, z)
    :: else
    fi
  :: else ->
#ifndef NO_GIVING
    z = isForgotten(m);
    tell(g, i, m, top[m], z)
#endif
  fi
}

/* HubState.open */
inline openMember(g, i) {
  hub[g].stage[i] = isOpen;
#ifdef NO_NUMBERS
  down[CONNECTION(g, i)] ! open(POSITION(g, hub[g].last), hub[g].own.since << 2 | hub[g].own.last << 7)
#else
  down[CONNECTION(g, i)] ! open(POSITION(g, hub[g].last),
    (i == C -> 0 : hub[g].known[i]) | hub[g].own.since << 2 | hub[g].own.last << 7)
#endif
}

/* HubState.ask */
inline ask(g, i, from) {
  hub[g].waits = hub[g].waits | BIT(i);
  down[CONNECTION(g, i)] ! collect(from, 0)
}

inline forgetCollected(g) {
  each (n, MEMBERS * MESSAGES) { hub[g].entry[n] = NONE; hub[g].after[n] = 0 }
  n = 0
}

inline openWaiting(g) {
  each (y, MEMBERS) {
    if
    :: hub[g].stage[y] == recovering || hub[g].stage[y] == joining -> openMember(g, y)
    :: else
    fi
  }
}

inline setRecovery(g, from, to) {
  hub[g].own.isKnown = true;
  hub[g].own.since = from;
  hub[g].own.last = to
}

/* HubState.endRecovery, recover */
inline recover(g) {
  beginMerge();
  z = 0;
  each (y, MEMBERS) {
    if
    :: hub[g].stage[y] == recovering -> mergeEntries(g, y); z = MAX(z, hub[g].joinedAt[y])
    :: else
    fi
  }
  endMerge();
  each (k, MESSAGES) { z = (top[k] != NONE -> MAX(z, top[k]) : z) }
  setRecovery(g, hub[g].since, z);
#ifdef OPEN_BEFORE_GIVING
  openWaiting(g);
#endif
  do
  :: best != NONE ->
    if
    :: top[best] == 0 -> hub[g].last++; top[best] = POSITION(g, hub[g].last)
    :: else
    fi;
    keep(g, best, top[best]);
    hub[g].known[SENDER(best)] = MAX(hub[g].known[SENDER(best)], NUMBER(best));
    each (y, MEMBERS) {
      if
      :: hub[g].stage[y] == recovering || hub[g].stage[y] == isOpen -> giveOne(g, y, best)
      :: else
      fi
    }
    next()
  :: else -> break
  od;
  forgetCollected(g);
  hub[g].phase = isOpen;
  openWaiting(g)
}

/* HubState.repairNext */
inline repairNext(g) {
  if
  :: hub[g].phase == isOpen && hub[g].repair == 0 ->
    y = 0;
    do
    :: y < MEMBERS && hub[g].stage[y] != late -> y++
    :: else -> break
    od;
    if
    :: y < MEMBERS ->
      x = hub[g].joinedAt[y];
      if
      :: hub[g].own.last == 0 && GENERATION(x) < g -> hub[g].since = x; setRecovery(g, x, x)
      :: else
      fi;
      hub[g].repair = y + 1;
      findLowest(g, x);
      z = MIN(hub[g].since, lowest);
      ask(g, y, z);
      if
      :: lowest < hub[g].since ->
        each (n, MEMBERS) {
          if :: hub[g].stage[n] == isOpen -> ask(g, n, lowest) :: else fi
        }
      :: else
      fi
    :: else
    fi
  :: else
  fi
}

/* HubState.keep */
inline keep(g, m, to) {
  hub[g].log[m] = to;
  if :: isForgotten(m) -> hub[g].forgotten = hub[g].forgotten | BIT(m) :: else fi
}

/* HubState.takeOver, reportLate */
inline takeOver(g, i) {
  beginMerge();
  mergeEntries(g, i);
  endMerge();
  do
  :: best != NONE ->
    p = hub[g].log[best];
    findRecovery(g, GENERATION(top[best]));
    isLate = NUMBER(best) <= hub[g].known[SENDER(best)] || top[best] && last != NONE && top[best] <= last;
    if
    :: p == 0 && !isLate ->
      z = isForgotten(best);
      sequence(g, best, z, i);
      p = hub[g].log[best]
    :: p == 0 && isLate ->
      each (n, MEMBERS) {
        if
        :: n != i && hub[g].stage[n] == isOpen && SENDER(best) != n && hub[g].joinedAt[n] && (top[best] == 0 ||
            hub[g].joinedAt[n] < top[best] || GENERATION(hub[g].joinedAt[n]) > GENERATION(top[best])) ->
          reportMissed(g, n, best, top[best])
        :: else
        fi
      }
      z = (top[best] -> top[best] : hub[g].own.last);
      keep(g, best, z)
    :: else
    fi;
    if
#ifdef OLD_POSITION
    :: (p == 0 || p != top[best]) && (SENDER(best) == i -> (unknown & BIT(best)) != 0 : p != 0) ->
#else
    :: (p == 0 || p != top[best]) && (p != 0 || SENDER(best) == i && (unknown & BIT(best))) ->
#endif
      down[CONNECTION(g, i)] ! sequenced(best, (p -> p : hub[g].own.last))
    :: else
    fi;
    next()
  :: else -> break
  od
}

/* HubState.endRepair */
inline endRepair(g) {
  y = hub[g].repair - 1;
#ifndef OTHERS_UNKNOWN
  each (k, MEMBERS * MESSAGES) {
    x = hub[g].entry[k];
    if
    :: k / MESSAGES != y && x != NONE && x != 0 && hub[g].log[k % MESSAGES] == 0 ->
      z = k % MESSAGES;
      payloads = (hub[g].after[k] == FORGOTTEN -> 0 : 7);
      keep(g, z, x)
    :: else
    fi
  }
#endif
  x = hub[g].joinedAt[y];
  findLowest(g, x);
  hub[g].since = MIN(hub[g].since, lowest);
#ifndef NO_TAKING_OVER
  takeOver(g, y);
#endif
  beginMerge();
  each (k, MESSAGES) {
    if
    :: hub[g].log[k] && !offers(g, y, k) ->
      z = (hub[g].forgotten & BIT(k) -> FORGOTTEN : 0);
      unite(k, hub[g].log[k], z)
    :: else
    fi
  }
  endMerge();
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

/* HubServer.close: a hub ends. A dead one has no state. */
inline endHub(g) {
  hub[g].alive = false;
  hub[g].phase = nothing;
  hub[g].checked = false;
  hub[g].last = 0; hub[g].since = 0; hub[g].repair = 0; hub[g].forgotten = 0;
  hub[g].known[0] = 0; hub[g].known[1] = 0;
  hub[g].own.isKnown = false; hub[g].own.since = 0; hub[g].own.last = 0;
  hub[g].second.isKnown = false; hub[g].second.since = 0; hub[g].second.last = 0;
  hub[g].waits = 0; hub[g].joined = 0; hub[g].expected = 0;
  each (n, MESSAGES) { hub[g].log[n] = 0 }
  each (n, MEMBERS) {
    do :: up[CONNECTION(g, n)] ? _, _, _, _, _, _, _ :: empty(up[CONNECTION(g, n)]) -> break od;
    hub[g].stage[n] = nothing; hub[g].joinedAt[n] = 0
  }
  forgetCollected(g)
}

/* HubState.received: a frame of member j */
inline read(j) {
  atomic {
    isUp(g) && nempty(up[CONNECTION(g, j)]) && (hub[g].checked || !hasMessage(g, j)) ->
    d_step {
      up[CONNECTION(g, j)] ? kind, b0, b1, b2, b3, b4, b5;
      if
      /* HubState.join */
      :: kind == hello ->
        hub[g].joinedAt[j] = b0;
        hub[g].joined = (hub[g].phase == gathering -> hub[g].joined | BIT(j) : 0);
        if
        :: b0 && b1 && g > 2 ->
          hub[g].second.isKnown = true; hub[g].second.since = b2; hub[g].second.last = b3
        :: else
        fi;
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
      /* HubState.collectedAll */
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
      /* HubState.post */
      :: kind == message ->
        if
#ifdef NO_NUMBERS
        :: true ->
#else
        :: NUMBER(b0) <= hub[g].known[SENDER(b0)] -> down[CONNECTION(g, j)] ! sequenced(b0, hub[g].own.last)
        :: else ->
#endif
          sequence(g, b0, false, j);
          down[CONNECTION(g, j)] ! sequenced(b0, hub[g].log[b0])
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
  /* HubState.endGathering, tickJoining */
  :: d_step { isUp(g) && hub[g].phase == gathering && hub[g].joined &&
#ifdef NO_GATHERING
      true ->
#elif defined(LATE)
      !(hub[g].expected & ~hub[g].joined & ~BIT(LATE)) ->
#else
      !(hub[g].expected & ~hub[g].joined) ->
#endif
      hub[g].phase = recovering;
      hub[g].joined = 0; hub[g].expected = 0;
      z = NONE;
      each (y, MEMBERS) {
        x = hub[g].joinedAt[y];
        if
        :: hub[g].stage[y] == joining && x -> findLowest(g, x); z = MIN(z, lowest)
        :: else
        fi
      }
      hub[g].since = (z == NONE -> 0 : z);
      each (y, MEMBERS) {
        if
        :: hub[g].stage[y] == joining && hub[g].joinedAt[y] ->
          hub[g].stage[y] = recovering; ask(g, y, hub[g].since)
        :: else
        fi
      }
      if
      :: hub[g].waits == 0 -> recover(g); repairNext(g)
      :: else
      fi
    }
  :: read(A)
  :: read(B)
  :: read(C)
  /* HubServer.handle, look: a look at the folder, before a batch with messages and when it changes. */
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

/*
 * The state of a dead member is of no use to the search. HubServer.tick: a hub that gathers does not wait
 * for who has died meanwhile.
 */
inline die(i) {
  each (n, GENS) {
    hub[n + 1].expected = hub[n + 1].expected & ~BIT(i);
    do :: down[n * MEMBERS + i] ? _, _, _ :: empty(down[n * MEMBERS + i]) -> break od
  }
  member[i].dead = true;
  member[i].stage = nothing; member[i].at = 0; member[i].position = 0; member[i].horizon = 0;
  member[i].has = 0; member[i].forgot = 0; member[i].sent = 0; member[i].sequencedNumber = 0;
  member[i].passed = 0; member[i].heard = 0; member[i].reported = 0;
  each (n, MESSAGES) { member[i].pos[n] = 0; member[i].after[n] = 0 }
}

/* A hub dies, or is stopped and wakes up, or neither; with it the member in whose process it is. */
proctype Fate(byte g) {
  if
  :: skip
  :: d_step { hub[g].alive ->
      x = hub[g].owner;
      if :: x < MEMBERS -> die(x) :: else fi;
      endHub(g)
    }
#ifndef NO_STOPS
  :: d_step { hub[g].alive -> hub[g].stopped = true };
    d_step { hub[g].stopped = false }
#endif
  fi
}

/* A message of a sender that comes late may be too late; then it is reported. */
#if (defined(OWNED) && !defined(NO_STOPS)) || defined(LATE)
#define EXCUSE(i) member[i].reported
#else
#define EXCUSE(i) 0
#endif

/* What holds when nobody can do anything. */
proctype Rest() {
  timeout ->
  d_step {
    assert(hub[highest].alive && hub[highest].phase == isOpen);
    each (y, MEMBERS) {
      if
      :: !member[y].dead ->
        assert(member[y].stage == isOpen && member[y].at == highest);
        assert(member[y].sequencedNumber == LAST_NUMBER(y));
        each (k, MESSAGES) {
          assert(member[SENDER(k)].dead || !(member[SENDER(k)].has & BIT(k)) || !(due[k] & BIT(y)) ||
            ((member[y].heard | EXCUSE(y)) & BIT(k)))
        }
      :: else
      fi
    }
    y = 0
  }
}

init {
  d_step {
    each (y, GENS) { z = y + 1; forgetCollected(z) }
    hub[1].alive = true; hub[1].phase = isOpen;
#ifdef OWNED
    hub[1].owner = A;
#else
    hub[1].owner = MEMBERS;
#endif
    each (y, MEMBERS) {
      member[y].stage = isOpen; member[y].at = 1; member[y].position = POSITION(1, 0);
      hub[1].stage[y] = isOpen;
      everOpen = everOpen | BIT(y)
    }
#ifdef NEWCOMER
    member[C].stage = away; member[C].at = 0; member[C].position = 0;
    hub[1].stage[C] = nothing;
    everOpen = everOpen & ~BIT(C);
#endif
    z = 0
  }
  atomic {
    each (y, GENS) { run HubProcess(y + 1) }
    each (y, GENS - 1) { run Fate(y + 1) }
    run MemberProcess(A); run MemberProcess(B); run MemberProcess(C);
    run Rest()
  }
}
