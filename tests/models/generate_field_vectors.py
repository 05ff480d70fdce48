"""Writes the vectors of the response fields, tests/vectors/fields/*.json.

    cd tests && python3 -m models.generate_field_vectors

Every expectation is written here by hand and compared with models.fields; a difference ends the run.
tests/vectors/fields/README.md describes the format.
"""
import json
import pathlib

from models import fields as fr
from models.fields import MAX

FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'vectors/fields'
FILES = {}  # name -> text of the file
cases = []


# What follows is short, because each call below is one case.


def L(policy, r=None, t=None, pk=None, q=None, qu=None, w=None):
    """A member of RateLimit."""
    return dict(
        policy=policy, q=q, qu=(qu or 'requests') if q is not None else None, w=w, r=r, t=t, pk=pk
    )


def Q(policy, q, w=None, qu='requests', pk=None, r=None, t=None):
    """A member of RateLimit-Policy, and what a member of RateLimit adds to it."""
    return dict(policy=policy, q=q, qu=qu, w=w, r=r, t=t, pk=pk)


def hdr(h):
    """Field lines as [name, value]; one or several texts 'Name: value'."""
    if isinstance(h, str):
        h = [h]
    return [
        [x.split(':', 1)[0], x.split(':', 1)[1].strip(' ')] if isinstance(x, str) else list(x)
        for x in h
    ]


def C(
    note,
    headers,
    members,
    source=None,
    ignored=(),
    retry_after=None,
    trailers=(),
    now=None,
    cached=False,
    tags=(),
):
    """Adds a case of parse.json."""
    headers, trailers = hdr(headers), hdr(trailers)
    source = source or ('ratelimit' if members else 'none')
    want = dict(
        source=source,
        members=members,
        retry_after=retry_after,
        ignored=sorted(ignored),
        cached=cached,
    )
    got = fr.normalise(headers, trailers, now)
    assert got == want, f'{note}\n headers {headers}\n got  {got}\n want {want}'
    tags = list(tags)
    if any(
        v != v.strip() or any(ord(x) < 32 and x != '\t' or ord(x) == 127 for x in v)
        for _, v in headers
    ):
        tags.append('unit_only')  # cannot travel in an HTTP message as is
    c = dict(id=f'p-{len(cases) + 1:03d}', note=note, tags=tags, headers=headers)
    if trailers:
        c['trailers'] = trailers
    if now is not None:
        c['now'] = now
    c['expect'] = want
    cases.append(c)


def bad(note, h, **k):  # RateLimit malformed: whole field ignored
    C(note, h, [], ignored=['ratelimit'], tags=['malformed'], **k)


def badp(note, h, **k):
    C(note, h, [], ignored=['ratelimit-policy'], tags=['malformed'], **k)


RL, RP = 'RateLimit: ', 'RateLimit-Policy: '

