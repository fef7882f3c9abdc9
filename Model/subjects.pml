/*
 * The table of subjects: a place of it goes from the list of one subject to that of another, under a post
 * that has found it.
 *
 * One or two threads post about either of two subjects, which share a place. Another one ends an observer,
 * puts in one of either subject, lets a second one join, and moves to another table. The states that are
 * reached in any interleaving are searched for
 *
 *   a use after free      an observer, a list or a table is touched after its release
 *   a call after cancel   a call begins after cancel() returned                                (K3)
 *   a lost delivery       a registration that lives when a post begins is not called            (K1, K2)
 *   a wrong delivery      of another subject's message, called twice, or registered later      (K2, K9)
 *
 * That what a post may hold is kept until it leaves is taken for granted here: `observers.pml` shows it.
 *
 * step KEY_FIRST      Engine/Tables/AddressTable.swift:insert               the key is written last
 * step LATE_WATERMARK Engine/ObserverRegistry.swift:enter      a post has its watermark before it searches
 * step NO_COMPARISON  Engine/ObserverRegistry+Walk.swift:walk  with which it compares the identifiers
 * step NO_CHECK       Engine/ObserverRegistry+Walk.swift:call  as it checks the registration word
 * step NO_REMOVAL     Engine/Tables/AddressTable.swift:remove               who ends the last takes the key out
 * step LATE_REMOVAL   Engine/Tables/AddressTable.swift:remove               before the reservations are read
 * step LIST_FREED     Engine/Tables/TopicList.swift:remove                  the list is kept for posts
 * step EARLY_TABLE    Engine/Tables/TopicList.swift:rebuildTable            a table is filled before it is found
 * step TABLE_FREED    Engine/Tables/TopicList.swift:list                    the one it replaced is kept for posts
 *
 * run -DPOSTERS=1 -DPOSTS=2 -DCHANGES=4
 * run -DPOSTERS=2 -DPOSTS=1 -DCHANGES=3
 */

#include "steps.h"


#define NOTHING 0
#define LEFT 1     /* the key of a place where something stood */
#define ONE 2      /* the keys of the subjects */
#define OTHER 3
#define OBSERVERS 5

byte clock = 1;

/* TopicList: the current table. AddressTable: the only place of each, with the number of a list. */
byte table;
byte key[2];
byte object[2];

/* SubjectList: who stands in a list, oldest first. A list has the number of its first observer. */
byte first[OBSERVERS], second[OBSERVERS];

/* Reservation, for each thread; what waits for them to leave. */
byte inside;
byte retired[OBSERVERS];
byte retiredList[OBSERVERS];
byte retiredTable[2];

/* What the search watches. */
byte subjectOf[OBSERVERS];
byte idOf[OBSERVERS];
bool ended[OBSERVERS];      /* the registration word */
bool isRegistered[OBSERVERS];
bool isEnding[OBSERVERS];
bool canceled[OBSERVERS];
bool released[OBSERVERS];
bool isListReleased[OBSERVERS];
bool isTableReleased[2];

#define TICKET(thread) (1 << (thread))

/* ObserverRegistry+Reclamation.swift: end; ObserverList.swift: take; TopicList.swift: remove */
inline end() {
  list = object[table];
  observer = (first[list] -> first[list] : second[list]);
  isEnding[observer] = true;
  ended[observer] = true;
  if
  :: first[list] == observer -> first[list] = NOTHING
  :: else -> second[list] = NOTHING
  fi;
  isLast = first[list] == NOTHING && second[list] == NOTHING;
  inOrder(LATE_REMOVAL, when(isLast && !NO_REMOVAL, key[table] = LEFT), tickets = inside);
  d_step {
    /* A post that has left meanwhile has looked at what waits. */
    retired[observer] = tickets & inside;
    released[observer] = retired[observer] == 0;
    when(isLast,
      retiredList[list] = (LIST_FREED -> 0 : tickets & inside); isListReleased[list] = retiredList[list] == 0);
    canceled[observer] = true;
    observer = 0; list = 0; tickets = 0; isLast = false
  }
}

/* ObserverRegistry.swift: insert */
#define SHOW clock = idOf[observer]

/* TopicList.swift: list; AddressTable.swift: insert */
inline insert() {
  d_step { observer = next; next++; idOf[observer] = clock + 1; subjectOf[observer] = subject }
  inOrder(KEY_FIRST, object[table] = observer, key[table] = subject);
  first[observer] = observer;
  SHOW;
  d_step { isRegistered[observer] = true; observer = 0; subject = 0 }
}

