/*
 * How requests find, claim, confirm, update and free the cells of a table: a model of
 * headgate/store/cell_table.h for SPIN, which visits every state that it can reach.
 *
 * PROCESSES send requests for two keys that share two cells. Each load of a tag and each swap is
 * one step, in any order with the steps of the others. A swap succeeds only if the cell still
 * contains what was read before, so reading and swapping are one step here, which may also fail at
 * any time (INTERFERENCE). The clock may go on at any time. A process may die between any two
 * steps: SPIN also visits the runs in which it takes no further one. docs/decisions/0014-proofs.md
 * says what is left out.
 *
 * Checked in every state:
 *   - no key is confirmed in two cells (`one_cell`);
 *   - requests that begin and end within a span of time are granted at most the quota and what
 *     comes back in that span (`no_unit_twice`). A claimer that reads the clock, is stopped for
 *     longer than a window, and then confirms its claim may be granted what came back meanwhile in
 *     addition (`late`): its key may have had a cell, been full for a window, and lost the cell;
 *   - with -DNO_SKETCH: the same, without the charges of keys that have no cell;
 *   - with -DGROWS: the same, while the table grows. At first only the first cell is there; each
 *     search reads how many there are when it begins;
 *   - with -DSURVIVOR: when all processes but one have died, wherever they were, that one's
 *     requests end after a few rounds;
 *   - with -DREORDERS: the same, on a processor that keeps loads in order only with regard to the
 *     process' own swaps that succeed. Between two of them, a search loads the cells in any order,
 *     and the sketch before or after them.
 *
 * The names of the code are kept. Where the code has a preference (which of the free cells, how
 * long a claimer waits), the model may choose anything, so it does more than the code can.
 * `prove` lists the variants that must fail.
 */

#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef REQUESTS
#define REQUESTS 2  /* of each process */
#endif
#define CELLS 2
#define KEYS 2
#ifndef QUOTA
#define QUOTA 2     /* units; one comes back per tick */
#endif
#define WINDOW QUOTA  /* ticks */
#define LATEST (2 * WINDOW)  /* a key that is spent at 0 may lose its cell at the latest time */

#ifdef STALE_SEGMENTS  /* the second search believes the first one's number of cells */
#define GROWS
#define PRESENT_AGAIN skip
#else
#define PRESENT_AGAIN PRESENT
#endif
#ifdef GROWS
#define PRESENT present = cells
#else
#define PRESENT skip
#define present CELLS
#endif

/* The cell that a search loads next, after `cell` others. */
#ifdef REORDERS
#define NEXT (flip -> present - 1 - cell : cell)
#define MAY_FLIP if :: flip = 0 :: present > 1 -> flip = 1 fi
#else
#define NEXT cell
#define MAY_FLIP skip
#endif

/* A processor without a barrier at a swap may do the loads of the search after it before it. */
#ifdef CLAIM_IS_NO_BARRIER
#define LOADS_EARLY
#endif
#ifdef CHARGE_IS_NO_BARRIER
#define LOADS_EARLY
#endif
#ifdef LOADS_EARLY
#define LOADED(cell) (early -> early_word[cell] : tag_word[cell])
#else
#define LOADED(cell) tag_word[cell]
#endif

#define EMPTY 0
#define CLAIM 1     /* the mark in a tag word */
#define TAG(key) (((key) + 1) << 1)

/* A cell: two words that are loaded one after the other, and swapped together. */
byte tag_word[CELLS];
byte value[CELLS];  /* confirmed: when the quota is full again; claimed: the nonce */

#ifdef GROWS
byte cells = 1;     /* the number of cells: Segments::count */
#endif
byte now;           /* the clock that all processes read */
byte survivor;      /* the only process that takes steps; 0: all do */
/* One span of time is watched, which may begin at any tick: `granted` counts the requests of the
   first key that began and ended in it. */
#define NOT_YET (LATEST + 1)
byte since = NOT_YET;
byte granted;
byte begun;         /* processes begin in their order: they differ in nothing but their number */
byte owed[KEYS];    /* the sketch: what keys without a cell owe */
byte late;          /* ticks: how long claimers of the first key took, if longer than a window */
hidden byte tat;

inline one_cell() {
  assert(!(tag_word[0] == tag_word[1] && tag_word[0] != EMPTY && (tag_word[0] & CLAIM) == 0))
}

/* Called in the step that grants. Spans that end before now were checked when they ended, and those
   that end later may contain more. */
inline no_unit_twice() {
  if
  :: key == 0 && at >= since -> granted++; assert(granted <= QUOTA + (now - since) + late)
  :: else -> skip
  fi
}

