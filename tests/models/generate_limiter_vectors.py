"""Writes the vectors of the limiters, tests/vectors/*.json, from the exact models.

    cd tests && python3 -m models.generate_limiter_vectors

The seeds are fixed: it writes the same bytes each time. tests/vectors/README.md describes the format.
"""
import json
import pathlib
import random

from models.limiters import (
    EPS,
    NS,
    SF_MAX,
    BoulderError,
    BoulderLimit,
    BoulderStore,
    Concurrency,
    Exponential,
    FixedWindow,
    FixedWindowAligned,
    Linear,
    MovingLog,
    PolicySet,
    SlidingCounter,
    SlidingCounterClock,
    TokenBucket,
    ceil_div,
)

S, MS, US = NS, 10**6, 10**3
YEAR = 365 * 86400 * S
T0 = 1_700_000_000 * S  # 2023-11-14T22:13:20Z, not aligned to a minute
I64 = (1 << 63) - 1
FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'vectors'
FILES = {}  # name -> text of the file


def num(x):
    """JSON number when it fits int64, decimal string otherwise."""
    return x if x is None or isinstance(x, bool) or abs(x) <= I64 else str(x)


# ------------------------------------------------------------------ generic scenarios
# each returns (description, tags, steps); a step is (at, key, op, cost)
def hits(at, n, c=1, key='a'):
    return [(at, key, 'hit', c)] * n


def iv(q, w):
    return ceil_div(w, q) if q else w


