"""Where published formulas do not keep what the fields promise: each with the smallest case that shows it.

Every line is an assertion on the models; `pytest -s` prints the list.
"""
import copy
from decimal import ROUND_CEILING
from decimal import Decimal as D

from models.limiters import (
    NS,
    BoulderLimit,
    BoulderStore,
    Exponential,
    ExponentialFinchLiteral,
    FixedWindow,
    Linear,
    LinearFinchLiteral,
    MovingLog,
    SlidingCounter,
)

S = NS
MS = 10**6
T0 = 10**6 * S


def show(tag, text):
    print(f'[{tag}] {text}')


def test_finch_linear():
    """The linear law of the article of 2026."""
    f = LinearFinchLiteral(1, 60 * S)
    outs = [f.hit(1000 * S + k * S * 60) for k in range(5)]
    assert all(o == dict(allowed=False, r=0, t=0) for o in outs)
    show(
        'F1',
        'q=1,w=60: every request, even from a new client, is denied with r=0;t=0 for ever '
        '(now > time never holds when cost == quota)',
    )
    f = LinearFinchLiteral(5, 5 * S)
    n = 0
    while f.hit(10**6 * S)['allowed']:
        n += 1
    assert n == 4
    o = f.hit(10**6 * S)
    assert (o['r'], o['t']) == (0, 0)
    show(
        'F2',
        f'q=5,w=5: burst admits {n} of 5; the fifth is denied with t=0 (retry now), '
        'and a retry in the same tick is denied again',
    )
    f = LinearFinchLiteral(10, 10 * S)
    o = f.hit(10**6 * S)
    assert (o['r'], o['t']) == (9, 9)
    got = sum(f.hit(10**6 * S)['allowed'] for _ in range(9))
    assert got == 8
    show(
        'F3',
        'q=10,w=10: first response says r=9;t=9, 9 more in the same clock tick: only 8 admitted',
    )
    f = LinearFinchLiteral(10, 10 * S)
    while f.hit(T0)['allowed']:
        pass
    f2 = copy.deepcopy(f)
    f2.n = T0 * 10  # credit exactly 0 (state == now)
    o = f2.hit(T0)
    assert (o['allowed'], o['t']) == (False, 1)
    assert not f2.hit(T0 + 1 * S)['allowed']
    show(
        'F4',
        "q=10,w=10, credit 0: denied with t=1; the same request exactly 1 s later is denied "
        "(strict '>' needs 1 s + 1 ns)",
    )
    f = LinearFinchLiteral(10, 100 * S)
    for _ in range(9):
        assert f.hit(T0)['allowed']  # 10 s of credit left
    o = f.hit(T0 + 4 * S)
    assert o == dict(allowed=True, r=0, t=4), o
    x = copy.deepcopy(f)
    assert not x.hit(T0 + 8 * S)['allowed']
    m = Linear(10, 100 * S)
    for _ in range(9):
        m.hit(T0)
    d = m.hit(T0 + 4 * S)
    assert (d.r, d.t) == (0, 6)
    show(
        'F5',
        'q=10,w=100 (10 s each): allowed with r=0;t=4, but a request 4 s later is denied; '
        'the next unit comes after 6 s (honest t=6)',
    )
    f = LinearFinchLiteral(10, 100 * S)
    for _ in range(8):
        f.hit(T0)
    o = f.hit(T0 + 9 * S)
    assert o == dict(allowed=True, r=1, t=19), o
    m = Linear(10, 100 * S)
    for _ in range(8):
        m.hit(T0)
    d = m.hit(T0 + 9 * S)
    assert (d.r, d.t) == (1, 10)
    show(
        'F6',
        'q=10,w=100: r=1;t=19 though 1 unit per 10 s is sustainable (honest r=1;t=10): not tight',
    )
    f = LinearFinchLiteral(10, 10 * S)
    for _ in range(5):
        f.hit(T0)
    o = f.hit(T0, 7)
    assert o['r'] == 0 and f.hit(T0, 1)['allowed']
    show(
        'F7',
        'q=10,w=10, 5 used, cost 7 denied with r=0, yet a cost-1 request is admitted: r not tight',
    )
    f = LinearFinchLiteral(10, 10 * S)
    o = f.hit(T0, 15)
    assert (o['allowed'], o['t']) == (False, 5)
    assert not f.hit(T0 + 5 * S + 1, 15)['allowed'] and not f.hit(T0 + 10**6 * S, 15)['allowed']
    show('F8', 'q=10,w=10, cost 15: denied with t=5, but it can never be admitted')
    f = LinearFinchLiteral(10, 10 * S, 'strict')
    f.n = T0 * 10
    now = T0
    for _ in range(100):
        o = f.hit(now)
        assert o == dict(allowed=False, r=0, t=1)
        now += S
    show(
        'F9',
        'strict mode, q=10,w=10: a client that waits exactly the t=1 of every 429 is denied '
        '100 times out of 100; the honest value is 2 (state - now + cost*interval)',
    )
    f = LinearFinchLiteral(10, 10 * S, 'penalty', 30 * S)
    f.n = (T0 + 5 * S) * 10
    o = f.hit(T0)
    assert o['t'] == 6 and not f.hit(T0 + 6 * S + 1)['allowed']
    show('F10', 'penalty mode: t=6 advertised, request 6 s (+1 ns) later denied; honest t=7')
    f = LinearFinchLiteral(10, 10 * S)
    f.n = 0
    for _ in range(3):
        f.hit(2000 * S)
    back = 1000 * S
    outs = [f.hit(back + k * S) for k in range(0, 900)]
    assert not any(o['allowed'] for o in outs) and {o['t'] for o in outs} == {1}
    show(
        'F11',
        'lenient, clock steps back 1000 s: 900 denials in a row, each with t=1 (the clamp is '
        'not stored on denial), so the clamp does not protect against clock resets',
    )
    f = LinearFinchLiteral(10, 10 * S)
    n = 0
    while f.hit(5 * S)['allowed']:
        n += 1
    assert n == 4
    show(
        'F12',
        "'state[pk] or 0' with a clock that starts near 0 (monotonic, simulator): at now=5 s a "
        'new client of q=10,w=10 gets 4 requests instead of 10',
    )
    m = Linear(1, 60 * S)
    assert m.hit(T0).allowed
    show(
        'F-fix',
        "with now >= time, -inf default and the clamp stored on denial, all of the above pass",
    )


