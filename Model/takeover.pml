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
 * step NO_REPAIR                CampanileRelay/Protocol/HubState+Joining.swift:join            who comes late is repaired (run 4)
 * step ONLY_SINCE_COLLECTED     CampanileRelay/Protocol/HubState+Joining.swift:endGathering    more of it, if one is missing who may lack more (run 4)
 * step NO_TAKING_OVER           CampanileRelay/Protocol/HubState+Repair.swift:takeOver         and its log counts (run 4)
 * step OLD_POSITION             CampanileRelay/Protocol/HubState+Repair.swift:takeOver         at the position that it has now (run 4)
 * step NO_RECOVERIES            CampanileRelay/Protocol/HubState+Coverage.swift:recovery       what older hubs recovered is known (run 4)
 * step NO_LOWEST                CampanileRelay/Protocol/HubState+Coverage.swift:lowest         so that what came late is asked for (run 4)
 * step NO_REPORT                CampanileRelay/Protocol/HubState+Repair.swift:report           what comes too late is reported (run 4)
 *
 * A message of a sender whose process was stopped together with its hub may be too late, and is reported
 * as lost. Elsewhere that is a fault.
 *
 * NO_NUMBERS leaves out three things, each of which suffices: a hub that drops numbers it knows, the number
 * in `open`, and `sequenced` for what was recovered. No search finds these missing: MemberState.isNews;
 * HubState.covers; that HubState.give passes over what is older than what a member has; and that it tells
 * members in a recovery the new positions of what they have. Bounded logs, messages without payload, losses
 * with a number, how far a loss moves a position, slow members, patterns, requests, flush, `pong`, members
 * that answer late, and deaths of members without a hub are left out.
 *
 * The runs: a hub of its own that dies or stops; hubs in the processes of members; C asks to be the hub; C
 * comes when the bus is there already.
 *
 * run -DGENS=2 -DPOSTS=2 -DNEWCOMER
 * run -DGENS=3 -DPOSTS=2 -DNO_STOPS
 * run -DGENS=2 -DPOSTS=3
 * run -DGENS=3 -DPOSTS=2 -DOWNED
 * run -DGENS=2 -DPOSTS=3 -DOWNED
 * run -DGENS=2 -DPOSTS=3 -DOWNED -DNO_STOPS -DWANTED
 * run -DGENS=3 -DPOSTS=3 -DOWNED -DNO_STOPS
 * run -DGENS=2 -DPOSTS=3 -DOWNED -DNEWCOMER
 */

#include "steps.h"

#define A 0
#define B 1
#define C 2
#define MEMBERS 3
/* Messages: 0 and 1 are A's, 2 is B's. */
#define MESSAGES 3
#define SENDER(m) ((m) / 2)
#define NUMBER(m) ((m) == 1 -> 2 : 1)
#define POSITION(g, sequence) ((REUSED_GENERATION -> 1 : g) * 8 + (sequence))
#define GENERATION(p) ((p) / 8)
#define NONE 255        /* no entry in a log */
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

mtype = { hello, message, collect, collected, sequenced, open, lost };
/* Stages of members and phases of hubs. */
mtype = { nothing, away, joining, recovering, late, isOpen, gathering };

/* Sockets. What a member collects is one frame: a position or NONE, and `after`, of each message. */
#define CONNECTION(g, i) (((g) - 1) * MEMBERS + (i))
chan ups[GENS * MEMBERS] = [6] of { mtype, byte, byte, byte, byte, byte, byte };
chan downs[GENS * MEMBERS] = [12] of { mtype, byte, short };
#define up(g, i) ups[CONNECTION(g, i)]
#define down(g, i) downs[CONNECTION(g, i)]
#define clearUp(g, i) do :: up(g, i) ? _, _, _, _, _, _, _ :: empty(up(g, i)) -> break od
#define clearDown(g, i) do :: down(g, i) ? _, _, _ :: empty(down(g, i)) -> break od

/* The folder: the highest generation. The member in the process of a hub, or MEMBERS. */
byte highest = 1;
#define OWNER(i) (OWNED -> i : MEMBERS)

/* A recovery that matters later is that of the second generation. One that is not known ends at 0. */
typedef Recovery {
  byte since, last;
}
#define setRecovery(r, from, to) r.since = from; r.last = to