# ---- RateLimit, current form: valid
C('draft example', RL + '"default";r=50;t=30', [L('default', 50, 30)])
C(
    'no reset; partition key',
    RL + '"default";r=999;pk=:dHJpYWwxMjEzMjM=:',
    [L('default', 999, None, 'dHJpYWwxMjEzMjM=')],
)
C(
    '300 MB left',
    RL + '"default";r=300000000;t=60;pk=:QXBwLTk5OQ==:',
    [L('default', 300000000, 60, 'QXBwLTk5OQ==')],
)
C('redirect example', RL + '"problemPolicy";r=0;t=10', [L('problemPolicy', 0, 10)])
C('two members', RL + '"a";r=1;t=2, "b";r=3;t=4', [L('a', 1, 2), L('b', 3, 4)])
C('two members without space', RL + '"a";r=1;t=2,"b";r=3;t=4', [L('a', 1, 2), L('b', 3, 4)])
C('tabs and spaces around the comma', RL + '"a";r=1 \t, \t"b";r=3', [L('a', 1), L('b', 3)])
C(
    'two field lines',
    [RL + '"a";r=1;t=2', RL + '"b";r=3;t=4'],
    [L('a', 1, 2), L('b', 3, 4)],
    tags=['lines'],
)
C(
    'three field lines in mixed case',
    ['ratelimit: "a";r=1', 'RATELIMIT: "b";r=2', 'RateLimit: "c";r=3'],
    [L('a', 1), L('b', 2), L('c', 3)],
    tags=['lines'],
)
C(
    'space after semicolon is allowed (express-rate-limit)',
    RL + '"5-in-1min"; r=4; t=60',
    [L('5-in-1min', 4, 60)],
)
C('parameters in another order', RL + '"a";t=2;pk=:AQ==:;r=1', [L('a', 1, 2, 'AQ==')])
C('t omitted', RL + '"a";r=1', [L('a', 1)])
C('t=0', RL + '"a";r=1;t=0', [L('a', 1, 0)])
C(
    'unknown parameters of every type are ignored',
    RL + '"a";r=1;acme-x=1;acme-y=1.5;acme-z="s";b=tok;c=?0;d=:AA==:;e;f=@1;g=%"f%c3%bc";t=2',
    [L('a', 1, 2)],
    tags=['unknown'],
)
C(
    'q in RateLimit is an unknown parameter (FAQ example)',
    RL + '"sliding";q=12;r=6;t=1',
    [L('sliding', 6, 1)],
    tags=['unknown'],
)
C(
    'upper limit of an Integer',
    RL + '"a";r=999999999999999;t=999999999999999',
    [L('a', MAX, MAX)],
    tags=['range'],
)
C(
    'leading zeros within 15 digits',
    RL + '"a";r=000000000000007;t=00',
    [L('a', 7, 0)],
    tags=['range'],
)
C('-0 is zero', RL + '"a";r=-0;t=-0', [L('a', 0, 0)], tags=['range'])
C('duplicate parameter: last one wins', RL + '"a";r=1;t=5;r=9', [L('a', 9, 5)], tags=['duplicate'])
C(
    'duplicate parameter: a wrong type before the last is harmless',
    RL + '"a";r="x";r=9',
    [L('a', 9)],
    tags=['duplicate'],
)
C(
    'duplicate member names are all kept',
    RL + '"a";r=1;t=5, "a";r=3;t=4',
    [L('a', 1, 5), L('a', 3, 4)],
    tags=['duplicate'],
)
C(
    'same name, two partitions',
    RL + '"a";r=1;pk=:AQ==:, "a";r=3;pk=:Ag==:',
    [L('a', 1, pk='AQ=='), L('a', 3, pk='Ag==')],
)
C('empty name', RL + '"";r=1', [L('', 1)], tags=['string'])
C('escaped quote and backslash', RL + r'"a\"b\\c";r=1', [L('a"b\\c', 1)], tags=['string'])
C('comma and semicolon inside the name', RL + '"a,b;r=7";r=1', [L('a,b;r=7', 1)], tags=['string'])
C(
    'every printable ASCII character may be in the name',
    RL + '" !#$%&\'()*+,-./:;<=>?@[]^_`{|}~";r=1',
    [L(" !#$%&'()*+,-./:;<=>?@[]^_`{|}~", 1)],
    tags=['string'],
)
C('long name', RL + '"' + 'n' * 300 + '";r=1', [L('n' * 300, 1)], tags=['string'])
C('leading and trailing spaces of the field', [['RateLimit', '  "a";r=1  ']], [L('a', 1)])
C('empty byte sequence', RL + '"a";r=1;pk=::', [L('a', 1, pk='')], tags=['pk'])
C(
    'missing base64 padding is tolerated',
    RL + '"a";r=1;pk=:AQ:',
    [L('a', 1, pk='AQ==')],
    tags=['pk', 'should'],
)
C(
    'non-zero pad bits are tolerated',
    RL + '"a";r=1;pk=:iZ==:',
    [L('a', 1, pk='iQ==')],
    tags=['pk', 'should'],
)
C('plus and slash in base64', RL + '"a";r=1;pk=:+/+/:', [L('a', 1, pk='+/+/')], tags=['pk'])
C(
    'r larger than any quota is passed on',
    [RP + '"a";q=10;w=1', RL + '"a";r=5000;t=1'],
    [Q('a', 10, 1, r=5000, t=1)],
)
C('empty field means absent', RL + '', [], tags=['empty'])
C('only spaces means absent', [['RateLimit', '   ']], [], tags=['empty'])
C('no fields at all', 'Content-Type: text/plain', [], tags=['empty'])
C(
    '100 members',
    RL + ', '.join(f'"p{i}";r={i}' for i in range(100)),
    [L(f'p{i}', i) for i in range(100)],
)
# ---- RateLimit malformed
bad('r missing', RL + '"a";t=5')
bad('no parameters', RL + '"a"')
bad('r is a Decimal', RL + '"a";r=1.0;t=5')
bad('r is a String', RL + '"a";r="1"')
bad('r is a Token', RL + '"a";r=one')
bad('r is Boolean true (no value)', RL + '"a";r')
bad('r is a Date', RL + '"a";r=@5')
bad('r is negative', RL + '"a";r=-1')
bad('r has 16 digits', RL + '"a";r=1000000000000000')
bad('r has 16 digits with leading zeros', RL + '"a";r=0000000000000001')
bad('r has a plus sign', RL + '"a";r=+1')
bad('r in hexadecimal', RL + '"a";r=0x10')
bad('r with exponent', RL + '"a";r=1e3')
bad('r empty', RL + '"a";r=;t=1')
bad('r lone minus', RL + '"a";r=-')
bad('t is a Decimal', RL + '"a";r=1;t=0.5')
bad('t is a String', RL + '"a";r=1;t="5"')
bad('t is negative', RL + '"a";r=1;t=-5')
bad('t is Boolean', RL + '"a";r=1;t')
bad('t is a Date', RL + '"a";r=1;t=@1700000000')
bad('t has 16 digits', RL + '"a";r=1;t=9999999999999999')
bad('pk is a String', RL + '"a";r=1;pk="AQ=="')
bad('pk is a Token', RL + '"a";r=1;pk=abc')
bad('pk unterminated', RL + '"a";r=1;pk=:AQ==')
bad('pk with base64url alphabet', RL + '"a";r=1;pk=:_-Ah:')
bad('pk with a space', RL + '"a";r=1;pk=:A Q==:')
bad('pk with padding in the middle', RL + '"a";r=1;pk=:A=Q=:')
bad('pk with an impossible length', RL + '"a";r=1;pk=:AAAAA:')
C('name is a Token', RL + 'default;r=50;t=30', [L('default', 50, 30)], tags=['choice'])
bad('name is an Integer', RL + '10;r=50;t=30')
bad('name is a Byte Sequence', RL + ':AQ==:;r=50')
bad('name is an inner list', RL + '("a" "b");r=50')
bad('name is a Boolean', RL + '?1;r=50')
bad('name is a Display String', RL + '%"a";r=50')
bad('B.3.1 example of both drafts: Token and no r', RL + 'quota;t=1')
bad('single quotes', RL + "'a';r=1")
bad('unterminated string', RL + '"a;r=1')
bad('bad escape', RL + r'"a\n";r=1')
bad('control character in string', [['RateLimit', '"a\x07b";r=1']])
bad('tab in string', [['RateLimit', '"a\tb";r=1']])
bad('UTF-8 in string', [['RateLimit', '"caf\xc3\xa9";r=1']])
bad('DEL in string', [['RateLimit', '"a\x7f";r=1']])
bad('trailing comma', RL + '"a";r=1,')
bad('leading comma', RL + ', "a";r=1')
bad('empty member', RL + '"a";r=1,, "b";r=2')
bad('trailing semicolon', RL + '"a";r=1;')
bad('space before semicolon', RL + '"a" ;r=1')
bad('space around equals', RL + '"a";r =1')
bad('space after equals', RL + '"a";r= 1')
bad('upper-case parameter name', RL + '"a";R=1')
bad('newline inside', [['RateLimit', '"a";r=1\n']])
bad('tab before the first member', [['RateLimit', '\t"a";r=1']])
bad('members separated by semicolon', RL + '"a";r=1; "b";r=2')
bad('one bad member spoils the field', RL + '"a";r=1;t=2, "b";r=x')
bad('one bad field line spoils the field', [RL + '"a";r=1;t=2', RL + 'oops oops'])
bad('an empty field line between two lines', [RL + '"a";r=1', RL + '', RL + '"b";r=2'])
bad('comment syntax of the FAQ example', RL + '"sliding";r=6;t=1 ; using 50% of throughput')
bad('JSON', RL + '{"r":1}')
bad('just a number', RL + '50')
bad('very long garbage', RL + 'x' * 5000)
C(
    'malformed RateLimit does not hide RateLimit-Policy',
    [RL + '"a";r=x', RP + '"a";q=5;w=1'],
    [Q('a', 5, 1)],
    ignored=['ratelimit'],
    tags=['malformed'],
)
C(
    'malformed RateLimit-Policy does not hide RateLimit',
    [RL + '"a";r=1;t=2', RP + '"a";q=x'],
    [L('a', 1, 2)],
    ignored=['ratelimit-policy'],
    tags=['malformed'],
)
C(
    'both malformed',
    [RL + 'x x', RP + 'y y'],
    [],
    ignored=['ratelimit', 'ratelimit-policy'],
    tags=['malformed'],
)
# ---- RateLimit-Policy
C(
    'policy example',
    RP + '"burst";q=100;w=60,"daily";q=1000;w=86400',
    [Q('burst', 100, 60), Q('daily', 1000, 86400)],
)
C('policy default', RP + '"default";q=100;w=10', [Q('default', 100, 10)])
C(
    'policy permin perhr',
    RP + '"permin";q=50;w=60,"perhr";q=1000;w=3600',
    [Q('permin', 50, 60), Q('perhr', 1000, 3600)],
)
C(
    'partition key with non-zero pad bits (draft example)',
    RP + '"peruser";q=100;w=60;pk=:cHsdsRa894==:',
    [Q('peruser', 100, 60, pk='cHsdsRa89w==')],
    tags=['pk'],
)
C(
    '2024 example with unregistered unit "bytes"',
    RP + '"peruser";q=65535;qu="bytes";w=10;pk=:sdfjLJUOUH==:',
    [Q('peruser', 65535, 10, 'bytes', 'sdfjLJUOUA==')],
    tags=['unit', 'pk'],
)
C(
    'editor\'s copy example with content-bytes',
    RP + '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:',
    [Q('peruser', 65535, 10, 'content-bytes', 'sdfjLJUOUA==')],
    tags=['unit', 'pk'],
)
C('qu requests', RP + '"a";q=1;qu="requests"', [Q('a', 1)], tags=['unit'])
C(
    'qu request: registry spelling, same unit',
    RP + '"a";q=1;qu="request"',
    [Q('a', 1)],
    tags=['unit'],
)
C(
    'qu concurrent-requests',
    RP + '"a";q=10;qu="concurrent-requests"',
    [Q('a', 10, qu='concurrent-requests')],
    tags=['unit'],
)
C(
    'unknown unit is kept',
    RP + '"a";q=10;qu="acme-tokens"',
    [Q('a', 10, qu='acme-tokens')],
    tags=['unit'],
)
C(
    'units are case-sensitive',
    RP + '"a";q=10;qu="Requests"',
    [Q('a', 10, qu='Requests')],
    tags=['unit'],
)
C(
    'w=0 (legal in 2024, forbidden later) reads as no window',
    RP + '"a";q=10;w=0',
    [Q('a', 10)],
    tags=['w0'],
)
C('q=0', RP + '"a";q=0;w=60', [Q('a', 0, 60)])
C('w omitted', RP + '"a";q=10', [Q('a', 10)])
C(
    'vendor parameters',
    RP + '"sliding";q=100;w=60;burst=1000;acme-policy="leaky"',
    [Q('sliding', 100, 60)],
    tags=['unknown'],
)
C(
    'FAQ: two lines',
    [
        RP + '"sliding";q=100;w=60;burst=1000',
        RP + '"fixed";q=5000;w=3600;burst=0',
        RL + '"sliding";r=50;t=44',
    ],
    [Q('sliding', 100, 60, r=50, t=44), Q('fixed', 5000, 3600)],
    tags=['lines'],
)
C(
    'multiple windows example',
    [RP + '"hour";q=1000;w=3600, "day";q=5000;w=86400', RL + '"day";r=100;t=36000'],
    [Q('day', 5000, 86400, r=100, t=36000), Q('hour', 1000, 3600)],
)
C(
    'fixed window example',
    [RL + '"fixedwindow";r=99;t=50', RP + '"fixedwindow";q=100;w=60'],
    [Q('fixedwindow', 100, 60, r=99, t=50)],
)
C(
    'policy field after many others',
    ['Via: 1.1 x', RP + '"a";q=1;w=1', 'Server: y', RL + '"a";r=0;t=1'],
    [Q('a', 1, 1, r=0, t=1)],
)
C(
    'RateLimit member without policy',
    [RP + '"a";q=1;w=1', RL + '"b";r=0;t=1'],
    [L('b', 0, 1), Q('a', 1, 1)],
)
C(
    'join by name and partition key',
    [RP + '"a";q=5;w=1;pk=:AQ==:, "a";q=9;w=1;pk=:Ag==:', RL + '"a";r=3;t=1;pk=:Ag==:'],
    [Q('a', 9, 1, pk='Ag==', r=3, t=1), Q('a', 5, 1, pk='AQ==')],
    tags=['pk'],
)
C(
    'partition key only in RateLimit',
    [RP + '"a";q=5;w=1', RL + '"a";r=3;t=1;pk=:Ag==:'],
    [Q('a', 5, 1, pk='Ag==', r=3, t=1)],
    tags=['pk'],
)
C(
    'partition key only in the policy',
    [RP + '"a";q=5;w=1;pk=:Ag==:', RL + '"a";r=3;t=1'],
    [Q('a', 5, 1, pk='Ag==', r=3, t=1)],
    tags=['pk'],
)
C(
    'different partition keys do not join',
    [RP + '"a";q=5;w=1;pk=:AQ==:', RL + '"a";r=3;t=1;pk=:Ag==:'],
    [L('a', 3, 1, 'Ag=='), Q('a', 5, 1, pk='AQ==')],
    tags=['pk'],
)
C(
    'partition keys compare as bytes, not as text',
    [RP + '"a";q=5;w=1;pk=:iQ==:', RL + '"a";r=3;t=1;pk=:iZ==:'],
    [Q('a', 5, 1, pk='iQ==', r=3, t=1)],
    tags=['pk'],
)
C(
    'names are case-sensitive',
    [RP + '"A";q=5;w=1', RL + '"a";r=3;t=1'],
    [L('a', 3, 1), Q('A', 5, 1)],
)
C(
    'express-rate-limit draft-8',
    [
        RL + '"1-in-5sec"; r=0; t=5, "5-in-1min"; r=4; t=60',
        RP
        + '"1-in-5sec"; q=1; w=5; pk=:MmMyNmI0NmI2OGZm:, "5-in-1min"; q=5; w=60; pk=:MmMyNmI0NmI2OGZm:',
    ],
    [
        Q('1-in-5sec', 1, 5, pk='MmMyNmI0NmI2OGZm', r=0, t=5),
        Q('5-in-1min', 5, 60, pk='MmMyNmI0NmI2OGZm', r=4, t=60),
    ],
    tags=['wild'],
)
C('empty policy field means absent', RP + '', [], tags=['empty'])
badp('q missing', RP + '"a";w=60')
badp('q is a Decimal', RP + '"a";q=1.5')
badp('q negative', RP + '"a";q=-1')
badp('q is a String', RP + '"a";q="100";w=60')
badp('q=Infinity (limit: Infinity in express-rate-limit)', RP + '"a"; q=Infinity; w=60')
badp('q has 16 digits', RP + '"a";q=1000000000000000')
badp('qu is a Token', RP + '"a";q=1;qu=requests')
badp('qu is Boolean', RP + '"a";q=1;qu')
badp('w negative', RP + '"a";q=1;w=-60')
badp('w Decimal', RP + '"a";q=1;w=0.5')
badp('w String', RP + '"a";q=1;w="60"')
badp('pk String', RP + '"a";q=1;pk="x"')
C(
    'Token name (draft example B.3.1)',
    RP + 'quota;q=100;w=1',
    [Q('quota', 100, 1)],
    tags=['choice'],
)
badp('mixed String and Integer members', RP + '"a";q=1;w=1, 100;w=60')
badp(
    'unescaped quote in the name (express-rate-limit identifier with a quote)',
    RP + '"say "hi""; q=5; w=60',
)
badp('inner list', RP + '("a");q=1')
badp('trailing comma', RP + '"a";q=1,')
# ---- Retry-After, Date, Age, trailers
C(
    'Retry-After seconds',
    ['Retry-After: 20', RL + '"dynamic";r=15;t=40', RP + '"dynamic";q=100;w=60'],
    [Q('dynamic', 100, 60, r=15, t=40)],
    retry_after=20,
    tags=['retry'],
)
C(
    'Retry-After date relative to Date',
    [
        'Date: Mon, 05 Aug 2019 09:27:00 GMT',
        'Retry-After: Mon, 05 Aug 2019 09:27:05 GMT',
        RL + '"default";r=0;t=5',
    ],
    [L('default', 0, 5)],
    retry_after=5,
    tags=['retry'],
)
C(
    'Retry-After date without Date uses the local clock',
    ['Retry-After: Mon, 05 Aug 2019 09:27:05 GMT'],
    [],
    retry_after=65,
    now=1564997160,
    tags=['retry'],
)
C(
    'Retry-After in the past is 0',
    ['Date: Mon, 05 Aug 2019 09:27:00 GMT', 'Retry-After: Mon, 05 Aug 2019 09:26:00 GMT'],
    [],
    retry_after=0,
    tags=['retry'],
)
C(
    'Retry-After RFC 850 date',
    ['Date: Mon, 05 Aug 2019 09:27:00 GMT', 'Retry-After: Monday, 05-Aug-19 09:28:00 GMT'],
    [],
    retry_after=60,
    tags=['retry'],
)
C(
    'Retry-After asctime date',
    ['Date: Mon, 05 Aug 2019 09:27:00 GMT', 'Retry-After: Mon Aug  5 09:27:10 2019'],
    [],
    retry_after=10,
    tags=['retry'],
)
C('Retry-After 0', 'Retry-After: 0', [], retry_after=0, tags=['retry'])
C('Retry-After saturates', 'Retry-After: 99999999999999999999', [], retry_after=MAX, tags=['retry'])
C(
    'Retry-After negative',
    'Retry-After: -5',
    [],
    ignored=['retry-after'],
    tags=['retry', 'malformed'],
)
C(
    'Retry-After with a fraction',
    'Retry-After: 1.5',
    [],
    ignored=['retry-after'],
    tags=['retry', 'malformed'],
)
C(
    'Retry-After with a unit',
    'Retry-After: 5s',
    [],
    ignored=['retry-after'],
    tags=['retry', 'malformed'],
)
C('Retry-After empty', 'Retry-After: ', [], ignored=['retry-after'], tags=['retry', 'malformed'])
C(
    'Retry-After bad date',
    ['Date: Mon, 05 Aug 2019 09:27:00 GMT', 'Retry-After: Mon, 35 Aug 2019 09:27:05 GMT'],
    [],
    ignored=['retry-after'],
    tags=['retry', 'malformed'],
)
C(
    'Retry-After twice: the longer one',
    ['Retry-After: 5', 'Retry-After: 50'],
    [],
    retry_after=50,
    tags=['retry', 'choice'],
)
C(
    'response from cache: fields are ignored',
    ['Age: 3', RL + '"a";r=1;t=5', RP + '"a";q=5;w=10'],
    [],
    cached=True,
    tags=['cache'],
)
C('Age 0 is not from cache', ['Age: 0', RL + '"a";r=1;t=5'], [L('a', 1, 5)], tags=['cache'])
C('malformed Age is ignored', ['Age: x', RL + '"a";r=1;t=5'], [L('a', 1, 5)], tags=['cache'])
C(
    'RateLimit in a trailer section is ignored',
    'Content-Type: a/b',
    [],
    trailers=[RL + '"a";r=1;t=5', RP + '"a";q=5'],
    tags=['trailer'],
)
C(
    'trailer does not add to the header',
    RL + '"a";r=1;t=5',
    [L('a', 1, 5)],
    trailers=[RL + '"b";r=0;t=9'],
    tags=['trailer'],
)
C(
    'draft-03 fields may be in a trailer',
    'Content-Type: a/b',
    [Q(None, 100, r=5, t=7)],
    source='draft-03',
    trailers=['RateLimit-Limit: 100', 'RateLimit-Remaining: 5', 'RateLimit-Reset: 7'],
    tags=['trailer'],
)
# ---- draft-03 .. draft-06
T3 = (
    lambda l, r=None, t=None: [f'RateLimit-Limit: {l}']
    + ([f'RateLimit-Remaining: {r}'] if r is not None else [])
    + ([f'RateLimit-Reset: {t}'] if t is not None else [])
)


