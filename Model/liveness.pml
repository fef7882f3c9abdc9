/*
 * What happens in the end. Once nobody dies or stops any more, every member that runs is part of the last
 * generation, whose hub runs, and a flush in progress ends.
 *
 * Ticks, pings and looks at the folder go on without end. Each process of the model does again and again
 * what it can (weak fairness). One member flushes. Another process may die, stop, or stop and wake up,
 * whether it has the hub or not. The search looks for a way to go on for ever in which a member is never
 * settled, or the flush never ends.
 *
 * step NO_CLAIM         CampanileRelay/Host/MemberLink.swift:join                  who finds its hub dead claims the next generation
 * step NO_TAKEOVER      CampanileRelay/Host/MemberLink.swift:act                   and who finds it silent
 * step NO_FOLDER_CHECK  CampanileRelay/Host/HubServer.swift:tick                   a hub that has been superseded closes
 * step NO_LEAVING       CampanileRelay/Host/MemberLink.swift:leave                 and its members leave
 * step NO_PATIENCE      CampanileRelay/Protocol/HubState+Joining.swift:tickJoining a hub does not wait for ever for members
 * step NO_LATE          CampanileRelay/Protocol/HubState+Joining.swift:tickJoining nor for their logs
 * step NO_ASKING        CampanileRelay/Protocol/HubState+Joining.swift:endRecovery and asks those who came meanwhile when it is open
 * step NO_FLUSH_AGAIN   CampanileRelay/Protocol/Outbox.swift:close                 a flush is sent again to the next hub
 * step NO_PONG          CampanileRelay/Protocol/MemberState.swift:endRead          members acknowledge what they have read
 * step SILENT_AWAITED   CampanileRelay/Protocol/HubState.swift:tick                a flush does not wait for who is silent
 * step DEAD_AWAITED     CampanileRelay/Protocol/HubState.swift:remove              nor for who is dead
 *
 * A hub is silent only if its process has been stopped: how long a slow one is waited for is a matter of
 * time, which the search does not know. A claim is one step here; election.pml has its parts, and the
 * model of the takeover what the frames carry.
 *
 * run -DPROCESSES=3 -DFATES=1
 */

#include "steps.h"

#define GENS (FATES + 1)
#define F (PROCESSES - 1)

/* Phases of hubs, and of connections with the frame that is under way. */
mtype = { gathering, recovering, isOpen, away, hello, joining, late, collect, collected, read, opening };
mtype = { wanted, sent, held, answered, ended };

byte highest;
bool isDead[PROCESSES], isStopped[PROCESSES];

/* Hubs, by generation. */
bool isUp[GENS + 1];
byte owner[GENS + 1];
mtype phase[GENS + 1];
byte expected[GENS + 1];

/* Members, and the connection of each. */
byte at[PROCESSES];
mtype stage[PROCESSES] = away;
bool ping[PROCESSES], pong[PROCESSES];
mtype flush = wanted;
byte awaited;
hidden byte n, isComplete;

#define runs(i) (!isDead[i] && !isStopped[i])
#define isIn(i, g) (at[i] == g && stage[i] != away)
#define isOwn(g, i) (isUp[g] && owner[g] == i && runs(i))
#define isSettled(i) \
  (!runs(i) || stage[i] == isOpen && at[i] == highest && isUp[highest] && runs(owner[highest]))

#define settled (isSettled(0) && isSettled(1) && isSettled(2) && (flush == ended || !runs(F)))
ltl end { <>[] settled }

/* HubServer.close */
inline closeHub(g) {
  isUp[g] = false; phase[g] = 0; expected[g] = 0
}

/* BusFolder.claim, MemberLink.become */
inline claim(i) {
  assert(highest < GENS);
  highest++;
  isUp[highest] = true; owner[highest] = i; phase[highest] = gathering;
  /* Those who live, without the one whose hub is silent. */
  each (n, PROCESSES) {
    when(!isDead[n] && (highest == 1 || owner[highest - 1] != n), add(expected[highest], n))
  }
  at[i] = highest; stage[i] = hello
}

/* MemberState.disconnected, Outbox.close */
inline disconnect(i) {
  at[i] = 0; stage[i] = away; ping[i] = false; pong[i] = false;
  when(i == F && flush != ended && !NO_FLUSH_AGAIN, flush = wanted; awaited = 0)
}

/* HubState.open; Outbox.send */
#define open(i) stage[i] = opening

/* HubState.endRecovery */
inline endRecovery(g) {
  isComplete = (phase[g] == recovering);
  each (n, PROCESSES) {
    when(isIn(n, g) && (stage[n] == collect || stage[n] == collected), isComplete = false)
  }
  when(isComplete,
    phase[g] = isOpen;
    each (n, PROCESSES) {
      if
      :: isIn(n, g) && (stage[n] == read || stage[n] == joining) -> open(n)
      /* HubState.askLate */
      :: isIn(n, g) && stage[n] == late && !NO_ASKING -> stage[n] = collect
      :: else
      fi
    })
}

/* HubState.endGathering */
inline endGathering(g) {
  when(phase[g] == gathering && !expected[g],
    phase[g] = recovering;
    each (n, PROCESSES) { when(isIn(n, g) && stage[n] == joining, stage[n] = collect) }
    endRecovery(g))
}