/* MemberState */
typedef Member {
  mtype stage;
  bool dead;
  byte at;                /* the generation of its hub */
  byte position, horizon;
  byte began;             /* where it was new */
  byte log;               /* what it posted or heard */
  byte pos[MESSAGES], after[MESSAGES];
  byte sent, sequencedNumber;
  byte heard;             /* what was delivered */
  byte reported;          /* what the search watches: what it was told that it lacks */
  Recovery second;
}
Member member[MEMBERS];
byte due[MESSAGES];       /* who is to hear a message */
byte everOpen;

/* HubState */
typedef Hub {
  mtype phase;
  bool alive, stopped, checked;
  byte missing;
  byte owner, last, since, gap;
  byte stable;            /* the highest that it can be: the lowest position of all members */
  Recovery own, second;
  byte known[2];          /* the highest number of each sender */
  byte log[MESSAGES];     /* positions */
  byte waits;             /* who has not answered `collect` */
  byte joined, expected;
  mtype stage[MEMBERS];
  byte joinedAt[MEMBERS];
  byte entries[MEMBERS * MESSAGES], afters[MEMBERS * MESSAGES];
}
Hub hub[GENS + 1];
/* The member and the hub of a process or a function. */
#define M member[i]
#define H hub[g]
#define entry(i, m) H.entries[(i) * MESSAGES + (m)]
#define after(i, m) H.afters[(i) * MESSAGES + (m)]

/* Work space, without meaning between steps. */
hidden byte n, k, w, x, y, z, p;
hidden byte since, last, lowest, covers, isLate;
/* A frame: its kind and its fields. */
hidden mtype kind;
hidden byte a, f[6];
hidden short b;
/* Of each message in logs that are merged: its place, its highest position or NONE, whether it has a payload. */
hidden byte place[MESSAGES], top[MESSAGES] = NONE, best;

#define isHeldUp(i) ((hub[1].stopped && hub[1].owner == i) || (hub[GENS - 1].stopped && hub[GENS - 1].owner == i))
#define isRunning(i) (!member[i].dead && !isHeldUp(i))

/* MemberState.heard knows a sender's numbers by the highest. */
#define HIGHEST(bits, sender) \
  ((sender) == A -> ((bits) & 2 -> 2 : (bits) & 1) : ((bits) & 4 -> 1 : 0))
#define OWN(i, number) ((i) == A -> (number) - 1 : 2)
#define LAST_NUMBER(i) ((i) == C -> 0 : HIGHEST(member[i].log, i))

/* MemberState.advance */
#define advance(i, to) M.position = (M.stage == isOpen -> MAX(M.position, to) : M.position)

/* Outbox.send */
inline sendOwn(i) {
  do
  :: M.sent < LAST_NUMBER(i) -> M.sent++; up(M.at, i) ! message(OWN(i, M.sent), 0, 0, 0, 0, 0)
  :: else -> break
  od
}

/* MemberState.isNews */
#define isNews(i, m) (SENDER(m) != i && NUMBER(m) > HIGHEST(M.heard, SENDER(m)))

/* MemberState.receive */
inline receive(i, m, to) {
  advance(i, to);
  when(isNews(i, m),
    assert(!has(M.heard, m));
    /* In the order of the sender, and no answer before its question. */
    assert(m != 0 || !(M.heard & 6));
    add(M.heard, m); add(M.log, m);
    M.pos[m] = to;
    M.horizon = MAX(M.horizon, to))
}

/* MemberState.post */
inline post(i, m) {
  add(M.log, m);
  M.after[m] = M.horizon;
  due[m] = everOpen & ~(1 << i);
  when(M.stage == isOpen, sendOwn(i))
}

/* MemberState.disconnected, Outbox.close. MemberLink.join: the hub of the highest generation listens, or is dead. */
inline leave(i) {
  clearDown(M.at, i);
  M.stage = away;
  M.sent = M.sequencedNumber;
  when(hub[highest].alive, join(i))
}

/* MemberState.connected */
inline join(i) {
  M.at = highest;
  M.stage = joining;
  up(M.at, i) ! hello(M.position, M.second.since, M.second.last, 0, 0, 0)
}

