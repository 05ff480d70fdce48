"""An exact model of how rate limit fields of a response are read and written (docs/fields.md).

normalise(headers, trailers=(), now=None) -> dict(source, members, retry_after, ignored, cached)
emit(members, form, policy_field) -> field lines
  headers   list of [name, value] field lines in order; a value is one character per byte
  now       Unix seconds of reception; a Date field replaces it as the time base
  member    dict(policy, q, qu, w, r, t, pk): any of them may be None; pk is base64 text
"""
import base64
import calendar
import re
from fractions import Fraction as F

from models import structured_fields as sf
from models.structured_fields import SFError, Str, Token

MAX = 999_999_999_999_999
WINDOWS = {
    'second': 1,
    'minute': 60,
    'hour': 3600,
    'day': 86400,
    'week': 604800,
    'month': 2592000,
    'year': 31536000,
}


class Malformed(ValueError):
    pass


def lines(headers, name):
    return [v for n, v in headers if n.lower() == name]


def is_int(v):
    return type(v) is int


def nonneg(v):
    if not is_int(v) or v < 0:
        raise Malformed('not a non-negative Integer')
    return v


def byteseq(v):
    if not isinstance(v, bytes):
        raise Malformed('pk is not a Byte Sequence')
    return base64.b64encode(v).decode()


def unit(u):
    return {'request': 'requests'}.get(u, u)  # registry spelling of the same unit


def members_of(ls):
    try:
        return sf.parse(ls, 'list')
    except SFError as e:
        raise Malformed(str(e))


def parse_policy(ls):
    """-> ('current', [...]) or ('legacy', [(q, w)...]); [] when the field is empty."""
    ms = members_of(ls)
    if all(is_int(m[0]) for m in ms) and ms:
        return 'legacy', [legacy_policy(m) for m in ms]
    out = []
    for v, params in ms:
        if not isinstance(v, (Str, Token)):
            raise Malformed('member is neither a String nor a Token')
        p = dict(params)
        if 'q' not in p:
            raise Malformed('q missing')
        m = dict(policy=str(v), q=nonneg(p['q']), qu='requests', w=None, r=None, t=None, pk=None)
        if 'qu' in p:
            if not isinstance(p['qu'], Str):
                raise Malformed('qu is not a String')
            m['qu'] = unit(str(p['qu']))
        if 'w' in p:
            m['w'] = nonneg(p['w']) or None  # 0 was legal in 2024: no window
        if 'pk' in p:
            m['pk'] = byteseq(p['pk'])
        out.append(m)
    return 'current', out


def legacy_policy(m):
    p = dict(m[1])
    if 'w' not in p:
        raise Malformed('w missing')
    return nonneg(m[0]), nonneg(p['w']) or None


def parse_ratelimit(ls):
    """-> ('current', [...]) or ('draft-07', {...})"""
    try:
        ms = sf.parse(ls, 'list')
        err = None
    except SFError as e:
        ms, err = None, e
    if ms is None:
        try:
            d = {k: v for k, v in sf.parse(ls, 'dictionary')}
        except SFError:
            raise Malformed(str(err))
        vals = {}
        for k in ('limit', 'remaining', 'reset'):
            if k not in d:
                raise Malformed(str(err))
            vals[k] = nonneg(d[k][0])
        return 'draft-07', vals
    out = []
    for v, params in ms:
        if not isinstance(v, (Str, Token)):
            raise Malformed('member is neither a String nor a Token')
        p = dict(params)
        if 'r' not in p:
            raise Malformed('r missing')
        m = dict(policy=str(v), q=None, qu=None, w=None, r=nonneg(p['r']), t=None, pk=None)
        if 't' in p:
            m['t'] = nonneg(p['t'])
        if 'pk' in p:
            m['pk'] = byteseq(p['pk'])
        out.append(m)
    return 'current', out