/* HubState.endFlushes */
inline endFlushes(g) {
  when(isIn(F, g) && flush == held && !awaited, flush = answered)
}

/* MemberLink.queue: what a member reads */
proctype Member(byte i) {
  do
  :: isDead[i] -> break
  :: atomic { runs(i) && stage[i] == away && highest && isUp[highest] -> at[i] = highest; stage[i] = hello }
  :: atomic { runs(i) && stage[i] == away && (!highest || !isUp[highest]) && !NO_CLAIM -> claim(i) }
  :: atomic { runs(i) && stage[i] != away && !isUp[at[i]] && !NO_LEAVING -> disconnect(i) }
  /* MemberState.collect */
  :: atomic { runs(i) && stage[i] == collect && isUp[at[i]] -> stage[i] = collected }
  /* MemberState.open */
  :: atomic { runs(i) && stage[i] == opening && isUp[at[i]] ->
      stage[i] = isOpen;
      when(i == F && flush == wanted, flush = sent)
    }
  :: atomic { runs(i) && i == F && stage[i] == isOpen && flush == answered -> flush = ended }
  /* MemberState.endRead */
  :: atomic { runs(i) && stage[i] == isOpen && ping[i] && !(i == F && flush == answered) && !NO_PONG ->
      ping[i] = false; pong[i] = true
    }
  od
}

/* HubServer.handle: what the hub reads of member j. What comes again and again is read last. */
proctype Connection(byte j) {
  byte g;
  do
  :: atomic { stage[j] != away && isUp[at[j]] && runs(owner[at[j]]) -> g = at[j];
      if
      /* HubState.remove */
      :: isDead[j] ->
        at[j] = 0; stage[j] = away; ping[j] = false; pong[j] = false;
        step(DEAD_AWAITED, drop(awaited, j));
        when(j == F, flush = ended);
        endFlushes(g);
        endRecovery(g)
      /* HubState.join */
      :: !isDead[j] && stage[j] == hello ->
        drop(expected[g], j);
        stage[j] = (phase[g] == gathering -> joining : (phase[g] == isOpen -> collect : late));
        endGathering(g)
      /* HubState.collectedAll, HubState.repair */
      :: !isDead[j] && stage[j] == collected ->
        stage[j] = read;
        if
        :: phase[g] == isOpen -> open(j)
        :: else -> endRecovery(g)
        fi
      /* HubState.flush */
      :: !isDead[j] && stage[j] == isOpen && j == F && flush == sent ->
        flush = held; awaited = 0;
        each (n, PROCESSES) {
          when(n != F && isIn(n, g) && stage[n] == isOpen && !isStopped[n], add(awaited, n))
        }
        endFlushes(g)
      /* HubState.acknowledged */
      :: !isDead[j] && stage[j] == isOpen && pong[j] && !(j == F && flush == sent) ->
        pong[j] = false; drop(awaited, j);
        endFlushes(g)
      :: else
      fi;
      g = 0
    }
  od
}

/* MemberLink.tick, HubServer.tick */
proctype Clock(byte i) {
  byte g;
  do
  :: isDead[i] -> break
  :: atomic { runs(i) ->
      /* MemberState.tick, MemberLink.act: five ticks without a frame */
      when(stage[i] != away && isUp[at[i]] && isStopped[owner[at[i]]] && !NO_TAKEOVER,
        g = at[i];
        disconnect(i);
        when(highest == g, claim(i)));
      for (g : 1 .. GENS) {
        if
        :: isUp[g] && owner[g] == i && highest > g ->
          step(NO_FOLDER_CHECK, closeHub(g))
        /* HubState.tickJoining: what has taken five ticks */
        :: isUp[g] && owner[g] == i && highest == g && phase[g] == gathering ->
          step(NO_PATIENCE, expected[g] = 0; endGathering(g))
        :: isUp[g] && owner[g] == i && highest == g && phase[g] == recovering ->
          each (n, PROCESSES) { when(isIn(n, g) && stage[n] == collect && isStopped[n] && !NO_LATE, stage[n] = late) }
          endRecovery(g)
        :: isUp[g] && owner[g] == i && highest == g && phase[g] == isOpen ->
          /* HubState.tick */
          each (n, PROCESSES) {
            when(isIn(n, g) && stage[n] == isOpen && has(awaited, n) && !pong[n], ping[n] = true);
            when(isStopped[n] && !SILENT_AWAITED, drop(awaited, n))
          }
          endFlushes(g)
        :: else
        fi
      }
      g = 0
    }
  od
}

proctype Fate(byte i) {
  byte g;
  if
  :: skip
  :: atomic { isDead[i] = true;
      for (g : 1 .. GENS) {
        when(isUp[g] && owner[g] == i, closeHub(g))
      }
      g = 0
    }
  :: isStopped[i] = true
  :: isStopped[i] = true; isStopped[i] = false
  fi
}

init {
  byte i;
  atomic {
    each (i, PROCESSES) {
      run Member(i); run Clock(i); run Connection(i);
      when(i < FATES, run Fate(i))
    }
  }
}
