/*
 * The table of subjects: a place of it goes from one subject to another, or from an observer to a
 * list, under a post that has found it.
 *
 * One or two threads post about either of two subjects, which share a place. Another one ends the
 * observer that stands there, puts in one of either subject, lets a second one join, and moves to
 * another table. The states that are reached in any interleaving are searched for
 *
 *   a use after free      an observer or a table is touched after its release
 *   a call after cancel   a call begins after cancel() returned                                (K3)
 *   a lost delivery       a registration that lives when a post begins is not called            (K1, K2)
 *   a wrong delivery      of another subject's message, called twice, or registered later      (K2, K9)
 *
 * That what a post may hold is kept until it leaves is taken for granted here: `observers.pml` shows it.
 *
 * step OBSERVER_FIRST Topics/SubjectTable.swift:insert               the identifier is written before the observer
 * step KEY_FIRST      Topics/SubjectTable.swift:insert               and the key last
 * step ID_READ_FIRST  Topics/SubjectTable.swift:entry                a post reads them the other way round
 * step LATE_WATERMARK ObserverList/ObserverRegistry.swift:enter      and its watermark before it searches
 * step NO_COMPARISON  ObserverList/ObserverRegistry+Walk.swift:walk  with which it compares the identifier
 * step NO_CHECK       ObserverList/ObserverRegistry+Walk.swift:call  as it checks the registration word
 * step NO_REMOVAL     Topics/SubjectTable.swift:remove               who ends takes the key out
 * step LATE_REMOVAL   Topics/SubjectTable.swift:remove               before the reservations are read
 * step LATE_ADOPTION  Topics/SubjectIndex.swift:makeList             a list begins with who stood alone
 * step CHANGED_ID     Topics/SubjectTable.swift:replaceSingle        whose identifier stays in the table
 * step EARLY_TABLE    Topics/SubjectIndex.swift:rebuild              a table is filled before it is found
 * step TABLE_FREED    Topics/SubjectIndex.swift:makeRoom             the one it replaced is kept for posts
 *
 * run -DPOSTS=2 -DCHANGES=4
 * run -DPOSTERS=2 -DPOSTS=1 -DCHANGES=3
 */

#ifndef POSTS
#define POSTS 2
#endif
#ifndef POSTERS
#define POSTERS 1
#endif
#ifndef CHANGES
#define CHANGES 4
#endif

#define NOTHING 0
#define LEFT 1     /* the key of a place where something stood */
#define ONE 2      /* the keys of the subjects */
#define OTHER 3
#define LIST 9     /* the word of a list */
#define EVERYTHING 255
#define OBSERVERS 5

byte clock = 1;

/* SubjectIndex: the current table. SubjectPlace: the only place of each. */
byte table;
byte key[2];
byte id[2];
byte word[2];

/* ObserverList: who stands in the list, oldest first. */
byte first, second;

/* Reservation, for each thread; what waits for them to leave. */
byte inside;
byte retired[OBSERVERS];
byte retiredTable[2];

/* What the search watches. */
byte subjectOf[OBSERVERS];
byte idOf[OBSERVERS];
bool ended[OBSERVERS];      /* the registration word */
bool isRegistered[OBSERVERS];
bool isEnding[OBSERVERS];
bool canceled[OBSERVERS];
bool released[OBSERVERS];
bool isTableReleased[2];

#define TICKET(thread) (1 << (thread))

/* SubjectTable.swift: remove, and the reading of the reservations in ObserverRegistry+Reclamation.swift */
inline end() {
  observer = word[table];
  isEnding[observer] = true;
  ended[observer] = true;
#ifdef LATE_REMOVAL
  tickets = inside;
  key[table] = LEFT;
#else
#ifndef NO_REMOVAL
  key[table] = LEFT;
#endif
  tickets = inside;
#endif
  d_step {
    /* A post that has left meanwhile has looked at what waits. */
    retired[observer] = tickets & inside;
    if
    :: retired[observer] == 0 -> released[observer] = true
    :: else
    fi;
    canceled[observer] = true;
    observer = 0; tickets = 0
  }
}

/* SubjectTable.swift: insert; the clock in ObserverRegistry.swift: add */
inline insert() {
  d_step { observer = next; next++; idOf[observer] = clock + 1; subjectOf[observer] = subject }
#ifdef KEY_FIRST
  key[table] = subject;
#endif
#ifdef OBSERVER_FIRST
  word[table] = observer;
  id[table] = idOf[observer];
#else
  id[table] = idOf[observer];
  word[table] = observer;
#endif
#ifndef KEY_FIRST
  key[table] = subject;
#endif
  clock = idOf[observer];
  d_step { isRegistered[observer] = true; observer = 0; subject = 0 }
}

/* SubjectIndex.swift: makeList; SubjectTable.swift: replaceSingle */
inline join() {
  d_step { observer = next; next++; idOf[observer] = clock + 1; subjectOf[observer] = key[table] }
#ifdef CHANGED_ID
  id[table] = EVERYTHING;
#endif
#ifdef LATE_ADOPTION
  d_step { subject = word[table]; word[table] = LIST }
  first = subject;
#else
  first = word[table];
  word[table] = LIST;
#endif
  second = observer;
  clock = idOf[observer];
  d_step { isRegistered[observer] = true; observer = 0; subject = 0 }
}