def scenarios(q, w, base=T0):
    i = iv(q, w)
    big = 3 * w
    yield ('burst of quota+2 unit requests in one tick', ['burst'], hits(base, min(q, 12) + 2))
    yield (
        'one request of the whole quota, then one more, then again after the window',
        ['burst', 'boundary'],
        hits(base, 1, q)
        + hits(base, 1)
        + hits(base + w - 1, 1)
        + hits(base + w, 1)
        + hits(base + w + 1, 1),
    )
    yield (
        'cost 0 before, during and after exhaustion',
        ['cost0'],
        hits(base, 1, 0)
        + hits(base, 1, q)
        + hits(base, 1, 0)
        + hits(base, 1, 1)
        + hits(base + i, 1, 0)
        + hits(base + big, 1, 0),
    )
    yield (
        'cost above the quota is never admissible and charges nothing',
        ['cost_over_quota'],
        hits(base, 1, q + 1)
        + hits(base + 1, 1, 1)
        + hits(base + 1, 1, 10 * q + 7)
        + hits(base + 2 * w + 5, 1, q + 1)
        + hits(base + 2 * w + 5, 1, q),
    )
    yield (
        'boundaries of one interval and one window, one ns either side',
        ['boundary'],
        hits(base, 1, q)
        + [
            (base + d, 'a', 'hit', 1)
            for d in sorted({i - 1, i, i + 1, w - 1, w, w + 1, 2 * w - 1, 2 * w, 2 * w + 1})
        ],
    )
    yield (
        'clock steps back a little while exhausted',
        ['clock_back'],
        hits(base, 1, q)
        + hits(base - i // 2 - 1, 2)
        + hits(base - i // 2 - 1 + w, 2)
        + hits(base + w, 1),
    )
    yield (
        'clock steps back by years while exhausted',
        ['clock_back'],
        hits(base, 1, q)
        + hits(base - 10 * YEAR, 3)
        + hits(base - 10 * YEAR + w, 1)
        + hits(base - 10 * YEAR + 2 * w + 1, 2)
        + hits(base, 1),
    )
    yield ('1 ns gaps', ['one_ns'], [(base + k, 'a', 'hit', 1) for k in range(min(q, 8) + 4)])
    yield (
        'idle for years between bursts',
        ['idle_years'],
        hits(base, 1, q)
        + hits(base + 7 * YEAR, 1, q)
        + hits(base + 7 * YEAR, 1)
        + hits(base + 107 * YEAR, 2),
    )
    yield (
        'two keys do not interfere',
        ['keys'],
        hits(base, 1, q, 'a')
        + hits(base, 1, 1, 'b')
        + hits(base, 1, 1, 'a')
        + hits(base + 1, 1, q, 'b')
        + hits(base + w, 1, 1, 'b'),
    )
    yield (
        'hammering while denied',
        ['hammer'],
        hits(base, 1, q) + [(base + k * max(1, i // 4), 'a', 'hit', 1) for k in range(1, 14)],
    )
    yield (
        'mixed costs; a large one is denied while small ones pass',
        ['mixed'],
        hits(base, 1, max(1, q // 2))
        + hits(base, 1, q)
        + hits(base, 1, 1)
        + hits(base + i, 1, max(1, q // 2))
        + hits(base + 2 * i, 1, q)
        + hits(base + w // 2, 1, max(1, q // 3))
        + hits(base + w, 1, q),
    )
    yield (
        'peek does not change anything',
        ['peek'],
        [
            (base, 'a', 'peek', 0),
            (base, 'a', 'hit', 1),
            (base, 'a', 'peek', 0),
            (base + i // 2, 'a', 'peek', 0),
            (base + i, 'a', 'hit', 1),
            (base + i + w // 3, 'a', 'peek', 0),
        ],
    )
    yield (
        'steady use at exactly the policy rate',
        ['steady'],
        [(base + k * i, 'a', 'hit', 1) for k in range(min(2 * q + 3, 16))],
    )


EXTRA_POLICIES = [  # (q, w, tags, wanted scenario tags)
    (0, 60 * S, ['quota0'], {'burst', 'cost0', 'cost_over_quota'}),
    (1, 60 * S, ['quota1'], {'burst', 'boundary', 'hammer', 'steady'}),
    (1, S, ['quota1'], {'boundary', 'clock_back'}),
    (7, S, ['fraction'], {'boundary', 'steady', 'one_ns', 'mixed'}),
    (3, 250 * MS, ['subsecond', 'fraction'], {'boundary', 'burst', 'peek'}),
    (100, 60 * S, [], {'mixed', 'steady'}),
    (5000, 86400 * S, [], {'mixed', 'boundary'}),
    (1000, 100 * YEAR, ['huge_window'], {'burst', 'boundary', 'mixed'}),
    (SF_MAX, 86400 * S, ['huge_quota', 'int128'], {'boundary', 'mixed', 'cost_over_quota', 'peek'}),
    (SF_MAX - 1, 3600 * S, ['huge_quota', 'int128'], {'burst', 'cost0'}),
    (2, SF_MAX * S, ['huge_window', 'int128'], {'burst', 'mixed'}),
]


def all_scenarios():
    for q, w in ((5, 60 * S),):
        for d, tags, st in scenarios(q, w):
            yield q, w, d, tags, st
    for q, w, ptags, want in EXTRA_POLICIES:
        for d, tags, st in scenarios(q, w):
            if want & set(tags):
                yield q, w, d, ptags + tags, st
    for d, tags, st in scenarios(4, 10 * S, base=3 * S):
        if {'burst', 'steady', 'clock_back'} & set(tags):
            yield 4, 10 * S, d + ' (clock near zero)', ['clock_zero'] + tags, st
    for d, tags, st in scenarios(4, 10 * S, base=I64 - 100 * YEAR - 200 * S):
        if {'burst', 'boundary'} & set(tags):
            yield 4, 10 * S, d + ' (clock far in the future)', ['clock_far'] + tags, st


def random_steps(rnd, q, w, n):
    at = T0 + rnd.randint(0, w)
    i = iv(q, w)
    out = []
    for _ in range(n):
        at += rnd.choice(
            [
                0,
                0,
                1,
                i,
                max(0, i - 1),
                i + 1,
                rnd.randint(0, i),
                rnd.randint(0, w),
                w,
                rnd.randint(0, 3 * w),
            ]
        )
        if rnd.random() < 0.04:
            at -= rnd.randint(1, w)
        out.append(
            (
                at,
                rnd.choice('aaab'),
                rnd.choice(['hit'] * 9 + ['peek']),
                rnd.choice([1, 1, 1, 1, 2, 3, 0, q, q + 1]),
            )
        )
    return out


def obey_steps(mk, q, w, rnd, n):
    """A client that spends at most r, then waits t; on denial waits retry_after."""
    lim = mk(q, w)
    at = T0 + 17
    out = []
    lim.hit(at, q // 2)
    out.append((at, 'a', 'hit', q // 2))
    d = lim.hit(at, max(1, q))
    out.append((at, 'a', 'hit', max(1, q)))
    for _ in range(n):
        ok = d['allowed'] if isinstance(d, dict) else d.allowed
        r = d['r'] if isinstance(d, dict) else d.r
        t = d['t'] if isinstance(d, dict) else d.t
        if not ok or r == 0:
            at += t * S
        else:
            at += rnd.choice([0, t * S // r, 1])
        c = 1 if not ok or r == 0 else rnd.randint(1, r)
        if not ok:
            c = max(1, q) if out[-1][3] == max(1, q) else out[-1][3]
        d = lim.hit(at, c)
        out.append((at, 'a', 'hit', c))
        assert d['allowed'] if isinstance(d, dict) else d.allowed, 'obedient client denied'
    return out


def run(mk, q, w, steps):
    lims = {}
    res = []
    for at, key, op, c in steps:
        lim = lims.setdefault(key, None) or mk(q, w)
        lims[key] = lim
        d = lim.peek(at) if op == 'peek' else lim.hit(at, c)
        res.append(expect(d))
    return res


def expect(d):
    e = dict(allowed=d.allowed, r=num(d.r), t=num(d.t), retry_after=num(d.retry_after))
    e['t_next'] = num(d.t_next)
    e['t_full'] = num(d.t_full)
    if not d.allowed:
        e['never'] = d.never
        if not d.never:
            e['wait_ns'] = num(d.wait_ns)
    return e


def sequence(sid, desc, tags, policy, steps, exps):
    st = []
    for (at, key, op, c), e in zip(steps, exps):
        x = (
            dict(at=num(at), key=key, cost=num(c))
            if op == 'hit'
            else dict(at=num(at), key=key, op=op)
        )
        x['expect'] = e
        st.append(x)
    tags = set(tags)
    q, w = int(policy['quota']), int(policy['window_ns'])
    if q * w > I64 or any(abs(a) * max(q, 1) > 1 << 126 for a, *_ in steps):
        tags.add('int128')
    else:
        tags.discard('int128')
    if q > 0 and w % q == 0:
        tags.add('ns_exact')
    return dict(id=sid, description=desc, tags=sorted(tags), policy=policy, steps=st)


def write(name, algo, notes, seqs):
    lines = [
        '{',
        f' "algorithm": {json.dumps(algo)},',
        ' "format": 1,',
        f' "notes": {json.dumps(notes)},',
        ' "sequences": [',
    ]
    blocks = []
    for s in seqs:
        head = {k: v for k, v in s.items() if k != 'steps'}
        b = '  {' + json.dumps(head)[1:-1] + ',\n   "steps": [\n'
        b += ',\n'.join('    ' + json.dumps(x) for x in s['steps']) + ']}'
        blocks.append(b)
    text = '\n'.join(lines) + '\n' + ',\n'.join(blocks) + '\n ]\n}\n'
    json.loads(text)
    ids = [s['id'] for s in seqs]
    assert len(ids) == len(set(ids))
    FILES[f'{name}.json'] = text
    return len(seqs), sum(len(s['steps']) for s in seqs)


def family(prefix, mk, pol, extra=(), randoms=14, obey=True, skip=()):
    seqs = []
    n = 0
    for q, w, d, tags, st in all_scenarios():
        if set(tags) & set(skip):
            continue
        n += 1
        seqs.append(
            sequence(
                f'{prefix}-{n:03d}', f'q={q} w={w}ns: {d}', tags, pol(q, w), st, run(mk, q, w, st)
            )
        )
    for d, tags, q, w, st in extra:
        n += 1
        seqs.append(sequence(f'{prefix}-{n:03d}', d, tags, pol(q, w), st, run(mk, q, w, st)))
    rnd = random.Random(prefix)
    for k in range(randoms):
        q = rnd.choice([1, 2, 3, 5, 7, 10, 100])
        w = rnd.choice([S, 1500 * MS, 7 * S, 60 * S, 3600 * S])
        st = random_steps(rnd, q, w, 24)
        n += 1
        seqs.append(
            sequence(
                f'{prefix}-{n:03d}',
                f'random traffic {k + 1}',
                ['random'],
                pol(q, w),
                st,
                run(mk, q, w, st),
            )
        )
    if obey:
        for q, w in ((5, 60 * S), (7, S), (100, 60 * S), (1, 30 * S)):
            st = obey_steps(mk, q, w, rnd, 20)
            n += 1
            seqs.append(
                sequence(
                    f'{prefix}-{n:03d}',
                    'a client that follows r, t and Retry-After is never denied again',
                    ['obey'],
                    pol(q, w),
                    st,
                    run(mk, q, w, st),
                )
            )
    return seqs


def P(**fixed):
    return lambda q, w: dict(quota=num(q), window_ns=num(w), **fixed)


totals = {}


def emit(name, algo, notes, seqs):
    totals[name] = write(name, algo, notes, seqs)


# ------------------------------------------------------------------------ window family
b = T0
fw_extra = [
    (
        'documented example: 10 per minute, first hit at :45, window ends exactly at 1:45',
        ['doc'],
        10,
        60 * S,
        hits(45 * S, 1)
        + hits(50 * S, 9)
        + hits(104 * S, 1)
        + hits(105 * S - 1, 1)
        + hits(105 * S, 1)
        + hits(130 * S, 9)
        + hits(164 * S, 1)
        + hits(165 * S, 1),
    ),
    (
        'the new window starts at the next hit, not at the expiry of the old one',
        ['doc', 'boundary'],
        2,
        60 * S,
        hits(b, 2)
        + hits(b + 90 * S, 1)
        + hits(b + 149 * S, 1)
        + hits(b + 149 * S, 1)
        + hits(b + 150 * S, 1),
    ),
    (
        'just before the end of the window: t is held at the pace r*w/q, t_next is 1',
        ['ratio'],
        100,
        60 * S,
        hits(b, 1) + hits(b + 59 * S + 1, 1) + hits(b + 60 * S - 1, 1) + hits(b + 60 * S, 1),
    ),
]
emit(
    'fixed_window',
    'fixed_window',
    'Window [start, start+w) opened by the first admitted hit with cost > 0.',
    family('fw', lambda q, w: FixedWindow(q, w), P(), fw_extra),
)
emit(
    'fixed_window_count_denied',
    'fixed_window',
    'As fixed_window but denied requests are counted too (python limits, express-rate-limit).',
    family(
        'fwd',
        lambda q, w: FixedWindow(q, w, True),
        P(count_denied=True),
        [
            (
                'denied cost burns what was left',
                ['doc'],
                10,
                60 * S,
                hits(b, 8) + hits(b, 1, 5) + hits(b, 1, 1) + hits(b + 60 * S, 1, 10),
            )
        ],
        randoms=8,
        obey=False,
    ),
)
al_extra = [
    (
        'windows are [k*w, (k+1)*w) on the clock: burst at the end of one and the start of the next',
        ['doc', 'boundary'],
        5,
        60 * S,
        hits(60 * S * 1000 - 1, 5)
        + hits(60 * S * 1000 - 1, 1)
        + hits(60 * S * 1000, 5)
        + hits(60 * S * 1000, 1),
    ),
    (
        'clock goes back into the previous window: the count is kept there',
        ['clock_back'],
        5,
        60 * S,
        hits(60 * S * 1000 + 1, 4) + hits(60 * S * 1000 - 1, 2) + hits(60 * S * 1000, 1),
    ),
]
emit(
    'fixed_window_aligned',
    'fixed_window_aligned',
    'Window k = floor((now - offset)/w); offset 0 unless given.',
    family('fwa', lambda q, w: FixedWindowAligned(q, w), P(offset_ns=0), al_extra)
    + [
        sequence(
            'fwa-off-1',
            'daily quota reset at 18:00:00 UTC',
            ['offset'],
            dict(quota=3, window_ns=86400 * S, offset_ns=64800 * S),
            (
                st := hits(64800 * S - 1, 3)
                + hits(64800 * S - 1, 1)
                + hits(64800 * S, 1)
                + hits(100000 * S, 2)
                + hits(151199 * S, 1)
                + hits(151200 * S, 1)
            ),
            run(lambda q, w: FixedWindowAligned(q, w, 64800 * S), 3, 86400 * S, st),
        )
    ],
)
ml_extra = [
    (
        'documented example of python limits, 10 per minute',
        ['doc'],
        10,
        60 * S,
        hits(10 * S, 1)
        + hits(20 * S, 2)
        + hits(30 * S, 4)
        + hits(50 * S, 3)
        + hits(71 * S, 1)
        + hits(72 * S, 1),
    ),
    (
        'age exactly w: expired here (text of the document), still counted by the code of python limits',
        ['boundary', 'limits_code_differs'],
        1,
        60 * S,
        hits(b, 1) + hits(b + 60 * S - 1, 1) + hits(b + 60 * S, 1),
    ),
    (
        'retry after for a large cost needs several entries to expire',
        ['mixed'],
        10,
        60 * S,
        hits(b, 1, 5)
        + hits(b + 30 * S, 1, 5)
        + hits(b + 40 * S, 1, 1)
        + hits(b + 40 * S, 1, 5)
        + hits(b + 40 * S, 1, 6)
        + hits(b + 40 * S, 1, 10),
    ),
]
emit(
    'moving_window_log',
    'moving_window_log',
    'Entries (time, cost) count while age < w.',
    family('ml', lambda q, w: MovingLog(q, w), P(), ml_extra),
)
emit(
    'moving_window_log_closed',
    'moving_window_log',
    'Entries count while age <= w (decision rule of the python limits code).',
    family(
        'mlc',
        lambda q, w: MovingLog(q, w, 'closed'),
        P(boundary='closed'),
        ml_extra[:2],
        randoms=6,
        obey=False,
        skip=('int128',),
    ),
)


def sw_doc():
    st, q, w = [], 100, 60 * S
    st += hits(b, 40) + hits(b + 60 * S + 1, 1, 0)  # 40 in the first bucket
    st += hits(b + 90 * S, 80) + hits(b + 90 * S, 1)  # 80 + floor(40*0.5) = 100
    st += hits(b + 100 * S, 7) + hits(b + 100 * S, 1)  # 80+13=93 -> 7 more
    return (
        'documented example: 40 previous, 80 current, at 30 s and 40 s of the bucket',
        ['doc'],
        q,
        w,
        st,
    )


sw_extra = [
    sw_doc(),
    (
        'floor of the weighted sum at every ns around a drop (prev=3)',
        ['boundary'],
        3,
        3 * S,
        hits(b, 3)
        + [(b + 3 * S + d, 'a', 'hit', 1) for d in (0, 1, 2)]
        + [(b + 4 * S + d, 'a', 'peek', 0) for d in (-1, 0, 1)]
        + [(b + 4 * S + 1, 'a', 'hit', 1), (b + 4 * S + 1, 'a', 'hit', 1)],
    ),
    (
        'shift rule: e = w does not shift, e = w+1 shifts, e = 2w expires',
        ['boundary'],
        4,
        10 * S,
        hits(b, 4)
        + hits(b + 10 * S, 1)
        + hits(b + 10 * S + 1, 1)
        + hits(b + 20 * S, 1)
        + hits(b + 20 * S + 1, 1),
    ),
    (
        'a hit at exactly e = w lands in the old bucket',
        ['boundary'],
        4,
        10 * S,
        hits(b, 2) + hits(b + 10 * S, 2) + hits(b + 10 * S + 1, 1) + hits(b + 15 * S, 3),
    ),
    (
        'state expires 2w after the bucket started',
        ['boundary'],
        4,
        10 * S,
        hits(b, 4) + hits(b + 20 * S - 1, 1, 4) + hits(b + 40 * S, 1, 4),
    ),
    (
        'burst at both ends of a bucket',
        ['burst'],
        10,
        60 * S,
        hits(b, 1, 9) + hits(b + 59 * S, 1) + hits(b + 61 * S, 1, 9) + hits(b + 61 * S, 1),
    ),
    (
        'retry after for cost 4 with cur=7 prev=3 (python limits publishes 9 s, true 49 s)',
        ['limits_reset_differs'],
        10,
        60 * S,
        hits(b, 1, 3)
        + hits(b + 60 * S + 1, 1, 7)
        + hits(b + 60 * S + 11_577 * MS, 1, 4)
        + hits(b + 60 * S + (11_577 + 49_000) * MS, 1, 4),
    ),
]
emit(
    'sliding_window_counter',
    'sliding_window_counter',
    'Buckets anchored at the first hit (Redis storage of python limits), ns instead of ms.',
    family('sw', lambda q, w: SlidingCounter(q, w), P(), sw_extra),
)
emit(
    'sliding_window_counter_clock',
    'sliding_window_counter_clock',
    'Buckets aligned to the clock (in-memory storage of python limits).',
    family(
        'swc',
        lambda q, w: SlidingCounterClock(q, w),
        P(),
        sw_extra[1:2] + sw_extra[5:6],
        randoms=10,
    ),
)

# ------------------------------------------------------------------------------- linear
lin_extra = [
    (
        'article example policy: q=10, w=10 s; r and t after each hit',
        ['doc'],
        10,
        10 * S,
        hits(b, 3)
        + hits(b + 1500 * MS, 2)
        + hits(b + 1500 * MS, 5)
        + hits(b + 1500 * MS, 2)
        + hits(b + 2 * S, 1),
    ),
    (
        'credit smaller than one interval: r=0 and t is the time to the next unit',
        ['r0'],
        10,
        100 * S,
        hits(b, 9) + hits(b + 4 * S, 1) + hits(b + 9 * S, 1) + hits(b + 10 * S, 1),
    ),
    (
        'r=1 with 19 s of credit at 10 s per unit: t=10',
        ['pace'],
        10,
        100 * S,
        hits(b, 8) + hits(b + 9 * S, 1),
    ),
    (
        'denied exactly at the boundary minus 1 ns, admitted on it',
        ['boundary'],
        10,
        10 * S,
        hits(b, 10) + hits(b + S - 1, 1) + hits(b + S, 1),
    ),
    (
        'interval is not a whole number of ns: q=7 per second, three bursts',
        ['fraction'],
        7,
        S,
        hits(b, 8)
        + hits(b + 142857142, 1)
        + hits(b + 142857143, 1)
        + hits(b + 285714286, 2)
        + hits(b + S, 6),
    ),
    (
        'content bytes: 65535 per 10 s',
        ['bytes'],
        65535,
        10 * S,
        hits(b, 1, 60000)
        + hits(b, 1, 6000)
        + hits(b + 71 * MS, 1, 6000)
        + hits(b + S, 1, 6000)
        + hits(b + 20 * S, 1, 65535)
        + hits(b + 20 * S, 1, 65536),
    ),
    (
        'lower quota of 10^15-1 bytes per day',
        ['huge_quota', 'int128'],
        SF_MAX,
        86400 * S,
        hits(b, 1, SF_MAX)
        + hits(b + 1, 1, 11574)
        + hits(b + 1, 1, 1)
        + hits(b + 2, 1, 11574)
        + hits(b + 86400 * S, 1, SF_MAX),
    ),
]
emit(
    'linear_lenient',
    'linear',
    'GCRA, denied requests are not charged.',
    family('lin', lambda q, w: Linear(q, w), P(mode='lenient'), lin_extra),
)
emit(
    'linear_strict',
    'linear',
    'GCRA, denied requests are charged (clamped at now on the next hit).',
    family(
        'lis',
        lambda q, w: Linear(q, w, 'strict'),
        P(mode='strict'),
        lin_extra
        + [
            (
                'retrying every interval never succeeds; waiting Retry-After does',
                ['hammer'],
                10,
                10 * S,
                hits(b, 10)
                + [(b + k * S, 'a', 'hit', 1) for k in range(0, 6)]
                + hits(b + 7 * S, 1),
            )
        ],
        randoms=10,
    ),
)
emit(
    'linear_penalty',
    'linear',
    'GCRA with a penalty: the clamp reaches now + penalty_ns.',
    family(
        'lip',
        lambda q, w: Linear(q, w, 'penalty', 30 * S),
        P(mode='penalty', penalty_ns=30 * S),
        [
            (
                'each attempt while denied adds to the time-out, up to the penalty',
                ['hammer'],
                10,
                10 * S,
                hits(b, 10)
                + [(b, 'a', 'hit', 5)] * 8
                + hits(b + 20 * S, 1)
                + hits(b + 20 * S, 1, 0)
                + hits(b + 60 * S, 1),
            ),
            (
                'abuser is locked out; a quiet client comes back after Retry-After',
                ['penalty'],
                2,
                10 * S,
                hits(b, 2) + hits(b, 10) + hits(b + 38 * S, 1) + hits(b + 90 * S, 1),
            ),
        ],
        randoms=10,
    ),
)


# Boulder ------------------------------------------------------------------------------
def bl(l):
    return dict(burst=num(l.burst), count=num(l.count), period_ns=num(l.period_ns))


def bexp(lim, d, now, with_headers=True):
    if d['tat'] is None:
        return dict(allowed=d['allowed'], unlimited=True)
    e = dict(
        allowed=d['allowed'],
        remaining=num(d['remaining']),
        retry_in_ns=num(d['retry_in']),
        reset_in_ns=num(d['reset_in']),
    )
    if with_headers:
        h = BoulderStore.headers(lim, d, now)
        e.update({k: num(v) for k, v in h.items()})
    return e


class BSeq:
    def __init__(self, sid, desc, tags, limits):
        self.s = dict(
            id=sid, description=desc, tags=tags, limits={k: bl(v) for k, v in limits.items()}
        )
        self.lim = limits
        self.st, self.raw, self.steps = BoulderStore(True), BoulderStore(False), []

    def _err(self, step, f):
        try:
            return f()
        except BoulderError as e:
            step['expect'] = dict(error=str(e))
            self.steps.append(step)
            return None

    def op(self, kind, at, limit, key, cost):
        step = dict(at=num(at), op=kind, limit=limit, key=key, cost=num(cost))
        l = self.lim[limit]

        def go(st):
            if kind == 'spend':
                return st.spend(l, key, at, cost)
            if kind == 'check':
                return st.check(l, key, at, cost)
            if kind == 'spend_only':
                return st.batch([(l, key, cost, 'spend')], at)
            if kind == 'refund':
                return st.refund(l, key, at, cost)
            if kind == 'refund_check_only':
                return st.refund(l, key, at, cost, 'check')

        d = self._err(step, lambda: go(self.st))
        if d is None:
            return self
        step['expect'] = bexp(l, d, at, kind in ('spend', 'check'))
        r = go(self.raw)
        if (r['allowed'], r['remaining'], r['retry_in'], r['reset_in']) != (
            d['allowed'],
            d['remaining'],
            d['retry_in'],
            d['reset_in'],
        ):
            step['boulder_unclamped'] = bexp(l, r, at, False)
        self.steps.append(step)
        return self

    def reset(self, at, key):
        self.st.reset(key)
        self.raw.reset(key)
        self.steps.append(dict(at=num(at), op='reset', key=key, expect={}))
        return self

    def batch(self, at, txns):
        step = dict(
            at=num(at),
            op='batch',
            txns=[dict(limit=l, key=k, cost=c, kind=kd) for l, k, c, kd in txns],
        )
        d = self._err(
            step, lambda: self.st.batch([(self.lim[l], k, c, kd) for l, k, c, kd in txns], at)
        )
        if d is None:
            return self
        self.raw.batch([(self.lim[l], k, c, kd) for l, k, c, kd in txns], at)
        step['expect'] = bexp(None, d, at, False)
        self.steps.append(step)
        return self

    def done(self):
        self.s['steps'] = self.steps
        return self.s


def boulder():
    L = BoulderLimit
    out = []
    n = [0]

    def seq(desc, tags, **limits):
        n[0] += 1
        x = BSeq(f'b-{n[0]:03d}', desc, tags, limits)
        out.append(x)
        return x

    x = seq('README example: 20 per 1s, burst 20', ['doc'], foo=L(20, 20, S))
    x.op('spend', 0, 'foo', 'ip', 1).op('spend', 5 * MS, 'foo', 'ip', 1)
    for k in range(18):
        x.op('spend', 5 * MS + (k + 1) * 44 * MS // 18, 'foo', 'ip', 1)
    x.op('spend', 49 * MS, 'foo', 'ip', 1).op('spend', 50 * MS - 1, 'foo', 'ip', 1).op(
        'spend', 50 * MS, 'foo', 'ip', 1
    ).op('spend', 50 * MS, 'foo', 'ip', 1).op('spend', 100 * MS, 'foo', 'ip', 1)
    x = seq('TestDecide of gcra_test.go', ['doc'], l=L(10, 1, S))
    t = T0
    for dt, c in (
        (0, 1),
        (0, 9),
        (0, 1),
        (S, 0),
        (0, 1),
        (10 * S, 1),
        (S - MS, 0),
        (72000 * S, 0),
        (0, 10),
        (0, 0),
        (0, 1),
        (S, 1),
        (5 * S, 7),
    ):
        t += dt
        x.op('spend', t, 'l', 'k', c)
    x = seq('TestMaybeRefund of gcra_test.go', ['doc', 'refund'], l=L(10, 1, S))
    t = T0
    for dt, op, c in (
        (0, 'spend', 1),
        (0, 'refund', 1),
        (0, 'refund', 0),
        (0, 'spend', 1),
        (S, 'refund', 1),
        (0, 'spend', 10),
        (0, 'refund', 10),
        (11 * S, 'refund', 1),
        (0, 'spend', 5),
        (0, 'refund', 1),
        (2500 * MS, 'spend', 0),
        (0, 'refund', 2),
        (0, 'spend', 0),
    ):
        t += dt
        x.op(op, t, 'l', 'k', c)
    x = seq(
        'overrides and batches of limiter_test.go',
        ['doc', 'batch'],
        over=L(40, 40, S),
        dflt=L(20, 20, S),
    )
    t = T0
    x.op('spend', t, 'over', 'o', 40).op('spend', t, 'over', 'o', 1).op(
        'spend', t + 25 * MS, 'over', 'o', 1
    )
    t += 2 * S
    x.batch(t, [('over', 'o', 1, 'check_spend'), ('dflt', 'd', 1, 'check_spend')]).op(
        'refund', t, 'over', 'o', 1
    ).op('refund', t, 'dflt', 'd', 1)
    x.batch(t, [('over', 'o', 1, 'check_spend'), ('dflt', 'd', 1, 'check_spend')]).reset(
        t, 'o'
    ).reset(t, 'd')
    x.batch(t, [('over', 'o', 1, 'check_spend'), ('dflt', 'd', 1, 'check')]).op(
        'check', t, 'over', 'o', 0
    ).op('check', t, 'dflt', 'd', 0)
    x.batch(t, [('over', 'o', 1, 'check_spend'), ('dflt', 'd', 1, 'spend')]).op(
        'check', t, 'over', 'o', 0
    ).op('check', t, 'dflt', 'd', 0)
    x.batch(t, [('over', 'o', 1, 'check_spend'), ('dflt', 'd', 20, 'spend')]).op(
        'check', t, 'over', 'o', 0
    ).op('check', t, 'dflt', 'd', 0)
    x = seq(
        'denied is stricter than allowed even with a smaller retry_in; nothing is charged',
        ['batch'],
        a=L(2, 2, S),
        b=L(2, 2, 3600 * S),
    )
    x.op('spend', T0, 'a', 'a', 2).op('spend', T0, 'b', 'b', 1).batch(
        T0, [('a', 'a', 1, 'check_spend'), ('b', 'b', 1, 'check_spend')]
    ).op('check', T0, 'b', 'b', 0).op('check', T0, 'a', 'a', 0)
    x = seq(
        'batch: longer retry_in is stricter among allowed, then fewer remaining',
        ['batch'],
        a=L(5, 5, 60 * S),
        b=L(100, 100, S),
        c=L(3, 3, 60 * S),
    )
    x.batch(
        T0,
        [('a', 'a', 1, 'check_spend'), ('b', 'b', 1, 'check_spend'), ('c', 'c', 1, 'check_spend')],
    ).batch(
        T0,
        [('a', 'a', 3, 'check_spend'), ('b', 'b', 1, 'check_spend'), ('c', 'c', 1, 'check_spend')],
    ).batch(
        T0,
        [('a', 'a', 1, 'check_spend'), ('b', 'b', 1, 'check_spend'), ('c', 'c', 2, 'check_spend')],
    )
    x = seq(
        'spend-only is best effort: never decides, spends when it can', ['batch'], a=L(2, 2, 60 * S)
    )
    for c in (1, 2, 1, 1):
        x.op('spend_only', T0, 'a', 'k', c)
    x.op('check', T0, 'a', 'k', 0)
    x = seq(
        'spend-only inside a denied batch is not spent',
        ['batch'],
        a=L(1, 1, 60 * S),
        b=L(5, 5, 60 * S),
    )
    x.op('spend', T0, 'a', 'a', 1).batch(
        T0, [('a', 'a', 1, 'check_spend'), ('b', 'b', 1, 'spend')]
    ).op('check', T0, 'b', 'b', 0)
    x = seq('allow-only transactions and an all-allow batch', ['batch'], a=L(1, 1, 60 * S))
    x.batch(T0, [('a', 'a', 1, 'allow')]).batch(
        T0, [('a', 'a', 1, 'allow'), ('a', 'b', 1, 'check_spend')]
    ).batch(T0, [])
    x = seq(
        'duplicate bucket in a batch is an error and changes nothing', ['error'], a=L(5, 5, 60 * S)
    )
    x.batch(T0, [('a', 'k', 1, 'check_spend'), ('a', 'k', 1, 'check_spend')]).op(
        'check', T0, 'a', 'k', 0
    )
    x = seq(
        'cost 0, cost = burst, cost > burst (error), negative cost (error)',
        ['error', 'cost0'],
        a=L(10, 10, 10 * S),
    )
    for c in (0, 10, 0, 11, -1, 1):
        x.op('spend', T0, 'a', 'k', c)
    x.op('check', T0, 'a', 'k', 11).op('refund', T0, 'a', 'k', 11)
    x = seq('check does not create or change a bucket', ['check'], a=L(10, 10, 10 * S))
    x.op('check', T0, 'a', 'k', 4).op('check', T0, 'a', 'k', 10).op('spend', T0, 'a', 'k', 1).op(
        'check', T0, 'a', 'k', 9
    ).op('check', T0, 'a', 'k', 10).op('check', T0, 'a', 'k', 0)
    x = seq(
        'refund of an unknown bucket, of a check-only transaction, beyond full, at TAT == now',
        ['refund'],
        a=L(10, 10, 10 * S),
    )
    x.op('refund', T0, 'a', 'k', 1).op('spend', T0, 'a', 'k', 3).op(
        'refund_check_only', T0, 'a', 'k', 2
    ).op('refund', T0, 'a', 'k', 9).op('refund', T0, 'a', 'k', 1).op('spend', T0, 'a', 'k', 10).op(
        'refund', T0 + 10 * S, 'a', 'k', 1
    ).op(
        'refund', T0 + 10 * S + 1, 'a', 'k', 1
    )
    x = seq('reset fills the bucket', ['reset'], a=L(3, 1, 3600 * S))
    x.op('spend', T0, 'a', 'k', 3).op('spend', T0, 'a', 'k', 1).reset(T0, 'k').op(
        'spend', T0, 'a', 'k', 3
    )
    x = seq('one ns around the retry point', ['boundary'], a=L(2, 2, 10 * S))
    x.op('spend', T0, 'a', 'k', 2)
    for d in (5 * S - 1, 5 * S, 5 * S, 10 * S - 1, 10 * S, 20 * S):
        x.op('spend', T0 + d, 'a', 'k', 1)
    x = seq(
        'emission interval is truncated: 3 per 1s is one per 333333333 ns',
        ['boundary', 'rounding'],
        a=L(3, 3, S),
    )
    x.op('spend', T0, 'a', 'k', 3)
    for d in (333333332, 333333333, 333333333, 999999998, 999999999):
        x.op('spend', T0 + d, 'a', 'k', 1)
    x.op('spend', T0 + 3 * S, 'a', 'k', 3)
    x = seq(
        'burst larger than count: pausing limit of the test configuration (3600, 1 per 24h)',
        ['doc', 'huge_window'],
        a=L(3600, 1, 86400 * S),
    )
    x.op('spend', T0, 'a', 'k', 3599).op('spend', T0, 'a', 'k', 1).op('spend', T0, 'a', 'k', 1).op(
        'spend', T0 + 86400 * S, 'a', 'k', 1
    ).op('check', T0 + 3600 * 86400 * S, 'a', 'k', 0)
    x = seq('burst smaller than count: override example (20, 40 per 1s)', ['doc'], a=L(20, 40, S))
    x.op('spend', T0, 'a', 'k', 20).op('spend', T0, 'a', 'k', 1).op(
        'spend', T0 + 25 * MS, 'a', 'k', 1
    ).op('spend', T0 + 525 * MS, 'a', 'k', 20)
    x = seq('NewOrdersPerAccount 300 per 180m', ['doc'], a=L(300, 300, 10800 * S))
    x.op('spend', T0, 'a', 'k', 300).op('spend', T0, 'a', 'k', 1).op(
        'spend', T0 + 35 * S, 'a', 'k', 1
    ).op('spend', T0 + 36 * S, 'a', 'k', 1).op('spend', T0 + 36 * S, 'a', 'k', 100)
    x = seq(
        'clock steps back 1000 s: TAT is seen at most a burst offset ahead',
        ['clock_back'],
        a=L(10, 10, 10 * S),
    )
    x.op('spend', T0, 'a', 'k', 10).op('spend', T0 - 1000 * S, 'a', 'k', 1).op(
        'spend', T0 - 999 * S, 'a', 'k', 1
    ).op('spend', T0, 'a', 'k', 10)
    x = seq('clock steps back by less than the offset', ['clock_back'], a=L(10, 10, 10 * S))
    x.op('spend', T0, 'a', 'k', 5).op('spend', T0 - 3 * S, 'a', 'k', 2).op(
        'spend', T0 - 3 * S, 'a', 'k', 1
    ).op('spend', T0, 'a', 'k', 5)
    x = seq('idle for a century', ['idle_years'], a=L(10, 10, 10 * S))
    x.op('spend', T0, 'a', 'k', 10).op('spend', T0 + 100 * YEAR, 'a', 'k', 10).op(
        'spend', T0 + 100 * YEAR, 'a', 'k', 1
    )
    x = seq('1 ns gaps at one token per ns', ['one_ns'], a=L(3, 10**9, S))
    for d in (0, 0, 0, 0, 1, 1, 2, 3, 3):
        x.op('spend', T0 + d, 'a', 'k', 1)
    x = seq('huge burst', ['huge_quota'], a=L(10**9, 10**9, S))
    x.op('spend', T0, 'a', 'k', 10**9).op('spend', T0, 'a', 'k', 1).op(
        'spend', T0 + 1, 'a', 'k', 1
    ).op('spend', T0 + S, 'a', 'k', 10**9 - 1)
    x = seq('two keys of one limit', ['keys'], a=L(2, 2, 60 * S))
    x.op('spend', T0, 'a', 'x', 2).op('spend', T0, 'a', 'y', 1).op('spend', T0, 'a', 'x', 1).op(
        'spend', T0, 'a', 'y', 1
    ).op('spend', T0, 'a', 'y', 1)
    rnd = random.Random('boulder')
    for k in range(12):
        lim = L(
            rnd.choice([1, 2, 5, 20, 100]),
            rnd.choice([1, 2, 3, 20, 100]),
            rnd.choice([S, 10 * S, 60 * S, 3600 * S]),
        )
        x = seq(f'random traffic {k + 1}', ['random'], a=lim)
        t = T0
        for _ in range(25):
            t += rnd.choice(
                [0, 0, 1, lim.emission, lim.emission - 1, rnd.randint(0, lim.offset), lim.offset]
            )
            x.op(
                rnd.choice(['spend'] * 8 + ['check', 'refund', 'spend_only']),
                t,
                'a',
                rnd.choice('kkkm'),
                rnd.choice([1, 1, 1, 0, 2, lim.burst, lim.burst + 1]),
            )
    return [x.done() for x in out]


emit(
    'boulder_token_bucket',
    'boulder_token_bucket',
    'burst/count/period; emission = floor(period/count) ns; see README for ops and for the clock rule.',
    boulder(),
)


# token buckets -------------------------------------------------------------------------
def linear_buckets():
    seqs = []

    def add(desc, tags, quota, count, period, steps):
        mk = lambda q, w: TokenBucket(quota, count, period)
        w = mk(0, 0).w
        policy = dict(
            quota=num(quota), window_ns=num(w), count=num(count), period_ns=num(period)
        )
        sid = f'tb-{len(seqs) + 1:03d}'
        seqs.append(sequence(sid, desc, tags, policy, steps, run(mk, quota, w, steps)))

    def greedy(quota, count, period):
        steps = hits(b, min(quota, 12) + 1)
        for i in range(1, 6):
            due = b + ceil_div(i * period, count)
            steps += hits(due - 1, 1) + hits(due, 1)
        full = b + ceil_div((quota + 5) * period, count)
        return steps + hits(full - 1, 1, quota) + hits(full, 1, quota)

    for quota, count, period, desc in (
        (5, 120, 60 * S, 'full in 2.5 s, which clients see as 3 s'),
        (20, 40, S, 'full in half a second, which clients see as one'),
        (10, 3, S, 'a third of a second per token'),
        (7, 9, 10 * S, 'ten ninths of a second per token'),
        (3, 7, 1, 'several tokens per nanosecond'),
        (1, 3, 10 * S, 'a window of ten thirds of a second'),
        (300, 300, 10800 * S, 'a window in whole seconds'),
        (SF_MAX, 999_999_999_999_989, 7 * S, 'the largest bucket'),
    ):
        add(f'{desc}: every token, to the nanosecond', ['boundary'], quota, count, period,
            greedy(quota, count, period))
        add(f'{desc}: clock back, peeks, too large costs', ['clock_back'], quota, count, period,
            hits(b, 1, quota) + hits(b - 7 * S, 1) + [(b - 7 * S, 'a', 'peek', 0)]
            + hits(b, 1, quota + 1) + hits(b + S, 1, 0) + hits(b + YEAR, 1, quota))
    rnd = random.Random('buckets')
    for k in range(14):
        quota = rnd.choice([1, 2, 3, 5, 7, 10, 100])
        count = rnd.choice([1, 2, 3, 7, 40, 120, rnd.randint(1, 10**6)])
        period = rnd.choice([S, 10 * S, 60 * S, 3600 * S, rnd.randint(1, 10 * S)])
        w = ceil_div(quota * period, count)
        # The model stores the time of a request without a cost, the law does not: after a clock
        # that went back they differ, by less than what either promises.
        steps = [(at, key, op, c or int(op == 'hit')) for at, key, op, c in
                 random_steps(rnd, quota, w, 24)]
        add(f'random traffic {k + 1}', ['random'], quota, count, period, steps)
    return seqs


emit(
    'linear_bucket',
    'linear',
    'Linear with count units per period_ns; window_ns is rounded up, and t follows from it in whole seconds.',
    linear_buckets(),
)


# exponential --------------------------------------------------------------------------
def fmt(x):
    return format(x, '.25e')


def expx(d, q):
    tight = abs(d['rate'] - q) <= EPS * max(q, 1)
    e = dict(
        allowed=d['allowed'],
        rate=fmt(d['rate']),
        stored_rate=fmt(d['stored_rate']),
        r=d['r'],
        t=d['t'],
        retry_after=d['retry_after'],
        t_next=d['t_next'],
        r_min=d['r_min'],
        r_max=d['r_max'],
        t_min=d['t_min'],
        t_max=d['t_max'],
    )
    if not d['allowed']:
        e['never'] = d['never']
    if tight:
        e['boundary'] = True
    return e, tight and d['rate'] != q and d['rate'] != d['rate'].to_integral_value()


def runx(mk, q, w, steps):
    lims, res = {}, []
    for at, key, op, c in steps:
        lim = lims.setdefault(key, None) or mk(q, w)
        lims[key] = lim
        d = lim.peek(at) if op == 'peek' else lim.hit(at, c)
        e, ambiguous = expx(d, q)
        res.append(e)
        if ambiguous:
            return None
    return res


def exponential(prefix, mode):
    mk = lambda q, w: Exponential(q, w, mode)
    seqs, n, dropped = [], 0, 0
    pol = P(mode=mode)

    def add(desc, tags, q, w, st):
        nonlocal n, dropped
        ex = runx(mk, q, w, st)
        if ex is None:
            dropped += 1
            return
        n += 1
        seqs.append(sequence(f'{prefix}-{n:03d}', desc, tags, pol(q, w), st, ex))

    for q, w, d, tags, st in all_scenarios():
        if 'int128' in tags and w > 10**20:
            continue
        add(f'q={q} w={w}ns: {d}', tags, q, w, st)
    add(
        'burst at one instant: rates are exact integers',
        ['exact'],
        10,
        60 * S,
        hits(b, 12) + hits(b + 6 * S, 2) + hits(b + 13 * S, 2),
    )
    add(
        'q=2 at its limit: published t_next says 25 s, true 30 s',
        ['finch_differs'],
        2,
        60 * S,
        hits(b, 3) + hits(b + 25 * S, 1) + hits(b + 31 * S, 1),
    )
    add(
        'one window of silence after a full burst gives back only part of the quota',
        ['decay'],
        100,
        60 * S,
        hits(b, 1, 100)
        + [(b + 60 * S, 'a', 'hit', 1)] * 5
        + [(b + 61 * S, 'a', 'peek', 0), (b + 300 * S, 'a', 'hit', 90)],
    )
    add(
        'rare requests are counted in full',
        ['max_rule'],
        5,
        60 * S,
        hits(b, 1, 3) + hits(b + 3600 * S, 1, 3) + hits(b + 7200 * S, 1, 5) + hits(b + 7200 * S, 1),
    )
    add(
        'one request of cost n is cheaper than n unit requests after a pause',
        ['not_additive'],
        10,
        60 * S,
        hits(b, 1, 10) + hits(b + 20 * S, 1, 3) + hits(b + 40 * S, 3),
    )
    rnd = random.Random(prefix)
    for k in range(12):
        q = rnd.choice([1, 2, 3, 5, 10, 100, 600])
        w = rnd.choice([S, 7 * S, 60 * S, 3600 * S])
        add(f'random traffic {k + 1}', ['random'], q, w, random_steps(rnd, q, w, 14))
    for q, w in ((5, 60 * S), (100, 60 * S), (1, 30 * S)):
        add(
            'a client that follows r, t and Retry-After is never denied again',
            ['obey'],
            q,
            w,
            obey_steps(mk, q, w, rnd, 12),
        )
    return seqs, dropped


for mode, pre in (('lenient', 'exl'), ('strict', 'exs')):
    seqs, dropped = exponential(pre, mode)
    emit(
        'exponential_' + mode,
        'exponential',
        f'Floating point; see README for tolerances. {dropped} candidate sequences with a decision within 1e-9 of the limit were left out.',
        seqs,
    )


# concurrency --------------------------------------------------------------------------
def concurrency():
    seqs = []

    def add(desc, tags, q, ops):
        lims, steps = {}, []
        for key, op, c in ops:
            lim = lims.setdefault(key, None) or Concurrency(q)
            lims[key] = lim
            d = lim.acquire(c) if op == 'acquire' else lim.release(c)
            e = dict(allowed=d['allowed'], r=d['r'], t=None, retry_after=None, in_flight=lim.n)
            if op == 'release':
                e.pop('allowed')
                e['released'] = d['released']
            elif not d['allowed']:
                e['never'] = d['never']
            steps.append(dict(op=op, key=key, cost=c, expect=e))
        seqs.append(
            dict(
                id=f'con-{len(seqs) + 1:03d}',
                description=desc,
                tags=tags,
                policy=dict(quota=q, quota_unit='concurrent-requests'),
                steps=steps,
            )
        )

    A = lambda k='a', c=1: (k, 'acquire', c)
    R = lambda k='a', c=1: (k, 'release', c)
    add(
        'fill, refuse, release, fill',
        ['basic'],
        3,
        [A(), A(), A(), A(), R(), A(), A(), R(), R(), R(), A()],
    )
    add('quota 0', ['quota0'], 0, [A(), A(c=0), R()])
    add('quota 1', ['quota1'], 1, [A(), A(), R(), A(), R()])
    add(
        'cost above quota is never admitted',
        ['cost_over_quota'],
        2,
        [A(c=3), A(c=2), R(c=2), A(c=3)],
    )
    add('cost 0', ['cost0'], 1, [A(c=0), A(), A(c=0), R(c=0), R()])
    add(
        'release without acquire does not create slots',
        ['release'],
        2,
        [R(), A(), R(c=5), A(), A(), A()],
    )
    add(
        'weighted slots',
        ['mixed'],
        10,
        [A(c=4), A(c=4), A(c=4), A(c=2), A(c=1), R(c=4), A(c=4), R(c=2), A(c=3)],
    )
    add('two keys', ['keys'], 1, [A('a'), A('b'), A('a'), R('b'), A('b'), R('a'), A('a')])
    add('denied does not take a slot', ['basic'], 1, [A(), A(), A(), R(), A()])
    add('double release', ['release'], 2, [A(), R(), R(), A(), A(), A()])
    add(
        'huge quota',
        ['huge_quota'],
        SF_MAX,
        [A(c=SF_MAX), A(), R(c=SF_MAX), A(c=SF_MAX - 1), A(), A()],
    )
    rnd = random.Random('con')
    for k in range(11):
        q = rnd.choice([1, 2, 5, 50])
        ops = []
        for _ in range(30):
            ops.append(
                A(rnd.choice('ab'), rnd.choice([1, 1, 1, 2, q, q + 1]))
                if rnd.random() < 0.6
                else R(rnd.choice('ab'), rnd.choice([1, 1, 2]))
            )
        add(f'random {k + 1}', ['random'], q, ops)
    return seqs


emit(
    'concurrency',
    'concurrency',
    'No clock. r is computed while the described request still holds its slot.',
    concurrency(),
)


# several policies ---------------------------------------------------------------------
def policy_set():
    seqs = []
    rnd = random.Random('set')

    def mk(spec):
        a, q, w = spec['algorithm'], spec['quota'], spec['window_ns']
        return {
            'linear': lambda: Linear(q, w),
            'fixed_window': lambda: FixedWindow(q, w),
            'moving_window_log': lambda: MovingLog(q, w),
            'fixed_window_aligned': lambda: FixedWindowAligned(q, w),
            'sliding_window_counter': lambda: SlidingCounter(q, w),
        }[a]()

    def add(desc, tags, specs, steps):
        ps = PolicySet([(s['name'], mk(s)) for s in specs])
        out = []
        for at, costs in steps:
            if isinstance(costs, int):
                costs = {s['name']: costs for s in specs}
            d = ps.hit(at, costs)
            out.append(
                dict(
                    at=at,
                    costs=costs,
                    expect=dict(
                        allowed=d['allowed'],
                        retry_after=d['retry_after'],
                        never=d['never'],
                        violated=d['violated'],
                        policies={k: dict(r=v.r, t=v.t) for k, v in d['members'].items()},
                    ),
                )
            )
        seqs.append(
            dict(
                id=f'set-{len(seqs) + 1:03d}',
                description=desc,
                tags=tags,
                policies=specs,
                steps=out,
            )
        )

    sp = lambda n, a, q, w: dict(name=n, algorithm=a, quota=q, window_ns=w)
    hd = [sp('hour', 'fixed_window', 1000, 3600 * S), sp('day', 'fixed_window', 5000, 86400 * S)]
    add(
        'appendix example: hourly and daily quota',
        ['doc'],
        hd,
        [(T0, 350)] + [(T0 + k * 3600 * S, 350) for k in range(1, 15)] + [(T0 + 15 * 3600 * S, 1)],
    )
    add(
        'burst and sustained linear limits',
        ['basic'],
        [sp('burst', 'linear', 5, S), sp('sustained', 'linear', 20, 60 * S)],
        [(T0, 1)] * 6 + [(T0 + k * S, 3) for k in range(1, 9)],
    )
    add(
        'the denying policy does not make the other one pay',
        ['atomic'],
        [sp('a', 'linear', 1, 60 * S), sp('b', 'linear', 10, 60 * S)],
        [(T0, 1), (T0, 1), (T0, 1), (T0 + 60 * S, 1)],
    )
    add(
        'retry-after is the longest wait of all denying policies',
        ['retry'],
        [sp('a', 'linear', 1, 5 * S), sp('b', 'moving_window_log', 2, 60 * S)],
        [(T0, 1), (T0 + 5 * S, 1), (T0 + 5 * S, 1), (T0 + 60 * S, 1)],
    )
    add(
        'different costs per policy (requests and bytes)',
        ['units'],
        [sp('req', 'linear', 10, 10 * S), sp('bytes', 'linear', 65535, 10 * S)],
        [
            (T0, dict(req=1, bytes=60000)),
            (T0, dict(req=1, bytes=6000)),
            (T0 + S, dict(req=1, bytes=6000)),
            (T0 + S, dict(req=1, bytes=70000)),
            (T0 + S, dict(req=0, bytes=0)),
        ],
    )
    add(
        'one policy can never admit: no Retry-After',
        ['never'],
        [sp('a', 'linear', 5, S), sp('b', 'fixed_window', 2, 60 * S)],
        [(T0, 3), (T0, 2), (T0, 3)],
    )
    algos = [
        'linear',
        'fixed_window',
        'moving_window_log',
        'fixed_window_aligned',
        'sliding_window_counter',
    ]
    for k in range(16):
        specs = [
            sp(
                f'p{j}',
                rnd.choice(algos),
                rnd.choice([1, 2, 5, 10]),
                rnd.choice([S, 10 * S, 60 * S]),
            )
            for j in range(rnd.choice([2, 2, 3]))
        ]
        t = T0
        st = []
        for _ in range(14):
            t += rnd.choice([0, 0, 1, S, rnd.randint(0, 20 * S)])
            st.append((t, rnd.choice([1, 1, 1, 2, 3])))
        add(f'random {k + 1}', ['random'], specs, st)
    return seqs


emit(
    'policy_set',
    'policy_set',
    'All-or-nothing evaluation of several policies on one request.',
    policy_set(),
)

# the widest spans ----------------------------------------------------------------------
def most_in_a_window(w, steps, exps):
    """The most units admitted in any span [x, x + w)."""
    admitted = [(at, c) for (at, _, _, c), e in zip(steps, exps) if e['allowed']]
    return max(sum(c for at, c in admitted if x <= at < x + w) for x, _ in admitted)


def greedy_steps(mk, q, w, first):
    """The requests `first`, and then one unit whenever one is available, for a window."""
    lim = mk(q, w)
    steps = list(first)
    for at, _, _, c in steps:
        lim.hit(at, c)
    now = steps[-1][0]
    end = now + w
    while True:
        wait = lim.wait(now, 1)
        now += wait
        if now >= end:
            return steps
        lim.hit(now, 1)
        steps += hits(now, 1)


def widest_spans():
    """What docs/algorithms.md says about the most units in any span as long as the window."""
    q, w = 5, 10 * S
    early_and_late = hits(T0, 1) + hits(T0 + w - 1, 1, q - 1)
    one_then_late = hits(T0, 1) + hits(T0 + 2 * w - 1, 1, q)
    start = T0 // w * w
    late = hits(start + w - 1, 1, q)
    # A little slower than the rate: no decision is closer than 1e-9 to the limit.
    paced = [(T0 + i * (w // q + MS), 'a', 'hit', 1) for i in range(q)]
    bursts = lambda mk: greedy_steps(mk, q, w, hits(T0, 1, q))
    seqs = []

    def add(algorithm, mk, steps, widest, **more):
        runs = runx if algorithm == 'exponential' else run
        exps = runs(mk, q, w, steps)
        policy = dict(quota=q, window_ns=w, **more)
        s = sequence(f'widest-{len(seqs) + 1:03d}', f'{widest} units in a span as long as the window',
                     ['widest'], policy, steps, exps)
        assert most_in_a_window(w, steps, exps) == widest, (algorithm, widest)
        seqs.append(dict(algorithm=algorithm, widest=widest, **s))

    add('linear', Linear, bursts(Linear), 2 * q - 1)
    add('exponential', Exponential, hits(T0, 1, q) + paced[1:], 2 * q - 1)
    add('fixed_window', FixedWindow, greedy_steps(FixedWindow, q, w, early_and_late), 2 * q - 1)
    add('fixed_window_aligned', FixedWindowAligned,
        greedy_steps(FixedWindowAligned, q, w, late), 2 * q)
    add('sliding_window_counter', SlidingCounter,
        greedy_steps(SlidingCounter, q, w, one_then_late), 2 * q)
    add('sliding_window_counter_clock', SlidingCounterClock,
        greedy_steps(SlidingCounterClock, q, w, late), 2 * q)
    add('moving_window_log', MovingLog, greedy_steps(MovingLog, q, w, early_and_late), q)
    return seqs


emit(
    'widest_spans',
    'several',
    'The most units that each law admits in any span as long as its window; each sequence has its algorithm.',
    widest_spans(),
)

if __name__ == '__main__':
    for name, text in FILES.items():
        (FOLDER / name).write_text(text)
    for k, (a, s) in totals.items():
        print(f'{k:32s} {a:4d} sequences {s:6d} steps')
    print('total', sum(a for a, _ in totals.values()), sum(s for _, s in totals.values()))