#ifdef SURVIVOR  /* which is about other promises */
#define MAY_WATCH skip
#else
#define MAY_WATCH if :: since == NOT_YET -> since = now :: skip fi
#endif

/* Whether this process' claim still stands. */
#ifdef NO_NONCE
#define MINE(cell) (tag_word[cell] == (TAG(key) | CLAIM))
#else
#define MINE(cell) (tag_word[cell] == (TAG(key) | CLAIM) && value[cell] == me)
#endif

/* Whether the key of this cell may lose it: kept_until(). */
#ifdef EVICT_LIVE
#define FREE(cell) true
#else
#define FREE(cell) (value[cell] + WINDOW <= at)
#endif
#define CAN_BE_TAKEN(cell) (tag_word[cell] == EMPTY || (tag_word[cell] & CLAIM) || FREE(cell))

#ifdef SURVIVOR
#define MAY_HAVE_DIED provided (survivor == 0 || survivor == _pid)
#define INTERFERENCE (survivor == 0)
#define PATIENT (rounds < 2)
#define MUST_WAIT (rounds < 2)
#else
#define MAY_HAVE_DIED
#define INTERFERENCE true
/* A claimer withdraws for an earlier claim a few times, and then removes it: here, at any time. */
#define PATIENT true
#define MUST_WAIT false
#endif

inline may_load_early() {
  if
  :: early = true; early_word[0] = tag_word[0]; early_word[1] = tag_word[1]
  :: skip
  fi
}

/* In the search for other cells of a key. */
inline pass_mine() {
  if
  :: cell < present && NEXT == victim -> cell++
  :: else -> skip
  fi
}