/* BusFolder.claim, MemberLink.become, BusFolder.livingMembers */
inline claim(i) {
  highest++;
  hub[highest].alive = true;
  hub[highest].phase = gathering;
  hub[highest].owner = OWNER(i);
  hub[highest].stable = NONE;
  x = NONE;
  y = false;
  each (n, MEMBERS) {
    /* Those who live and were there, but for the one in whose process the silent hub is. */
    when(isRunning(n) && (has(everOpen, n) || member[n].stage != away), add(hub[highest].expected, n));
    when(!member[n].dead && isHeldUp(n), add(hub[highest].missing, n));
    when(!member[n].dead && has(everOpen, n),
      hub[highest].stable = MIN(hub[highest].stable, member[n].position);
      x = (member[n].second.last -> member[n].second.since : x);
      y = y || GENERATION(member[n].position) < 2)
  }
  /* What a hub says is stable is nothing that it collected, as long as somebody is missing. */
  when(y, hub[highest].stable = MIN(hub[highest].stable, x))
}

proctype MemberProcess(byte i) {
end:
  do
  /* MemberLink.join, become */
  :: d_step { isRunning(i) && M.stage == away && (hub[highest].alive || highest < GENS) ->
      when(!hub[highest].alive, claim(i));
      join(i)
    }
  /* MemberLink.act: C asks to be the hub, and waits for the process of the hub before, too. */
  :: d_step { WANTED && isRunning(i) && i == C && M.stage == isOpen && highest == 1 -> claim(i); leave(i) }
  /* MemberState.tick, MemberLink.act: silence. It may not have noticed when the hub wakes up. */
  :: d_step { isRunning(i) && M.stage != away && hub[M.at].stopped && M.at < GENS ->
      when(highest == M.at, claim(i));
      leave(i)
    }
  /* MemberLink.leave: the end of the connection, at once or after what can still be read. */
  :: d_step { isRunning(i) && M.stage != away && !hub[M.at].alive -> leave(i) }
  :: d_step { isRunning(i) && i == A && !(M.log & 1) && (everOpen & 1) -> post(A, 0) }
  :: d_step { isRunning(i) && i == A && POSTS > 2 && (M.log & 3) == 1 -> post(A, 1) }
  :: d_step { isRunning(i) && i == B && (M.heard & 1) && !(M.log & 4) -> post(B, 2) }
  :: d_step { isRunning(i) && M.stage != away && nempty(down(M.at, i)) ->
      down(M.at, i) ? kind, a, b;
      if
      :: kind == message -> receive(i, a, b)
      /* MemberState.sequenced */
      :: kind == sequenced ->
        advance(i, b);
        when(has(M.log, a), M.pos[a] = b; M.after[a] = 0);
        when(SENDER(a) == i,
          M.sequencedNumber = MAX(M.sequencedNumber, NUMBER(a)); M.horizon = MAX(M.horizon, b))
      :: kind == lost -> when(b > M.began, add(M.reported, a))
      /* MemberState.collect */
      :: kind == collect ->
        each (n, MESSAGES) {
          f[n] = NONE; f[n + 3] = 0;
          when(!NO_COLLECTING && has(M.log, n) && (!ONLY_OWN_COLLECTED || SENDER(n) == i) &&
              (!M.pos[n] || M.pos[n] > a),
            f[n] = M.pos[n]; f[n + 3] = M.after[n])
        }
        up(M.at, i) ! collected(f[0], f[1], f[2], f[3], f[4], f[5])
      /* MemberState.open, Outbox.open */
      :: kind == open ->
        M.stage = isOpen;
        M.began = (M.position -> M.began : a);
        add(everOpen, i);
        when(M.at == 2 && GENS > 2, setRecovery(M.second, (b >> 2) & 31, b >> 7));
        advance(i, a);
        step(NO_RESENDING, M.sequencedNumber = MAX(M.sequencedNumber, MIN(b & 3, LAST_NUMBER(i))));
        M.sent = (NO_RESENDING -> LAST_NUMBER(i) : M.sequencedNumber);
        sendOwn(i)
      fi
    }
  od
}

/* HubState.sequence: to all that are open, but for the one it comes from */
inline sequence(g, m, from) {
  H.last++;
  assert(H.log[m] == 0);
  H.log[m] = POSITION(g, H.last);
  H.known[SENDER(m)] = NUMBER(m);
  each (n, MEMBERS) {
    when(n != from && H.stage[n] == isOpen, down(g, n) ! message(m, H.log[m]))
  }
}