def D3(note, h, m, **k):
    C(
        note,
        h,
        m,
        source='draft-03' if m else 'none',
        tags=['draft-03'] + list(k.pop('tags', [])),
        **k,
    )


D3('three fields', T3('100', 50, 60), [Q(None, 100, r=50, t=60)])
D3('window via policy', T3('100, 100;w=60', 99, 50), [Q(None, 100, 60, r=99, t=50)])
D3('reduced expiring limit', T3('10, 100;w=60', 9, 50), [Q(None, 10, r=9, t=50), Q(None, 100, 60)])
D3('zero limit', T3('0, 15;w=20', 0, 20), [Q(None, 0, r=0, t=20), Q(None, 15, 20)])
D3(
    'four policies',
    T3('10, 10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400', 3, 1),
    [Q(None, 10, 1, r=3, t=1), Q(None, 50, 60), Q(None, 1000, 3600), Q(None, 5000, 86400)],
)
D3(
    'comments as parameters',
    T3('100, 100;w=60;burst=1000;comment="sliding window", 5000;w=3600;burst=0', 1, 2),
    [Q(None, 100, 60, r=1, t=2), Q(None, 5000, 3600)],
)
D3(
    'daily and hourly',
    T3('5000, 1000;w=3600, 5000;w=86400', 100, 36000),
    [Q(None, 5000, 86400, r=100, t=36000), Q(None, 1000, 3600)],
)
D3('Remaining is only RECOMMENDED', T3('10', None, 1), [Q(None, 10, t=1)])
D3('Reset missing', T3('10', 5), [Q(None, 10, r=5)])
D3(
    'mixed case names of the draft examples',
    ['RateLimit-Limit: 100', 'Ratelimit-Remaining: 0', 'Ratelimit-Reset: 50'],
    [Q(None, 100, r=0, t=50)],
)
D3(
    'with Retry-After date',
    [
        'Date: Mon, 05 Aug 2019 09:27:00 GMT',
        'Retry-After: Mon, 05 Aug 2019 09:27:05 GMT',
        'RateLimit-Reset: 5',
        'RateLimit-Limit: 100',
        'RateLimit-Remaining: 0',
    ],
    [Q(None, 100, r=0, t=5)],
    retry_after=5,
)
D3(
    'draft-06: policy in its own field',
    [
        'RateLimit-Policy: 5;w=60',
        'RateLimit-Limit: 5',
        'RateLimit-Remaining: 4',
        'RateLimit-Reset: 60',
    ],
    [Q(None, 5, 60, r=4, t=60)],
)
D3(
    'draft-06: several policies',
    [
        'RateLimit-Policy: 10;w=1, 1000;w=3600',
        'RateLimit-Limit: 10',
        'RateLimit-Remaining: 4',
        'RateLimit-Reset: 1',
    ],
    [Q(None, 10, 1, r=4, t=1), Q(None, 1000, 3600)],
)
D3('single member with w', T3('100;w=60', 5, 6), [Q(None, 100, 60, r=5, t=6)])
D3(
    'item parameters are ignored',
    ['RateLimit-Limit: 100', 'RateLimit-Remaining: 50;x=1', 'RateLimit-Reset: 60;y'],
    [Q(None, 100, r=50, t=60)],
)
D3(
    'Limit twice is not allowed: field ignored',
    [
        'RateLimit-Limit: 100',
        'RateLimit-Limit: 100',
        'RateLimit-Remaining: 50',
        'RateLimit-Reset: 60',
    ],
    [Q(None, None, r=50, t=60)],
    ignored=['ratelimit-limit'],
)
D3(
    'Remaining is not a number',
    T3('100', 'many', 6),
    [Q(None, 100, t=6)],
    ignored=['ratelimit-remaining'],
    tags=['malformed'],
)
D3(
    'Remaining negative',
    T3('100', -1, 6),
    [Q(None, 100, t=6)],
    ignored=['ratelimit-remaining'],
    tags=['malformed'],
)
D3(
    'Remaining Decimal',
    T3('100', '1.0', 6),
    [Q(None, 100, t=6)],
    ignored=['ratelimit-remaining'],
    tags=['malformed'],
)
D3(
    'policy without w',
    T3('100, 50', 5, 6),
    [Q(None, None, r=5, t=6)],
    ignored=['ratelimit-limit'],
    tags=['malformed'],
)
D3(
    'Limit is a String',
    T3('"100"', 5, 6),
    [Q(None, None, r=5, t=6)],
    ignored=['ratelimit-limit'],
    tags=['malformed'],
)
D3(
    'Reset as Unix time (GitLab)',
    [
        'Date: Mon, 05 Aug 2019 09:27:00 GMT',
        'RateLimit-Limit: 60',
        'RateLimit-Observed: 67',
        'RateLimit-Remaining: 0',
        'RateLimit-Reset: 1564997260',
    ],
    [Q(None, 60, r=0, t=40)],
    tags=['wild'],
)
D3(
    'Observed gives Remaining',
    ['RateLimit-Limit: 60', 'RateLimit-Observed: 20'],
    [Q(None, 60, r=40)],
    tags=['wild'],
)
D3(
    'Reset as a date is malformed',
    [
        'RateLimit-Limit: 60',
        'RateLimit-Remaining: 20',
        'RateLimit-Reset: Mon, 05 Aug 2019 09:27:05 GMT',
    ],
    [Q(None, 60, r=20)],
    ignored=['ratelimit-reset'],
    tags=['malformed'],
)
D3('only Reset tells nothing', 'RateLimit-Reset: 5', [])
C('current fields win over draft-03', [RL + '"a";r=1;t=2'] + T3('100', 50, 60), [L('a', 1, 2)])
C(
    'malformed RateLimit falls back to draft-03',
    [RL + '"a";r=x'] + T3('100', 50, 60),
    [Q(None, 100, r=50, t=60)],
    source='draft-03',
    ignored=['ratelimit'],
)


