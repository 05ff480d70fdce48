"""What the fields promise, tried out on every model after each decision of random traffic.

For a decision at `now` that reports r, t, and Retry-After:
 S   any schedule of at most r units in [now, now + t] is admitted: all at once in requests of one
     unit, as one request, and in random parts at random times
 R   r is the largest: r + 1 requests of one unit at `now` are not all admitted
 P   r < quota: at now + t a client that was idle has more than r units; t_next is the least whole
     second with that property, t_full the least with r = quota
 D   denied: the same request is admitted at now + Retry-After, and not one second before
 C   admitted: r * window <= t * quota, no rate above that of the policy

HEADGATE_SOAK=N tries N times as many.
"""
import copy
import os
import random

import pytest

from models.limiters import (
    NS,
    BoulderLimit,
    BoulderStore,
    Decision,
    Exponential,
    FixedWindow,
    FixedWindowAligned,
    Linear,
    MovingLog,
    PolicySet,
    SlidingCounter,
    SlidingCounterClock,
    secs,
)

SOAK = int(os.environ.get('HEADGATE_SOAK', '1'))
# Histories per model: about a second for each; the exponential model is slower by a factor of ten.
HISTORIES = 20
EXPONENTIAL_HISTORIES = 3


def cp(x):
    """A copy, on which a future can be tried."""
    return copy.deepcopy(x)


def al(d):
    """Whether a decision admits."""
    return d['allowed'] if isinstance(d, dict) else d.allowed


def g(d, k):
    """A value of a decision."""
    return d[k] if isinstance(d, dict) else getattr(d, k)