inline join() {
  d_step { observer = next; next++; idOf[observer] = clock + 1; subjectOf[observer] = key[table] }
  second[object[table]] = observer;
  SHOW;
  d_step { isRegistered[observer] = true; observer = 0 }
}

/* TopicList.swift: rebuildTable, replaceTable */
inline rebuild() {
  moved(EARLY_TABLE, table = 1;)
  d_step {
    object[1] = object[0];
    if
    :: key[0] == LEFT
    :: else -> key[1] = key[0]
    fi
  }
  table = 1;
  d_step { retiredTable[0] = (TABLE_FREED -> 0 : inside); isTableReleased[0] = retiredTable[0] == 0 }
}

/* Everything here happens under the registry's lock. */
proctype Changer() {
  byte change, next = 2, observer, list, subject, tickets;
  bool isLast;
  for (change : 1 .. CHANGES) {
    if
    :: key[table] > LEFT -> end()
    :: key[table] <= LEFT && next < OBSERVERS ->
      if
      :: subject = ONE
      :: subject = OTHER
      fi;
      insert()
    :: key[table] > LEFT && second[object[table]] == NOTHING && next < OBSERVERS -> join()
    :: table == 0 -> rebuild()
    :: else
    fi
  }
}

/* ObserverRegistry+Walk.swift: call */
inline call(who) {
  d_step {
    assert(!released[who]);
    when(NO_CHECK || !ended[who],
      assert(!canceled[who]);
      assert(subjectOf[who] == subject && idOf[who] <= watermark);
      assert(!(heard & (1 << who)));
      heard = heard | (1 << who))
  }
  d_step { assert(!released[who]) }
}

#define IS_REACHED(who) (who && (NO_COMPARISON || idOf[who] <= watermark))

/* What stands at the place, as AddressTable.swift: index, object; then ObserverRegistry+Walk.swift: walk */
inline look() {
  d_step { assert(!isTableReleased[from]); found = key[from] }
  if
  :: found == subject ->
    moved(LATE_WATERMARK, watermark = clock;)
    /* It may be the list of a subject that came to the place. */
    d_step { assert(!isTableReleased[from]); list = object[from] }
    d_step { assert(list && !isListReleased[list]); observer = first[list] };
    when(IS_REACHED(observer), call(observer));
    d_step { assert(!isListReleased[list]); observer = second[list] }
    when(IS_REACHED(observer), call(observer))
  :: else
  fi
}

#define IS_EXPECTED(who) \
  ((isRegistered[who] && !isEnding[who] && subjectOf[who] == subject) << (who))
#define IS_ENDING(who) (isEnding[who] << (who))

proctype Poster(byte self) {
  byte post, subject, watermark, from, found, observer, list, heard, expected;
  for (post : 1 .. POSTS) {
    if
    :: subject = ONE
    :: subject = OTHER
    fi;
    d_step {
      expected = IS_EXPECTED(1) | IS_EXPECTED(2) | IS_EXPECTED(3) | IS_EXPECTED(4)
    }
    inside = inside | TICKET(self);
    step(LATE_WATERMARK, watermark = clock);
    from = table;
    look();
    d_step {
      /* K1, K2: who lived when the post began has heard it, or is being ended. */
      assert((expected & ~heard
        & ~(IS_ENDING(1) | IS_ENDING(2) | IS_ENDING(3) | IS_ENDING(4))) == 0);
      inside = inside & ~TICKET(self);
      for (observer : 1 .. OBSERVERS - 1) {
        when(retired[observer] == TICKET(self), released[observer] = true);
        retired[observer] = retired[observer] & ~TICKET(self);
        when(retiredList[observer] == TICKET(self), isListReleased[observer] = true);
        retiredList[observer] = retiredList[observer] & ~TICKET(self)
      }
      when(retiredTable[0] == TICKET(self), isTableReleased[0] = true);
      retiredTable[0] = retiredTable[0] & ~TICKET(self);
      subject = 0; watermark = 0; from = 0; found = 0; observer = 0; list = 0; heard = 0;
      expected = 0
    }
  }
}

init {
  atomic {
    key[0] = ONE; object[0] = 1; first[1] = 1;
    subjectOf[1] = ONE; idOf[1] = 1; isRegistered[1] = true;
    run Poster(0);
    when(POSTERS == 2, run Poster(1));
    run Changer()
  }
}