def join(limits, policies):
    used, out = set(), []
    for m in limits:
        cand = [
            i
            for i, p in enumerate(policies)
            if p['policy'] == m['policy']
            and (p['pk'] == m['pk'] or p['pk'] is None or m['pk'] is None)
        ]
        cand.sort(key=lambda i: policies[i]['pk'] != m['pk'])
        if cand:
            p = policies[cand[0]]
            used.add(cand[0])
            m = dict(
                m, q=p['q'], qu=p['qu'], w=p['w'], pk=m['pk'] if m['pk'] is not None else p['pk']
            )
        out.append(m)
    return out + [p for i, p in enumerate(policies) if i not in used]


# ------------------------------------------------------------------------------- dates
DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
LDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']


def epoch(y, mo, d, h, mi, s):
    if not (1 <= mo <= 12 and 1 <= d <= 31 and h < 24 and mi < 60 and s <= 60):
        return None
    return calendar.timegm((y, mo, d, h, mi, s))


def http_date(v):
    v = v.strip()
    m = re.fullmatch(
        r'(%s), (\d\d) (%s) (\d{4}) (\d\d):(\d\d):(\d\d) GMT' % ('|'.join(DAYS), '|'.join(MONTHS)),
        v,
    )
    if m:
        return epoch(int(m[4]), MONTHS.index(m[3]) + 1, int(m[2]), int(m[5]), int(m[6]), int(m[7]))
    m = re.fullmatch(
        r'(%s), (\d\d)-(%s)-(\d\d) (\d\d):(\d\d):(\d\d) GMT' % ('|'.join(LDAYS), '|'.join(MONTHS)),
        v,
    )
    if m:
        y = int(m[4])
        y += 2000 if y < 70 else 1900
        return epoch(y, MONTHS.index(m[3]) + 1, int(m[2]), int(m[5]), int(m[6]), int(m[7]))
    m = re.fullmatch(
        r'(%s) (%s) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})' % ('|'.join(DAYS), '|'.join(MONTHS)), v
    )
    if m:
        return epoch(int(m[7]), MONTHS.index(m[2]) + 1, int(m[3]), int(m[4]), int(m[5]), int(m[6]))
    return None


def iso_date(v):
    m = re.fullmatch(
        r'(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)', v.strip()
    )
    if not m:
        return None
    e = epoch(*(int(m[i]) for i in range(1, 7)))
    if e is None:
        return None
    z = m[8]
    if z not in 'Zz':
        z = z.replace(':', '')
        off = int(z[1:3]) * 3600 + int(z[3:5]) * 60
        e -= off if z[0] == '+' else -off
    return e + (1 if m[7] and float(m[7]) > 0 else 0)  # round up


def go_duration(v):
    """Go duration text -> nanoseconds, or None."""
    v = v.strip()
    u = {
        'ns': 1,
        'us': 10**3,
        '\u00b5s': 10**3,
        'ms': 10**6,
        's': 10**9,
        'm': 60 * 10**9,
        'h': 3600 * 10**9,
    }
    part = r'(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|ms|s|m|h)'
    if not re.fullmatch(rf'\+?({part})+', v):
        return None

    tot = sum(F(a if not a.endswith('.') else a + '0') * u[b] for a, b in re.findall(part, v))
    return tot


def ceil(x):
    return int(x) if x == int(x) else int(x) + 1


def number(v):
    """legacy decimal number -> Fraction or None"""

    return F(v.strip()) if re.fullmatch(r'\s*\d{1,18}(\.\d{1,9})?\s*', v) else None


def reset_seconds(v, base):
    """Legacy reset in any of its forms -> seconds from base, or None."""
    n = number(v)
    if n is not None:
        if n >= 10**12:
            n = n / 1000  # epoch milliseconds
        elif n < 10**9:
            return min(ceil(n), MAX)  # delta seconds
        return None if base is None else max(0, ceil(n - base))  # epoch seconds
    d = go_duration(v)
    if d is not None:
        return min(ceil(d / 10**9), MAX)
    e = http_date(v)
    if e is None:
        e = iso_date(v)
    if e is None or base is None:
        return None
    return max(0, e - base)


