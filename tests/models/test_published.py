"""The models against published sequences: Boulder's gcra_test.go and the documentation of python limits."""
from models.limiters import NS, BoulderLimit, BoulderStore, FixedWindow, MovingLog, SlidingCounter

S = NS
MS = 10**6


def test_decide_and_maybe_refund_of_boulder():
    lim = BoulderLimit(10, 1, S)
    st = BoulderStore(clamp=False)
    now = 0

    def sp(c):
        return st.spend(lim, 'k', now, c)

    def eq(d, al, rem, ri, rs):
        got = (d['allowed'], d['remaining'], d['retry_in'], d['reset_in'])
        assert got == (al, rem, ri, rs), (got, (al, rem, ri, rs))

    eq(sp(1), True, 9, 0, S)
    eq(sp(9), True, 0, 9 * S, 10 * S)
    eq(sp(1), False, 0, S, 10 * S)
    now += S
    assert sp(0)['remaining'] == 1
    eq(sp(1), True, 0, S, 10 * S)
    now += 10 * S
    eq(sp(1), True, 9, 0, S)
    now += S - MS
    eq(sp(0), True, 9, 0, MS)
    now += 20 * 3600 * S
    eq(sp(0), True, 10, 0, 0)
    eq(sp(10), True, 0, 10 * S, 10 * S)
    eq(sp(0), True, 0, 0, 10 * S)
    eq(sp(1), False, 0, S, 10 * S)
    now += S
    eq(sp(1), True, 0, S, 10 * S)
    now += 5 * S
    eq(sp(7), False, 5, 2 * S, 5 * S)
    # refund
    st = BoulderStore(clamp=False)
    now = 0
    eq(sp(1), True, 9, 0, S)
    eq(st.refund(lim, 'k', now, 1), True, 10, 0, 0)
    d = st.refund(lim, 'k', now, 0)
    assert (d['remaining'], d['reset_in']) == (10, 0)
    eq(sp(1), True, 9, 0, S)
    now += S
    eq(st.refund(lim, 'k', now, 1), False, 10, 0, 0)
    eq(sp(10), True, 0, 10 * S, 10 * S)
    d = st.refund(lim, 'k', now, 10)
    assert d['remaining'] == 10
    now += 11 * S
    eq(st.refund(lim, 'k', now, 1), False, 10, 0, 0)
    sp(5)
    d = st.refund(lim, 'k', now, 1)
    assert d['allowed'] and d['remaining'] == 6
    now += 2500 * MS
    eq(sp(0), True, 8, 0, 1500 * MS)
    d = st.refund(lim, 'k', now, 2)
    assert d['remaining'] == 10 and d['reset_in'] == 0


def test_overrides_and_batches_of_boulder():
    ov = BoulderLimit(40, 40, S)
    de = BoulderLimit(20, 20, S)
    st = BoulderStore()
    now = 0
    assert st.spend(ov, 'o', now, 40)['allowed']
    d = st.spend(ov, 'o', now, 1)
    assert (d['allowed'], d['remaining'], d['retry_in'], d['reset_in']) == (False, 0, 25 * MS, S)
    now += 25 * MS
    d = st.spend(ov, 'o', now, 1)
    assert d['allowed'] and d['reset_in'] == S
    now += S
    for i in range(40):
        assert st.spend(ov, 'o', now, 1)['remaining'] == 39 - i
    assert not st.spend(ov, 'o', now, 1)['allowed']
    now += S
    d = st.batch([(ov, 'o', 1, 'check_spend'), (de, 'n', 1, 'check_spend')], now)
    assert (d['allowed'], d['remaining'], d['retry_in'], d['reset_in']) == (True, 19, 0, 50 * MS)
    st.refund(ov, 'o', now, 1)
    d = st.refund(de, 'n', now, 1)
    assert d['remaining'] == 20
    st.reset('o')
    st.reset('n')
    d = st.batch([(ov, 'o', 1, 'check_spend'), (de, 'n', 1, 'check')], now)
    assert (d['remaining'], d['reset_in']) == (19, 50 * MS)
    assert st.check(ov, 'o', now, 0)['remaining'] == 39
    assert st.check(de, 'n', now, 0)['remaining'] == 20
    d = st.batch([(ov, 'o', 1, 'check_spend'), (de, 'n', 1, 'spend')], now)
    assert (d['remaining'], d['reset_in']) == (38, 50 * MS)
    assert st.check(de, 'n', now, 0)['remaining'] == 19
    d = st.batch([(ov, 'o', 1, 'check_spend'), (de, 'n', 20, 'spend')], now)
    assert (d['allowed'], d['remaining'], d['reset_in']) == (True, 37, 75 * MS)
    assert st.check(de, 'n', now, 0)['remaining'] == 19
    A = BoulderLimit(2, 2, S)
    B = BoulderLimit(2, 2, 3600 * S)
    st = BoulderStore()
    st.spend(A, 'a', 0, 2)
    st.spend(B, 'b', 0, 1)
    assert not st.batch([(A, 'a', 1, 'check_spend'), (B, 'b', 1, 'check_spend')], 0)['allowed']


def test_examples_of_python_limits():
    m = MovingLog(10, 60 * S)
    T = lambda s: s * S
    for at, n in ((10, 1), (20, 2), (30, 4), (50, 3)):
        for _ in range(n):
            assert m.hit(T(at)).allowed
    assert m.hit(T(71)).allowed and not m.hit(T(72)).allowed
    sc = SlidingCounter(100, 60 * S)
    sc.start = 0
    sc.cur = 80
    sc.prev = 40
    assert sc._weighted(30 * S) == 100 and not sc.hit(30 * S).allowed
    assert sc._weighted(40 * S) == 93 and sc.hit(40 * S).allowed
    f = FixedWindow(10, 60 * S)
    for _ in range(10):
        assert f.hit(45 * S).allowed
    assert not f.hit(105 * S - 1).allowed and f.hit(105 * S).allowed
