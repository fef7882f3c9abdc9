/*
 * Litmus tests for the pairs of atomic accesses that no other model has: each is a few steps of two
 * threads, and a state that is reached if both miss the other's store.
 *
 *   QUESTION      a post asks whether anybody is there before it announces itself              (K1)
 *   CANCEL        a post checks the registration word                                          (K3)
 *   NESTING       a nested post announces itself                                               (K16)
 *   RECORD        a thread announces its first post                                            (K16)
 *   TABLE         an object is put into a table that is read without a lock                    (K1)
 *   TAGS          a subject with a tag is observed for the first time                          (K1)
 *   REFERENCE     two threads store an object in one reference                                 (K15)
 *   KEYS          a post finds the topic of its key, which is forgotten meanwhile              (K16)
 *
 * Spin is sequentially consistent. A step that begins with LATE delays a store behind the load that
 * follows, or makes that load early, as a processor may do with weaker accesses.
 *
 * step LATE_ADDITION Engine/ObserverList.swift:addToPopulation        a registration is counted before observe() returns
 * step LATE_QUESTION Engine/ObserverList.swift:isEmpty                a post asks after what its thread did before
 * step LATE_END      Engine/Observer.swift:markEnded                  an end is in the word before cancel() returns
 * step LATE_CHECK    Engine/Observer.swift:isReady                    a post checks after what its thread did before
 * step LATE_LINK     Engine/ThreadRecord.swift:makeNested             a reservation is linked before a post in it looks (run 3)
 * step LATE_OUTER    Engine/ThreadRecord.swift:announce               after the post around it was announced (run 3)
 * step EARLY_LEAVING Engine/ThreadRecord.swift:leave                  which leaves last (run 3)
 * step LATE_RECORD   Engine/ThreadRecord.swift:claim                  a record can be found before its thread's post looks (run 3)
 * step EARLY_KEY     Engine/Tables/AddressTable.swift:insert          who finds a key finds its object (run 5)
 * step LATE_TAGS     Engine/Tables/TopicList.swift:list               who reaches a subject with a tag looks for tags (run 6)
 * step TORN_STORE    Engine/Memory/LazyReference.swift:storeIfNil     both threads get the same object (run 7)
 * step EARLY_TOPIC   Engine/Tables/KeyTable.swift:recipients          a topic is read by a post that has announced itself (run 8)
 * step LATE_SECTION  Engine/Tables/KeyTable.swift:recipientsUnderLock a post announces itself under the lock (run 8)
 * step LATE_MEMORY   Engine/Tables/KeyTable.swift:remember            what was forgotten is not found without the lock again (run 8)
 * step LATE_FORGET   Engine/Tables/KeyTable.swift:forget              a topic is taken out before the reservations are read (run 8)
 *
 * run -DQUESTION
 * run -DCANCEL
 * run -DNESTING
 * run -DRECORD
 * run -DTABLE
 * run -DTAGS
 * run -DREFERENCE
 * run -DKEYS
 */

#include "steps.h"

#if QUESTION || CANCEL
/*
 * `word` is the population, a key of a table, or the registration word. `flag` is any word of the
 * program. A thread that has registered or canceled, and does not see the flag, may conclude that the
 * post begins later.
 */
bool word, flag, saw, found;

proctype Changer() {
  if
  :: LATE_ADDITION || LATE_END -> saw = flag; word = true
  :: else -> word = true; saw = flag
  fi
}

proctype Poster() {
  if
  :: LATE_QUESTION || LATE_CHECK -> found = word; flag = true
  :: else -> flag = true; found = word
  fi
}

init {
  atomic { run Changer(); run Poster() }
  _nr_pr == 1 -> assert(saw || found)
}
#endif

#if NESTING || RECORD
/*
 * `outer` is the reservation of the post around, if there is one; `link` the link to the nested post's, or
 * to the first one of a thread, and `source` that reservation. The post around makes the link before it
 * announces itself. The scan reads them in the order given here, up to one that is not there; without the
 * post it releases what it took out.
 */
bool outer, link, source, isTaken, isReleased;

active proctype Poster() {
  bool holds;
  when(!LATE_LINK && !LATE_RECORD, link = true);
  step(LATE_OUTER, outer = true);
  source = true;
  holds = !isTaken;
  moved(LATE_OUTER, outer = true;)
  link = true;
  moved(EARLY_LEAVING, outer = false;)
  assert(!holds || !isReleased);
  source = false;
  outer = false
}

active proctype Scan() {
  bool isInside;
  isTaken = true;
  isInside = outer || RECORD;
  isInside = isInside && link;
  isInside = isInside && source;
  when(!isInside, isReleased = true)
}
#endif

#if TABLE || TAGS
/*
 * `object` is what is found by the key; or the flag that there are tags, where the clock shows a registration
 * that is found by its tag alone.
 */
bool object, key;

active proctype Writer() {
  if
  :: EARLY_KEY || LATE_TAGS -> key = true; object = true
  :: else -> object = true; key = true
  fi
}

active proctype Reader() {
  when(key, assert(object))
}
#endif

#if REFERENCE
byte address, got[2];

proctype Writer(byte self) {
  bool isFirst;
  if
  :: TORN_STORE -> isFirst = address == 0; when(isFirst, address = self + 1)
  :: else -> atomic { isFirst = address == 0; when(isFirst, address = self + 1) }
  fi;
  got[self] = (isFirst -> self + 1 : address)
}

init {
  atomic { run Writer(0); run Writer(1) }
  _nr_pr == 1 -> assert(got[0] == got[1])
}
#endif

#if KEYS
/*
 * `recent` is the place of the topic among those that were found last, `isKnown` its place in the
 * dictionary under the lock. `source` is the reservation of each post.
 */
bool recent, isKnown = true, isLocked, isReleased;
bool source[2];

active [2] proctype Poster() {
  bool holds;
  inOrder(EARLY_TOPIC, source[_pid] = true, holds = recent);
  if
  :: !holds ->
    source[_pid] = false;
    atomic { !isLocked -> isLocked = true };
    if
    :: isKnown ->
      step(LATE_SECTION, source[_pid] = true);
      step(LATE_MEMORY, recent = true);
      holds = true
    :: else
    fi;
    isLocked = false;
    moved(LATE_SECTION, source[_pid] = holds;)
    when(holds && LATE_MEMORY, recent = true)
  :: else
  fi;
  assert(!holds || !isReleased);
  source[_pid] = false
}

active proctype Forgetter() {
  bool isInside;
  atomic { !isLocked -> isLocked = true };
  isKnown = false;
  step(LATE_FORGET, recent = false);
  isLocked = false;
  isInside = source[0];
  isInside = isInside || source[1];
  when(!isInside, isReleased = true);
  moved(LATE_FORGET, recent = false)
}
#endif