def retry_after(ls, base):
    vals = []
    for v in ls:
        v = v.strip()
        if re.fullmatch(r'\d+', v):
            vals.append(min(int(v), MAX))
        else:
            e = http_date(v)
            if e is None or base is None:
                return None, True
            vals.append(max(0, e - base))
    return (max(vals) if vals else None), False


# --------------------------------------------------------------------------- the whole
def normalise(headers, trailers=(), now=None):
    headers = [list(h) for h in headers]
    ignored = []
    date = lines(headers, 'date')
    base = now
    if date and http_date(date[0]) is not None:
        base = http_date(date[0])
    ra, bad = retry_after(lines(headers, 'retry-after'), base)
    if bad:
        ignored.append('retry-after')
    for name in 'retry-after-ms', 'x-ms-retry-after-ms':
        ms = [number(v) for v in lines(headers, name)]
        if None in ms:
            ignored.append(name)
        elif ms:
            ra = max([ra or 0] + [ceil(v / 1000) for v in ms])
    age = lines(headers, 'age')
    cached = bool(age) and re.fullmatch(r'\s*\d+\s*', age[0]) is not None and int(age[0]) > 0

    def result(source, members):
        return dict(
            source=source, members=members, retry_after=ra, ignored=sorted(ignored), cached=cached
        )

    if cached:
        return result('none', [])

    kind, limits = None, []
    ls = lines(headers, 'ratelimit')
    if ls:
        try:
            kind, limits = parse_ratelimit(ls)
        except Malformed:
            ignored.append('ratelimit')
    pkind, policies = None, []
    ls = lines(headers, 'ratelimit-policy')
    if ls:
        try:
            pkind, policies = parse_policy(ls)
        except Malformed:
            ignored.append('ratelimit-policy')
    alone = join([], policies) if pkind == 'current' else []
    if kind == 'current' and limits:
        return result('ratelimit', join(limits, policies if pkind == 'current' else []))
    legacy = policies if pkind == 'legacy' else []
    if kind == 'draft-07':
        return result(
            'draft-07', with_policies(limits['limit'], limits['remaining'], limits['reset'], legacy)
        )

    for prefix, source in (
        ('ratelimit-', 'draft-03'),
        ('x-ratelimit-', 'x-ratelimit'),
        ('x-rate-limit-', 'x-ratelimit'),
        ('anthropic-ratelimit-', 'x-ratelimit'),
        ('x-ms-ratelimit-', 'x-ratelimit'),
    ):
        hs = headers + ([list(t) for t in trailers] if source == 'draft-03' else [])
        ms = limit_fields(hs, prefix, source, base, legacy if source == 'draft-03' else [], ignored)
        if source == 'x-ratelimit':
            ms += families(headers, prefix, base, ignored)
            if prefix == 'x-ms-ratelimit-':
                ms += resources(headers, ignored)
        if ms and (not alone or any(m['r'] is not None for m in ms)):
            return result(source, ms)
    if alone:
        return result('ratelimit', alone)
    if legacy:
        return result(
            'draft-07',
            [
                dict(policy=None, q=q, qu='requests', w=w, r=None, t=None, pk=None)
                for q, w in legacy
            ],
        )
    return result('none', [])


def with_policies(q, r, t, pols):
    pols = list(pols)
    w = None
    for i, (pq, pw) in enumerate(pols):
        if pq == q:
            w = pw
            del pols[i]
            break
    mk = lambda **k: dict(
        dict(policy=None, q=None, qu='requests', w=None, r=None, t=None, pk=None), **k
    )
    return [mk(q=q, w=w, r=r, t=t)] + [mk(q=a, w=b) for a, b in pols]