def check(lim, d, now, c, rnd):
    r, t = g(d, 'r'), g(d, 't')
    # S: burst
    m = cp(lim)
    for _ in range(r):
        assert al(m.hit(now, 1)), ('S burst', vars(lim), r, t)
    # R
    assert not al(m.hit(now, 1)) or r == lim.q, ('R', vars(lim), r)
    if r == lim.q:
        assert not al(m.hit(now, 1))
    if r:
        assert al(cp(lim).hit(now, r)), 'S single'
    # S: random schedules
    horizon = (t or 1) * NS
    for _ in range(3):
        m = cp(lim)
        left = r
        at = now
        while left > 0:
            k = rnd.randint(1, left)
            at += rnd.choice(
                [0, 1, rnd.randint(0, max(1, horizon // 3)), rnd.randint(0, max(1, lim.w // 3))]
            )
            if at > now + horizon:
                at = now + horizon
            assert al(m.hit(at, k)), ('S sched', vars(lim), r, t)
            left -= k

    def avail_at(x):
        m = cp(lim)
        return g(m.peek(now + x), 'r')

    if lim.q > 0:
        if r < lim.q:
            tn = g(d, 't_next')
            assert tn >= 1 and avail_at(tn * NS) > r, ('P', vars(lim), r, tn)
            assert avail_at((tn - 1) * NS) <= r, ('P min', vars(lim), r, tn)
        if al(d) and t is not None:
            assert t >= 1
            if r < lim.q:
                assert avail_at(t * NS) > r, 'P t'
            assert r * lim.w <= t * NS * lim.q, ('C', r, t)
        tf = g(d, 't_full') if not isinstance(d, dict) else None
        if tf is not None and not isinstance(d, dict):
            assert avail_at(tf * NS) == lim.q, ('full', vars(lim), tf)
            if tf:
                assert avail_at((tf - 1) * NS) < lim.q, ('full min', vars(lim), tf)
    if not al(d):
        ra = g(d, 'retry_after')
        if g(d, 'never'):
            assert ra is None
            assert not al(cp(lim).hit(now + 10 * 365 * 86400 * NS, c))
        else:
            assert ra >= 1
            assert al(cp(lim).hit(now + ra * NS, c)), ('D', vars(lim), c, ra)
            assert not al(cp(lim).hit(now + (ra - 1) * NS, c)), ('D min', vars(lim), c, ra)
            w = g(d, 'wait_ns') if not isinstance(d, dict) else None
            if w is not None:
                assert al(cp(lim).hit(now + w, c))
                if w:
                    assert not al(cp(lim).hit(now + w - 1, c)), ('D ns', vars(lim), c, w)


def trial(make, rnd, steps):
    q = rnd.choice([1, 1, 2, 3, 4, 5, 7, 9, 12])
    w = rnd.choice(
        [NS // 4, NS, 3 * NS // 2, 5 * NS, 7 * NS, 60 * NS, 3600 * NS, rnd.randint(1, 10 * NS), 7]
    )
    lim = make(q, w, rnd)
    now = rnd.choice([0, 5, rnd.randint(0, 100 * NS), 1_700_000_000 * NS + rnd.randint(0, NS)])
    for _ in range(steps):
        step = rnd.choice(
            [
                0,
                0,
                1,
                rnd.randint(0, max(1, w // q)),
                w // q,
                w // q + 1,
                max(0, w // q - 1),
                rnd.randint(0, w),
                w,
                w - 1,
                w + 1,
                2 * w,
                rnd.randint(0, 3 * w),
            ]
        )
        if rnd.random() < 0.03:
            step = -rnd.randint(0, 2 * w)
        now += step
        c = rnd.choice([1, 1, 1, 1, 1, 2, 3, 0, q, q + 1, max(1, q // 2)])
        d = lim.hit(now, c)
        check(lim, d, now, c, rnd)


class BoulderAsLimiter:
    """One bucket of Boulder as a Limiter; a cost above the burst is a denial instead of an error."""

    def __init__(self, lim):
        self.lim, self.st, self.q, self.w = lim, BoulderStore(True), lim.burst, lim.offset

    def _out(self, d, now, c, kind):
        h = BoulderStore.headers(self.lim, d, now)
        full = secs(d['reset_in'])
        return Decision(
            d['allowed'],
            h['r'],
            h['t'],
            h['retry_after'],
            h['t_next'],
            full,
            None if d['allowed'] else d['retry_in'],
            False,
        )

    def hit(self, now, c=1):
        if c > self.q:
            return Decision(
                False,
                *(lambda p: (p.r, None, None, p.t_next, p.t_full))(self.peek(now)),
                None,
                True,
            )
        return self._out(self.st.spend(self.lim, 'k', now, c), now, c, 'spend')

    def peek(self, now):
        return self._out(self.st.check(self.lim, 'k', now, 0), now, 0, 'check')


def some_set(rnd):
    laws = [Linear, FixedWindow, MovingLog, SlidingCounter, FixedWindowAligned]
    return PolicySet(
        [
            (
                f'p{i}',
                rnd.choice(laws)(rnd.choice([1, 2, 5, 10]), rnd.choice([NS, 7 * NS, 60 * NS])),
            )
            for i in range(rnd.choice([2, 3]))
        ]
    )


def test_retry_after_of_several_policies_is_exact():
    rnd = random.Random(1)
    for _ in range(HISTORIES * SOAK):
        ps = some_set(rnd)
        now = 10**6 * NS
        for _ in range(15):
            now += rnd.choice([0, 0, NS, rnd.randint(0, 20 * NS)])
            costs = {k: rnd.choice([0, 1, 1, 2, 3]) for k, _ in ps.members}
            d = ps.hit(now, costs)
            if not d['allowed'] and not d['never']:
                ra = d['retry_after']
                assert ra >= 1
                assert cp(ps).hit(now + ra * NS, costs)['allowed']
                assert not cp(ps).hit(now + (ra - 1) * NS, costs)['allowed']


MODELS = {
    'fixed': lambda q, w, r: FixedWindow(q, w),
    'fixed_count_denied': lambda q, w, r: FixedWindow(q, w, count_denied=True),
    'aligned': lambda q, w, r: FixedWindowAligned(q, w, r.choice([0, 0, r.randint(0, w)])),
    'moving_log': lambda q, w, r: MovingLog(q, w),
    'moving_log_closed': lambda q, w, r: MovingLog(q, w, 'closed'),
    'sliding': lambda q, w, r: SlidingCounter(q, w),
    'sliding_clock': lambda q, w, r: SlidingCounterClock(q, w),
    'linear_lenient': lambda q, w, r: Linear(q, w),
    'linear_strict': lambda q, w, r: Linear(q, w, 'strict'),
    'linear_penalty': lambda q, w, r: Linear(q, w, 'penalty', r.randint(1, 3 * w)),
    'boulder': lambda q, w, r: BoulderAsLimiter(
        BoulderLimit(q, r.choice([1, 2, 3, 7, 20]), max(w, 100))
    ),
    'exponential_lenient': lambda q, w, r: Exponential(q, w),
    'exponential_strict': lambda q, w, r: Exponential(q, w, 'strict'),
}


@pytest.mark.parametrize('name', MODELS)
def test_every_promise_is_kept(name):
    rnd = random.Random(name)
    exponential = name.startswith('exponential')
    for _ in range((EXPONENTIAL_HISTORIES if exponential else HISTORIES) * SOAK):
        trial(MODELS[name], rnd, 12 if exponential else 25)