/* SubjectIndex.swift: rebuild, replace */
inline rebuild() {
#ifdef EARLY_TABLE
  table = 1;
#endif
  d_step {
    id[1] = id[0];
    word[1] = word[0];
    if
    :: key[0] == LEFT
    :: else -> key[1] = key[0]
    fi
  }
  table = 1;
#ifdef TABLE_FREED
  isTableReleased[0] = true;
#else
  d_step {
    retiredTable[0] = inside;
    if
    :: inside == 0 -> isTableReleased[0] = true
    :: else
    fi
  }
#endif
}

/* Everything here happens under the registry's lock. */
proctype Changer() {
  byte changes = CHANGES, next = 2, observer, subject, tickets;
  do
  :: changes == 0 -> break
  :: else ->
    changes--;
    if
    :: key[table] > LEFT && word[table] != LIST -> end()
    :: key[table] <= LEFT && next < OBSERVERS ->
      if
      :: subject = ONE
      :: subject = OTHER
      fi;
      insert()
    :: key[table] > LEFT && word[table] != LIST && next < OBSERVERS -> join()
    :: table == 0 -> rebuild()
    :: else
    fi
  od
}

/* ObserverRegistry+Walk.swift: call */
inline call(who) {
  d_step {
    assert(who != NOTHING);
    assert(!released[who]);
    if
#ifndef NO_CHECK
    :: ended[who]
#endif
    :: else ->
      assert(!canceled[who]);
      assert(subjectOf[who] == subject && idOf[who] <= watermark);
      assert(!(heard & (1 << who)));
      heard = heard | (1 << who)
    fi
  }
  d_step { assert(!released[who]) }
}

/* What stands at the place, as SubjectTable.swift: find, entry */
inline look() {
  d_step { assert(!isTableReleased[from]); found = key[from] }
  if
  :: found == subject ->
#ifdef LATE_WATERMARK
    watermark = clock;
#endif
#ifdef ID_READ_FIRST
    d_step { assert(!isTableReleased[from]); number = id[from] }
    d_step { assert(!isTableReleased[from]); observer = word[from] }
#else
    d_step { assert(!isTableReleased[from]); observer = word[from] }
    d_step { assert(!isTableReleased[from]); number = id[from] }
#endif
    if
    :: observer == LIST ->
      /* It may be the list of a subject that came to the place. */
      d_step { observer = first; number = second }
      if
      :: observer && idOf[observer] <= watermark -> call(observer)
      :: else
      fi;
      if
      :: number && idOf[number] <= watermark -> call(number)
      :: else
      fi
#ifdef NO_COMPARISON
    :: observer != LIST -> call(observer)
#else
    :: observer != LIST && number <= watermark -> call(observer)
#endif
    :: else
    fi
  :: else
  fi
}

#define IS_EXPECTED(who) \
  ((isRegistered[who] && !isEnding[who] && subjectOf[who] == subject) << (who))
#define IS_ENDING(who) (isEnding[who] << (who))

proctype Poster(byte self) {
  byte posts = POSTS, subject, watermark, from, found, observer, number, heard, expected;
  do
  :: posts == 0 -> break
  :: else ->
    posts--;
    if
    :: subject = ONE
    :: subject = OTHER
    fi;
    d_step {
      expected = IS_EXPECTED(1) | IS_EXPECTED(2) | IS_EXPECTED(3) | IS_EXPECTED(4)
    }
    inside = inside | TICKET(self);
#ifndef LATE_WATERMARK
    watermark = clock;
#endif
    from = table;
    look();
    d_step {
      /* K1, K2: who lived when the post began has heard it, or is being ended. */
      assert((expected & ~heard
        & ~(IS_ENDING(1) | IS_ENDING(2) | IS_ENDING(3) | IS_ENDING(4))) == 0);
      inside = inside & ~TICKET(self);
      observer = 1;
      do
      :: observer < OBSERVERS ->
        if
        :: retired[observer] == TICKET(self) -> released[observer] = true
        :: else
        fi;
        retired[observer] = retired[observer] & ~TICKET(self);
        observer++
      :: else -> break
      od;
      if
      :: retiredTable[0] == TICKET(self) -> isTableReleased[0] = true
      :: else
      fi;
      retiredTable[0] = retiredTable[0] & ~TICKET(self);
      subject = 0; watermark = 0; from = 0; found = 0; observer = 0; number = 0; heard = 0;
      expected = 0
    }
  od
}

init {
  atomic {
    key[0] = ONE; id[0] = 1; word[0] = 1;
    subjectOf[1] = ONE; idOf[1] = 1; isRegistered[1] = true;
    run Poster(0);
#if POSTERS == 2
    run Poster(1);
#endif
    run Changer()
  }
}