def limit_field(ls):
    """RateLimit-Limit of draft-03: expiring limit, then quota policies."""
    ms = members_of(ls)
    if not ms:
        raise Malformed('empty')
    q = nonneg(ms[0][0])
    first = dict(ms[0][1])
    pols = [legacy_policy(m) for m in ms[1:]]
    if 'w' in first:
        pols.insert(0, (q, nonneg(first['w']) or None))
    return q, pols


def limit_fields(headers, prefix, source, base, legacy, ignored):
    q = r = t = None
    pols = list(legacy)
    strict = source == 'draft-03'

    def one(name):
        ls = lines(headers, prefix + name)
        if len(ls) > 1:
            ignored.append(prefix + name)
            return None
        return ls[0] if ls else None

    v = one('limit')
    if v is not None:
        try:
            q, p = limit_field([v])
            pols = p + pols
        except Malformed:
            n = None if strict else number(v)
            if n is None:
                ignored.append(prefix + 'limit')
            else:
                q = int(n)
    v = one('remaining')
    if v is not None:
        if strict:
            try:
                r = nonneg(sf.parse([v], 'item')[0])
            except (SFError, Malformed):
                ignored.append(prefix + 'remaining')
        else:
            n = number(v)
            r = None if n is None else int(n)
            if n is None:
                ignored.append(prefix + 'remaining')
    v = one('used') or one('observed')
    if v is not None and number(v) is not None:
        u = int(number(v))
        if r is None and q is not None:
            r = max(0, q - u)
        if q is None and r is not None:
            q = u + r
    v = one('reset-after')
    if v is not None and number(v) is not None:
        t = min(ceil(number(v)), MAX)
    if t is None:
        v = one('reset')
        if v is not None:
            if strict:
                try:
                    n = nonneg(sf.parse([v], 'item')[0])
                    t = n if n < 10**9 else reset_seconds(str(n), base)
                except (SFError, Malformed):
                    t = None
            else:
                t = reset_seconds(v, base)
            if t is None:
                ignored.append(prefix + 'reset')
    if q is None and r is None:
        return []
    return with_policies(q, r, t, pols)


REPEATED = object()  # a field that is there twice


def families(headers, prefix, base, ignored):
    found = {}
    names = {}
    for n, v in headers:
        n = n.lower()
        if n in (prefix + 'reset-after', RESOURCES):
            continue
        word, part = r'([a-z][-a-z0-9_.]*)', '(limit|remaining|reset)'
        if m := re.fullmatch(re.escape(prefix) + part + '-' + word, n):
            kind, fam = m[1], m[2]
        elif m := re.fullmatch(re.escape(prefix) + word + '-' + part, n):
            kind, fam = m[2], m[1]
        else:
            continue
        if kind not in found.setdefault(fam, {}):
            found[fam][kind] = v
            names[fam, kind] = n
        elif n == names[fam, kind] and found[fam][kind] is not REPEATED:
            found[fam][kind] = REPEATED
            ignored.append(n)
    out = []
    for fam, d in sorted(found.items(), key=lambda x: (WINDOWS.get(x[0], 0), x[0])):
        d = {kind: v for kind, v in d.items() if v is not REPEATED}
        val = {}
        for k in ('limit', 'remaining'):
            n = number(d[k]) if k in d else None
            if k in d and n is None:
                ignored.append(names[fam, k])
            val[k] = None if n is None else int(n)
        t = reset_seconds(d['reset'], base) if 'reset' in d else None
        if 'reset' in d and t is None:
            ignored.append(names[fam, 'reset'])
        if val['limit'] is None and val['remaining'] is None:
            continue
        out.append(
            dict(
                policy=fam,
                q=val['limit'],
                qu='requests' if fam in WINDOWS else fam,
                w=WINDOWS.get(fam),
                r=val['remaining'],
                t=t,
                pk=None,
            )
        )
    return out