proctype process(byte me) MAY_HAVE_DIED {
  byte key, requests, at, cell, victim, owes, state;
#ifdef SURVIVOR
  byte rounds;
#endif
#ifdef GROWS
  byte present;
#endif
#ifdef REORDERS
  bit flip, has_owed, has_compared;
#endif
#ifdef LOADS_EARLY
  bit early;
  byte early_word[CELLS];
#endif

next_request:
  atomic {
    if
    :: requests == REQUESTS -> goto done
    :: requests != REQUESTS && begun + 1 >= me -> requests++
    fi;
    if
    :: begun < me -> begun = me
    :: else -> skip
    fi;
    if :: key = 0 :: key = 1 fi;
    at = now
  }

again:
  atomic {
#ifdef SURVIVOR
    /* One round may be lost to what the others did before they died, and a patient one to an
       earlier claim. The third succeeds. */
    if
    :: survivor != 0 -> rounds++; assert(rounds <= 3)
    :: else -> skip
    fi;
#endif
    PRESENT;
    MAY_FLIP;
#ifdef LOADS_EARLY
    early = false; early_word[0] = 0; early_word[1] = 0;
#endif
#ifdef REORDERS
    has_compared = false;
    if
    :: owes = owed[key]; has_owed = true
    :: owes = 0; has_owed = false
    fi
#endif
  }

  /* find() */
  do
  :: atomic { tag_word[NEXT] == TAG(key) -> cell = NEXT; goto held }
  :: atomic { tag_word[NEXT] != TAG(key) ->
       cell++;
       if
       :: cell == present -> cell = 0; goto insert
       :: else -> skip
       fi }
  od;

held:  /* read(), step(), update() */
  atomic {
    if
    :: tag_word[cell] == TAG(key) ->
       tat = (value[cell] > at -> value[cell] : at);
       tat = (tat > at + QUOTA -> at + QUOTA : tat) + 1;
       if
       :: tat <= at + QUOTA -> value[cell] = tat; no_unit_twice(); goto answered
       :: else -> goto answered  /* denied */
       fi
    :: tag_word[cell] != TAG(key) || INTERFERENCE -> cell = 0; goto again
    fi
  }

insert:
  atomic {  /* owed_until(), step() */
#ifdef REORDERS
    if
    :: !has_owed -> owes = owed[key]
    :: else -> skip
    fi;
#else
    owes = owed[key];
#endif
    tat = (owes > at -> owes : at) + 1;
    if
    :: tat > at + QUOTA -> owes = 0; tat = 0; goto answered  /* denied */
    :: else -> state = tat
    fi
  }
#ifdef CLAIM_IS_NO_BARRIER
  atomic { may_load_early() }
#endif
  atomic {  /* choose() and claim(): a cell that is empty, claimed, or full for a window */
    do
    :: cell < present && CAN_BE_TAKEN(cell) -> victim = cell; cell = 0; break
    :: cell < present && (INTERFERENCE || !CAN_BE_TAKEN(cell)) -> cell++
    :: cell == present -> cell = 0; owes = 0; state = 0; goto not_kept
    :: INTERFERENCE -> cell = 0; owes = 0; state = 0; goto again
    od;
    tag_word[victim] = TAG(key) | CLAIM;
    value[victim] = me
  }

#ifndef NO_SECOND_SEARCH
#ifdef REORDERS
  if  /* The sketch may be read before the search. */
  :: atomic { owed[key] != owes -> goto withdraw }
  :: atomic { owed[key] == owes -> has_compared = true }
  :: skip
  fi;
#endif
  /* alone() */
  atomic { PRESENT_AGAIN; MAY_FLIP; pass_mine() };
  do
  :: atomic { cell >= present -> cell = 0; break }
  :: atomic { cell < present && (LOADED(NEXT) & ~CLAIM) != TAG(key) -> cell++; pass_mine() }
#ifdef CONFIRMED_IS_OVERLOOKED
  :: atomic { cell < present && LOADED(NEXT) == TAG(key) -> cell++; pass_mine() }
#else
  :: atomic { cell < present && LOADED(NEXT) == TAG(key) -> goto withdraw }
#endif
  :: atomic { cell < present && LOADED(NEXT) == (TAG(key) | CLAIM) ->
       if
       :: NEXT < victim && PATIENT -> goto withdraw
       :: !(NEXT < victim && MUST_WAIT) -> skip
       fi }
     atomic {  /* clear() */
       if
#ifdef CLEARS_BLINDLY
       :: true ->
#else
       :: tag_word[NEXT] == (TAG(key) | CLAIM) ->
#endif
          tag_word[NEXT] = EMPTY; value[NEXT] = 0; cell++; pass_mine()
       :: tag_word[NEXT] != (TAG(key) | CLAIM) || INTERFERENCE -> goto withdraw
       fi
     }
  od;
#endif

#ifndef FORGETS_THE_SKETCH
  atomic {
    if
#ifdef REORDERS
    :: has_compared -> skip
    :: !has_compared && owed[key] != owes -> goto withdraw
#else
    :: owed[key] != owes -> goto withdraw
#endif
    :: else -> skip
    fi
  }
#endif

  atomic {  /* confirm() */
    if
    :: MINE(victim) ->
       tag_word[victim] = TAG(key); value[victim] = state;
       if
       :: key == 0 && now - at > WINDOW -> late = late + now - at
       :: else -> skip
       fi;
       one_cell(); no_unit_twice(); goto answered
    :: !MINE(victim) -> victim = 0; owes = 0; state = 0; goto again
    fi
  }

withdraw:
  atomic {
    if
    :: MINE(victim) -> tag_word[victim] = EMPTY; value[victim] = 0
    :: else -> skip
    fi;
    cell = 0; victim = 0; owes = 0; state = 0;
    goto again
  }

not_kept:
#ifdef NO_SKETCH
  atomic { goto answered }
#endif
#ifdef CHARGE_IS_NO_BARRIER
  atomic { may_load_early() }
#endif
  atomic {  /* the sketch's law decides, and is charged */
    tat = (owed[key] > at -> owed[key] : at) + 1;
    if
    :: tat <= at + QUOTA -> owed[key] = tat
    :: else -> goto answered  /* denied */
    fi
  }
#ifndef NO_THIRD_SEARCH
  atomic { PRESENT; MAY_FLIP };
  do  /* holds_or_claims() */
  :: atomic { cell < present && (LOADED(NEXT) & ~CLAIM) == TAG(key) ->
       cell = 0; goto again }  /* its charge stays: to take it back could take another's */
  :: atomic { cell < present && (LOADED(NEXT) & ~CLAIM) != TAG(key) -> cell++ }
  :: atomic { cell == present -> break }
  od;
#endif
  atomic { no_unit_twice() }

answered:
  atomic {
    key = 0; at = 0; cell = 0; victim = 0; owes = 0; state = 0;
#ifdef SURVIVOR
    rounds = 0;
#endif
#ifdef GROWS
    present = 0;
#endif
#ifdef REORDERS
    flip = 0; has_owed = false; has_compared = false;
#endif
#ifdef LOADS_EARLY
    early = false; early_word[0] = 0; early_word[1] = 0;
#endif
    goto next_request
  }

done:
  skip
}

#ifdef GROWS
proctype growth() {
  atomic { cells = CELLS }
}
#endif

proctype clock() {
end:
  do
  :: atomic { now < LATEST -> now++; MAY_WATCH }
  od
}

init {
  byte i;
  atomic {
    MAY_WATCH;
    run clock();
#ifdef GROWS
    run growth();
#endif
    do
    :: i < PROCESSES -> i++; run process(i)
    :: else -> break
    od;
    i = 0
  }
#ifdef SURVIVOR
  atomic { select(survivor : 2 .. PROCESSES + 1) }  /* at any time; their pids */
#endif
}