# ---- draft-07 single field
def D7(note, h, m, **k):
    C(note, h, m, source='draft-07' if m else 'none', tags=['draft-07'], **k)


D7('single field', RL + 'limit=100, remaining=50, reset=30', [Q(None, 100, r=50, t=30)])
D7(
    'with policy',
    [RP + '5;w=60', RL + 'limit=5, remaining=4, reset=60'],
    [Q(None, 5, 60, r=4, t=60)],
)
D7('any order, no spaces', RL + 'reset=30,limit=100,remaining=50', [Q(None, 100, r=50, t=30)])
D7('two lines', [RL + 'limit=100', RL + 'remaining=50, reset=30'], [Q(None, 100, r=50, t=30)])
D7(
    'unknown keys and parameters',
    RL + 'limit=100;x=1, remaining=50, reset=30, policy=(10;w=1 50;w=60)',
    [Q(None, 100, r=50, t=30)],
)
D7(
    'duplicate key: last wins',
    RL + 'limit=1, remaining=50, reset=30, limit=100',
    [Q(None, 100, r=50, t=30)],
)
D7(
    'policy that does not match the limit',
    [RP + '10;w=1, 1000;w=3600', RL + 'limit=500, remaining=4, reset=60'],
    [Q(None, 500, r=4, t=60), Q(None, 10, 1), Q(None, 1000, 3600)],
)
D7('policy alone', RP + '100;w=60', [Q(None, 100, 60)])
D7('policies alone', RP + '10;w=1;burst=1000, 1000;w=3600', [Q(None, 10, 1), Q(None, 1000, 3600)])
bad('draft-07: remaining missing', RL + 'limit=100, reset=30')
bad('draft-07: reset missing', RL + 'limit=100, remaining=5')
bad('draft-07: negative', RL + 'limit=100, remaining=-1, reset=30')
bad('draft-07: Decimal reset', RL + 'limit=100, remaining=1, reset=0.5')
bad('draft-07: semicolons', RL + 'limit=100; remaining=50; reset=30')
bad('draft-07: upper case', RL + 'Limit=100, Remaining=50, Reset=30')
badp('draft-07: policy without w', RP + '100')