/* HubState.give, report: that it lacks some; which, is for the search alone. */
#define report(g, i, m) step(NO_REPORT, down(g, i) ! lost(m, (top[m] -> top[m] : POSITION(g, H.last))))

/* HubState.recovery: the first that could have had a message of a generation; without one, `last` is 0 */
inline findRecovery(g, generation) {
  since = H.own.since;
  last = ((generation) < g -> H.own.last : 0);
  when(!NO_RECOVERIES && g > 2 && (generation) < 2 && H.second.last, since = H.second.since; last = H.second.last)
}

/* HubState.lowest */
inline findLowest(g, j) {
  findRecovery(g, GENERATION(j));
  lowest = (last && !NO_LOWEST -> MIN(j, since) : j)
}

/* Recovered.merge, unite: one entry of a log joins what is known of the message */
inline unite(m, to, after_) {
  when((to) != NONE,
    when(top[m] == NONE, top[m] = 0; place[m] = NONE);
    place[m] = MIN(place[m], ((to) -> 2 * (to) : 2 * (after_) + 1));
    top[m] = MAX(top[m], to))
}

#define mergeEntries(g, i) each (k, MESSAGES) { unite(k, entry(i, k), after(i, k)) }

/* The messages in the order of places; then nothing is merged. The statements contain each(n, …). */
#define eachMerged(...) \
  when(top[0] != NONE && top[1] != NONE && place[1] <= place[0], place[1] = (place[0] | 1)); \
  each (w, MESSAGES) { \
    best = NONE; \
    each (n, MESSAGES) { when(top[n] != NONE && (best == NONE || place[n] < place[best]), best = n) } \
    when(best != NONE, __VA_ARGS__; top[best] = NONE) \
  }

#define offers(i, m) (entry(i, m) != NONE)
/* HubMember.wasOpen */
#define wasOpen(g, i, p) (GENERATION(p) == GENERATION(H.joinedAt[i]) && (p) <= H.joinedAt[i])

/* HubState.give, one message of the merge */
inline giveOne(g, i, m) {
  x = H.joinedAt[i];
  /* HubState.covers */
  findRecovery(g, GENERATION(top[m]));
  covers = top[m] <= (last && GENERATION(top[m]) < GENERATION(x) -> last : x);
  if
  /* Its log is to say what the others' say. */
  :: offers(i, m) -> when(!NO_NUMBERS && entry(i, m) != top[m], down(g, i) ! sequenced(m, top[m]))
  :: SENDER(m) == i && !offers(i, m)
  :: SENDER(m) != i && !offers(i, m) && covers ->
    findLowest(g, x);
    when(GENERATION(top[m]) < GENERATION(x) && top[m] > MIN(H.since, lowest), report(g, i, m))
  :: m == 0 && i != A && !offers(i, 0) && !covers && offers(i, 1) ->
    when(!wasOpen(g, i, entry(i, 1)), report(g, i, m))
  :: else -> step(NO_GIVING, down(g, i) ! message(m, top[m]))
  fi
}

/* HubState.open */
inline openMember(g, i) {
  H.stage[i] = isOpen;
  drop(H.missing, i);
  down(g, i) ! open(POSITION(g, H.last),
    (NO_NUMBERS || i == C -> 0 : H.known[i]) | H.own.since << 2 | H.own.last << 7)
}

/* HubState.ask */
#define ask(g, i, from) add(H.waits, i); down(g, i) ! collect(from, 0)

inline forgetCollected(g) {
  each (n, MEMBERS * MESSAGES) { H.entries[n] = NONE; H.afters[n] = 0 }
  n = 0
}

/* HubState.isAlone, askLate */
#define isAlone(g, i) (!(H.missing & ~(1 << (i))))
inline askLate(g, i) {
  x = H.joinedAt[i];
  when(H.own.last == 0 && GENERATION(x) < g,
    H.since = x; H.gap = (isAlone(g, i) -> x : MIN(x, H.stable)); setRecovery(H.own, x, x));
  findLowest(g, x);
  z = (isAlone(g, i) -> H.since : H.gap);
  ask(g, i, MIN(z, lowest))
}

