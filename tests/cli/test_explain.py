"""headgate explain."""
import json
import random
import subprocess

import pytest

from models import fields
from support.environment import HEADGATE, ROOT

CASES = json.loads((ROOT / 'tests/vectors/fields/parse.json').read_text())['cases']
NOW = 1700000000  # Tue, 14 Nov 2023 22:13:20 GMT


def explain(section, *options):
    """Runs the command; `section` is text or a list of [name, value]."""
    if not isinstance(section, str):
        section = 'HTTP/1.1 200 OK\r\n' + ''.join(f'{n}: {v}\r\n' for n, v in section) + '\r\n'
    return subprocess.run([HEADGATE, 'explain', *map(str, options)], timeout=60, text=True,
                          input=section, capture_output=True, encoding='latin-1')


def view(section, now=NOW):
    result = explain(section, '--json', '--now', now)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.count('\n') == 1
    return json.loads(result.stdout)


def can_travel(case):
    # Trailers are not in a header section, and the command always has a clock.
    return 'unit_only' not in case['tags'] and 'trailers' not in case and case['id'] != 'p-213'


@pytest.mark.parametrize('case', [c for c in CASES if can_travel(c)], ids=lambda c: c['id'])
def test_vectors(case):
    assert view(case['headers'], case.get('now') or NOW) == case['expect']
    words = explain(case['headers'], '--now', case.get('now') or NOW)
    assert (words.returncode, words.stderr) == (0, '')
    assert words.stdout.isascii()


NAMES = ['RateLimit', 'RateLimit-Policy', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset',
         'RateLimit-Observed', 'RateLimit-Reset-After', 'Retry-After', 'Date', 'Age'] + [
    prefix + part for prefix in ('X-RateLimit-', 'x-rate-limit-')
    for part in ('limit', 'remaining', 'reset', 'used', 'reset-after', 'limit-minute',
                 'remaining-minute', 'reset-minute', 'limit-tokens', 'remaining-tokens')]
VALUES = ['', '0', '5', '-1', '1.5', '64.57', '9999999999999999', '3;x=1', '100, 100;w=60', '5;w=0',
          '10;w=1, 1000;w=3600', '100;w=60, 5', '"a";r=1;t=5', '"b";r=7, "a";r=2;t=1',
          '"a";r=0;pk=:AQ==:', '"a";q=5;w=10', '"a";q=9;w=1;pk=:AQ==:, "b";q=1', '"a";q=1;qu="tokens"',
          'limit=5, remaining=1, reset=9', 'limit=5, remaining=1', '1700000100', '1700000100123',
          '6m0s', '2023-11-14T22:14:20Z', 'Tue, 14 Nov 2023 22:14:00 GMT', 'x']


def test_as_the_model_reads_random_sections():
    rnd = random.Random(20260101)
    for _ in range(150):
        headers = [[rnd.choice(NAMES), rnd.choice(VALUES)] for _ in range(rnd.randint(1, 8))]
        assert view(headers) == fields.normalise(headers, now=NOW), headers


def test_a_denial_in_words():
    result = explain('HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n'
                     'HTTP/2 429 \r\n'
                     'retry-after: 2\r\n'
                     'ratelimit-policy: "burst";q=5;w=10, "daily";q=5000;w=86400\r\n'
                     'ratelimit: "burst";r=0;t=2, "daily";r=4999;t=86383\r\n'
                     'x-ratelimit-limit: 5\r\n'
                     '\r\n'
                     'RateLimit: "of the body";r=1\r\n')
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout == """\
HTTP/2 429    (the last of 2 header sections)

retry-after: 2
    wait 2 s before the next request

ratelimit-policy: "burst";q=5;w=10, "daily";q=5000;w=86400
    "burst": 5 requests in 10 s
    "daily": 5000 requests in 86400 s (1 d)

ratelimit: "burst";r=0;t=2, "daily";r=4999;t=86383
    "burst": nothing left; more in 2 s
    "daily": 4999 left for the next 86383 s (23 h 59 min 43 s)

x-ratelimit-limit: 5
    the quota is 5 requests
    not used: RateLimit wins

What counts: RateLimit, the dialect "ratelimit"
    "burst": nothing left of 5 requests; more in 2 s; window 10 s
    "daily": 4999 of 5000 requests left for the next 86383 s (23 h 59 min 43 s); window 86400 s (1 d)

Wait 2 s: Retry-After says so.
"""