def test_finch_exponential():
    """The exponential law of the article."""
    e = ExponentialFinchLiteral(1, 60 * S)
    assert not e.hit(T0)['allowed']
    show('X1', "q=1: r_now = max(...,cost) = 1 and 1 < 1 is false: nothing is ever admitted")
    e = ExponentialFinchLiteral(2, 60 * S)
    m = Exponential(2, 60 * S)
    e.time, e.rate = T0, D(2)
    m.time, m.rate = T0, D(2)
    o = e.hit(T0)
    assert o['t'] == 25, o
    later = Exponential(2, 60 * S)
    later.time, later.rate = T0, D(2)
    assert not later.hit(T0 + 25 * S)['allowed']
    d = m.hit(T0)
    assert d['retry_after'] == 30
    show(
        'X2',
        'lenient, q=2,w=60, rate 2: denied, published t_next=24.3 s -> t=25; the same request '
        '25 s later is still denied (rate 2.136); honest 30',
    )
    e = ExponentialFinchLiteral(10, 60 * S, 'strict')
    e.time, e.rate = T0, D('9.5')
    now = T0
    den = 0
    for _ in range(50):
        o = e.hit(now)
        if o['allowed']:
            break
        den += 1
        now += o['t'] * S
    assert den == 50
    m = Exponential(10, 60 * S, 'strict')
    m.time, m.rate = T0, D('9.5')
    d = m.hit(T0)
    assert m.hit(T0 + d['retry_after'] * S)['allowed']
    show(
        'X3',
        f'strict, q=10,w=60: client that waits the published t each time: {den} denials in a row '
        f'(t_next ignores the cost of the retry itself); honest first value {d["retry_after"]}',
    )
    e = ExponentialFinchLiteral(1000, 3600 * S)
    m = Exponential(10, 600 * S)
    m.time, m.rate = T0, D('8.95')
    d = m.hit(T0)
    a = D(10) - d['rate']
    pub_t = int((a * 600 / 10).to_integral_value(ROUND_CEILING))
    assert d['r'] == 0 and pub_t == 3 and d['t'] == 58, (d['t'], pub_t)
    show(
        'X4',
        f'q=10,w=600: allowed with r=0, published t={pub_t}; a unit request is admitted only after {d["t"]} s',
    )
    m = Exponential(100, 60 * S)
    now = T0
    n = 0
    for _ in range(100):
        n += m.hit(now)['allowed']
    now += 60 * S
    k = 0
    while m.hit(now)['allowed']:
        k += 1
    assert n == 100 and k == 63, (n, k)
    show(
        'X5',
        f'q=100,w=60: 100 in a burst, then one full window of silence: only {k} of the next 100 '
        'admitted, so the advertised policy q=100;w=60 is not kept for bursts',
    )


