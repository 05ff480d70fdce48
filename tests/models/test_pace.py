"""Two stronger promises, tried out from random states, and for which laws they hold:

 pace    a client that sends at most r units in every t seconds, from one response on and without reading
         later ones, is never denied
 policy  a client of an empty limiter that sends at most q units in every ceil(w) seconds is never denied

The clients send as much as they may, as early as they may. HEADGATE_SOAK=N tries N times as many.
"""
import random

import pytest

from models.limiters import NS, ceil_div
from models.test_honesty import MODELS, SOAK, al, cp, g

TRIALS = 60  # about a second for each law
KEEPS_PACE = ['linear_lenient', 'linear_strict', 'linear_penalty', 'boulder']
KEEPS_POLICY = KEEPS_PACE + ['fixed', 'aligned', 'moving_log']


def admits_pace(lim, now, r, t, rnd, rounds):
    """Whether a client is never denied that sends at most r units in every t seconds."""
    log = []
    at = now
    for _ in range(rounds):
        used = sum(c for a, c in log if at - a < t * NS)
        room = r - used
        if room > 0:
            k = rnd.choice([1, room, rnd.randint(1, room)])
            if not al(lim.hit(at, k)):
                return False
            log.append((at, k))
        nxt = [a + t * NS for a, c in log if a + t * NS > at]
        at += rnd.choice([0, 1, rnd.randint(0, t * NS)]) if rnd.random() < 0.5 or not nxt else 0
        if nxt and rnd.random() < 0.7:
            at = max(at, min(nxt))
    return True


@pytest.mark.parametrize('name', KEEPS_POLICY)
def test_pace_and_policy(name):
    rnd = random.Random(name + 'pace')
    for _ in range(TRIALS * SOAK):
        q = rnd.choice([1, 2, 3, 5, 8, 10])
        w = rnd.choice([NS, 3 * NS // 2, 7 * NS, 60 * NS])
        lim = MODELS[name](q, w, rnd)
        now = 10**6 * NS
        assert admits_pace(cp(lim), now, q, ceil_div(lim.w, NS), rnd, 30), (q, w)
        if name not in KEEPS_PACE:
            continue
        for _ in range(rnd.randint(0, 8)):
            now += rnd.choice([0, rnd.randint(0, w // q), rnd.randint(0, w)])
            lim.hit(now, rnd.choice([1, 1, 2]))
        d = lim.peek(now) if name == 'linear_penalty' else lim.hit(now, 0)
        r, t = g(d, 'r'), g(d, 't')
        if r and t:
            assert admits_pace(cp(lim), now, r, t, rnd, 30), (q, w, r, t)
