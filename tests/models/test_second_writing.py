"""The vectors against a second writing of each law, by other means than the models.

The linear law computes with fractions, as its article does; the exponential law with doubles; the windows
go through the list of all counted requests each time.
"""
import json
import math
import pathlib
from fractions import Fraction as F

import pytest

VECTORS = pathlib.Path(__file__).resolve().parents[1] / 'vectors'
NS = 10**9


def sequences(name):
    return json.loads((VECTORS / f'{name}.json').read_text())['sequences']


def integer(x):
    """An integer of a vector, which writes those beyond 63 bits as text."""
    return int(x) if x is not None else None


def cdiv(a, b):
    return -((-a) // b)


class Linear:
    def __init__(self, p):
        self.q = integer(p['quota'])
        self.w = F(integer(p['window_ns']), NS)
        self.shown = self.w
        if 'count' in p:
            self.w = F(self.q * integer(p['period_ns']), integer(p['count']) * NS)
            self.shown = F(math.ceil(self.w))
        self.m = p.get('mode', 'lenient')
        self.p = F(integer(p.get('penalty_ns', 0)), NS)
        self.state = None

    def hit(self, now, c):
        now = F(now, NS)
        if self.q == 0:
            return c == 0
        if c > self.q:
            if self.m == 'lenient' and self.state is not None and self.state > now:
                self.state = now
            return False
        t = now - self.w if self.state is None else max(now - self.w, min(self.state, now + self.p))
        old = t
        t += c * self.w / self.q
        if now >= t:
            self.state = t
            return True
        if self.m == 'lenient':
            if self.state is not None and self.state > now:
                self.state = old
        else:
            self.state = t
        return False

    def avail(self, now):
        if self.q == 0:
            return 0
        now = F(now, NS)
        t = now - self.w if self.state is None else max(now - self.w, self.state)
        return max(0, math.floor((now - t) * self.q / self.w))


@pytest.mark.parametrize('name', ['linear_lenient', 'linear_strict', 'linear_penalty', 'linear_bucket'])
def test_linear(name):
    n = 0
    for seq in sequences(name):
        limiters = {}
        for st in seq['steps']:
            m = limiters.setdefault(st['key'], Linear(seq['policy']))
            now = integer(st['at'])
            e = st['expect']
            if st.get('op') == 'peek':
                if m.m == 'lenient' and m.state is not None and m.state > F(now, NS):
                    m.state = F(now, NS)
            else:
                assert m.hit(now, integer(st['cost'])) == e['allowed'], (seq['id'], st)
            assert m.avail(now) == integer(e['r']), (seq['id'], st, m.avail(now))
            n += 1
            if e['allowed'] and integer(e['r']) and m.q:
                i = m.shown / m.q
                assert integer(e['t']) >= integer(e['r']) * i and integer(e['t']) == min(
                    10**15 - 1, math.ceil(integer(e['r']) * i)
                ), (seq['id'], st)
    assert n > 500


class Window:
    """Goes through the list of all counted (time, cost)."""

    def __init__(self, p, kind):
        self.q = integer(p['quota'])
        self.w = integer(p['window_ns'])
        self.kind = kind
        self.h = []
        self.off = integer(p.get('offset_ns', 0))
        self.cd = p.get('count_denied', False)
        self.closed = p.get('boundary') == 'closed'

    def used(self, now):
        if self.kind == 'log':
            return sum(
                c for a, c in self.h if now - a < self.w or (self.closed and now - a == self.w)
            )
        if self.kind == 'aligned':
            k = (now - self.off) // self.w
            return sum(c for a, c in self.h if (a - self.off) // self.w == k)
        start = None
        tot = 0
        for a, c in self.h:
            if start is None or a - start >= self.w:
                start, tot = a, 0
            tot += c
        return tot if start is not None and now - start < self.w else 0

    def hit(self, now, c):
        ok = self.used(now) + c <= self.q
        if c and (ok or self.cd):
            self.h.append((now, c))
        return ok


@pytest.mark.parametrize(
    'name, kind',
    [
        ('fixed_window', 'first'),
        ('fixed_window_count_denied', 'first'),
        ('fixed_window_aligned', 'aligned'),
        ('moving_window_log', 'log'),
        ('moving_window_log_closed', 'log'),
    ],
)
def test_windows(name, kind):
    n = 0
    for seq in sequences(name):
        ats = {}
        back = False
        for st in seq['steps']:
            k = st['key']
            if k in ats and integer(st['at']) < ats[k]:
                back = True
            ats[k] = integer(st['at'])
        if back:
            continue  # a list of times has no rule for a clock that goes back
        limiters = {}
        for st in seq['steps']:
            m = limiters.setdefault(st['key'], Window(seq['policy'], kind))
            now = integer(st['at'])
            e = st['expect']
            if st.get('op') != 'peek':
                assert m.hit(now, integer(st['cost'])) == e['allowed'], (seq['id'], st)
            assert max(0, m.q - m.used(now)) == integer(e['r']), (seq['id'], st)
            n += 1
    assert n > 400


class Exponential:
    def __init__(self, p):
        self.q = integer(p['quota'])
        self.w = float(integer(p['window_ns']))
        self.m = p['mode']
        self.t = None
        self.r = 0.0

    def nxt(self, now, c):
        if self.t is None:
            return float(c)
        x = max(0, now - self.t) / self.w
        phi = 1.0 if x == 0 else -math.expm1(-x) / x
        return max(c * phi + math.exp(-x) * self.r, float(c))

    def hit(self, now, c):
        if self.t is not None and self.t > now:
            self.t = now
        r = self.nxt(now, c)
        ok = r <= self.q
        if 0 < c <= self.q and (ok or self.m == 'strict'):
            self.t, self.r = now, r
        return ok, r

    def avail(self, now):
        if self.q == 0:
            return 0
        one = self.nxt(now, 1)
        return 0 if one > self.q else min(self.q, 1 + math.floor(self.q - one))

    def least(self, ok):
        if ok(0):
            return 0
        h = 1
        while not ok(h):
            h *= 2
        lo = h // 2
        while h - lo > 1:
            m = (lo + h) // 2
            if ok(m):
                h = m
            else:
                lo = m
        return h


@pytest.mark.parametrize('name', ['exponential_lenient', 'exponential_strict'])
def test_exponential(name):
    n = 0
    worst = 0.0
    for seq in sequences(name):
        limiters = {}
        for st in seq['steps']:
            m = limiters.setdefault(st['key'], Exponential(seq['policy']))
            now = integer(st['at'])
            e = st['expect']
            c = integer(st.get('cost', 0)) or 0
            if st.get('op') == 'peek':
                if m.t is not None and m.t > now:
                    m.t = now
                ok, r = True, m.nxt(now, 0)
            else:
                ok, r = m.hit(now, c)
            assert ok == e['allowed'], (seq['id'], st, r)
            er = float(e['rate'])
            worst = max(worst, abs(r - er) / max(1.0, abs(er)))
            a = m.avail(now)
            assert e['r_min'] <= a <= e['r_max'], (seq['id'], st, a)
            if m.q:
                if ok:
                    tn = m.least(lambda s: m.avail(now + s * NS) >= a + 1) if a < m.q else 0
                    t = max(tn, cdiv(a * int(m.w), m.q * NS))
                    assert e['t_min'] <= t <= e['t_max'], (seq['id'], st, t)
                elif c <= m.q:
                    t = m.least(lambda s: m.nxt(now + s * NS, c) <= m.q)
                    assert e['t_min'] <= t <= e['t_max'], (seq['id'], st, t)
            n += 1
    assert n > 500
    assert worst < 1e-15