RESOURCES = 'x-ms-ratelimit-remaining-resource'


def resources(headers, ignored):
    out = []
    for n, v in headers:
        if n.lower() != RESOURCES:
            continue
        for entry in v.split(','):
            m = re.fullmatch(r'\s*([^,]*[^,\s])\s*;([^;]*)', entry)
            left = m and number(m[2])
            if left is None:
                ignored.append(RESOURCES)
                return []
            out.append(dict(policy=m[1], q=None, qu='requests', w=None, r=int(left), t=None, pk=None))
    return out


# --------------------------------------------------------------------------- serialise
class EmitError(ValueError):
    pass


def emit(members, form='current', policy_field=True):
    """members: dicts with policy, q, qu, w, r, t, pk (base64) and ext / pext lists of
    [key, value] for vendor parameters of RateLimit / RateLimit-Policy."""

    def chk(m, k):
        v = m.get(k)
        if v is None:
            return None
        if type(v) is not int or v < 0:
            raise EmitError(f'{k} must be a non-negative integer')
        return min(v, MAX)

    def vendor(ps):
        for k, v in ps or []:
            if k in ('q', 'qu', 'w', 'r', 't', 'pk'):
                raise EmitError(f'{k} is reserved')
        return [[k, Str(v) if type(v) is str else v] for k, v in ps or []]

    try:
        if form == 'current':
            pol, lim = [], []
            for m in members:
                name = m.get('policy')
                if name is None:
                    raise EmitError('policy name missing')
                pk = [['pk', base64.b64decode(m['pk'])]] if m.get('pk') is not None else []
                q, w, r, t = (chk(m, k) for k in 'qwrt')
                if w == 0:
                    raise EmitError('w must not be zero')
                if q is not None and policy_field:
                    ps = [['q', q]]
                    if unit(m.get('qu') or 'requests') != 'requests':
                        ps.append(['qu', Str(m['qu'])])
                    if w is not None:
                        ps.append(['w', w])
                    pol.append((Str(name), ps + pk + vendor(m.get('pext'))))
                if r is not None:
                    ps = [['r', r]] + ([['t', t]] if t is not None else [])
                    lim.append((Str(name), ps + pk + vendor(m.get('ext'))))
                elif t is not None:
                    raise EmitError('t without r')
            out = []
            if pol:
                out.append(['RateLimit-Policy', sf.s_list(pol)])
            if lim:
                out.append(['RateLimit', sf.s_list(lim)])
            return out
        live = [
            m
            for m in members
            if m.get('r') is not None
            and m.get('q') is not None
            and unit(m.get('qu') or 'requests') == 'requests'
        ]
        if not live:
            return []
        best = min(live, key=lambda m: (chk(m, 'r'), -(chk(m, 't') or 0)))
        q, r, t = chk(best, 'q'), chk(best, 'r'), chk(best, 't')
        pols = [(chk(m, 'q'), [['w', chk(m, 'w')]]) for m in live if m.get('w')]
        if form == 'draft-03':
            if t is None:
                return []  # RateLimit-Reset is REQUIRED
            head = [(q, [])] + (pols if policy_field else [])
            return [
                ['RateLimit-Limit', sf.s_list(head)],
                ['RateLimit-Remaining', str(r)],
                ['RateLimit-Reset', str(t)],
            ]
        if form == 'draft-07':
            if t is None:
                return []
            out = [['RateLimit-Policy', sf.s_list(pols)]] if pols and policy_field else []
            return out + [['RateLimit', f'limit={q}, remaining={r}, reset={t}']]
        if form == 'x-ratelimit':
            out = [['X-RateLimit-Limit', str(q)], ['X-RateLimit-Remaining', str(r)]]
            return out + ([['X-RateLimit-Reset', str(t)]] if t is not None else [])
        raise EmitError('form')
    except SFError as e:
        raise EmitError(str(e))
