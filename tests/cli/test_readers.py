"""Keys beside the readers of real programs: however a client spells its value, and whatever stands
around it, it has one key, or that of the requests without a value."""
import base64
import http.cookies
import json
import random
import shutil
import subprocess
import urllib.parse

import pytest

from support.environment import PATIENCE
from support.policies import policies, policy

REAL = 'eyJzaWQiOjEyMzQ1Njd9'


def other(source):
    return f'X{source.randrange(100)}'


def cookies(source):
    """Cookie lines with a cookie `sid` that may be REAL, and with others."""
    separators = ('; ', '; ', ';', ' ', '\t', '\v', ',', ', ', '"; ', ';"', '\xa0', '&', '= ')
    line = ''
    for n in range(source.randint(1, 4)):
        value = source.choice((REAL, REAL, other(source), '', '"', 'a b'))
        value = source.choice(('{}', '{}', '"{}"', '"{}', '{}"', ' "{}"', ' {}', '{} x', '{},x', '\v{}')).format(value)
        if value.startswith('"') and source.random() < 0.2:
            value = value.replace('e', '\\145').replace('y', '\\y')
        name = source.choice(('sid', 'sid', 'sid', 'a', 'sid ', ' sid', 'a sid', 'x.sid', '$sid', 'SID'))
        line += source.choice(separators) * (n > 0) + name + source.choice(('=', '=', ' = ', '= sid=')) + value
    return line.strip(' \t')


def credentials(source):
    """Authorization lines with user and password in base64, which may be REAL."""
    value = base64.b64encode(source.choice((b'alice:secret', b'alice:secret', b'bob:x'))).decode()
    for _ in range(source.randint(0, 3)):
        at = source.randint(0, len(value))
        value = value[:at] + source.choice(('!', ',', ':', '.', '=', '-', ' ', '~', '\xa0')) + value[at:]
    scheme = source.choice(('Basic', 'basic', 'Bearer', 'x', '', ',', 'Basic,', '1 Basic', 'Basic: '))
    return (scheme + source.choice((' ', ' ', '  ', '\t', ' ,', ', ', ',')) + value).strip(' \t')


def queries(source):
    """Queries with an argument `k` that may be REAL, and with others."""
    names = ('k', 'k', 'k', 'a', '?k', '+k', 'K', '%6b', '[k]', 'k%00', '')
    pairs = [source.choice(names) + source.choice(('=', '=', '==', '', '%3d')) +
             source.choice((REAL, REAL, '%65' + REAL[1:], other(source), '', REAL + '%20'))
             for _ in range(source.randint(1, 4))]
    return source.choice(('', '', '?', '??')) + source.choice(('&', '&', ';', '&&')).join(pairs)


def by_python(read):
    def all_of(lines):
        for line in lines:
            try:
                yield read(line)
            except (http.cookies.CookieError, ValueError, IndexError, KeyError):
                yield None
    return all_of


def by_node(read):
    """The results of a function of JavaScript for all lines."""
    def all_of(lines):
        if shutil.which('node') is None:
            pytest.skip('there is no node')
        script = f'const lines = JSON.parse(require("fs").readFileSync(0)); ' \
                 f'console.log(JSON.stringify(lines.map({read})));'
        return json.loads(subprocess.run(['node', '-e', script], input=json.dumps(lines), capture_output=True,
                                         text=True, timeout=PATIENCE, check=True).stdout)
    return all_of


PAIR = 'alice:secret'
READERS = {
    "Python's http.cookies": (cookies, REAL, by_python(lambda line: http.cookies.SimpleCookie(line)['sid'].value)),
    "Python's base64": (credentials, PAIR, by_python(lambda line: base64.b64decode(line.split()[1]).decode())),
    "Node's base64": (credentials, PAIR, by_node(
        'line => Buffer.from(line.split(" ")[1] || "", "base64").toString()')),
    "Python's parse_qs, first": (queries, REAL, by_python(lambda line: urllib.parse.parse_qs(line)['k'][0])),
    "Python's parse_qs, last": (queries, REAL, by_python(lambda line: urllib.parse.parse_qs(line)['k'][-1])),
    "JavaScript's URLSearchParams": (queries, REAL, by_node('line => new URLSearchParams(line).get("k")')),
}
KEYS = {cookies: ('cookie:sid', 'http_cookie'), credentials: ('header:authorization', 'http_authorization'),
        queries: ('query:k', None)}


@pytest.mark.parametrize('reader', READERS)
def test_one_value_is_one_key_however_it_is_spelt(headgate, tmp_path, reader):
    generate, real, read = READERS[reader]
    source = random.Random(1)
    lines = [generate(source) for _ in range(20000)]
    spelt = [line for line, value in zip(lines, read(lines)) if value == real]
    assert len(set(spelt)) > 300  # the test tests something
    key, field = KEYS[generate]
    with (tmp_path / 'access.log').open('w') as log:
        for line in spelt:
            target = '/' if field else '/?' + line
            entry = {'time': '2026-11-22T12:00:00Z', 'remote_addr': '192.0.2.1', 'status': 200,
                     'request': f'GET {target} HTTP/1.1'} | ({field: line} if field else {})
            log.write(json.dumps(entry) + '\n')
    (tmp_path / 'policies.yaml').write_text(policies(policy(quota=1, key=f'["{key}"]')))
    done = headgate('simulate', '--config', 'policies.yaml', '--format', 'json', '--json', 'access.log')
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result['requests'], result['skipped']) == (len(spelt), 0)
    assert result['policies'][0]['partitions'] == 2, result['policies'][0]['top_denied']
