/*
 * How a thread halves counts while another one reads them: a model of RecentStats::tick(),
 * TopSketch::halve() and RecentStats::recent() in headgate/view, for SPIN.
 *
 * A store may be seen by others later than stores that follow it, unless the later one has release
 * order: that one is seen after all stores before it. Loads with acquire order are done in order.
 *
 * Checked: a reader that loads the same even number of halvings before and after the counts has
 * seen all of them halved, or none. With -DRELAXED_HALVING, as it was once, the counts are stored
 * without release order; `prove` checks that SPIN finds this fault.
 */

#ifdef RELAXED_HALVING
#define RELEASE(before) true
#else
#define RELEASE(before) (before)
#endif

byte halvings;               /* odd during a halving */
bit count_halved, error_halved;

active proctype writer() {
  /* Each is the moment at which others see the store. */
  bit began, counted, erred;
  do
  :: atomic { !began -> halvings = 1; began = true }  /* relaxed */
  :: atomic { !counted && RELEASE(began) -> count_halved = true; counted = true }
  :: atomic { !erred && RELEASE(began && counted) -> error_halved = true; erred = true }
  :: atomic { began && counted && erred -> halvings = 2; break }  /* release */
  od
}

active proctype reader() {
  byte before;
  bit count_seen, error_seen;
  before = halvings;
  count_seen = count_halved;
  error_seen = error_halved;
  if
  :: atomic { before % 2 == 0 && halvings == before -> assert(count_seen == error_seen) }
  :: else -> skip  /* the reader starts over */
  fi
}
