"""The login policy of README.md, in front of a real Express and h3: no spelling of /login gets past it."""
import random
import re

import pytest

from support import npm
from support.environment import BUILD, ROOT
from support.gateway import Gateway
from support.http_client import Connection
from support.real_servers import Server

QUOTA = 3
SPELLINGS = ['/login', '/Login', '/LOGIN/', '/lOGIN', '/login?x', '/LOGIN/?x=1#y', '/login#x', '/login;x',
             '/login%2f', '//login', '/./login', '/%6cogin', '/login//', '/login/.', '/x/../login',
             '/login;a=b/', '/login%3bx', '\\login', '/login\\', '/%2e/login', 'http://h/Login', '/login%3f',
             '/login%3Fx', '/%6cogin/%3f/x?y', '/x%3f/../login']


@pytest.fixture(scope='module', params=['login.js', 'login_h3.js'])
def upstream(request):
    try:
        folder = npm.install(ROOT / 'tests/fetch/peers', f'{BUILD}/tests/peers')
    except npm.Unavailable as why:
        pytest.skip(str(why))
    server = Server(['node', folder / request.param], r'^(\d+)$')
    yield server
    server.stop()


@pytest.fixture
def gateway(upstream, tmp_path):
    """headgate gateway with the policy file that README.md shows, in front of such a server."""
    shown = re.search(r'```yaml\n(version: 1\n.*?name: login.*?)```', (ROOT / 'README.md').read_text(),
                      re.DOTALL)[1]
    assert 'match: [{path: /login, method: POST}]' in shown
    one = Gateway(tmp_path, shown, upstream.url)
    yield one
    one.end()


def status(port, path):
    with Connection(port) as connection:
        return connection.request(path, 'POST').status


def random_spelling(source):
    """A path that Express or h3 may route to /login: letters of any case or encoded, a slash at the
    end, a query, and a '?' that is encoded."""
    spelt = source.choice((str.lower, str.upper, lambda c: f'%{ord(c):02x}'))
    path = '/' + ''.join(source.choice((c, spelt(c))) for c in 'login') + source.choice(('', '/'))
    return path + source.choice(('', '?', '?a=b', '?/x', '#', '#/x', '%3f', '%3Fa', '%3f/x?y'))


def test_no_spelling_gets_past_the_login_policy(gateway, upstream):
    source = random.Random(1)
    spellings = SPELLINGS + [random_spelling(source) for _ in range(100)]
    reached = [path for path in spellings if status(int(upstream.url.rpartition(':')[2]), path) == 200]
    assert len(reached) > 40  # the list tests something
    clean = [path for path in reached if '#' not in path]
    assert [status(gateway.port, path) for path in clean[:QUOTA]] == [200] * QUOTA
    passed = [path for path in spellings if status(gateway.port, path) not in (429, 400)]
    assert not passed