/* HubState.endRecovery, recover */
inline endRecovery(g) {
  z = 0;
  each (y, MEMBERS) {
    when(H.stage[y] == recovering, mergeEntries(g, y); z = MAX(z, H.joinedAt[y]))
  }
  each (k, MESSAGES) { z = (top[k] != NONE -> MAX(z, top[k]) : z) }
  setRecovery(H.own, H.since, z);
  inOrder(OPEN_BEFORE_GIVING,
    eachMerged(
      when(top[best] == 0, H.last++; top[best] = POSITION(g, H.last));
      H.log[best] = top[best];
      H.known[SENDER(best)] = MAX(H.known[SENDER(best)], NUMBER(best));
      each (y, MEMBERS) {
        when(H.stage[y] == recovering || H.stage[y] == isOpen, giveOne(g, y, best))
      }
    ),
    each (y, MEMBERS) { when(H.stage[y] == recovering || H.stage[y] == joining, openMember(g, y)) }
  );
  forgetCollected(g);
  H.phase = isOpen;
  each (y, MEMBERS) { when(H.stage[y] == late, askLate(g, y)) }
}

/* HubState.takeOver: one message of its log */
inline takeOver(g, i, m) {
  p = H.log[m];
  findRecovery(g, GENERATION(top[m]));
  isLate = NUMBER(m) <= H.known[SENDER(m)] || top[m] && top[m] <= last;
  if
  :: p == 0 && !isLate ->
    sequence(g, m, i);
    p = H.log[m]
  :: p == 0 && isLate ->
    each (n, MEMBERS) {
      when(n != i && H.stage[n] == isOpen && SENDER(m) != n && H.joinedAt[n] && !wasOpen(g, n, top[m]) &&
          GENERATION(H.joinedAt[i]) < g,
        report(g, n, m))
    }
    H.log[m] = (top[m] -> top[m] : H.own.last)
  :: else
  fi;
  when((p == 0 || p != top[m]) && (p != 0 && !(OLD_POSITION && SENDER(m) == i) || SENDER(m) == i && top[m] == 0),
    down(g, i) ! sequenced(m, (p -> p : H.own.last)))
}

/* HubState.repair: nobody who comes late is behind the hub's log. */
inline repair(g, i) {
  x = H.joinedAt[i];
  findLowest(g, x);
  assert(lowest >= H.gap);
  step(NO_TAKING_OVER, mergeEntries(g, i); eachMerged(takeOver(g, i, best)));
  each (k, MESSAGES) { when(H.log[k] && !offers(i, k), unite(k, H.log[k], 0)) }
  eachMerged(giveOne(g, i, best));
  forgetCollected(g);
  openMember(g, i)
}

#define isUp(g) (H.alive && !H.stopped)
#define hasMessage(g, j) (up(g, j) ?? [message, _, _, _, _, _, _])
#define hasMessages(g) (hasMessage(g, A) || hasMessage(g, B))

/* HubServer.close: a hub ends. A dead one has no state. */
inline endHub(g) {
  H.alive = false; H.checked = false; H.missing = 0; H.phase = nothing; H.last = 0; H.since = 0; H.gap = 0; H.stable = 0;
  H.known[0] = 0; H.known[1] = 0;
  setRecovery(H.own, 0, 0);
  setRecovery(H.second, 0, 0);
  H.waits = 0; H.joined = 0; H.expected = 0;
  each (n, MESSAGES) { H.log[n] = 0 }
  each (n, MEMBERS) { clearUp(g, n); H.stage[n] = nothing; H.joinedAt[n] = 0 }
  forgetCollected(g)
}

/* HubState.received: a frame of member j */
inline read(j) {
  d_step {
    isUp(g) && nempty(up(g, j)) && (H.checked || !hasMessage(g, j)) ->
      up(g, j) ? kind, f[0], f[1], f[2], f[3], f[4], f[5];
      if
      /* HubState.join */
      :: kind == hello ->
        H.joinedAt[j] = f[0];
        H.joined = (H.phase == gathering -> H.joined | 1 << j : 0);
        when(f[0] && f[2] && g > 2, setRecovery(H.second, f[1], f[2]));
        if
        :: (f[0] == 0 || NO_REPAIR) && H.phase == isOpen -> openMember(g, j)
        :: !NO_REPAIR && f[0] != 0 && H.phase == isOpen -> H.stage[j] = late; askLate(g, j)
        :: f[0] != 0 && H.phase == recovering -> H.stage[j] = late
        :: else -> H.stage[j] = joining
        fi
      /* HubState.collectedAll */
      :: kind == collected ->
        drop(H.waits, j);
        each (n, MESSAGES) { entry(j, n) = f[n]; after(j, n) = f[n + 3] }
        if
        :: H.phase == recovering && (EARLY_OPEN || H.waits == 0) -> endRecovery(g)
        :: H.phase == isOpen && H.stage[j] == late -> repair(g, j)
        :: else
        fi
      /* HubState.post */
      :: kind == message ->
        if
        :: !NO_NUMBERS && NUMBER(f[0]) <= H.known[SENDER(f[0])] -> down(g, j) ! sequenced(f[0], H.own.last)
        :: else -> sequence(g, f[0], j); down(g, j) ! sequenced(f[0], H.log[f[0]])
        fi
      fi;
      H.checked = false
  }
}