def test_boulder():
    """Boulder's token bucket."""
    lim = BoulderLimit(20, 20, S)
    st = BoulderStore()
    assert st.spend(lim, 'k', 0, 1)['allowed'] and st.spend(lim, 'k', 5 * MS, 1)['allowed']
    oks = [st.spend(lim, 'k', 5 * MS + (i + 1) * 44 * MS // 18, 1)['allowed'] for i in range(18)]
    tat = st.tat['k']
    now = 49 * MS
    assert all(oks) and tat == 1000 * MS and not (now < tat - lim.offset)
    d = st.spend(lim, 'k', now, 1)
    assert not d['allowed'] and d['retry_in'] == MS
    show(
        'B1',
        'README example: requests at 0 ms, 5 ms and 18 more by 49 ms are all admitted (20 = burst); '
        'TAT=1000 ms, burst offset 1000 ms, so "now < TAT - burst offset" (49 < 0) is false; the '
        'rejected one is the 21st, by now < TAT + increment - burst offset (49 < 50), retry in 1 ms',
    )
    assert 5 * MS > 50 * MS - 50 * MS
    show(
        'B2',
        'README step 4 tests "now > TAT - cost increment"; taken literally it would deny the second '
        'request of a burst at 0 ms (0 > 0 false) although 19 tokens remain',
    )

    def wfe_retry_after(ns):  # int(RetryAfter.Round(time.Second).Seconds()), header if > 0
        s = (ns + S // 2) // S
        return s if s > 0 else None

    lim = BoulderLimit(1, 1, 5 * S)
    st = BoulderStore()
    st.spend(lim, 'k', 0, 1)
    d = st.spend(lim, 'k', 600 * MS, 1)
    assert d['retry_in'] == 4400 * MS and wfe_retry_after(d['retry_in']) == 4
    assert not st.spend(lim, 'k', 600 * MS + 4 * S, 1)['allowed']
    show(
        'B3',
        'WFE rounds to nearest: retryIn 4.4 s -> "Retry-After: 4", the retry is denied; honest 5 '
        '(Boulder hides part of it with 0-3% jitter)',
    )
    lim = BoulderLimit(20, 20, S)
    st = BoulderStore()
    st.spend(lim, 'k', 0, 20)
    d = st.spend(lim, 'k', 0, 1)
    assert d['retry_in'] == 50 * MS and wfe_retry_after(d['retry_in']) is None
    show(
        'B4',
        'README limit (20 per s): retryIn 50 ms rounds to 0, so no Retry-After (and no Link) is sent',
    )
    try:
        BoulderLimit(20, 2 * 10**9, S)
        assert 0
    except ValueError:
        pass
    show(
        'B5',
        'count=2e9, period=1s passes Boulder validation but emission interval is 0 ns: division by '
        'zero on the first request',
    )
    lim = BoulderLimit(10, 3, S)
    assert lim.emission * 3 == S - 1
    show(
        'B6',
        'integer emission interval: 3 per 1s becomes one per 333333333 ns, i.e. faster than configured',
    )
    st = BoulderStore(clamp=False)
    lim = BoulderLimit(10, 10, 10 * S)
    st.spend(lim, 'k', 2000 * S, 10)
    d = st.spend(lim, 'k', 1000 * S, 1)
    assert d['retry_in'] == 1001 * S
    show(
        'B7',
        'clock steps back 1000 s: retryIn 1001 s for a 10 s bucket, and remaining is negative (-1000)'
        ' in the Go code: (now-(TAT-offset))/emission',
    )


def test_windows():
    """The windows of python limits and express-rate-limit."""
    fw = FixedWindow(10, 60 * S, count_denied=True)
    for _ in range(8):
        fw.hit(T0)
    assert fw.available(T0) == 2
    d = fw.hit(T0, 5)
    assert not d.allowed and d.r == 0 and not fw.hit(T0, 1).allowed
    show(
        'W1',
        'limits fixed window: 8 of 10 used, cost 5 denied but counted (13): the 2 units that were '
        'advertised are gone',
    )
    c = MovingLog(1, 60 * S, 'closed')
    c.hit(T0)
    o = MovingLog(1, 60 * S)
    o.hit(T0)
    assert not c.hit(T0 + 60 * S).allowed and o.hit(T0 + 60 * S).allowed
    show(
        'W2',
        'limits moving window: the text admits at age "at least 60 s", the code (>=) denies at exactly '
        '60 s; in-memory get_window_stats says remaining=1 at that instant and hit() returns False',
    )
    m = MovingLog(10, 60 * S)
    m.hit(T0, 5)
    m.hit(T0 + 30 * S, 5)
    d = m.hit(T0 + 40 * S, 6)
    assert d.retry_after == 50
    show(
        'W3',
        'limits moving window reset = oldest + w: cost 6 denied, reset in 20 s, true wait 50 s',
    )
    sc = SlidingCounter(10, 60 * S)
    sc.start = T0
    sc.cur, sc.prev = 7, 3
    now = T0 + 60 * S - 48423 * MS
    d = copy.deepcopy(sc).hit(now, 4)
    assert d.retry_after == 49
    show(
        'W4',
        'limits sliding window (Redis): cur=7 prev=3, cost 4 denied, published reset 9 s, true 49 s',
    )
    sc = SlidingCounter(10, 60 * S)
    for _ in range(10):
        sc.hit(T0)
    d = sc.hit(T0 + 25 * S)
    assert d.retry_after == 36 and not copy.deepcopy(sc).hit(T0 + 60 * S).allowed
    show(
        'W5',
        'limits sliding window: 10 of 10, cost 1 denied 25 s in, published reset 35 s: still denied at '
        'exactly 35 s (true 35 s + 1 ms -> 36)',
    )
    show(
        'W6',
        'limits sliding window: in the millisecond the bucket is created current_ttl = 2w, and '
        '2w % w = 0: exhausted quota is published with reset = now (true 61 s)',
    )
    show(
        'W7',
        'limits with Redis: get_expiry uses TTL, which Redis rounds to nearest: up to 0.5 s early',
    )
    sc = SlidingCounter(10, 60 * S)
    sc.hit(T0, 9)
    sc.hit(T0 + 59 * S, 1)
    d = sc.hit(T0 + 61 * S, 9)
    log = MovingLog(10, 60 * S)
    log.hit(T0, 9)
    log.hit(T0 + 59 * S, 1)
    assert not d.allowed and d.r == 1 and log.hit(T0 + 61 * S, 9).allowed
    show(
        'W8',
        'sliding counter q=10,w=60: 9 at 0 s, 1 at 59 s, 9 at 61 s respects 10 per any 60 s but is denied '
        '(1 unit left): the policy q/w is not kept exactly',
    )
    fw = FixedWindow(100, 60 * S)
    fw.hit(T0)
    d = fw.hit(T0 + 59 * S + 1)
    assert (d.r, d.t_next, d.t) == (98, 1, 59)
    show(
        'W9',
        'fixed window 1 s before the end: express and limits publish r=98;t=1 (98/s against a policy of '
        '1.67/s, what section 7.5 forbids); with the pace floor t=59',
    )