def test_what_is_malformed_is_pointed_at():
    result = explain('HTTP/1.1 200 OK\nRateLimit: "a";r=1, "b";r=x\nX-RateLimit-Limit: 60\n'
                     'X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000030\n', '--now', NOW)
    assert result.stdout == """\
HTTP/1.1 200 OK

RateLimit: "a";r=1, "b";r=x
                        ^
    malformed at byte 14 of the value: expected an integer >= 0 as r
    so this field is ignored as a whole

X-RateLimit-Limit: 60
    the quota is 60 requests

X-RateLimit-Remaining: 0
    nothing is left

X-RateLimit-Reset: 1700000030
    a Unix time: 30 s from now

What counts: X-RateLimit-..., the dialect "x-ratelimit"
    the limit: nothing left of 60 requests; more in 30 s

Wait 30 s: the limit has nothing left until then. Then send one request and look at its answer.
"""


@pytest.mark.parametrize('headers, last', [
    ([], 'No field tells of rate limits.'),
    ([['RateLimit', '"a";r=5;t=9']],
     'No need to wait: at most 5 requests in the next 9 s, says "a"; spread evenly, one every 1.8 s.'),
    ([['RateLimit', '"a";r=9;t=9, "b";r=0']],
     'Wait, but nothing says how long: "b" has nothing left. Then send one request and look at its '
     'answer.'),
    ([['RateLimit', '"a";r=0;t=9, "b";r=0;t=60']],
     'Wait 60 s: "b" has nothing left until then. Then send one request and look at its answer.'),
    ([['RateLimit', '"a";r=0;t=9'], ['Retry-After', '4']],
     'Wait 4 s: Retry-After says so, and it wins over "a", which says 9 s.'),
    ([['RateLimit', '"a";r=0;t=9'], ['RateLimit-Policy', '"a";q=9;qu="tokens"']],
     'What is counted in tokens has to wait: "a": nothing left of 9 tokens; more in 9 s.'),
    ([['Age', '7'], ['RateLimit', '"a";r=0;t=9']],
     'Nothing is known of the next request: this response comes from a cache.'),
    ([['RateLimit', 'a']], 'No field that could be read tells of rate limits.'),
    ([['Retry-After', 'Tue, 14 Nov 2023 22:13:30 GMT'], ['Date', 'Tue, 14 Nov 2023 22:13:25 GMT']],
     'Wait 5 s: Retry-After says so.'),
])
def test_how_long_to_wait(headers, last):
    assert explain(headers, '--now', NOW).stdout.splitlines()[-1] == last


def test_a_denial_without_fields():
    assert explain('HTTP/1.1 429 Too Many Requests\n').stdout.splitlines()[-1] == (
        'Wait, but nothing says how long: this is a 429 without Retry-After, and no limit is used '
        'up.')


def test_bytes_cannot_control_the_terminal():
    out = explain('HTTP/1.1 200 \x1b[2J\nRateLimit: "\x1b]0;x\x07";r=1\nX-RateLimit-X: \x9b\n').stdout
    assert out.isascii() and '\x1b' not in out and '\\x1b[2J' in out


@pytest.mark.parametrize('text, fault', [
    ('', 'the input is empty'),
    ('<html>\n', 'line 1: expected a status line'),
    ('HTTP/1.1 200 OK\nRateLimit "a"\n', 'line 2: expected a field'),
])
def test_input_without_a_header_section_is_refused(text, fault):
    for options in [], ['--json']:
        result = explain(text, *options)
        assert (result.returncode, result.stdout) == (1, '')
        assert result.stderr.startswith('headgate explain: ' + fault)


@pytest.mark.parametrize('options', [['--now'], ['--now', 'soon'], ['--now', '-1'], ['file'], ['--xml']])
def test_wrong_usage(options):
    result = explain('', *options)
    assert (result.returncode, result.stdout) == (2, '')
    assert result.stderr.startswith('headgate explain: ')


def test_hostile_sections_take_no_time():
    """With quadratic work these would take minutes, and the time-out would end them."""
    names = [f'X-RateLimit-Limit-{"a" * (i % 7)}{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}: x'
             for i in range(30_000)]
    for lines in names, ['RateLimit: "a";r=1'] * 40_000, ['X-RateLimit-Limit: 1'] * 40_000:
        assert explain('HTTP/1.1 200 OK\n' + '\n'.join(lines) + '\n').returncode == 0