proctype HubProcess(byte g) {
end:
  do
  /* HubState.endGathering, tickJoining */
  :: d_step { isUp(g) && H.phase == gathering && H.joined && (NO_GATHERING || !(H.expected & ~H.joined)) ->
      H.phase = recovering;
      H.joined = 0; H.expected = 0;
      z = NONE;
      each (y, MEMBERS) {
        x = H.joinedAt[y];
        when(H.stage[y] == joining && x, findLowest(g, x); z = MIN(z, lowest))
      }
      H.since = (z == NONE -> 0 : z);
      H.gap = (H.missing && !ONLY_SINCE_COLLECTED -> MIN(H.since, H.stable) : H.since);
      each (y, MEMBERS) {
        when(H.stage[y] == joining && H.joinedAt[y], H.stage[y] = recovering; ask(g, y, H.gap))
      }
      when(H.waits == 0, endRecovery(g))
    }
  :: read(A)
  :: read(B)
  :: read(C)
  /* HubServer.handle, look: a look at the folder, before a batch with messages and when it changes. */
  :: d_step { isUp(g) && !H.checked && hasMessages(g) && (highest == g || NO_FOLDER_CHECK) -> H.checked = true }
  :: d_step { isUp(g) && highest > g && !NO_FOLDER_CHECK && (hasMessages(g) || !FOLDER_CHECK_ON_MESSAGE) ->
      endHub(g)
    }
  od
}

/*
 * The state of a dead member is of no use to the search. HubServer.tick: a hub that gathers does not wait
 * for who has died meanwhile.
 */
inline die(i) {
  each (n, GENS) { drop(hub[n + 1].expected, i); clearDown(n + 1, i) }
  M.dead = true;
  M.stage = nothing; M.at = 0; M.position = 0; M.horizon = 0; M.began = 0;
  M.log = 0; M.sent = 0; M.sequencedNumber = 0;
  M.heard = 0; M.reported = 0;
  each (n, MESSAGES) { M.pos[n] = 0; M.after[n] = 0 }
}

/* A hub dies, or is stopped and wakes up, or neither; with it the member in whose process it is. */
proctype Fate(byte g) {
  if
  :: skip
  :: d_step { H.alive -> x = H.owner; when(x < MEMBERS, die(x)); endHub(g) }
  :: d_step { !NO_STOPS && H.alive -> H.stopped = true }; H.stopped = false
  fi
}

/* What holds when nobody can do anything. */
proctype Rest() {
  byte i;
  timeout ->
  d_step {
    assert(hub[highest].alive && hub[highest].phase == isOpen);
    each (i, MEMBERS) {
      assert(M.dead || M.stage == isOpen && M.at == highest && M.sequencedNumber == LAST_NUMBER(i));
      each (k, MESSAGES) {
        assert(M.dead || member[SENDER(k)].dead || !has(member[SENDER(k)].log, k) || !has(due[k], i) ||
          has(M.heard, k) || OWNED && !NO_STOPS && has(M.reported, k))
      }
    }
  }
}

init {
  byte i, g;
  d_step {
    for (g : 1 .. GENS) { forgetCollected(g) }
    g = 1;
    H.alive = true; H.phase = isOpen; H.owner = OWNER(A);
    each (i, MEMBERS) {
      M.stage = away;
      when(i != C || !NEWCOMER,
        M.stage = isOpen; M.at = 1; M.position = POSITION(1, 0);
        H.stage[i] = isOpen;
        add(everOpen, i))
    }
  }
  atomic {
    for (g : 1 .. GENS) { run HubProcess(g); when(g < GENS, run Fate(g)) }
    each (i, MEMBERS) { run MemberProcess(i) }
    run Rest()
  }
}