# ---- X-RateLimit in the wild
def X(note, h, m, **k):
    C(
        note,
        h,
        m,
        source='x-ratelimit' if m else 'none',
        tags=['x-ratelimit'] + list(k.pop('tags', [])),
        **k,
    )


N = 1700000000
X(
    'delta seconds',
    ['X-RateLimit-Limit: 60', 'X-RateLimit-Remaining: 56', 'X-RateLimit-Reset: 47'],
    [Q(None, 60, r=56, t=47)],
)
X(
    'Unix seconds (GitHub)',
    [
        'x-ratelimit-limit: 5000',
        'x-ratelimit-remaining: 4987',
        'x-ratelimit-used: 13',
        'x-ratelimit-reset: 1700000900',
        'x-ratelimit-resource: core',
    ],
    [Q(None, 5000, r=4987, t=900)],
    now=N,
)
X(
    'Unix seconds against Date, not the local clock',
    [
        'Date: Tue, 14 Nov 2023 22:13:20 GMT',
        'X-RateLimit-Limit: 60',
        'X-RateLimit-Remaining: 0',
        'X-RateLimit-Reset: 1700000030',
    ],
    [Q(None, 60, r=0, t=30)],
    now=N + 5000,
)
X(
    'Unix seconds in the past',
    ['X-RateLimit-Limit: 60', 'X-RateLimit-Remaining: 60', 'X-RateLimit-Reset: 1699999990'],
    [Q(None, 60, r=60, t=0)],
    now=N,
)
X(
    'Unix seconds without any clock',
    ['X-RateLimit-Limit: 60', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 1700000030'],
    [Q(None, 60, r=0)],
    ignored=['x-ratelimit-reset'],
)
X(
    'Unix milliseconds',
    ['X-RateLimit-Limit: 60', 'X-RateLimit-Remaining: 1', 'X-RateLimit-Reset: 1700000012345'],
    [Q(None, 60, r=1, t=13)],
    now=N,
)
X(
    'ISO 8601 date',
    [
        'X-RateLimit-Limit: 60',
        'X-RateLimit-Remaining: 1',
        'X-RateLimit-Reset: 2023-11-14T22:14:20Z',
    ],
    [Q(None, 60, r=1, t=60)],
    now=N,
)
X(
    'ISO 8601 with offset and fraction',
    [
        'X-RateLimit-Limit: 60',
        'X-RateLimit-Remaining: 1',
        'X-RateLimit-Reset: 2023-11-14T23:14:20.250+01:00',
    ],
    [Q(None, 60, r=1, t=61)],
    now=N,
)
X(
    'IMF-fixdate',
    [
        'X-RateLimit-Limit: 60',
        'X-RateLimit-Remaining: 1',
        'X-RateLimit-Reset: Tue, 14 Nov 2023 22:14:00 GMT',
    ],
    [Q(None, 60, r=1, t=40)],
    now=N,
)
X(
    'JavaScript date text is not understood',
    [
        'X-RateLimit-Limit: 20',
        'X-RateLimit-Remaining: 7',
        'X-RateLimit-Reset: Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)',
    ],
    [Q(None, 20, r=7)],
    now=N,
    ignored=['x-ratelimit-reset'],
)
X(
    'X-Rate-Limit spelling',
    ['X-Rate-Limit-Limit: 15', 'X-Rate-Limit-Remaining: 14', 'X-Rate-Limit-Reset: 1700000500'],
    [Q(None, 15, r=14, t=500)],
    now=N,
)
X(
    'fractions (Reddit): remaining rounds down',
    ['X-Ratelimit-Used: 2', 'X-Ratelimit-Remaining: 598.9', 'X-Ratelimit-Reset: 340'],
    [Q(None, 600, r=598, t=340)],
)
X(
    'Reset-After wins over Reset (Discord)',
    [
        'X-RateLimit-Limit: 5',
        'X-RateLimit-Remaining: 0',
        'X-RateLimit-Reset: 1700000064.571',
        'X-RateLimit-Reset-After: 64.57',
        'X-RateLimit-Bucket: abcd1234',
    ],
    [Q(None, 5, r=0, t=65)],
    now=N,
)
X(
    'fractional Unix seconds',
    ['X-RateLimit-Limit: 5', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 1700000064.571'],
    [Q(None, 5, r=0, t=65)],
    now=N,
)
X('used gives remaining', ['X-RateLimit-Limit: 100', 'X-RateLimit-Used: 130'], [Q(None, 100, r=0)])
X(
    'Envoy: limit with policies',
    [
        'x-ratelimit-limit: 10, 10;w=1;name="per-ip", 1000;w=3600',
        'x-ratelimit-remaining: 9',
        'x-ratelimit-reset: 1',
    ],
    [Q(None, 10, 1, r=9, t=1), Q(None, 1000, 3600)],
)
X(
    'windows in the name (Kong)',
    [
        'X-RateLimit-Limit-Minute: 5',
        'X-RateLimit-Remaining-Minute: 4',
        'X-RateLimit-Limit-Hour: 500',
        'X-RateLimit-Remaining-Hour: 480',
    ],
    [Q('minute', 5, 60, r=4), Q('hour', 500, 3600, r=480)],
)
X(
    'windows with reset',
    ['x-ratelimit-limit-day: 1000', 'x-ratelimit-remaining-day: 1', 'x-ratelimit-reset-day: 3600'],
    [Q('day', 1000, 86400, r=1, t=3600)],
)
X(
    'units in the name, durations (OpenAI)',
    [
        'x-ratelimit-limit-requests: 5000',
        'x-ratelimit-limit-tokens: 160000',
        'x-ratelimit-remaining-requests: 4999',
        'x-ratelimit-remaining-tokens: 159976',
        'x-ratelimit-reset-requests: 12ms',
        'x-ratelimit-reset-tokens: 6m0s',
    ],
    [Q('requests', 5000, r=4999, t=1), Q('tokens', 160000, qu='tokens', r=159976, t=360)],
)
X(
    '-1 for unknown (Azure)',
    [
        'x-ratelimit-limit-tokens: -1',
        'x-ratelimit-remaining-tokens: -1',
        'x-ratelimit-reset-tokens: 0',
    ],
    [],
    ignored=['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens'],
)
X(
    'names after the unit, dates (Anthropic)',
    [
        'anthropic-ratelimit-requests-limit: 4000',
        'anthropic-ratelimit-requests-remaining: 3201',
        'anthropic-ratelimit-tokens-limit: 400000',
        'anthropic-ratelimit-tokens-remaining: 312000',
        'anthropic-ratelimit-requests-reset: 2025-01-15T14:24:00Z',
        'anthropic-ratelimit-tokens-reset: 2025-01-15T14:23:15Z',
    ],
    [
        Q('requests', 4000, r=3201, t=60),
        Q('tokens', 400000, qu='tokens', r=312000, t=15),
    ],
    now=1736950980,
)
X(
    'a denial with four limits (Anthropic)',
    [
        'Date: Wed, 01 May 2024 13:29:00 GMT',
        'retry-after: 17',
        'anthropic-ratelimit-requests-limit: 3000',
        'anthropic-ratelimit-requests-remaining: 2999',
        'anthropic-ratelimit-requests-reset: 2024-05-01T13:29:17Z',
        'anthropic-ratelimit-input-tokens-limit: 20000',
        'anthropic-ratelimit-input-tokens-remaining: 0',
        'anthropic-ratelimit-input-tokens-reset: 2024-05-01T13:29:17Z',
        'anthropic-ratelimit-output-tokens-limit: 5000',
        'anthropic-ratelimit-output-tokens-remaining: 4900',
        'anthropic-ratelimit-output-tokens-reset: 2024-05-01T13:29:17Z',
        'anthropic-ratelimit-unified-status: allowed',
    ],
    [
        Q('input-tokens', 20000, qu='input-tokens', r=0, t=17),
        Q('output-tokens', 5000, qu='output-tokens', r=4900, t=17),
        Q('requests', 3000, r=2999, t=17),
    ],
    retry_after=17,
)
X(
    'names after the unit (RapidAPI)',
    [
        'X-RateLimit-Requests-Limit: 500',
        'X-RateLimit-Requests-Remaining: 499',
        'X-RateLimit-Requests-Reset: 2591999',
        'X-RateLimit-rapid-free-plans-hard-limit-Limit: 500000',
        'X-RateLimit-rapid-free-plans-hard-limit-Remaining: 499998',
        'X-RateLimit-rapid-free-plans-hard-limit-Reset: 2591999',
    ],
    [
        Q('rapid-free-plans-hard-limit', 500000, qu='rapid-free-plans-hard-limit', r=499998, t=2591999),
        Q('requests', 500, r=499, t=2591999),
    ],
)
X(
    'reads that are left (Azure Resource Manager)',
    [
        'retry-after: 5',
        'x-ms-ratelimit-remaining-subscription-reads: 11998',
        'date: Tue, 29 Jun 2021 05:23:36 GMT',
    ],
    [Q('subscription-reads', None, qu='subscription-reads', r=11998)],
    retry_after=5,
)
X(
    'a list of what is left (Azure Compute)',
    [
        'x-ms-ratelimit-remaining-resource: Microsoft.Compute/GetVMScaleSet3Min;197,'
        'Microsoft.Compute/GetVMScaleSet30Min;1297',
        'x-ms-ratelimit-remaining-subscription-reads: 11999',
    ],
    [
        Q('subscription-reads', None, qu='subscription-reads', r=11999),
        Q('Microsoft.Compute/GetVMScaleSet3Min', None, r=197),
        Q('Microsoft.Compute/GetVMScaleSet30Min', None, r=1297),
    ],
)
X(
    'a list of what is left that is none',
    ['x-ms-ratelimit-remaining-resource: Microsoft.Compute/GetVM3Min'],
    [],
    ignored=['x-ms-ratelimit-remaining-resource'],
)
X(
    'milliseconds to wait (Azure OpenAI)',
    [
        'retry-after: 1',
        'retry-after-ms: 1250',
        'x-ratelimit-remaining-requests: 12',
        'x-ratelimit-remaining-tokens: 0',
    ],
    [Q('requests', None, r=12), Q('tokens', None, qu='tokens', r=0)],
    retry_after=2,
)
X('milliseconds alone', ['x-ms-retry-after-ms: 250.5'], [], retry_after=1)
X('milliseconds that are none', ['Retry-After: 3', 'Retry-After-Ms: soon'], [], retry_after=3, ignored=['retry-after-ms'])
X('no milliseconds', ['retry-after-ms: 0'], [], retry_after=0)
X('remaining only', 'X-RateLimit-Remaining: 3', [Q(None, None, r=3)])
X(
    'not numbers',
    ['X-RateLimit-Limit: lots', 'X-RateLimit-Remaining: some', 'X-RateLimit-Reset: soon'],
    [],
    now=N,
    ignored=['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
)
X(
    'negative remaining',
    ['X-RateLimit-Limit: 5', 'X-RateLimit-Remaining: -3', 'X-RateLimit-Reset: 7'],
    [Q(None, 5, t=7)],
    ignored=['x-ratelimit-remaining'],
)
X(
    'field repeated: ignored',
    ['X-RateLimit-Limit: 5', 'X-RateLimit-Limit: 6', 'X-RateLimit-Remaining: 3'],
    [Q(None, None, r=3)],
    ignored=['x-ratelimit-limit'],
)
C(
    'draft-03 wins over X-RateLimit',
    T3('100', 50, 60) + ['X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0'],
    [Q(None, 100, r=50, t=60)],
    source='draft-03',
)
C(
    'current fields win over X-RateLimit',
    [RL + '"a";r=9;t=2', 'X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0'],
    [L('a', 9, 2)],
)
C(
    'parameters that may come: a, w and c in RateLimit',
    [RL + '"a";a=3;r=9;t=2;w=60;c=1.5, b;c;r=1;w="m";a=?0', RP + '"a";q=10;w=60;a;c=:AQ==:'],
    [Q('a', 10, 60, r=9, t=2), L('b', 1)],
    tags=['unknown'],
)
C(
    'a Token and a String are the same name',
    [RL + 'burst;r=9;t=2, "daily";r=5, a/b:c*;r=1', RP + '"burst";q=10;w=60, daily;q=50;w=70'],
    [Q('burst', 10, 60, r=9, t=2), Q('daily', 50, 70, r=5), L('a/b:c*', 1)],
    tags=['choice'],
)
C(
    'a policy alone leaves the turn to a limit of draft-07',
    [RL + 'limit=5, remaining=0, reset=2', RP + '"burst";q=5;w=2'],
    [Q(None, 5, r=0, t=2)],
    source='draft-07',
    tags=['choice'],
)
C(
    'a policy alone leaves the turn to a limit of draft-03',
    [RP + '"burst";q=100;w=60'] + T3('100', 50, 60),
    [Q(None, 100, r=50, t=60)],
    source='draft-03',
    tags=['choice'],
)
X(
    'a policy alone leaves the turn to what is left',
    [RP + '"burst";q=5;w=2', 'X-RateLimit-Limit: 5', 'X-RateLimit-Remaining: 0'],
    [Q(None, 5, r=0)],
    tags=['choice'],
)
C(
    'a policy alone wins over a limit of which nobody says what is left',
    [RP + '"burst";q=5;w=2', 'X-RateLimit-Limit: 5', 'X-RateLimit-Reset: 2'],
    [Q('burst', 5, 2)],
    tags=['choice'],
)
FILES['parse.json'] = (
    '{"format": 1,\n "notes": "see README.md",\n "cases": [\n'
    + ',\n'.join('  ' + json.dumps(c) for c in cases)
    + '\n]}\n'
)

# =========================================================================== serialise
ser = []


def S(note, members, want, form='current', tags=(), policy_field=True):
    if isinstance(members, dict):
        members = [members]
    try:
        got = fr.emit(members, form, policy_field)
    except fr.EmitError as e:
        got = None
        err = str(e)
    exp = {'headers': want} if want is not None else {'error': err if got is None else None}
    assert got == want, f'{note}\n got {got}\n want {want}'
    c = dict(
        id=f's-{len(ser) + 1:03d}',
        note=note,
        tags=list(tags),
        form=form,
        members=members,
        expect=exp,
    )
    if not policy_field:
        c['policy_field'] = False
    ser.append(c)


def H(**k):
    names = dict(
        rl='RateLimit',
        rp='RateLimit-Policy',
        l='RateLimit-Limit',
        r='RateLimit-Remaining',
        t='RateLimit-Reset',
    )
    return [[names[a], b] for a, b in k.items()]


m = lambda policy='default', **k: dict(policy=policy, **k)
S(
    'q and w, r and t',
    m(q=100, w=60, r=50, t=30),
    H(rp='"default";q=100;w=60', rl='"default";r=50;t=30'),
)
S(
    'parameter order q, qu, w, pk and r, t, pk',
    m('peruser', q=65535, qu='content-bytes', w=10, r=1, t=2, pk='sdfjLJUOUA=='),
    H(
        rp='"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUA==:',
        rl='"peruser";r=1;t=2;pk=:sdfjLJUOUA==:',
    ),
)
S(
    'default unit is omitted',
    m(q=1, qu='requests', w=1, r=0, t=1),
    H(rp='"default";q=1;w=1', rl='"default";r=0;t=1'),
)
S(
    'registry spelling of the default unit is omitted too',
    m(q=1, qu='request', w=1, r=0, t=1),
    H(rp='"default";q=1;w=1', rl='"default";r=0;t=1'),
)
S(
    'concurrency: no w, no t',
    m('conc', q=10, qu='concurrent-requests', r=3),
    H(rp='"conc";q=10;qu="concurrent-requests"', rl='"conc";r=3'),
)
S(
    'several members, comma and space',
    [m('hour', q=1000, w=3600, r=650, t=1800), m('day', q=5000, w=86400, r=100, t=36000)],
    H(
        rp='"hour";q=1000;w=3600, "day";q=5000;w=86400',
        rl='"hour";r=650;t=1800, "day";r=100;t=36000',
    ),
)
S('policy without limit', m(q=5, w=1), H(rp='"default";q=5;w=1'))
S('limit without policy', m(r=5, t=1), H(rl='"default";r=5;t=1'))
S('t omitted when not defined', m(q=0, r=0), H(rp='"default";q=0', rl='"default";r=0'))
S('policy field switched off', m(q=5, w=1, r=5, t=1), H(rl='"default";r=5;t=1'), policy_field=False)
S('nothing to say', [], [])
S('member with neither q nor r', m(), [])
S('escape quote and backslash', m('a"b\\c', r=1), H(rl='"a\\"b\\\\c";r=1'), tags=['string'])
S('comma in the name needs no escape', m('a,b', r=1), H(rl='"a,b";r=1'), tags=['string'])
S('empty name', m('', r=1), H(rl='"";r=1'), tags=['string'])
S('non-ASCII name is refused', m('caf\u00e9', r=1), None, tags=['error'])
S('control character in the name is refused', m('a\nb', r=1), None, tags=['error'])
S('name missing', dict(r=1), None, tags=['error'])
S(
    'r above the Integer range is lowered to it',
    m(r=10**15, t=10**18),
    H(rl='"default";r=999999999999999;t=999999999999999'),
    tags=['range'],
)
S(
    'q at the top of the range',
    m(q=999999999999999, w=1, r=0, t=1),
    H(rp='"default";q=999999999999999;w=1', rl='"default";r=0;t=1'),
    tags=['range'],
)
S('negative r is refused', m(r=-1), None, tags=['error'])
S('negative t is refused', m(r=1, t=-1), None, tags=['error'])
S('fractional t is refused', m(r=1, t=0.5), None, tags=['error'])
S('Boolean r is refused', m(r=True), None, tags=['error'])
S('w=0 is refused', m(q=1, w=0), None, tags=['error'])
S('t without r is refused', m(t=5), None, tags=['error'])
S(
    'vendor parameters follow the defined ones',
    m(
        q=10,
        w=1,
        r=9,
        t=1,
        pext=[['acme-burst', 5]],
        ext=[['acme-note', 'x"y'], ['acme-flag', True]],
    ),
    H(rp='"default";q=10;w=1;acme-burst=5', rl='"default";r=9;t=1;acme-note="x\\"y";acme-flag'),
    tags=['vendor'],
)
S(
    'vendor parameter with a reserved name is refused',
    m(q=10, pext=[['w', 5]]),
    None,
    tags=['error'],
)
S(
    'vendor parameter with an upper-case name is refused',
    m(r=1, ext=[['Acme', 5]]),
    None,
    tags=['error'],
)
S(
    'vendor Boolean false',
    m(r=1, ext=[['acme-x', False]]),
    H(rl='"default";r=1;acme-x=?0'),
    tags=['vendor'],
)
S('empty partition key', m(r=1, pk=''), H(rl='"default";r=1;pk=::'), tags=['pk'])
S(
    'draft-03: limit with policy',
    m(q=100, w=60, r=50, t=30),
    H(l='100, 100;w=60', r='50', t='30'),
    'draft-03',
)
S(
    'draft-03: policies switched off',
    m(q=100, w=60, r=50, t=30),
    H(l='100', r='50', t='30'),
    'draft-03',
    policy_field=False,
)
S(
    'draft-03: the lowest remaining wins',
    [m('hour', q=1000, w=3600, r=650, t=1800), m('day', q=5000, w=86400, r=100, t=36000)],
    H(l='5000, 1000;w=3600, 5000;w=86400', r='100', t='36000'),
    'draft-03',
)
S(
    'draft-03: tie on remaining goes to the longer reset',
    [m('a', q=10, w=1, r=0, t=1), m('b', q=10, w=60, r=0, t=40)],
    H(l='10, 10;w=1, 10;w=60', r='0', t='40'),
    'draft-03',
)
S(
    'draft-03: other units are left out',
    [m('bytes', q=65535, qu='content-bytes', w=10, r=1, t=2), m('req', q=10, w=10, r=5, t=5)],
    H(l='10, 10;w=10', r='5', t='5'),
    'draft-03',
)
S('draft-03: nothing without a reset', m(q=10, qu='concurrent-requests', r=1), [], 'draft-03')
S(
    'draft-07',
    m(q=100, w=60, r=50, t=30),
    H(rp='100;w=60', rl='limit=100, remaining=50, reset=30'),
    'draft-07',
)
S(
    'draft-07 without window',
    m(q=100, r=50, t=30),
    H(rl='limit=100, remaining=50, reset=30'),
    'draft-07',
)
S(
    'x-ratelimit',
    m(q=100, w=60, r=50, t=30),
    [['X-RateLimit-Limit', '100'], ['X-RateLimit-Remaining', '50'], ['X-RateLimit-Reset', '30']],
    'x-ratelimit',
)
FILES['serialise.json'] = (
    '{"format": 1,\n "notes": "see README.md",\n "cases": [\n'
    + ',\n'.join('  ' + json.dumps(c) for c in ser)
    + '\n]}\n'
)
# round trip: every valid current-form parse case re-emits and re-parses to itself
rt = 0
for c in cases:
    e = c['expect']
    if e['source'] == 'ratelimit' and all(x['policy'] is not None for x in e['members']):
        again = fr.normalise(fr.emit(e['members']))
        if len({(x['policy']) for x in e['members']}) == len(e['members']):
            assert sorted(map(str, again['members'])) == sorted(map(str, e['members'])), c
            rt += 1


# intermediaries: an upstream response passes through a gateway with its own policies
def merge(upstream, own):
    """Upstream members are kept byte for byte; own members go on a field line of their own.
    A malformed upstream field is void and is dropped.  An upstream RateLimit in another
    syntax (draft-07 dictionary) cannot share the field: own members are then left out.
    An own member whose (policy, pk) is taken upstream gets the name prefix "gw-"."""
    upstream = [list(h) for h in upstream]
    state = {}
    for f, p in (('ratelimit', fr.parse_ratelimit), ('ratelimit-policy', fr.parse_policy)):
        ls = fr.lines(upstream, f)
        if not ls:
            state[f] = ('current', [])
            continue
        try:
            state[f] = p(ls)
        except fr.Malformed:
            state[f] = None
    out = [h for h in upstream if h[0].lower() not in state or state[h[0].lower()] is not None]
    taken = {
        (m['policy'], m['pk']) for st in state.values() if st and st[0] == 'current' for m in st[1]
    }
    own = [
        dict(
            m, policy=('gw-' + m['policy']) if (m['policy'], m.get('pk')) in taken else m['policy']
        )
        for m in own
    ]
    if any(st and st[0] != 'current' for st in state.values()):
        return out
    return out + fr.emit(own)


mg = []


def G(note, up, own, want):
    up = hdr(up)
    got = merge(up, own)
    assert got == hdr(want), (note, got)
    mg.append(dict(id=f'm-{len(mg) + 1:02d}', note=note, upstream=up, own=own, expect=hdr(want)))


me = [m('edge', q=10, w=1, r=3, t=1)]
G('nothing upstream', [], me, [RP + '"edge";q=10;w=1', RL + '"edge";r=3;t=1'])
G(
    'append to upstream members, which stay untouched',
    [RL + '"o";r=1;t=5'],
    me,
    [RL + '"o";r=1;t=5', RP + '"edge";q=10;w=1', RL + '"edge";r=3;t=1'],
)
G(
    'own limit is looser: still appended, upstream still binding',
    [RL + '"o";r=0;t=50', RP + '"o";q=1;w=60'],
    me,
    [RL + '"o";r=0;t=50', RP + '"o";q=1;w=60', RP + '"edge";q=10;w=1', RL + '"edge";r=3;t=1'],
)
G(
    'malformed upstream field is dropped, it would spoil ours',
    [RL + '"o";r=x', 'Server: s'],
    me,
    ['Server: s', RP + '"edge";q=10;w=1', RL + '"edge";r=3;t=1'],
)
G(
    'name already used upstream',
    [RL + '"edge";r=1;t=5'],
    me,
    [RL + '"edge";r=1;t=5', RP + '"gw-edge";q=10;w=1', RL + '"gw-edge";r=3;t=1'],
)
G(
    'name already used upstream, as a Token',
    [RL + 'edge;r=1;t=5'],
    me,
    [RL + 'edge;r=1;t=5', RP + '"gw-edge";q=10;w=1', RL + '"gw-edge";r=3;t=1'],
)
G(
    'same name, other partition key: no clash',
    [RL + '"edge";r=1;t=5;pk=:AQ==:'],
    [m('edge', q=10, w=1, r=3, t=1, pk='Ag==')],
    [
        RL + '"edge";r=1;t=5;pk=:AQ==:',
        RP + '"edge";q=10;w=1;pk=:Ag==:',
        RL + '"edge";r=3;t=1;pk=:Ag==:',
    ],
)
G(
    'draft-07 dictionary upstream cannot be extended',
    [RL + 'limit=5, remaining=1, reset=9'],
    me,
    [RL + 'limit=5, remaining=1, reset=9'],
)
G(
    'legacy upstream fields are not touched',
    ['X-RateLimit-Limit: 5', 'X-RateLimit-Remaining: 1'],
    me,
    [
        'X-RateLimit-Limit: 5',
        'X-RateLimit-Remaining: 1',
        RP + '"edge";q=10;w=1',
        RL + '"edge";r=3;t=1',
    ],
)
G('no own policy applies: nothing changes', [RL + '"o";r=1;t=5'], [], [RL + '"o";r=1;t=5'])
FILES['merge.json'] = json.dumps({'format': 1, 'cases': mg}, indent=1)
# problem details ----------------------------------------------------------------------
BASE = 'https://iana.org/assignments/http-problem-types#'
pr = []


def PB(note, kind, violated, status, retry, expect_body, headers):
    pr.append(
        dict(
            id=f'd-{len(pr) + 1:02d}',
            note=note,
            input=dict(kind=kind, violated=violated, status=status, retry_after=retry),
            expect=dict(status=status, headers=headers, body=expect_body),
        )
    )


J = ['Content-Type', 'application/problem+json']
PB(
    'quota exceeded, one policy',
    'quota-exceeded',
    ['daily'],
    429,
    5,
    {
        'type': BASE + 'quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 429,
        'violated-policies': ['daily'],
    },
    [J, ['Retry-After', '5']],
)
PB(
    'quota exceeded, two policies, in evaluation order',
    'quota-exceeded',
    ['daily', 'bandwidth'],
    429,
    60,
    {
        'type': BASE + 'quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 429,
        'violated-policies': ['daily', 'bandwidth'],
    },
    [J, ['Retry-After', '60']],
)
PB(
    'never admissible: no Retry-After',
    'quota-exceeded',
    ['bytes'],
    429,
    None,
    {
        'type': BASE + 'quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 429,
        'violated-policies': ['bytes'],
    },
    [J],
)
PB(
    'reduced capacity',
    'temporary-reduced-capacity',
    ['hourly'],
    503,
    30,
    {
        'type': BASE + 'temporary-reduced-capacity',
        'title': 'Request cannot be satisfied due to temporary server capacity constraints',
        'status': 503,
        'violated-policies': ['hourly'],
    },
    [J, ['Retry-After', '30']],
)
PB(
    'abnormal usage',
    'abnormal-usage-detected',
    ['hourly'],
    429,
    3600,
    {
        'type': BASE + 'abnormal-usage-detected',
        'title': 'Request not satisfied due to detection of abnormal request pattern',
        'status': 429,
        'violated-policies': ['hourly'],
    },
    [J, ['Retry-After', '3600']],
)
PB(
    'names are JSON strings: quotes and backslashes escaped by the JSON writer',
    'quota-exceeded',
    ['a"b\\c'],
    429,
    1,
    {
        'type': BASE + 'quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 429,
        'violated-policies': ['a"b\\c'],
    },
    [J, ['Retry-After', '1']],
)
PB(
    'status overridden to 403 by configuration',
    'quota-exceeded',
    ['daily'],
    403,
    5,
    {
        'type': BASE + 'quota-exceeded',
        'title': 'Request cannot be satisfied as assigned quota has been exceeded',
        'status': 403,
        'violated-policies': ['daily'],
    },
    [J, ['Retry-After', '5']],
)
FILES['problem.json'] = json.dumps({'format': 1, 'cases': pr}, indent=1)

if __name__ == '__main__':
    for name, text in FILES.items():
        (FOLDER / name).write_text(text)
    print('merge', len(mg), 'problem', len(pr))
    print(
        'parse',
        len(cases),
        'malformed',
        sum('malformed' in c['tags'] for c in cases),
        'serialise',
        len(ser),
        'round trips',
        rt,
    )
